"""Control-flow graphs of kernels: nested loops, their order, and postdominators.

A loop is a strongly connected set of basic blocks.  It has one header, a block that is
entered from outside: without that block, the rest of the loop falls into its inner
loops and single blocks.  In reducible graphs these are the natural loops, and a header
dominates its loop.  The scheme, and the order of `Nesting.order`, are F. Bourdoncle's
weak topological ordering (1993).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from gpucodegen.records import dataclass


def postdominators(after: Sequence[Sequence[int]]) -> list[int]:
    """The immediate postdominator of each block.

    >>> postdominators([(1, 2), (3,), (3,)])
    [3, 3, 3, 3]
    """
    end = len(after)
    every = set(range(end + 1))
    through = [every.copy() for _ in range(end)] + [{end}]
    changed = True
    while changed:
        changed = False
        for number in reversed(range(end)):
            common = set[int].intersection(*(through[t] for t in after[number]))
            if through[number] != common | {number}:
                through[number], changed = common | {number}, True
    nearest = [max(through[n] - {n}, key=lambda b: len(through[b])) for n in range(end)]
    return [*nearest, end]


@dataclass(frozen=True, slots=True)
class Divergence:
    """The reconvergence of threads after a divergent branch.

    ``joins``: blocks whose registers may differ by the path; ``meets``: the block where
    all threads are together again; ``inside``: blocks that some threads may run more
    often.
    """

    joins: frozenset[int]
    meets: int
    inside: frozenset[int]


def divergent_blocks(
    after: Sequence[Sequence[int]], meets: int, branch: int
) -> Divergence:
    """The consequences of a branch on which threads differ."""
    ways = [frozenset(_reached(after, target, meets)) for target in after[branch]]
    both = frozenset[int].intersection(*ways)
    inside = frozenset[int]().union(*ways)
    repeated = inside if branch in inside else frozenset[int]()
    return Divergence(both | {meets}, meets, repeated)


def _reached(edges: Sequence[Sequence[int]], start: int, stop: int) -> Iterator[int]:
    """Blocks reachable from a block without passing ``stop``."""
    seen, left = set[int](), [start]
    while left:
        number = left.pop()
        if number in seen or number == stop or number >= len(edges):
            continue
        seen.add(number)
        yield number
        left += edges[number]


Edges = Sequence[Sequence[int]]


@dataclass(frozen=True, slots=True)
class Loop:
    """Basic blocks by number; back edges go to the header."""

    header: int
    blocks: frozenset[int]


@dataclass(frozen=True, slots=True)
class Nesting:
    """The loops, an outer one before its inner ones, and the blocks in an order.

    A block precedes its successors, a header its loop, and all of a loop the blocks
    that follow the loop.
    """

    order: tuple[int, ...]
    loops: tuple[Loop, ...]

    def phases(self) -> dict[int, int]:
        """By basic block, the header of its phase; blocks outside of loops have none.

        A phase is a loop that contains no two loops side by side, of such loops the
        outermost one.

        >>> Nesting((0, 1, 2, 3), (Loop(1, frozenset({1})), Loop(2, frozenset({2})))
        ...         ).phases()
        {1: 1, 2: 2}
        """
        found: dict[int, int] = {}
        for loop in self.loops:
            inside = [other for other in self.loops if other.blocks < loop.blocks]
            is_chain = all(
                one.blocks <= other.blocks or other.blocks <= one.blocks
                for one in inside
                for other in inside
            )
            if is_chain:
                for block in loop.blocks:
                    found.setdefault(block, loop.header)
        return found


def nesting(after: Edges) -> Nesting:
    """The loops of a graph, and its order.

    In this graph, the latch of the outer loop (1) precedes the inner loop (2):

    >>> found = nesting([(2,), (0, 3), (2, 1)])
    >>> found.order, found.loops[1]
    ((0, 2, 1), Loop(header=2, blocks=frozenset({2})))
    """
    order: list[int] = []
    loops: list[Loop] = []
    left = [_parts(after, range(len(after)))]
    while left:
        part = next(left[-1], None)
        if part is None:
            left.pop()
            continue
        header = min(part if len(part) == 1 else _entered(after, part) or part)
        order.append(header)
        if len(part) > 1 or header in after[header]:
            loops.append(Loop(header, frozenset(part)))
            left.append(_parts(after, part - {header}))
    return Nesting(tuple(order), tuple(loops))


def _entered(after: Edges, part: Collection[int]) -> list[int]:
    """The blocks of a part that are entered from outside of it."""
    outside = (targets for number, targets in enumerate(after) if number not in part)
    reached = {target for targets in outside for target in targets}
    return [number for number in part if number in reached]


def _parts(after: Edges, among: Collection[int]) -> Iterator[set[int]]:
    """Strongly connected components in topological order.

    R. E. Tarjan's algorithm (1972), with an explicit stack.
    """
    found: list[set[int]] = []
    place: dict[int, int] = {}
    lowest: dict[int, int] = {}
    here: list[int] = []
    done: set[int] = set()
    for root in sorted(among, reverse=True):
        path = [] if root in place else [(root, _targets(after, among, root))]
        while path:
            number, targets = path[-1]
            if number not in place:
                place[number] = lowest[number] = len(place)
                here.append(number)
            target = next((t for t in targets if t not in done), None)
            if target is None:
                path.pop()
                if path:
                    outer = path[-1][0]
                    lowest[outer] = min(lowest[outer], lowest[number])
                if lowest[number] == place[number]:
                    at = here.index(number)
                    found.append(set(here[at:]))
                    done.update(here[at:])
                    del here[at:]
            elif target in place:
                lowest[number] = min(lowest[number], place[target])
            else:
                path.append((target, _targets(after, among, target)))
    return reversed(found)


def _targets(after: Edges, among: Collection[int], number: int) -> Iterator[int]:
    """The successors of a block, the last one of the text first."""
    return iter(sorted((t for t in after[number] if t in among), reverse=True))
