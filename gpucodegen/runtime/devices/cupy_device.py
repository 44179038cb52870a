"""A GPU through CuPy: its pool of memory, its current stream, its driver calls."""

from __future__ import annotations

import ctypes
import importlib.util
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from gpucodegen import errors
from gpucodegen.runtime.devices.protocol import LaunchLimits, Shape, Triple, failure

if TYPE_CHECKING:
    import numpy as np

REMEMBERED = 8
"""Kernels that a fault may come from: the last ones since the device was waited for."""

_HINT = (
    "Its memory is lost: start a new process, and run the call with"
    " GPUCODEGEN_DEVICE=emulated to see what went wrong"
)


def _form() -> str:
    """Machine code where a package links it, which the disk keeps; else PTX."""
    try:
        links = importlib.util.find_spec("cuda.core") is not None
    except ModuleNotFoundError:
        links = False
    return "cubin" if links else "ptx"


@dataclass(eq=False)
class CupyDevice:
    """One GPU; `device` gives it by its number."""

    number: int
    form: str = field(default_factory=_form)
    limits: LaunchLimits = field(default_factory=LaunchLimits)
    launched: list[str] = field(default_factory=list[str])
    """Kernels since the device was last waited for, the newest last."""

    def __str__(self) -> str:
        return f"GPU {self.number}"

    @property
    def compute_capability(self) -> tuple[int, int]:
        """(major, minor)."""
        digits = _cupy().cuda.Device(self.number).compute_capability
        return int(digits[:-1]), int(digits[-1])

    def empty(self, shape: Shape, dtype: np.dtype[Any]) -> Any:
        """An array from CuPy's pool."""
        cupy = _cupy()
        try:
            with self._calls():
                return cupy.empty(shape, dtype)
        except cupy.cuda.memory.OutOfMemoryError as problem:
            raise errors.OutOfMemory(size=problem) from problem

    def view(
        self, array: Any, address: int, shape: Shape, strides: Shape, dtype: Any
    ) -> Any:
        """Another array over the memory of one."""
        memory = array.data + (address - array.data.ptr)
        with self._calls():
            return _cupy().ndarray(shape, dtype, memory, strides)

    def allocation(self, array: Any) -> tuple[int, int]:
        """First address and end of the allocation that an array lies in."""
        memory = array.data.mem
        return int(memory.ptr), int(memory.ptr) + int(memory.size)

    def upload(self, array: Any, contents: np.ndarray[Any, Any]) -> None:
        """Contents from main memory."""
        with self._calls():
            array.set(contents)

    def download(self, array: Any) -> np.ndarray[Any, Any]:
        """The contents in main memory; waits for the kernels before."""
        with self._calls():
            contents = array.get()
        self.launched.clear()
        return contents

    def copy(self, target: Any, source: Any) -> None:
        """One array's contents to another."""
        with self._calls():
            target[...] = source

    def fill(self, array: Any, value: Any) -> None:
        """One number to every element."""
        with self._calls():
            array[...] = value

    def load(self, name: str, code: bytes) -> Any:
        """A kernel of a cubin, or of PTX, of which the driver makes one."""
        cupy = _cupy()
        with self._calls(name):
            cupy.cuda.runtime.free(0)  # makes the context of a device that is new
            module = cupy.cuda.function.Module()
            module.load(code)
            return name, module.get_function(name)

    def launch(
        self,
        kernel: Any,
        grid: Triple,
        block: Triple,
        arguments: bytes,
        offsets: Sequence[int],
    ) -> None:
        """Start a kernel on CuPy's current stream."""
        name, function = kernel
        cupy = _cupy()
        packed = ctypes.create_string_buffer(arguments, len(arguments))
        start = ctypes.addressof(packed)
        pointers = (ctypes.c_void_p * len(offsets))(*[start + o for o in offsets])
        with self._calls(name):
            stream = cupy.cuda.get_current_stream(self.number).ptr
            cupy.cuda.driver.launchKernel(
                function.ptr, *grid, *block, 0, stream, ctypes.addressof(pointers), 0
            )
        self.launched.append(name)
        del self.launched[:-REMEMBERED]

    def synchronize(self) -> None:
        """Wait for all kernels."""
        with self._calls():
            _cupy().cuda.Device(self.number).synchronize()
        self.launched.clear()

    @contextmanager
    def _calls(self, *kernels: str) -> Generator[None]:
        """This device as the current one; its failures as errors of the catalogue."""
        cupy = _cupy()
        problems = (
            cupy.cuda.driver.CUDADriverError,
            cupy.cuda.runtime.CUDARuntimeError,
        )
        try:
            with cupy.cuda.Device(self.number):
                yield
        except problems as problem:
            kind = str(problem).partition(":")[0]
            refused = bool(kernels) and any(word in kind for word in _REFUSALS)
            hint = "Use smaller blocks or tiles" if refused else _HINT
            names = kernels if refused else (*self.launched, *kernels)
            self.launched.clear()
            raise failure(names, problem, hint) from problem


_REFUSALS = ("INVALID_VALUE", "OUT_OF_RESOURCES", "NO_BINARY", "INVALID_IMAGE")
"""Of a launch or a module itself; anything else went wrong in a kernel before."""


def _cupy() -> Any:
    import cupy

    return cupy


@cache
def device(number: int) -> CupyDevice:
    """A GPU by its number."""
    return CupyDevice(number)


def current() -> CupyDevice:
    """CuPy's current device."""
    return device(int(_cupy().cuda.Device().id))
