"""The plan of a call: how every call of one form is checked and made.

Comes in: a compiled function, and the arguments of a first call that passed all checks.
Goes out: guards, the action, and how an argument becomes a word, in one record that
never changes.

The address of an array's first element: the word that stands for it in a launch.

The stream that a caller names for a call, and calls on it.

Comes in: an object of CuPy, PyTorch or another library, or a driver's pointer.  Goes
out: a call during which that stream is the current one of the call's device.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import numpy as np

from gpucodegen import errors
from gpucodegen.calls.launch import (
    Entry,
    on_arrays,
    on_words,
    prepared,
    unlike,
)
from gpucodegen.calls.overlaps import Touching
from gpucodegen.calls.signature import Signature
from gpucodegen.compiling.executable import Executable
from gpucodegen.compiling.targets.registry import find
from gpucodegen.intrinsics import direct_layout
from gpucodegen.runtime.devices.protocol import Device, Stream
from gpucodegen.runtime.host.arguments import alignment_of, scalar_conversion
from gpucodegen.runtime.host.buffers import CPU, Buffer
from gpucodegen.runtime.host.engines import storage


@dataclass(frozen=True, slots=True)
class Place:
    """A stream of a device."""

    device: Device
    stream: Stream

    def current(self) -> AbstractContextManager[object]:
        """Make it the current one."""
        return self.device.on(self.stream)

    def of(self, call: Callable[[], Any]) -> Callable[[], Any]:
        """A call that makes it the current one."""

        def on_stream() -> Any:
            with self.device.on(self.stream):
                return call()

        return on_stream


def device_of(runtime: Any, target: str, option: str) -> Device:
    """The device of a call's runtime.  Raises NoStreams where its target has none."""
    device = runtime.device
    if device is None:
        raise errors.NoStreams(target=target, option=option)
    return device


def place_of(runtime: Any, target: str, stream: object) -> Place | None:
    """Where a call on a stream works; None where none is named."""
    if stream is None:
        return None
    device = device_of(runtime, target, "stream")
    return Place(device, device.stream(stream))


def current(place: Place | None) -> AbstractContextManager[object]:
    """Make the stream of a place the current one, if there is one."""
    return nullcontext() if place is None else place.current()


_addressof, _first_byte = ctypes.addressof, ctypes.c_char.from_buffer


def _asked(array: np.ndarray[Any, Any]) -> int:
    """The address, from the buffer protocol where that gives one."""
    try:
        return _addressof(_first_byte(cast("bytearray", array)))
    except (TypeError, ValueError):  # read-only, empty or not contiguous
        return int(array.ctypes.data)


def _read(array: np.ndarray[Any, Any]) -> int:
    """The address, from the array itself: that takes half the time."""
    return _integer_at(id(array) + direct_layout.DATA).value


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


def aligned_address(alignment: int) -> Callable[[Any], int]:
    """Where NumPy arrays begin, if so many bytes divide that.

    The function raises `ValueError` for others.

    >>> a = np.zeros(8)
    >>> aligned_address(8)(a[1:]) - aligned_address(8)(a)
    8
    """

    def place(array: Any) -> int:
        found = address(array)
        if found % alignment:
            raise ValueError(found)
        return found

    return place


def device_address(size: int) -> Callable[[Any], int]:
    """Where arrays of a device begin whose elements have so many bytes.

    The function raises `ValueError` for one between two elements.

    >>> from gpucodegen.runtime.devices import emulated_cupy as xp
    >>> a = xp.zeros((4,), "f4")
    >>> device_address(4)(a[1:]) - device_address(4)(a)
    4
    """

    def place(array: Any) -> int:
        found = array.data.ptr
        if found % size:
            raise ValueError(found)
        return found

    return place


Word = Callable[[Any], Any]
"""How an argument becomes a word."""
Taken = Callable[[Any, int], Buffer]
"""How an array and its address become a buffer."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How calls of one form are made.

    Guards: the form itself, ``words``, which raise for a number or an address that does
    not fit, and ``apart``.  Action: ``launch`` of words, where the artifact states one,
    else the host program, for which ``buffers`` describe the arrays among the
    arguments.  ``runtime``: what reaches the arguments where they are; None where some
    of them travel to a device.  ``entry``: the same call of arrays in machine code, or
    `unlike`.
    """

    executable: Executable
    runtime: Any
    words: tuple[Word, ...]
    apart: tuple[Touching, ...]
    buffers: tuple[tuple[int, Taken], ...]
    launch: Callable[..., Any] | None
    entry: Entry

    def take(self, arguments: Sequence[Any]) -> list[Any] | None:
        """The words of a call; None if one does not fit or two arrays overlap."""
        try:
            words = [word(a) for word, a in zip(self.words, arguments, strict=True)]
        except Exception:  # noqa: BLE001 - a first call explains it
            return None
        for one, other, least, most in self.apart:
            if least < words[one] - words[other] < most:
                return None
        return words

    def run(self, arguments: Sequence[Any], words: Sequence[Any]) -> Any:
        """A call."""
        if self.launch is not None:
            return self.launch(*words)
        executable, values = self.executable, self._values(arguments, words)
        if self.runtime is None:
            return executable.launcher(arguments, values)()
        return executable.run(self.runtime, arguments, values)

    def on(self, stream: object, arguments: Sequence[Any], words: Sequence[Any]) -> Any:
        """A call on a stream of the caller's."""
        executable, runtime = self.executable, self.runtime
        if runtime is None:
            runtime = executable.runtime.for_call(self._values(arguments, words))
        with current(place_of(runtime, executable.target, stream)):
            return self.run(arguments, words)

    def bound(
        self, arguments: Sequence[Any], words: Sequence[Any], place: Place | None = None
    ) -> Callable[[], Any]:
        """A callable for calls with the same arguments."""
        stated = self.executable.artifact.launch
        values = self._values(arguments, words)
        if self.launch is None or stated is None:
            call = self.executable.launcher(arguments, values)
            return call if place is None else place.of(call)
        start = prepared(stated, self.runtime, words, values)
        if start is None:
            call = _keeping(arguments, self.launch, *words)
            return call if place is None else place.of(call)
        named = {} if place is None else {"stream": place.stream}
        return _keeping(arguments, start, **named)

    def _values(self, arguments: Sequence[Any], words: Sequence[Any]) -> list[Any]:
        values = [*words]
        for n, take in self.buffers:
            values[n] = take(arguments[n], words[n])
        return values

    def making_last(self, arguments: Sequence[Any], dtype: str) -> Entry:
        """The call in machine code, without the last array, which it makes and returns.

        ``dtype``: the type of its elements.  `unlike` where the call is more than one
        launch on arrays.
        """
        launch, last = self.executable.artifact.launch, arguments[-1]
        if launch is None or launch.results or self.entry is unlike:
            return unlike
        if last.dtype != storage(dtype) or not last.flags.c_contiguous:
            return unlike
        made = replace(launch, results=((last.shape, dtype),), single=True)
        return on_arrays(made, self.runtime, arguments[:-1], self.apart)


def _keeping(
    arguments: Sequence[Any], call: Callable[..., Any], *given: Any, **named: Any
) -> Callable[[], Any]:
    """A call with what it is given; the arguments live as long as that."""
    made = partial(call, *given, **named)
    vars(made)["arguments"] = arguments
    return made


def plan_of(
    executable: Executable,
    signature: Signature,
    arguments: Sequence[Any],
    values: Sequence[Any],
    apart: tuple[Touching, ...],
) -> Plan | None:
    """The plan of a first call; None where an argument is not an array that is known.

    ``values`` are those that the ``arguments`` were checked and turned into, and
    ``apart`` is what they have to fulfil.
    """
    target = find(executable.target)
    if not target.repeats_calls:
        return None
    words: list[Word] = []
    buffers: list[tuple[int, Taken]] = []
    for n, (argument, value) in enumerate(zip(arguments, values, strict=True)):
        if not isinstance(value, Buffer):
            words.append(scalar_conversion(signature.parameters[n].dtype) or _unknown)
        elif value.array is argument and _is_plain(value):
            words.append(_address_of(value, target.widest))
            buffers.append((n, _taken(value)))
        else:
            return None
    runtime = executable.runtime
    if target.has_own_memory:
        stays = buffers and all(values[n].device != CPU for n, _ in buffers)
        runtime = runtime.for_call(values) if stays else None
    stated, launch, entry = executable.artifact.launch, None, unlike
    if stated is not None and runtime is not None:
        launch = on_words(stated, runtime, values)
        if len(buffers) == len(words) and not target.has_own_memory:
            entry = on_arrays(stated, runtime, arguments, apart)
    parts = tuple(words), apart, tuple(buffers)
    return Plan(executable, runtime, *parts, launch, entry)


def _is_plain(buffer: Buffer) -> bool:
    """Whether the form of an array says all of it but its address and contents."""
    return buffer.device != CPU or type(buffer.array) is np.ndarray


def _address_of(buffer: Buffer, widest: int) -> Word:
    """How an array like that of a buffer becomes a word.

    The form of NumPy arrays does not say what divides their addresses.
    """
    if buffer.device != CPU:
        return device_address(buffer.array.itemsize)
    return aligned_address(alignment_of(buffer.pointer, widest)) if widest else address


def _taken(first: Buffer) -> Taken:
    """How arrays of the form of ``first`` become buffers."""
    dtype, shape, strides = first.dtype, first.shape, first.strides
    device, writable = first.device, first.writable

    def take(array: Any, place: int) -> Buffer:
        return Buffer(array, dtype, shape, strides, place, device, writable)

    return take


def _unknown(value: object) -> Any:
    raise TypeError(value)
