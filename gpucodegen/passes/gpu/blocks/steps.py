"""The steps of a program that a team of threads walks, in numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, islice

from gpucodegen.dialects import affine
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.passes.analysis.queries import NestAnalysis
from gpucodegen.passes.analysis.work import (
    Middles,
    expected_work,
    inside,
    iterations,
    total_work,
)
from gpucodegen.passes.gpu.blocks.spread import (
    divides,
    is_straight,
    parallel_chain,
)
from gpucodegen.passes.gpu.facts.strides import byte_stride
from gpucodegen.passes.gpu.facts.vector_width import Definitions
from gpucodegen.tiling.machine.gpu.thread_groups import Access, Extents, Step, mean_step

PARTS = 4
"""Parts of the outermost loop in whose middles a step is looked at: it may shrink."""
TYPICAL = 1 << 10
"""An extent that is not known, where orders of loops are compared."""
ACCESSES = frozenset({"affine.load", "affine.store"})


@dataclass(frozen=True, slots=True)
class Steps:
    """Reads the steps of nests.

    ``across``: what tells neighbouring programs apart.  ``assumed``: what values from
    outside of the nest are that bounds of loops depend on.

    >>> import gpucodegen as gcg
    >>> from gpucodegen.passes.analysis.queries import analyse
    >>> module = gcg.parse('''func.func @f(%A: memref<65x64xf32>) {
    ...   affine.for %i = 0 to 64 { affine.for %j = 0 to 64 {
    ...     %above = affine.load %A[%i, %j] : memref<65x64xf32>
    ...     affine.store %above, %A[%i + 1, %j] : memref<65x64xf32>
    ...   } }
    ...   return
    ... }''')
    >>> nest = next(op for op in module.walk() if op.name == "affine.for")
    >>> (step,) = Steps(analyse([nest])).of([nest])
    >>> step.extents, step.times, [access.along for access in step.accesses]
    ((64,), 64.0, [4, 4])
    """

    analysis: NestAnalysis
    across: Value | None = None
    assumed: int = TYPICAL

    def of(self, operations: Sequence[Operation]) -> list[Step]:
        """The steps of a program, in the mean over the parts of its outermost loops."""
        made = {v: op for o in operations for op in o.walk() for v in op.results}
        seen = (
            [step for op in operations for step in self._found([op], part, made)]
            for part in range(PARTS)
        )
        return [mean_step(each) for each in zip(*seen, strict=True)]

    def _found(
        self, operations: Sequence[Operation], part: int, made: Definitions
    ) -> Iterator[Step]:
        """The steps of operations, seen in one part of the outermost loop."""
        for op in operations:
            given: Middles = dict.fromkeys(_open(op), self.assumed)
            is_loop = op.name == "affine.for"
            middles = inside(op, given, part, PARTS) if is_loop else given
            yield from self._walked(op, _Place(middles, made))

    def _walked(self, op: Operation, place: _Place) -> Iterator[Step]:
        chain = parallel_chain(op, self.analysis)
        if chain or not self._is_shared(op):
            if chain or any(o.name in ACCESSES for o in op.walk()):
                yield self._step(op, chain, place)
            return
        within = place.inside(op) if op.name == "affine.for" else place
        bodies = (block for region in op.regions for block in region.blocks)
        for body in bodies:
            for are_plain, run in groupby(body.operations, lambda o: not o.regions):
                some = list(run)
                if not are_plain:
                    for inner in some:
                        yield from self._walked(inner, within)
                elif any(o.name in ACCESSES for o in some):
                    yield self._iteration(some, None, (), within)

    def _is_shared(self, op: Operation) -> bool:
        """Whether there is anything in it for several threads."""
        return any(
            self.analysis.is_parallel(o) for o in op.walk() if o.name == "affine.for"
        )

    def _step(self, op: Operation, chain: Sequence[Operation], place: _Place) -> Step:
        extents: list[int | None] = []
        for loop in chain:
            run = iterations(loop, place.middles)
            extents.append(None if run is None else len(run))
            place = replace(place, middles=inside(loop, place.middles))
        if not chain:
            return self._iteration([op], None, (), place)
        step = self._iteration(
            chain[-1].body.operations[:-1],
            affine.For(chain[-1]).iv,
            tuple(extents),
            place,
        )
        dealt = 1 if divides(chain) else step.dealt
        return replace(step, dealt=dealt, is_straight=is_straight(chain))

    def _iteration(
        self,
        body: Sequence[Operation],
        along: Value | None,
        extents: Extents,
        place: _Place,
    ) -> Step:
        middles = place.middles
        leading = {id(op) for op in _leading(body)}
        waits = total_work(body, middles, lambda o: int(id(o) in leading))
        accesses = (o for op in body for o in op.walk() if o.name in ACCESSES)
        return Step(
            extents,
            sum(expected_work(op, middles) or 1 for op in body),
            max(1, waits or 1),
            tuple(self._access(o, body, along, place) for o in accesses),
            times=place.times,
        )

    def _access(
        self,
        op: Operation,
        body: Sequence[Operation],
        along: Value | None,
        place: _Place,
    ) -> Access:
        strides = [
            0 if value is None else byte_stride(op, value, place.made)
            for value in (along, self.across)
        ]
        times = total_work(body, place.middles, lambda o: int(o is op))
        return Access(strides[0], strides[1], times or 1)


@dataclass(frozen=True, slots=True)
class _Place:
    """What is known where an operation stands, and how often that is reached."""

    middles: Middles
    made: Definitions
    times: float = 1

    def inside(self, op: Operation) -> _Place:
        """In the body of an ``affine.for``; a variable that is known stays."""
        run = iterations(op, self.middles)
        times = self.times * (TYPICAL if run is None else len(run))
        is_known = affine.For(op).iv in self.middles
        middles = self.middles if is_known else inside(op, self.middles)
        return replace(self, middles=middles, times=times)


def _open(op: Operation) -> set[Value]:
    """What is made outside and decides how often loops run."""
    loops = [o for o in op.walk() if o.name == "affine.for"]
    variables = {affine.For(o).iv for o in loops}
    made = {value for o in op.walk() for value in o.results}
    return {value for o in loops for value in o.operands} - variables - made


def _leading(operations: Sequence[Operation]) -> Iterator[Operation]:
    """The first load of each block that also stores: those before it must have ended.

    Loads of other blocks are under way together.
    """
    loads = (op for op in operations if op.name == "affine.load")
    if any(op.name == "affine.store" for op in operations):
        yield from islice(loads, 1)
    for op in operations:
        for region in op.regions:
            for block in region.blocks:
                yield from _leading(block.operations)
