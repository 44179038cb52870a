"""CPU mapping: contractions to register tiles, parallel loops to threads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from types import MappingProxyType

from gpucodegen.dialects import affine
from gpucodegen.dialects.arith import bit_width
from gpucodegen.ir.affine import AffineMap
from gpucodegen.ir.attributes import (
    AffineMapAttr,
    ArrayAttr,
    DenseElementsAttr,
    IntegerAttr,
)
from gpucodegen.ir.operation import Operation, Region
from gpucodegen.ir.types import I32, I64, Type, VectorType
from gpucodegen.passes.analysis import Analysis, analyse
from gpucodegen.passes.builder import Builder
from gpucodegen.passes.contraction import cpu
from gpucodegen.passes.contraction.blocking import column_axis, outer_axes, row_axis
from gpucodegen.passes.contraction.collapse import collapsed
from gpucodegen.passes.contraction.packing import direct_lanes, row_stride
from gpucodegen.passes.contraction.recognize import (
    Contraction,
    only_accumulates,
    recognize,
)
from gpucodegen.passes.distribute import distribute
from gpucodegen.passes.lifting import Surroundings
from gpucodegen.passes.work import Middles, expected_work, inside
from gpucodegen.tiling.cpu_plan import (
    PARALLEL_WORK,
    CpuModel,
    CpuTiles,
    Problem,
    plan_contraction,
)


@dataclass(frozen=True, slots=True)
class CpuMapping:
    """How nests are mapped: the host and the tile sizes asked for."""

    model: CpuModel
    tiles: CpuTiles = field(default_factory=CpuTiles)
    contractions: bool = True
    surroundings: Surroundings = field(default_factory=Surroundings)


def map_operations(
    operations: Sequence[Operation],
    mapping: CpuMapping,
    context: Sequence[Operation] = (),
) -> list[Operation]:
    """Map every nest of a straight list of operations, ``context`` before them."""
    mapped: list[Operation] = []
    before: list[Operation] = [*context]
    for op in operations:
        if op.name == "affine.for":
            mapped += _map_nest(op, mapping, before)
        elif op.name == "affine.if":
            mapped.append(_map_branches(op, mapping, before))
        else:
            mapped.append(op)
        before.append(op)
    return mapped


def _map_branches(
    op: Operation, mapping: CpuMapping, context: Sequence[Operation]
) -> Operation:
    regions = tuple(
        Region(
            tuple(
                block.with_operations(
                    map_operations(block.operations, mapping, context)
                )
                for block in region.blocks
            )
        )
        for region in op.regions
    )
    return op.with_(regions=regions)


def _map_nest(
    op: Operation, mapping: CpuMapping, context: Sequence[Operation]
) -> list[Operation]:
    analysis = analyse([op], context, mapping.surroundings)
    nests = distribute(op, analysis)
    wanted = nests if mapping.contractions else []
    contractions = [paying_contraction(nest) for nest in wanted]
    if not any(contractions):
        return [_parallelise(op, analysis, mapping)]
    mapped: list[Operation] = []
    for nest, contraction in zip(nests, contractions, strict=True):
        own = analysis
        if nest is not op:
            own = analyse([nest], context, mapping.surroundings)
        if contraction is None or not only_accumulates(own.dependences):
            mapped.append(_parallelise(nest, own, mapping))
        else:
            mapped += _lower(contraction, mapping)
    return mapped


def paying_contraction(op: Operation) -> Contraction | None:
    """A contraction that register tiles pay for."""
    found = recognize(op)
    if found is None or column_axis(found).extent < MIN_COLUMNS:
        return None
    line = row_axis(found) is None
    return None if line and not direct_lanes(found.right, column_axis(found)) else found


MIN_COLUMNS = 4
"""Shorter rows of C do not fill a vector."""


def _lower(found: Contraction, mapping: CpuMapping) -> list[Operation]:
    views = Builder(found.location)
    contraction = collapsed(views, found)
    row, column = row_axis(contraction), column_axis(contraction)
    outer = outer_axes(contraction)
    problem = Problem(
        1 if row is None else row.extent,
        column.extent,
        tuple(axis.extent for axis in contraction.reduction),
        prod(axis.extent for axis in outer),
        element_bits(contraction.element),
        direct_lanes(contraction.right, column),
        any(contraction.right.mentions(axis) for axis in outer),
        row and row_stride(contraction.left, row, contraction.reduction[-1]),
    )
    plan = plan_contraction(problem, mapping.model, mapping.tiles)
    return [*views.operations, *cpu.lower(contraction, plan)]


def element_bits(element: Type) -> int:
    """Width of a scalar type in bits; ``index`` counts as 64.

    >>> from gpucodegen.ir.types import INDEX, FloatType
    >>> element_bits(FloatType("bf16")), element_bits(INDEX)
    (16, 64)
    """
    return bit_width(element) or 64


def _parallelise(
    op: Operation,
    analysis: Analysis,
    mapping: CpuMapping,
    middles: Middles = MappingProxyType({}),
) -> Operation:
    """Run the outermost parallel loops with enough work on threads."""
    if op.name != "affine.for":
        return op
    if mapping.model.threads > 1 and analysis.is_parallel(op) and _pays(op, middles):
        return to_parallel(op)
    within = inside(op, middles)
    return op.with_body(
        _parallelise(o, analysis, mapping, within) for o in op.body.operations
    )


def _pays(op: Operation, middles: Middles) -> bool:
    """Whether a loop has enough work for threads; unknown extents count as large."""
    work = expected_work(op, middles)
    return work is None or work >= PARALLEL_WORK // 16


def to_parallel(op: Operation) -> Operation:
    """``affine.parallel`` over the range of one ``affine.for``."""
    loop = affine.For(op)
    low, high = loop.lower_map, loop.upper_map
    attributes = {
        "lowerBoundsMap": AffineMapAttr(low),
        "lowerBoundsGroups": _group(low),
        "upperBoundsMap": AffineMapAttr(high),
        "upperBoundsGroups": _group(high),
        "steps": ArrayAttr((IntegerAttr(loop.step, I64),)),
        "reductions": ArrayAttr(()),
    }
    return op.with_(
        name="affine.parallel",
        operands=(*loop.lower_operands, *loop.upper_operands),
        attributes=attributes,
    )


def _group(map_: AffineMap) -> DenseElementsAttr:
    return DenseElementsAttr((len(map_.results),), VectorType((1,), I32), I32)
