"""Happens-before order of mbarriers: phases of arrivals, and waits for these phases.

An mbarrier counts phases 0, 1, ...; one completes when all its arrivals and the bytes
that they expect have come.  `MbarrierPhases` assigns a phase to each mbarrier arrive,
copy and wait, and `Mbarriers` derives the order.  For an arrival, a copy or a wait x on
barrier c let the rank r(x) be the number of earlier ones of its kind and thread on c.
The rank is guessed as ``floor(k / S)``, where k is the number of earlier trips of all
surrounding loops and S the number of barriers, and verified: with N = { x -> y : one
thread, one barrier, S(x) < S(y) }

    x -> y in N has r(x) < r(y),   and   y with r(y) > 0 has an x with r(x) = r(y) - 1.

A wait of parity ``r mod 2`` waits for phase t = r: the wait before it has seen the end
of the phase before.  A wait of parity ``(r + 1) mod 2`` waits for t = r - 1, the first
time for nothing.  With these ranks and phases,

    E = { x -> w : x arrives, w waits, one barrier, r(x) <= t(w) }

are ordered pairs, if every arrival counts for the phase of its rank.  Violated rules
are reported by these names:

    count      the threads that arrive in a phase differ from the expected count
    bytes      copies behind an arrival do not bring the bytes that it expects
    init       a barrier is used that was not initialised
    overtaken  { x -> y : one barrier, r(y) = r(x) + 1 } is not ordered by E, so that
               phase r(x) may still run when y arrives
    stuck      a wait needs an arrival that needs the wait itself, or never comes

The proof of ``overtaken`` may use E: take, of all arrivals that come too early, the
first in time; everything before it was in order.  x is ordered before y if x precedes
an arrival of its thread, or of its warp or block across a barrier, E leads from there
to a wait, possibly through more such steps, and that wait precedes y.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field

from gpucodegen.records import dataclass
from gpucodegen.tiling.model.isl import OUT, Map, Set
from gpucodegen.tiling.model.relations import Instances, Model, header
from gpucodegen.tiling.model.scop import Role, Turn
from gpucodegen.tiling.proof.kernel_order import (
    dimensions,
    fenced,
    nothing,
    own,
    waits_alone,
)


class NotModelledError(Exception):
    """A use of mbarriers that these rules do not cover."""


@dataclass(frozen=True, slots=True)
class Site:
    """A statement on mbarriers with its rank; for a wait, the phase that it waits for.

    ``phases``: instances -> number.
    """

    instances: Instances
    phases: Map

    @property
    def array(self) -> str:
        return self.instances.accesses[0].array


@dataclass(frozen=True, slots=True)
class Fault:
    """A violated rule, with instances (trips -> values) that violate it."""

    reason: str
    instances: Instances
    bad: Map | None = None


@dataclass(slots=True)
class MbarrierPhases:
    """The statements on the mbarriers of a kernel, and the violated rules.

    Raises `NotModelledError` where ranks do not follow the loops' trips, or are
    unknown.
    """

    model: Model
    arrivals: list[Site] = field(default_factory=list[Site])
    copies: list[Site] = field(default_factory=list[Site])
    waits: list[Site] = field(default_factory=list[Site])
    faults: list[Fault] = field(default_factory=list[Fault])

    @staticmethod
    def of(model: Model) -> MbarrierPhases:
        made = MbarrierPhases(model)
        parts = [i for i in model.statements if i.phase is not None]
        for array in dict.fromkeys(i.accesses[0].array for i in parts):
            made._read([i for i in parts if i.accesses[0].array == array])
        return made

    def _read(self, parts: Sequence[Instances]) -> None:
        """Assigns ranks and phases to the statements on one array of barriers."""
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
        """Assigns the phase to a wait by its parity."""
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
        """Checks that as many threads arrive in each phase as ``init`` says."""
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
        """Checks that copies behind the arrival bring the bytes that it expects."""
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
        """The set of phase numbers n that fulfil a condition."""
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
    """The number of earlier iterations; None if extents of inner loops are unknown."""
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


HOPS = 2
"""Waits through which an order may lead."""


@dataclass(slots=True)
class Mbarriers:
    """The order that the mbarriers of a kernel enforce, and the violated rules."""

    model: Model
    fences: Sequence[Instances]
    turns: MbarrierPhases
    faults: list[Fault]
    found: dict[tuple[int, int], Map] = field(
        default_factory=dict[tuple[int, int], Map]
    )

    @staticmethod
    def of(model: Model, fences: Sequence[Instances]) -> Mbarriers:
        """Raises `NotModelledError` where the phases of an mbarrier are unknown."""
        turns = MbarrierPhases.of(model)
        made = Mbarriers(model, fences, turns, [*turns.faults])
        for arrival in turns.arrivals:
            made._check(arrival)
        for wait in turns.waits:
            made._check_wait(wait)
        return made

    @property
    def copied(self) -> set[str]:
        """The arrays that copies with an mbarrier write."""
        sites = (copy.instances.accesses[1:] for copy in self.turns.copies)
        return {access.array for accesses in sites for access in accesses}

    # -- what is wrong ---------------------------------------------------------------

    def _check(self, arrival: Site) -> None:
        """overtaken: { x -> y : one barrier, r(y) = r(x) + 1 } minus in order by E."""
        x = arrival.instances
        pairs = self.turns.on_one_barrier(arrival, "n = m + 1", arrival)
        ordered = nothing(x, x)
        for wait in self.turns.waits:
            edge = self._edge(arrival, wait)
            for last, lead in self._led(wait, edge):
                ordered = ordered.union(lead.apply_range(own(last.instances, x)))
        early = pairs.subtract(ordered)
        if not self.model.solver.is_empty(early):
            reason = "an arrival may come before the phase in front of it is over"
            bad = x.values.intersect_domain(early.range())
            self.faults.append(Fault(reason, x, bad))

    def _check_wait(self, wait: Site) -> None:
        """stuck: waits that need themselves, or phases that nothing completes."""
        w = wait.instances
        ends = [s for s in self.turns.arrivals if s.array == wait.array]
        reached = w.domain.subtract(
            wait.phases.intersect_range(self.turns.numbers("n >= 0")).domain()
        )
        for arrival in ends:
            due = self.turns.on_one_barrier(arrival, "n = m", wait)
            reached = reached.union(due.range())
        if not self.turns.covers(reached, w.domain):
            bad = w.values.subtract_domain(reached)
            reason = "a wait for a phase that does not end"
            self.faults.append(Fault(reason, w, bad))
        loop = self._hop(wait, wait)
        for other in self.turns.waits:
            loop = loop.union(
                self._hop(wait, other).apply_range(self._hop(other, wait))
            )
        itself = loop.intersect(Map.identity(loop.get_space()))
        if not self.model.solver.is_empty(itself):
            bad = w.values.intersect_domain(itself.domain())
            reason = "a wait for a phase that ends behind the wait only"
            self.faults.append(Fault(reason, w, bad))

    # -- order -----------------------------------------------------------------------

    def ordered(self, a: Instances, b: Instances) -> Map:
        """{ x -> y : x is over when y begins }, as far as mbarriers order them."""
        key = a.order, b.order
        if key not in self.found:
            self.found[key] = self.model.solver.ask(
                lambda: self._ordered(a, b), nothing(a, b)
            )
        return self.found[key]

    def _ordered(self, a: Instances, b: Instances) -> Map:
        found = nothing(a, b)
        for wait in self.turns.waits:
            for last, lead in self._led(wait, self._first(a, wait)):
                found = found.union(lead.apply_range(self._behind(last, b)))
        return found.coalesce()

    def _first(self, a: Instances, wait: Site) -> Map:
        """{ x -> w : x is over when w has waited }, by one edge."""
        edges = nothing(a, wait.instances)
        if a.arrives:
            for copy in self.turns.copies:
                if copy.instances.order == a.order:
                    edges = edges.union(self._edge(copy, wait))
            return edges
        for arrival in self.turns.arrivals:
            if arrival.array == wait.array:
                before = self._before(a, arrival.instances)
                edges = edges.union(before.apply_range(self._edge(arrival, wait)))
        return edges

    def _led(self, wait: Site, first: Map) -> Iterator[tuple[Site, Map]]:
        """Composes relations to a wait with later waits, hop by hop."""
        reached = [(wait, first)]
        for _ in range(HOPS):
            yield from reached
            reached = [
                (other, lead.apply_range(self._hop(last, other)))
                for last, lead in reached
                for other in self.turns.waits
                if other.array != last.array
            ]

    def _hop(self, wait: Site, other: Site) -> Map:
        """{ w -> v : an arrival behind w in its thread completes the phase of v }."""
        w, v = wait.instances, other.instances
        found = nothing(w, v)
        for arrival in self.turns.arrivals:
            if arrival.array == other.array:
                before = own(w, arrival.instances).intersect_domain(w.domain)
                found = found.union(before.apply_range(self._edge(arrival, other)))
        return found

    def _edge(self, arrival: Site, wait: Site) -> Map:
        """E between two statements."""
        if arrival.array != wait.array:
            return nothing(arrival.instances, wait.instances)
        return self.turns.on_one_barrier(arrival, "m <= n", wait)

    def _before(self, a: Instances, s: Instances) -> Map:
        """{ x -> s : x precedes s in its thread, or across a barrier }.

        The operands of a warpgroup multiplication are read when the lanes of its warp
        go on.
        """
        fences = [
            f for f in self.fences if not waits_alone(f) or f.order == a.order + 1
        ]
        return own(a, s).union(
            fenced(self.model, a, s, fences).intersect_range(s.domain)
        )

    def _behind(self, wait: Site, b: Instances) -> Map:
        fences = [f for f in self.fences if not waits_alone(f)]
        w = wait.instances
        return own(w, b).union(fenced(self.model, w, b, fences))
