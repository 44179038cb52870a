"""What ends the rows of a block, done for several of them by one thread.

    v[team] = what the end of a row uses                by the first member of each team
    barrier
    out[row .. row + width - 1] = f(v[...])             ``width`` rows by each thread

The end of a program is its last simple operations, if these store to neighbours in
neighbouring rows: rows are independent, so no one sees which of them stores first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from math import gcd

from gpucodegen.dialects import affine
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import MemRefType
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index, as_map
from gpucodegen.passes.gpu.blocks.phases import STORES
from gpucodegen.passes.gpu.blocks.rows.side_by_side import SideBySide, shared_width
from gpucodegen.passes.gpu.facts.mapped_loops import trip_count
from gpucodegen.passes.gpu.facts.vector_width import address_of
from gpucodegen.passes.gpu.kinds.reductions.late_starts import with_late_starts
from gpucodegen.passes.gpu.kinds.reductions.problems import product_of, unflattened
from gpucodegen.passes.gpu.kinds.reductions.program import RowProgram
from gpucodegen.passes.gpu.launches.gpu_launch import SHARED
from gpucodegen.passes.prepare.affine.dead_code import has_no_effect
from gpucodegen.tiling.machine.gpu.reductions import RowTeams


@dataclass(frozen=True, slots=True)
class RowResults:
    """A program cut in two: ``body`` runs for each row, ``end`` for several at once.

    ``given``: what the end uses of the body, each with its shared buffer.
    """

    program: RowProgram
    plan: RowTeams
    body: tuple[Operation, ...]
    end: tuple[Operation, ...] = ()
    given: tuple[tuple[Value, Value], ...] = ()

    @staticmethod
    def of(b: Builder, program: RowProgram, plan: RowTeams) -> RowResults:
        """The cut of a program, whose end may be nothing; buffers are allocated."""
        whole = RowResults(program, plan, program.body)
        if not _lie_in_lines(program, plan):
            return whole
        body = with_late_starts(program)
        end = _end(program, body)
        if not any(op.name in STORES for op in end):
            return whole
        first = body[: len(body) - len(end)]
        again = _made_again(first, end)
        made = {v for op in first if op not in again for v in op.results}
        used = dict.fromkeys(v for op in (*again, *end) for v in op.operands)
        given: list[tuple[Value, Value]] = []
        for value in filter(made.__contains__, used):
            ty = MemRefType((plan.count,), value.type, memory_space=SHARED)
            given.append((value, b.allocate("memref.alloca", ty, "results")))
        return RowResults(program, plan, first, (*again, *end), tuple(given))

    @property
    def buffers(self) -> list[Operation]:
        """What analyses of the program have to know of the buffers."""
        return [Operation("memref.alloca", (), (buffer,)) for _, buffer in self.given]

    def row(self, team: Index) -> tuple[Operation, ...]:
        """The program of a row; what its end uses goes to the place of its team."""
        map_, operands = as_map([team])
        puts = (affine.store(value, to, map_, operands) for value, to in self.given)
        return (*self.body, *puts)

    def store(self, b: Builder, thread: Index, block: Index) -> None:
        """Append the barrier and the ends of all rows of the block."""
        if not self.end:
            return
        if self.given:
            b.add("gpu.barrier")
        chain, width = self.program.chain, self._width
        counts = [trip_count(loop) for loop in chain]
        rows, taken = product_of(counts), thread * width
        number, along = block * self.plan.count + taken, chain[-1].iv
        are_whole = rows.constant is not None and rows.constant % self.plan.count == 0

        def emit(i: Builder, ahead: int, count: int) -> None:
            place = unflattened(i, chain, counts, number + ahead)[0]
            nexts = (Index.of(place[along]) + n for n in range(count))
            lanes = [{**place, along: i.index(iv, along.name)} for iv in nexts]
            at = Index.of(along) - lanes[0][along] + taken + ahead
            side = SideBySide(along, self.program.nest.definitions)
            side.emit(i, (*self._taken(at), *self.end), lanes)

        def singly(i: Builder) -> None:
            for n in range(width):
                i.guard([rows - 1 - n - number], lambda j, n=n: emit(j, n, 1))

        def ends(i: Builder) -> None:
            full = [] if are_whole else [rows - width - number]
            i.guard(full, lambda j: emit(j, 0, width), singly if width > 1 else None)

        b.guard([Index.of(self.plan.count // width - 1) - thread], ends)

    def _taken(self, at: Index) -> list[Operation]:
        """What the rows have left."""
        map_, operands = as_map([at])
        return [
            affine.load(buffer, map_, operands).with_(results=(value,))
            for value, buffer in self.given
        ]

    @property
    def _width(self) -> int:
        """Rows that one access stores."""
        loop, definitions = self.program.chain[-1], self.program.nest.definitions
        width = shared_width(self.end, loop.iv, loop.lower, definitions)
        return gcd(width, self.plan.count)


def _lie_in_lines(program: RowProgram, plan: RowTeams) -> bool:
    """Whether the rows of a block are neighbours along the innermost parallel loop."""
    if plan.count == 1 or not program.chain:
        return False
    *outer, inner = program.chain
    if any(len(loop.uppers) > 1 for loop in program.chain):
        return False
    count = trip_count(inner).constant
    fills = count is not None and count % plan.count == 0
    return inner.step == 1 and (fills or not outer)


def _end(program: RowProgram, body: Sequence[Operation]) -> list[Operation]:
    """The last operations that are simple, and store nowhere but to neighbours."""
    along, definitions = program.chain[-1].iv, program.nest.definitions

    def belongs(op: Operation) -> bool:
        if op.regions or op.name == "affine.load" or has_no_effect(op):
            return not op.regions
        address = address_of(op, definitions) if op.name == "affine.store" else None
        return address is not None and address.factor(along) == 1

    return [*takewhile(belongs, reversed(body))][::-1]


def _made_again(
    first: Sequence[Operation], end: Sequence[Operation]
) -> list[Operation]:
    """What the end makes again of what it uses, instead of taking it from a row."""
    makers = {v: op for op in first for v in op.results}
    again: list[Operation] = []

    def is_cheap(op: Operation) -> bool:
        inside = [makers[v] for v in op.operands if v in makers]
        return not op.regions and has_no_effect(op) and all(map(is_cheap, inside))

    wanted = {v for op in end for v in op.operands}
    for op in reversed(first):
        if not wanted.isdisjoint(op.results) and is_cheap(op):
            again.insert(0, op)
            wanted.update(op.operands)
    return again
