"""Assembly: plans of all stages become a chain with its static bytes."""

from collections.abc import Sequence
from dataclasses import replace

from ckschedule.catalog.liveness import compose
from ckschedule.catalog.optimizer import static_memory
from ckschedule.catalog.plan import Plan
from ckschedule.catalog.setting import Setting
from ckschedule.costs.chain import Chain, Stage


def assemble(
    name: str,
    plans: Sequence[Plan],
    setting: Setting,
    *,
    loss: Plan | None,
    given: int = 0,
) -> Chain:
    """Return the chain of a model.

    Parameters
    ----------
    name
        Of the chain.
    plans
        Stages 1..n-1; the first one's input needs no gradient.
    setting
        Precision, clock and optimiser.
    loss
        Stage n; None where the stages hold their own losses.
    given
        Bytes that lie beside the first stage's input throughout, such as labels; they
        count as part of the chain's input.
    """
    stages: list[Stage] = []
    for i, plan in enumerate(plans):
        # Repeated blocks are composed once; the first stage has no input's gradient.
        if i >= 2 and replace(plan, name=plans[i - 1].name) == plans[i - 1]:
            stages.append(replace(stages[-1], name=plan.name))
        else:
            stages.append(compose(plan, setting, input_trained=i > 0))
    end = () if loss is None else loss.layers
    layers = [*(layer for plan in plans for layer in plan.layers), *end]
    return Chain(
        name=name,
        input=sum(plans[0].inputs.values()) + given,
        stages=stages,
        loss=None if loss is None else compose(loss, setting),
        static=static_memory(
            parameters=sum(layer.weights for layer in layers if not layer.tied),
            dtype=setting.dtype,
            optimizer=setting.optimizer,
            buffers=sum(layer.buffers for layer in layers),
        ),
        time_unit=setting.time_unit,
    )
