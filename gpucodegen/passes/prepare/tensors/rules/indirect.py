"""Gather and scatter: slices at positions that are elements of another tensor.

    result[outer, slice] = source[positions[outer], slice]

A slice has all dimensions of the whole, of extent 1 where a position is given, or only
the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import INDEX, IndexType, element_type
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.prepare.tensors.analysis.conflicts import Write
from gpucodegen.passes.prepare.tensors.nests import loops
from gpucodegen.passes.prepare.tensors.rewriter import Rewriter
from gpucodegen.passes.prepare.tensors.rules.structured import elementwise, positions
from gpucodegen.passes.prepare.tensors.rules.values import made
from gpucodegen.passes.prepare.tensors.views import dimensions, shape_of


def gather(r: Rewriter, b: Builder, op: Operation) -> None:
    """``tensor.gather``: every element of the result is loaded."""
    source, places = map(r.memref, op.operands)
    buffer = _result(r, b, op, source, places)
    dims, rank = op.numbers("gather_dims"), len(shape_of(source.type))

    def body(inner: Builder, given: Sequence[Value]) -> Value:
        del given
        ivs = positions(inner, len(shape_of(buffer.type)))
        indices = _indices(inner, places, dims, rank, ivs)
        return inner.add(
            "memref.load", (source, *indices), [element_type(source.type)]
        )[0]

    elementwise(b, (), buffer, body)


def _result(
    r: Rewriter, b: Builder, op: Operation, source: Value, places: Value
) -> Value:
    """Memory for the result; its open extents are the operands' ones."""
    shape = shape_of(op.result.type)
    outer = dimensions(b, places)[:-1]
    dims = op.numbers("gather_dims")
    whole = dimensions(b, source)
    inner = [1 if d in dims else n for d, n in enumerate(whole)]
    if len(outer) + len(inner) != len(shape):
        inner = [n for d, n in enumerate(whole) if d not in dims]
    sizes = [*outer, *inner]
    given = tuple(
        b.index(size) for size, n in zip(sizes, shape, strict=True) if n is None
    )
    return made(r, b, op.with_(operands=given)).value


def scatter(r: Rewriter, b: Builder, op: Operation) -> None:
    """``tensor.scatter``: every element of the slices is stored."""
    into = r.writable(b, Write(op, 1))
    source, places = r.memref(op.operands[0]), r.memref(op.operands[2])
    dims, rank = op.numbers("scatter_dims"), len(shape_of(into.value.type))

    def body(inner: Builder, ivs: Sequence[Value]) -> None:
        indices = _indices(inner, places, dims, rank, ivs)
        element = element_type(source.type)
        (value,) = inner.add("memref.load", (source, *ivs), [element])
        inner.add("memref.store", (value, into.value, *indices))

    loops(b, dimensions(b, source), body)
    r.bind(op.result, into)


def _indices(
    b: Builder, places: Value, dims: Sequence[int], rank: int, ivs: Sequence[Value]
) -> list[Value]:
    """Where an element of a slice lies in the whole."""
    outer = len(shape_of(places.type)) - 1
    inner = list(ivs[outer:])
    is_full = len(inner) == rank
    load = _loader(b, places, ivs[:outer])
    indices: list[Value] = []
    for d in range(rank):
        if d in dims:
            indices.append(load(list(dims).index(d)))
            inner = inner[1:] if is_full else inner
        else:
            indices.append(inner[0])
            inner = inner[1:]
    return indices


def _loader(b: Builder, places: Value, at: Sequence[Value]) -> Callable[[int], Value]:
    element = element_type(places.type)

    def load(number: int) -> Value:
        which = b.constant(number, INDEX)
        (value,) = b.add("memref.load", (places, *at, which), [element])
        if isinstance(element, IndexType):
            return value
        return b.add("arith.index_cast", (value,), [INDEX])[0]

    return load
