"""Floats that no instruction converts: a table or integers decode, integers encode.

Those are all of up to eight bits, and f16 on processors that are old enough.  All is
generated from the one description of the formats, `FloatFormat`.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from gpucodegen.intrinsics.framework.lowering import (
    I8,
    I32,
    I64,
    Lowering,
    number,
    shaped_like,
)
from gpucodegen.intrinsics.scalars.single_bits import (
    FRACTION_BITS,
    INFINITE,
    single_bits,
)
from gpucodegen.ir.number_formats import FORMATS, FloatFormat

F32 = ir.FloatType()
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
    result = ir.Constant(shaped_like(F32, bits.type), ir.Undefined)
    for i in range(bits.type.count):
        value = _looked_up(low, low.lane(bits, i), name)
        result = low.builder.insert_element(result, value, ir.Constant(I32, i))
    return result


def _computed(low: Lowering, bits: Any, format_: FloatFormat) -> Any:
    """Codes of a format of IEEE as float32.

    A code is the upper part of that float32 if exponents began at the same power of 2;
    denormal ones are multiples of the smallest.  None is denormal afterwards, so that
    it does not matter whether the processor flushes those.
    """
    builder = low.builder
    code = builder.zext(bits, shaped_like(I32, bits.type))
    ty, sign_bit = code.type, 1 << (format_.width - 1)
    magnitude = builder.and_(code, number(ty, sign_bit - 1))
    widened = builder.shl(magnitude, number(ty, FRACTION_BITS - format_.fraction))
    raised = number(ty, (BIAS - format_.offset) << FRACTION_BITS)
    unit = 2.0 ** (format_.low - format_.fraction)
    counted = builder.sitofp(magnitude, shaped_like(F32, ty))
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
    return builder.bitcast(builder.or_(chosen, sign), shaped_like(F32, ty))


def _looked_up(low: Lowering, code: Any, name: str) -> Any:
    builder = low.builder
    mask = ir.Constant(I8, (1 << FORMATS[name].width) - 1)
    position = builder.zext(builder.and_(code, mask), I64)
    place = builder.gep(_table(low, name), [ir.Constant(I64, 0), position])
    return builder.bitcast(builder.load(place), F32)


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
    """The code of a magnitude if exponents had no end.

    With e the exponent and s the 24-bit significand of float32, E the exponent of the
    format's smallest normal number and f its fraction bits, the significand loses
    ``23 - f + max(E - e, 0)`` bits; a carry runs into the exponent.
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
    """The code of a NaN: IEEE's keep their fraction, the others have one code."""
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
    """The sign bit of a code; codes that stand for one thing have none."""
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
