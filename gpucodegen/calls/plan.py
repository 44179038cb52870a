"""The plan of a call: guards and action for all calls of one form.

Input: a compiled function, and the arguments of a first call that passed all checks.
Output: an immutable `Plan` with guards, the action, and the conversion of each argument
to its ABI value: the address of an array's first element, or a number. A call may also
run on a stream that the caller names, an object of CuPy, PyTorch or another library, or
a driver's pointer; it is then the current stream during the call.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any, cast

import numpy as np

from gpucodegen import errors
from gpucodegen.calls.foreign_calls import has_narrow_results
from gpucodegen.calls.launch import (
    Entry,
    no_fast_path,
    on_arrays,
    on_words,
    prepared,
)
from gpucodegen.calls.overlaps import Touching
from gpucodegen.calls.signature import Signature
from gpucodegen.compiling.executable import Executable
from gpucodegen.compiling.targets.registry import find
from gpucodegen.intrinsics import direct_layout
from gpucodegen.records import dataclass
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
        """Make it the current stream."""
        return self.device.on(self.stream)

    def of(self, call: Callable[[], Any]) -> Callable[[], Any]:
        """A call during which it is the current stream."""

        def on_stream() -> Any:
            with self.device.on(self.stream):
                return call()

        return on_stream


def device_of(runtime: Any, target: str, option: str) -> Device:
    """The device of a call's runtime. Raises NoStreams if its target has none."""
    device = runtime.device
    if device is None:
        raise errors.NoStreams(target=target, option=option)
    return device


def place_of(runtime: Any, target: str, stream: object) -> Place | None:
    """The named stream on a call's device; None if none is named."""
    if stream is None:
        return None
    device = device_of(runtime, target, "stream")
    return Place(device, device.stream(stream))


def current(place: Place | None) -> AbstractContextManager[object]:
    """Make a stream the current one, if there is one."""
    return nullcontext() if place is None else place.current()


_addressof, _first_byte = ctypes.addressof, ctypes.c_char.from_buffer


def _asked(array: np.ndarray[Any, Any]) -> int:
    """The address, from the buffer protocol if possible."""
    try:
        return _addressof(_first_byte(cast("bytearray", array)))
    except (TypeError, ValueError):  # read-only, empty or not contiguous
        return int(array.ctypes.data)


def _read(array: np.ndarray[Any, Any]) -> int:
    """The address, read from the array object itself in half the time."""
    return _integer_at(id(array) + direct_layout.DATA).value


_integer_at = ctypes.c_size_t.from_address


def _is_there() -> bool:
    """Whether `id` is an object's address and arrays have the data pointer there."""
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
    """A function that returns a NumPy array's address if ``alignment`` divides it.

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
    """A function that returns the address of a device array with elements of ``size``.

    The function raises `ValueError` for an address between two elements.

    >>> from gpucodegen.runtime.devices import emulated_cupy as xp
    >>> a = xp.zeros((4,), "f4")
    >>> device_address(4)(a[1:]) - device_address(4)(a)
    4
    """

    def place(array: Any) -> int:
        found = int(array.data.ptr)
        if found % size:
            raise ValueError(found)
        return found

    return place


ToWord = Callable[[Any], Any]
"""The conversion of an argument to a word of the C calling convention."""
ArgumentBuffer = Callable[[Any, int], Buffer]
"""The conversion of an array and its address to a buffer."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan for calls of one form.

    Guards: the form itself, ``words``, which raise for a number or an address that does
    not fit, and ``apart``. Action: ``launch`` of words, if the artifact states one,
    else the host program, for which ``buffers`` describe the arrays among the
    arguments. ``runtime``: accesses the arguments in place; None if some are copied to
    a device. ``entry``: the same call of arrays in machine code, or `no_fast_path`.
    """

    executable: Executable
    runtime: Any
    words: tuple[ToWord, ...]
    apart: tuple[Touching, ...]
    buffers: tuple[tuple[int, ArgumentBuffer], ...]
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
        if self.launch is not None:
            return self.launch(*words)
        executable, values = self.executable, self._values(arguments, words)
        if self.runtime is None:
            return executable.launcher(arguments, values)()
        return executable.run(self.runtime, arguments, values)

    def on(self, stream: object, arguments: Sequence[Any], words: Sequence[Any]) -> Any:
        """Run a call on a stream of the caller's."""
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
        """The machine-code call without the last array, which it allocates and returns.

        ``dtype``: the type of its elements. `no_fast_path` if the call is more than one
        launch on arrays.
        """
        launch, last = self.executable.artifact.launch, arguments[-1]
        if launch is None or launch.results or self.entry is no_fast_path:
            return no_fast_path
        if last.dtype != storage(dtype) or not last.flags.c_contiguous:
            return no_fast_path
        made = replace(launch, results=((last.shape, dtype),), single=True)
        return on_arrays(made, self.runtime, arguments[:-1], self.apart)


def _keeping(
    arguments: Sequence[Any], call: Callable[..., Any], *given: Any, **named: Any
) -> Callable[[], Any]:
    """A call that keeps its arguments alive."""
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
    """The plan of a first call; None if an argument is of an unknown kind.

    ``values`` are the checked and converted ``arguments``, and ``apart`` is their
    overlap condition.
    """
    target = find(executable.target)
    if not target.repeats_calls:
        return None
    words: list[ToWord] = []
    buffers: list[tuple[int, ArgumentBuffer]] = []
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
    stated, launch, entry = executable.artifact.launch, None, no_fast_path
    if stated is not None and runtime is not None:
        launch = on_words(stated, runtime, values)
        on_host = len(buffers) == len(words) and not target.has_own_memory
        if on_host and not has_narrow_results(signature):
            entry = on_arrays(stated, runtime, arguments, apart)
    parts = tuple(words), apart, tuple(buffers)
    return Plan(executable, runtime, *parts, launch, entry)


def _is_plain(buffer: Buffer) -> bool:
    """Whether an array's form determines everything but its address and contents."""
    return buffer.device != CPU or type(buffer.array) is np.ndarray


def _address_of(buffer: Buffer, widest: int) -> ToWord:
    """The conversion of an array of this form to its address.

    The form of NumPy arrays does not include their alignment.
    """
    if buffer.device != CPU:
        return device_address(buffer.array.itemsize)
    return aligned_address(alignment_of(buffer.pointer, widest)) if widest else address


def _taken(first: Buffer) -> ArgumentBuffer:
    """The conversion of arrays of the form of ``first`` to buffers."""
    dtype, shape, strides = first.dtype, first.shape, first.strides
    device, writable = first.device, first.writable

    def take(array: Any, place: int) -> Buffer:
        return Buffer(array, dtype, shape, strides, place, device, writable)

    return take


def _unknown(value: object) -> Any:
    raise TypeError(value)
