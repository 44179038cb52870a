"""Calls like an earlier one: arguments of one form need not be checked twice.

Comes in: the arguments of a call, and what became of the first call of that form.  Goes
out: buffers and numbers, or None where the slow way has to look, and to explain.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from gpucodegen.executable import Executable
from gpucodegen.runtime.buffers import CPU, Buffer
from gpucodegen.signature import Signature, scalar_conversion

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


def address(array: np.ndarray[Any, Any]) -> int:
    """Where the first element lies.

    >>> a = np.zeros((2, 3))
    >>> address(a) == a.ctypes.data, address(a.T) == a.ctypes.data
    (True, True)
    """
    try:
        return ctypes.addressof(_BYTE.from_buffer(cast("bytearray", array)))
    except (TypeError, ValueError):  # read-only, empty or not contiguous
        return int(array.ctypes.data)


_BYTE = ctypes.c_char


@dataclass(frozen=True, slots=True)
class Checked:
    """A call of one form whose arguments passed all checks.

    ``converts``: for each argument how it becomes a value.  ``apart``: pairs of
    arguments that must not overlap.  ``reaches``: first byte and the byte behind the
    last, counted from the address.
    """

    executable: Executable
    converts: tuple[Convert, ...]
    reaches: tuple[tuple[int, int], ...]
    apart: tuple[tuple[int, int], ...]

    def values(self, arguments: Sequence[Any]) -> list[Any] | None:
        """The values of another call; None if one does not fit or two overlap."""
        try:
            values = [c(a) for c, a in zip(self.converts, arguments, strict=True)]
        except (TypeError, ValueError, OverflowError):
            return None
        for one, other in self.apart:
            (low, high), (start, end) = self.reaches[one], self.reaches[other]
            a, b = values[one].pointer, values[other].pointer
            if a + low < b + end and b + start < a + high:
                return None
        return values


def checked(
    executable: Executable,
    signature: Signature,
    arguments: Sequence[Any],
    values: Sequence[Any],
    *,
    alias: str,
) -> Checked | None:
    """What the first call of a form taught; None where arguments are not used in place.

    ``values`` are those that the ``arguments`` were checked and turned into.
    """
    converts: list[Convert] = []
    for ty, argument, value in zip(signature.types, arguments, values, strict=True):
        if isinstance(value, Buffer):
            if type(argument) is not np.ndarray or value.array is not argument:
                return None
            converts.append(_taken(value))
        else:
            converts.append(scalar_conversion(ty) or _unknown)
    reaches = tuple(map(_reach, values))
    apart = executable.apart(values) if alias == "refuse" else ()
    return Checked(executable, tuple(converts), reaches, apart)


def _reach(value: Any) -> tuple[int, int]:
    """Where the memory of a value begins and ends, from its address on."""
    if not isinstance(value, Buffer):
        return 0, 0
    low, high = value.byte_range
    return low - value.pointer, high - value.pointer


def _taken(first: Buffer) -> Convert:
    """How arrays of the form of ``first`` become buffers."""
    dtype, shape, strides = first.dtype, first.shape, first.strides
    writable = first.writable

    def take(array: np.ndarray[Any, Any]) -> Buffer:
        return Buffer(array, dtype, shape, strides, address(array), CPU, writable)

    return take


def _unknown(value: object) -> Any:
    raise TypeError(value)
