"""The chains that all benchmarks share: a name in a table means one of these."""

from collections.abc import Callable, Mapping
from functools import partial
from random import Random
from types import MappingProxyType
from typing import Final

from ckschedule import Chain, Stage, Variant, catalog

LARGEST: Final = 1000
"""Upper end of the times (ticks) and sizes (bytes) of random chains; the lower is 1."""

SEEDS: Final = (1, 2, 3)
"""Seeds of the random chains."""


def random_chain(stages: int, seed: int) -> Chain:
    """Return a chain of unequal stages, one variant a stage.

    Forward and backward times, outputs, saved bytes and the input are independent and
    uniform among the integers 1 to `LARGEST`. Gradients are as large as outputs;
    transients are the defaults of `Stage` and `Variant`; there are no parameter
    gradients and no static bytes. The loss takes no time and no bytes.

    Parameters
    ----------
    stages
        Number of stages, the loss excluded.
    seed
        Of Python's Mersenne Twister: the same chain on every machine.
    """
    random = Random(seed)

    def draw() -> int:
        return random.randint(1, LARGEST)

    return Chain(
        name=f"random-{stages}-s{seed}",
        input=draw(),
        stages=[
            Stage(
                output=draw(),
                forward=draw(),
                variants=(Variant(saved=draw(), backward=draw()),),
            )
            for _ in range(stages)
        ],
    )


# Static bytes would shrink a budget of "25%" below what any schedule needs: the
# networks count activations only.
NETWORKS: Final[Mapping[str, Callable[[], Chain]]] = MappingProxyType(
    {
        "resnet-152": partial(catalog.resnet, depth=152, optimizer="none"),
        "resnet-1001": partial(
            catalog.resnet, blocks=(83, 83, 83, 84), optimizer="none"
        ),
        "gpt-96": partial(catalog.gpt, layers=96, optimizer="none"),
        "gpt2-xl": partial(catalog.entry("gpt2-xl").build, optimizer="none"),
        "lstm-64": partial(catalog.lstm, optimizer="none"),
    }
)
"""Networks of the catalogue, batch and precision as it sets them.

resnet-152 has 50 blocks, resnet-1001 has 333 (83, 83, 83, 84 by group); stem, head and
loss come on top. gpt-96 has 96 equal blocks between an embedding and a head that differ
from them.
"""


def chain(name: str) -> Chain:
    """Return a chain by its name in the tables.

    Parameters
    ----------
    name
        One of `NETWORKS`, or ``random-<stages>-s<seed>``.

    Raises
    ------
    ValueError
        If there is none of that name.
    """
    if name in NETWORKS:
        return NETWORKS[name]()
    match name.split("-"):
        case ["random", stages, seed] if seed.startswith("s"):
            return random_chain(int(stages), int(seed[1:]))
    raise ValueError(
        f"instance {name!r} is unknown; give random-<stages>-s<seed> or one of "
        f"{', '.join(NETWORKS)}"
    )
