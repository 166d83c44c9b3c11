"""The catalogue: networks by name, for people who know the name and not the shape."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, Final

from ckschedule.catalog.lstm import lstm
from ckschedule.catalog.resnet import resnet
from ckschedule.catalog.transformer import gpt, llama
from ckschedule.catalog.uniform import uniform
from ckschedule.catalog.vgg import vgg
from ckschedule.costs.chain import Chain
from ckschedule.errors import InvalidModelError


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A network of the catalogue.

    Attributes
    ----------
    build
        Returns its chain; takes keyword arguments only, all with defaults, which
        `inspect.signature` shows.
    description
        One line.
    """

    build: Callable[..., Chain]
    description: str


_GPT2: Final = partial(gpt, positions=1024)

CATALOG: Final[Mapping[str, Entry]] = MappingProxyType(
    {
        "uniform": Entry(build=uniform, description="equal stages, counted in steps"),
        "resnet": Entry(
            build=resnet,
            description="residual network of any depth, torchvision's form",
        ),
        "resnet-cifar": Entry(
            build=partial(resnet, depth=110, batch=128, form="cifar"),
            description="residual network of any depth for 32 x 32 images",
        ),
        "resnet-1001": Entry(
            build=partial(
                resnet,
                depth=1001,
                preactivation=True,
                device="titan-x",
                optimizer="none",
            ),
            description="Chen et al. 2016: 1001 layers, 48 GB of feature maps",
        ),
        **{
            f"vgg{depth}": Entry(
                build=partial(vgg, depth=depth), description=f"VGG, {depth} layers"
            )
            for depth in (11, 13, 16, 19)
        },
        "lstm": Entry(
            build=lstm,
            description="Chen et al. 2016: 4 x 1024 units unrolled over time",
        ),
        "gpt": Entry(build=gpt, description="transformer of the GPT family"),
        "gpt2": Entry(build=_GPT2, description="GPT-2, 124M parameters"),
        "gpt2-medium": Entry(
            build=partial(_GPT2, layers=24, hidden=1024, heads=16),
            description="GPT-2, 355M parameters",
        ),
        "gpt2-large": Entry(
            build=partial(_GPT2, layers=36, hidden=1280, heads=20),
            description="GPT-2, 774M parameters",
        ),
        "gpt2-xl": Entry(
            build=partial(_GPT2, layers=48, hidden=1600, heads=25),
            description="GPT-2, 1558M parameters",
        ),
        "llama": Entry(build=llama, description="transformer of the Llama family"),
        "llama-7b": Entry(
            build=partial(llama, layers=32, hidden=4096, heads=32, inner=11008),
            description="Llama 2, 6.7G parameters",
        ),
        "llama-13b": Entry(
            build=partial(llama, layers=40, hidden=5120, heads=40, inner=13824),
            description="Llama 2, 13.0G parameters",
        ),
        "llama-70b": Entry(
            build=partial(
                llama, layers=80, hidden=8192, heads=64, key_heads=8, inner=28672
            ),
            description="Llama 2, 69.0G parameters",
        ),
    }
)
"""Networks by name; sizes and precision can be overridden in the call of ``build``."""


def build(name: str, **options: Any) -> Chain:
    """Return a network of the catalogue by name.

    Parameters
    ----------
    name
        A key of `CATALOG`.
    **options
        What the network's own function takes, such as ``batch`` or ``device``.

    Raises
    ------
    InvalidModelError
        If the name is unknown, or the network has no such option.

    Examples
    --------
    >>> build("gpt2-xl", batch=8).name
    'gpt-48x1600'
    """
    formula = entry(name).build
    known = inspect.signature(formula).parameters
    for option in options:
        if option not in known:
            raise InvalidModelError(
                f"network {name!r} has no option {option!r}; it has {', '.join(known)}"
            )
    return formula(**options)


def entry(name: str) -> Entry:
    """Return the entry of that name.

    Raises
    ------
    InvalidModelError
        If the name is unknown; the message lists those that exist.

    Examples
    --------
    >>> entry("gpt2").build(layers=2).name
    'gpt-2x768'
    """
    if name not in CATALOG:
        raise InvalidModelError(
            f"network {name!r} is unknown; choose one of {', '.join(CATALOG)}"
        )
    return CATALOG[name]
