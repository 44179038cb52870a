"""Memory-based dependences of a `Model`, and the rows of ``gpucodegen deps --json``.

`dependences` returns one `Dependence` per ordered pair of references and per loop that
carries it.  Read-after-write, write-after-read and write-after-write all count, so an
order that keeps them keeps every value. Where isl gives no answer, a dependence is
assumed.

`rows` takes a `Scop` with its listed accesses in pre-order.  For every ordered pair
(src, dst) and every depth d = 1 .. n+1, with n common affine loops, it gives the row
``[src, dst, d, result]``.  For d <= n the row is about dependences carried by the d-th
common loop; its result holds, per common loop, the exact interval of dst's loop
variable minus src's. For d = n+1 it is about loop-independent ones, src before dst in
the text, with the result ``"true"``. Without a dependence the result is ``"false"``.
Opaque loops are not counted, so dependences that they carry are loop-independent here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import field, replace
from enum import Enum
from typing import TypeAlias

from gpucodegen.records import dataclass
from gpucodegen.tiling.model.isl import IN, OUT, Interval, Limits, Map
from gpucodegen.tiling.model.relations import Model, Reference, common_loops, model
from gpucodegen.tiling.model.scop import Loop, Reduction, Scop, Statement
from gpucodegen.tiling.proof.kernel_order import everything
from gpucodegen.tiling.proof.witness import Witness, find_witness


class Kind(Enum):
    """The kind of a dependence: what its two accesses do, in order of execution."""

    RAW = "read after write"
    WAR = "write after read"
    WAW = "write after write"


@dataclass(frozen=True, slots=True)
class Dependence:
    """Executions of ``sink`` that follow executions of ``source`` on the same cell.

    ``level`` is the position, among the common loops, of the loop that carries the
    dependence: the outermost one in which the two iterations differ. None stands for
    the same iteration of all of them. ``pairs`` relates instances of the two
    statements. ``assumed``: isl gave no answer.
    """

    model: Model
    source: Reference
    sink: Reference
    level: int | None
    pairs: Map
    assumed: bool

    @property
    def loops(self) -> tuple[Loop, ...]:
        """The loops around both statements."""
        return common_loops(self.source.instances, self.sink.instances)

    @property
    def carrier(self) -> Loop | None:
        """The loop that carries the dependence."""
        return None if self.level is None else self.loops[self.level]

    @property
    def kind(self) -> Kind:
        if not self.source.access.writes:
            return Kind.WAR
        return Kind.WAW if self.sink.access.writes else Kind.RAW

    @property
    def atomic(self) -> bool:
        """Whether both ends are atomic updates of one kind, which may be reordered."""
        kind = self.source.access.atomic
        return bool(kind) and kind == self.sink.access.atomic

    @property
    def reduces(self) -> str | None:
        """The operator, if both ends accumulate into the cell with the same one."""
        operator = _accumulates(self.source)
        return operator if operator == _accumulates(self.sink) else None

    @property
    def reassociable(self) -> bool:
        """Whether the program allows the accumulation in another order."""
        ends = (_reduction(self.source), _reduction(self.sink))
        return all(end is not None and end.reassociable for end in ends)

    @property
    def distance(self) -> tuple[Interval, ...]:
        """Per common loop, the values of ``sink`` minus those of ``source``."""
        return distance(self.model, self.source, self.sink, self.level, self.pairs)

    @property
    def witness(self) -> Witness | None:
        """One pair of executions that shows the dependence."""
        return find_witness(self.model, self.pairs, self.source, self.sink)

    def __str__(self) -> str:
        where = f" carried by {self.carrier.name}" if self.carrier else ""
        found = self.witness
        shown = f": {found}" if found else " is assumed: not decided within the limit"
        return f"{self.kind.value} on {self.source.access.array}{where}{shown}"


def dependences(
    model: Model, carriers: Collection[str] | None = None
) -> tuple[Dependence, ...]:
    """All dependences of the model, in textual order of source and sink.

    With ``carriers`` only those that loops of these names carry, at less cost.

    >>> from gpucodegen.tiling.model.relations import model
    >>> from gpucodegen.tiling.model.scop import Array, Loop, Scop, Statement, nest
    >>> from gpucodegen.tiling.model.scop import read, write
    >>> shift = Statement("S", (read("A", "i"), write("A", "i + 1")))
    >>> body = nest([Loop("i", "0", "N")], (shift,))
    >>> found = dependences(model(Scop(("N",), (), (Array("A", ("N",)),), body)))
    >>> [(d.kind.name, str(d.distance[0])) for d in found]
    [('RAW', '[1, 1]')]
    >>> print(found[0].witness)
    S at (i=0) writes A[1] and S at (i=1) reads it where N=2
    """
    answers = Answers(model, carriers)
    sharing: dict[str, list[Reference]] = {}
    for reference in model.references:
        sharing.setdefault(reference.access.array, []).append(reference)
    return tuple(
        dependence
        for source in model.references
        for sink in sharing[source.access.array]
        if may_conflict(source, sink)
        for dependence in answers.between(source, sink)
    )


def may_conflict(source: Reference, sink: Reference) -> bool:
    """Whether the two use one array and at least one of them writes."""
    a, b = source.access, sink.access
    return a.array == b.array and (a.writes or b.writes)


@dataclass(frozen=True, slots=True)
class Answer:
    """Conflicting instances at a level; ``assumed`` where isl gave no answer."""

    level: int | None
    pairs: Map
    assumed: bool


@dataclass(frozen=True, slots=True)
class Answers:
    """Dependences between references; pairs that differ by a shift share a query."""

    model: Model
    carriers: Collection[str] | None = None
    known: dict[object, tuple[Answer, ...]] = field(
        default_factory=dict[object, tuple[Answer, ...]]
    )

    def between(self, source: Reference, sink: Reference) -> Iterator[Dependence]:
        """The dependences from one reference to another, outermost carrier first.

        A statement is executed as a whole, so one instance has no dependence within it.
        """
        one_statement = source.instances is sink.instances
        is_ordered = not one_statement and before_in_text(source, sink)
        (shape, at), (other, to) = source.form, sink.form
        shift = tuple(a - b for a, b in zip(at, to, strict=True))
        key = shape, other, shift, is_ordered
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = tuple(self._asked(source, sink, one_statement))
        for answer in found:
            yield Dependence(
                self.model, source, sink, answer.level, answer.pairs, answer.assumed
            )

    def _asked(
        self, source: Reference, sink: Reference, one_statement: bool
    ) -> Iterator[Answer]:
        for level, pairs in levels(self.model, source, sink, self.carriers):
            if level is None and one_statement:
                continue
            empty = self.model.solver.ask(pairs.is_empty, None)
            if not empty:
                yield Answer(level, pairs, empty is None)


def levels(
    model: Model,
    source: Reference,
    sink: Reference,
    carriers: Collection[str] | None = None,
) -> Iterator[tuple[int | None, Map]]:
    """Conflicting instances in order of execution, split by carrying loop.

    With ``carriers`` only those that loops of these names carry.

    conflict     = { x -> y : source(x) = sink(y) }
    at loop d    = conflict with x_0 = y_0, ..., x_(d-1) = y_(d-1), x_d < y_d
    at no loop   = conflict with equal common iterations, source before sink in the text
    """
    ask = model.solver.ask
    common = common_loops(source.instances, sink.instances)
    wanted = [
        level
        for level, loop in enumerate(common)
        if carriers is None or loop.name in carriers
    ]
    if carriers is not None and not wanted:
        return
    anything = everything(source.instances, sink.instances)
    same = ask(lambda: source.relation.apply_range(sink.relation.reverse()), anything)
    if same.plain_is_empty():
        return
    for d in range(max(wanted, default=-1) + 1):
        if d in wanted:
            later = anything.order_lt(IN, d, OUT, d)
            yield d, ask(lambda d=d, same=same: same.order_lt(IN, d, OUT, d), later)
        anything = anything.equate(IN, d, OUT, d)
        same = ask(lambda d=d, same=same: same.equate(IN, d, OUT, d), anything)
    if carriers is None and before_in_text(source, sink):
        yield None, same


def before_in_text(source: Reference, sink: Reference) -> bool:
    """Whether, within one iteration, ``source`` is executed first."""
    a, b = source.instances.order, sink.instances.order
    return (a, source.position) < (b, sink.position)


def distance(
    model: Model, source: Reference, sink: Reference, level: int | None, pairs: Map
) -> tuple[Interval, ...]:
    """Per common loop the exact range of { j - i : x -> y in pairs, i, j values }."""
    count = len(common_loops(source.instances, sink.instances))
    equal = count if level is None else level
    first, second = source.instances.formula, sink.instances.formula
    if first is not None and second is not None:
        differ = range(equal, count)
        found = [model.solver.difference(pairs, first, second, d) for d in differ]
    else:
        found = _projected(model, source, sink, pairs)[equal:]
    known = [_carried(d, level) for d in range(equal, count)]
    carried = [_meet(k, f) for k, f in zip(known, found, strict=True)]
    return (*[Interval(0, 0)] * equal, *carried)


def _projected(
    model: Model, source: Reference, sink: Reference, pairs: Map
) -> list[Interval]:
    """As `distance`, but by projection, for values without a single formula."""
    count = len(common_loops(source.instances, sink.instances))
    deltas = model.solver.ask(
        lambda: (
            pairs.apply_domain(_first(source.instances.values, count))
            .apply_range(_first(sink.instances.values, count))
            .deltas()
        ),
        None,
    )
    if deltas is None:
        return [Interval(None, None)] * count
    return [model.solver.interval(deltas, d) for d in range(count)]


def _carried(d: int, level: int | None) -> Interval:
    """The bounds of a distance that the level implies."""
    return Interval(1, None) if d == level else Interval(None, None)


def _meet(known: Interval, found: Interval) -> Interval:
    lower = known.lower if found.lower is None else found.lower
    upper = known.upper if found.upper is None else found.upper
    return Interval(lower, upper)


def _first(values: Map, count: int) -> Map:
    return values.project_out(OUT, count, values.dim(OUT) - count)


def _accumulates(reference: Reference) -> str | None:
    reduction = _reduction(reference)
    if reduction is None:
        return None
    ends = (reduction.read, reduction.write)
    return reduction.operator if reference.position in ends else None


def _reduction(reference: Reference) -> Reduction | None:
    node = reference.instances.node
    return node.reduction if isinstance(node, Statement) else None


Row: TypeAlias = tuple[int, int, int, str]


def rows(scop: Scop, limits: Limits | None = None) -> list[Row]:
    """All rows of one function.

    >>> from gpucodegen.tiling.model.scop import Array, Loop, Statement, nest, read
    >>> from gpucodegen.tiling.model.scop import write
    >>> load = Statement("load", (read("A", "i"),))
    >>> store = Statement("store", (write("A", "i + 1"),))
    >>> body = nest([Loop("i", "0", "10")], (load, store))
    >>> for row in rows(Scop(arrays=(Array("A", (11,)),), body=body)):
    ...     print(*row)
    0 0 1 false
    0 0 2 false
    0 1 1 false
    0 1 2 false
    1 0 1 [1, 1]
    1 0 2 false
    1 1 1 false
    1 1 2 false
    """
    built = model(_as_written(scop), limits)
    listed = [r for r in built.references if r.access.listed]
    return [
        (src, dst, depth, result)
        for src, source in enumerate(listed)
        for dst, sink in enumerate(listed)
        for depth, result in _results(built, source, sink)
    ]


def _as_written(scop: Scop) -> Scop:
    """The program with one buffer per array, ignoring allocations inside loops."""
    return replace(scop, arrays=tuple(replace(a, scope=()) for a in scop.arrays))


def _results(built: Model, source: Reference, sink: Reference) -> list[tuple[int, str]]:
    """Depth and result of each row of one pair."""
    common = common_loops(source.instances, sink.instances)
    affine = [level for level, loop in enumerate(common) if not loop.opaque]
    depths = range(1, len(affine) + 2)
    if not may_conflict(source, sink):
        return [(depth, "false") for depth in depths]
    row_of = {level: row for row, level in enumerate(affine, start=1)}
    independent = len(affine) + 1
    results = dict.fromkeys(depths, "false")
    for level, intervals in _dependent(built, source, sink):
        row = independent if level is None else row_of.get(level, independent)
        results[row] = "true" if row == independent else _text(intervals, affine)
    return list(results.items())


def _dependent(
    built: Model, source: Reference, sink: Reference
) -> Iterator[tuple[int | None, tuple[Interval, ...]]]:
    """The levels with a dependence or without an answer, and their distances."""
    for level, pairs in levels(built, source, sink):
        if not built.solver.is_empty(pairs):
            yield level, distance(built, source, sink, level, pairs)


def _text(intervals: Sequence[Interval], affine: Sequence[int]) -> str:
    return "".join(str(intervals[level]) for level in affine)
