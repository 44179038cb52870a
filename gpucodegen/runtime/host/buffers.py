"""`Buffer` records of arrays of any library, checked against expectations."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from gpucodegen import errors
from gpucodegen.intrinsics.framework.elements import element, row_major
from gpucodegen.ir.number_formats import NARROW, SMALL
from gpucodegen.records import dataclass

CPU, GPU = "the CPU", "the GPU"

_SMALL_FLOATS = {
    name: (f"float{name[1]}_{name[2:].lower()}", "uint8") for name in SMALL
}
NUMPY_NAMES: dict[str, tuple[str, ...]] = (
    _SMALL_FLOATS
    | {
        "f16": ("float16",),
        "bf16": ("bfloat16", "uint16"),
        "f32": ("float32",),
        "f64": ("float64",),
        "complex<f32>": ("complex64",),
        "complex<f64>": ("complex128",),
        "i1": ("bool",),
        "index": ("int64", "uint64"),
        "tag": ("int64",),
    }
    | {
        f"{sign}i{bits}": (f"int{bits}", f"uint{bits}")
        for sign in ("", "s", "u")
        for bits in (8, 16, 32, 64)
    }
)
"""Array element types that hold an MLIR element type.

The names of narrow floats are those of the package ml_dtypes; their bits serve as well.
"""


@dataclass(slots=True, eq=False)
class Buffer:
    """Memory with a shape: ``strides`` count elements, ``array`` is the owner's view.

    ``pooled``: a program allocated it from its workspace.  ``origin``: the address of
    the buffer of which this is a view; 0 if it is none.  A buffer never changes; a
    frozen class would take six times as long to make one for each argument of a call.

    >>> b = Buffer.of(np.zeros((2, 3), np.float32), "f32")
    >>> b.shape, b.strides, b.offset, b.base == b.pointer
    ((2, 3), (3, 1), 0, True)
    """

    array: Any
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    pointer: int
    device: str = CPU
    writable: bool = True
    pooled: bool = False
    origin: int = 0

    @classmethod
    def of(cls, array: Any, dtype: str) -> Buffer:
        """The buffer of a NumPy or device array that holds ``dtype``."""
        size = array.itemsize
        strides = tuple(stride // size for stride in array.strides)
        if isinstance(array, np.ndarray):
            pointer = int(array.__array_interface__["data"][0])
            return cls(
                array, dtype, array.shape, strides, pointer, CPU, array.flags.writeable
            )
        return cls(array, dtype, array.shape, strides, int(array.data.ptr), GPU)

    @property
    def base(self) -> int:
        """The address of the buffer that this is a view of, or its own."""
        return self.origin or self.pointer

    @property
    def offset(self) -> int:
        """Elements from `base` to the first one of this view."""
        return (self.pointer - self.base) // self.array.itemsize

    @property
    def byte_range(self) -> tuple[int, int]:
        """The first address and the address after the last element."""
        if not all(self.shape):
            return self.pointer, self.pointer
        reach = [(n - 1) * s for n, s in zip(self.shape, self.strides, strict=True)]
        size = self.array.itemsize
        lowest = sum(r for r in reach if r < 0) * size
        highest = sum(r for r in reach if r > 0) * size + size
        return self.pointer + lowest, self.pointer + highest


@dataclass(frozen=True, slots=True)
class Expected:
    """The expected array of a parameter: None in ``shape`` is any extent.

    ``strides`` None means row-major; None in it any stride.  They count elements.
    """

    name: str
    dtype: str
    shape: tuple[int | None, ...]
    strides: tuple[int | None, ...] | None = None


def to_buffer(value: object, expected: Expected, function: str) -> Buffer:
    """A user's argument as a checked buffer; errors name the expectation."""
    array = as_array(value, expected, function)
    array = _as_stored(array, expected, function)
    _check_shape(array, expected, function)
    buffer = Buffer.of(array, expected.dtype)
    check_strides(buffer, expected, function)
    return buffer


def _as_stored(array: Any, expected: Expected, function: str) -> Any:
    """The array with the expected elements; narrow floats of other packages as bits."""
    names, stored = NUMPY_NAMES[expected.dtype], element(expected.dtype).storage
    if str(array.dtype) not in names:
        wanted = names[0] if stored != names[-1] else " or ".join(names)
        raise errors.WrongDtype(
            function=function,
            argument=expected.name,
            expected=wanted,
            actual=array.dtype,
        )
    is_foreign = array.dtype.kind not in "biufc" and stored == names[-1]
    return array.view(stored) if is_foreign else array


def as_array(value: object, expected: Expected, function: str) -> Any:
    """The NumPy or device array over the memory of any object, without a copy."""
    if isinstance(value, np.ndarray):
        if isinstance(value, np.ma.MaskedArray):
            raise errors.WrongArgumentType(
                function=function,
                argument=expected.name,
                expected="an array without a mask",
                actual="numpy.ma.MaskedArray",
                advice="Pass x.filled(value), or x.data where the mask does not matter",
            )
        return value
    if isinstance(value, np.generic):
        return _of_number(value)
    from gpucodegen.runtime.devices import choice

    if choice.is_device_array(value):
        return value
    for protocol, array_of in _PROTOCOLS.items():
        if not offers(value, protocol):
            continue
        try:
            return array_of(value)
        except Exception as problem:  # whatever another library raises
            reason = str(problem).partition("\n")[0] or type(problem).__name__
            raise errors.UnreadableBuffer(
                function=function,
                argument=expected.name,
                reason=reason.removesuffix("."),
                advice=_as_bits(expected.dtype),
            ) from problem
    try:
        return np.asarray(memoryview(value))  # type: ignore[arg-type]
    except (TypeError, ValueError, NotImplementedError) as problem:
        raise errors.WrongArgumentType(
            function=function,
            argument=expected.name,
            expected="an array, as numpy.asarray makes",
            actual=type(value).__name__,
        ) from problem


def _of_number(value: np.generic) -> Any:
    """A NumPy number as a read-only copy of rank 0.

    >>> _of_number(np.float32(2)).flags.writeable
    False
    """
    array = np.asarray(value)
    array.flags.writeable = False
    return array


def offers(value: object, protocol: str) -> bool:
    """Whether an object has an attribute, which may raise in other libraries.

    >>> offers(np.zeros(3), "__array_interface__"), offers(3, "__dlpack__")
    (True, False)
    """
    try:
        return hasattr(value, protocol)
    except Exception:  # noqa: BLE001 - a property that says why it has none
        return False


def _as_bits(dtype: str) -> str:
    """A hint for element types of other libraries without a NumPy type."""
    names = NUMPY_NAMES[dtype]
    if dtype not in NARROW:
        return ""
    return f"Pass an array of {names[0]}, or of its bits, such as .view({names[-1]})"


CPU_DEVICE_TYPES = {1, 3}
"""DLPack: main memory, and main memory pinned for a GPU."""


def _from_dlpack(value: Any) -> Any:
    device_type, _ = value.__dlpack_device__()
    if int(device_type) in CPU_DEVICE_TYPES:
        return np.from_dlpack(value)
    from gpucodegen.runtime.devices import choice

    return choice.cupy_module().from_dlpack(value)


def _from_cuda(value: Any) -> Any:
    from gpucodegen.runtime.devices import choice

    return choice.taken_in(value)


_PROTOCOLS: dict[str, Callable[[Any], Any]] = {
    "__cuda_array_interface__": _from_cuda,
    "__dlpack__": _from_dlpack,
    "__array_interface__": np.asarray,
}
"""Array interfaces of other libraries, the best one first."""


def _check_shape(array: Any, expected: Expected, function: str) -> None:
    if array.ndim != len(expected.shape):
        raise errors.WrongArgumentRank(
            function=function,
            argument=expected.name,
            expected=len(expected.shape),
            actual=array.ndim,
        )
    for dimension, (want, have) in enumerate(
        zip(expected.shape, array.shape, strict=True)
    ):
        if want is not None and want != have:
            raise errors.WrongExtent(
                function=function,
                argument=expected.name,
                expected=want,
                dimension=dimension,
                actual=have,
                shape=_shape_text(expected.shape),
            )


def check_strides(buffer: Buffer, expected: Expected, function: str) -> None:
    """Refuses a buffer with another layout than expected."""
    if 0 in buffer.shape:
        return
    wanted = expected.strides
    if wanted is None:
        wanted = row_major(buffer.shape)
    size = buffer.array.itemsize
    rows = zip(wanted, buffer.strides, buffer.shape, buffer.array.strides, strict=True)
    for want, have, extent, in_bytes in rows:
        is_free = want is None and in_bytes % size == 0
        if extent <= 1 or is_free or (want == have and in_bytes % size == 0):
            continue
        if in_bytes % size:
            raise errors.WrongStride(
                function=function,
                argument=expected.name,
                expected=f"of whole elements of {size} bytes",
                actual=f"{in_bytes} bytes",
                otherwise="",
            )
        raise errors.WrongStride(
            function=function,
            argument=expected.name,
            expected=_shape_text(wanted),
            actual=_shape_text(buffer.strides),
            otherwise=f", or declare a memref of layout {_any_strides(len(wanted))}",
        )


def _any_strides(rank: int) -> str:
    """The MLIR layout that accepts every buffer of a rank.

    >>> _any_strides(2)
    'strided<[?, ?], offset: ?>'
    """
    return f"strided<[{', '.join('?' * rank)}], offset: ?>"


def _shape_text(values: Iterable[int | None]) -> str:
    inner = ", ".join("?" if v is None else str(v) for v in values)
    return f"({inner})"
