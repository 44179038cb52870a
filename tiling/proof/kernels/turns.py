"""Who arrives at mbarriers and who waits for them, in turns of which phase.

An mbarrier counts phases 0, 1, ...; one ends when its arrivals have come, and the bytes
that these expect.  For an arrival, a copy or a wait x on barrier c let the rank r(x) be
the number of those before it of its kind and thread on c.  The rank is guessed as
``floor(k / S)``, k the trips before it, of all loops around, and S the number of
barriers, and checked: with N = { x -> y : one thread, one barrier, S(x) < S(y) }

    x -> y in N has r(x) < r(y),   and   y with r(y) > 0 has an x with r(x) = r(y) - 1.

A wait whose parity is ``r mod 2`` waits for phase t = r: when it comes, the phase
before is over, for the wait before it saw that.  One of parity ``(r + 1) mod 2`` waits
for t = r - 1, the first time for nothing.  What may be wrong already:

    count    not as many threads arrive in each phase as the barrier was told to expect
    bytes    copies behind an arrival do not bring what it expects, or have none
    init     a barrier is used that was not initialised
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from gpucodegen.tiling.model.isl import OUT, Map, Set
from gpucodegen.tiling.model.relations import Instances, Model, header
from gpucodegen.tiling.model.scop import Role, Turn
from gpucodegen.tiling.proof.kernels.ordering import dimensions, own


class NotModelledError(Exception):
    """What of a kernel's mbarriers these rules are not about."""


@dataclass(frozen=True, slots=True)
class Site:
    """A statement on mbarriers, and its rank; of a wait, the phase that it waits for.

    ``phases``: instances -> number.
    """

    instances: Instances
    phases: Map

    @property
    def array(self) -> str:
        """The barriers."""
        return self.instances.accesses[0].array


@dataclass(frozen=True, slots=True)
class Fault:
    """A rule that does not hold, with instances (trips -> values) that break it."""

    reason: str
    instances: Instances
    bad: Map | None = None


@dataclass(slots=True)
class Turns:
    """The statements on the mbarriers of a kernel, and what is wrong with them.

    Raises `NotModelledError` where they do not take turns, or that is not known.
    """

    model: Model
    arrivals: list[Site] = field(default_factory=list[Site])
    copies: list[Site] = field(default_factory=list[Site])
    waits: list[Site] = field(default_factory=list[Site])
    faults: list[Fault] = field(default_factory=list[Fault])

    @staticmethod
    def of(model: Model) -> Turns:
        """All of them."""
        made = Turns(model)
        parts = [i for i in model.statements if i.phase is not None]
        for array in dict.fromkeys(i.accesses[0].array for i in parts):
            made._read([i for i in parts if i.accesses[0].array == array])
        return made

    def _read(self, parts: Sequence[Instances]) -> None:
        """The statements on one array of barriers."""
        inits, arrivals, waits, copies = (
            [i for i in parts if i.phase is not None and i.phase.turn is turn]
            for turn in (Turn.INIT, Turn.ARRIVE, Turn.WAIT, Turn.COPY)
        )
        known = all(i.certain and i.exact[0] for i in parts)
        if not known or len(inits) != 1 or max(len(arrivals), len(waits)) > 1:
            message = "mbarriers on which more than one place arrives or waits"
            raise NotModelledError(message)
        (init,) = inits
        for each in (*arrivals, *waits, *copies):
            ready = init.relations[0].range()
            if not self.covers(ready, each.relations[0].range()):
                self.faults.append(Fault("an mbarrier is not initialised", each))
        for each in arrivals:
            self.arrivals.append(Site(each, self._rank(each)))
            self._count(init, self.arrivals[-1])
            self._bytes(each, copies)
        if copies and not arrivals:
            self.faults.append(Fault("nothing expects the bytes of a copy", copies[0]))
        self.copies += [Site(each, self._rank(each)) for each in copies]
        self.waits += [self._wait(each) for each in waits]

    def _rank(self, x: Instances) -> Map:
        """{ x -> r(x) }."""
        sequential = dimensions(x, Role.SEQUENTIAL)
        (count,) = self.model.array(x.accesses[0].array).shape
        names = [f"__x{d}" for d in range(len(x.loops))]
        trips = _trips_before(x, sequential, names)
        if trips is None or not isinstance(count, int):
            raise NotModelledError("mbarriers in loops of unknown extents")
        rank = f"floor(({trips})/{count})"
        text = f"{header(self.model.scop)} {{ [{', '.join(names)}] -> [{rank}] }}"
        found = self.model.solver.map(text).intersect_domain(x.domain)
        after = own(x, x).intersect_domain(x.domain).intersect(_same(x, x))
        grows = self._between(found, "m < n", found)
        follows = after.intersect(self._between(found, "n = m + 1", found))
        first = found.intersect_range(self.numbers("n <= 0")).domain()
        if not (
            self._is_within(after, grows)
            and self.covers(follows.range().union(first), x.domain)
        ):
            raise NotModelledError("mbarriers that do not take turns")
        return found

    def _wait(self, x: Instances) -> Site:
        """A wait, whose parity tells the phase."""
        rank, names = self._rank(x), [loop.name for loop in x.loops]
        assert x.phase is not None
        if x.phase.odd is None:
            raise NotModelledError("a parity that is not known")
        odd = x.values.intersect_range(self.model.where(names, x.phase.odd)).domain()
        is_odd = rank.intersect_range(self.numbers("n mod 2 = 1")).domain()
        if self._equal(odd, is_odd):
            return Site(x, rank)
        if self._equal(odd, x.domain.subtract(is_odd)):
            return Site(x, rank.apply_range(self._map("[n] -> [n - 1]")))
        reason = "a phase of an mbarrier is taken for another one"
        self.faults.append(Fault(reason, x, x.values))
        return Site(x, rank.intersect_range(self.numbers("n < 0")))

    def _count(self, init: Instances, arrival: Site) -> None:
        """As many threads arrive in each phase as ``init`` says."""
        x, phase = arrival.instances, init.phase
        threads = dimensions(x, Role.THREAD)
        everyone = x.domain
        for d in range(x.domain.dim(OUT) - 1, -1, -1):
            if d not in threads:
                everyone = everyone.project_out(OUT, d, 1)
        everyone = everyone.project_out_all_params()
        anyone = x.domain
        for d in threads:
            anyone = anyone.eliminate(OUT, d, 1)
        missing = anyone.intersect(self._with_threads(x, everyone, threads))
        wanted = None if phase is None else phase.number
        found = self.model.solver.ask(lambda: _number_of(everyone), None)
        if wanted is None or found is None:
            raise NotModelledError("mbarriers whose arrivals are not counted")
        if found != wanted or not self.covers(x.domain, missing):
            reason = f"{found} threads arrive in a phase that {wanted} arrivals end"
            self.faults.append(Fault(reason, x, x.values))

    def _with_threads(self, x: Instances, everyone: Set, threads: Sequence[int]) -> Set:
        """The tuples whose threads are among ``everyone``."""
        names = [f"__x{d}" for d in range(len(x.loops))]
        kept = ", ".join(names[d] for d in threads)
        text = f"{header(self.model.scop)} {{ [{', '.join(names)}] -> [{kept}] }}"
        return self.model.solver.map(text).intersect_range(everyone).domain()

    def _bytes(self, x: Instances, copies: Sequence[Instances]) -> None:
        """Copies in the same iterations, behind the arrival, bring what it expects."""
        assert x.phase is not None
        sizes = [c.phase.number for c in copies if c.phase is not None]
        names = [loop.name for loop in x.loops]
        together = all(
            c.order > x.order
            and [loop.name for loop in c.loops] == names
            and self._equal(c.domain, x.domain)
            and self._is_same(c.relations[0], x.relations[0])
            for c in copies
        )
        if None in sizes or x.phase.number is None or not together:
            raise NotModelledError("copies that are not behind the arrival for them")
        given = sum(size or 0 for size in sizes)
        if given != x.phase.number:
            reason = f"{given} bytes arrive where {x.phase.number} are expected"
            self.faults.append(Fault(reason, x, x.values))

    # -- relations -------------------------------------------------------------------

    def on_one_barrier(self, one: Site, condition: str, other: Site) -> Map:
        """{ x -> y : one barrier, ``condition`` on the phases m of x and n of y }."""
        pairs = _same(one.instances, other.instances)
        return pairs.intersect(self._between(one.phases, condition, other.phases))

    def _between(self, one: Map, condition: str, other: Map) -> Map:
        compared = self._map(f"[m] -> [n] : {condition}")
        return one.apply_range(compared).apply_range(other.reverse())

    def _map(self, text: str) -> Map:
        return self.model.solver.map(f"{header(self.model.scop)} {{ {text} }}")

    def numbers(self, condition: str) -> Set:
        """The phases n for which a condition holds."""
        return self.model.where(["n"], condition)

    def _holds(self, query: Callable[[], bool]) -> bool:
        return self.model.solver.ask(query, otherwise=False)

    def _is_within(self, one: Map, other: Map) -> bool:
        return self._holds(lambda: one.is_subset(other))

    def _is_same(self, one: Map, other: Map) -> bool:
        return self._holds(lambda: one.is_equal(other))

    def covers(self, one: Set, other: Set) -> bool:
        """Whether all of ``other`` is certainly in ``one``."""
        return self._holds(lambda: other.is_subset(one))

    def _equal(self, one: Set, other: Set) -> bool:
        return self._holds(lambda: one.is_equal(other))


def _trips_before(
    x: Instances, sequential: Sequence[int], names: Sequence[str]
) -> str | None:
    """How many iterations there are before one; None unless inner loops are known."""
    terms, each = list[str](), 1
    for d in reversed(sequential):
        if each == 0:
            return None
        terms.append(f"{each}*{names[d]}")
        lowers, uppers = x.loops[d].lowers, x.loops[d].uppers
        is_known = lowers == ("0",) and len(uppers) == 1 and uppers[0].isdecimal()
        each *= -(-int(uppers[0]) // x.loops[d].step) if is_known else 0
    return " + ".join(terms) or "0"


def _same(a: Instances, b: Instances) -> Map:
    """{ x -> y : one barrier }; barriers belong to a block."""
    return a.relations[0].apply_range(b.relations[0].reverse())


def _number_of(points: Set) -> int:
    """How many points a set has."""
    return int(points.count_val().to_python())
