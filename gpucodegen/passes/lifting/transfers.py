"""dma_start and dma_wait as asynchronous accesses.

Rule (DESIGN section 4): a transfer may read its source and write its destination at any
moment from its start to the matching wait.  ``count`` elements leave the source in
row-major logical order, in runs of ``run`` elements that lie ``stride`` apart on the
strided side; the other side is one run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import MemRefType
from gpucodegen.passes.lifting.accesses import READ, WRITE, constant_of, whole
from gpucodegen.passes.lifting.environment import Environment, Text
from gpucodegen.tiling.scop import Access, AccessKind, Statement, Tag


@dataclass(frozen=True, slots=True)
class Transfer:
    """Operands of a ``memref.dma_start`` by role."""

    source: Value
    source_indices: tuple[Value, ...]
    target: Value
    target_indices: tuple[Value, ...]
    count: Value
    tag: Value
    tag_indices: tuple[Value, ...]
    stride: Value | None
    run: Value | None

    @staticmethod
    def of(op: Operation) -> Transfer:
        """Split the flat operand list by the ranks of the memrefs."""
        rest = list(op.operands)

        def take(count: int) -> tuple[Value, ...]:
            taken = tuple(rest[:count])
            del rest[:count]
            return taken

        def take_memref() -> tuple[Value, tuple[Value, ...]]:
            (memref,) = take(1)
            return memref, take(_rank(memref))

        source, source_indices = take_memref()
        target, target_indices = take_memref()
        (count,) = take(1)
        tag, tag_indices = take_memref()
        stride, run = rest or (None, None)
        return Transfer(
            source,
            source_indices,
            target,
            target_indices,
            count,
            tag,
            tag_indices,
            stride,
            run,
        )

    @property
    def strided_source(self) -> bool:
        """Whether the stride applies to the source: the side with the larger rows.

        The strided side is the one in the slower memory space; with equal spaces it
        is the source.
        """
        return not (_space(self.source) and not _space(self.target))


def _rank(memref: Value) -> int:
    return memref.type.rank if isinstance(memref.type, MemRefType) else 0


def _space(memref: Value) -> int:
    space = getattr(memref.type, "memory_space", None)
    value = getattr(space, "value", None)
    return value if isinstance(value, int) else int(space is not None)


def start_statement(
    op: Operation, env: Environment, name: str, definitions: dict[Value, Operation]
) -> Statement:
    """The statement of a ``memref.dma_start``: its accesses last until the wait."""
    transfer = Transfer.of(op)
    count = constant_of(transfer.count, definitions)
    run = None if transfer.run is None else constant_of(transfer.run, definitions)
    stride = (
        None if transfer.stride is None else constant_of(transfer.stride, definitions)
    )
    source, target = _Run(count, count, None), _Run(count, count, None)
    if transfer.stride is not None:
        strided = _Run(count, run, stride)
        source, target = (
            (strided, target) if transfer.strided_source else (source, strided)
        )
    accesses = (
        _access(op, env, transfer.source, transfer.source_indices, source, READ),
        _access(op, env, transfer.target, transfer.target_indices, target, WRITE),
    )
    return Statement(
        name,
        accesses,
        tag=tag_of(transfer.tag, transfer.tag_indices, env),
        loc=op.location,
    )


def tag_of(memref: Value, indices: Sequence[Value], env: Environment) -> Tag:
    """The tag cell an operation names."""
    array, texts = env.resolve(memref, env.all_texts(indices))
    return Tag(array.name, texts)


def wait_tag(op: Operation, env: Environment) -> Tag:
    """The tag of a ``memref.dma_wait``."""
    memref = op.operands[0]
    return tag_of(memref, op.operands[1 : 1 + _rank(memref)], env)


@dataclass(frozen=True, slots=True)
class _Run:
    """``count`` elements in runs of ``run`` that start ``stride`` apart."""

    count: int | None
    run: int | None
    stride: int | None


def _access(
    op: Operation,
    env: Environment,
    memref: Value,
    indices: Sequence[Value],
    run: _Run,
    kind: AccessKind,
) -> Access:
    texts = env.all_texts(indices)
    shape = memref.type.shape if isinstance(memref.type, MemRefType) else ()
    found = _covered(texts, shape, run, env)
    if found is None or memref in env.views:
        (access,) = whole(env, op, memref, (kind,))
        return access
    cells, span = found
    array, resolved = env.resolve(memref, cells)
    return Access(array.name, kind, resolved, span=span, loc=op.location)


Covered = tuple[tuple[Text, ...], tuple[tuple[str, str], ...]]


def _covered(
    start: Sequence[Text], shape: Sequence[int | None], run: _Run, env: Environment
) -> Covered | None:
    """Cells of a run in logical row-major order, or None when not expressible."""
    if run.count is None or run.run is None or not shape or None in start:
        return None
    if run.run <= 0 or run.count % run.run:
        return None
    rows = run.count // run.run
    row_length = shape[-1]
    if rows == 1:
        return _linear(start, shape, run.count, env)
    if run.stride != row_length or len(shape) < 2:
        return None
    lane, row = env.names.fresh("lane"), env.names.fresh("row")
    cells = (*start[:-2], f"{start[-2]} + {row}", f"{start[-1]} + {lane}")
    return cells, ((row, str(rows)), (lane, str(run.run)))


def _linear(
    start: Sequence[Text], shape: Sequence[int | None], count: int, env: Environment
) -> Covered | None:
    """``count`` consecutive elements: whole rows from column 0, or part of one row."""
    row_length = shape[-1]
    if len(shape) >= 2 and start[-1] == "0" and row_length and count % row_length == 0:
        row, lane = env.names.fresh("row"), env.names.fresh("lane")
        cells = (*start[:-2], f"{start[-2]} + {row}", lane)
        return cells, ((row, str(count // row_length)), (lane, str(row_length)))
    if len(shape) >= 2 and not _stays_in_row(start[-1], count, row_length):
        return None
    lane = env.names.fresh("lane")
    return (*start[:-1], f"{start[-1]} + {lane}"), ((lane, str(count)),)


def _stays_in_row(column: Text, count: int, row_length: int | None) -> bool:
    """Whether a run certainly ends before the row does."""
    known = column is not None and column.isdecimal() and row_length is not None
    return known and int(column or 0) + count <= (row_length or 0)
