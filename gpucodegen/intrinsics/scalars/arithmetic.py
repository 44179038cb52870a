"""Elementwise arithmetic with MLIR's meaning, on scalars and tiles.

Integers wrap around; a division by zero gives zero instead of a trap, because a kernel
has nowhere to report it; a shift by the width or more shifts everything out.
"""

from __future__ import annotations

from typing import Any

from numba.core import types

from gpucodegen.intrinsics.framework.lowering import Face, Lowering, signature
from gpucodegen.intrinsics.framework.vector_type import Tile
from gpucodegen.intrinsics.scalars.elementwise import ELEMENTWISE, INDEX_DIVISION, Build
from gpucodegen.intrinsics.tiles.regrouping import regroup, regroup_pieces

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


def elementwise(face: Face, name: str) -> Any:
    """The intrinsic of one row of the table."""
    arity, build = ELEMENTWISE[name]

    def typing_rule(*arguments: Any) -> Any:
        ty = common_type(*arguments)
        return None if ty is None else signature(ty, *[ty] * arity)

    def lower(low: Lowering, *args: Any) -> Any:
        return piecewise(low, low.signature.return_type, build, *args)

    return face.define(name, arity, typing_rule, lower)


def index_division(face: Face, name: str) -> Any:
    """``floordiv`` and ``floormod`` in the index type of the face."""
    index = types.int32 if face.index_bits == 32 else types.int64
    build = INDEX_DIVISION[name]
    return face.define(name, 2, lambda *_: signature(index, index, index), build)


def comparison(face: Face, name: str, predicate: str, *, floats: bool) -> Any:
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


def select(face: Face) -> Any:
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

    return face.define("select", 3, typing_rule, lower)
