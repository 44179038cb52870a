"""The emulated device: executes PTX in NumPy, and refuses what a GPU would.

Its memory has addresses of its own, guarded on both sides.  A kernel runs when it is
launched, with every check of `gpucodegen.ptx`; what goes wrong in it comes up later, as
on a GPU: at the next launch, copy or synchronisation.
"""

from __future__ import annotations

import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from math import prod
from types import ModuleType
from typing import Any

import numpy as np

from gpucodegen import errors
from gpucodegen.runtime.devices.emulated_array import (
    Allocation,
    DevicePointer,
    EmulatedArray,
)
from gpucodegen.runtime.devices.protocol import LaunchLimits, Shape, Triple, failure
from gpucodegen.runtime.devices.strides import row_major

MEMORY = 8 << 30
"""Bytes that one device has."""

_HINT = "Correct the kernel, or report it: a kernel of the compiler should not fault"


@dataclass(frozen=True, slots=True)
class LoadedKernel:
    """A kernel of a module; ``module`` is a `gpucodegen.ptx.Module`."""

    name: str
    module: Any


@dataclass(eq=False)
class EmulatedDevice:
    """An emulated device, for one thread at a time; `device` gives it by its number."""

    number: int
    form: str = "ptx"
    limits: LaunchLimits = field(default_factory=LaunchLimits)
    compute_capability: tuple[int, int] = (9, 0)
    memory: Any = field(default_factory=lambda: _ptx().Memory(MEMORY))
    launches: int = 0
    """Kernels that it has run."""
    _fault: errors.LaunchFailed | None = None

    def __str__(self) -> str:
        return f"emulated device {self.number}"

    def empty(self, shape: Shape, dtype: np.dtype[Any]) -> EmulatedArray:
        """An array of its own, uninitialised."""
        kind = np.dtype(dtype)
        size = prod(shape) * kind.itemsize
        try:
            address = self.memory.allocate(size)
        except _ptx().OutOfMemory as problem:
            raise errors.OutOfMemory(size=size) from problem
        strides = tuple(step * kind.itemsize for step in row_major(shape))
        memory = Allocation(self, self.memory, address, size)
        return EmulatedArray(memory, DevicePointer(address), shape, strides, kind)

    def adopted(self, interface: Mapping[str, Any], owner: object) -> EmulatedArray:
        """An array that another object describes; `ValueError` if it is not here."""
        shape, kind = tuple(interface["shape"]), np.dtype(interface["typestr"])
        strides = interface.get("strides") or tuple(
            step * kind.itemsize for step in row_major(shape)
        )
        address = int(interface["data"][0])
        size = prod(shape) * kind.itemsize
        memory = Allocation(self, self.memory, address, size, owner)
        array = EmulatedArray(
            memory, DevicePointer(address), shape, tuple(strides), kind
        )
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
        """Another array over the memory of one."""
        place = DevicePointer(address)
        return EmulatedArray(array.allocation, place, shape, strides, np.dtype(dtype))

    def allocation(self, array: EmulatedArray) -> tuple[int, int]:
        """First address and end of the allocation that an array lies in."""
        start = array.allocation.address
        return start, start + array.allocation.size

    def upload(self, array: EmulatedArray, contents: np.ndarray[Any, Any]) -> None:
        """Contents from main memory."""
        array.set(contents)

    def download(self, array: EmulatedArray) -> np.ndarray[Any, Any]:
        """The contents in main memory."""
        return array.get()

    def copy(self, target: EmulatedArray, source: EmulatedArray) -> None:
        """One array's contents to another."""
        target[...] = source

    def fill(self, array: EmulatedArray, value: Any) -> None:
        """One number to every element."""
        array[...] = value

    def load(self, name: str, code: bytes) -> LoadedKernel:
        """A kernel of a PTX module."""
        module = _module(code.decode())
        try:
            module.program(name)
        except _ptx().Unsupported as problem:
            raise errors.NotEmulated(kernel=name, reason=problem) from problem
        return LoadedKernel(name, module)

    def launch(
        self,
        kernel: LoadedKernel,
        grid: Triple,
        block: Triple,
        arguments: bytes,
        offsets: Sequence[int],
    ) -> None:
        """Run a kernel; its fault, if it has one, is kept for later."""
        self.synchronize()
        self._accept(kernel, grid, block, arguments, offsets)
        self.launches += 1
        try:
            kernel.module.launch(kernel.name, grid, block, arguments, self.memory)
        except _ptx().Fault as fault:
            self._fault = failure([kernel.name], f"{fault}, on {self}", _HINT)

    def _accept(
        self,
        kernel: LoadedKernel,
        grid: Triple,
        block: Triple,
        arguments: bytes,
        offsets: Sequence[int],
    ) -> None:
        """Refuse what a driver refuses."""
        entry = kernel.module.entries[kernel.name]
        problem = self.limits.problem(grid, block)
        placed = [(p.offset, p.size) for p in entry.parameters]
        end = max((offset + size for offset, size in placed), default=0)
        if not problem and entry.shared_bytes > self.limits.shared:
            problem = f"it has {entry.shared_bytes} bytes of shared memory"
        if not problem and [offset for offset, _ in placed] != list(offsets):
            problem = f"its parameters lie at {placed}, arguments at {list(offsets)}"
        if not problem and end > len(arguments):
            problem = f"it takes {end} bytes of arguments, not {len(arguments)}"
        if problem:
            raise failure([kernel.name], problem, "Use smaller blocks or tiles")

    def synchronize(self) -> None:
        """Raise the fault of the last kernel, once."""
        fault, self._fault = self._fault, None
        if fault is not None:
            raise fault


@cache
def _module(text: str) -> Any:
    return _ptx().Module(text)


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
    """The device that new arrays lie on."""
    return device(_CURRENT.number)


@contextmanager
def using(number: int) -> Generator[EmulatedDevice]:
    """Make a device the current one of this thread."""
    before, _CURRENT.number = _CURRENT.number, number
    try:
        yield current()
    finally:
        _CURRENT.number = before
