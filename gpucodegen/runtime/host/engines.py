"""What a host program needs of its target: where memory lies and how kernels start."""

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
Launcher = Callable[..., None]
"""A kernel as a function of grid, block and arguments; where blocks have memory of
their own, also of the bytes that they get beside what the kernel declares."""
Ways = tuple[Callable[[], Sequence[Any]], Callable[[], None]]
"""Arguments made reachable for kernels, and results copied back."""
Maker = Callable[[], tuple[int, Any]]
"""Makes an array, and tells its address."""


class Engine(Protocol):
    """The memory and the kernels of one target."""

    @property
    def memory(self) -> object:
        """Which memory is its own: engines of the same share buffers."""
        ...

    @property
    def device(self) -> object:
        """What runs the kernels; None for the processor that this process runs on."""
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
        """The contents in main memory: where they are, or a copy."""
        ...

    def assign(self, buffer: Buffer, contents: Any) -> None:
        """Contents of an array, wherever it lies, to a buffer of its shape."""
        ...

    def view(self, buffer: Buffer, offset: int, shape: Shape, strides: Shape) -> Buffer:
        """Another shape over the same memory."""
        ...

    def byte_view(self, buffer: Buffer, shift: int, dtype: str, shape: Shape) -> Buffer:
        """Row-major elements of another type, so many bytes after the first."""
        ...

    def map_of(
        self, buffer: Buffer, box: Shape, swizzle: int, promotion: int
    ) -> Callable[[int], Any]:
        """The array of such a map, by the address of a buffer of the same form."""
        ...

    def tensor_map(
        self, buffer: Buffer, box: Shape, swizzle: int, promotion: int, /
    ) -> Buffer:
        """What copy engines know of a buffer; the CPU has none."""
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

        ``values``: buffers like those that the addresses stand for.
        """
        ...

    def prepared(
        self,
        spec: KernelSpec,
        grid: Shape,
        block: Shape,
        words: Sequence[Any],
        values: Sequence[Any],
    ) -> Callable[..., None]:
        """A launch with these addresses and numbers; streams are named ``stream``.

        ``values``: the buffers and numbers of the call.
        """
        ...

    def recording(self) -> tuple[Engine, Callable[[], Callable[[], None]]]:
        """An engine that notes what its device is to do, and what makes one of all."""
        ...

    def address(self, spec: KernelSpec) -> int:
        """Where such a function lies that C calls; 0 if there is none."""
        ...

    def transfers(
        self,
        values: Sequence[Any],
        written: Sequence[bool],
        overwritten: Sequence[bool] = (),
    ) -> Ways:
        """The way of a call's arguments in and out."""
        ...

    def array(self, buffer: Buffer) -> Any:
        """A result, which from now on is the caller's."""
        ...

    def maker(self, shape: Shape, dtype: str) -> Maker:
        """What makes uninitialised arrays of the caller's."""
        ...

    def shown(self, buffer: Buffer) -> Any:
        """A buffer of the program as an array, for functions of the caller."""
        ...

    def taken_back(self, buffer: Buffer, shown: Any) -> None:
        """What such a function wrote into the array that it was shown."""
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
    """Numbers as a narrow type stores them.

    >>> _codes(np.array([1.0, -0.0, 0.0]), "bf16").tolist()
    [16256, 32768, 0]
    """
    bits, where = np.unique(numbers.view(np.int64), return_inverse=True)
    codes = [to_bits(number, dtype) for number in bits.view(float).tolist()]
    whole = f"u{storage(dtype).itemsize}"
    return np.array(codes, whole)[where].view(storage(dtype))
