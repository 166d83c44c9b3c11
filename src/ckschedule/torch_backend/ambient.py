"""The state around a stage that its result depends on, kept and put back.

Recomputing a stage gives the numbers of its first computation only if everything that
it reads besides its arguments is as it was: random number generators of CPU, device,
Python and NumPy, autocast, default dtype and device, training flags. What is put back
for a recomputation is taken away afterwards: the caller's streams neither advance nor
rewind.
"""

import ctypes
import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch

_MERSENNE_BYTES: Final = 624 * 4 + 4
"""Key and position of the MT19937 that NumPy's global generator runs on."""


class _Python:
    """Python's global generator: its full state takes 7 us to copy.

    A generator of CPython lies in memory as an index and 624 words. Where that is so,
    which is tried once, they are compared and the state is copied only if they changed.
    """

    def __init__(self) -> None:
        self._last: tuple[bytes, float | None, tuple[Any, ...]] | None = None
        self._generator: Any = random._inst
        self._words = self._find_words()

    def read(self) -> tuple[Any, ...]:
        if self._words is None:
            return random.getstate()
        words, spare = bytes(self._words), self._generator.gauss_next
        last = self._last
        if last is not None and last[0] == words and last[1] == spare:
            return last[2]
        state = random.getstate()
        self._last = words, spare, state
        return state

    def _find_words(self) -> ctypes.Array[ctypes.c_char] | None:
        size, header = 4 + 624 * 4, object.__basicsize__
        if header + size > type(self._generator).__basicsize__:
            return None
        words = (ctypes.c_char * size).from_address(id(self._generator) + header)
        _, internal, _ = random.getstate()
        expected = np.array([internal[-1], *internal[:-1]], np.uint32).tobytes()
        return words if bytes(words) == expected else None


class _NumPy:
    """NumPy's global generator: its full state takes 30 us to copy, its key 0.2 us.

    The key tells whether anything was drawn, unless a second normal deviate of a pair
    lies ready (`has_gauss`): while one does, the full state is compared.
    """

    def __init__(self) -> None:
        self._last: tuple[bytes, dict[str, Any]] | None = None
        self._generator: object = None
        self._address = 0

    def read(self) -> dict[str, Any]:
        key = self._key()
        if (
            self._last is not None
            and key
            and self._last[0] == key
            and not self._last[1]["has_gauss"]
        ):
            return self._last[1]
        state: dict[str, Any] = np.random.get_state(legacy=False)  # noqa: NPY002
        # The caller's stream is a global of NumPy's: the legacy interface is its name.
        if self._last is not None and _same_numpy(self._last[1], state):
            state = self._last[1]
        self._last = (key, state)
        return state

    def write(self, state: dict[str, Any]) -> None:
        np.random.set_state(state)  # noqa: NPY002 - as above

    def _key(self) -> bytes:
        generator = np.random.mtrand._rand._bit_generator
        if generator is not self._generator:
            self._generator = generator
            mersenne = type(generator).__name__ == "MT19937"
            self._address = generator.ctypes.state_address if mersenne else 0
        if not self._address:
            return b""
        return ctypes.string_at(self._address, _MERSENNE_BYTES)


def _same_numpy(a: dict[str, Any], b: dict[str, Any]) -> bool:
    # Arrays inside: compared as text only where the generator is not the usual one.
    if a["bit_generator"] != b["bit_generator"]:
        return False
    if (a["has_gauss"], a["gauss"]) != (b["has_gauss"], b["gauss"]):
        return False
    if a["bit_generator"] != "MT19937":
        return repr(a["state"]) == repr(b["state"])
    return a["state"]["pos"] == b["state"]["pos"] and np.array_equal(
        a["state"]["key"], b["state"]["key"]
    )


@dataclass(slots=True)
class Streams:
    """States of all random number generators at one moment."""

    cpu: torch.Tensor
    cpu_bytes: bytes
    device: torch.Tensor | None
    python: tuple[Any, ...]
    numpy: dict[str, Any]


_NUMPY: Final = _NumPy()
_PYTHON: Final = _Python()
_CPU: Final = torch.device("cpu")


def read_streams(device: torch.device | None, last: Streams | None) -> Streams:
    """Return the states of all generators.

    Parameters
    ----------
    device
        Accelerator whose generator counts too; None for none.
    last
        An earlier reading; what has not changed since is shared with it, so that
        ``is`` tells whether a stream was drawn from.
    """
    cpu = torch.default_generator.get_state()
    # Bytes compare ten times faster than tensors.
    cpu_bytes = ctypes.string_at(cpu.data_ptr(), cpu.numel())
    python = _PYTHON.read()
    numpy = _NUMPY.read()
    on_device = None
    if device is not None:
        on_device = torch.get_device_module(device).get_rng_state(device)
    if last is not None:
        if cpu_bytes == last.cpu_bytes:
            cpu = last.cpu
        if python is not last.python and python == last.python:
            python = last.python
        if (
            on_device is not None
            and last.device is not None
            and torch.equal(on_device, last.device)
        ):
            on_device = last.device
        if (
            cpu is last.cpu
            and python is last.python
            and numpy is last.numpy
            and on_device is last.device
        ):
            return last
    return Streams(cpu, cpu_bytes, on_device, python, numpy)


@contextmanager
def replayed_streams(
    before: Streams, after: Streams | None, device: torch.device | None
) -> Iterator[None]:
    """Set the streams that a stage drew from as they were, and put them back.

    Parameters
    ----------
    before, after
        Readings around its first computation; streams that both share were not drawn
        from and are left alone. None: all are set.
    device
        Accelerator of ``before.device``.
    """
    undo: list[tuple[Callable[[Any], None], Any]] = []
    if after is None or before.cpu is not after.cpu:
        undo.append((torch.set_rng_state, torch.get_rng_state()))
        torch.default_generator.set_state(before.cpu)
    if before.device is not None and (
        after is None or before.device is not after.device
    ):
        module = torch.get_device_module(device)
        undo.append(
            (lambda s: module.set_rng_state(s, device), module.get_rng_state(device))
        )
        module.set_rng_state(before.device, device)
    if after is None or before.python is not after.python:
        undo.append((random.setstate, random.getstate()))
        random.setstate(before.python)
    if after is None or before.numpy is not after.numpy:
        undo.append((_NUMPY.write, _NUMPY.read()))
        _NUMPY.write(before.numpy)
    try:
        yield
    finally:
        for write, state in undo:
            write(state)


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of torch that a stage's operators read.

    Attributes
    ----------
    kinds
        Device types whose autocast counts.
    casts
        For each kind whether autocast is on, and its dtype; empty if it is nowhere on.
    cached
        Whether autocast keeps casts.
    dtype, device
        The defaults.
    """

    kinds: tuple[str, ...]
    casts: tuple[tuple[bool, torch.dtype], ...]
    cached: bool
    dtype: torch.dtype
    device: torch.device

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Have torch set so, and as it was afterwards."""
        now = read_settings(self.kinds, self)
        if now is self:
            yield
            return
        with ExitStack() as stack:
            for place, kind in enumerate(self.kinds):
                on, dtype = self.casts[place] if self.casts else (False, None)
                stack.enter_context(
                    torch.autocast(
                        kind, enabled=on, dtype=dtype, cache_enabled=self.cached
                    )
                )
            if now.device != self.device:
                stack.enter_context(self.device)
            torch.set_default_dtype(self.dtype)
            stack.callback(torch.set_default_dtype, now.dtype)
            yield


def read_settings(kinds: tuple[str, ...], last: Settings | None = None) -> Settings:
    """Return the settings in force; ``last`` itself if they are equal to it."""
    dtype = torch.get_default_dtype()
    # There is a default device other than the CPU only under a mode of functions, and
    # the lookup is slow.
    moded = torch._C._len_torch_function_stack()
    casting = torch._C._is_any_autocast_enabled()
    if (
        last is not None
        and not moded
        and not casting
        and not last.casts
        and last.dtype == dtype
        and last.device == _CPU
    ):
        return last
    casts = [
        (torch.is_autocast_enabled(kind), torch.get_autocast_dtype(kind))
        for kind in kinds
    ]
    found = Settings(
        kinds=kinds,
        casts=tuple(casts) if casting else (),
        cached=casting and torch.is_autocast_cache_enabled(),
        dtype=dtype,
        device=torch.get_default_device() if moded else _CPU,
    )
    return last if last == found else found
