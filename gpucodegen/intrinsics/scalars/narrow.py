"""Floats of 16 bits and less: bits in memory, float32 in a register.

Sums, products, quotients and roots of such numbers are computed in float32 and rounded
again.  That is the correctly rounded result: a format of p bits is safe under a wider
one of 2p + 2 bits (S. A. Figueroa, When is double rounding innocuous?, 1995), and
float32 has 24, these formats at most 11.  It does not hold for a fused multiply-add
nor for numbers that come from float64 or wide integers.  Those are rounded *to odd*
first, which keeps what was lost visible in the last bit (S. Boldo and G. Melquiond,
Emulation of FMA and correctly rounded sums, 2008).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import types

from gpucodegen.intrinsics.framework.features import converts_halves
from gpucodegen.intrinsics.framework.lowering import (
    I32,
    I64,
    Face,
    Lowering,
    number,
    shaped_like,
    signature,
)
from gpucodegen.intrinsics.framework.vector_type import Tile
from gpucodegen.intrinsics.scalars import small_floats
from gpucodegen.ir.number_formats import SMALL

I16 = ir.IntType(16)
F32, F64 = ir.FloatType(), ir.DoubleType()


def bits_type(name: str) -> ir.Type:
    """The integer that holds a narrow float."""
    return ir.IntType(8) if name in SMALL else I16


def _in_steps(low: Lowering, name: str) -> bool:
    """Whether integers make what no instruction does."""
    is_half = name == "f16" and not low.face.is_gpu
    return name in SMALL or (is_half and not converts_halves())


def widen(low: Lowering, bits: Any, name: str) -> Any:
    """Bits of memory as float32, for a scalar or a piece."""
    builder = low.builder
    if _in_steps(low, name):
        return small_floats.decode(low, bits, name)
    if name == "f16":
        half = builder.bitcast(bits, shaped_like(ir.HalfType(), bits.type))
        return builder.fpext(half, shaped_like(F32, bits.type))
    wide = builder.zext(bits, shaped_like(I32, bits.type))
    return builder.bitcast(
        builder.shl(wide, number(wide.type, 16)), shaped_like(F32, bits.type)
    )


def narrow(low: Lowering, value: Any, name: str) -> Any:
    """float32 rounded to nearest, ties to even; the bits of a scalar or a piece."""
    builder, shape = low.builder, value.type
    if _in_steps(low, name):
        return small_floats.encode(low, value, name, bits_type(name))
    if name == "f16":
        half = builder.fptrunc(value, shaped_like(ir.HalfType(), shape))
        return builder.bitcast(half, shaped_like(I16, shape))
    bits = builder.bitcast(value, shaped_like(I32, shape))
    kept = builder.lshr(bits, number(bits.type, 16))
    odd = builder.and_(kept, number(bits.type, 1))
    bias = builder.add(odd, number(bits.type, 0x7FFF))
    rounded = builder.lshr(builder.add(bits, bias), number(bits.type, 16))
    is_nan = builder.fcmp_unordered("uno", value, value)
    quiet = builder.or_(kept, number(bits.type, 0x40))
    chosen = builder.select(is_nan, quiet, rounded)
    return builder.trunc(chosen, shaped_like(I16, shape))


def rounded(low: Lowering, value: Any, name: str) -> Any:
    """float32 rounded to the values of a narrow type."""
    return widen(low, narrow(low, value, name), name)


def round_to(face: Face, name: str) -> Any:
    """``round_to(x)``: float32 rounded to a narrow type, for scalars and tiles."""
    return _piecewise(
        face, f"round_{name}", 1, types.float32, lambda low, x: rounded(low, x, name)
    )


def bits_of(face: Face, name: str) -> Any:
    """``bits_of(x)``: the code of a narrow float as an integer of its width."""
    return _piecewise(
        face,
        f"bits_of_{name}",
        1,
        _integer(name),
        lambda low, x: narrow(low, x, name),
    )


def from_bits(face: Face, name: str) -> Any:
    """``from_bits(i)``: the narrow float of a code."""
    return _piecewise(
        face,
        f"from_bits_{name}",
        1,
        types.float32,
        lambda low, bits: widen(low, bits, name),
        _integer(name),
    )


def fused(face: Face, name: str) -> Any:
    """``fused(a, b, c)``: ``a * b + c`` of narrow floats, rounded once.

    The product is exact in float64 and the error of the sum is found exactly (Knuth's
    two-sum); rounded to odd with it, the sum has all that the last rounding needs.
    """

    def lower(low: Lowering, *args: Any) -> Any:
        builder = low.builder
        a, b, c = (builder.fpext(x, shaped_like(F64, x.type)) for x in args)
        product = builder.fmul(a, b)
        total = builder.fadd(product, c)
        addend = builder.fsub(total, product)
        error = builder.fadd(
            builder.fsub(product, builder.fsub(total, addend)), builder.fsub(c, addend)
        )
        return rounded(low, single(low, _to_odd(low, total, error)), name)

    return _piecewise(face, f"fused_{name}", 3, types.float32, lower)


def _integer(name: str) -> Any:
    """The signed integer as wide as a narrow float."""
    return types.int8 if name in SMALL else types.int16


def _piecewise(
    face: Face,
    name: str,
    arity: int,
    result: Any,
    lower: Callable[..., Any],
    operand: Any = types.float32,
) -> Any:
    """An intrinsic on scalars, and on tiles piece by piece."""

    def typing_rule(*args: Any) -> Any:
        tile = next((x for x in args if isinstance(x, Tile)), None)
        of = (lambda dtype: dtype) if tile is None else tile.like
        return signature(of(result), *[of(operand)] * arity)

    def lower_all(low: Lowering, *args: Any) -> Any:
        ty = low.signature.return_type
        if not isinstance(ty, Tile):
            return lower(low, *args)
        pieces = zip(*map(low.pieces, args), strict=True)
        return low.pack(ty, [lower(low, *piece) for piece in pieces])

    return face.define(name, arity, typing_rule, lower_all)


def single(low: Lowering, x: Any, *, signed: bool = True) -> Any:
    """A number of any type as a float32 that rounds as the number itself would.

    float64 is rounded to odd; integers go through it, the widest with their last bits
    gathered in one.
    """
    builder, scalar = low.builder, getattr(x.type, "element", x.type)
    if scalar == F32:
        return x
    if isinstance(scalar, ir.IntType):
        kept = _gathered(low, x, signed=signed) if scalar.width > 53 else x
        convert = builder.sitofp if signed else builder.uitofp
        x = convert(kept, shaped_like(F64, x.type))
    near = builder.fptrunc(x, shaped_like(F32, x.type))
    error = builder.fsub(x, builder.fpext(near, x.type))
    return _to_odd(low, near, error)


LOST_BITS = 11
"""Bits of a 64-bit integer beyond the 53 of float64."""


def _gathered(low: Lowering, x: Any, *, signed: bool) -> Any:
    """A 64-bit integer; beyond 53 bits its last ones are or-ed into the next one."""
    builder, ty = low.builder, x.type
    shift, size = number(ty, LOST_BITS), number(ty, 1 << 53)
    rest = builder.and_(x, number(ty, (1 << LOST_BITS) - 1))
    lost = builder.zext(builder.icmp_unsigned("!=", rest, number(ty, 0)), ty)
    kept = (builder.ashr if signed else builder.lshr)(x, shift)
    whole = builder.shl(builder.or_(kept, lost), shift)
    fits = builder.icmp_unsigned("<", x, size)
    if signed:
        fits = builder.icmp_unsigned("<", builder.add(x, size), number(ty, 1 << 54))
    return builder.select(fits, x, whole)


def _to_odd(low: Lowering, near: Any, error: Any) -> Any:
    """``near + error`` rounded to odd, given ``near`` as its nearest number.

    Where the error is not zero, the two neighbours of the true number differ in their
    last bit: ``near`` is odd, or the neighbour on the side of the error is.
    """
    builder, ty = low.builder, near.type
    scalar = getattr(ty, "element", ty)
    bits = builder.bitcast(near, shaped_like(I32 if scalar == F32 else I64, ty))
    is_even = builder.icmp_unsigned(
        "==", builder.and_(bits, number(bits.type, 1)), number(bits.type, 0)
    )
    zero = number(error.type, 0.0)
    is_inexact = builder.fcmp_ordered("!=", error, zero)
    is_low = builder.fcmp_ordered(">", error, zero)
    is_positive = builder.icmp_signed(">=", bits, number(bits.type, 0))
    grows = builder.icmp_unsigned("==", is_low, is_positive)
    one = number(bits.type, 1)
    moved = builder.select(grows, builder.add(bits, one), builder.sub(bits, one))
    chosen = builder.select(builder.and_(is_inexact, is_even), moved, bits)
    return builder.bitcast(chosen, ty)
