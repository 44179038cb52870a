"""Control between basic blocks: successors, loops, where ways meet again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gpucodegen.ptx.translation.program import EntryProgram


@dataclass(frozen=True, slots=True)
class NaturalLoop:
    """Basic blocks by number; the header is where their branches back go."""

    header: int
    blocks: frozenset[int]


def successors(program: EntryProgram) -> list[tuple[int, ...]]:
    """Where each block may go; the number after the last block is the exit."""
    out: list[tuple[int, ...]] = []
    end = len(program.ranges)
    for number, last in enumerate(program.ends):
        after: list[int] = []
        if last is None or last.predicate or last.opcode in ("bar", "barrier"):
            after.append(number + 1)
        if last is not None and last.opcode == "bra":
            after.append(program.block_at[program.entry.labels[last.operands[0]]])
        if last is not None and last.opcode in ("ret", "exit", "trap"):
            after.append(end)
        out.append(tuple(dict.fromkeys(min(block, end) for block in after)))
    return out


def predecessors(after: Sequence[Sequence[int]]) -> list[list[int]]:
    """Where each block is reached from."""
    before: list[list[int]] = [[] for _ in range(len(after) + 1)]
    for number, targets in enumerate(after):
        for target in targets:
            before[target].append(number)
    return before


def loops(program: EntryProgram) -> list[NaturalLoop]:
    """The natural loops, those of one header as one, in the order of their headers."""
    after = successors(program)
    before = predecessors(after)
    found: dict[int, set[int]] = {}
    for latch, targets in enumerate(after):
        for header in targets:
            if header <= latch and latch in _reached(after, header, -1):
                inside = found.setdefault(header, {header})
                inside |= set(_reached(before, latch, header))
    return [NaturalLoop(header, frozenset(found[header])) for header in sorted(found)]


def _reached(edges: Sequence[Sequence[int]], start: int, stop: int) -> Iterator[int]:
    """What is reached from a block without going through another one."""
    seen, left = set[int](), [start]
    while left:
        number = left.pop()
        if number in seen or number == stop or number >= len(edges):
            continue
        seen.add(number)
        yield number
        left += edges[number]


def meeting(after: Sequence[Sequence[int]]) -> list[int]:
    """The block that all ways from each block come through next: post-dominators."""
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
class Apart:
    """Where threads meet that a branch has sent different ways.

    ``joins``: blocks whose registers may differ by the way; ``meets``: where all are
    together again; ``inside``: what some threads may run more often than others.
    """

    joins: frozenset[int]
    meets: int
    inside: frozenset[int]


def apart(after: Sequence[Sequence[int]], meets: int, branch: int) -> Apart:
    """The consequences of a branch on which threads differ."""
    ways = [frozenset(_reached(after, target, meets)) for target in after[branch]]
    both = frozenset[int].intersection(*ways)
    inside = frozenset[int]().union(*ways)
    repeated = inside if branch in inside else frozenset[int]()
    return Apart(both | {meets}, meets, repeated)
