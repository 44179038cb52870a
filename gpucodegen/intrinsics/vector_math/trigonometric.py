"""sin and cos on vector registers, with reduction of arguments of any size.

``x = k pi/2 + r`` with ``|r| <= pi/4``; ``k`` selects polynomial and sign (W. J. Cody
and W. Waite, 1980).  float32 reduces in float64; float64 with ``pi/2`` as a sum of
three floats and ``r`` as a sum of two.  Beyond ``LIMIT`` the C library is used, or
`reduced_large`.

There ``x = M 2^(E-63)`` with an integer ``M`` of 64 bits.  Digits of 2/pi that only
contribute multiples of four right angles are skipped; of the product with the next 192
bits, the upper two are the quadrant and 126 the fraction of a right angle (M. H. Payne
and R. N. Hanek, Radian reduction for trigonometric functions, 1983).  No float is
closer to a multiple of pi/2 than 2^-62, so 64 bits of the fraction suffice.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from gpucodegen.intrinsics.framework.lowering import I64, Lowering
from gpucodegen.intrinsics.vector_math.coefficients import COS, SIN
from gpucodegen.intrinsics.vector_math.lanes import (
    F32,
    Lanes,
    Pair,
    any_sum,
    otherwise,
    product_of,
    sum_of,
)

I128 = ir.IntType(128)
TWO_OVER_PI_DIGITS = int(
    "A2F9836E4E441529FC2757D1F534DDC0DB6295993C439041FE5163ABDEBBC561"
    "B7246E3A424DD2E006492EEA09D1921CFE1DEB1CB129A73EE88235F52EBB4484"
    "E99C7026B45F7E413991D639835339F49C845F8BBDF9283B1FF897FFDE05980F"
    "EF2F118B5A0A6D1F6D367ECF27CB09B74F463F669E5FEA2D7527BAC7EBE5F17B"
    "3D0739F78A5292EA6BFB5FB11F8D5D0856033046FC7B6BABF0CFBC209AF4361D",
    16,
)
WORDS = 21
"""Words of 64 bits in the table; the first is empty, then 2/pi begins."""
HALF_PI_PARTS = (1.5707963267948966, 6.123233995736766e-17)


def reduced_large(x: Lanes) -> tuple[Lanes, Pair]:
    """``(k, r)``: right angles modulo 4, and the rest; NaN if ``x`` is infinite."""
    if x.scalar == F32:
        quarter, r = reduced_large(x.wide())
        near = r.high.single()
        rest = (r.high - near.wide() + r.low).single()
        low = quarter.low.builder.trunc(quarter.value, ir.IntType(32))
        return quarter.of(low), Pair(near, rest)
    high, low = _product(x)
    quarter = high.integer("lshr", 62)
    low, high = low.integer("shl", 2), _shifted(high, low, high.of(2))
    is_more = high.compared("<", 0)
    quarter = quarter + high.integer("lshr", 63)
    minus_low = high.of(0) - low
    carry = high.of(1).if_(low.compared("==", 0), 0)
    size_low = minus_low.if_(is_more, low)
    size_high = (high.integer("xor", -1) + carry).if_(is_more, high)
    fraction = _as_floats(size_high, size_low)
    is_left = x.low.builder.xor(is_more, x.compared("<", 0.0))
    r = _times_half_pi(fraction)
    quarter = (quarter.of(0) - quarter).if_(x.compared("<", 0.0), quarter)
    endless = x - x  # 0, or NaN
    first = (-r.high).if_(is_left, r.high) + endless
    return quarter, Pair(first, (-r.low).if_(is_left, r.low))


def _product(x: Lanes) -> tuple[Lanes, Lanes]:
    """The upper 128 of 192 bits of ``M`` times the relevant digits."""
    bits = abs(x).bits()
    position = bits.integer("lshr", 52) - (x.format.bias + 1)
    factor = bits.integer("shl", 11).integer("or_", -(1 << 63))
    word, shift = position.integer("lshr", 6), position.integer("and_", 63)
    words = [_word(x.low, word + i) for i in range(4)]
    digits = [_shifted(words[i], words[i + 1], shift) for i in range(3)]
    upper = factor * digits[0]
    middle, low_carry = _wide(factor, digits[1]), _wide(factor, digits[2])
    builder = x.low.builder
    total = builder.add(middle, builder.lshr(low_carry, I128(64)))
    low = x.of(builder.trunc(total, I64))
    high = x.of(builder.trunc(builder.lshr(total, I128(64)), I64))
    return upper + high, low


def _wide(a: Lanes, b: Lanes) -> Any:
    builder = a.low.builder
    return builder.mul(builder.zext(a.value, I128), builder.zext(b.value, I128))


def _shifted(high: Lanes, low: Lanes, count: Lanes) -> Lanes:
    """The upper word of two, shifted left together by less than a word."""
    return high.of(high.low.overloaded("fshl", (high.value, low.value, count.value)))


def _as_floats(high: Lanes, low: Lanes) -> Pair:
    """A fraction of 128 bits as a sum of two float64 that have 96 bits of it."""
    zeros = high.of(high.low.call("llvm.ctlz.i64", I64, (high.value, ir.IntType(1)(0))))
    first = _shifted(high, low, zeros)
    second = low.integer("shl", zeros)
    upper = first.integer("and_", -(1 << 11))
    rest = first.integer("and_", (1 << 11) - 1).integer("shl", 32)
    lower = rest.integer("or_", second.integer("lshr", 32))
    unit = (high.of(1023) - zeros).integer("shl", 52).as_float()
    builder = high.low.builder
    parts = (builder.uitofp(part.value, ir.DoubleType()) for part in (upper, lower))
    large, small = (unit.of(part) for part in parts)
    return Pair(large * 2.0**-64 * unit, small * 2.0**-96 * unit)


def _times_half_pi(a: Pair) -> Pair:
    first, second = HALF_PI_PARTS
    exact = product_of(a.high, first)
    return sum_of(exact.high, exact.low + a.high.fma(second, a.low * first))


def _word(low: Lowering, index: Lanes) -> Lanes:
    """One word of the table, which is a constant of the module."""
    builder, module = low.builder, low.builder.module
    ty, name = ir.ArrayType(I64, WORDS), "digits_of_two_over_pi"
    table = module.globals.get(name)
    if table is None:
        table = ir.GlobalVariable(module, ty, name, addrspace=1)
        table.linkage, table.global_constant = "internal", True
        shifts = range(64 * (WORDS - 2), -1, -64)
        words = [0, *(TWO_OVER_PI_DIGITS >> shift & (1 << 64) - 1 for shift in shifts)]
        table.initializer = ir.Constant(ty, words)
    place = builder.gep(table, [I64(0), index.value])
    return index.of(builder.load(place))


TWO_OVER_PI = 0.6366197723675814
HALF_PI = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33)
LIMIT = 2.0**24


def sin(x: Lanes) -> Lanes:
    """The sine of an angle in radians."""
    quarter, r = reduced(x)
    value = _wave(quarter, r)
    exact = x.if_(abs(x).compared("<", 2.0 ** -(x.format.fraction // 2 + 2)), value)
    return otherwise(exact, is_large(x), "sin", _large_sine, x)


def cos(x: Lanes) -> Lanes:
    """The cosine of an angle in radians."""
    quarter, r = reduced(x)
    return otherwise(_wave(quarter + 1, r), is_large(x), "cos", _large_cosine, x)


def _large_sine(x: Lanes) -> Lanes:
    return _wave(*reduced_large(x))


def _large_cosine(x: Lanes) -> Lanes:
    quarter, r = reduced_large(x)
    return _wave(quarter + 1, r)


def is_large(x: Lanes) -> Any:
    """Where ``x`` is too large for the reduction, infinite or NaN."""
    limit = x.of(LIMIT)
    return x.low.builder.fcmp_unordered(">=", abs(x).value, limit.value)


def _wave(quarter: Lanes, r: Pair) -> Lanes:
    """The sine of ``quarter`` right angles and ``r``."""
    is_odd = quarter.integer("and_", 1).compared("!=", 0)
    size = cosine(r).if_(is_odd, sine(r))
    bits = 32 if size.scalar == F32 else 64
    sign = quarter.integer("and_", 2).integer("shl", bits - 2)
    return size.bits().integer("xor", sign).as_float()


def sine(r: Pair) -> Lanes:
    """The sine of a reduced angle."""
    value = sine_parts(r)
    return value.high + value.low


def cosine(r: Pair) -> Lanes:
    """The cosine of a reduced angle."""
    value = cosine_parts(r)
    return value.high + value.low


def sine_parts(r: Pair) -> Pair:
    """``r + r^3 S(r^2)``, and the low part of ``r`` times the derivative."""
    x = r.high
    z = x * x
    curve = z.polynomial(SIN[x.format.name])
    return Pair(x, (x * z).fma(curve, r.low.fma(z * -0.5, r.low)))


def cosine_parts(r: Pair) -> Pair:
    """``1 - r^2/2 + r^4 C(r^2)``; the rounding error of ``1 - r^2/2`` is added last."""
    x = r.high
    z = (x * x).fenced()
    half = z * 0.5
    near = (x.of(1.0) - half).fenced()
    lost = (x.of(1.0) - near).fenced() - half
    tail = (z * z).fma(z.polynomial(COS[x.format.name]), -(x * r.low))
    return Pair(near, lost + tail)


def reduced(x: Lanes) -> tuple[Lanes, Pair]:
    """``(k, r)``: the number of right angles as integers, and the remainder."""
    return _reduced_single(x) if x.scalar == F32 else _reduced_double(x)


def _reduced_single(x: Lanes) -> tuple[Lanes, Pair]:
    wide = x.wide()
    k = _angles(wide)
    high, low, _ = HALF_PI
    r = k.fma(-low, k.fma(-high, wide))
    near = r.single()
    rest = (r - near.wide()).single()
    quarter = k.single().whole()
    return quarter, Pair(near, rest)


def _reduced_double(x: Lanes) -> tuple[Lanes, Pair]:
    k = _angles(x)
    first, second, third = HALF_PI
    exact = product_of(k, first)
    near = (x - exact.high).fenced()
    middle = product_of(k, second)
    a = any_sum(near, -exact.low)
    b = any_sum(a.high, -middle.high)
    rest = k.fma(-third, a.low + b.low - middle.low)
    return k.whole(), sum_of(b.high, rest)


def _angles(x: Lanes) -> Lanes:
    """The nearest integer number of right angles, and 0 beyond the limit."""
    k = (x * TWO_OVER_PI).llvm("rint")
    return k.if_(abs(x).compared("<", LIMIT), 0.0)
