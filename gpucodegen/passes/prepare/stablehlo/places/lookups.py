"""Elements and parts at places that other tensors tell."""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen.dialects.linalg.named_definitions import numbers
from gpucodegen.dialects.memref import DYNAMIC_MARK
from gpucodegen.dialects.stablehlo.syntax import listed, numbered
from gpucodegen.ir.attributes import Attribute, DenseArrayAttr
from gpucodegen.ir.operation import Operation, Value, segment_counts
from gpucodegen.ir.types import I64, INDEX
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.prepare.stablehlo.elements.table import UNSIGNED, kind_of
from gpucodegen.passes.prepare.stablehlo.forms import (
    Rule,
    extract,
    mapped,
    position,
    scalar,
    shape,
)
from gpucodegen.passes.prepare.stablehlo.movement import part_of


def place_of(b: Builder, value: Value) -> Value:
    """A number as an index."""
    is_unsigned = kind_of(value.type) == UNSIGNED
    name = "arith.index_castui" if is_unsigned else "arith.index_cast"
    return b.add(name, (value,), [INDEX])[0]


def _place(b: Builder, value: Value, last: int) -> Value:
    """A number as an index from 0 to ``last``: StableHLO moves slices inside."""
    place = place_of(b, value)
    zero, most = scalar(b, 0, INDEX), scalar(b, last, INDEX)
    (raised,) = b.add("arith.maxsi", (place, zero), [INDEX])
    return b.add("arith.minsi", (raised, most), [INDEX])[0]


def _starts(
    b: Builder, op: Operation, starts: Sequence[Value], sizes: Sequence[int]
) -> list[Value]:
    """Where a part of the first operand begins."""
    extents = shape(op.operands[0])
    return [
        _place(b, extract(b, start), n - size)
        for start, n, size in zip(starts, extents, sizes, strict=True)
    ]


def dynamic_slice(b: Builder, op: Operation) -> Sequence[Value]:
    """A part of known extents from a place on."""
    x, *starts = op.operands
    sizes = numbers(op, "slice_sizes")
    places = _starts(b, op, starts, sizes)
    return [part_of(b, x, places, (1,) * len(sizes), op.result.type)]


def dynamic_update_slice(b: Builder, op: Operation) -> Sequence[Value]:
    """A part put in from a place on."""
    x, part, *starts = op.operands
    sizes = shape(part)
    places = _starts(b, op, starts, sizes)
    lists = {
        "static_offsets": (DYNAMIC_MARK,) * len(sizes),
        "static_sizes": sizes,
        "static_strides": (1,) * len(sizes),
    }
    attributes: dict[str, Attribute] = {
        name: DenseArrayAttr(I64, entries) for name, entries in lists.items()
    }
    attributes["operandSegmentSizes"] = segment_counts(1, 1, len(places), 0, 0)
    operands = (part, x, *places)
    return b.add("tensor.insert_slice", operands, [op.result.type], attributes)


def gather(b: Builder, op: Operation) -> Sequence[Value]:
    """Slices at places that a tensor lists."""
    x, indices = op.operands
    given = op.attributes["dimension_numbers"]
    offsets = listed(given, "offset_dims")
    gone = listed(given, "collapsed_slice_dims")
    batched = listed(given, "operand_batching_dims")
    batches_of = listed(given, "start_indices_batching_dims")
    starts = listed(given, "start_index_map")
    vector = numbered(given, "index_vector_dim")
    sizes = numbers(op, "slice_sizes")
    rank, extents = len(shape(op.result)), shape(x)
    batch = [d for d in range(rank) if d not in offsets]
    windows = [d for d in range(len(extents)) if d not in gone and d not in batched]
    offset_of = dict(zip(windows, offsets, strict=True))
    # Dimensions of the list of places, without that of the places themselves.
    listed_dims = [d for d in range(len(shape(indices))) if d != vector]
    loop_of = dict(zip(listed_dims, batch, strict=True))

    def start(inner: Builder, component: int) -> Value:
        at = [
            scalar(inner, component, INDEX)
            if d == vector
            else position(inner, loop_of[d])
            for d in range(len(shape(indices)))
        ]
        return extract(inner, indices, at)

    def element(inner: Builder, _: Sequence[Value]) -> Sequence[Value]:
        at: list[Value] = []
        for d, n in enumerate(extents):
            place: Value | None = None
            if d in starts:
                found = start(inner, starts.index(d))
                place = _place(inner, found, n - sizes[d])
            if d in batched:
                place = position(inner, loop_of[batches_of[batched.index(d)]])
            if d in offset_of:
                offset = position(inner, offset_of[d])
                if place is not None and sizes[d] > 1:
                    (place,) = inner.add("arith.addi", (place, offset), [INDEX])
                elif place is None:
                    place = offset
            at.append(scalar(inner, 0, INDEX) if place is None else place)
        return [extract(inner, x, at)]

    return [mapped(b, [], [], op.result.type, element)]


RULES: dict[str, Rule] = {
    "stablehlo.dynamic_slice": dynamic_slice,
    "stablehlo.dynamic_update_slice": dynamic_update_slice,
    "stablehlo.gather": gather,
}
