"""The engine of CPU targets: pooled main memory, and kernels in machine code.

`Pool` is the workspace of host programs.  Freed buffers, and results that callers have
dropped, are kept for the next call, so a call neither maps pages nor touches them for
the first time, and describes each buffer once.  Memory is kept by its capacity, which
exceeds the size by an eighth at most: it serves other shapes, too, as those of arrays
that shrink in a loop.
"""

from __future__ import annotations

import ctypes
import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from functools import lru_cache, partial
from sys import getrefcount
from threading import Lock
from typing import Any, NoReturn

import numpy as np

from gpucodegen import errors
from gpucodegen.intrinsics.framework.elements import row_major
from gpucodegen.records import dataclass
from gpucodegen.runtime.host.buffers import CPU, Buffer
from gpucodegen.runtime.host.engines import (
    Flags,
    Launcher,
    Maker,
    Shape,
    Values,
    Ways,
    contents_of,
    storage,
)
from gpucodegen.runtime.host.spec import KernelSpec

ALIGNMENT = 64
KEPT_BYTES = 1 << 30
"""Where free buffers exceed this total, all are given back to the system."""


LENT_BYTES = 1 << 28
"""Results of calls that are remembered, to be taken again when callers drop them."""
LENT_ALIKE = 8
"""Remembered results of one shape: each call looks through them."""

Key = tuple[Shape, str]


def _buffers() -> defaultdict[Key, list[Buffer]]:
    return defaultdict(list)


@dataclass(slots=True)
class Pool:
    """Buffers in main memory, aligned to a cache line.

    >>> pool = Pool()
    >>> buffer = pool.take((2, 3), "f32")
    >>> pool.give(buffer)
    >>> pool.take((2, 3), "f32") is buffer, buffer.pointer % ALIGNMENT
    (True, 0)
    >>> first = pool.take((100, 100), "f32")
    >>> pool.give(first)
    >>> pool.take((99, 100), "f32").pointer == first.pointer
    True

    A result belongs to the caller until neither it nor a view of it is in use.

    >>> result = pool.lend(buffer)
    >>> pool.take((2, 3), "f32") is buffer
    False
    >>> del result
    >>> pool.take((2, 3), "f32") is buffer
    True
    """

    free: defaultdict[int, list[Buffer]] = field(
        default_factory=lambda: defaultdict[int, list[Buffer]](list)
    )
    """By capacity, which is the length of their memory less an alignment."""
    kept: int = 0
    lent: defaultdict[Key, list[Buffer]] = field(default_factory=_buffers)
    remembered: int = 0
    lock: Lock = field(default_factory=Lock)

    def take(self, shape: Shape, dtype: str) -> Buffer:
        """Uninitialised memory: kept memory, which may have been of another shape."""
        capacity, other = _layout(shape, dtype)[2], None
        with self.lock:
            buffers = self.free[capacity]
            if buffers:
                self.kept -= capacity
                at = len(buffers) - 1
                for buffer in reversed(buffers):
                    if buffer.shape == shape and buffer.dtype == dtype:
                        del buffers[at]
                        return buffer
                    at -= 1
                other = buffers.pop()
            else:
                lent = self.lent[shape, dtype]
                for at, buffer in enumerate(lent):
                    if _holders(buffer) == NOBODY:
                        del lent[at]
                        self.remembered -= buffer.array.nbytes
                        return buffer
        return _buffer(shape, dtype, other and other.array.base)

    def give(self, buffer: Buffer) -> None:
        """Keeps a buffer for the next call."""
        capacity = buffer.array.base.nbytes - ALIGNMENT
        with self.lock:
            if self.kept + capacity > KEPT_BYTES:
                self.free.clear()
                self.kept = 0
            if capacity <= KEPT_BYTES:
                self.kept += capacity
                self.free[capacity].append(buffer)

    def lend(self, buffer: Buffer) -> np.ndarray:
        """Passes a buffer to the caller as an array."""
        array = buffer.array
        with self.lock:
            if self.remembered + array.nbytes > LENT_BYTES:
                self.lent.clear()
                self.remembered = 0
            lent = self.lent[buffer.shape, buffer.dtype]
            if buffer not in lent:
                if len(lent) == LENT_ALIKE:
                    self.remembered -= lent.pop(0).array.nbytes
                lent.append(buffer)
                self.remembered += array.nbytes
        return array.view()

    def maker(self, shape: Shape, dtype: str) -> Maker:
        """A function that returns uninitialised memory as a result, and its address.

        >>> make = Pool().maker((2, 3), "f32")
        >>> address, array = make()
        >>> del array
        >>> make()[0] == address
        True
        """
        key = shape, dtype

        def make() -> tuple[int, np.ndarray]:
            with self.lock:
                for buffer in self.lent[key]:
                    if getrefcount(buffer.array.base) == NOBODY:
                        return buffer.pointer, buffer.array.view()
            buffer = self.take(shape, dtype)
            return buffer.pointer, self.lend(buffer)

        return make


def _buffer(shape: Shape, dtype: str, memory: Any = None) -> Buffer:
    """A buffer in memory of its capacity, or in new memory."""
    kind, strides, capacity = _layout(shape, dtype)
    if memory is None:
        try:
            memory = np.empty(capacity + ALIGNMENT, np.uint8)
        except (MemoryError, ValueError) as problem:
            size = math.prod(shape) * kind.itemsize
            raise errors.OutOfMemory(size=size) from problem
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    start = -address % ALIGNMENT
    array = np.ndarray(shape, kind, memory, start)
    return Buffer(array, dtype, shape, strides, address + start, CPU, pooled=True)


@lru_cache(256)
def _layout(shape: Shape, dtype: str) -> tuple[np.dtype, Shape, int]:
    """(type of an element, strides in elements, capacity in bytes)."""
    kind = storage(dtype)
    size = int(math.prod(shape)) * kind.itemsize
    step = max(ALIGNMENT, 1 << max(0, size.bit_length() - 4))
    return kind, row_major(shape), -(-size // step) * step


def _holders(buffer: Buffer) -> int:
    """How many objects hold the memory; views hold it, not each other."""
    return getrefcount(buffer.array.base)


NOBODY = _holders(_buffer((1,), "i8"))
"""The number of holders of memory that only its buffer holds."""


@dataclass(frozen=True, slots=True)
class ReadyKernel:
    """A kernel that can be started.

    ``launch`` takes grid, block, and buffers and numbers.  ``entry``, if present, takes
    addresses and numbers; ``address`` is its address for calls from C, or 0.
    """

    launch: Launcher
    entry: Callable[..., None] | None = None
    address: int = 0


def compiled(spec: KernelSpec) -> ReadyKernel:
    """The kernel as machine code of this processor."""
    from gpucodegen.runtime.cpu.kernels import compile_cpu

    kernel = compile_cpu(spec)
    entry = kernel.entry

    def launch(_grid: Any, _block: Any, args: tuple[Any, ...]) -> None:
        entry(*[a.pointer if type(a) is Buffer else a for a in args])

    return ReadyKernel(launch, entry, kernel.address)


@dataclass(slots=True)
class NumpyEngine:
    """Memory is NumPy's; ``ready`` makes a kernel ready to start, once per kernel.

    >>> engine = NumpyEngine(compiled)
    >>> engine.alloc((2, 3), "f32").shape
    (2, 3)
    """

    ready: Callable[[KernelSpec], ReadyKernel]
    pool: Pool = field(default_factory=Pool)
    kernels: dict[KernelSpec, ReadyKernel] = field(
        default_factory=dict[KernelSpec, ReadyKernel]
    )

    @property
    def memory(self) -> object:
        return CPU

    @property
    def device(self) -> None:
        """None: this processor."""
        return

    def for_call(self, values: Sequence[Any]) -> NumpyEngine:
        del values
        return self

    def alloc(self, shape: Shape, dtype: str) -> Buffer:
        """Pooled memory, aligned to a cache line."""
        return self.pool.take(shape, dtype)

    def dealloc(self, buffer: Buffer) -> None:
        if buffer.pooled:
            self.pool.give(buffer)

    def read(self, buffer: Buffer, index: Shape) -> Any:
        return buffer.array[index]

    def write(self, buffer: Buffer, index: Shape, value: Any) -> None:
        buffer.array[index] = value

    def fill(self, buffer: Buffer, value: Any) -> None:
        buffer.array[...] = value

    def copy(self, source: Buffer, target: Buffer) -> None:
        target.array[...] = source.array

    def contents(self, buffer: Buffer) -> np.ndarray[Any, Any]:
        """The array itself."""
        return buffer.array

    def assign(self, buffer: Buffer, contents: Any) -> None:
        """Copies from an array, which may overlap the buffer."""
        if contents is not buffer.array:
            buffer.array[...] = contents

    def view(self, buffer: Buffer, offset: int, shape: Shape, strides: Shape) -> Buffer:
        """A strided view; it must stay inside the allocation."""
        address = buffer.pointer + offset * buffer.array.itemsize
        array = _shown(buffer, address, buffer.array.dtype, shape, strides)
        return Buffer(
            array, buffer.dtype, shape, strides, address, CPU, buffer.writable
        )

    def byte_view(self, buffer: Buffer, shift: int, dtype: str, shape: Shape) -> Buffer:
        """Row-major elements of another type; must stay inside the allocation."""
        address, strides = buffer.pointer + shift, row_major(shape)
        array = _shown(buffer, address, storage(dtype), shape, strides)
        return Buffer(array, dtype, shape, strides, address, CPU, buffer.writable)

    def constant(self, value: Any) -> Buffer:
        contents, dtype = contents_of(value)
        buffer = self.alloc(contents.shape, dtype)
        buffer.array[...] = contents
        return replace(buffer, pooled=False)

    def map_of(
        self, buffer: Buffer, box: Shape, swizzle: int, promotion: int
    ) -> NoReturn:
        """Raises WrongTensorMap: the CPU has no tensor maps."""
        self.tensor_map(buffer, box, swizzle, promotion)

    def tensor_map(self, buffer: Buffer, box: Shape, *_: object) -> NoReturn:
        """Raises WrongTensorMap: the CPU has no tensor maps."""
        raise errors.WrongTensorMap(
            shape=list(buffer.shape), box=list(box), problem="only GPUs copy by maps"
        )

    def launcher(self, spec: KernelSpec) -> Launcher:
        return self._ready(spec).launch

    def kernel(
        self, spec: KernelSpec, grid: Shape, block: Shape, values: Sequence[Any]
    ) -> Callable[..., None]:
        del grid, block, values
        entry = self._ready(spec).entry
        assert entry is not None
        return entry

    def prepared(
        self, spec: KernelSpec, grid: Shape, block: Shape, words: Values, values: Values
    ) -> Callable[..., None]:
        del values
        return partial(self.kernel(spec, grid, block, ()), *words)

    def recording(self) -> NoReturn:
        """Not available: CPU kernels are not recorded."""
        raise NotImplementedError

    def address(self, spec: KernelSpec) -> int:
        return self._ready(spec).address

    def _ready(self, spec: KernelSpec) -> ReadyKernel:
        """The kernel, made ready once."""
        kernel = self.kernels.get(spec)
        if kernel is None:
            kernel = self.kernels[spec] = self.ready(spec)
        return kernel

    def transfers(
        self, values: Values, written: Flags, overwritten: Flags = ()
    ) -> Ways:
        del written, overwritten
        for number, value in enumerate(values):
            if isinstance(value, Buffer) and value.device != CPU:
                raise errors.WrongDevice(
                    function="the call",
                    argument=number,
                    actual=value.device,
                    expected=CPU,
                )
        return lambda: values, lambda: None

    def array(self, buffer: Buffer) -> Any:
        """The array itself; a pooled one belongs to the caller while it is in use."""
        return self.pool.lend(buffer) if buffer.pooled else buffer.array

    def maker(self, shape: Shape, dtype: str) -> Maker:
        """Pooled memory that belongs to the caller while it is in use."""
        return self.pool.maker(shape, dtype)

    def shown(self, buffer: Buffer) -> Any:
        return buffer.array

    def taken_back(self, buffer: Buffer, shown: Any) -> None:
        """Nothing: functions of the caller get the array itself."""


def root_of(array: np.ndarray) -> np.ndarray:
    """The array that owns the memory, as far as NumPy knows."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def _shown(
    buffer: Buffer, address: int, kind: np.dtype, shape: Shape, strides: Shape
) -> np.ndarray:
    """A view of other elements in the memory of a buffer."""
    start, memory = _memory_of(buffer.array)
    in_bytes = tuple(stride * kind.itemsize for stride in strides)
    at = 0 if 0 in shape else address - start  # a view of nothing may start anywhere
    try:
        array = np.ndarray(shape, kind, memory, at, in_bytes)
    except (TypeError, ValueError) as problem:
        first = (address - buffer.pointer) // buffer.array.itemsize
        raise errors.IndexOutOfBounds(
            index=first, buffer=f"a view of shape {shape}", shape=buffer.shape
        ) from problem
    array.flags.writeable = buffer.array.flags.writeable
    return array


def _memory_of(array: np.ndarray) -> tuple[int, Any]:
    """Address and bytes of the array that owns the memory.

    Slower, but handles gaps and element types that the buffer protocol lacks.
    """
    owner = root_of(array)
    if owner.flags.forc and owner.dtype.isbuiltin == 1:
        return int(owner.__array_interface__["data"][0]), owner.data
    first, end = Buffer.of(owner, "").byte_range
    memory = (ctypes.c_byte * (end - first)).from_address(first)
    memory.owner = owner
    return first, memory
