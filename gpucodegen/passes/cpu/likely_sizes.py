"""Estimates of sizes that only a call knows, from the arrays that loops sweep over.

    affine.for %i = 0 to %n { affine.store %x, %A[%i] : memref<100xf32> }   =>  n <= 100

Every access is inside of its array, so the static extents that a loop's variable
indexes bound its iterations.  The bounds stand for the sizes where a cost model decides
whether a loop is worth threads; no transformation is legal because of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gpucodegen.dialects import affine
from gpucodegen.dialects.memref import Slice
from gpucodegen.ir.affine import linear_form
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import MemRefType
from gpucodegen.passes.framework.functions import definitions
from gpucodegen.passes.framework.indexing import Index, from_map
from gpucodegen.passes.prepare.tensors.placement import kept_dimensions


def likely_sizes(function: Operation) -> dict[Value, int]:
    """Numbers in the bounds of a function's ``affine.for`` loops that are not known.

    >>> import gpucodegen as gcg
    >>> module = gcg.parse('''
    ... func.func @clear(%A: memref<9x9xf32>, %n: index, %zero: f32) {
    ...   affine.for %i = 0 to affine_map<()[n] -> (n - 2)>()[%n] {
    ...     affine.store %zero, %A[0, %i] : memref<9x9xf32>
    ...   }
    ...   return
    ... }''')
    >>> [*likely_sizes(module.functions["clear"]).values()]
    [11]
    """
    made_by = definitions(function)
    swept: dict[Value, int] = {}
    for op in function.walk():
        for variable, extent in _swept(op, made_by):
            swept[variable] = min(extent, swept.get(variable, extent))
    found: dict[Value, int] = {}
    for op in function.walk():
        if op.name == "affine.for" and affine.For(op).iv in swept:
            loop = affine.For(op)
            for bound in from_map(loop.upper_map, loop.upper_operands):
                for value, size in _solved(bound, swept[loop.iv]):
                    found[value] = min(size, found.get(value, size))
    return found


def _solved(bound: Index, most: int) -> Iterator[tuple[Value, int]]:
    """The value that an upper bound of a loop shifts, if the bound is ``most``."""
    terms, constant = linear_form(bound.expr)
    if len(bound.values) == 1 and [*terms.values()] == [1]:
        yield bound.values[0], most - constant


def _swept(
    op: Operation, made_by: Mapping[Value, Operation]
) -> Iterator[tuple[Value, int]]:
    """Values that index a dimension of static extent, and the extent."""
    if op.name not in affine.ACCESSES:
        return
    first = 1 if op.results else 2
    for d, index in enumerate(from_map(affine.map_of(op), op.operands[first:])):
        terms, constant = linear_form(index.expr)
        extent = _extent(op.operands[first - 1], d, made_by)
        if extent is not None and len(terms) == 1 and [*terms.values()] == [1]:
            yield index.values[0], extent - constant


def _extent(buffer: Value, d: int, made_by: Mapping[Value, Operation]) -> int | None:
    """The static extent of a buffer, or else of the array that it is a part of."""
    shape = buffer.type.shape if isinstance(buffer.type, MemRefType) else ()
    if d < len(shape) and shape[d] is not None:
        return shape[d]
    part = made_by.get(buffer)
    if part is None or part.name not in ("memref.subview", "memref.cast"):
        return None
    if part.name == "memref.subview":
        d = kept_dimensions(Slice(part).sizes, shape)[d]
    return _extent(part.operands[0], d, made_by)
