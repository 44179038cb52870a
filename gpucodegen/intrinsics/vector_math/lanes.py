"""Numbers of a vector register in formulas: LLVM values with the operators of Python.

A formula is written once for float32 and float64; plain numbers in it become constants
in every lane.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from gpucodegen.intrinsics.framework.lowering import (
    I32,
    I64,
    Lowering,
    number,
    shaped_like,
)

F32, F64 = ir.FloatType(), ir.DoubleType()


@dataclass(frozen=True, slots=True)
class Format:
    """A binary format: bits, of these the fraction, and the bias of the exponent."""

    name: str
    bits: int
    fraction: int
    bias: int


FORMATS = {F32: Format("f32", 32, 23, 127), F64: Format("f64", 64, 52, 1023)}


@dataclass(frozen=True, slots=True)
class Lanes:
    """Floats or integers in the lanes of a register while code is built."""

    low: Lowering
    value: Any

    @property
    def scalar(self) -> ir.Type:
        """The LLVM type of one lane."""
        return getattr(self.value.type, "element", self.value.type)

    @property
    def format(self) -> Format:
        """The format of floats."""
        return FORMATS[self.scalar]

    def of(self, value: Any) -> Lanes:
        """Lanes of this type: the same constant in all, or an LLVM value."""
        is_plain = isinstance(value, int | float)
        made = number(self.value.type, value) if is_plain else value
        return Lanes(self.low, made)

    # Arithmetic.

    def _combined(self, name: str, other: Lanes | float) -> Lanes:
        value = other.value if isinstance(other, Lanes) else self.of(other).value
        prefix = "" if isinstance(self.scalar, ir.IntType) else "f"
        return self.of(getattr(self.low.builder, prefix + name)(self.value, value))

    def __add__(self, other: Lanes | float) -> Lanes:
        return self._combined("add", other)

    def __sub__(self, other: Lanes | float) -> Lanes:
        return self._combined("sub", other)

    def __mul__(self, other: Lanes | float) -> Lanes:
        return self._combined("mul", other)

    def __truediv__(self, other: Lanes | float) -> Lanes:
        return self._combined("div", other)

    def __neg__(self) -> Lanes:
        return self.of(self.low.builder.fneg(self.value))

    def __abs__(self) -> Lanes:
        return self.llvm("fabs")

    def llvm(self, name: str, *others: Lanes | float) -> Lanes:
        """An LLVM intrinsic of floats, such as ``rint`` and ``copysign``."""
        rest = [o.value if isinstance(o, Lanes) else self.of(o).value for o in others]
        return self.of(self.low.overloaded(name, [self.value, *rest]))

    def fma(self, factor: Lanes | float, addend: Lanes | float) -> Lanes:
        """``self * factor + addend``, rounded once."""
        return self.llvm("fma", factor, addend)

    def polynomial(self, coefficients: Sequence[float]) -> Lanes:
        """The polynomial with these coefficients, lowest power first (Horner)."""
        *rest, last = coefficients
        total = self.of(last)
        for coefficient in reversed(rest):
            total = total.fma(self, coefficient)
        return total

    def fenced(self) -> Lanes:
        """This rounded value: no later operation is fused with the one that made it."""
        return self.llvm("arithmetic.fence")

    # Comparison and choice.

    def compared(self, symbol: str, other: Lanes | float) -> Any:
        """A comparison lane by lane, as bits; ordered for floats."""
        value = other.value if isinstance(other, Lanes) else self.of(other).value
        builder = self.low.builder
        is_integer = isinstance(self.scalar, ir.IntType)
        compare = builder.icmp_signed if is_integer else builder.fcmp_ordered
        return compare(symbol, self.value, value)

    def if_(self, condition: Any, other: Lanes | float) -> Lanes:
        """These lanes where the bit is set, else the others."""
        value = other.value if isinstance(other, Lanes) else self.of(other).value
        return self.of(self.low.builder.select(condition, self.value, value))

    def or_nan(self, argument: Lanes) -> Lanes:
        """These lanes, and NaN where the argument is NaN."""
        is_nan = self.low.builder.fcmp_unordered("uno", argument.value, argument.value)
        return (argument + argument).if_(is_nan, self)

    # Bits and conversions.

    def bits(self) -> Lanes:
        """The bits of floats as integers of their width."""
        kind = shaped_like(I32 if self.scalar == F32 else I64, self.value.type)
        return self.of(self.low.builder.bitcast(self.value, kind))

    def as_float(self) -> Lanes:
        """Integers taken for the bits of floats."""
        kind = shaped_like(F32 if self.scalar == I32 else F64, self.value.type)
        return self.of(self.low.builder.bitcast(self.value, kind))

    def whole(self) -> Lanes:
        """Floats that are whole numbers as integers of their width."""
        kind = shaped_like(I32 if self.scalar == F32 else I64, self.value.type)
        return self.of(self.low.builder.fptosi(self.value, kind))

    def real(self) -> Lanes:
        """Integers as floats of their width."""
        kind = shaped_like(F32 if self.scalar == I32 else F64, self.value.type)
        return self.of(self.low.builder.sitofp(self.value, kind))

    def wide(self) -> Lanes:
        """float32 as float64."""
        kind = shaped_like(F64, self.value.type)
        return self.of(self.low.builder.fpext(self.value, kind))

    def single(self) -> Lanes:
        """float64 rounded to float32."""
        kind = shaped_like(F32, self.value.type)
        return self.of(self.low.builder.fptrunc(self.value, kind))

    def integer(self, method: str, amount: Lanes | int) -> Lanes:
        """``shl``, ``ashr``, ``lshr``, ``and_``, ``or_``, ``xor`` of integers."""
        value = amount.value if isinstance(amount, Lanes) else self.of(amount).value
        return self.of(getattr(self.low.builder, method)(self.value, value))


@dataclass(frozen=True, slots=True)
class Pair:
    """An unevaluated sum of two floats, the second below half an ulp of the first."""

    high: Lanes
    low: Lanes


def sum_of(a: Lanes, b: Lanes) -> Pair:
    """``a + b`` exactly, for ``|a| >= |b|`` (T. J. Dekker, 1971)."""
    total = (a + b).fenced()
    return Pair(total, b - (total - a).fenced())


def any_sum(a: Lanes, b: Lanes | float) -> Pair:
    """``a + b`` exactly, whichever is larger (D. E. Knuth, 1969)."""
    other = b if isinstance(b, Lanes) else a.of(b)
    total = (a + other).fenced()
    part = (total - a).fenced()
    return Pair(total, (a - (total - part).fenced()) + (other - part))


def quotient_of(a: Pair, b: Pair) -> Pair:
    """``a / b`` with nearly twice the digits of a float."""
    near = (a.high / b.high).fenced()
    rest = near.fma(-b.high, a.high) + (a.low - near * b.low)
    return Pair(near, rest / b.high)


def root_of(a: Pair) -> Pair:
    """The square root, with nearly twice the digits of a float."""
    near = a.high.llvm("sqrt")
    rest = near.fma(-near, a.high) + a.low
    low = rest / (near + near)
    return Pair(near, low.of(0.0).if_(near.compared("==", 0.0), low))


def product_of(a: Lanes, b: Lanes | float) -> Pair:
    """``a * b`` exactly."""
    high = (a * b).fenced()
    return Pair(high, a.fma(b, -high))
