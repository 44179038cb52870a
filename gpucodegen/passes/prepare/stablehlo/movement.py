"""StableHLO data movement: broadcasts, slices, transposes, pads, concatenations.

Each operation becomes tensor slices, insertions and reshapes, or a ``linalg.generic``
that reads its operand through an index map.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from gpucodegen.dialects.linalg.named_definitions import numbers
from gpucodegen.ir.affine import AffineExpr, Dim
from gpucodegen.ir.attributes import ArrayAttr, Attribute, DenseArrayAttr, IntegerAttr
from gpucodegen.ir.operation import Operation, Value, segment_counts, single_block
from gpucodegen.ir.types import I64, INDEX, TensorType, Type, element_type
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.prepare.stablehlo.expressions import converted
from gpucodegen.passes.prepare.stablehlo.forms import (
    PARALLEL,
    Rule,
    dims,
    empty,
    extract,
    filled,
    generic,
    mapped,
    position,
    scalar,
    shape,
    shape_of,
    tensor,
)
from gpucodegen.records import dataclass


def constant(b: Builder, op: Operation) -> Sequence[Value]:
    return b.add("arith.constant", (), [op.result.type], op.attributes, hint="cst")


def iota(b: Builder, op: Operation) -> Sequence[Value]:
    """The position along a dimension."""
    (dimension,) = numbers(op, "iota_dimension")

    def body(inner: Builder, elements: Sequence[Value]) -> Sequence[Value]:
        here = position(inner, dimension)
        whole = inner.value("arith.index_cast", (here,), I64)
        return [converted(inner, whole, elements[-1].type)]

    return [mapped(b, [], [], op.result.type, body)]


def broadcast(b: Builder, op: Operation) -> Sequence[Value]:
    """Dimension d of the operand is dimension ``dims[d]`` of the result."""
    (x,) = op.operands
    targets = numbers(op, "broadcast_dimensions")
    wide = shape(op.result)
    kept = [
        -1 if n == 1 and wide[target] != 1 else target
        for n, target in zip(shape(x), targets, strict=True)
    ]
    return [mapped(b, [x], [dims(kept)], op.result.type)]


def transpose(b: Builder, op: Operation) -> Sequence[Value]:
    """Dimension d of the result is dimension ``permutation[d]`` of the operand."""
    order = numbers(op, "permutation")
    places = [Dim(order.index(d)) for d in range(len(order))]
    return [mapped(b, op.operands, [places], op.result.type)]


def slice_(b: Builder, op: Operation) -> Sequence[Value]:
    """Every step-th element from a start on."""
    starts, steps = numbers(op, "start_indices"), numbers(op, "strides")
    x, ty = op.operands[0], op.result.type
    steps = steps or (1,) * len(starts)
    return [part_of(b, x, starts, steps, ty)]


def part_of(
    b: Builder,
    x: Value,
    starts: Sequence[int | Value],
    steps: Sequence[int],
    ty: Type,
) -> Value:
    """A strided slice at a position that may be dynamic."""
    places = [
        None if isinstance(start, Value) else Dim(d) * step + start
        for d, (start, step) in enumerate(zip(starts, steps, strict=True))
    ]
    extents = zip(shape(x), shape_of(ty), places, strict=True)
    # In a map, a loop alone says that it runs over all of the dimension.
    if all(
        isinstance(p, AffineExpr) and (n == m or not isinstance(p, Dim))
        for n, m, p in extents
    ):
        return mapped(b, [x], [[p for p in places if p is not None]], ty)

    def body(inner: Builder, _: Sequence[Value]) -> Sequence[Value]:
        at: list[Value] = []
        for d, (start, step) in enumerate(zip(starts, steps, strict=True)):
            place = position(inner, d)
            if step != 1:
                factor = scalar(inner, step, INDEX)
                place = inner.value("arith.muli", (place, factor), INDEX)
            offset = start if isinstance(start, Value) else scalar(inner, start, INDEX)
            at += inner.add("arith.addi", (place, offset), [INDEX])
        return [extract(inner, x, at)]

    return mapped(b, [], [], ty, body)


def reverse(b: Builder, op: Operation) -> Sequence[Value]:
    """Elements in reverse order along some dimensions."""
    turned = numbers(op, "dimensions")
    places = [
        Dim(d) * -1 + (n - 1) if d in turned else Dim(d)
        for d, n in enumerate(shape(op.result))
    ]
    return [mapped(b, op.operands, [places], op.result.type)]


def concatenate(b: Builder, op: Operation) -> Sequence[Value]:
    (d,) = numbers(op, "dimension")
    return joined(b, op, d)


def joined(b: Builder, op: Operation, d: int) -> Sequence[Value]:
    """A concatenation, each part of which is written by the operation computing it."""
    ty, extents = op.result.type, shape(op.result)
    if len(extents) == 1 and extents[0] == len(op.operands):
        # Coordinates, which may become scalars.
        return b.add("tensor.concat", op.operands, [ty], {"dim": IntegerAttr(d, I64)})
    made, first = empty(b, ty), 0
    steps, whole = (1,) * len(extents), [dims(range(len(extents)))] * 2
    for part in op.operands:
        starts = [first if e == d else 0 for e in range(len(extents))]
        first += shape(part)[d]
        if all(shape(part)):
            into = extracted(b, made, starts, shape(part), steps)
            kinds = [PARALLEL] * len(extents)
            (put,) = generic(b, [part], [into], whole, kinds, lambda _, e: e[:1])
            made = inserted(b, put, made, starts, steps)
    return [made]


@dataclass(frozen=True, slots=True)
class Roll:
    """Element i along a dimension is ``x[(first + i) mod n]``."""

    x: Value
    dimension: int
    first: int


def roll_of(op: Operation, slices: Mapping[Value, Operation]) -> Roll | None:
    """The rotation that a concatenation of both parts of one tensor is.

    ``slices``: operations that made the operands.
    """
    parts = [slices[v] for v in op.operands if v in slices]
    if len(op.operands) != 2 or len(parts) != 2:
        return None
    (d,) = numbers(op, "dimension")
    x, extents = parts[0].operands[0], shape(op.result)
    starts, ends = (
        [numbers(part, name) for part in parts]
        for name in ("start_indices", "limit_indices")
    )
    first = starts[0][d]
    of_x = [(*extents[:d], n, *extents[d + 1 :]) for n in (extents[d], first)]
    begin = [tuple(n if e == d else 0 for e in range(len(extents))) for n in (first, 0)]
    is_roll = (
        all(part.operands[0] is x for part in parts)
        and shape(x) == extents
        and [*map(tuple, starts)] == begin
        and [*map(tuple, ends)] == of_x
        and all(n == 1 for part in parts for n in numbers(part, "strides"))
    )
    return Roll(x, d, first) if is_roll else None


def rolled(b: Builder, roll: Roll) -> Value:
    """Reads of one tensor, which move into the operations that read the result."""
    extents = shape(roll.x)

    def body(inner: Builder, _: Sequence[Value]) -> Sequence[Value]:
        at = [position(inner, d) for d in range(len(extents))]
        place = Index.of(at[roll.dimension]) + roll.first
        at[roll.dimension] = inner.index(place % extents[roll.dimension])
        return [extract(inner, roll.x, at)]

    return mapped(b, [], [], roll.x.type, body)


# -- reshapes --------------------------------------------------------------------------


def reshape(b: Builder, op: Operation) -> Sequence[Value]:
    """The same elements in the same order."""
    return [reshaped(b, op.operands[0], shape(op.result))]


def reshaped(b: Builder, x: Value, wanted: Sequence[int]) -> Value:
    """A tensor in another shape, by collapsing and expanding dimensions."""
    if tuple(wanted) == shape(x):
        return x
    ty = tensor(wanted, element_type(x.type))
    kept = [n for n in shape(x) if n != 1]
    if kept == [n for n in wanted if n != 1]:
        targets = iter(d for d, n in enumerate(wanted) if n != 1)
        places = [-1 if n == 1 else next(targets) for n in shape(x)]
        return mapped(b, [x], [dims(places)], ty)
    flat = (prod(wanted),)
    if len(shape(x)) > 1:
        x = _regrouped(b, "collapse", x, flat, len(shape(x)))
    return (
        x if tuple(wanted) == flat else _regrouped(b, "expand", x, wanted, len(wanted))
    )


def _regrouped(
    b: Builder, word: str, x: Value, wanted: Sequence[int], rank: int
) -> Value:
    group = ArrayAttr(tuple(IntegerAttr(d, I64) for d in range(rank)))
    attributes: dict[str, Attribute] = {"reassociation": ArrayAttr((group,))}
    if word == "expand":
        attributes["static_output_shape"] = DenseArrayAttr(I64, tuple(wanted))
    ty = tensor(wanted, element_type(x.type))
    return b.value(f"tensor.{word}_shape", (x,), ty, attributes)


# -- pads ------------------------------------------------------------------------------


def pad(b: Builder, op: Operation) -> Sequence[Value]:
    """Padding around the operand, and between its elements."""
    low, high = (numbers(op, f"edge_padding_{side}") for side in ("low", "high"))
    inner = numbers(op, "interior_padding")
    return [padded(b, op.operands[0], op.operands[1], low, high, inner)]


def padded(
    b: Builder,
    x: Value,
    value: Value,
    low: Sequence[int],
    high: Sequence[int],
    between: Sequence[int] = (),
) -> Value:
    """A tensor padded with a tensor of rank 0, or a number."""
    between = tuple(between) or (0,) * len(low)
    if not any((*low, *high, *between)):
        return x
    number = extract(b, value) if isinstance(value.type, TensorType) else value
    spans = [n + max(n - 1, 0) * gap for n, gap in zip(shape(x), between, strict=True)]
    whole = [n + a + c for n, a, c in zip(spans, low, high, strict=True)]
    ty = tensor(whole, element_type(x.type))
    if min((*low, *high), default=0) >= 0 and not any(between):
        return _with_room(b, x, number, low, high, ty)
    return _spread_out(b, x, number, low, between, ty)


def _with_room(
    b: Builder,
    x: Value,
    number: Value,
    low: Sequence[int],
    high: Sequence[int],
    ty: TensorType,
) -> Value:
    inner = Builder(b.location)
    inner.add("tensor.yield", (number,))
    indices = [Value(INDEX, "i", b.location) for _ in low]
    attributes: dict[str, Attribute] = {
        "static_low": DenseArrayAttr(I64, tuple(low)),
        "static_high": DenseArrayAttr(I64, tuple(high)),
        "operandSegmentSizes": segment_counts(1, 0, 0),
    }
    region = single_block(inner.operations, indices)
    return b.value("tensor.pad", (x,), ty, attributes, [region])


def _spread_out(
    b: Builder,
    x: Value,
    number: Value,
    low: Sequence[int],
    between: Sequence[int],
    ty: TensorType,
) -> Value:
    """The in-bounds elements inserted into a filled tensor, with gaps."""
    steps = [gap + 1 for gap in between]
    whole = [n or 0 for n in ty.shape]
    # Element i lands at low + i * step, which must be at least 0 and below the extent.
    firsts = [max(0, -(a // s)) for a, s in zip(low, steps, strict=True)]
    counts = [
        max(0, min(n, (e - 1 - a) // s + 1) - first)
        for n, e, a, s, first in zip(shape(x), whole, low, steps, firsts, strict=True)
    ]
    room = filled(b, number, ty)
    if not all(counts):
        return room
    kept = tensor(counts, ty.element)
    part = part_of(b, x, firsts, (1,) * len(firsts), kept)
    starts = [a + f * s for a, f, s in zip(low, firsts, steps, strict=True)]
    return inserted(b, part, room, starts, steps)


def extracted(
    b: Builder,
    x: Value,
    starts: Sequence[int],
    sizes: Sequence[int],
    steps: Sequence[int],
) -> Value:
    """``tensor.extract_slice``, which is no copy."""
    attributes = _places(starts, sizes, steps, 1)
    ty = tensor(sizes, element_type(x.type))
    return b.value("tensor.extract_slice", (x,), ty, attributes)


def inserted(
    b: Builder, part: Value, whole: Value, starts: Sequence[int], steps: Sequence[int]
) -> Value:
    attributes = _places(starts, shape(part), steps, 2)
    return b.value("tensor.insert_slice", (part, whole), whole.type, attributes)


def _places(
    starts: Sequence[int], sizes: Sequence[int], steps: Sequence[int], operands: int
) -> dict[str, Attribute]:
    lists = {"offsets": starts, "sizes": sizes, "strides": steps}
    return {
        **{f"static_{n}": DenseArrayAttr(I64, tuple(v)) for n, v in lists.items()},
        "operandSegmentSizes": segment_counts(*(1,) * operands, 0, 0, 0),
    }


MOVEMENT_RULES: dict[str, Rule] = {
    f"stablehlo.{name}": rule
    for name, rule in {
        "constant": constant,
        "iota": iota,
        "broadcast_in_dim": broadcast,
        "reshape": reshape,
        "transpose": transpose,
        "slice": slice_,
        "reverse": reverse,
        "concatenate": concatenate,
        "pad": pad,
    }.items()
}
