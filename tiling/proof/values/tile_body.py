"""What one iteration of outer loops takes from, and leaves in, the cells of an array.

Comes in: a `Model` and the number of outer loops that stand still. Goes out: sets of
cells over the values o of these loops, which become parameters named as the loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpucodegen.tiling.model.isl import IN, OUT, PARAM, Map, Set
from gpucodegen.tiling.model.relations import Model, Reference
from gpucodegen.tiling.proof.values.flow import flow


@dataclass(frozen=True, slots=True)
class TileBody:
    """The part of a model in one iteration of its ``depth`` outermost loops."""

    model: Model
    depth: int

    def cells(self, reference: Reference, relation: Map | None = None) -> Set:
        """{ cell : an instance x with o(x) = o accesses it }, without array scopes."""
        touched = reference.relation if relation is None else relation
        by_value = reference.instances.values.reverse().apply_range(touched)
        scope = len(self.model.array(reference.access.array).scope)
        return self._outer(reference, by_value.project_out(OUT, 0, scope)).range()

    def iterations(self) -> Set:
        """{ : o is an iteration of the outer loops }, whatever happens in it."""
        reference = self.model.references[0]
        loops = reference.instances.loops[: self.depth]
        by_value = self.model.box(reference.instances, loops).reverse()
        known = self.model.where((), " and ".join(self.model.scop.context) or "1 = 1")
        return self._outer(reference, by_value).params().intersect(known.params())

    def union(self, references: Sequence[Reference]) -> Set:
        """The cells of several references of one array, of which there is one."""
        first, *others = map(self.cells, references)
        for other in others:
            first = first.union(other)
        return first.coalesce()

    def exposed(self, reference: Reference, *, finished: bool = False) -> Set:
        """{ c : a read may find a value from before the iteration in c }.

        ``finished``: asynchronous copies count as done where they start.
        """
        found = flow(self.model, reference, finished=finished)
        return self.cells(reference, found and found.entering(self.depth))

    def same_iteration(self, pairs: Map) -> Map:
        """{ x -> y in pairs : o(x) = o(y) }."""
        for d in range(self.depth):
            pairs = pairs.equate(IN, d, OUT, d)
        return pairs

    def _outer(self, reference: Reference, by_value: Map) -> Map:
        """Values of the outer loops as parameters, of the inner ones projected out."""
        loops = reference.instances.loops
        by_value = by_value.project_out(IN, self.depth, len(loops) - self.depth)
        for d, loop in enumerate(loops[: self.depth]):
            by_value = by_value.set_dim_name(IN, d, loop.name)
        return by_value.move_dims(PARAM, by_value.dim(PARAM), IN, 0, self.depth)


def certainly_writes(reference: Reference) -> bool:
    """Whether every instance in the domain runs and writes just the stated cells."""
    access = reference.access
    return access.writes and access.exact and reference.instances.certain
