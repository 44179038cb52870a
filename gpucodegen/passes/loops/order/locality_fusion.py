"""Fuses neighbouring nests that use the same data, without loss of parallelism."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from gpucodegen.dialects import affine
from gpucodegen.ir.operation import Operation
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.analysis.queries import NestAnalysis, analyse
from gpucodegen.passes.loops.framework import legality
from gpucodegen.passes.loops.framework.chains import chain_of, sunk
from gpucodegen.passes.loops.framework.naming import FOR
from gpucodegen.passes.loops.order.asked import APART, TOGETHER
from gpucodegen.passes.loops.order.fusion import Fuser, NestPair, unlike
from gpucodegen.tiling.machine.locality import shares_data
from gpucodegen.tiling.proof.legality import Refusal

STREAMS = 8
"""Arrays that a fused nest may use: hardware follows a few streams of addresses."""

REFERENCES = 32
"""Accesses that a fused nest may have: an analysis compares all pairs of them."""

Predicate = Callable[[Operation, NestAnalysis], bool]


Span = tuple[int, int]
"""The numbers of the first and the last nest that a loop was made of."""


@dataclass(frozen=True, slots=True)
class LocalityFuser:
    """Fuses the loops of a block; ``left_alone`` tells which nests stay as they are.

    ``wishes``: what is asked of a nest and the next one, by its number (`asked`).
    """

    surroundings: Surroundings
    threads: int
    left_alone: Predicate
    wishes: Mapping[int, int] = field(default_factory=dict[int, int])

    def all_fused(self, operations: Sequence[Operation]) -> list[Operation]:
        """The block with every loop fused with its next ones as long as it pays."""
        return self.spanned(operations, {})[0]

    def spanned(
        self, operations: Sequence[Operation], spans: Mapping[Operation, Span]
    ) -> tuple[list[Operation], Mapping[Operation, Span]]:
        """The same, and of which nests each loop was made.

        ``spans``: the numbers of the nests that there are.  Raises
        IllegalTransformation where what is asked for is not legal.
        """
        current, known = list(operations), dict(spans)
        refusals: dict[int, tuple[Refusal, Operation]] = {}
        tried: set[tuple[Operation, Operation]] = set()
        while True:
            loops = [at for at, op in enumerate(current) if op.name == FOR]
            for first, second in pairwise(loops):
                pair = current[first], current[second]
                if pair in tried:
                    continue
                tried.add(pair)
                number, wish = self._wish(pair, known)
                made = self._fused(current, first, second, wish)
                if isinstance(made, Refusal):
                    refusals[number] = made, pair[1]
                    continue
                if all(op in known for op in pair):
                    span = known[pair[0]][0], known[pair[1]][1]
                    known[_added(current, made)] = span
                current = made
                break
            else:
                self._demand(known, refusals)
                return current, {op: known[op] for op in current if op in known}

    def joinable(
        self, operations: Sequence[Operation], spans: Mapping[Operation, Span]
    ) -> Iterator[int]:
        """The numbers of nests that could be one with the next, where they are not."""
        block = list(operations)
        loops = [at for at, op in enumerate(block) if op.name == FOR]
        for first, second in pairwise(loops):
            number, _ = self._wish((block[first], block[second]), spans)
            if number >= 0 and not isinstance(
                self._fused(block, first, second, TOGETHER), Refusal
            ):
                yield number

    def _wish(
        self, pair: tuple[Operation, Operation], spans: Mapping[Operation, Span]
    ) -> tuple[int, int]:
        """The number of the first of two nests in a row, and what is asked of it."""
        if not all(op in spans for op in pair):
            return -1, 0
        number, after = spans[pair[0]][1], spans[pair[1]][0]
        return (number, self.wishes.get(number, 0)) if after == number + 1 else (-1, 0)

    def _demand(
        self,
        spans: Mapping[Operation, Span],
        refusals: Mapping[int, tuple[Refusal, Operation]],
    ) -> None:
        """Raise IllegalTransformation for nests of this block that are not one."""
        there = {number for span in spans.values() for number in span}
        for number, wish in self.wishes.items():
            is_one = any(a <= number < b for a, b in spans.values())
            if wish != TOGETHER or is_one or not {number, number + 1} <= there:
                continue
            apart = Refusal("other loops stand between them")
            refusal, op = refusals.get(number, (apart, next(iter(spans))))
            legality.demand(refusal, op, f"fusing the nests {number} and {number + 1}")

    def _fused(
        self, operations: list[Operation], first: int, second: int, wish: int = 0
    ) -> list[Operation] | Refusal:
        if wish == APART:
            return Refusal("they are asked to stay apart")
        before, between = operations[:first], tuple(operations[first + 1 : second])
        outer = NestPair((operations[first],), (operations[second],), between)
        refusal = unlike(outer)
        if refusal is not None:
            return refusal
        run = operations[first : second + 1]
        ends = run[0], run[-1]
        if _accesses(ends) > REFERENCES:
            return Refusal(f"they have more than {REFERENCES} accesses")
        analysis = analyse(run, before, self.surroundings)
        if not (wish == TOGETHER or self._pays(analysis, ends)):
            return Refusal("it does not pay")
        if any(self.left_alone(op, analysis) for op in ends):
            return Refusal("one of them is left as it is")
        refusal = Refusal("a parallel loop would be lost")
        for depth in self._depths(analysis, ends):
            fuser = Fuser((), None, self.surroundings, depth)
            made = fuser.fused(operations, first, second)
            if isinstance(made, Refusal):
                refusal = made
                continue
            nest = _added(operations, made)
            stays = self._stays_parallel(analysis, ends, nest, before, depth)
            if wish == TOGETHER or stays:
                return made
        return refusal

    def _pays(self, analysis: NestAnalysis, ends: tuple[Operation, Operation]) -> bool:
        first, second = legality.lifted_loops(analysis, ends)
        arrays = {r.access.array for r in analysis.model.references}
        alike = analysis.is_parallel(ends[0]) == analysis.is_parallel(ends[1])
        return (
            (alike or self.threads == 1)
            and len(arrays) <= STREAMS
            and len(analysis.model.references) <= REFERENCES
            and shares_data(analysis.model, first, second)
        )

    def _depths(
        self, analysis: NestAnalysis, ends: tuple[Operation, Operation]
    ) -> list[int]:
        """All loops where all are parallel; else not the innermost ones."""
        chains = [chain_of(sunk(op)) for op in ends]
        most = min(map(_around, chains))
        bodies = [chain_of(op) for op in ends]
        parallel = all(analysis.is_parallel(op) for chain in bodies for op in chain)
        return (
            [0]
            if parallel and len(chains[0]) == len(chains[1])
            else [*range(most, 0, -1)]
        )

    def _stays_parallel(
        self,
        analysis: NestAnalysis,
        ends: tuple[Operation, Operation],
        nest: Operation,
        before: Sequence[Operation],
        depth: int,
    ) -> bool:
        again = analyse([nest], before, self.surroundings)
        if depth == 0:
            return all(again.is_parallel(op) for op in chain_of(nest))
        needed = self.threads > 1 and analysis.is_parallel(ends[0])
        return again.is_parallel(nest) or not needed


def _accesses(operations: Sequence[Operation]) -> int:
    """Loads and stores of affine places: no more than an analysis finds."""
    return sum(o.name in affine.ACCESSES for op in operations for o in op.walk())


def _around(chain: Sequence[Operation]) -> int:
    """Loops of a chain that have loops in them."""
    last = chain[-1].body.operations
    return len(chain) - (not any(op.name == FOR for op in last))


def _added(before: Sequence[Operation], after: Sequence[Operation]) -> Operation:
    """The loop that only the second list holds."""
    (nest,) = [op for op in after if op.name == FOR and op not in before]
    return nest
