"""Code of elementwise operations: integer and float arithmetic, comparisons, extrema.

`largest` and `smallest` build ``arith.maximumf`` and ``minimumf`` on CPUs: NaN of any
NaN, -0 below +0.  ARM has such an instruction.  That of x86 is ``a > b ? a : b``: of a
NaN and a number, and of two zeros, it is the second operand. LLVM orders the operands
by their signs and looks for NaN, in six operations with AVX-512.  For vectors it takes
three here: both operand orders agree except for NaN and zeros, so the OR of their bits
gives NaN, and -0 for the minimum; the AND of the signs gives +0 for the maximum.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from gpucodegen.intrinsics.framework.features import cpu_features
from gpucodegen.intrinsics.framework.lowering import I1, Lowering, number, suffix

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
"""Truth table of ``vpternlog``: bits of the first or second operand."""
SIGNS_OF_BOTH = ir.Constant(ir.IntType(32), 0b11010100)
"""Likewise; where the third operand has a bit, the AND of the first two."""


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
    """Vectors shorter than a register are repeated until they fill one."""
    count = a.type.count
    times = SMALLEST // (count * WIDTHS[a.type.element])
    if times <= 1:
        return _both_ways(low, name, table, a, b)
    wide = (low.shuffle(v, v, [*range(count)] * times) for v in (a, b))
    both = _both_ways(low, name, table, *wide)
    return low.shuffle(both, both, range(count))


def _both_ways(low: Lowering, name: str, table: Any, a: Any, b: Any) -> Any:
    """Both operand orders, combined bitwise by ``table``."""
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


Build = Callable[..., Any]


def _plain(method: str) -> Build:
    def build(low: Lowering, *args: Any) -> Any:
        return getattr(low.builder, method)(*args)

    return build


def _llvm(name: str) -> Build:
    def build(low: Lowering, *args: Any) -> Any:
        return low.overloaded(name, args)

    return build


def _is_zero(low: Lowering, value: Any) -> Any:
    return low.builder.icmp_signed("==", value, number(value.type, 0))


def _safe_divisor(low: Lowering, a: Any, b: Any, *, signed: bool) -> tuple[Any, Any]:
    """(divisor that never traps, whether the true divisor is zero)."""
    number_of = b.constant if isinstance(b, ir.Constant) else None
    if isinstance(number_of, int) and number_of not in (0, -1):
        return b, None
    builder, zero = low.builder, _is_zero(low, b)
    unsafe = zero
    if signed:
        width = getattr(b.type, "element", b.type).width
        smallest = number(b.type, -(1 << (width - 1)))
        is_smallest = builder.icmp_signed("==", a, smallest)
        is_minus_one = builder.icmp_signed("==", b, number(b.type, -1))
        unsafe = builder.or_(zero, builder.and_(is_smallest, is_minus_one))
    return builder.select(unsafe, number(b.type, 1), b), zero


def _quotient(low: Lowering, a: Any, b: Any, *, signed: bool) -> Any:
    divisor, is_zero = _safe_divisor(low, a, b, signed=signed)
    divide = low.builder.sdiv if signed else low.builder.udiv
    quotient = divide(a, divisor)
    if is_zero is None:
        return quotient
    return low.builder.select(is_zero, number(a.type, 0), quotient)


def _remainder(low: Lowering, a: Any, b: Any, *, signed: bool) -> Any:
    divisor, _ = _safe_divisor(low, a, b, signed=signed)
    return (low.builder.srem if signed else low.builder.urem)(a, divisor)


def _rounded_quotient(low: Lowering, a: Any, b: Any, *, up: bool) -> Any:
    """Signed division rounded down or up: the truncated quotient, corrected by one."""
    builder = low.builder
    quotient = _quotient(low, a, b, signed=True)
    rest = _remainder(low, a, b, signed=True)
    differ = builder.icmp_signed("<", builder.xor(a, b), number(a.type, 0))
    inexact = builder.not_(_is_zero(low, rest))
    wanted = builder.not_(differ) if up else differ
    step = builder.zext(builder.and_(inexact, wanted), a.type)
    return (builder.add if up else builder.sub)(quotient, step)


def _ceildivui(low: Lowering, a: Any, b: Any) -> Any:
    quotient = _quotient(low, a, b, signed=False)
    inexact = low.builder.not_(_is_zero(low, _remainder(low, a, b, signed=False)))
    return low.builder.add(quotient, low.builder.zext(inexact, a.type))


def _shift(method: str, *, arithmetic: bool = False) -> Build:
    def build(low: Lowering, a: Any, b: Any) -> Any:
        builder = low.builder
        width = getattr(a.type, "element", a.type).width
        fits = builder.icmp_unsigned("<", b, number(b.type, width))
        if arithmetic:
            return builder.ashr(a, builder.select(fits, b, number(b.type, width - 1)))
        if width == 64 and not low.face.register_bytes:
            # In two steps: of a select LLVM makes PTX's shift, which clamps the count,
            # but reads the lower 32 bits of it only.
            count = builder.select(fits, b, number(b.type, width))
            half = builder.lshr(count, number(b.type, 1))
            once = getattr(builder, method)(a, half)
            return getattr(builder, method)(once, builder.sub(count, half))
        shifted = getattr(builder, method)(
            a, builder.select(fits, b, number(b.type, 0))
        )
        return builder.select(fits, shifted, number(a.type, 0))

    return build


def _pick(method: str, predicate: str) -> Build:
    def build(low: Lowering, a: Any, b: Any) -> Any:
        return low.builder.select(getattr(low.builder, method)(predicate, a, b), a, b)

    return build


def _absi(low: Lowering, a: Any) -> Any:
    negative = low.builder.icmp_signed("<", a, number(a.type, 0))
    return low.builder.select(negative, low.builder.sub(number(a.type, 0), a), a)


def _copysign(low: Lowering, a: Any, b: Any) -> Any:
    return low.overloaded("copysign", (a, b))


def _count_zeros(name: str) -> Build:
    def build(low: Lowering, a: Any) -> Any:
        flag = ir.Constant(I1, 0)
        return low.call(f"llvm.{name}.{suffix(a.type)}", a.type, (a, flag))

    return build


def _floor_rest(low: Lowering, a: Any, b: Any) -> Any:
    """``a mod b`` with the sign of the divisor."""
    builder = low.builder
    rest = _remainder(low, a, b, signed=True)
    differ = builder.icmp_signed("<", builder.xor(rest, b), number(a.type, 0))
    wrong = builder.and_(differ, builder.not_(_is_zero(low, rest)))
    return builder.select(wrong, builder.add(rest, b), rest)


def _high_half(extend: str) -> Build:
    """The upper half of the double-width product."""

    def build(low: Lowering, a: Any, b: Any) -> Any:
        builder, ty = low.builder, a.type
        width = getattr(ty, "element", ty).width
        wide: ir.Type = ir.IntType(2 * width)
        if isinstance(ty, ir.VectorType):
            wide = ir.VectorType(wide, ty.count)
        left, right = (getattr(builder, extend)(x, wide) for x in (a, b))
        high = builder.lshr(builder.mul(left, right), number(wide, width))
        return builder.trunc(high, ty)

    return build


def _divide(*, signed: bool) -> Build:
    return lambda low, a, b: _quotient(low, a, b, signed=signed)


def _rest(*, signed: bool) -> Build:
    return lambda low, a, b: _remainder(low, a, b, signed=signed)


def _rounded(*, up: bool) -> Build:
    return lambda low, a, b: _rounded_quotient(low, a, b, up=up)


def _remf(low: Lowering, a: Any, b: Any) -> Any:
    """C's ``fmod``; LLVM lowers ``frem`` to it where there is a library."""
    if low.face.register_bytes:
        return low.builder.frem(a, b)
    return low.face.function(low, "fmod", None, (a, b))


def _number_first(extreme: Build) -> Build:
    """An extremum that ignores a NaN beside a number."""

    def build(low: Lowering, a: Any, b: Any) -> Any:
        builder = low.builder
        first, second = (builder.fcmp_unordered("uno", x, x) for x in (a, b))
        both = builder.select(second, a, extreme(low, a, b))
        return builder.select(first, b, both)

    return build


ELEMENTWISE: dict[str, tuple[int, Build]] = {
    "addi": (2, _plain("add")),
    "subi": (2, _plain("sub")),
    "muli": (2, _plain("mul")),
    "divsi": (2, _divide(signed=True)),
    "divui": (2, _divide(signed=False)),
    "remsi": (2, _rest(signed=True)),
    "remui": (2, _rest(signed=False)),
    "floordivsi": (2, _rounded(up=False)),
    "ceildivsi": (2, _rounded(up=True)),
    "ceildivui": (2, _ceildivui),
    "mulsi_high": (2, _high_half("sext")),
    "mului_high": (2, _high_half("zext")),
    "andi": (2, _plain("and_")),
    "ori": (2, _plain("or_")),
    "xori": (2, _plain("xor")),
    "shli": (2, _shift("shl")),
    "shrui": (2, _shift("lshr")),
    "shrsi": (2, _shift("ashr", arithmetic=True)),
    "minsi": (2, _pick("icmp_signed", "<")),
    "maxsi": (2, _pick("icmp_signed", ">")),
    "minui": (2, _pick("icmp_unsigned", "<")),
    "maxui": (2, _pick("icmp_unsigned", ">")),
    "absi": (1, _absi),
    "ctpop": (1, _llvm("ctpop")),
    "ctlz": (1, _count_zeros("ctlz")),
    "cttz": (1, _count_zeros("cttz")),
    "addf": (2, _plain("fadd")),
    "subf": (2, _plain("fsub")),
    "mulf": (2, _plain("fmul")),
    "divf": (2, _plain("fdiv")),
    "negf": (1, _plain("fneg")),
    "remf": (2, _remf),
    "absf": (1, _llvm("fabs")),
    "fma": (3, _llvm("fma")),
    "maximumf": (2, largest),
    "minimumf": (2, smallest),
    "maximumnumf": (2, _number_first(largest)),
    "minimumnumf": (2, _number_first(smallest)),
    "maxnumf": (2, _llvm("maxnum")),
    "minnumf": (2, _llvm("minnum")),
    "copysign": (2, _copysign),
    "sqrt": (1, _llvm("sqrt")),
    "floor": (1, _llvm("floor")),
    "ceil": (1, _llvm("ceil")),
    "trunc": (1, _llvm("trunc")),
    "roundeven": (1, _llvm("rint")),
    "round": (1, _llvm("round")),
}
"""Per intrinsic: the number of operands, and the code for one piece."""
INDEX_DIVISION: dict[str, Build] = {
    "floordiv": _rounded(up=False),
    "floormod": _floor_rest,
}
"""Division of index arithmetic; the operands may be integers of any width."""
