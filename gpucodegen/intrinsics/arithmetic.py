"""Elementwise arithmetic with MLIR's meaning, on scalars and tiles.

Integers wrap around; a division by zero gives zero instead of a trap, because a kernel
has nowhere to report it; a shift by the width or more shifts everything out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import types

from gpucodegen.intrinsics.lowering import (
    I1,
    Engine,
    Lowering,
    number,
    signature,
    suffix,
)
from gpucodegen.intrinsics.vector_type import Tile

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
    return low.builder.select(is_zero, number(a.type, 0), quotient)


def _remainder(low: Lowering, a: Any, b: Any, *, signed: bool) -> Any:
    divisor, _ = _safe_divisor(low, a, b, signed=signed)
    return (low.builder.srem if signed else low.builder.urem)(a, divisor)


def _rounded_quotient(low: Lowering, a: Any, b: Any, *, up: bool) -> Any:
    """Signed division rounded down or up: the truncated one, corrected by one."""
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
        shifted = getattr(builder, method)(
            a, builder.select(fits, b, number(b.type, 0))
        )
        return builder.select(fits, shifted, number(a.type, 0))

    return build


def _pick(method: str, predicate: str) -> Build:
    def build(low: Lowering, a: Any, b: Any) -> Any:
        return low.builder.select(getattr(low.builder, method)(predicate, a, b), a, b)

    return build


def _nan_aware(name: str) -> Build:
    """``arith.maximumf`` and ``minimumf``: a NaN operand gives NaN."""

    def build(low: Lowering, a: Any, b: Any) -> Any:
        if low.engine.name == "cpu":
            return low.overloaded(
                {"maxnum": "maximum", "minnum": "minimum"}[name], (a, b)
            )
        unordered = low.builder.fcmp_unordered("uno", a, b)
        chosen = low.overloaded(name, (a, b))
        return low.builder.select(unordered, low.builder.fadd(a, b), chosen)

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


def _negf(low: Lowering, a: Any) -> Any:
    """``-a``; NVVM's LLVM has no fneg, there ``-0.0 - a`` is the negation."""
    if low.engine.name == "cuda":
        return low.builder.fsub(number(a.type, -0.0), a)
    return low.builder.fneg(a)


def absolute(low: Lowering, a: Any) -> Any:
    """``|a|``; NVVM has no fabs, there the sign bit is cleared."""
    if low.engine.name == "cpu":
        return low.overloaded("fabs", (a,))
    width = 32 if a.type == ir.FloatType() else 64
    bits = low.builder.bitcast(a, ir.IntType(width))
    magnitude = low.builder.and_(bits, number(bits.type, (1 << (width - 1)) - 1))
    return low.builder.bitcast(magnitude, a.type)


def _to_whole(name: str) -> Build:
    """Rounding to an integer; on a GPU by libdevice, since NVVM has none."""

    def build(low: Lowering, a: Any) -> Any:
        if low.engine.name == "cpu":
            return low.overloaded(name, (a,))
        suffix_ = "f" if a.type == ir.FloatType() else ""
        return low.call(f"__nv_{name}{suffix_}", a.type, (a,))

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
    "negf": (1, _negf),
    "remf": (2, _plain("frem")),
    "absf": (1, absolute),
    "fma": (3, _llvm("fma")),
    "maximumf": (2, _nan_aware("maxnum")),
    "minimumf": (2, _nan_aware("minnum")),
    "maxnumf": (2, _llvm("maxnum")),
    "minnumf": (2, _llvm("minnum")),
    "copysign": (2, _copysign),
    "sqrt": (1, _llvm("sqrt")),
    "floor": (1, _llvm("floor")),
    "ceil": (1, _llvm("ceil")),
    "trunc": (1, _llvm("trunc")),
    "roundeven": (1, _to_whole("rint")),
    "round": (1, _to_whole("round")),
}
"""Name of an intrinsic: number of operands, code for one piece."""

COMPARISONS: dict[str, tuple[str, str]] = {
    "eq": ("icmp_signed", "=="),
    "ne": ("icmp_signed", "!="),
    "slt": ("icmp_signed", "<"),
    "sle": ("icmp_signed", "<="),
    "sgt": ("icmp_signed", ">"),
    "sge": ("icmp_signed", ">="),
    "ult": ("icmp_unsigned", "<"),
    "ule": ("icmp_unsigned", "<="),
    "ugt": ("icmp_unsigned", ">"),
    "uge": ("icmp_unsigned", ">="),
    "oeq": ("fcmp_ordered", "=="),
    "one": ("fcmp_ordered", "!="),
    "olt": ("fcmp_ordered", "<"),
    "ole": ("fcmp_ordered", "<="),
    "ogt": ("fcmp_ordered", ">"),
    "oge": ("fcmp_ordered", ">="),
    "ord": ("fcmp_ordered", "ord"),
    "ueq": ("fcmp_unordered", "=="),
    "une": ("fcmp_unordered", "!="),
    "uno": ("fcmp_unordered", "uno"),
}
FLOAT_UNORDERED = {"ult": "<", "ule": "<=", "ugt": ">", "uge": ">="}


def common_type(*arguments: Any) -> Any:
    """The type of operands that must agree; literals adapt.  None if none fits."""
    firm = {a for a in arguments if not isinstance(a, types.Literal)}
    if not firm:
        return types.unliteral(arguments[0])
    return firm.pop() if len(firm) == 1 else None


def piecewise(low: Lowering, tile: Any, build: Build, *args: Any) -> Any:
    """Apply ``build`` to scalars, or to the pieces of tiles of one layout."""
    if not isinstance(tile, Tile):
        return build(low, *args)
    columns = zip(*(low.pieces(arg) for arg in args), strict=True)
    return low.pack(tile, [build(low, *pieces) for pieces in columns])


def elementwise(engine: Engine, name: str) -> Any:
    """The intrinsic of one row of the table."""
    arity, build = ELEMENTWISE[name]

    def typing_rule(*arguments: Any) -> Any:
        ty = common_type(*arguments)
        return None if ty is None else signature(ty, *[ty] * arity)

    def lower(low: Lowering, *args: Any) -> Any:
        return piecewise(low, low.signature.return_type, build, *args)

    return engine.define(name, arity, typing_rule, lower)


INDEX_DIVISION: dict[str, Build] = {
    "floordiv": _rounded(up=False),
    "floormod": _floor_rest,
}
"""Division of index arithmetic; the operands may be integers of any width."""


def index_division(engine: Engine, name: str) -> Any:
    """``floordiv`` and ``floormod`` in the engine's index type."""
    index = types.int32 if engine.name == "cuda" else types.int64
    build = INDEX_DIVISION[name]
    return engine.define(name, 2, lambda *_: signature(index, index, index), build)


def comparison(engine: Engine, name: str, predicate: str, *, floats: bool) -> Any:
    """``arith.cmpi`` or ``arith.cmpf`` with one predicate."""
    method, symbol = COMPARISONS[predicate]
    if floats and predicate in FLOAT_UNORDERED:
        method = "fcmp_unordered"

    def compare(low: Lowering, a: Any, b: Any) -> Any:
        return getattr(low.builder, method)(symbol, a, b)

    def typing_rule(a: Any, b: Any) -> Any:
        ty = common_type(a, b)
        if ty is None:
            return None
        result = ty.like(types.boolean) if isinstance(ty, Tile) else types.boolean
        return signature(result, ty, ty)

    def lower(low: Lowering, a: Any, b: Any) -> Any:
        operand, result = low.signature.args[0], low.signature.return_type
        if not isinstance(operand, Tile):
            return compare(low, a, b)
        columns = zip(low.pieces(a), low.pieces(b), strict=True)
        masks = [compare(low, x, y) for x, y in columns]
        return regroup(low, operand, result, masks)

    return engine.define(name, 2, typing_rule, lower)


def select(engine: Engine) -> Any:
    """``arith.select``: the condition is one bit, or one per element."""

    def typing_rule(condition: Any, a: Any, b: Any) -> Any:
        ty = common_type(a, b)
        if not isinstance(condition, Tile):
            condition = types.boolean
        return None if ty is None else signature(ty, condition, ty, ty)

    def lower(low: Lowering, condition: Any, a: Any, b: Any) -> Any:
        mask, ty = low.signature.args[0], low.signature.return_type
        choose = low.builder.select
        if not isinstance(ty, Tile):
            return choose(condition, a, b)
        left, right = low.pieces(a), low.pieces(b)
        if isinstance(mask, Tile):
            conditions = regroup_pieces(low, mask, ty, low.pieces(condition))
        else:
            conditions = [condition] * len(left)
        rows = zip(conditions, left, right, strict=True)
        return low.pack(ty, [choose(*row) for row in rows])

    return engine.define("select", 3, typing_rule, lower)


def regroup(low: Lowering, source: Tile, target: Tile, pieces: list[Any]) -> Any:
    """A tile of ``target`` from pieces grouped as those of ``source``."""
    return low.pack(target, regroup_pieces(low, source, target, pieces))


def regroup_pieces(
    low: Lowering, source: Tile, target: Tile, pieces: list[Any]
) -> list[Any]:
    """Pieces with the lanes of ``source`` cut anew with the lanes of ``target``."""
    old, new = low.lanes(source), low.lanes(target)
    if old == new:
        return pieces
    per_row = low.per_row(source)
    result: list[Any] = []
    for row in range(source.rows):
        line = pieces[row * per_row : (row + 1) * per_row]
        result += _cut(low, line, old, new, low.per_row(target))
    return result


def _cut(low: Lowering, line: list[Any], old: int, new: int, count: int) -> list[Any]:
    if new < old:
        parts = old // new
        return [
            low.shuffle(line[i // parts], line[i // parts], _range(new, i % parts))
            for i in range(count)
        ]
    parts = new // old
    groups = [line[i * parts : (i + 1) * parts] for i in range(count)]
    return [_join(low, group, parts) for group in groups]


def _range(width: int, number_: int) -> range:
    return range(number_ * width, (number_ + 1) * width)


def _join(low: Lowering, group: list[Any], parts: int) -> Any:
    group = group + [group[-1]] * (parts - len(group))
    while len(group) > 1:
        width = group[0].type.count
        pairs = zip(group[::2], group[1::2], strict=True)
        group = [low.shuffle(a, b, range(2 * width)) for a, b in pairs]
    return group[0]
