"""fmod in float64: a division of whole numbers, 11 bits at a time."""

from __future__ import annotations

from math import inf, nan
from typing import Any

from gpucodegen.intrinsics.vector_math.lanes import Lanes
from gpucodegen.intrinsics.vector_math.scaling import scaled

STEP = 11
"""Bits that a mantissa of 53 leaves free in a word."""


def fmod(x: Lanes, y: Lanes) -> Lanes:
    """What is left of ``x`` after whole multiples of ``y``, with the sign of ``x``."""
    builder, size, divisor = x.low.builder, abs(x), abs(y)
    top, top_exponent = _parts(size)
    bottom, exponent = _parts(divisor)
    is_zero = bottom.compared("==", 0)
    bottom = bottom.of(1).if_(is_zero, bottom)
    first = x.bits().of(builder.urem(top.value, bottom.value))
    rest = _divided(first, bottom, top_exponent - exponent)
    value = scaled(rest.real(), (exponent - 1075).real())
    value = x.if_(size.compared("<", divisor), value.llvm("copysign", x))
    endless = builder.fcmp_unordered("==", size.value, x.of(inf).value)
    has_none = builder.or_(builder.or_(is_zero, endless), _is_nan(y))
    return x.of(nan).if_(has_none, value)


def _is_nan(x: Lanes) -> Any:
    return x.low.builder.fcmp_unordered("uno", x.value, x.value)


def _parts(size: Lanes) -> tuple[Lanes, Lanes]:
    """``(m, e)``: the number is the whole ``m`` times ``2^(e - 1075)``."""
    bits = size.bits()
    exponent = bits.integer("lshr", 52)
    is_normal = exponent.compared(">", 0)
    fraction = bits.integer("and_", (1 << 52) - 1)
    whole = fraction.integer("or_", 1 << 52).if_(is_normal, fraction)
    return whole, exponent.if_(is_normal, 1)


def _divided(first: Lanes, divisor: Lanes, bits: Lanes) -> Lanes:
    """``first * 2^bits`` modulo the divisor."""
    builder: Any = first.low.builder
    entry = builder.block
    head, body, done = (builder.append_basic_block(f"fmod_{s}") for s in "hbd")
    builder.branch(head)
    builder.position_at_end(head)
    rest, left = (first.of(builder.phi(first.value.type)) for _ in range(2))
    builder.cbranch(left.compared(">", 0), body, done)
    builder.position_at_end(body)
    step = left.if_(left.compared("<", STEP), STEP)
    following = rest.integer("shl", step)
    following = first.of(builder.urem(following.value, divisor.value))
    fewer = left - step
    builder.branch(head)
    for phi, before, after in ((rest, first, following), (left, bits, fewer)):
        phi.value.add_incoming(before.value, entry)
        phi.value.add_incoming(after.value, body)
    builder.position_at_end(done)
    return rest
