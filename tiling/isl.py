"""The door to isl: contexts with an operation limit, exact intervals, sample points.

Comes in: isl text of sets and relations. Goes out: islpy objects of one context and
plain Python values. islpy is imported here and in `isl_ast` only; other modules of this
package take the types `Map` and `Set` from here.

An isl query may blow up, so each has a limit of isl operations and all of a problem
share a limit of time (isl does not count all that it does). Whoever asks says what to
assume when there is no answer: always the side on which nothing is proven.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from math import inf
from time import thread_time
from typing import TypeAlias, TypeVar

import islpy

from .scop import RESERVED

Map: TypeAlias = islpy.Map
Set: TypeAlias = islpy.Set
BasicSet: TypeAlias = islpy.BasicSet
Constraint: TypeAlias = islpy.Constraint
Function: TypeAlias = islpy.MultiAff
Side: TypeAlias = islpy.dim_type
Point: TypeAlias = tuple[dict[str, int], tuple[int, ...]]
Answer = TypeVar("Answer")

IN = islpy.dim_type.in_
OUT = islpy.dim_type.out
SET = islpy.dim_type.set
PARAM = islpy.dim_type.param

SMALLEST_QUOTA = 2_000

_NAME = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class Limits:
    """How much may be spent: isl operations per query, CPU seconds per problem."""

    operations: int = 50_000
    seconds: float = 4.0


UNLIMITED = Limits(0, inf)


class _OverLimit(Exception):
    """A limit was reached."""


@dataclass(slots=True)
class Solver:
    """One isl context and its limits.

    A query over the limit of operations halves it, so that hopeless problems end soon.

    >>> solver = Solver()
    >>> evens = solver.set("{ [i] : 0 <= i < 10 and i mod 2 = 0 }")
    >>> str(solver.interval(evens, 0))
    '[0, 8]'
    >>> solver.ask(evens.is_empty, otherwise=False)
    False
    """

    limits: Limits = field(default_factory=Limits)
    overruns: int = 0
    spent: float = 0.0
    context: islpy.Context = field(default_factory=islpy.Context)
    _maps: dict[str, Map] = field(default_factory=dict[str, Map])
    _sets: dict[str, Set] = field(default_factory=dict[str, Set])

    def ask(self, query: Callable[[], Answer], otherwise: Answer) -> Answer:
        """The answer of ``query``, or ``otherwise`` when isl gives none."""
        try:
            return self._limited(query)
        except (_OverLimit, islpy.Error):
            return otherwise

    @contextmanager
    def more(self, factor: int) -> Generator[None, None, None]:
        """Within this context, ``factor`` times as much may be spent."""
        before = self.limits
        operations, seconds = before.operations * factor, before.seconds * factor
        self.limits = Limits(operations, seconds)
        try:
            yield
        finally:
            self.limits = before

    def _limited(self, query: Callable[[], Answer]) -> Answer:
        if self.spent > self.limits.seconds:
            self.overruns += 1
            raise _OverLimit
        start = thread_time()
        self.context.set_max_operations(self.limits.operations)
        try:
            return query()
        except (islpy.Error, TypeError) as error:  # Val.to_python: TypeError
            if not self._exhausted():
                raise
            self._tighten()
            raise _OverLimit from error
        finally:
            self.context.reset_operations()
            self.context.set_max_operations(0)
            self.spent += thread_time() - start

    def _tighten(self) -> None:
        self.overruns += 1
        quota = self.limits.operations
        smaller = max(quota // 2, min(quota, SMALLEST_QUOTA))
        self.limits = replace(self.limits, operations=smaller)

    def _exhausted(self) -> bool:
        """Whether nothing can be asked any more; the error's text does not tell."""
        try:
            islpy.Set.read_from_str(self.context, "{ [0] }").is_empty()
        except islpy.Error:
            return True
        return False

    def map(self, text: str) -> Map:
        """The relation written as isl text; each text is read once."""
        if text not in self._maps:
            self._maps[text] = islpy.Map.read_from_str(self.context, text)
        return self._maps[text]

    def set(self, text: str) -> Set:
        """The set written as isl text; each text is read once."""
        if text not in self._sets:
            self._sets[text] = islpy.Set.read_from_str(self.context, text)
        return self._sets[text]

    def read(self, text: str) -> Map | None:
        """As `map`, or None over the limit; bad text is an error."""
        try:
            return self._limited(lambda: self.map(text))
        except _OverLimit:
            return None
        except islpy.Error as error:
            raise ValueError(
                f"{text!r} is not isl text; factors must be plain integers."
            ) from error

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
        """Parameters and coordinates of the first point in lexicographic order.

        Any point where there is no first one; None where none is found.
        """
        first = self.ask(lambda: _first(points), None)
        return first or self.ask(lambda: _any(points), None)


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
    solver = Solver()
    held = " and ".join(["1 = 1", *given])
    names = sorted(set(_NAME.findall(f"{constraint} {held}")) - RESERVED)
    text = f"[{', '.join(names)}] -> {{ : {held} and not ({constraint}) }}"
    return solver.ask(lambda: solver.set(text).is_empty(), otherwise=False)


def _finite(value: islpy.Val) -> int | None:
    return value.to_python() if value.is_int() else None


def _first(points: Set) -> Point | None:
    count = points.dim(PARAM)
    names = [str(points.get_dim_name(PARAM, i)) for i in range(count)]
    free = points.flatten().move_dims(SET, 0, PARAM, 0, count)
    point = free.lexmin().sample_point()
    if point.is_void():
        return None
    values = _coordinates(point, SET)
    return dict(zip(names, values[:count], strict=True)), values[count:]


def _any(points: Set) -> Point | None:
    point = points.flatten().sample_point()
    if point.is_void():
        return None
    names = [str(points.get_dim_name(PARAM, i)) for i in range(points.dim(PARAM))]
    parameters = dict(zip(names, _coordinates(point, PARAM), strict=True))
    return parameters, _coordinates(point, SET)


def _coordinates(point: islpy.Point, kind: islpy.dim_type) -> tuple[int, ...]:
    count = point.get_space().dim(kind)
    values = [point.get_coordinate_val(kind, i) for i in range(count)]
    return tuple(value.to_python() for value in values)


def members(points: Set) -> tuple[tuple[int, ...], ...]:
    """Every point of a finite set without free parameters, in lexicographic order.

    >>> members(Solver().set("[N] -> { [i, j] : 0 <= i < N and j = 2*i and N = 3 }"))
    ((0, 0), (1, 2), (2, 4))
    """
    found: list[islpy.Point] = []
    points.foreach_point(found.append)
    return tuple(sorted({_coordinates(point, SET) for point in found}))


def set_text(points: Set, name: str, dimensions: Sequence[str]) -> str:
    """A set by the names of its dimensions, without what holds for its parameters.

    >>> points = Solver().set("[N] -> { [x] : 0 <= x < N and N >= 4 }")
    >>> set_text(points, "S", ("i",))
    'S[i] : 0 <= i < N'
    """
    shown = points.gist_params(points.params()).coalesce().remove_redundancies()
    shown = shown.set_tuple_name(name)
    for position, dimension in enumerate(dimensions):
        shown = shown.set_dim_name(SET, position, dimension)
    return str(shown).partition("{")[2].removesuffix("}").strip()


def mentioned_parameters(relation: Map) -> set[str]:
    """The parameters that the constraints of a relation depend on."""
    kind = islpy.dim_type.param
    return {
        str(relation.get_dim_name(kind, i))
        for i in range(relation.dim(kind))
        if relation.involves_dims(kind, i, 1)
    }


def linear_function(relation: Map) -> Function | None:
    """``relation`` as a function of one formula; None if it is not."""
    function = islpy.PwMultiAff.from_map(relation)
    return function.as_multi_aff() if function.isa_multi_aff() else None


def coefficients(relation: Map) -> tuple[tuple[int, ...], ...] | None:
    """Per output the factor of each input; None if ``relation`` is not linear.

    >>> coefficients(Solver().map("{ [i, j] -> [2*i + j + 1, -j] }"))
    ((2, 1), (0, -1))
    >>> coefficients(Solver().map("{ [i] -> [floor(i/2)] }")) is None
    True
    """
    rows = linear_function(relation)
    if rows is None:
        return None
    affine = [rows.get_at(i) for i in range(rows.dim(OUT))]
    if any(row.dim(islpy.dim_type.div) for row in affine):
        return None
    return tuple(
        tuple(row.get_coefficient_val(IN, i).to_python() for i in range(row.dim(IN)))
        for row in affine
    )


def affine_text(function: islpy.PwAff) -> str | None:
    """A function of parameters as isl text; None if it is not affine in one piece.

    >>> affine_text(Solver().set("[N] -> { [i] : 2*N - 1 <= i < 3*N }").dim_min(0))
    '-1 + 2*N'
    """
    pieces: list[islpy.Aff] = []
    function.foreach_piece(lambda _, piece: pieces.append(piece))
    if len(pieces) != 1 or pieces[0].dim(islpy.dim_type.div):
        return None
    affine = pieces[0]
    terms = [str(affine.get_constant_val().to_python())]
    for i in range(affine.dim(PARAM)):
        factor = affine.get_coefficient_val(PARAM, i).to_python()
        name = affine.get_dim_name(PARAM, i)
        if factor:
            terms.append(f"{name}" if factor == 1 else f"{factor}*{name}")
    if terms[0] == "0" and len(terms) > 1:
        terms = terms[1:]
    return " + ".join(terms)
