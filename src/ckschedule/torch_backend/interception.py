"""Standing in for a module's forward, so that nothing but its calls is changed.

``module.forward`` of the instance is replaced: hooks of the module itself so run in the
caller's graph, once. A module that was compiled is called through torch's own slot for
that instead, and its compiled form is what the executor runs. So is one that FSDP
shards, whose hooks gather its parameters: they have to run at each computation. Copies
and pickles of the module come out without the replacement.
"""

import inspect
import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch._C._dynamo.eval_frame import get_eval_frame_callback

from ckschedule.errors import PlanMismatchError


class Reached(BaseException):
    """Ends a model's forward at its first stage; no ``except Exception`` stops it.

    Attributes
    ----------
    args, kwargs
        What the stage was called with.
    """

    def __init__(self, args: Any, kwargs: Any) -> None:
        super().__init__()
        self.args, self.kwargs = args, kwargs


class Interceptor:
    """One module's forward, replaced.

    Parameters
    ----------
    module
        Whose forward it is.
    call
        What is called in its place.
    owner
        Whoever installs it, to be found again by `owner_of`.
    hooks
        Whether the module's hooks belong to what is replaced.

    Attributes
    ----------
    original
        The forward as it was.
    """

    def __init__(
        self,
        module: nn.Module,
        call: Callable[..., Any],
        owner: object,
        *,
        hooks: bool = False,
    ) -> None:
        self.module = module
        self._owner = owner
        self._call = call
        compiled = module._compiled_call_impl
        whole = hooks or compiled is not None
        self._slot = "_compiled_call_impl" if whole else "forward"
        self._own = module.__dict__.get(self._slot)
        self.original: Callable[..., Any] = (
            getattr(module, self._slot) or module._call_impl
        )

    def install(self) -> None:
        """Put the replacement in its place.

        Raises
        ------
        PlanMismatchError
            If the module has one already.
        """
        if isinstance(self._own, Forward) and self._own.owner is not None:
            raise PlanMismatchError(
                f"the model, or its {type(self.module).__name__}, follows a plan "
                f"already; take that off with unapply(model) first"
            )
        forward = Forward(self.module, self._call, self._owner)
        self.module.__dict__[self._slot] = forward

    def uninstall(self) -> None:
        """Take the replacement away."""
        if self._own is None:
            self.module.__dict__.pop(self._slot, None)
        else:
            self.module.__dict__[self._slot] = self._own


def owner_of(module: nn.Module) -> object | None:
    """Return the owner of the interceptor that stands in a module, if one does."""
    for slot in ("forward", "_compiled_call_impl"):
        forward = module.__dict__.get(slot)
        if isinstance(forward, Forward):
            return forward.owner
    return None


class Forward:
    """What stands in a module's ``forward``; copies of it are the plain forward."""

    def __init__(
        self,
        module: nn.Module,
        call: Callable[..., Any] | None = None,
        owner: object | None = None,
    ) -> None:
        self._module = weakref.ref(module)
        self._call = call
        self.owner = owner

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call what stands in for the forward, or the forward itself in a copy."""
        if self._call is not None:
            # Where the compiler meets a raise, it leaves the frame to Python.
            if torch.compiler.is_compiling() or get_eval_frame_callback():
                raise PlanMismatchError(
                    "a model that follows a plan was to be compiled as a whole; "
                    "compile its stages (module.compile()) before the plan is applied"
                )
            return self._call(*args, **kwargs)
        module = self._module()
        assert module is not None, "it is the module that is being called"
        return type(module).forward(module, *args, **kwargs)

    @property
    def __signature__(self) -> inspect.Signature:
        # Trainers look at it to choose the columns of their data.
        module = self._module()
        return inspect.signature(type(module).forward.__get__(module))  # type: ignore[union-attr]  # alive

    def __deepcopy__(self, memo: dict[int, Any]) -> "Forward":
        module = self._module()
        assert module is not None, "it is the module that is being copied"
        return Forward(memo.get(id(module), module))

    def __reduce__(self) -> Any:
        return Forward, (self._module(),)
