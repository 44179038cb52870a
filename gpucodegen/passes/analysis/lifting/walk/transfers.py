"""Transfers of a block, and copies of a thread, as asynchronous accesses.

Rule (DESIGN section 4): a transfer may read its source and write its destination at any
moment from its start to the matching wait.  ``count`` elements leave the source in
row-major logical order, in runs of ``run`` elements that lie ``stride`` apart on the
strided side; the other side is one run.  A copy of a thread moves elements of one row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gpucodegen.dialects.nvgpu.copies import AsyncCopy
from gpucodegen.dialects.shared.dma import (
    End,
    ends_of,
    has_strided_source,
    is_joined,
    lengths_of,
    tag_of,
)
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import MemRefType
from gpucodegen.passes.analysis.lifting.environment import Environment, Text
from gpucodegen.passes.analysis.lifting.values.accesses import READ, WRITE, cell, whole
from gpucodegen.passes.analysis.lifting.values.expressions import map_texts
from gpucodegen.tiling.model.isl import always_holds
from gpucodegen.tiling.model.scop import Access, AccessKind, Statement, Tag


def start_statement(op: Operation, env: Environment, name: str) -> Statement:
    """The statement of a ``dma_start``: its accesses last until the wait."""
    source, target, tag = ends_of(op)
    count, *strided = env.all_texts(lengths_of(op))
    whole_run = _Run(count, count, None)
    runs = [whole_run, whole_run]
    if strided:
        stride, run = strided
        side = 0 if has_strided_source(source.memref, target.memref) else 1
        runs[side] = _Run(count, run, stride)
    accesses = (
        _access(op, env, source, runs[0], READ),
        _access(op, env, target, runs[1], WRITE),
    )
    at, tag_ = op.location, _tag(tag, env)
    return Statement(name, accesses, tag=tag_, loc=at, joined=is_joined(op))


def copy_statement(op: Operation, env: Environment, name: str) -> Statement:
    """The statement of a copy that belongs to a group of its thread."""
    view = AsyncCopy(op)
    given = str(view.count) if view.given is None else env.text(view.given)
    sides = (
        (view.source, view.source_indices, given, READ),
        (view.target, view.target_indices, str(view.count), WRITE),
    )
    accesses = tuple(_row_part(op, env, *side) for side in sides)
    return Statement(name, accesses, loc=op.location, grouped=True)


def _row_part(
    op: Operation,
    env: Environment,
    memref: Value,
    indices: Sequence[Value],
    count: Text,
    kind: AccessKind,
) -> Access:
    """``count`` elements of a row from some indices on."""
    texts, span = [env.text(v) for v in indices], ()
    if texts and texts[-1] is not None and count != "1":
        lane = env.names.fresh("lane")
        texts[-1], span = f"{texts[-1]} + {lane}", ((lane, count),)
    found = cell(env, op, memref, texts, kind)
    return replace(found, span=(*found.span, *span), must=False)


def wait_tag(op: Operation, env: Environment) -> Tag:
    """The tag of a ``dma_wait``."""
    return _tag(tag_of(op), env)


def _tag(end: End, env: Environment) -> Tag:
    array, texts = env.resolve(end.memref, _texts(end, env))
    return Tag(array.name, texts)


def _texts(end: End, env: Environment) -> tuple[Text, ...]:
    return map_texts(end.map, env.all_texts(end.operands))


@dataclass(frozen=True, slots=True)
class _Run:
    """``count`` elements in runs of ``run`` that start ``stride`` apart."""

    count: Text
    run: Text
    stride: Text


def _access(
    op: Operation, env: Environment, end: End, run: _Run, kind: AccessKind
) -> Access:
    found = None if end.memref in env.views else _covered(end, run, env)
    if found is None:
        (access,) = whole(env, op, end.memref, (kind,))
        return access
    cells, span = found
    array, resolved = env.resolve(end.memref, cells)
    return Access(array.name, kind, resolved, span=span, loc=op.location)


Covered = tuple[tuple[Text, ...], tuple[tuple[str, str], ...]]


def _covered(end: End, run: _Run, env: Environment) -> Covered | None:
    """Cells of a run in logical row-major order, or None when not expressible."""
    start, rank = _texts(end, env), len(end.map.results)
    if run.count is None or run.run is None or not rank or None in start:
        return None
    row_length = _extent(end.memref, rank - 1, env)
    if run.run == run.count:
        return _linear(start, row_length, run.count, env)
    if rank < 2 or run.stride != row_length:
        return None
    rows = _quotient(run.count, run.run)
    if rows is None:
        return None
    return _rows(start, rows, f"{start[-1]} + ", run.run, env)


def _extent(memref: Value, dimension: int, env: Environment) -> Text:
    shape = memref.type.shape if isinstance(memref.type, MemRefType) else ()
    extent = shape[dimension] if shape else None
    return env.extent(memref, dimension) if extent is None else str(extent)


def _rows(
    start: Sequence[Text], rows: str, column: str, run: str, env: Environment
) -> Covered:
    """``rows`` rows from the start on, and ``run`` elements of each."""
    lane, row = env.names.fresh("lane"), env.names.fresh("row")
    cells = (*start[:-2], f"{start[-2]} + {row}", f"{column}{lane}")
    return cells, ((row, rows), (lane, run))


def _linear(
    start: Sequence[Text], row_length: Text, count: str, env: Environment
) -> Covered | None:
    """``count`` consecutive elements: whole rows from column 0, or part of one row."""
    rows = _quotient(count, row_length)
    if len(start) >= 2 and start[-1] == "0" and rows is not None:
        return _rows(start, rows, "", str(row_length), env)
    if len(start) >= 2 and not _stays_in_row(start[-1], count, row_length, env):
        return None
    lane = env.names.fresh("lane")
    return (*start[:-1], f"{start[-1]} + {lane}"), ((lane, count),)


def _quotient(count: Text, length: Text) -> str | None:
    """``count / length`` where both are numbers and it is one, too."""
    if count is None or length is None or not (count + length).isdecimal():
        return None
    whole, rest = divmod(int(count), int(length) or 1)
    return str(whole) if whole and not rest else None


def _stays_in_row(column: Text, count: str, row_length: Text, env: Environment) -> bool:
    """Whether a run certainly ends before the row does: column + count <= length."""
    if column is None or row_length is None:
        return False
    return always_holds(f"{column} + {count} <= {row_length}", env.inside)
