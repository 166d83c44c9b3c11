"""Finding the chain in a model: which calls of which modules are its stages."""

import fnmatch
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch import nn
from torch.jit import ScriptModule

from ckschedule.errors import UnsupportedModelError
from ckschedule.torch_backend.boundary import Structure, take_apart
from ckschedule.torch_backend.interception import Interceptor
from ckschedule.torch_backend.layout import is_view_of
from ckschedule.torch_backend.memo import untouched
from ckschedule.torch_backend.names import START, call_name, stage_name


@dataclass(frozen=True, slots=True)
class Found:
    """One call of a module.

    Attributes
    ----------
    name
        Path of the module and number of the call.
    plain_input
        Whether it took one tensor, the one that the call before it returned.
    merges
        Whether its output is that tensor or a view of it, or it changed it in place:
        no cut is possible before it.
    bare_output
        Whether it returned one tensor.
    """

    name: str
    plain_input: bool
    merges: bool
    bare_output: bool


def find_stages(
    model: nn.Module, args: Any, kwargs: Any, stages: Sequence[str] | None
) -> list[str]:
    """Return the names of a model's stages, in the order in which they run.

    Parameters
    ----------
    model, args, kwargs
        The model and what it is called with; it is called once or a few times.
    stages
        Paths or patterns of modules; None looks for containers of blocks: children of
        `nn.Sequential`, entries of a `nn.ModuleList`, the model's own children.

    Raises
    ------
    UnsupportedModelError
        If the named modules do not make a chain, or none is found.
    """
    scripted = [n for n, m in model.named_modules() if isinstance(m, ScriptModule)]
    if scripted:
        raise UnsupportedModelError(
            f"{scripted[0]!r} is compiled by torch.jit.script, whose parts cannot be "
            f"looked into; use the module that it was made from"
        )
    reasons = []
    for candidate in _candidates(model, stages):
        try:
            observer = _observe(
                model, candidate, args, kwargs, strict=stages is not None
            )
        except _NoChainError as reason:
            reasons.append(str(reason))
            continue
        if observer.calls:
            start = [START] if observer.has_start else []
            return start + _merge(observer.calls)
        reasons.append(f"none of {', '.join(list(candidate)[:3])} is called")
    why = "; ".join(reasons) or "it has no parts"
    raise UnsupportedModelError(
        f"no chain of stages found in {type(model).__name__}: {why}; "
        f"name the modules to cut at with stages=[...], in the order in which they run"
    )


class _NoChainError(Exception):
    """Why the modules of a candidate are no chain."""


class _BetweenError(_NoChainError):
    """The model computes something between two stages."""


_SHORTEST: Final = 2
"""Stages of a chain that is found, at least, where the model is no chain further on."""


def _candidates(
    model: nn.Module, stages: Sequence[str] | None
) -> Iterator[dict[str, nn.Module]]:
    paths = dict(model.named_modules(remove_duplicate=False))
    paths.pop("", None)
    if stages is not None:
        yield _named(paths, [call for stage in stages for call in stage.split("+")])
        return
    containers = dict(_containers(model, ""))
    if any(len(entries) > 1 for entries in containers.values()):
        yield {p: m for inside in containers.values() for p, m in inside.items()}
        largest = max(containers.values(), key=lambda inside: _size(inside.values()))
        if len(containers) > 1:
            yield largest
    children = {p: m for p, m in paths.items() if "." not in p}
    opened = {p: m for p, m in children.items() if not isinstance(m, nn.ModuleList)}
    if opened:
        yield opened


def _named(paths: dict[str, nn.Module], stages: Sequence[str]) -> dict[str, nn.Module]:
    chosen: dict[str, nn.Module] = {}
    for stage in stages:
        path = stage.partition("#")[0]
        matches = [p for p in paths if p == path] or fnmatch.filter(paths, path)
        # "layers.*" means the blocks, not what is inside of them.
        matches = [p for p in matches if p.count(".") == path.count(".")]
        if not matches:
            raise UnsupportedModelError(
                f"stages names {stage!r}, which matches no module of the model; its "
                f"modules are {', '.join(list(paths)[:8])}, ..."
            )
        chosen |= {p: paths[p] for p in matches}
    for path in chosen:
        outer = next((o for o in chosen if path.startswith(f"{o}.")), None)
        if outer is not None:
            raise UnsupportedModelError(
                f"stages names {outer!r} and {path!r}, which lies inside of it; name "
                f"one"
            )
    return chosen


def _containers(
    module: nn.Module, path: str
) -> Iterator[tuple[str, dict[str, nn.Module]]]:
    """Yield the outermost containers with their entries."""
    if type(module) is nn.Sequential or isinstance(module, nn.ModuleList):
        entries = dict(_entries(module, path))
        if entries:
            yield path, entries
        return
    for name, child in module.named_children():
        yield from _containers(child, f"{path}.{name}" if path else name)


def _entries(module: nn.Module, path: str) -> Iterator[tuple[str, nn.Module]]:
    for name, child in module._modules.items():
        if child is None:
            continue
        inner = f"{path}.{name}" if path else name
        if type(child) is nn.Sequential and len(child) > 1:
            yield from _entries(child, inner)
        else:
            yield inner, child


def _size(modules: Any) -> int:
    return sum(p.numel() for m in modules for p in m.parameters())


class _Observer:
    """Watches the calls of some modules in one call of the model."""

    def __init__(self, modules: dict[str, nn.Module], *, strict: bool) -> None:
        self._strict = strict
        self._ended = False
        self.calls: list[Found] = []
        self._counts = dict.fromkeys(modules, 0)
        self._given: list[torch.Tensor] = []
        self._older: dict[int, weakref.ref[torch.Tensor]] = {}
        self._inside = False
        self.has_start = False

    def call(self, interceptor: Interceptor, path: str, args: Any, kwargs: Any) -> Any:
        if self._inside or self._ended:
            return interceptor.original(*args, **kwargs)
        self._counts[path] += 1
        name = call_name(path, self._counts[path])
        tensors, structure = take_apart((args, kwargs), name)
        own = [t for t in tensors if any(t is given for given in self._given)]
        if not self.calls:
            self.has_start = any(t.requires_grad and not t.is_leaf for t in tensors)
        try:
            self._check_sources(name, tensors, own)
        except _BetweenError:
            if self._strict or len(self.calls) < _SHORTEST:
                raise
            # The chain ends here; this call and all later ones belong to the end.
            self._ended = True
            return interceptor.original(*args, **kwargs)
        inner = [
            tensor.clone()
            if any(tensor is g for g in own) or not self.calls
            else tensor
            for tensor in tensors
        ]
        inner = [tensor.detach() for tensor in inner]
        versions = [tensor._version for tensor in inner]
        again_args, again_kwargs = structure.build(inner)
        self._inside = True
        try:
            with torch.no_grad():
                returned = interceptor.original(*again_args, **again_kwargs)
        finally:
            self._inside = False
        outputs, form = take_apart(returned, name)
        changed = [t._version for t in inner] != versions
        viewed = any(is_view_of(o, t) for o in outputs for t in inner)
        bare = isinstance(returned, torch.Tensor)
        self.calls.append(
            Found(
                name=name,
                plain_input=len(own) == 1 and _is_single(args, kwargs),
                merges=changed or viewed,
                bare_output=bare,
            )
        )
        return self._pass_on(outputs, form, viewed=viewed)

    def _pass_on(
        self, outputs: list[torch.Tensor], form: Structure, *, viewed: bool
    ) -> Any:
        fresh = [
            (tensor.clone() if viewed else tensor.detach()).requires_grad_(
                tensor.is_floating_point() or tensor.is_complex()
            )
            for tensor in outputs
        ]
        self._older |= {id(tensor): weakref.ref(tensor) for tensor in self._given}
        self._given = fresh
        return form.build(fresh)

    def _check_sources(
        self, name: str, tensors: list[torch.Tensor], own: list[torch.Tensor]
    ) -> None:
        for tensor in tensors:
            if any(tensor is given for given in own):
                continue
            older = self._older.get(id(tensor))
            if tensor.requires_grad and older is not None and older() is tensor:
                raise _NoChainError(
                    f"{name!r} takes the output of another stage than the one before it"
                )
            if self.calls and tensor.requires_grad and not tensor.is_leaf:
                raise _BetweenError(
                    f"{name!r} takes a tensor that was computed between the stages"
                )
        if self.calls and not own:
            raise _BetweenError(
                f"{name!r} does not take what the stage before it returned"
            )


def _is_single(args: Any, kwargs: Any) -> bool:
    return len(args) == 1 and not kwargs and isinstance(args[0], torch.Tensor)


def _observe(
    model: nn.Module,
    modules: dict[str, nn.Module],
    args: Any,
    kwargs: Any,
    *,
    strict: bool,
) -> _Observer:
    observer = _Observer(modules, strict=strict)
    with (
        _intercepted(modules, observer),
        untouched([*model.modules()]),
        torch.enable_grad(),
    ):
        model(*args, **kwargs)
    return observer


@contextmanager
def _intercepted(modules: dict[str, nn.Module], observer: _Observer) -> Iterator[None]:
    placed: dict[int, Interceptor] = {}
    try:
        for path, module in modules.items():
            if id(module) not in placed:
                interceptor = _interceptor(path, module, observer)
                interceptor.install()
                placed[id(module)] = interceptor
        yield
    finally:
        for interceptor in placed.values():
            interceptor.uninstall()


def _interceptor(path: str, module: nn.Module, observer: _Observer) -> Interceptor:
    def call(*args: Any, **kwargs: Any) -> Any:
        return observer.call(interceptor, path, args, kwargs)

    interceptor = Interceptor(module, call, observer)
    return interceptor


def _merge(calls: Sequence[Found]) -> list[str]:
    """Return stages: calls between which no cut is possible make one."""
    groups: list[list[str]] = []
    bare = False
    for found in calls:
        if groups and found.merges and found.plain_input and bare:
            groups[-1].append(found.name)
        else:
            groups.append([found.name])
        bare = found.bare_output
    return [stage_name(group) for group in groups]
