"""The emulated device: executes PTX in NumPy with the checks and errors of a GPU.

Its memory has guarded addresses of its own.  A kernel runs when it is launched, with
every check of `gpucodegen.ptx`; a fault is raised at the next launch, copy or
synchronisation, as on a GPU. So are operations of two streams whose order is open.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import field
from functools import cache
from math import prod
from types import ModuleType
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from gpucodegen import errors
from gpucodegen.intrinsics.framework.elements import row_major
from gpucodegen.records import dataclass
from gpucodegen.runtime.devices.emulated_array import (
    Allocation,
    DevicePointer,
    EmulatedArray,
)
from gpucodegen.runtime.devices.emulated_streams import (
    CHUNK,
    NOTHING,
    EmulatedStream,
    Runs,
    Streams,
    runs,
)
from gpucodegen.runtime.devices.protocol import (
    MAP_WORDS,
    MOST_MAPS,
    Extents,
    LaunchLimits,
    PackedArguments,
    Shape,
    TensorForm,
    Triple,
    failure,
)
from gpucodegen.tiling.machine.gpu.devices import devices_of, occupancy

STEPS_VARIABLE = "GPUCODEGEN_EMULATED_STEPS"
MEMORY = 8 << 30
"""Bytes that one device has."""


@dataclass(frozen=True, slots=True)
class LoadedKernel:
    """A kernel of a module; ``module`` is a `gpucodegen.ptx.Module`.

    ``cooperative``: all its blocks run at once.
    """

    name: str
    module: Any
    cooperative: bool = False


@dataclass(eq=False)
class EmulatedDevice:
    """An emulated device, for one thread at a time; `device` returns it by number."""

    number: int
    limits: LaunchLimits = field(default_factory=lambda: LaunchLimits.of((9, 0)))
    compute_capability: tuple[int, int] = (9, 0)
    memory: Any = field(default_factory=lambda: _ptx().Memory(MEMORY))
    launches: int = 0
    """Kernels that it has run."""
    maps: dict[TensorForm, EmulatedArray] = field(
        default_factory=dict["TensorForm", EmulatedArray]
    )
    streams: Streams = field(init=False)
    _fault: errors.LaunchError | None = None

    @property
    def architecture(self) -> str:
        """Empty: kernels use only common features, unless a caller asks for more."""
        return ""

    def __post_init__(self) -> None:
        self.streams = Streams(str(self), self._raise_fault)

    def __str__(self) -> str:
        return f"emulated device {self.number}"

    def empty(self, shape: Shape, dtype: np.dtype[Any]) -> EmulatedArray:
        kind = np.dtype(dtype)
        size = prod(shape) * kind.itemsize
        try:
            address = self.memory.allocate(size)
        except _ptx().OutOfMemory as problem:
            raise errors.OutOfMemory(size=size) from problem
        strides = tuple(step * kind.itemsize for step in row_major(shape))
        memory = Allocation(self, self.memory, address, size)
        place = DevicePointer(address, self.number)
        return EmulatedArray(memory, place, shape, strides, kind)

    def adopted(self, interface: Mapping[str, Any], owner: object) -> EmulatedArray:
        """The array that another object describes; `ValueError` if it is elsewhere."""
        shape, kind = tuple(interface["shape"]), np.dtype(interface["typestr"])
        strides = interface.get("strides") or tuple(
            step * kind.itemsize for step in row_major(shape)
        )
        address = int(interface["data"][0])
        memory = Allocation(self, self.memory, address, 0, owner)
        place = DevicePointer(address, self.number)
        array = EmulatedArray(memory, place, shape, tuple(strides), kind)
        if array.size:
            low, high = array.reach()
            memory.address, memory.size = address + low, high - low
        try:
            array.cells()
        except ValueError as problem:
            raise ValueError(f"it is not in the memory of the {self}") from problem
        return array

    def view(
        self,
        array: EmulatedArray,
        address: int,
        shape: Shape,
        strides: Shape,
        dtype: Any,
    ) -> EmulatedArray:
        place = DevicePointer(address, self.number)
        return EmulatedArray(array.allocation, place, shape, strides, np.dtype(dtype))

    def allocation(self, array: EmulatedArray) -> tuple[int, int]:
        start = array.allocation.address
        return start, start + array.allocation.size

    def upload(self, array: EmulatedArray, contents: np.ndarray[Any, Any]) -> None:
        array.set(contents)

    def fetch(self, array: EmulatedArray) -> Callable[[], np.ndarray[Any, Any]]:
        """A copy to main memory, ordered by the current stream."""
        self.touch("a copy to main memory", reads=[array])
        contents, stream = array.cells().copy(), self.streams.current

        def arrived() -> np.ndarray[Any, Any]:
            stream.synchronize()
            return contents

        return arrived

    def touch(
        self,
        name: str,
        reads: Sequence[EmulatedArray] = (),
        writes: Sequence[EmulatedArray] = (),
    ) -> None:
        """Records an operation on arrays in the current stream; raises a kept fault."""
        self._raise_fault()
        self._fault = self.streams.note(name, _bytes_of(reads), _bytes_of(writes))

    def copy(self, target: EmulatedArray, source: EmulatedArray) -> None:
        target[...] = source

    def fill(self, array: EmulatedArray, value: Any) -> None:
        array[...] = value

    def tensor_map(self, form: TensorForm, encoded: Callable[..., Any]) -> Any:
        """A tensor map in the emulator's format, kept for later calls."""
        del encoded
        if form not in self.maps:
            if len(self.maps) >= MOST_MAPS:
                self.maps.clear()
            address, _, size, *parts, _ = form
            made = _ptx().TensorMap(address, size, *parts)
            self.maps[form] = self.empty((MAP_WORDS,), np.dtype(np.int64))
            self.memory.descriptors[self.maps[form].data.ptr] = made
        return self.maps[form]

    def load(
        self, name: str, code: bytes, *, cooperative: bool = False
    ) -> LoadedKernel:
        module = _module(code.decode())
        try:
            module.program(name)
        except _ptx().Unsupported as problem:
            raise errors.NotEmulated(kernel=name, reason=problem) from problem
        return LoadedKernel(name, module, cooperative)

    def launch(
        self,
        kernel: LoadedKernel,
        extents: Extents,
        arguments: PackedArguments,
        shared: int = 0,
        stream: Any = None,
    ) -> None:
        """Runs a kernel; its fault, if any, is kept for later."""
        self._raise_fault()
        (grid, block), packed = extents, arguments.contents
        self._accept(kernel, grid, block, packed, arguments.offsets, shared)
        self.launches += 1
        name, module, memory = kernel.name, kernel.module, self.memory
        try:
            run = module.launch(
                *(name, grid, block, packed, memory),
                dynamic_shared=shared,
                cooperative=kernel.cooperative,
                steps=step_limit(),
                trace=not self.streams.is_one,
            )
        except _ptx().Fault as fault:
            from gpucodegen.runtime.devices.fault_errors import error_of

            self._fault = error_of(fault, self)
            return
        if run is not None and run.marks is not None:
            touched = self._touched(run.marks)
            self._fault = self.streams.note(f"kernel {name}", *touched, stream)

    def _touched(self, marks: Any) -> tuple[Runs, Runs]:
        """The allocated bytes that a kernel read, and those that it wrote."""
        size = 1 << marks.shift
        found = [(NOTHING, NOTHING)]
        for first, end in self.memory.spans():
            last = -(-end // size)
            for at in range(first // size, last, CHUNK):
                read, written = marks.touched(at, min(at + CHUNK, last))
                place = at * size
                found.append((runs(read, place, size), runs(written, place, size)))
        reads, writes = zip(*found, strict=True)
        return np.concatenate(reads), np.concatenate(writes)

    def _accept(
        self,
        kernel: LoadedKernel,
        grid: Triple,
        block: Triple,
        packed: bytes,
        offsets: Sequence[int],
        shared: int,
    ) -> None:
        """Refuses launches that a driver refuses."""
        entry = kernel.module.entries[kernel.name]
        problem = self.limits.problem(grid, block, entry.shared_bytes + shared)
        placed = [(p.offset, p.size) for p in entry.parameters]
        end = max((offset + size for offset, size in placed), default=0)
        if not problem and entry.shared_bytes > self.limits.shared:
            problem = f"it has {entry.shared_bytes} bytes of shared memory"
        if not problem and [offset for offset, _ in placed] != list(offsets):
            problem = f"its parameters lie at {placed}, arguments at {list(offsets)}"
        if not problem and end > len(packed):
            problem = f"it takes {end} bytes of arguments, not {len(packed)}"
        if not problem and kernel.cooperative:
            problem = self._crowd(entry.shared_bytes + shared, grid, block)
        if problem:
            raise failure([kernel.name], problem, "Use smaller blocks or tiles")

    def _crowd(self, shared: int, grid: Triple, block: Triple) -> str:
        """The error if the blocks of a cooperative launch do not fit together.

        The device holds as many as the first device of its architecture.
        """
        major, minor = self.compute_capability[:2]
        device = devices_of(f"sm_{major}{minor}")[0]
        held = occupancy(device.multiprocessor, prod(block), None, shared)
        most = held.blocks * device.processors
        if prod(grid) <= most:
            return ""
        return f"its {prod(grid)} blocks wait for each other, and {most} run at once"

    def stream(self, given: object) -> EmulatedStream:
        return self.streams.meant(given)

    def new_stream(self, *, non_blocking: bool = False) -> EmulatedStream:
        return self.streams.new(non_blocking=non_blocking)

    def on(self, stream: Any) -> AbstractContextManager[object]:
        return stream

    def graph(self, operations: Sequence[Callable[[], None]]) -> Callable[[], None]:
        """Operations as one: they run in order."""
        kept = tuple(operations)

        def replay() -> None:
            for operation in kept:
                operation()

        return replay

    def synchronize(self) -> None:
        """Waits for all streams; raises the fault of the last operation, once."""
        self.streams.wait()

    def _raise_fault(self) -> None:
        fault, self._fault = self._fault, None
        if fault is not None:
            raise fault


def step_limit() -> int:
    """The limit of steps of a kernel: ``GPUCODEGEN_EMULATED_STEPS``, 0: unlimited.

    A step is a visit of threads to a basic block.  Raises InvalidOption.
    """
    chosen = os.environ.get(STEPS_VARIABLE, "").strip()
    if chosen.isdecimal() or not chosen:
        return int(chosen) if chosen else _ptx().STEPS
    hint = "Write a number of steps, or 0 for any"
    raise errors.InvalidOption(name=STEPS_VARIABLE, value=chosen, hint=hint)


def _bytes_of(arrays: Sequence[EmulatedArray]) -> Runs:
    """The bytes of arrays, from the start of the device's memory."""
    found = [NOTHING]
    for array in arrays:
        if array.size and array.flags.c_contiguous:
            start = array.data.ptr - _ptx().memory.BASE
            found.append(np.array([[start, start + array.size * array.itemsize]]))
            continue
        first, touched = array.touched()
        found.append(runs(touched, first - _ptx().memory.BASE))
    return np.concatenate(found)


_MODULES: WeakValueDictionary[str, Any] = WeakValueDictionary()
"""Parsed modules by their text, as long as a kernel of theirs is loaded."""


def _module(text: str) -> Any:
    found = _MODULES.get(text)
    return _MODULES.setdefault(text, _ptx().Module(text)) if found is None else found


def _ptx() -> ModuleType:
    from gpucodegen import ptx

    return ptx


@cache
def device(number: int) -> EmulatedDevice:
    """An emulated device by its number.

    >>> device(1) is device(1), str(device(1))
    (True, 'emulated device 1')
    """
    return EmulatedDevice(number)


class _Current(threading.local):
    number = 0


_CURRENT = _Current()


def current() -> EmulatedDevice:
    """The device for new arrays."""
    return device(_CURRENT.number)


@contextmanager
def using(number: int) -> Generator[EmulatedDevice]:
    """Makes a device the current one of this thread."""
    before, _CURRENT.number = _CURRENT.number, number
    try:
        yield current()
    finally:
        _CURRENT.number = before
