"""Parts of tensors: a part that is taken out is a view of its buffer."""

from __future__ import annotations

from dataclasses import replace

from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import VectorType
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.prepare.tensors.analysis.conflicts import Write
from gpucodegen.passes.prepare.tensors.analysis.places import Buffer, Part
from gpucodegen.passes.prepare.tensors.rewriter import Rewriter
from gpucodegen.passes.prepare.tensors.views import part_of, shape_of


def extract_slice(r: Rewriter, b: Builder, op: Operation) -> None:
    """``tensor.extract_slice``: a view."""
    source, part = r.buffers[op.operands[0]], r.conflicts.part(op)
    view = part_of(b, source, part, shape_of(op.result.type))
    if op.operands[0] in r.conflicts.undefined:
        r.conflicts.undefined.add(op.result)
    r.bind(op.result, view)


def insert_slice(r: Rewriter, b: Builder, op: Operation) -> None:
    """``tensor.insert_slice``: a copy, unless the part was made where it belongs."""
    source, part = op.operands[0], r.conflicts.part(op)
    held = _apart_from(r, b, op, part)
    into = r.writable(b, Write(op, 1, part, settled=frozenset({0})))
    put(b, held or r.buffers[source], into, part)
    r.bind(op.result, into)


def _apart_from(r: Rewriter, b: Builder, op: Operation, part: Part) -> Buffer | None:
    """A copy of what is put in, where it overlaps with the place that it goes to."""
    source, target = (r.buffers[v] for v in op.operands[:2])
    is_there = source.is_at(target, part) or source.misses(target, its=part)
    return None if is_there else r.copied(b, op.operands[0])


def put(b: Builder, source: Buffer, into: Buffer, part: Part) -> None:
    """Copy a tensor to a part of a buffer."""
    if source.is_at(into, part):
        return
    view = part_of(b, into, part, shape_of(source.value.type))
    b.add("memref.copy", (source.value, view.value))


def insert(r: Rewriter, b: Builder, op: Operation) -> None:
    """``tensor.insert``: a store into the updated tensor."""
    scalar, _, *indices = op.operands
    into = r.writable(b, Write(op, 1))
    b.add("memref.store", (scalar, into.value, *indices))
    r.bind(op.result, into)


def transfer_write(r: Rewriter, b: Builder, op: Operation) -> None:
    """``vector.transfer_write`` into a tensor."""
    start = len(b.operations)
    into = r.writable(b, Write(op, 1))
    _before_vectors(b, start)
    operands: tuple[Value, ...] = (op.operands[0], into.value, *op.operands[2:])
    b.operations.append(replace(op, operands=operands, results=()))
    r.bind(op.result, into)


def _before_vectors(b: Builder, start: int) -> None:
    """Put what was built from ``start`` on in front of the first vector here.

    Vectors live in kernels, and copies of whole buffers do not.  The contents of a
    tensor are there from the beginning, as nothing has overwritten them.
    """
    before, built = b.operations[:start], b.operations[start:]
    first = next((n for n, op in enumerate(before) if _has_vectors(op)), start)
    later = {v for op in before[first:] for v in op.results}
    if not any(v in later for op in built for v in op.operands):
        b.operations[:] = [*before[:first], *built, *before[first:]]


def _has_vectors(op: Operation) -> bool:
    return any(isinstance(v.type, VectorType) for v in op.results)


def reading(r: Rewriter, b: Builder, op: Operation) -> None:
    """An operation that looks at tensors and makes none."""
    b.operations.append(op.with_(operands=tuple(map(r.memref, op.operands))))
