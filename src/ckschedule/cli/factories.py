"""The argument MODULE:FACTORY: a torch model that a function of the user builds."""

import importlib
import inspect
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from difflib import get_close_matches
from functools import reduce
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

import typer

from ckschedule.cli.guests import guest_code

if TYPE_CHECKING:
    import torch
    from torch import nn

    from ckschedule.torch_backend.calling import Loss

_RETURNS: Final = (
    "a factory returns (model, inputs) or (model, inputs, loss), or an object with "
    "these attributes"
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TorchModel:
    """What a factory returned.

    Attributes
    ----------
    target
        As it was asked for, such as ``net:build``.
    model, inputs, loss
        As `ckschedule.auto_checkpoint` takes them.
    """

    target: str
    model: "nn.Module"
    inputs: Any
    loss: "Loss | None"

    @property
    def on_meta(self) -> bool:
        """Whether tensors of it have no data, so that nothing can be run."""
        return any(tensor.is_meta for tensor in self.tensors())

    def tensors(self) -> Iterator["torch.Tensor"]:
        """Give parameters, buffers and inputs."""
        import torch
        from torch.utils import _pytree as pytree

        yield from self.model.parameters()
        yield from self.model.buffers()
        for leaf in pytree.tree_leaves(self.inputs):
            if isinstance(leaf, torch.Tensor):
                yield leaf


def build(target: str, *, meta: bool = False) -> TorchModel:
    """Return what the factory of a name builds.

    Parameters
    ----------
    target
        ``package.module:function``.
    meta
        Whether it is called under ``torch.device("meta")``.

    Raises
    ------
    typer.TyperException
        If there is no such function, or if it raises or returns something else.
    MissingDependencyError
        If torch is not installed.
    """
    name, attribute = _split(target)
    # First of all: modules of models import torch, and its lack has a remedy.
    importlib.import_module("ckschedule.torch_backend")
    import torch

    factory = _factory(target, _module(name), attribute)
    doing = f"{target} under torch.device('meta')" if meta else target
    with guest_code(doing), torch.device("meta") if meta else nullcontext():
        returned = factory()
    found = _unpack(target, returned)
    if meta:
        _check_on_meta(found)
    return found


def _split(target: str) -> tuple[str, str]:
    name, colon, attribute = target.partition(":")
    path = Path(name)
    if path.suffix == ".py" or len(path.parts) > 1:
        dotted = ".".join(path.with_suffix("").parts).strip("./")
        raise typer.BadParameter(
            f"{target!r} names a file; write the module as in an import, "
            f"{dotted}:{attribute or 'factory'}"
        )
    module = all(part.isidentifier() for part in name.split("."))
    if not (module and colon and attribute):
        raise typer.BadParameter(
            f"{target!r} names no function; write MODULE:FACTORY, such as "
            f"{name if module else 'net'}:build"
        )
    return name, attribute


def _module(name: str) -> ModuleType:
    with guest_code(f"importing {name}"):
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            missing = error.name or ""
            if name != missing and not name.startswith(f"{missing}."):
                raise
            raise typer.BadParameter(
                f"module {missing!r} is not found in {Path.cwd()} nor on Python's "
                f"path; run the command where it lies, or set PYTHONPATH"
            ) from None


def _factory(target: str, module: ModuleType, attribute: str) -> Callable[[], Any]:
    try:
        factory = reduce(getattr, attribute.split("."), module)
    except AttributeError:
        near = get_close_matches(attribute, vars(module), n=1)
        guess = f"; did you mean {near[0]!r}?" if near else ""
        raise typer.BadParameter(
            f"module {module.__name__!r} has no {attribute!r}{guess}"
        ) from None
    if not callable(factory):
        raise typer.BadParameter(
            f"{target} is a {type(factory).__name__}, which cannot be called; write a "
            f"function that builds the model"
        )
    try:
        inspect.signature(factory).bind()
    except TypeError as error:
        raise typer.BadParameter(
            f"{target} is called without arguments: {error}; give them defaults, or "
            f"write a function around it"
        ) from None
    except ValueError:
        pass  # a function without a signature: the call will tell
    return factory


def _unpack(target: str, returned: Any) -> TorchModel:
    from torch import nn

    if hasattr(returned, "model") and hasattr(returned, "inputs"):
        parts = (returned.model, returned.inputs, getattr(returned, "loss", None))
    elif isinstance(returned, tuple) and len(returned) in (2, 3):
        parts = (*returned, None)[:3]
    else:
        raise typer.BadParameter(f"{target} returned {_kind(returned)}; {_RETURNS}")
    model, inputs, loss = parts
    if not isinstance(model, nn.Module):
        raise typer.BadParameter(
            f"{target} returned {_kind(returned)}, whose model is a "
            f"{type(model).__name__}, no torch.nn.Module; {_RETURNS}"
        )
    if loss is not None and not callable(loss):
        raise typer.BadParameter(
            f"{target} returned {_kind(returned)}, whose loss is a "
            f"{type(loss).__name__}; give a function of the model's output"
        )
    return TorchModel(target=target, model=model, inputs=inputs, loss=loss)


def _kind(returned: Any) -> str:
    if isinstance(returned, tuple):
        return f"({', '.join(type(item).__name__ for item in returned)})"
    return f"a {type(returned).__name__}"


def _check_on_meta(found: TorchModel) -> None:
    real = next((t.device for t in found.tensors() if not t.is_meta), None)
    if real is not None:
        raise typer.BadParameter(
            f"--meta: {found.target} puts tensors on {real} itself, in spite of "
            f"torch.device('meta') around it; leave the device out there, or --meta "
            f"here"
        )
