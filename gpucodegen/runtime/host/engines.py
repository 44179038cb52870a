"""The engine protocol: where a target's memory lies, and how its kernels start."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Protocol

import numpy as np

from gpucodegen import errors
from gpucodegen.intrinsics.framework.elements import element
from gpucodegen.ir.number_formats import NARROW, to_bits
from gpucodegen.runtime.host.buffers import Buffer
from gpucodegen.runtime.host.spec import KernelSpec

Shape = tuple[int, ...]
Values = Sequence[Any]
"""Arguments of a kernel or a call."""
Flags = Sequence[bool]
"""One for each argument of a call."""
Launcher = Callable[..., None]
"""A kernel as a function of grid, block and arguments; on GPUs, also of the bytes of
dynamic shared memory.
"""
Ways = tuple[Callable[[], Sequence[Any]], Callable[[], None]]
"""Arguments made reachable for kernels, and results copied back."""
Maker = Callable[[], tuple[int, Any]]
"""Makes an array, and returns its address."""


class Engine(Protocol):
    """The memory and the kernels of one target."""

    @property
    def memory(self) -> object:
        """Identifies its memory: engines with equal values share buffers."""
        ...

    @property
    def device(self) -> object:
        """The device of the kernels; None for the processor of this process."""
        ...

    def for_call(self, values: Sequence[Any]) -> Engine:
        """The engine that serves a call: one for each device."""
        ...

    def alloc(self, shape: Shape, dtype: str) -> Buffer:
        """Uninitialised memory."""
        ...

    def dealloc(self, buffer: Buffer) -> None:
        """Memory given back."""
        ...

    def read(self, buffer: Buffer, index: Shape) -> Any:
        """One element as a NumPy scalar."""
        ...

    def write(self, buffer: Buffer, index: Shape, value: Any) -> None:
        """One element changed."""
        ...

    def fill(self, buffer: Buffer, value: Any) -> None:
        """Every element changed."""
        ...

    def copy(self, source: Buffer, target: Buffer) -> None:
        """One buffer's contents to another of its shape."""
        ...

    def contents(self, buffer: Buffer) -> np.ndarray[Any, Any]:
        """The contents in main memory, possibly as a copy."""
        ...

    def assign(self, buffer: Buffer, contents: Any) -> None:
        """Copies an array from any memory to a buffer of its shape."""
        ...

    def view(self, buffer: Buffer, offset: int, shape: Shape, strides: Shape) -> Buffer:
        """Another shape over the same memory."""
        ...

    def byte_view(self, buffer: Buffer, shift: int, dtype: str, shape: Shape) -> Buffer:
        """Row-major elements of another type, ``shift`` bytes after the first."""
        ...

    def map_of(
        self, buffer: Buffer, box: Shape, swizzle: int, promotion: int
    ) -> Callable[[int], Any]:
        """The function from the address of such a buffer to the array of its map."""
        ...

    def tensor_map(
        self, buffer: Buffer, box: Shape, swizzle: int, promotion: int, /
    ) -> Buffer:
        """The tensor map of a buffer; the CPU has none."""
        ...

    def constant(self, value: Any) -> Buffer:
        """A constant in this engine's memory."""
        ...

    def launcher(self, spec: KernelSpec) -> Launcher:
        """A kernel ready to be launched."""
        ...

    def kernel(
        self, spec: KernelSpec, grid: Shape, block: Shape, values: Sequence[Any]
    ) -> Callable[..., None]:
        """A kernel as a function of addresses and numbers.

        ``values``: buffers like those at the addresses.
        """
        ...

    def prepared(
        self, spec: KernelSpec, grid: Shape, block: Shape, words: Values, values: Values
    ) -> Callable[..., None]:
        """A launch with these addresses and numbers; streams are named ``stream``.

        ``values``: the buffers and numbers of the call.
        """
        ...

    def recording(self) -> tuple[Engine, Callable[[], Callable[[], None]]]:
        """An engine that records operations, and a function that makes the graph."""
        ...

    def address(self, spec: KernelSpec) -> int:
        """The address of a kernel for calls from C; 0 if there is none."""
        ...

    def transfers(
        self, values: Values, written: Flags, overwritten: Flags = ()
    ) -> Ways:
        """The transfers of a call's arguments in and out."""
        ...

    def array(self, buffer: Buffer) -> Any:
        """Passes a result to the caller."""
        ...

    def maker(self, shape: Shape, dtype: str) -> Maker:
        """A function that makes uninitialised arrays of the caller."""
        ...

    def shown(self, buffer: Buffer) -> Any:
        """A buffer of the program as an array, for functions of the caller."""
        ...

    def taken_back(self, buffer: Buffer, shown: Any) -> None:
        """Copies back what such a function wrote into its array."""
        ...


def storage(dtype: str) -> np.dtype:
    """NumPy's type of an element in memory."""
    return np.dtype(element(dtype).storage)


UNAMBIGUOUS = (
    "i1 i8 i16 i32 i64 ui8 ui16 ui32 ui64 f16 f32 f64 complex<f32> complex<f64>"
).split()
"""Element types that a NumPy type names."""


def contents_of(value: Any) -> tuple[np.ndarray, str]:
    """(contents, element type) of a constant: an array, or shape, dtype and values.

    >>> contents_of(np.zeros(3, np.float32))[1]
    'f32'
    """
    if isinstance(value, np.ndarray):
        names = {element(name).storage: name for name in UNAMBIGUOUS}
        return value, names[str(value.dtype)]
    kind = storage(value.dtype)
    try:
        array = np.zeros(value.shape, kind)
    except (MemoryError, ValueError) as problem:
        size = prod(value.shape) * kind.itemsize
        raise errors.OutOfMemory(size=size) from problem
    if value.values is not None:
        given = np.asarray(value.values)
        if value.dtype in NARROW:
            given = _codes(given.astype(float), value.dtype)
        array[...] = given.reshape(value.shape if given.size > 1 else ())
    return array, str(value.dtype)


def _codes(numbers: np.ndarray, dtype: str) -> np.ndarray:
    """Numbers in the storage format of a narrow type.

    >>> _codes(np.array([1.0, -0.0, 0.0]), "bf16").tolist()
    [16256, 32768, 0]
    """
    bits, where = np.unique(numbers.view(np.int64), return_inverse=True)
    codes = [to_bits(number, dtype) for number in bits.view(float).tolist()]
    whole = f"u{storage(dtype).itemsize}"
    return np.array(codes, whole)[where].view(storage(dtype))
