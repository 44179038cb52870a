"""Tensors with borders, and tensors that are joined."""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen.dialects.memref import DYNAMIC_MARK, Mixed
from gpucodegen.ir.operation import Operation, Value, operand_segments
from gpucodegen.ir.types import INDEX, MemRefType, element_type
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.prepare.tensors.analysis.places import Buffer, Part
from gpucodegen.passes.prepare.tensors.constants import buffer_type
from gpucodegen.passes.prepare.tensors.nests import loops
from gpucodegen.passes.prepare.tensors.rewriter import Rewriter
from gpucodegen.passes.prepare.tensors.rules.structured import (
    filled,
    generated,
    transferred,
)
from gpucodegen.passes.prepare.tensors.views import dimensions, part_of, shape_of


def pad(r: Rewriter, b: Builder, op: Operation) -> None:
    """``tensor.pad``: a buffer of the border's values, and the source copied inside.

    Convolutions recognise such a buffer and read the source itself.
    """
    source = r.memref(op.operands[0])
    _, low, high = operand_segments(op, 3)
    before = _entries(op, "static_low", low)
    after = _entries(op, "static_high", high)
    sizes = dimensions(b, source)
    whole = [
        added(b, added(b, size, one), other)
        for size, one, other in zip(sizes, before, after, strict=True)
    ]
    buffer = _sized(r, b, op, whole)
    border = _border(op)
    if border is None:
        generated(r, b, op, buffer.value)
    else:
        filled(b, border, buffer.value)
    _put_inside(b, source, buffer.value, before)
    r.bind(op.result, buffer)


def _put_inside(
    b: Builder, source: Value, padded: Value, before: Sequence[Mixed]
) -> None:
    """Copy a tensor between its borders, element by element."""

    def body(inner: Builder, ivs: Sequence[Value]) -> None:
        element = element_type(source.type)
        (value,) = inner.add("memref.load", (source, *ivs), [element])
        places = [
            inner.index(Index.of(iv) + low) for iv, low in zip(ivs, before, strict=True)
        ]
        inner.add("memref.store", (value, padded, *places))

    loops(b, dimensions(b, source), body)


def _border(op: Operation) -> Value | None:
    """The value of the border, where it is made outside of the body."""
    (block,) = op.regions[0].blocks
    value = block.operations[-1].operands[0]
    inside = {v for inner in block.operations for v in inner.results}
    return None if value in inside or value in block.arguments else value


def _entries(op: Operation, name: str, values: Sequence[Value]) -> list[Mixed]:
    dynamic = iter(values)
    return [next(dynamic) if e == DYNAMIC_MARK else e for e in op.numbers(name)]


def added(b: Builder, one: Mixed, other: Mixed) -> Mixed:
    """The sum of two numbers or values."""
    if isinstance(one, int) and isinstance(other, int):
        return one + other
    if other == 0 or one == 0:
        return one if other == 0 else other
    first, second = b.index(one), b.index(other)
    return b.add("arith.addi", (first, second), [INDEX], hint="n")[0]


def _sized(r: Rewriter, b: Builder, op: Operation, sizes: Sequence[Mixed]) -> Buffer:
    """Memory for the result of an operation, whose extents are computed."""
    ty = buffer_type(op.result.type, op.location)
    assert isinstance(ty, MemRefType)
    pairs = zip(ty.shape, sizes, strict=True)
    given = [b.index(size) for known, size in pairs if known is None]
    return r.allocate(b, ty, given, op.result.name)


def concat(r: Rewriter, b: Builder, op: Operation) -> None:
    """``tensor.concat``: each input is copied to its place."""
    along = op.integer("dim")
    inputs = [r.memref(value) for value in op.operands]
    shapes = [dimensions(b, value) for value in inputs]
    offsets: list[Mixed] = [0]
    for shape in shapes:
        offsets.append(added(b, offsets[-1], shape[along]))
    whole = [*shapes[0]]
    whole[along] = offsets[-1]
    buffer = _sized(r, b, op, whole)
    for value, shape, offset in zip(inputs, shapes, offsets, strict=False):
        place = [0 if d != along else offset for d in range(len(shape))]
        part = Part(tuple(place), tuple(shape), (1,) * len(shape))
        view = part_of(b, buffer, part, shape_of(value.type))
        transferred(b, value, view.value)
    r.bind(op.result, buffer)
