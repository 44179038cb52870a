"""What mbarriers order: an arrival is in front of the waits for its phase.

With the ranks r and the phases t of `turns`,

    E = { x -> w : x arrives, w waits, one barrier, r(x) <= t(w) }

are pairs in order, if every arrival counts for the phase of its rank:

    overtaken  { x -> y : one barrier, r(y) = r(x) + 1 } is in order by E first, so that
               phase r(x) is over when y arrives
    stuck      no wait needs an arrival that needs the wait itself, or that never comes

The first may use E: of all arrivals that come too early take the first in time; all
that is in front of it was in order.  x is in order with y if x stands before an arrival
of its thread, or of its warp or block across a barrier, E leads from there to a wait,
perhaps through more such steps, and that wait stands before y.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from gpucodegen.tiling.model.isl import Map
from gpucodegen.tiling.model.relations import Instances, Model
from gpucodegen.tiling.proof.kernels.ordering import (
    fenced,
    nothing,
    own,
    waits_alone,
)
from gpucodegen.tiling.proof.kernels.turns import Fault, Site, Turns

HOPS = 2
"""Waits through which an order may lead."""


@dataclass(slots=True)
class Mbarriers:
    """The order that the mbarriers of a kernel make, and what is wrong with it."""

    model: Model
    fences: Sequence[Instances]
    turns: Turns
    faults: list[Fault]
    found: dict[tuple[int, int], Map] = field(
        default_factory=dict[tuple[int, int], Map]
    )

    @staticmethod
    def of(model: Model, fences: Sequence[Instances]) -> Mbarriers:
        """Raises `NotModelledError` where the turns at an mbarrier are not known."""
        turns = Turns.of(model)
        made = Mbarriers(model, fences, turns, [*turns.faults])
        for arrival in turns.arrivals:
            made._check(arrival)
        for wait in turns.waits:
            made._check_wait(wait)
        return made

    @property
    def copied(self) -> set[str]:
        """The arrays that copies write."""
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
        """stuck: waits for themselves, or for phases that nothing ends."""
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
        """Where relations to a wait lead on to, hop by hop."""
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
        """{ w -> v : an arrival behind w in its thread ends what v waits for }."""
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
        """{ x -> s : x stands before s in its thread, or across a barrier }.

        What a product reads is read when the lanes of its warp go on.
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
