"""Elementwise arithmetic, math functions and conversions, on scalars and tiles.

Integers wrap around; a division by zero gives zero instead of a trap, because a kernel
has nowhere to report it; a shift by the width or more shifts everything out. Functions
of the math dialect are the C library's, or formulas on vector registers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import types

from gpucodegen.intrinsics.elementwise import ELEMENTWISE, INDEX_DIVISION, Build
from gpucodegen.intrinsics.framework.features import has_fused_operations
from gpucodegen.intrinsics.framework.lowering import (
    I32,
    Backend,
    Lowering,
    Tile,
    carrier,
    llvm_scalar,
    number,
    shaped_like,
    signature,
    suffix,
)
from gpucodegen.intrinsics.narrow_floats import rounded, single
from gpucodegen.intrinsics.shuffles import regroup, regroup_pieces
from gpucodegen.ir.number_formats import NARROW

SIGNED = frozenset({"extsi", "index_cast", "sitofp", "fptosi"})


def cast(face: Backend, op: str, name: str) -> Any:
    """``cast(x)``: the arith operation ``op`` to an element type."""
    dtype = carrier(name)

    def typing_rule(x: Any) -> Any:
        result = x.like(dtype) if isinstance(x, Tile) else dtype
        return signature(result, x)

    def one(low: Lowering, x: Any) -> Any:
        if name in NARROW:
            return rounded(low, single(low, x, signed=op in SIGNED), name)
        return convert(low, op, x, shaped_like(llvm_scalar(dtype), x.type))

    def lower(low: Lowering, x: Any) -> Any:
        source, result = low.signature.args[0], low.signature.return_type
        if not isinstance(source, Tile):
            return one(low, x)
        pieces = [one(low, piece) for piece in low.pieces(x)]
        return regroup(low, source, result, pieces)

    return face.define(f"{op}_{name}", 1, typing_rule, lower)


def convert(low: Lowering, op: str, x: Any, target: ir.Type) -> Any:
    """One scalar or piece; out-of-range integers saturate, NaN becomes zero."""
    builder = low.builder
    source = x.type
    if source == target:
        return x
    if op in {"fptosi", "fptoui"}:
        return _to_integer(low, x, target, signed=op == "fptosi")
    if op in {"sitofp", "uitofp"}:
        return (builder.sitofp if op == "sitofp" else builder.uitofp)(x, target)
    if op == "bitcast":
        return builder.bitcast(x, target)
    if op in {"extf", "truncf"}:
        is_wider = "double" in str(target)
        return (builder.fpext if is_wider else builder.fptrunc)(x, target)
    old, new = (getattr(t, "element", t).width for t in (source, target))
    if new < old:
        return builder.trunc(x, target)
    return (builder.sext if op in SIGNED else builder.zext)(x, target)


def _to_integer(low: Lowering, x: Any, target: ir.Type, *, signed: bool) -> Any:
    """Saturates: LLVM's plain conversion is undefined out of range.

    Vectors are clamped first: LLVM splits its saturating conversion lane by lane.
    """
    builder = low.builder
    width = getattr(target, "element", target).width
    if width > 1 and not hasattr(target, "element"):
        name = "fptosi" if signed else "fptoui"
        kinds = f"{suffix(target)}.{suffix(x.type)}"
        return low.call(f"llvm.{name}.sat.{kinds}", target, [x])
    least = -(2.0 ** (width - 1)) if signed else 0.0
    above = 2.0 ** (width - 1 if signed else width)
    is_low = builder.fcmp_ordered("<=", x, number(x.type, least))
    is_high = builder.fcmp_ordered(">=", x, number(x.type, above))
    is_nan = builder.fcmp_unordered("uno", x, x)
    outside = builder.or_(builder.or_(is_low, is_high), is_nan)
    safe = builder.select(outside, number(x.type, 0.0), x)
    # LLVM's code for one bit on NVIDIA's GPUs answers the opposite.
    wide = shaped_like(I32, target) if width == 1 else target
    value = (builder.fptosi if signed else builder.fptoui)(safe, wide)
    value = value if wide == target else builder.trunc(value, target)
    top = (1 << (width - 1)) - 1 if signed else -1
    bottom = -(1 << (width - 1)) if signed else 0
    value = builder.select(is_high, number(target, top), value)
    return builder.select(is_low, number(target, bottom), value)


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
    "false": ("fcmp_ordered", "false"),
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
    "true": ("fcmp_unordered", "true"),
}
FLOAT_UNORDERED = {"ult": "<", "ule": "<=", "ugt": ">", "uge": ">="}


def common_type(*arguments: Any) -> Any:
    """The common type of operands; literals adapt.  None if there is none."""
    firm = {a for a in arguments if not isinstance(a, types.Literal)}
    if not firm:
        return types.unliteral(arguments[0])
    return firm.pop() if len(firm) == 1 else None


def piecewise(low: Lowering, tile: Any, build: Build, *args: Any) -> Any:
    """Applies ``build`` to scalars, or to the pieces of tiles of one layout."""
    if not isinstance(tile, Tile):
        return build(low, *args)
    columns = zip(*(low.pieces(arg) for arg in args), strict=True)
    return low.pack(tile, [build(low, *pieces) for pieces in columns])


def elementwise(face: Backend, name: str) -> Any:
    """The intrinsic of one row of the table."""
    arity, build = ELEMENTWISE[name]

    def typing_rule(*arguments: Any) -> Any:
        ty = common_type(*arguments)
        return None if ty is None else signature(ty, *[ty] * arity)

    def lower(low: Lowering, *args: Any) -> Any:
        return piecewise(low, low.signature.return_type, build, *args)

    return face.define(name, arity, typing_rule, lower)


def index_division(face: Backend, name: str) -> Any:
    """``floordiv`` and ``floormod`` in the index type of the face."""
    index = types.int32 if face.index_bits == 32 else types.int64
    build = INDEX_DIVISION[name]

    def typing_rule(*_: Any) -> Any:
        return signature(index, index, index)

    return face.define(name, 2, typing_rule, build, is_pure=True)


def comparison(face: Backend, name: str, predicate: str, *, floats: bool) -> Any:
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

    return face.define(name, 2, typing_rule, lower)


def select(face: Backend) -> Any:
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
            chosen = choose(condition, a, b)
            if isinstance(chosen, ir.SelectInstr):
                no_fields = low.builder.module.add_metadata([])
                chosen.set_metadata("unpredictable", no_fields)
            return chosen
        left, right = low.pieces(a), low.pieces(b)
        if isinstance(mask, Tile):
            conditions = regroup_pieces(low, mask, ty, low.pieces(condition))
        else:
            conditions = [condition] * len(left)
        rows = zip(conditions, left, right, strict=True)
        return low.pack(ty, [choose(*row) for row in rows])

    return face.define("select", 3, typing_rule, lower)


UNARY = (
    "exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh"
    " asinh acosh atanh erf erfc cbrt rsqrt"
).split()
APPROXIMATE = ("exp_approximate", "exp2_approximate")
"""Functions of one argument that may have fewer digits."""
BINARY = ("atan2", "powf")
IN_C = {"powf": "pow"}
"""Functions of the math dialect with other names in C."""

Formula = Callable[..., Any]
"""``formula(low, name, *pieces)``: a function on the pieces of tiles."""


def library(face: Backend, name: str, formula: Formula | None = None) -> Any:
    """The intrinsic of one library function."""
    arity = 2 if name in BINARY else 1

    def one(low: Lowering, dtype: Any, *args: Any) -> Any:
        return face.function(low, IN_C.get(name, name), dtype, args)

    def typing_rule(*arguments: Any) -> Any:
        ty = common_type(*arguments)
        return None if ty is None else signature(ty, *[ty] * arity)

    def lower(low: Lowering, *args: Any) -> Any:
        ty = low.signature.return_type
        if not isinstance(ty, Tile):
            return one(low, ty, *args)
        if formula is not None and _takes_formulas(low, ty):
            columns = zip(*(low.pieces(arg) for arg in args), strict=True)
            return low.pack(ty, [formula(low, name, *pieces) for pieces in columns])
        rows = zip(*(low.elements(ty, arg) for arg in args), strict=True)
        return low.from_elements(ty, [one(low, ty.dtype, *row) for row in rows])

    return face.define(name, arity, typing_rule, lower)


def _takes_formulas(low: Lowering, tile: Tile) -> bool:
    """Whether code for tiles may differ from the library in the last places.

    Formulas depend on fused operations, which ``exact`` kernels may not have.
    """
    is_real = isinstance(tile.dtype, types.Float) and low.lanes(tile) > 1
    return is_real and has_fused_operations() and bool(low.context.fastmath)


def power(face: Backend, name: str) -> Any:
    """``math.ipowi`` and ``math.fpowi``: an integer exponent, by repeated squaring."""
    is_float = name == "fpowi"

    def typing_rule(base: Any, exponent: Any) -> Any:
        base = types.unliteral(base)
        if isinstance(base, Tile):
            return signature(base, base, exponent)
        return signature(base, base, types.int64)

    def lower(low: Lowering, base: Any, exponent: Any) -> Any:
        ty, counts = low.signature.return_type, low.signature.args[1]
        if not isinstance(ty, Tile):
            return _power(low, base, exponent, is_float=is_float)
        rows = zip(low.elements(ty, base), low.elements(counts, exponent), strict=True)
        return low.from_elements(
            ty, [_power(low, *row, is_float=is_float) for row in rows]
        )

    return face.define(name, 2, typing_rule, lower)


def _power(low: Lowering, base: Any, exponent: Any, *, is_float: bool) -> Any:
    builder = low.builder
    if exponent.type.width < I32.width:
        exponent = builder.sext(exponent, I32)
    multiply = builder.fmul if is_float else builder.mul
    one = number(base.type, 1)
    product, negative = repeated_product(low, base, exponent, one, multiply)
    if is_float:
        inverse = builder.fdiv(one, product)
    else:
        inverse = _integer_inverse(low, base, exponent)
    return builder.select(negative, inverse, product)


def repeated_product(
    low: Lowering, base: Any, exponent: Any, one: Any, multiply: Callable[..., Any]
) -> tuple[Any, Any]:
    """(base to the magnitude of the exponent, whether the exponent is negative)."""
    builder = low.builder
    negative = builder.icmp_signed("<", exponent, number(exponent.type, 0))
    minus = builder.neg(exponent)
    count = builder.select(negative, minus, exponent)
    entry = builder.block
    head, body, done = (builder.append_basic_block(f"power_{s}") for s in "hbd")
    builder.branch(head)
    builder.position_at_end(head)
    left, factor, product = (builder.phi(t) for t in (count.type, base.type, base.type))
    more = builder.icmp_unsigned("!=", left, number(left.type, 0))
    builder.cbranch(more, body, done)
    builder.position_at_end(body)
    odd = builder.trunc(left, low.value_type(types.boolean))
    new_product = builder.select(odd, multiply(product, factor), product)
    new_factor = multiply(factor, factor)
    halved = builder.lshr(left, number(left.type, 1))
    builder.branch(head)
    steps = (
        (left, count, halved),
        (factor, base, new_factor),
        (product, one, new_product),
    )
    for phi, first, following in steps:
        phi.add_incoming(first, entry)
        phi.add_incoming(following, body)
    builder.position_at_end(done)
    return product, negative


def _integer_inverse(low: Lowering, base: Any, exponent: Any) -> Any:
    """An integer to a negative power: 1 and -1 stay units, anything else is 0."""
    builder, ty = low.builder, base.type
    one, minus, zero = (number(ty, value) for value in (1, -1, 0))
    odd = builder.trunc(exponent, low.value_type(types.boolean))
    unit = builder.select(odd, minus, one)
    other = builder.select(builder.icmp_signed("==", base, minus), unit, zero)
    return builder.select(builder.icmp_signed("==", base, one), one, other)
