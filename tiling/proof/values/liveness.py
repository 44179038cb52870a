"""Which values enter and leave a part of the program: live-in and live-out.

Comes in: a `Model`. Goes out: `LiveValues`, the flow of each array to all of its reads;
the end of the program reads all that is not forgotten there. A part is one execution of
a loop: all its iterations, while the loops around it stand still.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

from gpucodegen.tiling.model.isl import Map, Set
from gpucodegen.tiling.model.relations import Model, followed
from gpucodegen.tiling.model.scop import Access, AccessKind, Loop, Statement
from gpucodegen.tiling.proof.loops import nested_loops
from gpucodegen.tiling.proof.values.flow import Flow, ValueSource, flow

END = "__end"
"""The name of the statement that reads what outlives the program."""


@dataclass(frozen=True, slots=True)
class LiveValues:
    """The flows of a program, found when asked for."""

    model: Model
    known: dict[str, tuple[Flow, ...] | None] = field(
        default_factory=dict[str, "tuple[Flow, ...] | None"]
    )

    def flows(self, array: str) -> tuple[Flow, ...] | None:
        """The flow to each read of an array, None where one is not known."""
        if array not in self.known:
            self.known[array] = self._flows(array)
        return self.known[array]

    def _flows(self, array: str) -> tuple[Flow, ...] | None:
        found: list[Flow] = []
        for reference in self.model.references:
            if reference.access.array == array and not reference.access.writes:
                one = flow(self.model, reference)
                if one is None:
                    return None
                found.append(one)
        return tuple(found)


def values(built: Model) -> LiveValues:
    """The values of a whole program."""
    kept = (array for array in built.scop.arrays if not array.forgotten)
    reads = tuple(
        Access(a.name, AccessKind.READ, (None,) * len(a.shape), listed=False)
        for a in kept
    )
    return LiveValues(followed(built, Statement(END, reads)))


@dataclass(frozen=True, slots=True)
class Liveness:
    """What one execution of a loop does to the values of an array.

    ``entering``: it may read values from before. ``leaving``: values that it writes may
    be read after it. ``crossing``: some go from one iteration to another.
    """

    entering: bool
    leaving: bool
    crossing: bool


EVERYTHING = Liveness(entering=True, leaving=True, crossing=True)


def liveness(found: LiveValues, array: str, loop: Loop) -> Liveness:
    """How the values of ``array`` pass ``loop``; not known counts as every way.

    With d loops around l, for y -> [x -> c] in the flow of the array,

    entering: x in l and not (y in l and y_o = x_o), or x finds the first value
    leaving:  y in l and not (x in l and x_o = y_o)
    crossing: x, y in l, x_o = y_o, x_l != y_l

    >>> from gpucodegen.tiling.model.relations import model
    >>> from gpucodegen.tiling.model.scop import Array, Scop, nest, read, write
    >>> use = (Statement("S", (write("t"),)), Statement("T", (read("t"),)))
    >>> loop = Loop("i", "0", "8", body=use)
    >>> local = Array("t", fresh=True, forgotten=True)
    >>> built = model(Scop(arrays=(local,), body=(loop,)))
    >>> liveness(values(built), "t", loop)
    Liveness(entering=False, leaving=False, crossing=False)
    """
    flows = found.flows(array)
    if flows is None:
        return EVERYTHING
    passing = {way for f in flows for s in f.sources for way in _ways(f, s, loop)}
    fresh = found.model.array(array).fresh
    first = not fresh and any(_finds_first(found, f, loop) for f in flows)
    return Liveness(
        entering=first or "entering" in passing,
        leaving="leaving" in passing,
        crossing="crossing" in passing,
    )


def is_overwritten(found: LiveValues, array: str) -> bool:
    """Whether each cell is certainly written before the first value in it is read.

    { x -> c in initial, c in array } = {} for all reads x, the end of the program too.

    >>> from gpucodegen.tiling.model.relations import model
    >>> from gpucodegen.tiling.model.scop import Array, Scop, nest, read, write
    >>> copy = Statement("S", (read("A", "i"), write("B", "i")))
    >>> body = nest([Loop("i", "0", "8")], (copy,))
    >>> arrays = (Array("A", (8,)), Array("B", (8,)))
    >>> whole = values(model(Scop(arrays=arrays, body=body)))
    >>> is_overwritten(whole, "A"), is_overwritten(whole, "B")
    (False, True)
    """
    flows, cells = found.flows(array), extents(found.model, array)
    if flows is None or cells is None or found.model.array(array).scope:
        return False
    ask = found.model.solver.ask
    first = (partial(_reads_first, one.initial, cells) for one in flows)
    return not any(ask(query, otherwise=True) for query in first)


def _reads_first(initial: Map, cells: Set) -> bool:
    return not initial.intersect_range(cells).is_empty()


def extents(model: Model, array: str) -> Set | None:
    """{ c in array } without its scope; None if an extent is not known."""
    shape = model.array(array).shape
    cell = [f"__c{d}" for d in range(len(shape))]
    bounds = [f"0 <= {c} < {n}" for c, n in zip(cell, shape, strict=True)]
    if None in shape:
        return None
    return model.where(cell, " and ".join(bounds) or "1 = 1")


@dataclass(frozen=True, slots=True)
class LoopValues:
    """The arrays whose values an outermost loop reads, and those it leaves to others.

    An array in neither is used, if at all, for values that only the loop itself sees.
    """

    loop: Loop
    live_in: tuple[str, ...]
    live_out: tuple[str, ...]

    def __str__(self) -> str:
        inside, outside = (
            ", ".join(names) or "nothing" for names in (self.live_in, self.live_out)
        )
        return f"{self.loop.name}: live-in {inside}; live-out {outside}"


def parts(found: LiveValues) -> tuple[LoopValues, ...]:
    """What enters and leaves each outermost loop, in textual order.

    >>> from gpucodegen.tiling.model.relations import model
    >>> from gpucodegen.tiling.model.scop import Array, Scop, nest, read, write
    >>> add = Statement("S", (read("A", "i"), read("B", "i"), write("B", "i")))
    >>> body = nest([Loop("i", "0", "8")], (add,))
    >>> arrays = (Array("A", (8,)), Array("B", (8,)))
    >>> print(*parts(values(model(Scop(arrays=arrays, body=body)))))
    i: live-in A, B; live-out B
    """
    nested = nested_loops(found.model.scop.body)
    return tuple(_part(found, loop) for loop, outer in nested if not outer)


def _part(found: LiveValues, loop: Loop) -> LoopValues:
    inside = [i for i in found.model.statements if i.depth(loop) is not None]
    used = dict.fromkeys(a.array for i in inside for a in i.accesses)
    ways = {
        name: liveness(found, name, loop)
        for name in used
        if not found.model.array(name).register
    }
    return LoopValues(
        loop,
        tuple(name for name, way in ways.items() if way.entering),
        tuple(name for name, way in ways.items() if way.leaving),
    )


def _ways(found: Flow, source: ValueSource, loop: Loop) -> Iterator[str]:
    """How a value passes one execution of the loop."""
    start = source.write.instances.depth(loop)
    end = found.read.instances.depth(loop)
    if start is not None and start == end and source.is_within(found.read, start):
        if source.level == start:
            yield "crossing"
        return
    if start is not None:
        yield "leaving"
    if end is not None:
        yield "entering"


def _finds_first(found: LiveValues, read: Flow, loop: Loop) -> bool:
    if read.read.instances.depth(loop) is None:
        return False
    return not found.model.solver.is_empty(read.initial)
