"""Conversions between element types, on scalars and tiles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpucodegen.intrinsics.framework.lowering import (
    I32,
    Face,
    Lowering,
    carrier,
    number,
    shaped_like,
    signature,
    suffix,
)
from gpucodegen.intrinsics.framework.vector_type import Tile, llvm_scalar
from gpucodegen.intrinsics.scalars.narrow import rounded, single
from gpucodegen.intrinsics.tiles.regrouping import regroup
from gpucodegen.ir.number_formats import NARROW

if TYPE_CHECKING:
    from llvmlite import ir

SIGNED = frozenset({"extsi", "index_cast", "sitofp", "fptosi"})


def cast(face: Face, op: str, name: str) -> Any:
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
    """One scalar or piece; integers out of range saturate, NaN becomes zero."""
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
    """Saturate: LLVM's plain conversion is undefined out of range.

    Of vectors by clamping: LLVM takes the saturating one apart, lane by lane.
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
