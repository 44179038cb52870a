"""Fuses two loops of one block; decides whether that is legal.

With c the iterations of the two nests, which must have the same bounds:

    { x -> y in dependences : x in first, y in second, c(y) lex before c(x) } = {}

Operations between the two that the second needs move before the first, which must be
legal too; the others stay after the fused nest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpucodegen.dialects import affine
from gpucodegen.ir.operation import (
    Operation,
    Value,
    rewrite_bottom_up,
    segment_counts,
    single_block,
    substitute_values,
)
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.analysis.queries import NestAnalysis, analyse
from gpucodegen.passes.loops.framework import legality
from gpucodegen.passes.loops.framework.chains import chain_of, rebuilt, sunk
from gpucodegen.passes.loops.framework.naming import loop_name
from gpucodegen.passes.loops.framework.ranges import LoopRange, range_of
from gpucodegen.tiling.proof.legality import Refusal, check_fusion


@dataclass(frozen=True, slots=True)
class NestPair:
    """Two loops of one block, with what stands between them, and how deep to fuse."""

    first: tuple[Operation, ...]
    """The loops to fuse, outermost first, each perfectly nested in the one before."""
    second: tuple[Operation, ...]
    between: tuple[Operation, ...]

    @property
    def outer(self) -> tuple[Operation, Operation]:
        """The two loops in the block."""
        return self.first[0], self.second[0]


@dataclass(frozen=True, slots=True)
class Fuser:
    """Fuses two loops of a block, ``depth`` loops deep or, for 0, as deep as is legal.

    ``root`` is the operation around that the analysis looks at, if there is one.
    """

    before: Sequence[Operation]
    root: Operation | None
    surroundings: Surroundings
    depth: int = 0
    relaxed: bool = False

    def fused(
        self, operations: Sequence[Operation], first: int, second: int
    ) -> list[Operation] | Refusal:
        """The block with its loops at two positions fused, or why they may not be."""
        a, b = sunk(operations[first]), sunk(operations[second])
        between = tuple(operations[first + 1 : second])
        pairs = [
            NestPair(tuple(chain_of(a, depth)), tuple(chain_of(b, depth)), between)
            for depth in self._depths(a, b)
        ]
        alike = [pair for pair in pairs if unlike(pair) is None]
        if not alike:
            few = Refusal(f"fewer than {self.depth} loops are perfectly nested")
            return (unlike(pairs[-1]) if pairs else None) or few
        analysis = self._analysis(operations, first, second, (a, b))
        refusals: list[Refusal] = []
        for pair in alike:
            refusal = refusal_of(pair, analysis, relaxed=self.relaxed)
            if refusal is None:
                made = fused(pair, analysis)
                return [*operations[:first], *made, *operations[second + 1 :]]
            refusals.append(refusal)
        return refusals[-1]

    def _depths(self, a: Operation, b: Operation) -> range:
        most = min(len(chain_of(a)), len(chain_of(b)))
        if self.depth:
            return range(self.depth, self.depth + (self.depth <= most))
        return range(most, 0, -1)

    def _analysis(
        self,
        operations: Sequence[Operation],
        first: int,
        second: int,
        ends: tuple[Operation, Operation],
    ) -> NestAnalysis:
        a, b = ends
        if self.root is None:
            context = (*self.before, *operations[:first])
            run = (a, *operations[first + 1 : second], b)
            return analyse(run, context, self.surroundings)
        changed = {operations[first]: a, operations[second]: b}
        (root,) = rewrite_bottom_up(
            self.root, lambda op: [changed[op]] if op in changed else None
        )
        return analyse([root], self.before, self.surroundings)


def refusal_of(
    pair: NestPair, analysis: NestAnalysis, *, relaxed: bool = False
) -> Refusal | None:
    """Why the pair may not be fused."""
    return _kept_apart(pair, analysis) or _reversed(pair, analysis, relaxed=relaxed)


def unlike(pair: NestPair) -> Refusal | None:
    """Why the pair may not be fused, whatever it does to memory."""
    return (
        _different_ranges(pair)
        or _carried(pair)
        or legality.without_copies([*pair.outer, *pair.between])
    )


def _carried(pair: NestPair) -> Refusal | None:
    first, second = pair.outer
    if legality.used_by(second) & set(first.results):
        used, user = loop_name(first), loop_name(second)
        return Refusal(f"loop {user} uses what loop {used} computed in all iterations")
    if len(pair.first) == 1:
        return None
    return legality.without_carried_values([*pair.first, *pair.second])


def _different_ranges(pair: NestPair) -> Refusal | None:
    renamed: dict[Value, Value] = {}
    for a, b in zip(pair.first, pair.second, strict=True):
        if not _same(range_of(a), range_of(substitute_values(b, renamed))):
            names = f"loops {loop_name(a)} and {loop_name(b)}"
            return Refusal(f"{names} have different bounds")
        renamed[affine.For(b).iv] = affine.For(a).iv
    return None


def _same(a: LoopRange, b: LoopRange) -> bool:
    return a.step == b.step and all(
        len(left) == len(right)
        and all((x - y).constant == 0 for x, y in zip(left, right, strict=True))
        for left, right in ((a.lowers, b.lowers), (a.uppers, b.uppers))
    )


def _reversed(
    pair: NestPair, analysis: NestAnalysis, *, relaxed: bool
) -> Refusal | None:
    first = legality.lifted_loops(analysis, pair.first)
    second = legality.lifted_loops(analysis, pair.second)
    return check_fusion(analysis.dependences, first, second, relaxed=relaxed)


# -- what stands between ---------------------------------------------------------------


def needed_before(pair: NestPair, analysis: NestAnalysis) -> tuple[Operation, ...]:
    """Operations between the loops that must run before the second one."""
    needed: list[Operation] = []
    users = [pair.outer[1]]
    for op in reversed(pair.between):
        results = set(op.results)
        is_used = any(results & legality.used_by(user) for user in users)
        if is_used or analysis.conflicts([op], users):
            needed.append(op)
            users.append(op)
    return tuple(reversed(needed))


def _kept_apart(pair: NestPair, analysis: NestAnalysis) -> Refusal | None:
    """Refuse where something must run after the first loop and before the second."""
    first, second = pair.outer
    for op in needed_before(pair, analysis):
        uses = legality.used_by(op) & set(first.results)
        if uses or analysis.conflicts([first], [op]):
            names = f"loops {loop_name(first)} and {loop_name(second)}"
            return Refusal(f"'{op.name}' must run between {names}")
    return None


# -- the fused nest --------------------------------------------------------------------


def fused(pair: NestPair, analysis: NestAnalysis) -> tuple[Operation, ...]:
    """Operations in place of the pair and what is between; nothing is checked."""
    needed = needed_before(pair, analysis)
    rest = [op for op in pair.between if op not in needed]
    variables = {
        affine.For(b).iv: affine.For(a).iv
        for a, b in zip(pair.first, pair.second, strict=True)
    }
    inner = substitute_values(pair.second[-1], variables)
    nest = _joined(pair.first[-1], inner)
    if len(pair.first) > 1:
        nest = rebuilt(pair.first[:-1], (nest, affine.yield_(location=nest.location)))
    return (*needed, nest, *rest)


def _joined(a: Operation, b: Operation) -> Operation:
    """One loop with both bodies, which carries the values of both."""
    first, second = affine.For(a), affine.For(b)
    bounds = (*first.lower_operands, *first.upper_operands)
    inits = (*first.inits, *second.inits)
    yielded = affine.yield_((*first.yielded, *second.yielded), location=a.location)
    arguments = (first.iv, *first.iter_args, *second.iter_args)
    sizes = (len(first.lower_operands), len(first.upper_operands), len(inits))
    return a.with_(
        operands=(*bounds, *inits),
        results=(*a.results, *b.results),
        regions=(
            single_block((*first.body[:-1], *second.body[:-1], yielded), arguments),
        ),
        attributes={**a.attributes, "operandSegmentSizes": segment_counts(*sizes)},
    )
