"""Brute force: execute a `Scop` at small sizes and list what it touches, in order.

Uses neither isl nor the package's analyses, so that agreement means something.
"""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from gpucodegen.tiling.model.scop import Access, If, Loop, Node, Scop, Statement, loops
from gpucodegen.tiling.proof.liveness import LoopKind

Around: TypeAlias = tuple[tuple[Loop, int], ...]


@dataclass(frozen=True, slots=True)
class Touch:
    """One access executed: which, where in the loops, which cell.

    ``operator`` is that of the reduction whose accumulator is accessed.
    """

    number: int
    statement: str
    access: Access
    around: Around
    cell: tuple[int, ...]
    operator: str | None = None

    def values(self, count: int) -> tuple[int, ...]:
        return tuple(value for _, value in self.around[:count])


def evaluate(text: str, env: dict[str, int]) -> int:
    """isl arithmetic on integers: floor(a/b) and mod round down."""
    python = re.sub(r"\bmod\b", "%", text.replace("/", "//")).replace("floor", "")
    return eval(python, {"__builtins__": {}}, dict(env))


def holds(constraint: str, env: dict[str, int]) -> bool:
    python = re.sub(r"(?<![<>=!])=(?!=)", "==", constraint)
    return bool(evaluate(python, env))


def execute(scop: Scop, *, as_written: bool = True, **parameters: int) -> list[Touch]:
    """Every access in order of execution.

    ``as_written=False``: buffers allocated in loops are fresh in each iteration.
    """
    scopes = {} if as_written else {a.name: a.scope for a in scop.arrays}
    numbers = itertools.count()
    numbered = {
        id(a): next(numbers) for s in _statements(scop.body) for a in s.accesses
    }

    def run(
        body: tuple[Node, ...], env: dict[str, int], around: Around
    ) -> Iterator[Touch]:
        for node in body:
            match node:
                case Loop():
                    lower = max(evaluate(e, env) for e in node.lowers)
                    upper = min(evaluate(e, env) for e in node.uppers)
                    for value in range(lower, upper, node.step):
                        inner = {**env, node.name: value}
                        yield from run(node.body, inner, (*around, (node, value)))
                case If():
                    taken = all(holds(c, env) for c in node.constraints or ())
                    yield from run(node.body if taken else node.orelse, env, around)
                case Statement():
                    for position, access in enumerate(node.accesses):
                        indices = (*scopes.get(access.array, ()), *access.indices)
                        cell = tuple(evaluate(str(e), env) for e in indices)
                        number = numbered[id(access)]
                        operator = _accumulates(node, position)
                        yield Touch(number, node.name, access, around, cell, operator)
                case _:
                    raise AssertionError(node)

    return list(run(scop.body, dict(parameters), ()))


def _accumulates(statement: Statement, position: int) -> str | None:
    reduction = statement.reduction
    if reduction is None or position not in {reduction.read, reduction.write}:
        return None
    return reduction.operator


def _statements(body: tuple[Node, ...]) -> Iterator[Statement]:
    for node in body:
        match node:
            case Loop():
                yield from _statements(node.body)
            case If():
                yield from _statements(node.body)
                yield from _statements(node.orelse)
            case Statement():
                yield node
            case _:
                pass


def conflicts(touches: list[Touch]) -> Iterator[tuple[Touch, Touch]]:
    """Pairs in order of execution that touch one cell, at least one writing."""
    by_cell: dict[object, list[Touch]] = defaultdict(list)
    for touch in touches:
        by_cell[touch.access.array, touch.cell].append(touch)
    for group in by_cell.values():
        for a, b in itertools.combinations(group, 2):
            if a.access.writes or b.access.writes:
                yield a, b


def common(a: Touch, b: Touch) -> int:
    """How many loops surround both."""
    pairs = zip(a.around, b.around, strict=False)
    return sum(1 for _ in itertools.takewhile(lambda p: p[0][0] is p[1][0], pairs))


def carrier(a: Touch, b: Touch) -> int | None:
    """The first common loop in which the two differ."""
    count = common(a, b)
    pairs = zip(a.values(count), b.values(count), strict=True)
    return next((d for d, (x, y) in enumerate(pairs) if x != y), None)


def expected_rows(scop: Scop, **parameters: int) -> dict[tuple[int, int, int], str]:
    """The rows of the dependence table that are not "false"."""
    return rows_of(execute(scop, **parameters))


def rows_of(touches: list[Touch]) -> dict[tuple[int, int, int], str]:
    """The same, from the accesses in order of execution."""
    seen: dict[tuple[int, int, int], list[tuple[int, int]]] = {}
    for a, b in conflicts(touches):
        count = common(a, b)
        level = carrier(a, b)
        key = (a.number, b.number, count + 1 if level is None else level + 1)
        steps = zip(a.values(count), b.values(count), strict=True)
        deltas = [] if level is None else [y - x for x, y in steps]
        ranges = seen.setdefault(key, [(d, d) for d in deltas])
        seen[key] = [
            (min(lo, d), max(hi, d)) for (lo, hi), d in zip(ranges, deltas, strict=True)
        ]
    return {
        key: "".join(f"[{lo}, {hi}]" for lo, hi in ranges) or "true"
        for key, ranges in seen.items()
    }


def carrying_loops(scop: Scop, **parameters: int) -> set[str]:
    """The loops that carry a conflict between different statement executions."""
    return {
        a.around[level][0].name
        for a, b in conflicts(execute(scop, **parameters))
        if (level := carrier(a, b)) is not None
    }


def expected_kinds(scop: Scop, touches: list[Touch]) -> dict[str, LoopKind]:
    """Parallel: no conflict between iterations; reduction: only accumulations."""
    kinds = {loop.name: LoopKind.PARALLEL for loop in loops(scop.body)}
    for a, b in conflicts(touches):
        level = carrier(a, b)
        if level is None:
            continue
        name = a.around[level][0].name
        if a.operator is None or a.operator != b.operator:
            kinds[name] = LoopKind.SEQUENTIAL
        elif kinds[name] is LoopKind.PARALLEL:
            kinds[name] = LoopKind.REDUCTION
    return kinds


def expected_bands(scop: Scop, touches: list[Touch]) -> list[tuple[str, ...]]:
    """In pre-order, the longest runs of perfect nests without backward steps."""
    steps = set(_steps(touches))

    def permutable(chain: list[str]) -> bool:
        first, last = chain[0], chain[-1]
        for names, step in steps:
            if last in names:
                at = names.index(first)
                inside = step[at : at + len(chain)]
                if not any(step[:at]) and any(d < 0 for d in inside):
                    return False
        return True

    def bands(body: tuple[Node, ...]) -> Iterator[tuple[str, ...]]:
        for node in body:
            match node:
                case Loop():
                    chain = [node]
                    while len(chain[-1].body) == 1:
                        (inner,) = chain[-1].body
                        names = [loop.name for loop in chain]
                        if not isinstance(inner, Loop):
                            break
                        if not permutable([*names, inner.name]):
                            break
                        chain.append(inner)
                    yield tuple(loop.name for loop in chain)
                    yield from bands(chain[-1].body)
                case If():
                    yield from bands((*node.body, *node.orelse))
                case _:
                    pass

    return list(bands(scop.body))


def _steps(
    touches: list[Touch],
) -> Iterator[tuple[tuple[str, ...], tuple[int, ...]]]:
    """The common loops of each conflict and the distances along them."""
    for a, b in conflicts(touches):
        count = common(a, b)
        names = tuple(loop.name for loop, _ in a.around[:count])
        pairs = zip(a.values(count), b.values(count), strict=True)
        yield names, tuple(y - x for x, y in pairs)


def all_loops(scop: Scop) -> list[Loop]:
    return list(loops(scop.body))


def last_writers(touches: list[Touch]) -> Iterator[tuple[Touch | None, Touch]]:
    """Each read with the writes whose values it may find, None for the first value.

    A write that must happen hides all before it; others may not have happened.
    """
    last: dict[object, list[Touch | None]] = defaultdict(lambda: [None])
    for touch in touches:
        cell = touch.access.array, touch.cell
        if touch.access.writes:
            last[cell] = [*([] if touch.access.must else last[cell]), touch]
        else:
            yield from ((source, touch) for source in last[cell])
