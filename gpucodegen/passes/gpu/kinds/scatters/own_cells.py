"""Cells of a block in shared memory: copies of those of a buffer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from gpucodegen.dialects.arith import compare
from gpucodegen.dialects.gcg import with_update_note
from gpucodegen.dialects.shared.combiners import Combiner
from gpucodegen.ir.operation import Operation, Region, Value, single_block
from gpucodegen.ir.types import INDEX, MemRefType, element_type
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.gpu.kinds.scatters.problem import extents
from gpucodegen.passes.gpu.launches.gpu_launch import SHARED
from gpucodegen.passes.loops.scatter.atomic_updates import update
from gpucodegen.passes.prepare.vectors.boxes import when
from gpucodegen.tiling.machine.gpu.devices import WARP


@dataclass(frozen=True, slots=True)
class OwnCells:
    """``copies`` of the cells of a ``buffer``; a thread updates those of its ``copy``.

    Copies of a cell lie side by side, so that neighbouring threads use other banks.
    """

    buffer: Value
    own: Value
    kind: Combiner
    copies: int
    copy: Value

    @staticmethod
    def allocated(
        b: Builder, buffer: Value, kind: Combiner, copies: int, copy: Value
    ) -> OwnCells:
        """The cells, with no values yet."""
        ty = element_type(buffer.type)
        shared = MemRefType((*extents(buffer), copies), ty, None, SHARED)
        own = b.allocate("memref.alloca", shared, "own")
        return OwnCells(buffer, own, kind, copies, copy)

    def fill(self, b: Builder, thread: Value, threads: int) -> None:
        """Give all of them the value that changes nothing."""
        neutral = self._neutral(b)
        self._each(
            b,
            (*extents(self.buffer), self.copies),
            (thread, threads),
            lambda i, at: i.store(neutral, self.own, at),
        )

    def update(self, op: Operation) -> list[Operation]:
        """An update of the buffer as one of these cells, where it is of a cell.

        Anywhere else it stays what it was.
        """
        b = Builder(op.location)
        value, _, *at = op.operands
        inside = [
            self._less(b, index, extent)
            for index, extent in zip(at, extents(self.buffer), strict=True)
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

        Integers that would change nothing are not sent.  ``reason``: why blocks have
        such cells, as the update tells.
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

        self._each(b, extents(self.buffer), (thread, threads), one)

    @property
    def _where(self) -> str:
        more = f", {self.copies} copies" if self.copies > 1 else ""
        return f"each block has cells of its own{more}"

    def _total(self, b: Builder, at: Sequence[Value], thread: Value) -> Value:
        """All copies of a cell combined.

        Neighbours whose cells begin in one bank begin with other copies.
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
        """Something for each position of a shape, dealt out to the threads."""
        thread, threads = dealt

        def one(i: Builder, number: Value) -> None:
            body(i, positions(i, number, shape))

        b.loop(thread, prod(shape), one, step=threads, hint="cell")


def positions(b: Builder, number: Value, shape: Sequence[int]) -> list[Value]:
    """The indices of an element, by its number in the order of memory."""
    found: list[Value] = []
    rest = Index.of(number)
    for at, extent in reversed(list(enumerate(shape))):
        found.insert(0, b.index(rest % extent if at else rest, "at"))
        rest = rest // extent
    return found


def _branch(operations: Sequence[Operation]) -> Region:
    location = operations[0].location
    return single_block([*operations, Operation("scf.yield", location=location)])
