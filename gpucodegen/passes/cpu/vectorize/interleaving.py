"""A loop that streams, in several strips of its range at once.

for at by count * length:                  as long as all strips are there
  for i = at to at + length by step:
    loads at i, i + length, i + 2 length, ..; then what is computed and stored there
what is left, in one place

Legal iff no iteration depends on another one, as for vectors.  Loads come before the
stores of all strips, so they must come before those of their own iteration, too.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpucodegen.dialects import affine
from gpucodegen.ir.operation import Value
from gpucodegen.passes.cpu.vectorize.loops import Range
from gpucodegen.passes.cpu.vectorize.operations import cost
from gpucodegen.passes.cpu.vectorize.recognize import Body
from gpucodegen.passes.cpu.vectorize.streams import inner_loop
from gpucodegen.passes.cpu.vectorize.widen import Widened
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.tiling.machine.loops.strip_plan import Strips, plan_strips
from gpucodegen.tiling.machine.products.register_tile import VectorUnit


def interleaved(
    body: Body, trips: int | None, lanes: int, unit: VectorUnit, first_cache: int
) -> Interleaved | None:
    """The strips that pay for a body whose stores all go past the caches."""
    stores = [op for op in body.streams if not op.results]
    if not stores or not body.streaming.issuperset(stores) or not _loads_first(body):
        return None
    rest = [op for op in body.operations if op not in body.streams]
    work = sum(cost(op) for op in rest if body.is_varying(op))
    loop = inner_loop(body, trips)
    reads = len(body.streams) - len(stores)
    strips = plan_strips(loop, reads, work, unit, first_cache)
    return Interleaved(body, lanes, strips) if strips else None


@dataclass(frozen=True, slots=True)
class Interleaved:
    """A body that runs on vectors of ``lanes`` in several strips."""

    body: Body
    lanes: int
    strips: Strips

    def build(self, b: Builder, range_: Range) -> Range:
        """Run whole strips of a single range, which may be empty; what is left."""
        (lower,), (upper,) = range_.lowers, range_.uppers
        first, width = Index.of(b.index(lower, "start")), self.strips.width
        end = Index.of(b.index(first + (upper - first) // width * width, "end"))
        b.loop(first, end, self._strips, step=width, hint="strips")
        return Range((first, end), range_.uppers)

    def _strips(self, b: Builder, at: Value) -> None:
        first, hint = Index.of(at), self.body.iv.name
        last = first + self.strips.length
        b.loop(first, last, self._step, step=self.strips.step, hint=hint)

    def _step(self, b: Builder, at: Value) -> None:
        strips = self.strips
        places = [
            Widened(
                self.body, b, Index.of(at) + strip * strips.length + more, self.lanes
            )
            for strip in range(strips.count)
            for more in range(0, strips.step, self.lanes)
        ]
        for place in places:
            place.load()
        for place in places:
            place.fetch(strips.ahead)
        for place in places:
            place.build()


def _loads_first(body: Body) -> bool:
    """Whether all loads of an iteration may come before its stores."""
    places = all(map(body.has_place_outside, body.streams.values()))
    accesses = [
        bool(op.results) for op in body.operations if op.name in affine.ACCESSES
    ]
    return places and accesses == sorted(accesses, reverse=True)
