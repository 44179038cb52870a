"""Lanes of vector registers with Python's operators, for formulas in generated code.

A formula is written once for float32 and float64; plain numbers in it become constants
in every lane. `scaled` multiplies by powers of 2, with one instruction where the
processor has it. `otherwise` handles arguments that a formula excludes: on the CPU by
the C library, lane by lane, else by a second formula. The branch is taken if some lane
needs it; the other lanes keep their result, so no lane depends on its neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types

from gpucodegen.intrinsics.framework.features import cpu_features
from gpucodegen.intrinsics.framework.lowering import (
    I1,
    I32,
    I64,
    Lowering,
    number,
    shaped_like,
    suffix,
)
from gpucodegen.records import dataclass

F32, F64 = ir.FloatType(), ir.DoubleType()


@dataclass(frozen=True, slots=True)
class Format:
    """A binary format: bits, fraction bits, and the bias of the exponent."""

    name: str
    bits: int
    fraction: int
    bias: int


FORMATS = {F32: Format("f32", 32, 23, 127), F64: Format("f64", 64, 52, 1023)}


@dataclass(frozen=True, slots=True)
class Lanes:
    """Floats or integers in the lanes of a register, during code generation."""

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
        """This rounded value: later operations are not fused with its last one."""
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
        """Integers reinterpreted as floats."""
        kind = shaped_like(F32 if self.scalar == I32 else F64, self.value.type)
        return self.of(self.low.builder.bitcast(self.value, kind))

    def whole(self) -> Lanes:
        """Integral floats as integers of their width."""
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
    """``a + b`` exactly, for any order of magnitudes (D. E. Knuth, 1969)."""
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


CURRENT_ROUNDING = 4
SCALEF = {512: "avx512f", 256: "avx512vl", 128: "avx512vl"}
"""Bits of a register: the feature of processors that scale the floats in it."""


def scaled(x: Lanes, exponent: Lanes) -> Lanes:
    """``x * 2**exponent``, rounded once; NaN where ``x`` is.

    Valid for whole exponents between twice the smallest and twice the largest of the
    format.
    """
    count = getattr(x.value.type, "count", 1)
    bits = count * x.format.bits
    if SCALEF.get(bits) in cpu_features():
        return _scaled_at_once(x, exponent, bits)
    return _scaled_in_steps(x, exponent.whole()).or_nan(x)


def _scaled_at_once(x: Lanes, exponent: Lanes, bits: int) -> Lanes:
    """VSCALEFPS and VSCALEFPD (Intel SDM, volume 2)."""
    lanes = x.value.type.count
    kind = "ps" if x.scalar == F32 else "pd"
    all_lanes = ir.Constant(ir.IntType(max(8, lanes)), -1)
    arguments = [x.value, exponent.value, x.value, all_lanes]
    if bits == max(SCALEF):
        arguments.append(ir.Constant(I32, CURRENT_ROUNDING))
    name = f"llvm.x86.avx512.mask.scalef.{kind}.{bits}"
    return x.of(x.low.call(name, x.value.type, arguments))


def _scaled_in_steps(x: Lanes, exponent: Lanes) -> Lanes:
    """The first of two products is exact, so a subnormal result is rounded once."""
    half = exponent.integer("ashr", 1)
    return x * power_of_two(half) * power_of_two(exponent - half)


def power_of_two(exponent: Lanes) -> Lanes:
    """``2**exponent`` of integers in the normal range."""
    form = FORMATS[F32 if exponent.scalar == I32 else F64]
    return (exponent + form.bias).integer("shl", form.fraction).as_float()


def otherwise(
    result: Lanes, is_rare: Any, name: str, formula: Callable[..., Lanes], *args: Lanes
) -> Lanes:
    """``result``, or the library's function or the formula where the bit is set."""
    low, builder = result.low, result.low.builder
    is_vector = isinstance(is_rare.type, ir.VectorType)
    some = is_rare
    if is_vector:
        some = low.call(f"llvm.vector.reduce.or.{suffix(is_rare.type)}", I1, [is_rare])
    before = builder.block
    with builder.if_then(some, likely=False):
        if is_vector:
            value = _one_by_one(result, name, args)
            value = builder.select(is_rare, value, result.value)
        else:
            value = formula(*args).value
        inside = builder.block
    merged = builder.phi(result.value.type)
    merged.add_incoming(result.value, before)
    merged.add_incoming(value, inside)
    return result.of(merged)


def _one_by_one(result: Lanes, name: str, args: Sequence[Lanes]) -> Any:
    """The library's function of every lane, in a loop, which keeps the code small."""
    low, builder = result.low, result.low.builder
    dtype = types.float32 if result.scalar == F32 else types.float64
    target = cgutils.alloca_once_value(builder, result.value)
    count = ir.Constant(I64, result.value.type.count)
    with cgutils.for_range(builder, count) as loop:
        lanes = [builder.extract_element(arg.value, loop.index) for arg in args]
        value = low.face.function(low, name, dtype, lanes)
        changed = builder.insert_element(builder.load(target), value, loop.index)
        builder.store(changed, target)
    return builder.load(target)
