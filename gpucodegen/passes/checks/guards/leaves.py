"""Whether a single operation leaves a buffer, from the values it is given.

Comes in: an operation whose indices have no affine form, or one on a view that has
none.  Goes out: a `Leaf` that builds the condition, and what a message says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from gpucodegen.dialects import affine, memref
from gpucodegen.dialects.shared.dma import (
    STARTS,
    End,
    ends_of,
    has_strided_source,
    lengths_of,
)
from gpucodegen.ir.attributes import AffineMapAttr, IntegerAttr
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import INDEX, MemRefType, VectorType
from gpucodegen.passes.analysis.lifting.values.accesses import padded_dimensions
from gpucodegen.passes.checks.guards.checks import FIT
from gpucodegen.passes.checks.guards.conditions import ConditionBuilder
from gpucodegen.passes.checks.guards.views import (
    Definitions,
    Leaf,
    chain_leaves,
    elements_of,
)
from gpucodegen.passes.framework.indexing import from_map


@dataclass(frozen=True, slots=True)
class Touched:
    """Elements of a buffer: indices, and how many lanes there are along some.

    ``padded`` dimensions may be left at their end.
    """

    memref: Value
    indices: tuple[Value, ...]
    lanes: Mapping[int, int]
    padded: frozenset[int] = frozenset()


def leaves_of(
    c: ConditionBuilder, op: Operation, definitions: Definitions
) -> list[Leaf]:
    """The conditions of an operation; nothing where its accesses are not known."""
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
    """Whether the views that an operation is given leave what they are views of."""
    if op.name not in {*_TABLE, *STARTS, "memref.copy"}:
        return []
    chains = (chain_leaves(c, v, _verb(op), definitions) for v in op.operands)
    return [leaf for chain in chains for leaf in chain]


# -- copies ----------------------------------------------------------------------------


def _copy(c: ConditionBuilder, op: Operation) -> list[Leaf]:
    """``memref.copy``: extents agree."""
    source, target = op.operands
    rank = source.type.rank if isinstance(source.type, MemRefType) else 0
    made: list[Leaf] = []
    for dimension in range(rank):
        one, other = c.extent(source, dimension), c.extent(target, dimension)
        known = tuple(
            (f"{buffer.name}.shape[{dimension}]", extent)
            for buffer, extent in ((source, one), (target, other))
        )
        made.append(Leaf(target, FIT, dimension, known, c.differ(one, other)))
    return made


def _transfer(c: ConditionBuilder, op: Operation) -> list[Leaf]:
    """``dma_start``: first and last element of either side, and the flag."""
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
        runs = c.b.add("arith.ceildivsi", (count, run), [run.type])[0]
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

    def touched(c: ConditionBuilder, op: Operation) -> Touched:
        del c
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
