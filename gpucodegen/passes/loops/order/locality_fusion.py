"""Fuses neighbouring nests that use the same data, without loss of parallelism."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from gpucodegen.dialects import affine
from gpucodegen.ir.operation import Operation
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.analysis.queries import NestAnalysis, analyse
from gpucodegen.passes.loops.framework import legality
from gpucodegen.passes.loops.framework.chains import chain_of, sunk
from gpucodegen.passes.loops.framework.naming import FOR
from gpucodegen.passes.loops.order.fusion import Fuser, NestPair, unlike
from gpucodegen.tiling.machine.locality import shares_data
from gpucodegen.tiling.proof.legality import Refusal

STREAMS = 8
"""Arrays that a fused nest may use: hardware follows a few streams of addresses."""

REFERENCES = 32
"""Accesses that a fused nest may have: an analysis compares all pairs of them."""

Predicate = Callable[[Operation, NestAnalysis], bool]


@dataclass(frozen=True, slots=True)
class LocalityFuser:
    """Fuses the loops of a block; ``left_alone`` tells which nests stay as they are."""

    surroundings: Surroundings
    threads: int
    left_alone: Predicate

    def all_fused(self, operations: Sequence[Operation]) -> list[Operation]:
        """The block with every loop fused with its next ones as long as it pays."""
        current = list(operations)
        tried: set[tuple[Operation, Operation]] = set()
        while True:
            loops = [at for at, op in enumerate(current) if op.name == FOR]
            for first, second in pairwise(loops):
                pair = current[first], current[second]
                if pair in tried:
                    continue
                tried.add(pair)
                made = self._fused(current, first, second)
                if made is not None:
                    current = made
                    break
            else:
                return current

    def _fused(
        self, operations: list[Operation], first: int, second: int
    ) -> list[Operation] | None:
        before, between = operations[:first], tuple(operations[first + 1 : second])
        outer = NestPair((operations[first],), (operations[second],), between)
        if unlike(outer) is not None:
            return None
        run = operations[first : second + 1]
        ends = run[0], run[-1]
        if _accesses(ends) > REFERENCES:
            return None
        analysis = analyse(run, before, self.surroundings)
        if not self._pays(analysis, ends):
            return None
        for depth in self._depths(analysis, ends):
            fuser = Fuser((), None, self.surroundings, depth)
            made = fuser.fused(operations, first, second)
            if not isinstance(made, Refusal):
                nest = _added(operations, made)
                if self._stays_parallel(analysis, ends, nest, before, depth):
                    return made
        return None

    def _pays(self, analysis: NestAnalysis, ends: tuple[Operation, Operation]) -> bool:
        first, second = legality.lifted_loops(analysis, ends)
        arrays = {r.access.array for r in analysis.model.references}
        alike = analysis.is_parallel(ends[0]) == analysis.is_parallel(ends[1])
        return (
            (alike or self.threads == 1)
            and len(arrays) <= STREAMS
            and len(analysis.model.references) <= REFERENCES
            and shares_data(analysis.model, first, second)
            and not any(self.left_alone(op, analysis) for op in ends)
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
