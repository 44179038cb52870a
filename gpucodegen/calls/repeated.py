"""Calls like an earlier one: arguments of one form need not be checked twice.

Comes in: the arguments of a call, and what became of the first call of that form.  Goes
out: buffers and numbers, or None where the slow way has to look, and to explain.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from gpucodegen.calls.direct import Direct, Launch, Touching, only_launch
from gpucodegen.calls.scalars import scalar_conversion
from gpucodegen.compiling.executable import Executable
from gpucodegen.intrinsics.direct import layout
from gpucodegen.runtime.host.buffers import CPU, Buffer
from gpucodegen.runtime.host.engines import storage

Form = Hashable
Convert = Callable[[Any], Any]


def form_of(arguments: Sequence[object]) -> Form:
    """What decides over the checks of a call but addresses and the values of numbers.

    >>> a, b = np.zeros((2, 3)), np.ones((2, 3))
    >>> form_of((a, 1)) == form_of((b, 2)), form_of((a, 1)) == form_of((a.T, 1))
    (True, False)
    """
    form: list[Hashable] = []
    for a in arguments:
        if type(a) is np.ndarray:
            form.append((a.dtype, a.shape, a.strides, a.flags.writeable))
        else:
            form.append(type(a))
    return tuple(form)


def unlike(*arguments: object) -> Any:
    """A `Direct` call that no arguments suit."""
    del arguments
    return NotImplemented


TARGET_VARIABLE = ctypes.create_string_buffer(b"GPUCODEGEN_TARGET")
_getenv = ctypes.PyDLL("ucrtbase" if sys.platform == "win32" else None).getenv
_getenv.argtypes, _getenv.restype = (ctypes.c_char_p,), ctypes.c_char_p


def required_target() -> bytes | None:
    """The target that the environment asks for, whatever a program says.

    Asked of the C library, which `os.environ` keeps up to date: that takes 0.16 us,
    where `os.environ.get` takes 0.8, a fifth of a repeated call.

    >>> import os
    >>> required_target() == os.environb.get(b"GPUCODEGEN_TARGET")
    True
    """
    return _getenv(TARGET_VARIABLE)


_addressof, _first_byte = ctypes.addressof, ctypes.c_char.from_buffer


def _asked(array: np.ndarray[Any, Any]) -> int:
    """The address, from the buffer protocol where that gives one."""
    try:
        return _addressof(_first_byte(cast("bytearray", array)))
    except (TypeError, ValueError):  # read-only, empty or not contiguous
        return int(array.ctypes.data)


def _read(array: np.ndarray[Any, Any]) -> int:
    """The address, from the array itself: that takes half the time."""
    return _integer_at(id(array) + layout.DATA).value


_integer_at = ctypes.c_size_t.from_address


def _is_there() -> bool:
    """Whether objects lie where `id` says, and arrays have the field there."""
    if sys.implementation.name != "cpython":
        return False
    row = np.zeros(9)
    return all(_read(a) == a.ctypes.data for a in (row, row[2:], row[::-2], row[:0]))


address = _read if _is_there() else _asked
"""Where the first element of an array lies.

>>> a = np.zeros((2, 3))
>>> address(a) == a.ctypes.data, address(a[:, 1:].T) == a[:, 1:].ctypes.data
(True, True)
"""


Kind = tuple[str, str]
"""``"array"`` with the type of its elements, or ``"number"`` with its type."""


@dataclass(slots=True)
class Checked:
    """A call of one form whose arguments passed all checks.

    ``kinds``: what each argument is, and ``converts``: how it becomes a value.
    ``only``: where the call is one launch, that launch, ``run``: it, of addresses and
    numbers, and ``plain``: how the arguments become these.
    """

    executable: Executable
    kinds: tuple[Kind, ...]
    converts: tuple[Convert, ...]
    apart: tuple[Touching, ...]
    run: Callable[[Sequence[Any]], Any] | None
    plain: tuple[Convert, ...]
    only: Launch | None
    _direct: Direct | None = None

    def launched(self, arguments: Sequence[Any]) -> tuple[Any] | None:
        """What another call returns, if it was one launch, and has run."""
        if self.run is None:
            return None
        values = self._addresses(arguments)
        return None if values is None else (self.run(values),)

    def direct(self, arguments: Sequence[Any]) -> Direct:
        """What runs calls whose ``arguments`` are like these, and no others."""
        if self._direct is None:
            self._direct = self._repeated(self.only, arguments) or unlike
        return self._direct

    def _repeated(self, only: Launch | None, arguments: Sequence[Any]) -> Direct | None:
        """The same of a launch, which has to be on arrays."""
        if only is None or not self._has_arrays_only or required_target():
            return None
        runtime = self.executable.runtime
        return only.repeated(runtime, arguments, self.apart, TARGET_VARIABLE)

    @property
    def _has_arrays_only(self) -> bool:
        return all(kind == "array" for kind, _ in self.kinds)

    def bound(self, arguments: Sequence[Any]) -> Callable[[], Any] | None:
        """A callable for calls with the same arguments, if they are one launch."""
        run = self.run
        values = self._addresses(arguments) if run else None
        if run is None or values is None:
            return None

        def launch(_held: Sequence[Any] = arguments) -> Any:
            return run(values)

        return launch

    def again(self, arguments: Sequence[Any]) -> Direct | None:
        """What repeats a call with other arrays, and a new last one that it returns.

        None where it is more than one launch on arrays.
        """
        only, last = self.only, arguments[-1]
        if not only or only.results or not self._has_arrays_only:
            return None
        dtype = self.kinds[-1][1]
        if last.dtype != storage(dtype) or not last.flags.c_contiguous:
            return None
        return self._repeated(only.making_last((last.shape, dtype)), arguments[:-1])

    def _addresses(self, arguments: Sequence[Any]) -> list[Any] | None:
        """Addresses and numbers of a call; None if one does not fit or two overlap."""
        try:
            values = [c(a) for c, a in zip(self.plain, arguments, strict=True)]
        except Exception:  # noqa: BLE001 - the slow way explains it
            return None
        for one, other, least, most in self.apart:
            if least < values[one] - values[other] < most:
                return None
        return values

    def values(self, arguments: Sequence[Any]) -> list[Any] | None:
        """The values of another call; None if one does not fit or two overlap."""
        try:
            values = [c(a) for c, a in zip(self.converts, arguments, strict=True)]
        except Exception:  # noqa: BLE001 - as above
            return None
        for one, other, least, most in self.apart:
            if least < values[one].pointer - values[other].pointer < most:
                return None
        return values


def checked(
    executable: Executable,
    types: Sequence[object],
    arguments: Sequence[Any],
    values: Sequence[Any],
    *,
    alias: str,
) -> Checked | None:
    """What the first call of a form taught; None where arguments are not used in place.

    ``values`` are those that the ``arguments`` were checked and turned into.
    """
    kinds: list[Kind] = []
    for ty, argument, value in zip(types, arguments, values, strict=True):
        if not isinstance(value, Buffer):
            kinds.append(("number", str(ty)))
        elif type(argument) is np.ndarray and value.array is argument:
            kinds.append(("array", value.dtype))
        else:
            return None
    pairs = executable.apart(values) if alias == "refuse" else ()
    apart = tuple(
        (one, other, *distances)
        for one, other in pairs
        if (distances := _touching(values[one], values[other]))
    )
    return remade(executable, kinds, apart, arguments)


def remade(
    executable: Executable,
    kinds: Sequence[Kind],
    apart: Sequence[Touching],
    arguments: Sequence[Any],
) -> Checked:
    """What is known of calls of the form that ``arguments`` have."""
    pairs = list(zip(kinds, arguments, strict=True))
    numbers = [scalar_conversion(ty) or _unknown for (_, ty), _ in pairs]
    converts = (
        _taken(Buffer.of(argument, ty)) if kind == "array" else number
        for ((kind, ty), argument), number in zip(pairs, numbers, strict=True)
    )
    plain = (
        address if kind == "array" else number
        for (kind, _), number in zip(kinds, numbers, strict=True)
    )
    only = only_launch(executable.host, len(pairs))
    run = only.runner(executable.runtime) if only else None
    return Checked(
        executable,
        tuple(kinds),
        tuple(converts),
        tuple(apart),
        run,
        tuple(plain),
        only,
    )


def _touching(one: Buffer, other: Buffer) -> tuple[int, int] | None:
    """Between which differences of their addresses two buffers overlap.

    [a + low, a + high) and [b + start, b + end) share a byte, if none is empty, iff
    start - high < a - b < end - low.

    >>> a, b = (Buffer.of(np.zeros(8, np.float32), "f32") for _ in "ab")
    >>> _touching(a, b)
    (-32, 32)
    """
    low, high = (bound - one.pointer for bound in one.byte_range)
    start, end = (bound - other.pointer for bound in other.byte_range)
    return None if low == high or start == end else (start - high, end - low)


def _taken(first: Buffer) -> Convert:
    """How arrays of the form of ``first`` become buffers."""
    dtype, shape, strides = first.dtype, first.shape, first.strides
    writable = first.writable

    def take(array: np.ndarray[Any, Any]) -> Buffer:
        return Buffer(array, dtype, shape, strides, address(array), CPU, writable)

    return take


def _unknown(value: object) -> Any:
    raise TypeError(value)
