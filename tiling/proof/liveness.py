"""Loop parallelism by dependences, liveness of arrays, and array privatization.

`loop_verdicts` classifies each loop of a `Model` as parallel, reduction or sequential,
with the dependences that decide.  `values` finds the value-based flow of each array,
from which `liveness` tells the live-in and live-out arrays of a loop; at the end of the
program all arrays are read unless they are forgotten there.  `with_privatisation`
replaces the verdicts of sequential loops that become parallel if each iteration has its
own copy of some arrays: a dependence on an array that carries no value between
iterations is only reuse of memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field, replace
from enum import Enum
from functools import partial

from gpucodegen.records import dataclass
from gpucodegen.tiling.model.isl import IN, OUT, SET, Interval, Map, Set
from gpucodegen.tiling.model.relations import (
    Instances,
    Model,
    Reference,
    conjunction,
    followed,
)
from gpucodegen.tiling.model.scop import Access, AccessKind, If, Loop, Node, Statement
from gpucodegen.tiling.proof.dependences import Dependence, dependences
from gpucodegen.tiling.proof.flow import Flow, ValueSource, flow
from gpucodegen.tiling.proof.witness import Witness


class LoopKind(Enum):
    """Whether the iterations of a loop may be reordered."""

    PARALLEL = "parallel"
    PRIVATISABLE = "parallel after privatisation"
    REDUCTION = "reduction"
    SEQUENTIAL = "sequential"


@dataclass(frozen=True, slots=True)
class Private:
    """An array of which each iteration may have a copy of its own.

    ``copied_in``: the copy starts with the array's contents before the loop.
    ``copied_out``: the copy of the last iteration is read after the loop.
    """

    array: str
    copied_in: bool = False
    copied_out: bool = False

    def __str__(self) -> str:
        notes = [
            *(["copied in"] if self.copied_in else []),
            *(["last value kept"] if self.copied_out else []),
        ]
        return f"{self.array} ({', '.join(notes)})" if notes else self.array


@dataclass(frozen=True, slots=True)
class LoopVerdict:
    """The kind of one loop and the dependences it carries.

    A reduction loop is parallel if each worker keeps a partial result; ``operators``
    combine the partial results.  The caller decides whether terms may be reordered
    (``reassociable``: the program allows it). Both kinds of loops may need ``private``
    copies of arrays; `with_privatisation` finds them.
    """

    loop: Loop
    outer: tuple[Loop, ...]
    kind: LoopKind
    carried: tuple[Dependence, ...] = ()
    operators: tuple[str, ...] = ()
    reassociable: bool = False
    private: tuple[Private, ...] = ()

    @property
    def description(self) -> str:
        """The kind, with the arrays that need copies."""
        if not self.private:
            return self.kind.value
        after = "" if self.kind is LoopKind.PRIVATISABLE else " after privatisation"
        return f"{self.kind.value}{after} of {', '.join(map(str, self.private))}"

    @property
    def decisive(self) -> Dependence | None:
        """A dependence that prevents parallelism; sequentialising ones come first."""
        return min(self.carried, key=lambda d: d.reduces is not None, default=None)

    @property
    def distance(self) -> tuple[Interval, ...]:
        """The distances of the decisive dependence."""
        return self.decisive.distance if self.decisive else ()

    @property
    def witness(self) -> Witness | None:
        """Two iterations that depend on each other."""
        return self.decisive.witness if self.decisive else None


def loop_verdicts(
    model: Model, found: tuple[Dependence, ...] | None = None
) -> tuple[LoopVerdict, ...]:
    """The verdict on every loop in pre-order.

    >>> from gpucodegen.tiling.model.relations import model
    >>> from gpucodegen.tiling.model.scop import Array, Scop, Statement, nest, read
    >>> from gpucodegen.tiling.model.scop import write
    >>> shift = Statement("S", (read("A", "i", "j"), write("A", "i", "j + 1")))
    >>> chain = [Loop("i", "0", "N"), Loop("j", "0", "N")]
    >>> arrays = (Array("A", ("N", "N + 1")),)
    >>> scop = Scop(("N",), (), arrays, nest(chain, (shift,)))
    >>> [(v.loop.name, v.kind.value) for v in loop_verdicts(model(scop))]
    [('i', 'parallel'), ('j', 'sequential')]
    """
    found = dependences(model) if found is None else found
    carried: dict[str, list[Dependence]] = {}
    for dependence in found:
        if dependence.carrier is not None:
            carried.setdefault(dependence.carrier.name, []).append(dependence)
    return tuple(
        _verdict(loop, outer, tuple(carried.get(loop.name, ())))
        for loop, outer in nested_loops(model.scop.body)
    )


def nested_loops(
    body: tuple[Node, ...], outer: tuple[Loop, ...] = ()
) -> Iterable[tuple[Loop, tuple[Loop, ...]]]:
    """Every loop in pre-order with the loops around it."""
    for node in body:
        match node:
            case Loop():
                yield node, outer
                yield from nested_loops(node.body, (*outer, node))
            case If():
                yield from nested_loops((*node.body, *node.orelse), outer)
            case _:
                pass


def _verdict(
    loop: Loop, outer: tuple[Loop, ...], carried: tuple[Dependence, ...]
) -> LoopVerdict:
    """Parallel: { d in distances : d_outer = 0, d_loop != 0 } is empty.

    Reduction: only accumulations into one cell with one operator are in that set.
    """
    if loop.opaque:
        return LoopVerdict(loop, outer, LoopKind.SEQUENTIAL, carried)
    if loop.parallel or not carried:
        return LoopVerdict(loop, outer, LoopKind.PARALLEL, carried)
    operators = {d.reduces for d in carried}
    if None in operators:
        return LoopVerdict(loop, outer, LoopKind.SEQUENTIAL, carried)
    return LoopVerdict(
        loop,
        outer,
        LoopKind.REDUCTION,
        carried,
        operators=tuple(sorted(str(operator) for operator in operators)),
        reassociable=all(d.reassociable for d in carried),
    )


END = "__end"
"""The name of the statement that reads what outlives the program."""


@dataclass(frozen=True, slots=True)
class LiveValues:
    """The value-based flows of a program, computed on demand."""

    model: Model
    known: dict[str, tuple[Flow, ...] | None] = field(
        default_factory=dict[str, "tuple[Flow, ...] | None"]
    )

    def flows(self, array: str) -> tuple[Flow, ...] | None:
        """The flow to each read of an array; None for a read whose flow is unknown."""
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
    """Builds `LiveValues` for a whole program."""
    kept = (array for array in built.scop.arrays if not array.forgotten)
    reads = tuple(
        Access(a.name, AccessKind.READ, (None,) * len(a.shape), listed=False)
        for a in kept
    )
    return LiveValues(followed(built, Statement(END, reads)))


@dataclass(frozen=True, slots=True)
class Liveness:
    """How one execution of a loop uses the values of an array.

    ``entering``: it may read values from before (live-in). ``leaving``: values that it
    writes may be read after it (live-out). ``crossing``: values pass between
    iterations.
    """

    entering: bool
    leaving: bool
    crossing: bool


EVERYTHING = Liveness(entering=True, leaving=True, crossing=True)


def liveness(found: LiveValues, array: str, loop: Loop) -> Liveness:
    """The liveness of ``array`` at ``loop``; an unknown flow sets all three flags.

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
    """The set of cells of ``array`` without its scope; None if an extent is unknown."""
    shape = model.array(array).shape
    cell = [f"__c{d}" for d in range(len(shape))]
    bounds = [f"0 <= {c} < {n}" for c, n in zip(cell, shape, strict=True)]
    if None in shape:
        return None
    return model.where(cell, " and ".join(bounds) or "1 = 1")


@dataclass(frozen=True, slots=True)
class LoopValues:
    """The arrays that an outermost loop reads from before, and those read after it.

    An array in neither set only holds values that the loop itself reads.
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
    """The live-in and live-out arrays of each outermost loop, in textual order.

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
    """The ways in which a value passes one execution of the loop."""
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


def with_privatisation(
    verdicts: Iterable[LoopVerdict], values: LiveValues
) -> tuple[LoopVerdict, ...]:
    """The verdicts, `LoopKind.PRIVATISABLE` where copies make the loop parallel.

    >>> from gpucodegen.tiling.proof.liveness import values
    >>> from gpucodegen.tiling.proof.liveness import loop_verdicts
    >>> from gpucodegen.tiling.model.relations import model
    >>> from gpucodegen.tiling.model.scop import Array, Loop, Scop, Statement, nest
    >>> from gpucodegen.tiling.model.scop import read, write
    >>> put, get = Statement("S", (write("t"),)), Statement("T", (read("t"),))
    >>> arrays = (Array("t", fresh=True, forgotten=True),)
    >>> scop = Scop(arrays=arrays, body=nest([Loop("i", "0", "8")], (put, get)))
    >>> built = model(scop)
    >>> (verdict,) = with_privatisation(loop_verdicts(built), values(built))
    >>> print(verdict.description)
    parallel after privatisation of t
    """
    return tuple(_upgraded(verdict, values) for verdict in verdicts)


def _upgraded(verdict: LoopVerdict, values: LiveValues) -> LoopVerdict:
    """The verdict with copies of all arrays of dependences that do not accumulate.

    Parallel:  { x -> y carried : array not among them } = {}.
    Reduction: only accumulations are left in that set.
    """
    if verdict.kind is not LoopKind.SEQUENTIAL or verdict.loop.opaque:
        return verdict
    needed = dict.fromkeys(
        d.source.access.array for d in verdict.carried if d.reduces is None
    )
    private: list[Private] = []
    for array in needed:
        found = privatised(values, array, verdict)
        if found is None:
            return verdict
        private.append(found)
    rest = [d for d in verdict.carried if d.source.access.array not in needed]
    return replace(
        verdict,
        kind=LoopKind.REDUCTION if rest else LoopKind.PRIVATISABLE,
        operators=tuple(sorted({str(d.reduces) for d in rest})),
        reassociable=bool(rest) and all(d.reassociable for d in rest),
        private=tuple(private),
    )


def privatised(values: LiveValues, array: str, verdict: LoopVerdict) -> Private | None:
    """How iterations may have copies of ``array``; None if that is not legal.

    Legal: no value crosses iterations of l, and if some leave l, the last iteration
    certainly writes all cells, and none enter:

        { (o, l) -> c : (o, l) the last iteration, c in array } - union of writes = {}
    """
    declared = values.model.array(array)
    if declared.register or declared.ordered or _is_copied(values.model, array):
        return None
    ways = liveness(values, array, verdict.loop)
    if ways.crossing:
        return None
    if ways.leaving and (
        ways.entering or not _overwrites(values.model, array, verdict)
    ):
        return None
    return Private(array, copied_in=ways.entering, copied_out=ways.leaving)


def _is_copied(model: Model, array: str) -> bool:
    """Whether asynchronous copies, which outlive their statement, use the array."""
    return any(
        access.array == array
        for instances in model.statements
        if instances.copies
        for access in instances.accesses
    )


def _overwrites(model: Model, array: str, verdict: LoopVerdict) -> bool:
    """Whether the last iteration certainly writes all cells of the array."""
    cells = extents(model, array)
    if cells is None or model.array(array).scope:
        return False
    depth = len(verdict.outer) + 1
    inside = [i for i in model.statements if i.depth(verdict.loop) is not None]
    writes = [r for r in _writes(inside, array) if _is_certain(r, depth)]

    def covered() -> bool:
        wanted = Map.from_domain_and_range(_last(model, inside[0], verdict), cells)
        for write in writes:
            count = write.relation.dim(IN) - depth
            wanted = wanted.subtract(write.relation.project_out(IN, depth, count))
        return wanted.is_empty()

    return model.solver.ask(covered, otherwise=False)


def _writes(inside: Iterable[Instances], array: str) -> Iterator[Reference]:
    for instances in inside:
        for position, access in enumerate(instances.accesses):
            if access.writes and access.array == array:
                yield Reference(instances, position)


def _is_certain(write: Reference, depth: int) -> bool:
    """Whether the write happens if the iteration of the outer ``depth`` loops does."""
    doubts = write.instances.doubts
    return write.exact and all(doubt.depth < depth for doubt in doubts)


def _last(model: Model, inside: Instances, verdict: LoopVerdict) -> Set:
    """{ (o, l) : in bounds, and no (o, l') in bounds with l < l' }."""
    loops = (*verdict.outer, verdict.loop)
    depth = len(loops)
    box = model.box(inside, loops).domain()
    iterations = box.project_out(SET, depth, box.dim(SET) - depth)
    known = model.where(
        [f"t{d}" for d in range(depth)], conjunction(model.scop.context)
    )
    iterations = iterations.intersect(known)
    pairs = Map.from_domain_and_range(iterations, iterations)
    for d in range(depth - 1):
        pairs = pairs.equate(IN, d, OUT, d)
    earlier = pairs.order_lt(IN, depth - 1, OUT, depth - 1).domain()
    return iterations.subtract(earlier)
