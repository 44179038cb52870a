"""Rules of indexing maps: one per operand, of its rank, within its shape."""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen import errors
from gpucodegen.ir.affine.expressions import Dim
from gpucodegen.ir.affine.maps import AffineMap
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import DialectType, MemRefType, Shape, TensorType, VectorType


def fail(o: Operation, problem: str, hint: str) -> errors.VerifyError:
    """The error for a structured operation whose parts do not fit."""
    return errors.WrongStructure(
        o.location, operation=o.name, problem=problem, hint=hint
    )


def check_maps(o: Operation, maps: Sequence[AffineMap], loops: int) -> None:
    """The maps fit the operands, and the static shapes fit the maps.

    Nothing is known of the shape of other dialects' types.
    """
    if len(maps) != len(o.operands):
        raise fail(
            o,
            f"{len(maps)} indexing maps for {len(o.operands)} operands",
            "Write one map per operand, inputs first",
        )
    if any(isinstance(v.type, DialectType) for v in o.operands):
        return
    for position, (map_, value) in enumerate(zip(maps, o.operands, strict=True)):
        _check_map(o, position, map_, value, loops)
    extents = _extents(o, maps, loops)
    if None not in extents:
        known = [extent or 0 for extent in extents]
        for position, (map_, value) in enumerate(zip(maps, o.operands, strict=True)):
            _check_shape(o, position, map_, shape_of(value), known)


def shape_of(value: Value) -> Shape:
    """Extents of a shaped operand; none of a scalar."""
    ty = value.type
    return ty.shape if isinstance(ty, MemRefType | TensorType) else ()


def _check_map(
    o: Operation, position: int, map_: AffineMap, value: Value, loops: int
) -> None:
    if map_.num_syms:
        raise fail(o, f"map {position} has symbols", "Use dimensions only")
    if map_.num_dims != loops:
        raise fail(
            o,
            f"map {position} has {map_.num_dims} dimensions for {loops} loops",
            "Give every map one dimension per iterator type",
        )
    rank = len(shape_of(value))
    if isinstance(value.type, VectorType) and not map_.results:
        return
    if len(map_.results) != rank:
        raise fail(
            o,
            f"operand {position} has rank {rank}"
            f" but its map has {len(map_.results)} results",
            "Give the map one result per dimension of the operand",
        )


def _extents(o: Operation, maps: Sequence[AffineMap], loops: int) -> list[int | None]:
    """Extent of each loop, by the first operand that it indexes alone."""
    found: dict[int, int | None] = {}
    for map_, value in zip(maps, o.operands, strict=True):
        for expr, extent in zip(map_.results, shape_of(value), strict=False):
            if isinstance(expr, Dim):
                found.setdefault(expr.position, extent)
    missing = [loop for loop in range(loops) if loop not in found]
    if missing:
        raise fail(
            o,
            f"loop d{missing[0]} has no extent: no operand is indexed by it alone",
            "Index one operand by the loop alone",
        )
    return [found[loop] for loop in range(loops)]


def _check_shape(
    o: Operation,
    position: int,
    map_: AffineMap,
    shape: Shape,
    extents: Sequence[int],
) -> None:
    """With ``n`` the extents: ``map(n - 1) + 1`` is the extent, or within it."""
    if 0 in extents:
        return
    first = map_.evaluate([0] * len(extents))
    last = map_.evaluate([extent - 1 for extent in extents])
    for axis, extent in enumerate(shape):
        if not extent:
            continue
        reached = max(first[axis], last[axis]) + 1
        expr = map_.results[axis]
        if min(first[axis], last[axis]) < 0:
            raise fail(
                o,
                f"dimension {axis} of operand {position} is indexed below zero",
                "Add an offset to the map",
            )
        if isinstance(expr, Dim) and reached != extent:
            raise fail(
                o,
                f"loop {expr} has extent {reached},"
                f" but dimension {axis} of operand {position} is {extent}",
                "Make the shapes agree",
            )
        if reached > extent:
            raise fail(
                o,
                f"dimension {axis} of operand {position} is {extent},"
                f" but its map reaches {reached}",
                "Make the operand larger, or the window smaller",
            )
