"""Histogram privatization on the GPU: each block updates copies in shared memory.

    own[..][copy] = the neutral element           (in shared memory, all threads)
    barrier
    for pieces of the iterations, block by block: each thread some neighbours
      atomic  own[f(i)][thread mod copies] OP= x  (where f(i) is privatized, and
      atomic  C[f(i)] OP= x                        elsewhere)
    barrier
    atomic  C[..] OP= own[..][0] OP own[..][1] ..

Loops qualify if their iterations only update elements of arrays of known extent, in any
order, and nothing reads the old values.  Blocks sum partial sums, so the order of float
sums must be free.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import prod

from gpucodegen.dialects.arith import compare
from gpucodegen.dialects.gcg import update_notes_of, with_update_note
from gpucodegen.dialects.memref import static_extents
from gpucodegen.dialects.shared.combiners import OF_ATOMICS, Combiner, atomic_kind
from gpucodegen.ir.operation import (
    Operation,
    Region,
    Value,
    clone,
    rewrite_bottom_up,
    single_block,
)
from gpucodegen.ir.types import INDEX, MemRefType, element_bytes, element_type
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.functions import has_no_effect
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.framework.nests import inner_operations
from gpucodegen.passes.gpu.elementwise import (
    DEEPEST,
    Grouped,
    Sweep,
    iterations,
    moved,
    sweeps,
)
from gpucodegen.passes.gpu.nest_mapping import Nest, Rows, parallel_chain, trip_count
from gpucodegen.passes.loops.histogram_privatization import UPDATE, update
from gpucodegen.passes.outlining.gpu_launch import SHARED, KernelBody, thread_index
from gpucodegen.passes.prepare.vectors.boxes import when
from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.gpu.devices import WARP
from gpucodegen.tiling.machine.gpu.product_plan import device_for, room_of
from gpucodegen.tiling.machine.gpu.scatters import (
    Cells,
    ScatterLoop,
    ScatterPlan,
    blocks_of,
    comparison,
    is_native,
    plan_scatter,
)

Rewrite = Callable[[Operation], list[Operation]]
"""The replacement of an update."""
_HARMLESS = frozenset(
    {
        *("affine.load", "memref.load", "vector.load"),
        *("affine.for", "affine.if", "scf.for", "scf.if"),
        *("affine.yield", "scf.yield"),
    }
)
"""Operations that may stand beside updates, besides pure ones."""


@dataclass(frozen=True)
class Updates:
    """A parallel nest of updates; ``kinds``: the combining operation of each buffer."""

    sweep: Sweep
    kinds: Mapping[Value, Combiner]

    @property
    def iterations(self) -> int:
        """Of all loops together, or an estimate."""
        return prod(map(iterations, (*self.sweep.rows, self.sweep.loop)))

    @property
    def loop(self) -> ScatterLoop:
        streams = [self.sweep.stream(op) for op in self.sweep.addresses]
        return ScatterLoop(
            self.iterations,
            tuple(map(self._cells, self.kinds)),
            sum(stream.element for stream in streams),
            tuple(sorted({1, *(w for s in streams for w, n in s.widths if n == w)})),
            self.sweep.operations,
        )

    def _cells(self, buffer: Value) -> Cells:
        kind, bytes_ = self.kinds[buffer], element_bytes(element_type(buffer.type)) or 1
        made = sum(op.operands[1] is buffer for op in _updates(self.sweep.body))
        return Cells(
            prod(static_extents(buffer)),
            bytes_,
            made,
            is_native(kind.operation, bytes_),
        )

    def with_updates(self, rewrites: Mapping[Value, Rewrite]) -> Sweep:
        """The sweep with other updates of each buffer."""

        def rewrite(op: Operation) -> list[Operation] | None:
            return rewrites[op.operands[1]](op) if op.name == UPDATE else None

        body = [n for op in self.sweep.body for n in rewrite_bottom_up(op, rewrite)]
        return replace(self.sweep, body=body)


def updates_of(nest: Nest) -> Updates | str | None:
    """The nest, if it only makes such updates; else a reason.

    None for a nest that is not parallel, or without updates.
    """
    sweep = _sweep(nest) if _updates([nest.op]) else None
    if sweep is None:
        return None
    if not is_counted(sweep):
        return "how many iterations inner loops have is not known"
    inner = [o for op in sweep.body for o in op.walk()]
    known = _Body(
        frozenset(v for op in inner for v in op.used),
        frozenset(v for op in nest.op.walk() for v in op.results),
        nest.mapper.order.relaxed,
    )
    kinds: dict[Value, Combiner] = {}
    for op in inner:
        objection = known.objection(op, kinds)
        if objection:
            return objection
    return Updates(sweep, kinds)


def is_counted(sweep: Sweep) -> bool:
    """Whether the number of a group determines its iterations."""
    rows = Rows(sweep.rows)
    is_known = trip_count(sweep.loop).constant is not None
    return not rows.loops or (is_known and rows.is_counted)


def _updates(operations: Sequence[Operation]) -> list[Operation]:
    return [o for op in operations for o in op.walk() if o.name == UPDATE]


def _sweep(nest: Nest) -> Sweep | None:
    """The nest along the loop with the most contiguous loads, or the innermost."""
    found = list(
        sweeps(
            nest.op, nest.analysis, nest.definitions, nest.mapper.surroundings.aliases
        )
    )
    if found:
        return max(found, key=lambda sweep: (sweep.contiguous, sweep.number))
    chain = parallel_chain(nest.op, nest.analysis, DEEPEST)
    if not chain:
        return None
    body = inner_operations(chain[-1].operation)
    return Sweep(len(chain) - 1, tuple(chain), body, nest.definitions)


@dataclass(frozen=True, slots=True)
class _Body:
    """Values that iterations use and define; ``relaxed``: any order of float sums."""

    used: frozenset[Value]
    made: frozenset[Value]
    relaxed: bool

    def objection(self, op: Operation, kinds: dict[Value, Combiner]) -> str:
        """Why an operation prevents privatization; updates are added to ``kinds``."""
        if op.name != UPDATE:
            is_harmless = op.name in _HARMLESS or has_no_effect(op)
            return "" if is_harmless else f"iterations do {op.name}, too"
        buffer, kind = op.operands[1], OF_ATOMICS.get(atomic_kind(op))
        if kind is None:
            return "the last one of some values stays"
        reasons = {
            "an old value is used": op.result in self.used,
            "the number of cells is not known": not _has_cells(buffer),
            "an iteration makes the cells": buffer in self.made,
            "cells are updated in several ways": kinds.setdefault(buffer, kind) != kind,
            "the order of sums is not free": kind.is_ordered and not self.relaxed,
        }
        return next((reason for reason, holds in reasons.items() if holds), "")


def _has_cells(buffer: Value) -> bool:
    """Whether a buffer is in global memory with a static number of cells."""
    ty = buffer.type
    if not isinstance(ty, MemRefType) or ty.memory_space is not None:
        return False
    return None not in ty.shape and 0 not in ty.shape


@dataclass(frozen=True, slots=True)
class PrivateCopies:
    """``copies`` of the cells of a ``buffer``; a thread updates its ``copy``.

    Copies of a cell are adjacent, so neighbouring threads use different banks.
    """

    buffer: Value
    own: Value
    kind: Combiner
    copies: int
    copy: Value

    @staticmethod
    def allocated(
        b: Builder, buffer: Value, kind: Combiner, copies: int, copy: Value
    ) -> PrivateCopies:
        """The copies, uninitialised."""
        ty = element_type(buffer.type)
        shared = MemRefType((*static_extents(buffer), copies), ty, None, SHARED)
        own = b.allocate("memref.alloca", shared, "own")
        return PrivateCopies(buffer, own, kind, copies, copy)

    def fill(self, b: Builder, thread: Value, threads: int) -> None:
        """Initialise all copies with the neutral element."""
        neutral = self._neutral(b)
        self._each(
            b,
            (*static_extents(self.buffer), self.copies),
            (thread, threads),
            lambda i, at: i.store(neutral, self.own, at),
        )

    def update(self, op: Operation) -> list[Operation]:
        """An update of the buffer as one of a copy, where the cell has one.

        Elsewhere the update is unchanged.
        """
        b = Builder(op.location)
        value, _, *at = op.operands
        inside = [
            self._less(b, index, extent)
            for index, extent in zip(at, static_extents(self.buffer), strict=True)
        ]
        word = self.kind.atomic
        own = b.nested(lambda i: update(i, word, value, self.own, [*at, self.copy]))
        if not inside:
            return own
        holds = inside[0]
        for more in inside[1:]:
            (holds,) = b.add("arith.andi", (holds, more), [holds.type])
        branches = [_branch(own), _branch([op])]
        b.add("scf.if", (holds,), (), {}, branches)
        return b.operations

    def send(self, b: Builder, thread: Value, threads: int, reason: str) -> None:
        """Combine the copies of each cell, and update that of the buffer.

        Neutral integers are not sent.  ``reason``: why cells are privatized, as a note
        on the update.
        """

        def one(i: Builder, at: Sequence[Value]) -> None:
            total = self._total(i, at, thread)
            changes: list[Value] = []
            if not self.kind.is_float:
                neutral = self._neutral(i)
                differs = compare("arith.cmpi", "ne", total, neutral)
                i.operations.append(differs)
                changes += differs.results
            word = self.kind.atomic
            sent = i.nested(lambda j: update(j, word, total, self.buffer, at))
            noted = [with_update_note(op, self._where, reason) for op in sent]
            when(i, changes, lambda j: j.operations.extend(noted))

        self._each(b, static_extents(self.buffer), (thread, threads), one)

    @property
    def _where(self) -> str:
        more = f", {self.copies} copies" if self.copies > 1 else ""
        return f"each block has cells of its own{more}"

    def _total(self, b: Builder, at: Sequence[Value], thread: Value) -> Value:
        """All copies of a cell combined.

        Neighbours whose cells begin in one bank begin with different copies.
        """
        first = Index.of(thread) // (WARP // self.copies)

        def more(i: Builder, number: Value, now: Sequence[Value]) -> Sequence[Value]:
            copy = (first + number) % self.copies
            term = i.load(self.own, [*at, copy])
            return i.add(self.kind.name, (*now, term), [term.type])

        start = b.load(self.own, [*at, first % self.copies])
        return b.carried_loop(1, self.copies, [start], more, hint="copy")[0]

    def _neutral(self, b: Builder) -> Value:
        element = element_type(self.own.type)
        return b.constant(self.kind.neutral_of(element), element)

    @staticmethod
    def _less(b: Builder, index: Value, extent: int) -> Value:
        most = b.constant(extent, INDEX)
        op = compare("arith.cmpi", "ult", index, most, location=b.location)
        b.operations.append(op)
        return op.result

    @staticmethod
    def _each(
        b: Builder,
        shape: Sequence[int],
        dealt: tuple[Value, int],
        body: Callable[[Builder, Sequence[Value]], None],
    ) -> None:
        """Run the body for each position of a shape, distributed over the threads."""
        thread, threads = dealt

        def one(i: Builder, number: Value) -> None:
            body(i, positions(i, number, shape))

        b.loop(thread, prod(shape), one, step=threads, hint="cell")


def positions(b: Builder, number: Value, shape: Sequence[int]) -> list[Value]:
    """The indices of an element from its row-major number."""
    found: list[Value] = []
    rest = Index.of(number)
    for at, extent in reversed(list(enumerate(shape))):
        found.insert(0, b.index(rest % extent if at else rest, "at"))
        rest = rest // extent
    return found


def _branch(operations: Sequence[Operation]) -> Region:
    location = operations[0].location
    return single_block([*operations, Operation("scf.yield", location=location)])


@dataclass(frozen=True, slots=True)
class Pieces:
    """Groups of neighbours along x, row after row; a piece has some for each thread."""

    sweep: Sweep
    plan: ScatterPlan

    def walk(self, b: Builder, thread: Value, block: Value, blocks: int) -> None:
        """The pieces of a block; partial groups go element by element."""
        plan, loop = self.plan, self.sweep.loop
        together = moved(self.sweep, plan.width)
        grouped = Grouped(loop.iv, self.sweep.body, plan.width, together)

        def piece(i: Builder, number: Value) -> None:
            start = Index.of(number) * (plan.threads * plan.groups) + thread
            each: list[dict[Value, Value]] = []
            limits: list[Index] = []
            for group in range(plan.groups):
                places, exist = self._places(i, start + group * plan.threads)
                each.append(places)
                limits += exist
            i.guard(
                limits,
                lambda full: grouped.build(full, each),
                lambda few: self._singly(few, start),
            )

        pieces = self._groups.ceildiv(plan.threads * plan.groups)
        b.loop(block, pieces, piece, step=blocks, hint="piece")

    @property
    def _first(self) -> int:
        """The start of a row's groups, which may precede the row."""
        return self.sweep.first(self.plan.width)

    @property
    def _per_row(self) -> Index:
        """Groups of a row: a number, if there are several rows."""
        return (trip_count(self.sweep.loop) - self._first).ceildiv(self.plan.width)

    @property
    def _groups(self) -> Index:
        """The number of groups of all rows."""
        return Rows(self.sweep.rows).count * self._per_row

    def _places(
        self, b: Builder, group: Index, lane: Value | None = None
    ) -> tuple[dict[Value, Value], list[Index]]:
        """The variables of a group's first iteration, or of that of a lane.

        Also expressions that are >= 0 where all of the group, or this iteration, exist.
        """
        loop, rows = self.sweep.loop, self.sweep.rows
        places: dict[Value, Value] = {}
        limits, column = [self._groups - 1 - group], group
        if rows:
            number = Index.of(b.index(group // self._per_row, "row"))
            column = group - number * self._per_row
            limits += Rows(rows).place(b, number, places)
        ahead = column * self.plan.width + self._first
        ahead, others = (
            (ahead, self.plan.width - 1) if lane is None else (ahead + lane, 0)
        )
        iv = b.index(loop.lower + ahead * loop.step, loop.iv.name)
        places[loop.iv] = iv
        limits += [upper - 1 - others * loop.step - iv for upper in loop.uppers]
        limits += [Index.of(iv) - loop.lower] if self._first else []
        return places, limits

    def _singly(self, b: Builder, start: Index) -> None:
        """The existing iterations of a thread, one after the other."""
        plan = self.plan

        def group(i: Builder, number: Value) -> None:
            at = start + Index.of(number) * plan.threads
            i.loop(0, plan.width, lambda j, lane: one(j, at, lane), hint="lane")

        def one(i: Builder, at: Index, lane: Value) -> None:
            places, limits = self._places(i, at, lane)
            i.guard(
                limits,
                lambda j: j.operations.extend(
                    clone(op, known)
                    for known in (dict(places),)
                    for op in self.sweep.body
                ),
            )

        b.loop(0, plan.groups, group, hint="group")


def map_histograms(nest: Nest) -> list[Operation] | None:
    """The kernel of a loop of updates, if privatization pays.

    Otherwise the nest is mapped by another kind, with a note of the reason.
    """
    found, mapper = updates_of(nest), nest.mapper
    if found is None or any(update_notes_of([nest.op])):
        return None
    if isinstance(found, str):
        return _in_global(nest, found)
    room, device = room_of(device_for(mapper.arch)), mapper.device
    choose = mapper.plans.of("scatter")
    plan = plan_scatter(found.loop, room, device=device, choose=choose)
    reason = comparison(plan, found.loop, room, device)
    if not plan.owns:
        return _in_global(nest, reason)
    blocks = blocks_of(plan, found.iterations, device)
    return mapper.launch(_kernel(found, plan, blocks, reason))


def _in_global(nest: Nest, reason: str) -> list[Operation]:
    """The nest mapped by another kind, with a note."""

    def noted(op: Operation) -> list[Operation] | None:
        return (
            [with_update_note(op, "global memory", reason)]
            if op.name == UPDATE
            else None
        )

    (op,) = rewrite_bottom_up(nest.op, noted)
    return nest.mapper.nest(nest.of(op))


def _kernel(found: Updates, plan: ScatterPlan, blocks: int, reason: str) -> KernelBody:
    b = Builder(found.sweep.loop.operation.location)
    thread = thread_index(b, "thread_id", "x", "tx")
    block = thread_index(b, "block_id", "x", "bx")
    copy = b.index(Index.of(thread) % plan.copies, "copy")
    cells = [
        PrivateCopies.allocated(b, buffer, kind, plan.copies, copy)
        for buffer, kind in found.kinds.items()
    ]
    for own in cells:
        own.fill(b, thread, plan.threads)
    b.add("gpu.barrier")
    sweep = found.with_updates({own.buffer: own.update for own in cells})
    Pieces(sweep, plan).walk(b, thread, block, blocks)
    b.add("gpu.barrier")
    for own in cells:
        own.send(b, thread, plan.threads, reason)
    grid = Index.of(blocks), Index.of(1), Index.of(1)
    return KernelBody((*sweep.views, *b.operations), grid, (plan.threads, 1, 1))
