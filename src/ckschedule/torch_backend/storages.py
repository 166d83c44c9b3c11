"""Live bytes of torch tensors, counted by storage as operators make and drop them."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from typing import Any, Self

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes


@contextmanager
def uncounted() -> Iterator[None]:
    """Have no mode see the operators but that of fake tensors, which need it."""
    fake = torch._C._get_dispatch_mode(torch._C._TorchDispatchModeKey.FAKE)
    with _disable_current_modes(), nullcontext() if fake is None else fake:
        yield


class LiveStorages(TorchDispatchMode):
    """Counts the bytes of all storages that operators return while it is active.

    A storage counts once, whatever tensors view it, from the operator that made it to
    the moment the last tensor on it dies. Works for real, meta and fake tensors and
    within autograd's backward. What a kernel allocates and frees inside itself is not
    seen; on the CPU that agrees with the allocator for the operators of common layers.

    Attributes
    ----------
    live
        Bytes now.
    peak
        Most bytes since the last `reset`.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # torch's is not annotated
        self.live = 0
        self.peak = 0
        self._stances = ExitStack()
        self._sizes: dict[int, int] = {}
        self._watched: dict[int, weakref.ref[torch.UntypedStorage]] = {}

    def __enter__(self) -> Self:
        """Start to count; compiled code runs uncompiled meanwhile.

        What compiled code allocates passes by every mode, and torch would give up
        compiling, for good, what it first meets under one.
        """
        if "torch._dynamo" in sys.modules:
            self._stances.enter_context(torch.compiler.set_stance("force_eager"))
        super().__enter__()  # type: ignore[no-untyped-call]  # torch's is not annotated
        return self

    def __exit__(self, *error: object) -> None:
        """Stop counting."""
        super().__exit__(*error)  # type: ignore[no-untyped-call]  # likewise
        self._stances.close()

    def track(self, tensors: Iterable[torch.Tensor]) -> int:
        """Count tensors that exist already; return the bytes that were new."""
        before = self.live
        for tensor in tensors:
            self._see(tensor)
        return self.live - before

    def ignore(self, tensors: Iterable[torch.Tensor]) -> None:
        """Do not count these tensors' storages, now or later."""
        for tensor in tensors:
            self._see(tensor)
            key = tensor.untyped_storage()._cdata
            self.live -= self._sizes[key]
            self._sizes[key] = 0
        self.peak = self.live

    def reset(self) -> None:
        """Have the peak start from now."""
        self.peak = self.live

    def bytes_of(self, tensors: Sequence[torch.Tensor]) -> int:
        """Return the counted bytes under tensors, each storage once."""
        dense = [part for tensor in tensors for part in _parts(tensor)]
        keys = {tensor.untyped_storage()._cdata for tensor in dense}
        return sum(self._sizes.get(key, 0) for key in keys)

    def __torch_dispatch__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: Any = (),
        kwargs: Any = None,
    ) -> Any:
        kwargs = kwargs or {}
        for leaf in pytree.tree_leaves((args, kwargs)):
            if isinstance(leaf, torch.Tensor):
                self._pass_over(leaf)
        returned = func(*args, **kwargs)
        if isinstance(returned, torch.Tensor):
            self._see(returned)
        else:
            for leaf in pytree.tree_leaves(returned):
                if isinstance(leaf, torch.Tensor):
                    self._see(leaf)
        return returned

    def _pass_over(self, tensor: torch.Tensor) -> None:
        """Leave out a storage that was there before and that nobody tracks.

        Views of it would be taken for new ones.
        """
        if tensor.layout is torch.sparse_coo:
            return
        storage = tensor.untyped_storage()
        if storage._cdata not in self._sizes:
            self._watch(storage, 0)

    def _watch(self, storage: torch.UntypedStorage, size: int) -> None:
        key = storage._cdata
        self._watched[key] = weakref.ref(storage, self._forgetting(key))
        self._sizes[key] = size

    def _see(self, tensor: torch.Tensor) -> None:
        if tensor.layout is torch.sparse_coo:
            for part in _parts(tensor):
                self._see(part)
            return
        storage = tensor.untyped_storage()
        key, size = storage._cdata, storage.nbytes()
        known = self._sizes.get(key)
        if known == size or known == 0:
            return
        if known is None:
            self._watch(storage, size)
        self._sizes[key] = size
        self.live += size - (known or 0)
        self.peak = max(self.peak, self.live)

    def _forgetting(self, key: int) -> Callable[[object], None]:
        # Holds the counter weakly: tensors that outlive it owe it nothing.
        this = weakref.ref(self)

        def forget(_: object) -> None:
            counter = this()
            if counter is not None:
                counter.live -= counter._sizes.pop(key)
                del counter._watched[key]

        return forget


def _parts(tensor: torch.Tensor) -> list[torch.Tensor]:
    """Return the dense tensors that a tensor consists of."""
    if tensor.layout is torch.sparse_coo:
        return [tensor._indices(), tensor._values()]
    return [tensor]
