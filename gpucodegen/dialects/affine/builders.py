"""Builders of affine operations."""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen.dialects.affine.views import TERMINATOR
from gpucodegen.ir.affine import AffineMap, IntegerSet
from gpucodegen.ir.attributes import (
    AffineMapAttr,
    Attribute,
    IntegerSetAttr,
    index_attr,
)
from gpucodegen.ir.locations import UNKNOWN, Location
from gpucodegen.ir.operation import (
    OPERAND_SEGMENTS,
    Operation,
    Region,
    Value,
    segment_sizes,
    single_block,
)
from gpucodegen.ir.types import INDEX, Type, element_type


def _as_map(bound: AffineMap | int) -> AffineMap:
    return AffineMap.constant(bound) if isinstance(bound, int) else bound


def _terminated(body: Sequence[Operation], location: Location) -> tuple[Operation, ...]:
    if body and body[-1].name == TERMINATOR:
        return tuple(body)
    return (*body, yield_(location=location))


def for_(
    lower: AffineMap | int,
    lower_operands: Sequence[Value],
    upper: AffineMap | int,
    upper_operands: Sequence[Value],
    *,
    body: Sequence[Operation],
    iv: Value,
    step: int = 1,
    inits: Sequence[Value] = (),
    iters: Sequence[Value] = (),
    location: Location = UNKNOWN,
) -> Operation:
    """``affine.for``; an empty yield is added to ``body`` if it has none."""
    segments = (tuple(lower_operands), tuple(upper_operands), tuple(inits))
    attributes: dict[str, Attribute] = {
        "lowerBoundMap": AffineMapAttr(_as_map(lower)),
        "upperBoundMap": AffineMapAttr(_as_map(upper)),
        "step": index_attr(step),
        OPERAND_SEGMENTS: segment_sizes(segments),
    }
    region = single_block(_terminated(body, location), (iv, *iters))
    return Operation(
        "affine.for",
        operands=tuple(v for group in segments for v in group),
        results=tuple(Value(v.type, v.name, location) for v in inits),
        attributes=attributes,
        regions=(region,),
        location=location,
    )


def if_(
    condition: IntegerSet,
    operands: Sequence[Value],
    then_ops: Sequence[Operation],
    else_ops: Sequence[Operation] | None = None,
    *,
    result_types: Sequence[Type] = (),
    location: Location = UNKNOWN,
) -> Operation:
    """``affine.if``; empty yields are added to branches that have none."""
    then_region = single_block(_terminated(then_ops, location))
    has_else = else_ops is not None and (len(else_ops) > 0 or result_types)
    else_region = (
        single_block(_terminated(else_ops or (), location)) if has_else else Region()
    )
    return Operation(
        "affine.if",
        tuple(operands),
        tuple(Value(ty, "", location) for ty in result_types),
        {"condition": IntegerSetAttr(condition)},
        (then_region, else_region),
        location=location,
    )


def yield_(values: Sequence[Value] = (), *, location: Location = UNKNOWN) -> Operation:
    return Operation(TERMINATOR, tuple(values), location=location)


def load(
    memref: Value, map_: AffineMap | None = None, operands: Sequence[Value] = ()
) -> Operation:
    """``affine.load``; without a map the operands are the indices."""
    index_map = map_ or AffineMap.identity(len(operands))
    return Operation(
        "affine.load",
        (memref, *operands),
        (Value(element_type(memref.type)),),
        {"map": AffineMapAttr(index_map)},
    )


def store(
    value: Value,
    memref: Value,
    map_: AffineMap | None = None,
    operands: Sequence[Value] = (),
) -> Operation:
    """``affine.store``; without a map the operands are the indices."""
    index_map = map_ or AffineMap.identity(len(operands))
    return Operation(
        "affine.store",
        (value, memref, *operands),
        attributes={"map": AffineMapAttr(index_map)},
    )


def apply(
    map_: AffineMap,
    operands: Sequence[Value] = (),
    *,
    name: str = "",
    location: Location = UNKNOWN,
    op: str = "affine.apply",
) -> Operation:
    """``affine.apply``, or ``affine.min`` / ``affine.max`` by ``op``."""
    return Operation(
        op,
        tuple(operands),
        (Value(INDEX, name, location),),
        {"map": AffineMapAttr(map_)},
        location=location,
    )


def max_(
    map_: AffineMap, operands: Sequence[Value] = (), *, name: str = ""
) -> Operation:
    return apply(map_, operands, name=name, op="affine.max")
