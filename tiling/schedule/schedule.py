"""Affine schedules of a nest: units, their times, and legality.

From a `Model` and its dependences, `UnitNest.schedule` makes a `Schedule`: per unit the
time of an instance as isl text over the names of its loops, checked or refused with a
witness. A *unit* is a run of statements in one body that stay together, because their
operations share values. Within one instance a unit keeps its own order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, count

from gpucodegen.records import dataclass
from gpucodegen.tiling.model.isl import Map
from gpucodegen.tiling.model.relations import Instances, Model
from gpucodegen.tiling.model.scop import RESERVED, If, Loop, Node, Statement
from gpucodegen.tiling.proof.dependences import Dependence
from gpucodegen.tiling.proof.legality import Refusal, check_schedule


@dataclass(frozen=True, slots=True)
class Unit:
    """Statements that are executed together; the first one names the unit."""

    statements: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.statements[0]


@dataclass(frozen=True, slots=True)
class UnitNest:
    """A program part that is to be rescheduled.

    >>> from gpucodegen.tiling.proof.dependences import dependences
    >>> from gpucodegen.tiling.model.relations import model
    >>> from gpucodegen.tiling.model.scop import Array, Loop, Scop, Statement, nest
    >>> from gpucodegen.tiling.model.scop import read, write
    >>> shift = Statement("S", (read("A", "i"), write("A", "i + 1")))
    >>> body = nest([Loop("i", "0", "8")], (shift,))
    >>> built = model(Scop((), (), (Array("A", (9,)),), body))
    >>> line = UnitNest(built, dependences(built), (Unit(("S",)),))
    >>> line.original
    {'S': ('0', 'i', '0')}
    >>> print(line.check({"S": ("-1*i",)}))
    the schedule reverses a dependence: S at (i=0) writes A[1] and S at (i=1) reads it
    """

    model: Model
    dependences: tuple[Dependence, ...]
    units: tuple[Unit, ...]

    def instances(self, unit: Unit) -> Instances:
        return self.model.statement(unit.name)

    def ordered(self) -> Iterator[tuple[Dependence, Unit, Unit]]:
        """The dependences that a schedule has to keep, with the units of their ends."""
        home = {name: unit for unit in self.units for name in unit.statements}
        for dependence in self.dependences:
            source = home[dependence.source.instances.name]
            sink = home[dependence.sink.instances.name]
            declared = dependence.carrier is not None and dependence.carrier.parallel
            inside = dependence.level is None and source is sink
            if not declared and not inside:
                yield dependence, source, sink

    def times_of(
        self, dependence: Dependence, source: Sequence[str], sink: Sequence[str]
    ) -> tuple[Map, Map]:
        """Instances of both ends of a dependence -> their times, as isl text."""
        ends = dependence.source.instances, dependence.sink.instances
        given = zip(ends, (source, sink), strict=True)
        begin, end = (self.model.times(one.name, times) for one, times in given)
        return begin, end

    @property
    def original(self) -> dict[str, tuple[str, ...]]:
        """The textual order: alternating positions and loops, outermost first."""
        found: dict[str, tuple[str, ...]] = {}
        names = {unit.name for unit in self.units}

        def visit(body: tuple[Node, ...], before: tuple[str, ...], first: int) -> int:
            at = first
            for node in body:
                here = (*before, str(at))
                match node:
                    case Loop():
                        visit(node.body, (*here, node.name), 0)
                    case If():
                        at = visit(node.body, before, at)
                        at = visit(node.orelse, before, at)
                    case Statement() if node.name in names:
                        found[node.name] = here
                    case _:
                        pass
                at += 1
            return at

        visit(self.model.scop.body, (), 0)
        return found

    def check(self, times: Mapping[str, Sequence[str]]) -> Refusal | None:
        """Whether a schedule, unit -> isl text over loop names, keeps all dependences.

        With T the schedule: { x -> y in dependences : T(x) lex after or equal T(y) } is
        empty, where x and y are not parts of one instance of a unit.
        """
        kept = [dependence for dependence, _, _ in self.ordered()]
        every = {
            name: tuple(times[unit.name])
            for unit in self.units
            for name in unit.statements
        }
        refusal = check_schedule(self.model, kept, every)
        if refusal is None or refusal.witness is not None:
            return refusal
        return Refusal("the schedule was not proven in time", undecided=True)

    def schedule(
        self,
        times: Mapping[str, tuple[str, ...]],
        first: Sequence[str] = (),
        parallel: frozenset[int] = frozenset(),
    ) -> Schedule:
        """A schedule; ``first`` names its first variables, loops name later ones."""
        taken = {*self.model.scop.parameters, *RESERVED}
        names: list[str] = []
        for at, texts in enumerate(zip(*times.values(), strict=True)):
            used = [word for text in texts for word in _WORD.findall(text)]
            loops = (word for word in used if word not in taken)
            hint = first[at] if at < len(first) else next(loops, "part")
            names.append(_fresh(hint, {*taken, *names}))
        return Schedule(times, tuple(names), parallel)


@dataclass(frozen=True, slots=True)
class Schedule:
    """The time of each instance: per unit one isl text for each of ``names``.

    ``names`` are hints for the variables of the loops; ``parallel`` are the positions
    of parallel loops, ``strided`` those of innermost loops with a stride across rows,
    whose vectors would have to be gathered.
    """

    times: Mapping[str, tuple[str, ...]]
    names: tuple[str, ...]
    parallel: frozenset[int] = frozenset()
    strided: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        """Check that all times have one length."""
        if {len(vector) for vector in self.times.values()} - {len(self.names)}:
            raise ValueError("times differ in length; pad them with '0'.")


def _fresh(hint: str, taken: set[str]) -> str:
    numbered = (f"{hint}_{number}" for number in count())
    return next(name for name in chain([hint], numbered) if name not in taken)


def compact(times: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """Times without entries that are the same number in all units.

    >>> compact({"S": ("0", "t", "0"), "R": ("0", "t", "1")})
    {'S': ('t', '0'), 'R': ('t', '1')}
    """
    entries = list(zip(*times.values(), strict=True))
    kept = [
        at
        for at, texts in enumerate(entries)
        if len(set(texts)) > 1 or not texts[0].lstrip("-").isdigit()
    ]
    return {name: tuple(vector[at] for at in kept) for name, vector in times.items()}


_WORD = re.compile(r"[A-Za-z_]\w*")


def padded(times: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """Times of one length; shorter ones are padded with zeros.

    >>> padded({"S": ("t", "0"), "R": ("t", "1", "i")})
    {'S': ('t', '0', '0'), 'R': ('t', '1', 'i')}
    """
    length = max(map(len, times.values()))
    return {
        name: (*vector, *["0"] * (length - len(vector)))
        for name, vector in times.items()
    }
