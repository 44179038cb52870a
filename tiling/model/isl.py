"""The interface to isl: contexts with operation limits, intervals, sample points.

It turns isl text of sets and relations into islpy objects of one context and into plain
Python values (with `isl_forms`). Other modules import the types `Map` and `Set` from
here. An isl query may take exponential time, so each has a limit of isl operations, and
all queries of a problem share another one. No clock is read: answers are the same on
every machine. The caller passes the answer to assume at the limit, always the one that
proves nothing.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from functools import lru_cache
from math import inf
from typing import TypeVar

import islpy

from gpucodegen.records import dataclass
from gpucodegen.tiling.model.isl_forms import (
    IN,
    OUT,
    PARAM,
    SET,
    BasicSet,
    Constraint,
    Function,
    Map,
    Point,
    Set,
    Side,
    any_point,
    first_point,
)
from gpucodegen.tiling.model.scop import RESERVED

__all__ = [
    "IN",
    "OUT",
    "PARAM",
    "SET",
    "UNLIMITED",
    "BasicSet",
    "Constraint",
    "Function",
    "Interval",
    "Limits",
    "Map",
    "Point",
    "Set",
    "Side",
    "Solver",
    "always_holds",
]

Answer = TypeVar("Answer")
SMALLEST_QUOTA = 2_000
LEAST, COARSE = 256, 4
"""Operations that every query is taken to need, and the factor between larger counts:
isl tells only whether there were more than some."""

_NAME = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of isl operations per query and per problem.

    0 for a query is no limit.
    """

    operations: int = 50_000
    altogether: float = 16_000_000

    def of(self, statements: int) -> Limits:
        """The limits of a problem of this size: large ones have proportionally more.

        >>> Limits().of(100) == Limits(), Limits().of(512).altogether
        (True, 32000000.0)
        """
        return replace(self, altogether=self.altogether * max(1, statements / MANY))


UNLIMITED = Limits(0, inf)
MANY = 256
"""Statements of a problem for which ``altogether`` is meant."""


class _OverLimit(Exception):
    """A limit was reached."""


@dataclass(slots=True)
class _Texts:
    """An isl context with all that was read in it: most texts recur in many problems.

    ``costs``: the operations that reading a text took, rounded up, where counted.
    """

    context: islpy.Context = field(default_factory=islpy.Context)
    maps: dict[str, Map] = field(default_factory=dict[str, Map])
    sets: dict[str, Set] = field(default_factory=dict[str, Set])
    costs: dict[str, int] = field(default_factory=dict[str, int])


MOST_TEXTS = 20_000
"""Texts after which later problems of a thread start with a new context."""
_LOCAL = threading.local()


def _texts() -> _Texts:
    """The texts of this thread: a context must not be used by two at once."""
    found: _Texts | None = getattr(_LOCAL, "texts", None)
    if found is None or len(found.maps) + len(found.sets) > MOST_TEXTS:
        found = _LOCAL.texts = _Texts()
    return found


@dataclass(slots=True)
class Solver:
    """Queries to isl, and their limits.

    A query that exceeds its limit halves the limit, so that hopeless problems end soon.
    ``spent``: operations so far, rounded up.  A text that an earlier problem has read
    counts as if this one had read it, and queries read their texts again, so answers do
    not depend on earlier problems.

    >>> solver = Solver()
    >>> evens = solver.set("{ [i] : 0 <= i < 10 and i mod 2 = 0 }")
    >>> str(solver.interval(evens, 0))
    '[0, 8]'
    >>> solver.ask(evens.is_empty, otherwise=False)
    False
    """

    limits: Limits = field(default_factory=Limits)
    spent: int = 0
    _texts: _Texts = field(default_factory=_texts)
    _maps: dict[str, Map] = field(default_factory=dict[str, Map])
    _sets: dict[str, Set] = field(default_factory=dict[str, Set])
    _asking: bool = False
    _numbers: dict[object, int] = field(default_factory=dict[object, int])
    asked: int = 0
    """Queries so far: what the work of an analysis grows with."""

    @property
    def context(self) -> islpy.Context:
        """The context of all objects that the solver makes."""
        return self._texts.context

    def ask(self, query: Callable[[], Answer], otherwise: Answer) -> Answer:
        """The answer of ``query``, or ``otherwise`` if isl exceeds the limit."""
        try:
            return self._limited(query)
        except (_OverLimit, islpy.Error):
            return otherwise

    @contextmanager
    def more(self, factor: int) -> Generator[None, None, None]:
        """Multiplies the limits by ``factor`` within this context."""
        before = self.limits
        self.limits = Limits(before.operations * factor, before.altogether * factor)
        try:
            yield
        finally:
            self.limits = before

    def _limited(self, query: Callable[[], Answer]) -> Answer:
        if self.spent > self.limits.altogether:
            raise _OverLimit
        self.asked += 1
        self.context.reset_operations()
        self.context.set_max_operations(self.limits.operations)
        outer, self._asking = self._asking, True
        try:
            return query()
        except (islpy.Error, TypeError) as error:  # Val.to_python: TypeError
            if not self._exhausted():
                raise
            self._tighten()
            raise _OverLimit from error
        finally:
            self._asking = outer
            self.spent += self._counted()
            self.context.set_max_operations(0)

    def _tighten(self) -> None:
        quota = self.limits.operations
        smaller = max(quota // 2, min(quota, SMALLEST_QUOTA))
        self.limits = replace(self.limits, operations=smaller)

    def _counted(self) -> int:
        """The operations of the last query, rounded up."""
        found = LEAST
        self.context.set_max_operations(found)
        while self._exhausted():
            found *= COARSE
            self.context.set_max_operations(found)
        return found

    def _exhausted(self) -> bool:
        """Whether the limit of the problem is reached.

        The text of isl's error does not tell this case from others.
        """
        try:
            islpy.Val.zero(self.context)
        except islpy.Error:
            return True
        return False

    def number(self, thing: object) -> int:
        """A short name of an object; equal objects, and no others, share it."""
        return self._numbers.setdefault(thing, len(self._numbers))

    def map(self, text: str) -> Map:
        """The relation written as isl text; each text is read once."""
        if text not in self._maps:
            shared = {} if self._asking else self._texts.maps
            if text not in shared:
                shared[text] = islpy.Map.read_from_str(self.context, text)
            self._maps[text] = shared[text]
        return self._maps[text]

    def set(self, text: str) -> Set:
        """The set written as isl text; each text is read once."""
        if text not in self._sets:
            shared = {} if self._asking else self._texts.sets
            if text not in shared:
                shared[text] = islpy.Set.read_from_str(self.context, text)
            self._sets[text] = shared[text]
        return self._sets[text]

    def read(self, text: str) -> Map | None:
        """As `map`, but None over the limit; malformed text is an error."""
        cost = LEAST if text in self._maps else self._texts.costs.get(text)
        limit = self.limits.operations
        if cost is not None and (not limit or cost <= limit):
            if self.spent > self.limits.altogether:
                return None
            self.asked += 1
            self.spent += cost
            return self.map(text)
        before = self.spent
        try:
            found = self._limited(lambda: self.map(text))
        except _OverLimit:
            return None
        except islpy.Error as error:
            raise ValueError(
                f"{text!r} is not isl text; factors must be plain integers."
            ) from error
        self._texts.maps[text] = found
        self._texts.costs[text] = self.spent - before
        return found

    def is_empty(self, relation: Map | Set) -> bool:
        """Whether ``relation`` is certainly empty."""
        return self.ask(relation.is_empty, otherwise=False)

    def interval(self, points: Set, dimension: int) -> Interval:
        """The exact range of one dimension over all points and all parameters."""
        lower = self.ask(lambda: _finite(points.dim_min_val(dimension)), None)
        upper = self.ask(lambda: _finite(points.dim_max_val(dimension)), None)
        return Interval(lower, upper)

    def least(self, points: Set, factors: Sequence[int]) -> int | None:
        """min { sum of factors_d * p_d : p in points }; None if there is none.

        >>> solver = Solver()
        >>> solver.least(solver.set("{ [i, j] : 2 <= i < 9 and j < i }"), (3, -1))
        5
        """
        objective = islpy.Aff.zero_on_domain(points.get_space())
        for dimension, factor in enumerate(factors):
            objective = objective.set_coefficient_val(IN, dimension, factor)
        return self.ask(lambda: _finite(points.min_val(objective)), None)

    def difference(
        self, pairs: Map, first: Function, second: Function, dimension: int
    ) -> Interval:
        """The exact range of { second(y)_d - first(x)_d : x -> y in pairs }.

        >>> solver = Solver()
        >>> pairs = solver.map("[N] -> { [x] -> [y] : 0 <= x < y < N }")
        >>> from gpucodegen.tiling.model.isl_forms import linear_function
        >>> twice = linear_function(solver.map("[N] -> { [x] -> [2*x] }"))
        >>> print(solver.difference(pairs, twice, twice, 0))
        [2, +inf]
        """
        space = pairs.get_space()
        ends = (islpy.MultiAff.domain_map(space), islpy.MultiAff.range_map(space))
        start = first.get_at(dimension).pullback_multi_aff(ends[0])
        change = second.get_at(dimension).pullback_multi_aff(ends[1]).sub(start)
        points = pairs.wrap()
        lower = self.ask(lambda: _finite(points.min_val(change)), None)
        upper = self.ask(lambda: _finite(points.max_val(change)), None)
        return Interval(lower, upper)

    def smallest(self, points: Set) -> Point | None:
        """Parameters and coordinates of the lexicographically first point.

        Any point where there is no first one; None where none is found.
        """
        first = self.ask(lambda: first_point(points), None)
        return first or self.ask(lambda: any_point(points), None)


@dataclass(frozen=True, slots=True)
class Interval:
    """An integer interval; None is an infinite end.

    >>> print(Interval(1, None))
    [1, +inf]
    """

    lower: int | None
    upper: int | None

    def __str__(self) -> str:
        lower = "-inf" if self.lower is None else self.lower
        upper = "+inf" if self.upper is None else self.upper
        return f"[{lower}, {upper}]"

    @property
    def exact(self) -> int | None:
        """The only member, if there is just one."""
        return self.lower if self.lower == self.upper else None


def always_holds(constraint: str, given: Sequence[str] = ()) -> bool:
    """Whether isl text is certainly true wherever the ``given`` constraints are.

    >>> always_holds("j + min(4, N - j) <= N"), always_holds("j + 4 <= N")
    (True, False)
    >>> always_holds("j + 4 <= 8", ["j < 8", "(j - (0)) mod 4 = 0"])
    True
    """
    return _holds(constraint, tuple(given))


@lru_cache(maxsize=10_000)
def _holds(constraint: str, given: tuple[str, ...]) -> bool:
    solver = Solver()
    held = " and ".join(["1 = 1", *given])
    names = sorted(set(_NAME.findall(f"{constraint} {held}")) - RESERVED)
    text = f"[{', '.join(names)}] -> {{ : {held} and not ({constraint}) }}"
    return solver.ask(lambda: solver.set(text).is_empty(), otherwise=False)


def _finite(value: islpy.Val) -> int | None:
    return value.to_python() if value.is_int() else None
