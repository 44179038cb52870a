"""Conversions between element types, on scalars and tiles."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types

from gpucodegen.intrinsics.arithmetic import regroup
from gpucodegen.intrinsics.lowering import (
    Engine,
    Lowering,
    carrier,
    number,
    signature,
)
from gpucodegen.intrinsics.memory import round_to
from gpucodegen.intrinsics.vector_type import Tile, llvm_scalar

SIGNED = frozenset({"extsi", "index_cast", "sitofp", "fptosi"})
CASTS = frozenset(
    "extsi extui trunci sitofp uitofp fptosi fptoui extf truncf bitcast index_cast"
    " index_castui".split()
)


def cast(engine: Engine, op: str, name: str) -> Any:
    """``cast(x)``: the arith operation ``op`` to an element type."""
    if op == "truncf" and name in {"f16", "bf16"}:
        return round_to(engine, name)
    dtype = carrier(name)

    def typing_rule(x: Any) -> Any:
        result = x.like(dtype) if isinstance(x, Tile) else dtype
        return signature(result, x)

    def lower(low: Lowering, x: Any) -> Any:
        source, result = low.signature.args[0], low.signature.return_type
        if not isinstance(source, Tile):
            return convert(low, op, x, llvm_scalar(dtype))
        scalar = llvm_scalar(dtype)
        pieces = [
            convert(low, op, piece, _like(scalar, piece.type))
            for piece in low.pieces(x)
        ]
        return regroup(low, source, result, pieces)

    return engine.define(f"{op}_{name}", 1, typing_rule, lower)


def _like(scalar: ir.Type, shape: ir.Type) -> ir.Type:
    is_vector = isinstance(shape, ir.VectorType)
    return ir.VectorType(scalar, shape.count) if is_vector else scalar


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
    """Saturate by clamping: LLVM's plain conversion is undefined out of range."""
    builder = low.builder
    width = getattr(target, "element", target).width
    least = -(2.0 ** (width - 1)) if signed else 0.0
    above = 2.0 ** (width - 1 if signed else width)
    is_low = builder.fcmp_ordered("<=", x, number(x.type, least))
    is_high = builder.fcmp_ordered(">=", x, number(x.type, above))
    is_nan = builder.fcmp_unordered("uno", x, x)
    outside = builder.or_(builder.or_(is_low, is_high), is_nan)
    safe = builder.select(outside, number(x.type, 0.0), x)
    value = (builder.fptosi if signed else builder.fptoui)(safe, target)
    top = (1 << (width - 1)) - 1 if signed else -1
    bottom = -(1 << (width - 1)) if signed else 0
    value = builder.select(is_high, number(target, top), value)
    return builder.select(is_low, number(target, bottom), value)


def vectors_of(ty: Any) -> Any:
    """The element type of a tile, or the type itself."""
    return ty.dtype if isinstance(ty, Tile) else types.unliteral(ty)
