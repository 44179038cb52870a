"""Run-time conditions for accesses and views that have no affine form.

For an operation whose indices are not affine, or which accesses a view that is not, the
result is a `Leaf`: a builder of the condition under which the access leaves its buffer,
and the message to report.  `chain_leaves` adds a leaf for each view on the way to the
buffer that may leave its source, where an access through it could touch any memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import prod

from gpucodegen.dialects import affine, memref
from gpucodegen.dialects.func import Function
from gpucodegen.dialects.memref import needs_runtime
from gpucodegen.dialects.shared.dma import (
    STARTS,
    End,
    ends_of,
    has_strided_source,
    lengths_of,
)
from gpucodegen.ir.attributes import AffineMapAttr, IntegerAttr, StridedLayoutAttr
from gpucodegen.ir.operation import Operation, Region, Value
from gpucodegen.ir.types import INDEX, MemRefType, Type, VectorType
from gpucodegen.passes.analysis.lifting.accesses import padded_dimensions
from gpucodegen.passes.checks.guard_conditions import FIT, ConditionBuilder
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.functions import definitions
from gpucodegen.passes.framework.indexing import from_map
from gpucodegen.records import dataclass

METADATA = "memref.extract_strided_metadata"
CAST = "memref.reinterpret_cast"
Definitions = Mapping[Value, Operation]


@dataclass(frozen=True, slots=True)
class Leaf:
    """One way in which an operation may leave a buffer.

    ``known``: names and values for the message; ``bad`` builds the condition.
    """

    buffer: Value
    verb: str
    dimension: int
    known: tuple[tuple[str, Value], ...]
    bad: Value


def chain_leaves(
    c: ConditionBuilder, buffer: Value, verb: str, definitions: Definitions
) -> list[Leaf]:
    """The conditions of a chain of views, up to one that the runtime checked."""
    made: list[Leaf] = []
    while (view := definitions.get(buffer)) is not None and (
        view.name in _VIEWS or view.name == CAST
    ):
        if needs_runtime(view):
            break
        if view.name == CAST:
            whole = stated(view.operands[0], definitions)
            reach = _reach(c, whole, _strides(c, whole, definitions))
            made += _reinterpreted(c, view, verb, *reach)
        else:
            made += _VIEWS[view.name](c, view, verb)
        buffer = view.operands[0]
    return made


def _subview(c: ConditionBuilder, op: Operation, verb: str) -> list[Leaf]:
    """The first and the last element lie in the dimension, unless it is empty."""
    part = memref.Slice(op)
    entries = zip(part.offsets, part.sizes, part.strides, strict=True)
    made: list[Leaf] = []
    for dimension, (offset, size, stride) in enumerate(entries):
        extent = c.extent(part.source, dimension)
        first, steps = c.value(offset), c.minus(c.value(size), 1)
        last = c.plus(first, c.times(steps, c.value(stride)))
        low, high = _range(c, first, [(steps, stride)])
        bad = c.outside(low, high, extent)
        known = (("offset", first), ("last", last), ("extent", extent))
        made.append(Leaf(part.source, verb, dimension, known, bad))
    return made


def _range(
    c: ConditionBuilder, first: Value, steps: Iterable[tuple[Value, Value | int]]
) -> tuple[Value, Value]:
    """The lowest and the highest position of so many steps of such strides each."""
    low = high = first
    for count, stride in steps:
        if not (isinstance(stride, int) and stride >= 0):
            low = c.plus(low, c.times(count, c.smaller(c.value(stride), 0)))
        if not (isinstance(stride, int) and stride <= 0):
            high = c.plus(high, c.times(count, c.larger(c.value(stride), 0)))
    return low, high


def _reinterpreted(
    c: ConditionBuilder, op: Operation, verb: str, least: Value, total: Value
) -> list[Leaf]:
    """The elements against the reach of the buffer."""
    part = memref.Slice(op)
    first = last = c.value(part.offsets[0])
    steps = [
        (c.minus(c.value(size), 1), stride)
        for size, stride in zip(part.sizes, part.strides, strict=True)
    ]
    for count, stride in steps:
        last = c.plus(last, c.times(count, c.value(stride)))
    low, high = _range(c, first, steps)
    bad = c.some([c.below(low, least), c.reaches(high, total)])
    known = (("offset", first), ("last", last), ("elements", total))
    return [Leaf(part.source, verb, 0, known, bad)]


def stated(buffer: Value, definitions: Definitions) -> Value:
    """The buffer under casts, whose type may be more specific."""
    while (made := definitions.get(buffer)) is not None and made.name in _SAME:
        if not isinstance(made.operands[0].type, MemRefType):
            break
        buffer = made.operands[0]
    return buffer


_SAME = frozenset({"memref.cast", "memref.assume_alignment"})


def _strides(
    c: ConditionBuilder, buffer: Value, definitions: Definitions
) -> Sequence[Value] | None:
    """The strides of a strided buffer; dynamic ones from `with_metadata`."""
    layout = buffer.type.layout if isinstance(buffer.type, MemRefType) else None
    if not isinstance(layout, StridedLayoutAttr):
        return None
    if None not in layout.strides:
        return [c.value(stride or 0) for stride in layout.strides]
    rank = len(layout.strides)
    made = (op for op in definitions.values() if op.name == METADATA)
    found = next((op for op in made if op.operands[0] is buffer), None)
    return None if found is None else found.results[2 + rank :]


def with_metadata(function: Operation) -> Operation:
    """The function with the strides of arguments that reinterpretations need.

    Kernels get them as scalars, since they cannot query a buffer's strides.
    """
    arguments = Function(function).arguments
    operations = list(function.walk())
    known = {op.operands[0] for op in operations if op.name == METADATA}
    made = definitions(function)
    cast = {stated(op.operands[0], made) for op in operations if op.name == CAST}
    cast -= known
    b = Builder(function.location)
    for buffer in arguments:
        if buffer in cast and is_open(buffer.type):
            strided_metadata(b, buffer)
    if not b.operations:
        return function
    entry, *others = function.regions[0].blocks
    begun = entry.with_operations([*b.operations, *entry.operations])
    return function.with_(regions=(Region((begun, *others)),))


def is_open(ty: Type) -> bool:
    """Whether a type has dynamic strides."""
    layout = ty.layout if isinstance(ty, MemRefType) else None
    return isinstance(layout, StridedLayoutAttr) and None in layout.strides


def strided_metadata(b: Builder, buffer: Value) -> Sequence[Value]:
    """The strides of a buffer, queried from the runtime."""
    ty = buffer.type
    assert isinstance(ty, MemRefType)
    base = MemRefType((), ty.element, None, ty.memory_space)
    kinds = [base, INDEX, *[INDEX] * (2 * ty.rank)]
    return b.add(METADATA, (buffer,), kinds)[2 + ty.rank :]


def _reach(
    c: ConditionBuilder, buffer: Value, strides: Sequence[Value] | None
) -> tuple[Value, Value]:
    """Positions from the first element on that surely belong to a buffer: low, end."""
    zero = c.value(0)
    if strides is None:
        return zero, zero if is_open(buffer.type) else elements_of(c, buffer)
    steps = [
        (c.minus(c.extent(buffer, dimension), 1), stride)
        for dimension, stride in enumerate(strides)
    ]
    low, high = _range(c, zero, steps)
    return low, c.plus(high, 1)


def elements_of(c: ConditionBuilder, buffer: Value) -> Value:
    ty = buffer.type
    shape = ty.shape if isinstance(ty, MemRefType) else ()
    total = c.value(prod(extent for extent in shape if extent is not None))
    for dimension, extent in enumerate(shape):
        if extent is None:
            total = c.times(total, c.extent(buffer, dimension))
    return total


def cast_leaves(c: ConditionBuilder, op: Operation, verb: str) -> list[Leaf]:
    """Static extents in place of dynamic ones."""
    source, ty = op.operands[0], op.results[0].type
    if not isinstance(ty, MemRefType) or not isinstance(source.type, MemRefType):
        return []
    made: list[Leaf] = []
    for dimension, (old, new) in enumerate(
        zip(source.type.shape, ty.shape, strict=True)
    ):
        if old is None and new is not None:
            extent, wanted = c.extent(source, dimension), c.value(new)
            shown = f"{source.name}.shape[{dimension}]"
            known = ((shown, extent), ("the extent it is cast to", wanted))
            bad = c.differ(extent, wanted)
            made.append(Leaf(source, verb, dimension, known, bad))
    return made


def _reshaped(c: ConditionBuilder, op: Operation, verb: str) -> list[Leaf]:
    """The element counts before and after agree."""
    one, other = (elements_of(c, v) for v in (op.operands[0], op.results[0]))
    known = (("elements", one), ("reshaped", other))
    return [Leaf(op.operands[0], verb, 0, known, c.differ(one, other))]


def _nothing(c: ConditionBuilder, op: Operation, verb: str) -> list[Leaf]:
    del c, op, verb
    return []


_VIEWS: dict[str, Callable[[ConditionBuilder, Operation, str], list[Leaf]]] = {
    "memref.subview": _subview,
    "memref.cast": cast_leaves,
    "memref.expand_shape": _reshaped,
    "memref.collapse_shape": _reshaped,
    "memref.transpose": _nothing,
    "memref.memory_space_cast": _nothing,
    "memref.assume_alignment": _nothing,
}


@dataclass(frozen=True, slots=True)
class Touched:
    """Elements of a buffer: indices, and the number of lanes along some of them.

    ``padded`` dimensions may leave the buffer at their end.
    """

    memref: Value
    indices: tuple[Value, ...]
    lanes: Mapping[int, int]
    padded: frozenset[int] = frozenset()


def out_of_bounds_of(
    c: ConditionBuilder, op: Operation, definitions: Definitions
) -> list[Leaf]:
    """The conditions of an operation; empty where its accesses are unknown."""
    for value in op.operands:
        made = definitions.get(value)
        number = made.attributes.get("value") if made is not None else None
        if isinstance(number, IntegerAttr) and value.type == INDEX:
            c.numbers[value] = number.value
    found = [*_accesses(c, op), *_of_views(c, op, definitions)]
    return [leaf for leaf in found if not c.is_known(leaf.bad, holds=False)]


def _accesses(c: ConditionBuilder, op: Operation) -> list[Leaf]:
    if op.name in STARTS:
        return _transfer(c, op)
    if op.name == "memref.copy":
        return _copy(c, op)
    touch = _TABLE.get(op.name)
    if touch is None:
        return []
    found = touch(c, op)
    if not isinstance(found.memref.type, MemRefType):
        return []
    return _elements(c, found, _verb(op))


def _verb(op: Operation) -> str:
    return "write" if op.name in _WRITES else "read"


def _elements(c: ConditionBuilder, found: Touched, verb: str) -> list[Leaf]:
    made: list[Leaf] = []
    for dimension, index in enumerate(found.indices):
        extent = c.extent(found.memref, dimension)
        lanes = 1 if dimension in found.padded else found.lanes.get(dimension, 1)
        last = c.plus(index, lanes - 1) if lanes > 1 else index
        bad = (
            c.below(index, 0)
            if dimension in found.padded
            else c.outside(index, last, extent)
        )
        shown = f"{found.memref.name}.shape[{dimension}]"
        known = ((index.name or "the index", index), (shown, extent))
        made.append(Leaf(found.memref, verb, dimension, known, bad))
    return made


def _of_views(
    c: ConditionBuilder, op: Operation, definitions: Definitions
) -> list[Leaf]:
    """The conditions of the views among the operands of an operation."""
    if op.name not in {*_TABLE, *STARTS, "memref.copy"}:
        return []
    chains = (chain_leaves(c, v, _verb(op), definitions) for v in op.operands)
    return [leaf for chain in chains for leaf in chain]


# -- copies ----------------------------------------------------------------------------


def _copy(c: ConditionBuilder, op: Operation) -> list[Leaf]:
    """``memref.copy``: extents agree; the copy itself checks buffers without a rank."""
    source, target = op.operands
    ranks = [v.type.rank if isinstance(v.type, MemRefType) else 0 for v in op.operands]
    made: list[Leaf] = []
    for dimension in range(min(ranks)):
        one, other = c.extent(source, dimension), c.extent(target, dimension)
        known = tuple(
            (f"{buffer.name}.shape[{dimension}]", extent)
            for buffer, extent in ((source, one), (target, other))
        )
        made.append(Leaf(target, FIT, dimension, known, c.differ(one, other)))
    return made


def _transfer(c: ConditionBuilder, op: Operation) -> list[Leaf]:
    """``dma_start``: first and last element of either side, and the tag."""
    source, target, tag = ends_of(op)
    count, *strided = lengths_of(op)
    is_source = has_strided_source(source.memref, target.memref)
    made: list[Leaf] = []
    for end, verb, apart in (
        (source, "read", strided if is_source else ()),
        (target, "write", () if is_source else strided),
        (tag, "write", None),
    ):
        indices = _indices(c, end)
        inside = Touched(end.memref, indices, {})
        begins = _elements(c, inside, verb)
        runs = c.below(c.value(0), count) if apart is not None else None
        for leaf in begins:
            bad = leaf.bad if runs is None else c.every([runs, leaf.bad])
            made.append(_with(leaf, bad))
        if apart is not None:
            made.append(_run(c, end, indices, count, apart, verb))
    return made


def _with(leaf: Leaf, bad: Value) -> Leaf:
    return Leaf(leaf.buffer, leaf.verb, leaf.dimension, leaf.known, bad)


def _indices(c: ConditionBuilder, end: End) -> tuple[Value, ...]:
    return tuple(c.b.index(i) for i in from_map(end.map, end.operands))


def _run(
    c: ConditionBuilder,
    end: End,
    indices: Sequence[Value],
    count: Value,
    apart: Sequence[Value],
    verb: str,
) -> Leaf:
    """start + (runs - 1) * stride + run <= elements, in row-major order."""
    start = c.value(0)
    for dimension, index in enumerate(indices):
        start = c.plus(c.times(start, c.extent(end.memref, dimension)), index)
    after = c.plus(start, count)
    bad = [c.below(count, 0)]
    if apart:
        stride, run = apart
        runs = c.b.value("arith.ceildivsi", (count, run), run.type)
        after = c.plus(start, c.plus(c.times(c.minus(runs, 1), stride), run))
        bad += [c.below(stride, 0), c.below(run, 1)]
    total = elements_of(c, end.memref)
    bad.append(c.below(total, after))
    known = (("start", start), ("count", count), ("elements", total))
    return Leaf(end.memref, verb, 0, known, c.some(bad))


# -- elements and vectors --------------------------------------------------------------


def _plain(
    buffer: int, value: int | None
) -> Callable[[ConditionBuilder, Operation], Touched]:
    """Element accesses and whole vectors; ``value``: the operand that is stored."""

    def touched(c: ConditionBuilder, op: Operation) -> Touched:
        memref_, *rest = op.operands[buffer:]
        rank = memref.rank(memref_)
        attribute = op.attributes.get("map")
        indices = (
            tuple(c.b.index(i) for i in from_map(attribute.map, rest))
            if isinstance(attribute, AffineMapAttr)
            else tuple(rest[:rank])
        )
        given = op.results[0] if value is None else op.operands[value]
        is_element = getattr(memref_.type, "element", None) == given.type
        shape = given.type.shape if isinstance(given.type, VectorType) else ()
        lanes = {} if is_element else _trailing(rank, shape)
        return Touched(memref_, indices, lanes)

    return touched


def _trailing(rank: int, shape: Sequence[int]) -> dict[int, int]:
    return dict(zip(range(rank - len(shape), rank), shape, strict=True))


def _transferred(buffer: int) -> Callable[[ConditionBuilder, Operation], Touched]:
    """``vector.transfer_read`` and ``transfer_write``."""

    def touched(_: ConditionBuilder, op: Operation) -> Touched:
        memref_, *rest = op.operands[buffer:]
        rank = memref.rank(memref_)
        vector = op.operands[0] if buffer else op.results[0]
        shape = vector.type.shape if isinstance(vector.type, VectorType) else ()
        dims = list(range(rank - len(shape), rank))
        if isinstance(op.attributes.get("permutation_map"), AffineMapAttr):
            results = affine.map_of(op, "permutation_map").results
            dims = [getattr(result, "position", -1) for result in results]
        padded = frozenset(padded_dimensions(op, dims))
        lanes = dict(zip(dims, shape, strict=True))
        return Touched(memref_, tuple(rest[:rank]), lanes, padded)

    return touched


_TABLE: dict[str, Callable[[ConditionBuilder, Operation], Touched]] = {
    "affine.load": _plain(0, None),
    "affine.store": _plain(1, 0),
    "affine.vector_load": _plain(0, None),
    "affine.vector_store": _plain(1, 0),
    "memref.load": _plain(0, None),
    "memref.store": _plain(1, 0),
    "memref.atomic_rmw": _plain(1, 0),
    "memref.generic_atomic_rmw": _plain(0, None),
    "vector.load": _plain(0, None),
    "vector.store": _plain(1, 0),
    "vector.maskedload": _plain(0, None),
    "vector.maskedstore": _plain(0, -1),
    "vector.transfer_read": _transferred(0),
    "vector.transfer_write": _transferred(1),
}
_WRITES = frozenset(
    {
        "affine.store",
        "affine.vector_store",
        "memref.store",
        "memref.atomic_rmw",
        "memref.generic_atomic_rmw",
        "vector.store",
        "vector.maskedstore",
        "vector.transfer_write",
    }
)
