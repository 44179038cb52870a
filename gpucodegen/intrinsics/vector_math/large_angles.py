"""Any angle as right angles and a rest, by as many digits of 2/pi as that takes.

``x = M 2^(E-63)`` with a whole ``M`` of 64 bits.  Digits of 2/pi that make multiples of
four right angles of it are left out; of the product with the next 192 bits, the upper
two are the quarter and 126 the fraction of a right angle (M. H. Payne and R. N. Hanek,
Radian reduction for trigonometric functions, 1983).  No float is closer to a multiple
of pi/2 than 2^-62, so that 64 bits of the fraction count.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from gpucodegen.intrinsics.framework.lowering import I64, Lowering
from gpucodegen.intrinsics.vector_math.lanes import F32, Lanes, Pair, product_of, sum_of

I128 = ir.IntType(128)
TWO_OVER_PI = int(
    "A2F9836E4E441529FC2757D1F534DDC0DB6295993C439041FE5163ABDEBBC561"
    "B7246E3A424DD2E006492EEA09D1921CFE1DEB1CB129A73EE88235F52EBB4484"
    "E99C7026B45F7E413991D639835339F49C845F8BBDF9283B1FF897FFDE05980F"
    "EF2F118B5A0A6D1F6D367ECF27CB09B74F463F669E5FEA2D7527BAC7EBE5F17B"
    "3D0739F78A5292EA6BFB5FB11F8D5D0856033046FC7B6BABF0CFBC209AF4361D",
    16,
)
WORDS = 21
"""Words of 64 bits in the table; the first is empty, then 2/pi begins."""
HALF_PI = (1.5707963267948966, 6.123233995736766e-17)


def reduced(x: Lanes) -> tuple[Lanes, Pair]:
    """``(k, r)``: right angles modulo 4, and the rest; NaN if ``x`` is endless."""
    if x.scalar == F32:
        quarter, r = reduced(x.wide())
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
    """The upper 128 of 192 bits of ``M`` times the digits that count."""
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
    first, second = HALF_PI
    exact = product_of(a.high, first)
    return sum_of(exact.high, exact.low + a.high.fma(second, a.low * first))


def _word(low: Lowering, index: Lanes) -> Lanes:
    """One word of the table, which lies in constant memory once a module."""
    builder, module = low.builder, low.builder.module
    ty, name = ir.ArrayType(I64, WORDS), "digits_of_two_over_pi"
    table = module.globals.get(name)
    if table is None:
        table = ir.GlobalVariable(module, ty, name, addrspace=1)
        table.linkage, table.global_constant = "internal", True
        shifts = range(64 * (WORDS - 2), -1, -64)
        words = [0, *(TWO_OVER_PI >> shift & (1 << 64) - 1 for shift in shifts)]
        table.initializer = ir.Constant(ty, words)
    place = builder.gep(table, [I64(0), index.value])
    return index.of(builder.load(place))
