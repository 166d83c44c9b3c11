"""What each rank computes; results are plain values, since they change processes."""

from collections.abc import Callable, Iterator
from typing import Any, Final

import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.nn.parallel import DistributedDataParallel
from torch_backend.compositions.comparing import (
    DEVICE,
    Gradients,
    adamw,
    backward,
    copied,
    identical,
    least_plan,
    plans_of,
)
from torch_backend.compositions.processes import RANKS
from torch_models import CASES, Case, gpt, lstm

import ckschedule as ck
from ckschedule.errors import CkscheduleError


class Cell(nn.Module):
    """A linear layer without bias and tanh, all weights one half."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(2, 2, bias=False)
        nn.init.constant_(self.linear.weight, 0.5)

    def forward(self, x: Tensor) -> Tensor:
        """Return the next state."""
        return torch.tanh(self.linear(x))


class Loop(nn.Module):
    """One cell, called three times."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = Cell()

    def forward(self, x: Tensor) -> Tensor:
        """Return the last state."""
        for _ in range(3):
            x = self.cell(x)
        return x


class ExecutedLoop(Loop):
    """The same, as callables under a schedule."""

    def forward(self, x: Tensor) -> Tensor:
        """Return the last state."""
        schedule = ck.pareto(ck.catalog.uniform(stages=3)).minimum.schedule
        out: Tensor = ck.execute(schedule, [self.cell] * 3, x)
        return out


class ClosedLoop(Loop):
    """The same, as functions that close over the cell."""

    def forward(self, x: Tensor) -> Tensor:
        """Return the last state."""
        schedule = ck.pareto(ck.catalog.uniform(stages=3)).minimum.schedule
        steps = [lambda state: self.cell(state)] * 3
        out: Tensor = ck.execute(schedule, steps, x)
        return out


def shared_linear(rank: int, how: str) -> list[list[float]]:
    """Return the gradient of a weight that three stages share, under DDP."""
    x = torch.full((1, 2), rank + 1.0)
    match how:
        case "executed modules":
            model: Loop = ExecutedLoop()
        case "executed functions":
            model = ClosedLoop()
        case _:
            model = Loop()
    plan = least_plan(Loop(), x, loss=torch.sum, stages=["cell"])
    assert isinstance(plan.model, ck.Chain)
    assert len(plan.model.stages) == 3
    if how == "auto_checkpoint before":
        ck.auto_checkpoint(
            model, x, loss=torch.sum, stages=["cell"], budget=plan.peak, time=DEVICE
        )
    elif how == "apply before":
        ck.apply(model, plan)
    parallel = DistributedDataParallel(model)
    if how == "apply after":
        ck.apply(parallel.module, plan)
    backward(parallel(x).sum())
    assert model.cell.linear.weight.grad is not None
    found: list[list[float]] = model.cell.linear.weight.grad.tolist()
    return found


def data_parallel(
    _rank: int, name: str, settings: dict[str, Any], accumulate: bool, after: bool
) -> bool:
    """Whether a planned model trains under DDP as the plain one does."""
    plan = plans_of(CASES[name]()).least
    runs = []
    for planned in (False, True):
        case = CASES[name]()
        if planned and not after:
            ck.apply(case.model, plan)
        parallel = DistributedDataParallel(case.model, **settings)
        if planned and after:
            ck.apply(parallel.module, plan)
        runs.append(_data_parallel_steps(case, parallel, accumulate=accumulate))
    return identical(*runs)


def _data_parallel_steps(
    case: Case, parallel: DistributedDataParallel, *, accumulate: bool
) -> Gradients:
    _seed()
    updates = adamw(parallel.parameters())
    seen: Gradients = []
    for step in range(3):
        if accumulate:
            with parallel.no_sync():
                backward(case.loss(parallel(_shifted(case.inputs[0], step))))
        backward(case.loss(parallel(_shifted(case.inputs[0], step + 1))))
        seen += copied(p.grad for p in parallel.parameters())
        updates.step()
        updates.zero_grad()
    return [*seen, *copied(parallel.parameters())]


def _seed() -> None:
    torch.default_generator.manual_seed(torch.distributed.get_rank())


def _shifted(x: Tensor, by: int) -> Tensor:
    """Return another batch for each rank and step."""
    by += torch.distributed.get_rank()
    return (x + by) % 11 if x.dtype == torch.int64 else x * (1 + by)


# FSDP.


def _blocks(model: nn.Module, mesh: DeviceMesh, **settings: Any) -> None:
    for block in _found(model, ".h."):
        fully_shard(block, mesh=mesh, **settings)


def _found(model: nn.Module, part: str) -> Iterator[nn.Module]:
    for name, module in model.named_modules():
        if part in name and name.count(".") == part.count("."):
            yield module


def _shard_blocks(model: nn.Module, mesh: DeviceMesh) -> None:
    _blocks(model, mesh)
    fully_shard(model, mesh=mesh)


def _shard_only_blocks(model: nn.Module, mesh: DeviceMesh) -> None:
    _blocks(model, mesh)


def _shard_root(model: nn.Module, mesh: DeviceMesh) -> None:
    fully_shard(model, mesh=mesh)


def _shard_parts_of_blocks(model: nn.Module, mesh: DeviceMesh) -> None:
    for name, module in model.named_modules():
        if name.endswith(".attn"):
            fully_shard(module, mesh=mesh)
    fully_shard(model, mesh=mesh)


def _shard_and_keep(model: nn.Module, mesh: DeviceMesh) -> None:
    _blocks(model, mesh, reshard_after_forward=False)
    fully_shard(model, mesh=mesh)


def _shard_embedding(model: nn.Module, mesh: DeviceMesh) -> None:
    _blocks(model, mesh)
    fully_shard(model.get_submodule("transformer.wpe"), mesh=mesh)
    fully_shard(model, mesh=mesh)


def _shard_mixed(model: nn.Module, mesh: DeviceMesh) -> None:
    policy = MixedPrecisionPolicy(
        param_dtype=torch.bfloat16, reduce_dtype=torch.float32
    )
    _blocks(model, mesh, mp_policy=policy)
    fully_shard(model, mesh=mesh, mp_policy=policy)


SHARDINGS: Final[dict[str, Callable[[nn.Module, DeviceMesh], None]]] = {
    "blocks and model": _shard_blocks,
    "blocks only": _shard_only_blocks,
    "model only": _shard_root,
    "attention inside blocks": _shard_parts_of_blocks,
    "blocks that stay gathered": _shard_and_keep,
    "embedding too": _shard_embedding,
    "bfloat16 parameters": _shard_mixed,
}
"""Ways to shard a GPT, by name."""


def _mesh() -> DeviceMesh:
    return init_device_mesh("cpu", (RANKS,))


def sharded(
    _rank: int, sharding: str, order: str, which: str, accumulate: bool
) -> bool:
    """Whether a sharded GPT trains with a plan as without."""
    plans = plans_of(gpt())
    plan = plans.least if which == "least" else plans.middle
    mesh = _mesh()
    runs = []
    for planned in (False, True):
        case = gpt()
        if planned and order == "apply, shard":
            ck.apply(case.model, plan)
        SHARDINGS[sharding](case.model, mesh)
        if planned and order == "shard, apply":
            ck.apply(case.model, plan)
        runs.append(_sharded_steps(case, accumulate=accumulate))
    return identical(*runs)


def _sharded_steps(case: Case, *, accumulate: bool) -> Gradients:
    _seed()
    model: Any = case.model
    updates = adamw(model.parameters())
    seen: Gradients = []
    for step in range(3):
        if accumulate:
            model.set_requires_gradient_sync(False)
            backward(case.loss(model(_shifted(case.inputs[0], step))))
            model.set_requires_gradient_sync(True)
        backward(case.loss(model(_shifted(case.inputs[0], step + 1))))
        seen += copied(_whole(p.grad) for p in model.parameters())
        updates.step()
        updates.zero_grad()
    return [*seen, *copied(_whole(p) for p in model.parameters())]


def _whole(tensor: Any) -> Tensor | None:
    found: Tensor | None = tensor
    return tensor.full_tensor() if hasattr(tensor, "full_tensor") else found


def auto_then_shard(_rank: int) -> tuple[bool, dict[str, int]]:
    """Whether a GPT may be sharded after `auto_checkpoint`; executions in one step."""
    runs = []
    executions: dict[str, int] = {}
    for planned in (False, True):
        case = gpt()
        if planned:
            ck.auto_checkpoint(
                case.model,
                case.inputs,
                loss=case.loss,
                budget=plans_of(case).least.peak,
                time=DEVICE,
            )
        _shard_blocks(case.model, _mesh())
        runs.append(_sharded_steps(case, accumulate=False))
        if planned:
            assert ck.plan_of(case.model) is not None

            def step(case: Case = case) -> None:
                backward(case.loss(case.model(*case.inputs)))

            executions = dict(ck.measure(step, case.model).executions)
    return identical(*runs), executions


def gathered_after_recomputation(_rank: int) -> int:
    """Return how many blocks were gathered at once, at most, in a backward."""
    case = gpt(depth=4)
    ck.apply(case.model, plans_of(case).least)
    _shard_blocks(case.model, _mesh())
    blocks: list[Any] = list(_found(case.model, ".h."))
    most = 0

    def look(*_: Any) -> None:
        nonlocal most
        groups = [b._get_fsdp_state()._fsdp_param_group for b in blocks]  # noqa: SLF001 - no public way
        most = max(most, sum(group.is_unsharded for group in groups))

    for _ in range(2):
        loss = case.loss(case.model(*case.inputs))
        handles = [
            b.get_submodule("mlp").register_forward_pre_hook(look) for b in blocks
        ]
        backward(loss)
        for handle in handles:
            handle.remove()
    return most


def shared_cell(_rank: int, sharding: str) -> str:
    """Return the refusal of a sharded cell of all stages; "" for none."""
    runs = []
    for planned in (False, True):
        case = lstm()
        plan = plans_of(case).least
        if sharding == "cell":
            fully_shard(case.model.get_submodule("cell"), mesh=_mesh())
        fully_shard(case.model, mesh=_mesh())
        try:
            if planned:
                ck.apply(case.model, plan)
        except CkscheduleError as refusal:
            return str(refusal)
        backward(case.loss(case.model(*case.inputs)))
        runs.append(copied(_whole(p.grad) for p in case.model.parameters()))
    assert identical(*runs)
    return ""


class Groups(nn.Module):
    """Two groups of two layers."""

    def __init__(self) -> None:
        super().__init__()
        self.groups = nn.ModuleList(
            nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4)) for _ in range(2)
        )

    def forward(self, x: Tensor) -> Tensor:
        """Return the mean square of the last layer's output."""
        for group in self.groups:
            x = group(x)
        return x.square().mean()


def across_stages(_rank: int, how: str) -> str:
    """Return the refusal of a sharding that has parts of several stages as one."""
    model = Groups()
    x = torch.ones(2, 4)
    plan = least_plan(model, x, stages=["groups.?.?"])
    if how == "containers":
        for group in model.groups:
            fully_shard(group, mesh=_mesh())
    else:
        fully_shard([*model.groups[0].children()], mesh=_mesh())
    fully_shard(model, mesh=_mesh())
    try:
        ck.apply(model, plan)
    except CkscheduleError as refusal:
        return str(refusal)
    return ""


def asked_when_sharded(_rank: int, verb: str) -> str:
    """Return the refusal of what needs whole parameters."""
    case = gpt()
    plan = plans_of(case).least
    _shard_blocks(case.model, _mesh())
    try:
        if verb == "profile":
            ck.profile(case.model, *case.inputs, loss=case.loss, time=DEVICE)
        else:
            ck.apply(case.model, plan)
            ck.verify(case.model, case.inputs, loss=case.loss)
    except (CkscheduleError, RuntimeError) as refusal:
        return str(refusal)
    return ""
