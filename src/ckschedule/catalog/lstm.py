"""LSTM unrolled over time, as in Chen et al., 2016, arXiv 1604.06174, section 5.

One stage per time step. The cut between two steps is the state of all layers: hidden
``h`` and cell ``c`` of each, ``2 L b H`` elements for ``L`` layers of ``H`` units and
``b`` sequences; and the running sum of the steps' losses, one scalar. The several
tensors of a cut are one checkpoint. Each step, with ``d`` inputs and ``V`` classes::

    gates = x W + h U + 2 biases;  i, f, o = sigmoid, g = tanh  (4 b H)
    c' = f c + i g;  h' = o tanh(c')
    loss += cross entropy of (h' of the last layer) W' + bias

Saved per layer: the activated gates and ``tanh(c')``, ``5 b H`` elements, besides the
states before and after, which are the stage's input and output. Saved per step: the
log-probabilities, ``4 b V`` bytes.

Weights are shared by all steps, counted once; their gradients are summed. A layer with
``k`` inputs has ``4 H (k + H + 2)`` parameters. The data and labels of all steps and
the first state are the chain's input, which lies there throughout.
"""

from dataclasses import dataclass, replace

from ckschedule.catalog.arguments import as_positive
from ckschedule.catalog.assembly import assemble
from ckschedule.catalog.layers import (
    INDEX,
    STATISTIC,
    Layer,
    add,
    cross_entropy,
    linear,
    pointwise,
)
from ckschedule.catalog.optimizer import Optimizer
from ckschedule.catalog.plan import Plan
from ckschedule.catalog.setting import as_setting
from ckschedule.costs.chain import Chain
from ckschedule.costs.device import Device, DType


def lstm(
    *,
    steps: int = 64,
    layers: int = 4,
    hidden: int = 1024,
    inputs: int = 50,
    classes: int = 5000,
    batch: int = 64,
    dtype: DType = "fp32",
    device: str | Device | None = "a100",
    optimizer: Optimizer = "adamw",
) -> Chain:
    """Return an LSTM unrolled over time; the defaults are those of Chen et al.

    Parameters
    ----------
    steps
        Time steps, one stage each.
    layers, hidden
        Stacked layers, and units of each.
    inputs, classes, batch
        Inputs per step, classes predicted per step, and sequences.
    dtype
        Precision of activations and weights.
    device
        Preset or own device for times in ns; None counts flops.
    optimizer
        Whose static bytes to count; ``none`` counts activations only.

    Returns
    -------
    Chain
        Its loss takes no time: the steps hold their own. The last step's states get a
        gradient of their full size, although it is zero.

    Raises
    ------
    InvalidModelError
        If an argument is out of range.

    Examples
    --------
    >>> len(lstm(steps=10).stages)
    10
    """
    setting = as_setting(dtype=dtype, device=device, optimizer=optimizer)
    steps = as_positive(steps, "lstm: steps")
    inputs = as_positive(inputs, "lstm: inputs")
    classes = as_positive(classes, "lstm: classes")
    cell = _Cell(
        units=as_positive(hidden, "lstm: hidden"),
        batch=as_positive(batch, "lstm: batch"),
        element=setting.element,
    )
    layers = as_positive(layers, "lstm: layers")
    first = _step(cell, layers, inputs, classes)
    later = replace(
        first, layers=tuple(replace(layer, tied=True) for layer in first.layers)
    )
    plans = [
        replace(later if t > 1 else first, name=f"step {t}")
        for t in range(1, steps + 1)
    ]
    data = steps * cell.batch * (inputs * cell.element + INDEX)
    name = f"lstm-{steps}x{layers}"
    return assemble(name, plans, setting, loss=None, given=data)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cell:
    """Units of one layer, sequences, and bytes per element."""

    units: int
    batch: int
    element: int

    @property
    def size(self) -> int:
        return self.units * self.batch

    @property
    def bytes(self) -> int:
        return self.element * self.size


def _step(cell: _Cell, layers: int, inputs: int, classes: int) -> Plan:
    sequence: list[Layer] = []
    below, width = "data", inputs
    for k in range(1, layers + 1):
        sequence += _layer(cell, k, below, width)
        below, width = f"h{k}", cell.units
    sequence.append(
        linear(
            "logits",
            below,
            rows=cell.batch,
            inner=width,
            outer=classes,
            element=cell.element,
        )
    )
    sequence += cross_entropy(
        "logits", rows=cell.batch, classes=classes, element=cell.element
    )
    sequence.append(add("loss", "nll", "loss before", size=1, element=STATISTIC))
    states = [f"{state}{k}" for k in range(1, layers + 1) for state in "hc"]
    return Plan(
        name="step",
        layers=tuple(sequence),
        inputs={
            **{f"{state} before": cell.bytes for state in states},
            "loss before": STATISTIC,
        },
        outputs=(*states, "loss"),
        given=frozenset({"data"}),
    )


def _layer(cell: _Cell, k: int, below: str, width: int) -> list[Layer]:
    gates = 4 * cell.size
    element = cell.element

    def product(name: str, source: str, inner: int) -> Layer:
        return linear(
            name,
            source,
            rows=cell.batch,
            inner=inner,
            outer=4 * cell.units,
            element=element,
        )

    def combine(name: str, sources: tuple[str, ...], flops: int) -> Layer:
        return pointwise(
            name, sources, size=cell.size, element=element, saves=sources, flops=flops
        )

    gate, squash = f"gate{k}", f"tanh{k}"
    return [
        product(f"input{k}", below, width),
        product(f"recurrent{k}", f"h{k} before", cell.units),
        add(
            f"sum{k}",
            f"input{k}",
            f"recurrent{k}",
            size=gates,
            element=element,
            in_place=True,
        ),
        pointwise(
            gate, (f"sum{k}",), size=gates, element=element, saves=(gate,), flops=4
        ),
        combine(f"c{k}", (gate, f"c{k} before"), 3),
        pointwise(
            squash,
            (f"c{k}",),
            size=cell.size,
            element=element,
            saves=(squash,),
            flops=4,
        ),
        combine(f"h{k}", (gate, squash), 1),
    ]
