"""A model and a plan, bound: the model's calls follow the plan until it is taken off.

Stages keep their place in the model, so names, types, hooks, copies and saved states
stay as they were. What changes is one attribute of each stage's module and of the
model: how its forward is found (see `interception`).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import get_ident
from typing import Any

import torch
from torch import nn
from torch.nn.utils import parametrize

from ckschedule.costs.chain import Chain
from ckschedule.errors import PlanMismatchError, UnfaithfulStageError
from ckschedule.front import ParetoPoint
from ckschedule.result import Result
from ckschedule.schedule import Schedule
from ckschedule.torch_backend.boundary import take_apart
from ckschedule.torch_backend.interception import Interceptor, Reached
from ckschedule.torch_backend.looks import look_at, looks_different
from ckschedule.torch_backend.names import START, modules_of
from ckschedule.torch_backend.program import read_legs, read_program
from ckschedule.torch_backend.refusing import refuse_hooks, refuse_transforms
from ckschedule.torch_backend.run import AbstractRun, Run
from ckschedule.torch_backend.sharding import check_sharding, is_sharded
from ckschedule.torch_backend.stage import TorchStage, all_modules
from ckschedule.torch_backend.statics import storage_bytes
from ckschedule.units import format_bytes


class Binding:
    """Stages of a model by index, the program they follow, and the running call.

    Parameters
    ----------
    model
        Whose calls are to follow the schedule.
    names
        Of the stages 1..n-1, the loss excluded; see `names`.
    schedule
        For a chain of these stages and the loss; None for no program.
    follow
        Makes what receives one call of the model and of its stages.
    plan, chain
        What the caller applied, and what it was made for.

    Attributes
    ----------
    first, last
        Index of the first stage that is a module, and n, that of the loss.
    forwards, backwards
        Legs of the program, by stage.
    holds_input
        Stages whose saved tensors hold their input, as the chain says.
    sharing
        Stages that share a parameter with another stage, or with what is outside.
    outside
        Modules that belong to no named stage: the start's and the end's.
    executions
        How often each stage was computed since the last reset; index 0 and n unused.

    Raises
    ------
    PlanMismatchError
        If the model lacks a named module, or modules lie within each other.
    """

    def __init__(
        self,
        model: nn.Module,
        names: Sequence[str],
        schedule: Schedule | None,
        *,
        follow: Callable[..., AbstractRun] = Run,
        plan: Result | ParetoPoint | Schedule | None = None,
        chain: Chain | None = None,
    ) -> None:
        self.model = model
        self.plan = plan
        self.schedule = schedule
        self.chain = chain
        self._follow = follow
        self.names = tuple(names)
        self.has_start = names[0] == START
        self.first = 2 if self.has_start else 1
        self.last = len(names) + 1
        self.steps = () if schedule is None else read_program(schedule, self.last)
        self.forwards, self.backwards = read_legs(self.steps)
        self.holds_input = _holding(chain)
        self.executions = [0] * (self.last + 1)
        self._running: AbstractRun | None = None
        self._probing = False
        self._thread = get_ident()
        self._warned = False
        self._passing: list[nn.Module] = []
        self._root = Interceptor(model, self._call_model, self)
        self._interceptors: dict[str, Interceptor] = {}
        self._heads: dict[int, str] = {}
        self._tails: dict[int, list[nn.Module]] = {}
        self._above: set[str] = set()
        self.stages = {
            i: self._bind(i, self.names[i - 1]) for i in range(self.first, self.last)
        }
        self.outside = self._outside()
        if self.has_start:
            start = self._bind_start()
            self.stages = {1: start, **self.stages}
        # A start has them among its own.
        self.sharing = _sharing(self.stages, () if self.has_start else self.outside)
        check_sharding(model, self.stages)
        self._look = look_at(self.stages.values())

    def install(self) -> None:
        """Have the model's calls follow the plan."""
        for interceptor in (self._root, *self._interceptors.values()):
            interceptor.install()

    def uninstall(self) -> None:
        """Have the model as it was."""
        for interceptor in (self._root, *self._interceptors.values()):
            interceptor.uninstall()

    def reset(self) -> None:
        """Start counting executions anew."""
        self.executions = [0] * (self.last + 1)

    @contextmanager
    def suspended(self) -> Iterator[None]:
        """Have intercepted modules compute as they are."""
        running = self.suspend()
        try:
            yield
        finally:
            self.resume(running)

    def suspend(self) -> AbstractRun | None:
        """Have intercepted modules compute as they are until `resume`."""
        running, self._running = self._running, None
        return running

    def resume(self, running: AbstractRun | None) -> None:
        """Go on with what `suspend` returned."""
        self._running = running

    def warn_above(self, index: int, tensors: Sequence[torch.Tensor]) -> None:
        """Warn, once, if a stage returned more bytes than it was profiled with."""
        if self.chain is None or self._warned or self._probing:
            return
        planned = self.chain.sequence[index - 1].output
        found = storage_bytes(tensors)
        # A chain that was not profiled has sizes in other units.
        if found > planned > 0 and self.chain.static.parameters:
            self._warned = True
            warnings.warn(
                f"the model is called with larger inputs than it was profiled with "
                f"(stage {self.names[index - 1]!r} returned {format_bytes(found)}, "
                f"profiled {format_bytes(planned)}): gradients stay exact, but the "
                f"peak may pass the budget; profile again with these inputs",
                stacklevel=2,
            )

    # Calls of the model and of its stages.

    def _call_model(self, *args: Any, **kwargs: Any) -> Any:
        if (
            not torch.is_grad_enabled()
            or torch.is_inference_mode_enabled()
            or ((self._running or self._probing) and self._thread == get_ident())
        ):
            return self._root.original(*args, **kwargs)
        if self._running is not None or self._probing:
            raise UnfaithfulStageError(
                "the model is trained in two threads at once, which a plan cannot "
                "follow; give each thread a model of its own"
            )
        refuse_transforms()
        if parametrize._cache_enabled:
            raise UnfaithfulStageError(
                "the model runs under torch.nn.utils.parametrize.cached(), whose cache "
                "would outlive the stages that fill it; leave that context out"
            )
        if looks_different(self._look):
            self._bind_anew()
            return self.model.forward(*args, **kwargs)
        run = self._follow(self, args, kwargs)
        try:
            self._thread = get_ident()
            self._running = run
            returned = self._root.original(*args, **kwargs)
        finally:
            self._running = None
            self._passing = []
        run.finish()
        return returned

    def _call_stage(
        self, interceptor: Interceptor, path: str, args: Any, kwargs: Any
    ) -> Any:
        if self._thread != get_ident():
            return interceptor.original(*args, **kwargs)  # another thread's business
        if self._probing:
            raise Reached(args, kwargs)
        run = self._running
        if run is None or run.next == self.last:
            return interceptor.original(*args, **kwargs)
        index = run.next
        if not self._passing and self._heads[index] == path:
            if index in self._tails:
                refuse_hooks(self.names[index - 1], interceptor.module)
                for module in self._tails[index]:
                    refuse_hooks(self.names[index - 1], module)
            returned = run.call(args, kwargs)
            if index in self._tails:
                self._passing = list(self._tails[index])
            return returned
        if self._passing and self._passing[0] is interceptor.module:
            # The stage that has just run included this call.
            del self._passing[0]
            return args[0]
        raise PlanMismatchError(
            f"the model called {path!r} where the plan expects {self._heads[index]!r} "
            f"(stage {index} of {self.last - 1})"
        )

    def _start(self, *args: Any, **kwargs: Any) -> list[torch.Tensor]:
        """Compute what the model does before its first stage, and no further."""
        self._probing = True
        try:
            self._root.original(*args, **kwargs)
        except Reached as reached:
            tensors, _ = take_apart((reached.args, reached.kwargs), self.names[1])
        else:
            raise PlanMismatchError(
                f"the model returned without calling its first stage {self.names[1]!r}"
            )
        finally:
            self._probing = False
        start = self.stages[1]
        if start.places is None:
            start.places = tuple(
                place
                for place, tensor in enumerate(tensors)
                if tensor.requires_grad and not tensor.is_leaf
            )
        return [tensors[place] for place in start.places]

    # Finding the modules.

    def _bind(self, index: int, name: str) -> TorchStage:
        paths = modules_of(name)
        modules = [self._module(path, index) for path in paths]
        originals = [self._intercept(p, m) for p, m in zip(paths, modules, strict=True)]
        self._heads[index] = paths[0]
        if len(modules) > 1:
            self._tails[index] = modules[1:]
        compute = _in_sequence(modules) if len(modules) > 1 else originals[0].original
        everything = all_modules(modules)
        return TorchStage(
            name, compute, everything, inner_backward=any(map(is_sharded, everything))
        )

    def _bind_start(self) -> TorchStage:
        return TorchStage(
            START,
            self._start,
            self.outside,
            is_start=True,
        )

    def _outside(self) -> tuple[nn.Module, ...]:
        inside = {id(m) for stage in self.stages.values() for m in stage.modules}
        return tuple(m for m in self.model.modules() if id(m) not in inside)

    def _bind_anew(self) -> None:
        """Bind the model once more: modules were changed, by FSDP or by their owner.

        What was learned of its stages is not taken over.
        """
        self.uninstall()
        try:
            Binding(
                self.model,
                self.names,
                self.schedule,
                follow=self._follow,
                plan=self.plan,
                chain=self.chain,
            ).install()
        except PlanMismatchError:
            self.install()
            raise

    def _module(self, path: str, index: int) -> nn.Module:
        try:
            return self.model.get_submodule(path)
        except AttributeError:
            raise PlanMismatchError(
                f"stage {index} of the plan is {path!r}, which the model "
                f"{type(self.model).__name__} does not have"
            ) from None

    def _intercept(self, path: str, module: nn.Module) -> Interceptor:
        known = self._interceptors.get(path)
        if known is not None:
            return known
        above = set(_ancestors(path))
        outer = next((o for o in above if o in self._interceptors), None)
        if outer is not None or path in self._above:
            raise PlanMismatchError(
                f"{path!r} and another stage{'' if outer is None else f' {outer!r}'} "
                f"lie within each other; name one of them"
            )
        self._above |= above

        def call(*args: Any, **kwargs: Any) -> Any:
            return self._call_stage(interceptor, path, args, kwargs)

        interceptor = self._interceptors[path] = Interceptor(
            module, call, self, hooks=is_sharded(module)
        )
        return interceptor


def _ancestors(path: str) -> Iterator[str]:
    while "." in path:
        path = path.rpartition(".")[0]
        yield path


def _holding(chain: Chain | None) -> frozenset[int]:
    """Return the stages whose every variant needs the stage's input."""
    if chain is None:
        return frozenset()
    return frozenset(
        i
        for i, stage in enumerate(chain.sequence, start=1)
        if stage.variants and all(v.needs_input for v in stage.variants)
    )


def _sharing(
    stages: Mapping[int, TorchStage], outside: Sequence[nn.Module]
) -> frozenset[int]:
    owners: dict[int, set[int]] = {}
    for index, stage in stages.items():
        for module, name in stage.parameter_slots():
            owners.setdefault(id(module._parameters[name]), set()).add(index)
    for module in outside:
        for parameter in module._parameters.values():
            owners.setdefault(id(parameter), set()).add(0)
    owners.pop(id(None), None)
    return frozenset(i for own in owners.values() if len(own) > 1 for i in own)


def _in_sequence(modules: Sequence[nn.Module]) -> Any:
    def compute(*args: Any, **kwargs: Any) -> Any:
        value = modules[0](*args, **kwargs)
        for module in modules[1:]:
            value = module(value)
        return value

    return compute
