"""Cases of parameters and blocks, for proofs by enumeration of one block.

A pipeline over a loop with T trips, T a function of parameters, starts copies before
the loop and in each trip but the last ones.  The conditions for that compare T, or the
trips that are left, with numbers.  `trip_cases` splits all values of T into T <= 0,
T = 1, .., T = R - 1 and T >= R.  Each case is the same program with T known, or with
the last R trips apart from those before, and with the conditions that isl decides for
all parameters of the case replaced by their outcome.  R is the least number for which
most of them are decided.  A rule that holds in all cases holds for all parameters.

A launch of several kernels branches by a block variable.  `branch_cases` has a case for
each of its values, in which only one kernel is left.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import product
from math import prod

from gpucodegen.records import dataclass
from gpucodegen.tiling.model.isl import always_holds
from gpucodegen.tiling.model.isl_evaluation import expression, formula, names
from gpucodegen.tiling.model.scop import If, Loop, Node, walk
from gpucodegen.tiling.proof.kernel_accesses import KernelAccesses, has_fence

MOST_LAST = 8
"""Trips that may be apart from those before; pipelines have fewer stages."""
MOST_CASES = 32


@dataclass(frozen=True, slots=True)
class Case:
    """A set of values of the parameters; by default all of them.

    ``facts``: constraints that it fulfils.  ``last``: by trip count, the last trips
    that are apart.  ``exact``: the trip counts that have no others.  ``branch``: the
    block variable that has one value.
    """

    facts: tuple[str, ...] = ()
    last: Mapping[str, int] = field(default_factory=dict[str, int])
    exact: frozenset[str] = frozenset()
    branch: str = ""

    def program(self, body: Sequence[Node], known: frozenset[str]) -> tuple[Node, ...]:
        """The nodes that are executed; ``known``: the parameters."""
        if not self.facts:
            return tuple(body)
        return tuple(_decided(body, self.facts, known | {self.branch}))

    def trips(
        self, loop: Loop, known: frozenset[str]
    ) -> tuple[tuple[Node, ...], list[tuple[Node, ...]]]:
        """The body in trips before the last ones, and in each of these.

        The body is empty if there are no others.
        """
        count = trip_count(loop)
        if count is None or count not in self.last:
            return loop.body, []
        variables, apart = known | {loop.name}, self.last[count]
        first = [] if count in self.exact else [_before(loop, count, apart)]
        last = [
            (f"{loop.name} = {_value(loop, count, n)}",) for n in range(apart, 0, -1)
        ]
        bodies = [
            tuple(_decided(loop.body, (*self.facts, *facts), variables))
            for facts in (*first, *last)
        ]
        return (bodies[0], bodies[1:]) if first else ((), bodies)


ANY = Case()


def branch_cases(kernel: KernelAccesses) -> list[Case]:
    """One for each value of a block variable that a condition compares with numbers."""
    for node in walk(kernel.body):
        for text in (isinstance(node, If) and node.constraints) or ():
            used = formula(text, is_constraint=True).variables
            for name in used if len(used) == 1 else ():
                extent = kernel.blocks.get(name) or 0
                if 1 < extent <= MOST_CASES:
                    values = range(extent)
                    return [Case((f"{name} = {n}",), branch=name) for n in values]
    return []


def trip_cases(kernel: KernelAccesses) -> list[Case]:
    """All values of the parameters, by the trip counts of loops that hold fences.

    Empty if that decides no condition.
    """
    nodes = walk(kernel.body)
    loops = [n for n in nodes if isinstance(n, Loop) and has_fence(n)]
    apart = dict[str, int]()
    for count in dict.fromkeys(filter(None, map(trip_count, loops))):
        if frozenset() < names(expression(count)) <= kernel.parameters:
            tests = dict.fromkeys(_conditions(kernel.body, count, kernel.parameters))
            apart[count] = _last_trips(tests, count)
    apart = {count: trips for count, trips in apart.items() if trips}
    if not apart or prod(trips + 1 for trips in apart.values()) > MOST_CASES:
        return []
    chosen = product(*(range(trips + 1) for trips in apart.values()))
    cases = (_case(dict(zip(apart, each, strict=True)), apart) for each in chosen)
    return [case for case in cases if not always_holds("1 = 0", case.facts)]


def _case(chosen: Mapping[str, int], apart: Mapping[str, int]) -> Case:
    """So many trips of each loop, where the greatest number is a least one."""
    exact = frozenset(count for count, trips in chosen.items() if trips < apart[count])
    return Case(tuple(_facts(chosen, exact)), chosen, exact)


def _facts(chosen: Mapping[str, int], exact: frozenset[str]) -> Iterator[str]:
    for count, trips in chosen.items():
        relation = ">=" if count not in exact else "=" if trips else "<="
        yield f"{count} {relation} {trips}"


def trip_count(loop: Loop) -> str | None:
    """The number of trips, below one for none; None for several upper bounds."""
    if not loop.lowers or len(loop.uppers) != 1 or loop.opaque:
        return None
    return f"floor(({loop.uppers[0]} - {_start(loop)} + {loop.step - 1})/{loop.step})"


def _start(loop: Loop) -> str:
    """The first value of the loop variable."""
    bounds = ", ".join(loop.lowers)
    return f"max({bounds})" if len(loop.lowers) > 1 else f"({bounds})"


def _value(loop: Loop, count: str, trips: int) -> str:
    """The value of the loop variable with so many trips to come, with its own."""
    return f"{_start(loop)} + {loop.step}*({count} - {trips})"


def _before(loop: Loop, count: str, trips: int) -> tuple[str, ...]:
    """What holds of the loop variable in trips before so many last ones."""
    start, name = _start(loop), loop.name
    return (
        f"{name} >= {start}",
        f"{name} < {_value(loop, count, trips)}",
        f"({name} - ({start})) mod {loop.step} = 0",
    )


def _conditions(
    body: Sequence[Node], count: str, known: frozenset[str]
) -> Iterator[tuple[str, Loop | None]]:
    """The conditions on parameters, and those in loops of this count on their trips."""
    for node in body:
        match node:
            case Loop():
                inner = known
                if trip_count(node) == count:
                    inner |= {node.name}
                    inside = _conditions(node.body, count, inner)
                    yield from ((text, each or node) for text, each in inside)
                else:
                    yield from _conditions(node.body, count, known)
            case If():
                for text in node.constraints or ():
                    if formula(text, is_constraint=True).variables <= known:
                        yield text, None
                yield from _conditions((*node.body, *node.orelse), count, known)
            case _:
                pass


def _last_trips(tests: Iterable[tuple[str, Loop | None]], count: str) -> int:
    """The least number of last trips that leaves the fewest conditions undecided."""
    left = list[int]()
    for trips in range(MOST_LAST + 1):
        left.append(_undecided(tests, count, trips))
        if not left[-1]:
            break
    return left.index(min(left))


def _undecided(tests: Iterable[tuple[str, Loop | None]], count: str, trips: int) -> int:
    """How many conditions have no known outcome before so many last trips."""
    least = (f"{count} >= {trips}",) if trips else ()
    found = (
        (text, (*least, *(_before(loop, count, trips) if loop else ())))
        for text, loop in tests
    )
    return sum(_outcome(text, facts) is None for text, facts in found)


def _outcome(constraint: str, facts: tuple[str, ...]) -> bool | None:
    if always_holds(constraint, facts):
        return True
    return False if always_holds(f"not ({constraint})", facts) else None


def _decided(
    body: Sequence[Node], facts: tuple[str, ...], known: frozenset[str]
) -> Iterator[Node]:
    """The nodes with conditions over ``known`` variables replaced by their outcome."""
    for node in body:
        match node:
            case Loop():
                yield replace(node, body=tuple(_decided(node.body, facts, known)))
            case If(constraints=constraints) if constraints is not None:
                outcomes = {
                    text: _outcome(text, facts)
                    for text in constraints
                    if formula(text, is_constraint=True).variables <= known
                }
                kept = tuple(text for text in constraints if not outcomes.get(text))
                if False in outcomes.values():
                    yield from _decided(node.orelse, facts, known)
                elif not kept:
                    yield from _decided(node.body, facts, known)
                else:
                    yield replace(
                        node,
                        constraints=kept,
                        body=tuple(_decided(node.body, facts, known)),
                        orelse=tuple(_decided(node.orelse, facts, known)),
                    )
            case _:
                yield node
