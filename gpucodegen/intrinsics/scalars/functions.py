"""Functions of the math dialect: the C library's or formulas, element by element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.core import types

from gpucodegen.intrinsics.framework.features import has_fused_operations
from gpucodegen.intrinsics.framework.lowering import (
    I32,
    Face,
    Lowering,
    number,
    signature,
)
from gpucodegen.intrinsics.framework.vector_type import Tile
from gpucodegen.intrinsics.scalars.arithmetic import common_type

UNARY = (
    "exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh"
    " asinh acosh atanh erf erfc cbrt rsqrt"
).split()
BINARY = ("atan2", "powf")
IN_C = {"powf": "pow"}
"""Names of the dialect that C spells otherwise."""

Formula = Callable[..., Any]
"""``formula(low, name, *pieces)``: a function on the pieces of tiles."""


def library(face: Face, name: str, formula: Formula | None = None) -> Any:
    """The intrinsic of one library function."""
    arity = 1 if name in UNARY else 2

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

    Formulas stand on fused operations; ``exact`` kernels may have none.
    """
    is_real = isinstance(tile.dtype, types.Float) and low.lanes(tile) > 1
    return is_real and has_fused_operations() and bool(low.context.fastmath)


def power(face: Face, name: str) -> Any:
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
    """(base to the size of the exponent, whether the exponent is negative)."""
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
