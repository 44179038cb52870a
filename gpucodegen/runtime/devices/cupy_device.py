"""A GPU through CuPy: its memory pools, its streams and its driver calls.

Contents are copied through pinned memory, so that a copy is in flight while the next
one is prepared.
"""

from __future__ import annotations

import threading
import warnings
from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import field
from functools import cache
from math import prod
from typing import Any

import numpy as np

from gpucodegen import errors
from gpucodegen.records import dataclass
from gpucodegen.runtime.devices.protocol import (
    MAP_WORDS,
    MOST_MAPS,
    Extents,
    LaunchLimits,
    PackedArguments,
    Shape,
    Stream,
    TensorForm,
    failure,
    stream_pointer,
)
from gpucodegen.tiling.machine.gpu.devices import own_architecture

REMEMBERED = 8
"""The latest kernels since the last synchronisation, to which a fault may belong."""

_HINT = (
    "Its memory is lost: start a new process, and run the call with"
    " target='sim' to see what went wrong"
)


@dataclass(slots=True)
class GpuKernel:
    """A loaded kernel; ``allowed``: the dynamic shared memory it may have, in bytes.

    ``cooperative``: all its blocks run at once.
    """

    name: str
    function: Any
    allowed: int
    cooperative: bool = False


@dataclass(eq=False)
class CupyDevice:
    """One GPU; `device` returns it by number."""

    number: int
    launched: deque[str] = field(default_factory=lambda: deque[str](maxlen=REMEMBERED))
    """Kernels since the device was last waited for, the newest last."""
    _pinned: list[tuple[Any, Any]] = field(default_factory=list[tuple[Any, Any]])
    """Memory that copies to the device still read, after the event of its end."""
    _maps: dict[TensorForm, Any] = field(default_factory=dict["TensorForm", Any])
    _dropped: dict[TensorForm, Any] = field(default_factory=dict["TensorForm", Any])
    _mapping: threading.Lock = field(default_factory=threading.Lock)
    """Held while tensor maps are looked up, made or dropped."""
    _threads: threading.local = field(default_factory=threading.local)

    def __str__(self) -> str:
        return f"GPU {self.number}"

    @property
    def limits(self) -> LaunchLimits:
        return _limits(self.compute_capability)

    @property
    def compute_capability(self) -> tuple[int, int]:
        return _capability(self.number)

    @property
    def architecture(self) -> str:
        return own_architecture(self.compute_capability)

    def empty(self, shape: Shape, dtype: np.dtype[Any]) -> Any:
        cupy = _cupy()
        try:
            with self._calls():
                return cupy.empty(shape, dtype)
        except cupy.cuda.memory.OutOfMemoryError as problem:
            raise errors.OutOfMemory(size=problem) from problem

    def view(
        self, array: Any, address: int, shape: Shape, strides: Shape, dtype: Any
    ) -> Any:
        memory = array.data + (address - array.data.ptr)
        with self._calls():
            return _cupy().ndarray(shape, dtype, memory, strides)

    def allocation(self, array: Any) -> tuple[int, int]:
        memory = array.data.mem
        return int(memory.ptr), int(memory.ptr) + int(memory.size)

    def upload(self, array: Any, contents: np.ndarray[Any, Any]) -> None:
        """Copies from main memory, through pinned memory in the current stream."""
        if not contents.nbytes:
            return
        cuda = _cupy().cuda
        with self._calls():
            stream = cuda.get_current_stream()
            memory, staged = _pinned(contents.shape, contents.dtype)
            staged[...] = contents
            cuda.runtime.memcpyAsync(
                array.data.ptr,
                memory.ptr,
                contents.nbytes,
                cuda.runtime.memcpyHostToDevice,
                stream.ptr,
            )
            under_way = [each for each in self._pinned if not each[0].done]
            self._pinned = [*under_way, (stream.record(), memory)]

    def tensor_map(
        self, form: TensorForm, encoded: Callable[[TensorForm], np.ndarray[Any, Any]]
    ) -> Any:
        """A tensor map as the driver writes it, kept for later calls.

        It is complete before any stream goes on.
        """
        with self._mapping:
            if form not in self._maps:
                if len(self._maps) >= MOST_MAPS:
                    self._drop_maps()
                self._maps[form] = self._mapped(encoded(form))
            return self._maps[form]

    def _mapped(self, words: np.ndarray[Any, Any]) -> Any:
        """A tensor map in memory."""
        with self._calls(), _cupy().cuda.Stream(non_blocking=True) as stream:
            made = self.empty((MAP_WORDS,), np.dtype(np.int64))
            self.upload(made, words)
            stream.synchronize()
        return made

    def _drop_maps(self) -> None:
        """Frees the maps dropped in the previous round, which no running call uses.

        Maps that calls of other threads have just looked up live until the next round.
        """
        self.synchronize()
        self._dropped, self._maps = self._maps, {}

    def fetch(self, array: Any) -> Callable[[], np.ndarray[Any, Any]]:
        """Starts a copy to pinned memory; the result waits for it.

        CuPy reuses the memory of a dropped array only for later operations of the
        stream.
        """
        if not array.size:
            return lambda: np.empty(array.shape, array.dtype)
        cupy = _cupy()
        runtime = cupy.cuda.runtime
        with self._calls():
            row, stream = cupy.ascontiguousarray(array), cupy.cuda.get_current_stream()
            memory, staged = _pinned(array.shape, array.dtype)
            size, kind = staged.nbytes, runtime.memcpyDeviceToHost
            runtime.memcpyAsync(memory.ptr, row.data.ptr, size, kind, stream.ptr)
            event = stream.record()

        def arrived() -> np.ndarray[Any, Any]:
            with self._calls():
                event.synchronize()
            return staged.copy()

        return arrived

    def copy(self, target: Any, source: Any) -> None:
        with self._calls():
            target[...] = source

    def fill(self, array: Any, value: Any) -> None:
        with self._calls():
            array[...] = value

    def load(self, name: str, code: bytes, *, cooperative: bool = False) -> GpuKernel:
        """A kernel of PTX, compiled to machine code by the driver."""
        cuda = _cupy().cuda
        with self._calls(name):
            self._enter()
            module = cuda.function.Module()
            module.load(code)
            function = module.get_function(name)
            static = cuda.driver.funcGetAttribute(
                cuda.driver.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function.ptr
            )
        allowed = max(0, self.limits.shared - static)
        return GpuKernel(name, function, allowed, cooperative)

    def launch(
        self,
        kernel: GpuKernel,
        extents: Extents,
        arguments: PackedArguments,
        shared: int = 0,
        stream: Stream | None = None,
    ) -> None:
        """Starts a kernel, on CuPy's current stream if none is given."""
        cuda = _cupy().cuda
        try:
            if cuda.runtime.getDevice() != self.number:
                with cuda.Device(self.number):
                    self.launch(kernel, extents, arguments, shared, stream=stream)
                return
            self._enter()
            if shared > kernel.allowed:
                self._allow(kernel, shared)
            on = (stream or cuda.get_current_stream(self.number)).ptr
            given = *sum(extents, ()), shared, on, arguments.pointers
            if kernel.cooperative:
                cuda.driver.launchCooperativeKernel(kernel.function.ptr, *given)
            else:
                cuda.driver.launchKernel(kernel.function.ptr, *given, 0)
        except (cuda.driver.CUDADriverError, cuda.runtime.CUDARuntimeError) as problem:
            raise self._failed(problem, kernel.name) from problem
        self.launched.append(kernel.name)

    def _enter(self) -> None:
        """Makes this device's context current in a thread that is new to it."""
        if not hasattr(self._threads, "entered"):
            _cupy().cuda.runtime.free(0)
            self._threads.entered = True

    @staticmethod
    def _allow(kernel: GpuKernel, shared: int) -> None:
        """Raises a kernel's limit of dynamic shared memory beyond the default."""
        driver = _cupy().cuda.driver
        attribute = driver.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        driver.funcSetAttribute(kernel.function.ptr, attribute, shared)
        kernel.allowed = shared

    def stream(self, given: object) -> Any:
        """A CuPy stream as it is, another library's wrapped as one."""
        cuda = _cupy().cuda
        is_own = isinstance(given, cuda.Stream)
        if is_own and given.device_id in (-1, self.number):
            return given
        pointer = None if is_own else stream_pointer(given)
        if pointer is None:
            raise errors.UnknownStream(given=repr(given)[:60], device=self)
        # In CuPy 14 `Stream.from_external` takes its place, but CuPy 13 lacks that.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            made = cuda.ExternalStream(pointer, self.number)
        made.given = given  # lives as long
        return made

    def new_stream(self) -> Any:
        with self._calls():
            return _cupy().cuda.Stream()

    @contextmanager
    def on(self, stream: Any) -> Generator[Any]:
        with _cupy().cuda.Device(self.number), stream:
            yield stream

    def graph(self, operations: Sequence[Callable[[], None]]) -> Callable[[], None]:
        """Operations as a CUDA graph; a single one is not wrapped, which costs less."""
        if len(operations) < 2:
            return operations[0] if operations else lambda: None
        cuda = _cupy().cuda
        with self._calls(), cuda.Stream(non_blocking=True) as stream:
            stream.begin_capture()
            try:
                for operation in operations:
                    operation()
            finally:
                graph = stream.end_capture()

        def replay() -> None:
            kept = operations  # their arguments and kernels live as long
            with self._calls():
                graph.launch()
            del kept

        return replay

    def synchronize(self) -> None:
        with self._calls():
            _cupy().cuda.Device(self.number).synchronize()
        self.launched.clear()
        self._pinned.clear()

    @contextmanager
    def _calls(self, *kernels: str) -> Generator[None]:
        """Makes this device current; driver failures become errors of the catalogue."""
        cuda = _cupy().cuda
        try:
            with cuda.Device(self.number):
                yield
        except (cuda.driver.CUDADriverError, cuda.runtime.CUDARuntimeError) as problem:
            raise self._failed(problem, *kernels) from problem

    def _failed(self, problem: Exception, *kernels: str) -> errors.LaunchFailed:
        """The error of the catalogue for a driver error."""
        kind = str(problem).partition(":")[0]
        hints = (hint for word, hint in _REFUSALS.items() if word in kind)
        refused = next(hints, "") if kernels else ""
        names = kernels if refused else (*self.launched, *kernels)
        hint = refused or _HINT
        self.launched.clear()
        return failure(names, problem, hint)


_SMALLER = "Use smaller blocks or tiles"
_OLD = "Install a newer driver, or run the call with target='sim'"
_REFUSALS = {
    **dict.fromkeys(
        (
            *("INVALID_VALUE", "OUT_OF_RESOURCES", "NO_BINARY", "INVALID_IMAGE"),
            "COOPERATIVE_LAUNCH_TOO_LARGE",
        ),
        _SMALLER,
    ),
    **dict.fromkeys(("INVALID_PTX", "UNSUPPORTED_PTX_VERSION"), _OLD),
}
"""Errors of a launch or a module itself, with the remedy; all others belong to earlier
kernels.
"""


@cache
def _capability(number: int) -> tuple[int, int]:
    digits = _cupy().cuda.Device(number).compute_capability
    return int(digits[:-1]), int(digits[-1])


_limits = cache(LaunchLimits.of)


@cache
def _cupy() -> Any:
    import cupy

    return cupy


def _pinned(shape: Shape, dtype: np.dtype[Any]) -> tuple[Any, np.ndarray[Any, Any]]:
    """Pinned memory of CuPy's pool, and an array of it."""
    size = prod(shape) * dtype.itemsize
    memory = _cupy().cuda.alloc_pinned_memory(size)
    return memory, np.frombuffer(memory, dtype, prod(shape)).reshape(shape)


@cache
def device(number: int) -> CupyDevice:
    """A GPU by its number."""
    return CupyDevice(number)


def current() -> CupyDevice:
    """CuPy's current device."""
    return device(int(_cupy().cuda.Device().id))
