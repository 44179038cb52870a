"""A loop over rows in strips: recurrences with a row in each lane, the rest by rows.

    for i {                for i by lanes {
      a = f(i)               for rows of the strip { save f(i) as a }
      t = for j { .. }  =>   the recurrence, on vectors; save t
      g(t, a)                for rows of the strip { g(t, a) }
    }                      }

Legal iff the rows are parallel, for then each row keeps its order of operations:

    { d in distances of the dependences : d_i != 0 } = {}
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import MemRefType
from gpucodegen.passes.analysis.queries import NestAnalysis
from gpucodegen.passes.cpu.vectorize.loops import IterationRange, in_blocks
from gpucodegen.passes.cpu.vectorize.operations import lane_bits
from gpucodegen.passes.cpu.vectorize.outer_loops.recurrence_lanes import (
    Scratch,
    VectorRecurrence,
    scratch_for,
)
from gpucodegen.passes.cpu.vectorize.outer_loops.recurrences import (
    OuterLoop,
    Recurrence,
    recurrence_of,
)
from gpucodegen.passes.cpu.vectorize.outer_loops.strip import Strip, used_by
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index, compact
from gpucodegen.passes.framework.nests import inner_operations

BodyPart = tuple[Operation, ...] | Recurrence


@dataclass(slots=True)
class OuterBody:
    """The body of a loop over rows, in parts that run one after the other.

    ``constants`` are the same for all rows.
    """

    iv: Value
    constants: list[Operation] = field(default_factory=list[Operation])
    parts: list[BodyPart] = field(default_factory=list[BodyPart])

    @property
    def recurrences(self) -> list[Recurrence]:
        """The parts with a row in each lane."""
        return [part for part in self.parts if isinstance(part, Recurrence)]

    @property
    def saved(self) -> list[Value]:
        """The values of a row that one part makes and another one uses."""
        uses = Counter(v for part in self.parts for v in _used(part))
        return [
            v
            for part in self.parts
            for v in _made(part)
            if uses[v] > (v in _used(part))
        ]


def _made(part: BodyPart) -> list[Value]:
    if isinstance(part, Recurrence):
        return [carry.result for carry in part.carries]
    return [value for op in part for value in op.results]


def _used(part: BodyPart) -> set[Value]:
    return part.used if isinstance(part, Recurrence) else used_by(part)


def outer_body(
    loop: Operation, analysis: NestAnalysis, is_vectorized: Callable[[Operation], bool]
) -> OuterBody | None:
    """The parts of a loop over rows, if some of its inner loops are recurrences.

    ``is_vectorized``: which of them shall be.
    """
    body, rows = OuterBody(loop.body.arguments[0]), list[Operation]()
    varying = {body.iv}
    for op in inner_operations(loop):
        if any(isinstance(value.type, MemRefType) for value in op.results):
            return None
        found = None
        if op.name == "affine.for" and is_vectorized(op):
            own = OuterLoop(body.iv, frozenset(varying - {body.iv}))
            found = recurrence_of(op, own, analysis)
        if found:
            body.parts += [(*rows, *found.before), found.recurrence]
            rows = [*found.after]
        elif op.name == "arith.constant":
            body.constants.append(op)
            continue
        else:
            rows.append(op)
        varying.update(op.results)
    body.parts.append(tuple(rows))
    fits = all((lane_bits(v.type) or 0) >= 8 for v in body.saved)
    return body if body.recurrences and fits else None


@dataclass(frozen=True, slots=True)
class StripMining:
    """A loop over rows in strips of ``lanes`` rows, and tiles of ``width`` columns."""

    body: OuterBody
    lanes: int
    width: int

    def strips(self, op: Operation, range_: IterationRange) -> list[Operation]:
        """The loop ``op`` over a range of rows, in strips."""
        if op.name == "affine.parallel":
            size = self.lanes
            made = in_blocks(op, range_, size, self._strip, counted=True)
            return [*self.body.constants, made]
        b = Builder(op.location, [*self.body.constants])
        (first,), (end,) = range_.lowers, range_.uppers
        full = end if range_.trips is None else self._whole(first, range_.trips)

        def strip(inner: Builder, at: Value) -> None:
            ends = (Index.of(at) + self.lanes,)
            more = () if range_.trips is not None else (end,)
            self._strip(inner, IterationRange((Index.of(at),), (*ends, *more)))

        if full != first:
            b.loop(first, full, strip, step=self.lanes, hint=self.body.iv.name)
        if full != end:
            self._strip(b, IterationRange((full,), (end,)))
        return b.operations

    def _whole(self, first: Index, trips: int) -> Index:
        """The end of the last strip that has all rows."""
        return compact(first + trips // self.lanes * self.lanes)

    def _strip(self, b: Builder, range_: IterationRange) -> None:
        """The rows of a range: as many as there are lanes, or fewer."""
        first, trips = range_.lowers[0], range_.trips
        saved = {
            v: b.allocate("memref.alloca", MemRefType((self.lanes,), v.type), v.name)
            for v in self.body.saved
        }
        tiles = [
            scratch_for(b, part, self.lanes, self.width)
            for part in self.body.recurrences
        ]

        def rows(inner: Builder, left: Index | None) -> None:
            strip = Strip(self.body.iv, first, self.lanes, left, saved)
            self._parts(inner, strip, tiles)

        if trips is not None:
            rows(b, Index.of(trips) if trips < self.lanes else None)
            return
        left = range_.uppers[-1] - first
        b.guard([left - self.lanes], lambda i: rows(i, None), lambda i: rows(i, left))

    def _parts(self, b: Builder, strip: Strip, tiles: Sequence[Scratch]) -> None:
        scratch = iter(tiles)
        for part in self.body.parts:
            if isinstance(part, Recurrence):
                VectorRecurrence(part, strip, self.width, next(scratch)).build(b)
            elif part:
                strip.row_by_row(b, part)
