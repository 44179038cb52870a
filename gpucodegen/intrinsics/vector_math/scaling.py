"""Products with powers of 2: one instruction where the processor has it."""

from __future__ import annotations

from llvmlite import ir

from gpucodegen.intrinsics.framework.features import cpu_features
from gpucodegen.intrinsics.framework.lowering import I32
from gpucodegen.intrinsics.vector_math.lanes import F32, F64, FORMATS, Lanes

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
