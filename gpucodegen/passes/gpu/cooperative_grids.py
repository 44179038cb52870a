"""The blocks of a cooperative kernel that have iterations, counted when it is launched.

All blocks of a kernel with grid barriers are resident at once, and each barrier waits
for all of them.  Extents that only a call knows may need fewer blocks than were
planned.  Thread ``t`` of block ``b`` takes iterations ``b * threads + t`` and further
ones of a distributed loop, so the blocks with iterations are the first

    ceil(most iterations of the loop / threads)

`most_iterations` bounds the iterations of a loop over all iterations of the loops
around it by interval arithmetic: variables take the end of their range that makes the
number of iterations larger.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from gpucodegen.dialects import affine
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.passes.analysis.work import Middles
from gpucodegen.passes.contraction.operands import coefficients, is_linear
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index, compact, from_map
from gpucodegen.passes.gpu.blocks.barrier_phases import Dependence, Divide
from gpucodegen.passes.gpu.blocks.work_distribution import (
    LoopShares,
    spreadable_chain,
)
from gpucodegen.records import dataclass

MOST_BOUNDS = 4
"""Bounds of one extent whose minimum the host computes."""


@dataclass(frozen=True, slots=True)
class GridShares:
    """Shares of loops over a grid, and the distributed loops.

    ``block`` is the number of a block; ``used`` has the loops that it distributes, each
    with its number of threads per block.
    """

    shares: LoopShares
    block: Value
    blocks: int
    used: list[tuple[Operation, int]] = field(
        default_factory=list[tuple[Operation, int]]
    )

    def deal(self, op: Operation, middles: Middles) -> Divide | None:
        divide = self.shares.deal(op, middles)
        if divide is None:
            return None

        def noted(b: Builder) -> None:
            self._note(op, middles)
            divide(b)

        return noted

    def _note(self, op: Operation, middles: Middles) -> None:
        chain = spreadable_chain(op, self.shares.analysis)
        lanes, _ = self.shares.lanes(chain, middles)
        for loop, (place, count) in zip(chain, lanes, strict=True):
            if self.block in place.values:
                self.used.append((loop, count // self.blocks))

    def is_of_one_member(
        self, found: Sequence[Dependence], before: Operation, after: Operation
    ) -> bool:
        return self.shares.is_of_one_member(found, before, after)

    def note(self, op: Operation) -> None:
        self.shares.note(op)

    def grid(self, b: Builder, root: Operation) -> Index:
        """The blocks to launch for a nest whose loops have been distributed."""
        needed = [Index.of(1)]
        for loop, threads in dict.fromkeys(self.used):
            bounds = most_iterations(loop, root)
            if not bounds:
                return Index.of(self.blocks)
            needed.append(Index.of(b.smallest(bounds, "most")).ceildiv(threads))
        most = b.largest(needed, "needed")
        return Index.of(b.smallest([Index.of(self.blocks), Index.of(most)], "blocks"))


def most_iterations(loop: Operation, root: Operation) -> list[Index]:
    """Upper bounds of a loop's iterations, in values from outside of ``root``.

    There is none where bounds of loops have divisions or values from inside.

    >>> import gpucodegen as gcg
    >>> (function,) = gcg.parse('''func.func @f(%n: index) {
    ...   affine.for %i = 2 to %n {
    ...     affine.for %j = affine_map<(i) -> (i)>(%i) to %n { }
    ...   }
    ...   return
    ... }''').operations
    >>> outer, inner = (op for op in function.walk() if op.name == "affine.for")
    >>> [str(bound.expr) for bound in most_iterations(inner, outer)]
    ['d0 - 2']
    """
    around = _path(root, loop)
    own = affine.For(loop)
    bounds = [
        upper - lower
        for lower in from_map(own.lower_map, own.lower_operands)
        for upper in from_map(own.upper_map, own.upper_operands)
    ]
    for outer in reversed(around[:-1]):
        bounds = [new for bound in bounds for new in _largest(bound, affine.For(outer))]
    made = {value for op in root.walk() for value in op.defined}
    bounds = [bound for bound in map(compact, bounds) if made.isdisjoint(bound.values)]
    return [(bound + (own.step - 1)) // own.step for bound in bounds[:MOST_BOUNDS]]


def _largest(bound: Index, loop: affine.For) -> list[Index]:
    """Upper bounds of an expression over the range of a loop's variable."""
    bound = compact(bound)
    if loop.iv not in bound.values:
        return [bound]
    if not is_linear(bound):
        return []
    factor = coefficients(bound)[loop.iv]
    if factor > 0:
        ends = from_map(loop.upper_map, loop.upper_operands)
        ends = [end - 1 for end in ends]
    else:
        ends = from_map(loop.lower_map, loop.lower_operands)
    return [bound + (end - loop.iv) * factor for end in ends]


def _path(root: Operation, inner: Operation) -> list[Operation]:
    """The loops from ``root`` to a loop inside of it, both included."""
    parents: Mapping[int, Operation] = {
        id(op): parent for parent in root.walk() for op in parent.nested
    }
    path = [inner]
    while path[0] is not root:
        path.insert(0, parents[id(path[0])])
    return [op for op in path if op.name == "affine.for"]
