"""The larger and the smaller of two floats on CPUs: NaN of any NaN, -0 below +0.

Comes in: two values of one type.  Goes out: the code of ``arith.maximumf`` or
``minimumf``.  ARM has an instruction of this meaning.  That of x86 is
``a > b ? a : b``: of a NaN and a number, and of two zeros, it is the second operand.
LLVM orders the operands by their signs and looks for NaN, in six operations with
AVX-512.  For vectors it takes three here: both orders of the operands differ in nothing
else, so all bits that either has make the NaN, and -0 of the minimum; +0 of the maximum
has those signs that both have.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from gpucodegen.intrinsics.framework.features import cpu_features
from gpucodegen.intrinsics.framework.lowering import Lowering, number

WIDTHS = {ir.FloatType(): 32, ir.DoubleType(): 64}
"""Bits of floats."""
SMALLEST = 128
"""Bits of the smallest register."""
INSTRUCTIONS = {
    (128, 32): "sse.{}.ps",
    (128, 64): "sse2.{}.pd",
    (256, 32): "avx.{}.ps.256",
    (256, 64): "avx.{}.pd.256",
    (512, 32): "avx512.{}.ps.512",
    (512, 64): "avx512.{}.pd.512",
}
"""Bits of a register and of its floats: the maximum or minimum of x86."""
CURRENT_ROUNDING = ir.Constant(ir.IntType(32), 4)
"""The last operand of instructions on 512 bits."""
BITS_OF_EITHER = ir.Constant(ir.IntType(32), 0b11111100)
"""What ``vpternlog`` makes of eight cases: bits of the first or second operand."""
SIGNS_OF_BOTH = ir.Constant(ir.IntType(32), 0b11010100)
"""Likewise, and where the third one has a bit, those that both have."""


def largest(low: Lowering, a: Any, b: Any) -> Any:
    """``arith.maximumf``."""
    if _has_registers(a):
        return _in_registers(low, "max", SIGNS_OF_BOTH, a, b)
    return low.overloaded("maximum", (a, b))


def smallest(low: Lowering, a: Any, b: Any) -> Any:
    """``arith.minimumf``."""
    if _has_registers(a):
        return _in_registers(low, "min", BITS_OF_EITHER, a, b)
    return low.overloaded("minimum", (a, b))


def _has_registers(value: Any) -> bool:
    is_vector = isinstance(value.type, ir.VectorType) and value.type.element in WIDTHS
    return is_vector and "avx512vl" in cpu_features()


def _in_registers(low: Lowering, name: str, table: Any, a: Any, b: Any) -> Any:
    """Vectors of less than a register are repeated until they fill one."""
    count = a.type.count
    times = SMALLEST // (count * WIDTHS[a.type.element])
    if times <= 1:
        return _both_ways(low, name, table, a, b)
    wide = (low.shuffle(v, v, [*range(count)] * times) for v in (a, b))
    both = _both_ways(low, name, table, *wide)
    return low.shuffle(both, both, range(count))


def _both_ways(low: Lowering, name: str, table: Any, a: Any, b: Any) -> Any:
    """Both orders of the operands, and of their bits those that ``table`` says."""
    width = WIDTHS[a.type.element]
    size = a.type.count * width
    words = ir.VectorType(ir.IntType(width), a.type.count)
    extra = (CURRENT_ROUNDING,) if size == 512 else ()
    instruction = f"llvm.x86.{INSTRUCTIONS[size, width].format(name)}"
    ways = (low.call(instruction, a.type, (*p, *extra)) for p in ((a, b), (b, a)))
    bits = (low.builder.bitcast(way, words) for way in ways)
    signs = number(words, 1 << (width - 1))
    joined = low.call(
        f"llvm.x86.avx512.pternlog.{'d' if width == 32 else 'q'}.{size}",
        words,
        (*bits, signs, table),
    )
    return low.builder.bitcast(joined, a.type)
