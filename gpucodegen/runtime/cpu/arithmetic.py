"""Arithmetic of host programs: NumPy numbers, and CPU intrinsics as functions.

Host programs compute sizes and a few numbers between launches.  They write sums and
comparisons as Python does; constructors keep each number in its type.  Every other
operation is the intrinsic of the CPU, compiled on first use, cached on disk, and called
with one number per operand.

>>> int8(200), operation("divsi")(int32(-7), int32(2)), cmpi("ult")(int8(1), int8(-1))
(np.int8(-56), np.int32(-3), True)
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from gpucodegen.intrinsics.framework.elements import element
from gpucodegen.ir.number_formats import NARROW, SMALL
from gpucodegen.runtime.host.spec import KernelSpec, Param

Operation = Callable[..., Any]


def _integer(name: str) -> Operation:
    """The constructor of an integer type, modulo its width."""
    kind = np.dtype(name).type
    half = 1 << (8 * np.dtype(name).itemsize - 1)

    def make(x: Any) -> Any:
        if type(x) is kind:
            return x
        return kind((int(x) + half) % (2 * half) - half)

    return make


boolean, float32, float64 = bool, np.float32, np.float64
complex64, complex128 = np.complex64, np.complex128
int8, int16, int32, int64 = map(_integer, ("int8", "int16", "int32", "int64"))


def select(condition: Any, a: Any, b: Any) -> Any:
    """``arith.select``."""
    return a if condition else b


_WRAPPED: dict[type, Operation] = {
    np.int8: int8,
    np.int16: int16,
    np.int32: int32,
    np.int64: int64,
}
"""Constructors that convert any integer to a type."""


def ceildivsi(a: Any, b: Any) -> Any:
    """``arith.ceildivsi``, used for grid sizes."""
    if type(a) is bool:
        return a and b
    make = _WRAPPED.get(type(a), int)
    return make(-(-int(a) // int(b))) if b else make(0)


def cast(method: str, kind: str) -> Operation:
    """A conversion by an intrinsic."""
    return _made(f"cast({method!r}, {kind!r})", _carried(kind))


def cmpi(predicate: str) -> Operation:
    """A comparison of integers."""
    return _made(f"cmpi({predicate!r})", "i1")


def cmpf(predicate: str) -> Operation:
    """A comparison of floats."""
    return _made(f"cmpf({predicate!r})", "i1")


def bits_of(kind: str) -> Operation:
    """The code of a narrow float."""
    return _made(f"bits_of({kind!r})", "i8" if kind in SMALL else "i16")


def from_bits(kind: str) -> Operation:
    """The narrow float of a code."""
    return _made(f"from_bits({kind!r})", "f32")


def round_to(kind: str) -> Operation:
    """The nearest narrow float."""
    return _made(f"round_to({kind!r})", "f32")


def fused(kind: str) -> Operation:
    """Multiply-add of narrow floats, rounded once."""
    return _made(f"fused({kind!r})", "f32")


def operation(name: str) -> Operation:
    """The intrinsic of any other operation, as a function."""
    return _made(name)


_OF_PART = {"f32": "complex<f32>", "f64": "complex<f64>"}
_PART_OF = {whole: part for part, whole in _OF_PART.items()}
_RESULTS: dict[str, dict[str, str]] = {
    **dict.fromkeys(("creal", "cimag", "cabs", "carg"), _PART_OF),
    "cmplx": _OF_PART,
}
"""Results of another type than the operands', by that."""
_KINDS = {
    "bool": "i1",
    **{f"int{bits}": f"i{bits}" for bits in (8, 16, 32, 64)},
    "float32": "f32",
    "float64": "f64",
    "complex64": "complex<f32>",
    "complex128": "complex<f64>",
}
"""Element types of NumPy's numbers."""


def carried(value: Any, kind: str) -> Any:
    """A stored element as host programs represent it.

    >>> carried(np.uint16(0x3FC0), "bf16")
    np.float32(1.5)
    """
    if kind in NARROW:
        integer = np.int8 if kind in SMALL else np.int16
        return from_bits(kind)(value.view(integer))
    return np.asarray(value).view(_carrier(kind))[()]


def stored(value: Any, kind: str) -> Any:
    """A number in the storage format of an element type.

    >>> stored(np.float32(1.5), "bf16") == 0x3FC0
    np.True_
    """
    if kind not in NARROW:
        return value
    return bits_of(kind)(np.float32(value)).view(element(kind).storage)


def _carrier(kind: str) -> np.dtype[Any]:
    return np.dtype(element(kind).carrier.replace("boolean", "bool"))


def _carried(kind: str) -> str:
    return "f32" if kind in NARROW else kind


def _made(call: str, result: str = "") -> Operation:
    """An intrinsic of the CPU as a function of numbers.

    ``result``: the element type of the result, if the operands do not determine it.
    """

    def made(*numbers: Any) -> Any:
        kinds = tuple(_kind(number) for number in numbers)
        returned = result or _RESULTS.get(call, {}).get(kinds[0], kinds[0])
        entry, carrier = _compiled(call, returned, kinds)
        cell = np.empty((), carrier)
        given = (n.item() if isinstance(n, np.generic) else n for n in numbers)
        entry(cell.ctypes.data, *given)
        return cell[()] if carrier.kind != "b" else bool(cell)

    return made


def _kind(number: Any) -> str:
    """The element type of a number; Python's own are indices and wide floats."""
    return _kind_of(np.asarray(number).dtype)


@cache
def _kind_of(dtype: np.dtype[Any]) -> str:
    return _KINDS[str(dtype)]


@cache
def _compiled(
    call: str, kind: str, kinds: tuple[str, ...]
) -> tuple[Callable[..., None], np.dtype[Any]]:
    """The entry of a kernel that writes one result, and the result's type."""
    from gpucodegen.runtime.cpu.kernels import compile_cpu

    names = [f"x{n}" for n in range(len(kinds))]
    source = "\n".join(
        [
            "from gpucodegen.intrinsics import cpu as intrinsics",
            "",
            f"operation = intrinsics.{call}",
            f'store = intrinsics.store("{kind}")',
            "",
            "",
            f"def scalar({', '.join(['r', *names])}):",
            f"    store(r, 0, operation({', '.join(names)}))",
            "",
        ]
    )
    params = [Param(n, "scalar", k) for n, k in zip(names, kinds, strict=True)]
    spec = KernelSpec("scalar", source, (Param("r", "pointer", kind), *params))
    return compile_cpu(spec).entry, _carrier(kind)
