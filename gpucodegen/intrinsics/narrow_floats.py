"""Floats of 16 bits and less: bits in memory, float32 in registers.

Sums, products, quotients and roots are computed in float32 and rounded again.  That is
the correctly rounded result: a format of p bits is safe under a wider one of 2p + 2
bits (S. A. Figueroa, When is double rounding innocuous?, 1995), and float32 has 24,
these formats at most 11.  It does not hold for a fused multiply-add nor for conversions
from float64 or wide integers.  Those are rounded *to odd* first, which keeps the lost
part visible in the last bit (S. Boldo and G. Melquiond, Emulation of FMA and correctly
rounded sums, 2008).

Formats without conversion instructions, all of up to eight bits, and f16 on old
processors, are decoded by a table or integers and encoded by integers, generated from
their `FloatFormat`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import types

from gpucodegen.intrinsics.framework.features import converts_halves
from gpucodegen.intrinsics.framework.lowering import (
    I8,
    I32,
    I64,
    Backend,
    Lowering,
    Tile,
    number,
    shaped_like,
    signature,
)
from gpucodegen.ir.number_formats import FORMATS, SMALL, FloatFormat, decode_table

INFINITE, QUIET = 0x7F800000, 0x7FC00000
"""Infinity, and a NaN, as bits of a float32."""
FRACTION_BITS = 23


def single_bits(name: str) -> tuple[int, ...]:
    """Every code as the bits of a float32; NaNs keep their sign and fraction.

    >>> [hex(b) for b in single_bits("f8E5M2")[0x7B:0x7E]]
    ['0x47600000', '0x7f800000', '0x7fa00000']
    """
    values = enumerate(decode_table(name))
    return tuple(
        _nan_bits(FORMATS[name], code)
        if value != value  # noqa: PLR0124 - only a NaN differs from itself
        else struct.unpack("<I", struct.pack("<f", value))[0]
        for code, value in values
    )


def _nan_bits(format_: FloatFormat, code: int) -> int:
    fraction = code & ((1 << format_.fraction) - 1)
    if not fraction:
        return QUIET
    kept = INFINITE | fraction << (FRACTION_BITS - format_.fraction)
    return kept | format_.is_negative(code) << 31


SINGLE = ir.FloatType()
FRACTION, HIDDEN = 0x7FFFFF, 0x800000
"""Parts of a float32."""
BIAS = 127


# -- decoding --------------------------------------------------------------------------


def decode(low: Lowering, bits: Any, name: str) -> Any:
    """Codes as float32, for a scalar or a piece."""
    if FORMATS[name].width > 8:
        return _computed(low, bits, FORMATS[name])
    if not isinstance(bits.type, ir.VectorType):
        return _looked_up(low, bits, name)
    result = ir.Constant(shaped_like(SINGLE, bits.type), ir.Undefined)
    for i in range(bits.type.count):
        value = _looked_up(low, low.lane(bits, i), name)
        result = low.builder.insert_element(result, value, ir.Constant(I32, i))
    return result


def _computed(low: Lowering, bits: Any, format_: FloatFormat) -> Any:
    """Codes of an IEEE format as float32.

    A code is the upper part of that float32 if exponents began at the same power of 2;
    denormal ones are multiples of the smallest.  No result is denormal, so flushing by
    the processor does not matter.
    """
    builder = low.builder
    code = builder.zext(bits, shaped_like(I32, bits.type))
    ty, sign_bit = code.type, 1 << (format_.width - 1)
    magnitude = builder.and_(code, number(ty, sign_bit - 1))
    widened = builder.shl(magnitude, number(ty, FRACTION_BITS - format_.fraction))
    raised = number(ty, (BIAS - format_.offset) << FRACTION_BITS)
    unit = 2.0 ** (format_.low - format_.fraction)
    counted = builder.sitofp(magnitude, shaped_like(SINGLE, ty))
    small = builder.bitcast(builder.fmul(counted, number(counted.type, unit)), ty)
    is_small = builder.icmp_unsigned("<", magnitude, number(ty, 1 << format_.fraction))
    infinity = number(ty, format_.infinity)
    chosen = builder.select(is_small, small, builder.add(widened, raised))
    is_special = builder.icmp_unsigned(">=", magnitude, infinity)
    special = builder.or_(widened, number(ty, INFINITE))
    is_nan = builder.icmp_unsigned(">", magnitude, infinity)
    quiet = number(ty, 1 << (FRACTION_BITS - 1))
    special = builder.select(is_nan, builder.or_(special, quiet), special)
    chosen = builder.select(is_special, special, chosen)
    sign = builder.and_(code, number(ty, sign_bit))
    sign = builder.shl(sign, number(ty, 32 - format_.width))
    return builder.bitcast(builder.or_(chosen, sign), shaped_like(SINGLE, ty))


def _looked_up(low: Lowering, code: Any, name: str) -> Any:
    builder = low.builder
    mask = ir.Constant(I8, (1 << FORMATS[name].width) - 1)
    position = builder.zext(builder.and_(code, mask), I64)
    place = builder.gep(_table(low, name), [ir.Constant(I64, 0), position])
    return builder.bitcast(builder.load(place), SINGLE)


def _table(low: Lowering, name: str) -> Any:
    """The module's table of a format, as a constant in memory."""
    module, symbol = low.builder.module, f"values_of_{name}"
    table = module.globals.get(symbol)
    if table is None:
        numbers = single_bits(name)
        ty = ir.ArrayType(I32, len(numbers))
        space = low.face.global_space
        table = ir.GlobalVariable(module, ty, symbol, addrspace=space)
        table.linkage = "internal"
        table.global_constant = True
        table.initializer = ir.Constant(ty, numbers)
    generic = table.type.pointee.as_pointer()
    same = table.type.addrspace == 0
    return table if same else low.builder.addrspacecast(table, generic)


# -- encoding --------------------------------------------------------------------------


def encode(low: Lowering, value: Any, name: str, integer: ir.Type = I8) -> Any:
    """float32 as codes: to nearest, ties to even, for a scalar or a piece."""
    builder, format_ = low.builder, FORMATS[name]
    bits = builder.bitcast(value, shaped_like(I32, value.type))
    magnitude = builder.and_(bits, number(bits.type, 0x7FFFFFFF))
    is_nan = builder.icmp_unsigned(">", magnitude, number(bits.type, INFINITE))
    code = _rounded(low, magnitude, format_)
    fits = builder.icmp_unsigned("<=", code, number(code.type, format_.largest))
    code = builder.select(fits, code, number(code.type, format_.beyond))
    code = builder.select(is_nan, _nan(low, magnitude, format_), code)
    code = builder.or_(code, _sign(low, bits, code, is_nan, format_))
    return builder.trunc(code, shaped_like(integer, code.type))


def _rounded(low: Lowering, magnitude: Any, format_: FloatFormat) -> Any:
    """The code of a magnitude in a format with unbounded exponents.

    With e the exponent and s the 24-bit significand of float32, E the exponent of the
    format's smallest normal number and f its fraction bits, the significand loses ``23
    - f + max(E - e, 0)`` bits; a carry runs into the exponent.
    """
    builder, ty = low.builder, magnitude.type
    first = number(ty, format_.low + BIAS)
    exponent = builder.lshr(magnitude, number(ty, FRACTION_BITS))
    fraction = builder.and_(magnitude, number(ty, FRACTION))
    is_denormal = builder.icmp_unsigned("==", exponent, number(ty, 0))
    normal = builder.or_(fraction, number(ty, HIDDEN))
    doubled = builder.shl(fraction, number(ty, 1))
    significand = builder.select(is_denormal, doubled, normal)
    lost = FRACTION_BITS - format_.fraction
    below = _positive(low, builder.sub(first, exponent))
    more = _at_most(low, below, FRACTION_BITS + 2 - lost)
    shift = builder.add(more, number(ty, lost))
    kept = _shifted_to_even(low, significand, shift)
    steps = _positive(low, builder.sub(exponent, first))
    code = builder.add(kept, builder.shl(steps, number(ty, format_.fraction)))
    if format_.special == "e8m0":
        return _positive(low, builder.sub(code, number(ty, 1)))
    return code


def _shifted_to_even(low: Lowering, value: Any, shift: Any) -> Any:
    """``value >> shift`` to nearest, ties to even; the shift is one or more."""
    builder, one = low.builder, number(value.type, 1)
    odd = builder.and_(builder.lshr(value, shift), one)
    half = builder.shl(one, builder.sub(shift, one))
    bias = builder.add(builder.sub(half, one), odd)
    return builder.lshr(builder.add(value, bias), shift)


def _positive(low: Lowering, value: Any) -> Any:
    zero = number(value.type, 0)
    return low.builder.select(low.builder.icmp_signed(">", value, zero), value, zero)


def _at_most(low: Lowering, value: Any, limit: int) -> Any:
    top = number(value.type, limit)
    return low.builder.select(low.builder.icmp_signed("<", value, top), value, top)


def _nan(low: Lowering, magnitude: Any, format_: FloatFormat) -> Any:
    """The code of a NaN: IEEE formats keep its fraction, the others have one code."""
    builder, ty = low.builder, magnitude.type
    if format_.infinity is None or format_.nan is None:
        only = format_.largest if format_.nan is None else format_.nan
        return number(ty, only)
    fraction = builder.and_(magnitude, number(ty, FRACTION))
    kept = builder.lshr(fraction, number(ty, FRACTION_BITS - format_.fraction))
    is_lost = builder.icmp_unsigned("==", kept, number(ty, 0))
    quiet = format_.nan - format_.infinity
    kept = builder.select(is_lost, number(ty, quiet), kept)
    return builder.or_(kept, number(ty, format_.infinity))


def _sign(
    low: Lowering, bits: Any, code: Any, is_nan: Any, format_: FloatFormat
) -> Any:
    """The sign bit of a code; zero for codes without a sign."""
    builder, zero = low.builder, number(bits.type, 0)
    if not format_.is_signed:
        return zero
    shift = 32 - format_.width
    sign = builder.and_(
        builder.lshr(bits, number(bits.type, shift)),
        number(bits.type, 1 << (format_.width - 1)),
    )
    if format_.special == "fnuz":
        is_number = builder.icmp_unsigned(
            "<=", code, number(code.type, format_.largest)
        )
        is_zero = builder.icmp_unsigned("==", code, zero)
        return builder.select(
            builder.and_(is_number, builder.not_(is_zero)), sign, zero
        )
    if format_.nan is None:
        return builder.select(is_nan, zero, sign)
    return sign


I16 = ir.IntType(16)
F32, F64 = ir.FloatType(), ir.DoubleType()


def bits_type(name: str) -> ir.Type:
    """The integer that holds a narrow float."""
    return ir.IntType(8) if name in SMALL else I16


def _in_steps(low: Lowering, name: str) -> bool:
    """Whether conversions need integer code."""
    is_half = name == "f16" and not low.face.is_gpu
    return name in SMALL or (is_half and not converts_halves())


def widen(low: Lowering, bits: Any, name: str) -> Any:
    """Bits of memory as float32, for a scalar or a piece."""
    builder = low.builder
    if _in_steps(low, name):
        return decode(low, bits, name)
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
        return encode(low, value, name, bits_type(name))
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


def round_to(face: Backend, name: str) -> Any:
    """``round_to(x)``: float32 rounded to a narrow type, for scalars and tiles."""
    return _piecewise(
        face, f"round_{name}", 1, types.float32, lambda low, x: rounded(low, x, name)
    )


def bits_of(face: Backend, name: str) -> Any:
    """``bits_of(x)``: the code of a narrow float as an integer of its width."""
    return _piecewise(
        face,
        f"bits_of_{name}",
        1,
        _integer(name),
        lambda low, x: narrow(low, x, name),
    )


def from_bits(face: Backend, name: str) -> Any:
    """``from_bits(i)``: the narrow float of a code."""
    return _piecewise(
        face,
        f"from_bits_{name}",
        1,
        types.float32,
        lambda low, bits: widen(low, bits, name),
        _integer(name),
    )


def fused(face: Backend, name: str) -> Any:
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
    face: Backend,
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
    """A number of any type as a float32 that rounds like the number itself.

    float64 is rounded to odd; integers are converted through it, 64-bit ones with their
    lost bits gathered in the last one.
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
    """``near + error`` rounded to odd, where ``near`` is the nearest number.

    Where the error is not zero, the two neighbours of the exact sum differ in their
    last bit: the odd one is ``near``, or the neighbour on the side of the error.
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
