"""Memrefs of vectors become memrefs of scalars, accessed a vector at a time.

``memref.load %A[%i] : memref<4xvector<8xf32>>`` becomes ``vector.load %A[%i, 0]`` of a
``memref<4x8xf32>``.  A DMA copy of n vectors of s numbers becomes one of n * s numbers.
Views become views of the scalars that keep whole vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field, replace

from gpucodegen import errors
from gpucodegen.dialects import affine, memref
from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.func import Function
from gpucodegen.dialects.memref import DYNAMIC_MARK, Mixed
from gpucodegen.dialects.memref.reshapes import groups_of
from gpucodegen.dialects.shared.effects import undeclared
from gpucodegen.dialects.shared.memory import (
    elements_of,
    flat,
    steps_of,
    vector_in,
    widened,
)
from gpucodegen.ir.affine import AffineMap, Const
from gpucodegen.ir.attributes import (
    AffineMapAttr,
    ArrayAttr,
    DenseArrayAttr,
    IntegerAttr,
    TypeAttr,
)
from gpucodegen.ir.operation import Block, Operation, Value, renamed, segment_counts
from gpucodegen.ir.types import I64, INDEX, FunctionType, MemRefType, VectorType
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.records import dataclass


def scaled(b: Builder, value: Value, factor: int) -> Value:
    """A number of vectors as a number of elements."""
    if factor == 1:
        return value
    return b.value("arith.muli", (value, b.constant(factor, INDEX)), INDEX)


def _scaled(b: Builder, entries: Sequence[Mixed], factor: int) -> list[Mixed]:
    return [
        entry * factor if isinstance(entry, int) else scaled(b, entry, factor)
        for entry in entries
    ]


def _vector(old: Operation) -> VectorType:
    vector = vector_in(old.operands[0].type)
    assert isinstance(vector, VectorType)
    return vector


def subview(b: Builder, old: Operation, new: Operation) -> None:
    """``memref.subview``: all of each vector."""
    part, shape = memref.Slice(old), _vector(old).shape
    zeros, ones = [0] * len(shape), [1] * len(shape)
    columns = (
        [*part.offsets, *zeros],
        [*part.sizes, *shape],
        [*part.strides, *ones],
    )
    b.operations.append(with_columns(new, columns))


def reinterpret(b: Builder, old: Operation, new: Operation) -> None:
    """``memref.reinterpret_cast``: offset and strides in numbers."""
    part, vector = memref.Slice(old), _vector(old)
    size = elements_of(vector)
    columns = (
        _scaled(b, part.offsets, size),
        [*part.sizes, *vector.shape],
        [*_scaled(b, part.strides, size), *steps_of(vector)],
    )
    b.operations.append(with_columns(new, columns))


COLUMNS = ("static_offsets", "static_sizes", "static_strides")


def with_columns(view: Operation, columns: Sequence[Sequence[Mixed]]) -> Operation:
    """The view with other offsets, sizes and strides, numbers or values."""
    return with_entries(view, columns, 1)


def with_entries(
    op: Operation, columns: Sequence[Sequence[Mixed]], first: int
) -> Operation:
    """As `with_columns` for offsets after ``first`` operands."""
    dynamic = [[e for e in entries if isinstance(e, Value)] for entries in columns]
    attributes = {
        name: DenseArrayAttr(
            I64, tuple(e if isinstance(e, int) else DYNAMIC_MARK for e in entries)
        )
        for name, entries in zip(COLUMNS, columns, strict=True)
    }
    segments = segment_counts(*[1] * first, *map(len, dynamic))
    values = (value for values in dynamic for value in values)
    return op.with_(
        operands=(*op.operands[:first], *values),
        attributes={**op.attributes, **attributes, "operandSegmentSizes": segments},
    )


def transpose(b: Builder, old: Operation, new: Operation) -> None:
    """``memref.transpose``: vectors keep their order."""
    map_ = widened(affine.map_of(old, "permutation"), len(_vector(old).shape))
    b.operations.append(new.with_attribute("permutation", AffineMapAttr(map_)))


def reshape(b: Builder, old: Operation, new: Operation) -> None:
    """``memref.collapse_shape`` and ``expand_shape``: each vector dimension alone."""
    vector, (source,), (result,) = _vector(old), old.operands[:1], old.results
    larger = max(memref.rank(source), memref.rank(result))
    groups = [list(group) for group in groups_of(old.attributes.get("reassociation"))]
    groups += [[larger + i] for i in range(len(vector.shape))]
    rows = (ArrayAttr(tuple(IntegerAttr(d, I64) for d in group)) for group in groups)
    new = new.with_attribute("reassociation", ArrayAttr(tuple(rows)))
    extents = old.attributes.get("static_output_shape")
    if isinstance(extents, DenseArrayAttr) and isinstance(result.type, MemRefType):
        whole = DenseArrayAttr(extents.element, (*extents.values, *vector.shape))
        new = new.with_attribute("static_output_shape", whole)
    b.operations.append(new)


@dataclass(frozen=True, slots=True)
class FlattenElements(ModulePass, name="flatten-elements", looks_for="!vector"):
    """Every memref of vectors becomes a memref with more dimensions."""

    def apply(self, module: Module) -> Module:
        return module.with_operations(map(_top_level, module.operations))


def _top_level(op: Operation) -> Operation:
    if op.name == "func.func":
        return _Flattener().function(op)
    ty = op.attributes.get("type")
    if op.name != "memref.global" or not isinstance(ty, TypeAttr):
        return op
    if vector_in(ty.type) is not None:
        raise errors.UnsupportedType(op.location, type=ty.type, target="constants")
    return op


@dataclass(slots=True)
class _Flattener:
    """Rewrites one function; ``values`` holds the flat memrefs.

    ``sizes``: for each tag memref, the numbers per element of the copies under it.
    """

    values: dict[Value, Value] = field(default_factory=dict[Value, Value])
    sizes: dict[Value, set[int]] = field(default_factory=dict[Value, set[int]])

    def function(self, op: Operation) -> Operation:
        for inner in op.walk():
            if inner.name == "memref.dma_start":
                start = memref.DmaStart(inner)
                size = elements_of(vector_in(start.source[0].type))
                self.sizes.setdefault(start.tag[0], set()).add(size)
        ty = Function(op).type
        signature = FunctionType(
            tuple(map(flat, ty.inputs)), tuple(map(flat, ty.results))
        )
        rebuilt = op.with_blocks(self._block)
        if signature == ty:
            return rebuilt
        return undeclared(rebuilt).with_attribute("function_type", TypeAttr(signature))

    def _block(self, block: Block) -> Block:
        arguments = tuple(map(self._flat, block.arguments))
        operations: list[Operation] = []
        for op in block.operations:
            operations += self._operation(op)
        return replace(block, arguments=arguments, operations=tuple(operations))

    def _flat(self, value: Value) -> Value:
        if value.type != flat(value.type):
            self.values[value] = value.renewed(flat(value.type))
        return self.values.get(value, value)

    def _operation(self, op: Operation) -> Sequence[Operation]:
        if op.name == "memref.dma_wait":
            return self.wait(op)
        touched = [v for v in (*op.operands, *op.results) if vector_in(v.type)]
        is_known = op.dialect in _PASSING or op.name in _REWRITES
        if any(v.type != flat(v.type) for v in touched) and not is_known:
            raise errors.UnsupportedOperation.at(
                op,
                target=f"buffers of type {touched[0].type}",
                advice="Load and store whole vectors",
            )
        results = tuple(map(self._flat, op.results))
        regions = op.with_blocks(self._block).regions
        new = renamed(op, self.values).with_(results=results, regions=regions)
        rewrite = _REWRITES.get(op.name)
        if rewrite is None or not touched:
            return (new,)
        b = Builder(op.location)
        rewrite(b, op, new)
        return b.operations

    def wait(self, op: Operation) -> Sequence[Operation]:
        """A wait with the element count of the starts under its tag."""
        wait = memref.DmaWait(op)
        found = self.sizes.get(wait.tag[0], {1})
        if len(found) > 1:
            problem = "elements of several sizes are transferred under this tag"
            raise errors.UnpairedTransfer(
                op.location, what="the wait", partner="start", reason=problem
            )
        b = Builder(op.location)
        count = scaled(b, wait.num_elements, *found)
        b.operations.append(renamed(op, self.values).with_(operands=(*wait.tag, count)))
        return b.operations


Rewrite = Callable[[Builder, Operation, Operation], None]
"""Appends the replacement of an operation, given its original and flat form."""


# -- accesses --------------------------------------------------------------------------


def _access(name: str, first: int) -> Rewrite:
    """A load or a store of the element at the indices after operand ``first``."""

    def rewrite(b: Builder, old: Operation, new: Operation) -> None:
        vector = vector_in(old.operands[first].type)
        assert isinstance(vector, VectorType)
        count = len(vector.shape)
        if isinstance(old.attributes.get("map"), AffineMapAttr):
            map_ = affine.map_of(old)
            results = (*map_.results, *[Const(0)] * count)
            whole = AffineMapAttr(AffineMap(map_.num_dims, map_.num_syms, results))
            b.operations.append(new.with_(name=name).with_attribute("map", whole))
            return
        operands = (*new.operands, *[b.constant(0, INDEX)] * count)
        b.operations.append(new.with_(name=name, operands=operands, attributes={}))

    return rewrite


# -- transfers -------------------------------------------------------------------------


def _start(b: Builder, old: Operation, new: Operation) -> None:
    """Counts, strides and runs in elements; a copy begins at whole vectors."""
    before = memref.DmaStart(old)
    vector = vector_in(before.source[0].type)
    assert isinstance(vector, VectorType)
    zeros = [b.constant(0, INDEX)] * len(vector.shape)
    lengths = (before.num_elements, *before.stride)
    count, *stride = (scaled(b, n, elements_of(vector)) for n in lengths)
    ends = len(before.source), len(before.source) + len(before.target)
    source, target = new.operands[: ends[0]], new.operands[ends[0] : ends[1]]
    operands = (*source, *zeros, *target, *zeros, count, *before.tag, *stride)
    b.operations.append(new.with_(operands=operands))


# -- the rest --------------------------------------------------------------------------


def _same(b: Builder, _: Operation, new: Operation) -> None:
    """Only types change."""
    b.operations.append(new)


def _type_cast(b: Builder, _: Operation, new: Operation) -> None:
    """A buffer of vectors is one of their elements."""
    b.operations.append(new.with_(name="memref.cast"))


def _rank(b: Builder, old: Operation, new: Operation) -> None:
    rank = IntegerAttr(memref.rank(old.operands[0]), INDEX)
    b.operations.append(
        new.with_(name="arith.constant", operands=(), attributes={"value": rank})
    )


_PASSING = frozenset({"func", "cf", "scf"})
"""Dialects that pass memrefs on."""
_REWRITES: dict[str, Rewrite] = {
    "memref.load": _access("vector.load", 0),
    "memref.store": _access("vector.store", 1),
    "affine.load": _access("affine.vector_load", 0),
    "affine.store": _access("affine.vector_store", 1),
    "memref.dma_start": _start,
    "memref.rank": _rank,
    "vector.type_cast": _type_cast,
    "memref.subview": subview,
    "memref.reinterpret_cast": reinterpret,
    "memref.transpose": transpose,
    "memref.collapse_shape": reshape,
    "memref.expand_shape": reshape,
} | dict.fromkeys(
    (
        "memref.alloc",
        "memref.alloca",
        "memref.dealloc",
        "memref.dim",
        "memref.cast",
        "memref.copy",
        "memref.memory_space_cast",
        "memref.assume_alignment",
        "affine.for",
        "affine.if",
        "affine.yield",
        "arith.select",
    ),
    _same,
)
