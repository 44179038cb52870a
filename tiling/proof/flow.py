"""Value-based data flow: the writes whose values each read may find.

`flow` takes a `Model` and a reading reference; the result is exact where all accesses
are. A certain, exact write hides all earlier writes; a write that may not happen hides
nothing. None, where isl reaches its limits, means that any write may reach the read.
Instances are executed in program order; `races` covers concurrent threads and
asynchronous copies. A `summary` statement, which holds loops, may read its own writes.

`TileBody` gives the cells that one iteration of outer loops takes from and leaves in an
array, with the values o of these loops as parameters. `undefined_reads` reports each
read of a fresh array that finds an unwritten cell.  There, writes that may happen count
as if they did; reads of unknown cells, or of uncertain execution, are reported only if
every cell or execution is undefined, so that a report holds whenever the read happens.
Calls in which an array of the caller has no elements do not count.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from gpucodegen.records import dataclass
from gpucodegen.tiling.model.isl import IN, OUT, PARAM, Map, Set
from gpucodegen.tiling.model.relations import Model, Reference, common_loops
from gpucodegen.tiling.proof.array_bounds import extents_of_arguments
from gpucodegen.tiling.proof.dependences import before_in_text
from gpucodegen.tiling.proof.witness import Event, find_event


@dataclass(frozen=True, slots=True)
class ValueSource:
    """Executions of ``write`` that are the last ones before the read of a cell.

    ``level``: as in `Dependence`, the outermost common loop in which the two differ.
    ``pairs``: { y -> [x -> c] : y writes the value that x finds in cell c }.
    """

    write: Reference
    level: int | None
    pairs: Map

    def is_within(self, read: Reference, depth: int) -> bool:
        """Whether write and read are in one iteration of ``depth`` loops around it."""
        common = len(common_loops(self.write.instances, read.instances))
        return common >= depth and (self.level is None or self.level >= depth)


@dataclass(frozen=True, slots=True)
class Flow:
    """The sources of the values of one reading reference.

    ``initial``: { x -> c : no write has certainly happened before }.
    """

    read: Reference
    sources: tuple[ValueSource, ...]
    initial: Map

    def entering(self, depth: int) -> Map:
        """{ x -> c : the value may be from before the iteration of the outer loops }.

        ``depth``: the number of the read's loops that are fixed.
        """
        found = self.initial
        for source in self.sources:
            if not source.is_within(self.read, depth):
                found = found.union(source.pairs.range().unwrap())
        return found


def flow(model: Model, read: Reference, *, finished: bool = False) -> Flow | None:
    """The last writes before each read of each cell; None without an answer.

    ``finished``: asynchronous copies count as done where they start.

    >>> from gpucodegen.tiling.model.relations import model
    >>> from gpucodegen.tiling.model.scop import Array, Loop, Scop, Statement, nest
    >>> from gpucodegen.tiling.model.scop import read, write
    >>> shift = Statement("S", (read("A", "i"), write("A", "i + 1")))
    >>> body = nest([Loop("i", "0", "N")], (shift,))
    >>> built = model(Scop(("N",), (), (Array("A", ("N + 1",)),), body))
    >>> found = flow(built, built.references[0])
    >>> [(source.write.access.indices, source.level) for source in found.sources]
    [(('i + 1',), 0)]
    >>> print(found.initial)
    [N] -> { [__t_i = 0] -> [__c0 = 0] : N > 0 }
    """
    return model.solver.ask(lambda: _flow(model, read, finished=finished), None)


def _flow(model: Model, read: Reference, *, finished: bool) -> Flow:
    """The flow of one read.

    For n = depth of the read, .., 0, with `rest` = all [x -> c] at first,

      before = { y -> [x -> c] : y -> c in write, x -> c in rest, S(y) < S(x),
                 y and x agree in just n common loops }
      last   = { [x -> c] -> lexmax S(y) : y -> [x -> c] in before, y certain given x }
      flow   = { y -> [x -> c] in before : not S(y) < last([x -> c]) }
      rest   = rest minus the domain of last

    Of two writes before x, the one that shares more common iterations with it is later.
    """
    writes = model.writes.get(read.access.array, ())
    written = [_Write(w, _time(model, w)) for w in writes]
    is_certain = partial(_is_certain, read=read, finished=finished)
    rest = read.relation.wrap()
    targets = read.relation.range_map().reverse()
    sources: list[ValueSource] = []
    for equal in reversed(range(len(read.instances.loops) + 1)):
        found = [
            _Before(write, level, is_certain(write.reference, equal), pairs)
            for write in written
            for level, pairs in _before(write.reference, read, targets, equal, rest)
            if not pairs.is_empty()
        ]
        if not found:
            continue
        last = _last(found)
        sources += [
            ValueSource(f.write.reference, f.level, _kept(f, last)) for f in found
        ]
        if last is not None:
            rest = rest.subtract(last.domain())
    return Flow(
        read,
        tuple(s for s in sources if not s.pairs.is_empty()),
        rest.unwrap(),
    )


@dataclass(frozen=True, slots=True)
class _Write:
    """A write and the time of each of its instances."""

    reference: Reference
    time: Map


@dataclass(frozen=True, slots=True)
class _Before:
    """{ y -> [x -> c] }: executions of a write before a read, at one level."""

    write: _Write
    level: int | None
    certain: bool
    pairs: Map


def _before(
    write: Reference, read: Reference, targets: Map, equal: int, rest: Set
) -> Iterator[tuple[int | None, Map]]:
    """{ y -> [x -> c] } at this level, of executions that agree in ``equal`` loops."""
    a, b = write.instances, read.instances
    depth = len(common_loops(a, b))
    in_text = before_in_text(write, read) or (a is b and _is_summary(write))
    if equal > depth or (equal == depth and not in_text):
        return
    pairs = write.relation.apply_range(targets).intersect_range(rest)
    for d in range(equal):
        pairs = pairs.equate(IN, d, OUT, d)
    if equal == depth:
        yield None, pairs
    else:
        yield equal, pairs.order_lt(IN, equal, OUT, equal)


def _is_certain(
    write: Reference, equal: int, *, read: Reference, finished: bool
) -> bool:
    """Whether y certainly writes exactly its cells if x is executed.

    Every doubt about y must be shared by x, in the same iteration.
    """
    a, b = write.instances, read.instances
    is_copy = not finished and a.copies
    shared = all(doubt in b.doubts and doubt.depth <= equal for doubt in a.doubts)
    apart = a is not b or not _is_summary(write)
    return write.exact and shared and apart and not is_copy


def _is_summary(reference: Reference) -> bool:
    """Whether the statement holds loops, so that its accesses are unordered."""
    return any(access.where for access in reference.instances.accesses)


def _last(found: Sequence[_Before]) -> Map | None:
    """{ [x -> c] -> time of the last certain write }, None if there is none."""
    times = [f.pairs.apply_domain(f.write.time).reverse() for f in found if f.certain]
    if not times:
        return None
    union = times[0]
    for more in times[1:]:
        union = union.union(more)
    return union.lexmax()


def _kept(found: _Before, last: Map | None) -> Map:
    """The pairs without a certain write in between."""
    time = found.write.time
    if last is None:
        return found.pairs
    if found.certain:
        return last.apply_range(time.reverse()).reverse().intersect(found.pairs)
    times = found.pairs.apply_domain(time).reverse()
    hidden = last.apply_range(Map.lex_gt(last.range().get_space()))
    return times.subtract(hidden).apply_range(time.reverse()).reverse()


def _time(model: Model, write: Reference) -> Map:
    """{ y -> [o_0, y_0, o_1, y_1, .., o_n, 0, .., position] }.

    o_d is the textual position of the node around y at depth d, so lexicographic order
    of these times is execution order.
    """
    own = write.instances
    trips = [f"t{d}" for d in range(len(own.loops))]
    vector: list[str] = []
    for trip, loop in zip(trips, own.loops, strict=True):
        vector += [str(model.places[loop.name]), trip]
    vector.append(str(own.order))
    vector += ["0"] * (2 * model.depth + 1 - len(vector))
    source = f"[{', '.join(trips)}]"
    target = f"[{', '.join([*vector, str(write.position)])}]"
    parameters = ", ".join(model.scop.parameters)
    return model.solver.map(f"[{parameters}] -> {{ {source} -> {target} }}")


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
        """{ : o is an iteration of the outer loops }, even of an empty body."""
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


@dataclass(frozen=True, slots=True)
class UndefinedRead:
    """A read that finds no value.

    ``proven``: it is certainly executed, and finds no value in any iteration.
    """

    reference: Reference
    proven: bool
    event: Event
    cell: tuple[int, ...]
    parameters: dict[str, int]

    def __str__(self) -> str:
        given = ", ".join(f"{name}={value}" for name, value in self.parameters.items())
        where = f" where {given}" if given else ""
        who = f"iteration {self.event} reads" if self.event.iteration else "it reads"
        cell = ", ".join(map(str, self.cell))
        return (
            f"{who} the undefined {self.reference.access.array}[{cell}], which nothing "
            f"has written before{where}"
        )


def undefined_reads(model: Model) -> tuple[UndefinedRead, ...]:
    """Every read of a fresh array that may be undefined, in textual order.

    >>> from gpucodegen.tiling.model.relations import model
    >>> from gpucodegen.tiling.model.scop import Array, Loop, Scop, Statement, nest
    >>> from gpucodegen.tiling.model.scop import read, write
    >>> step = Statement("S", (read("t", "i"), write("t", "i + 1")))
    >>> body = nest([Loop("i", "0", "8")], (step,))
    >>> arrays = (Array("t", (9,), fresh=True),)
    >>> (found,) = undefined_reads(model(Scop(arrays=arrays, body=body)))
    >>> print(found)
    iteration (i=0) reads the undefined t[0], which nothing has written before
    >>> found.proven
    False
    """
    return tuple(_undefined_reads(model))


def _undefined_reads(model: Model) -> Iterator[UndefinedRead]:
    fresh = {a.name for a in model.scop.arrays if a.fresh and not a.register}
    for reference in model.references:
        access = reference.access
        if access.array not in fresh or access.writes or not access.must:
            continue
        nothing = _nothing_written(model, reference)
        if nothing is None:
            continue
        proven = _always(model, reference, nothing)
        shown = nothing if proven else _of_full_arrays(model, nothing)
        found = find_event(model, shown, reference)
        if found is not None:
            yield UndefinedRead(reference, proven, *found)


def _of_full_arrays(model: Model, cells: Map) -> Map:
    """The part where every array of the caller has elements."""
    limits = [f"{extent} >= 1" for extent in sorted(extents_of_arguments(model))]
    full = model.where((), " and ".join(limits) or "true").params()
    return model.solver.ask(lambda: cells.intersect_params(full), cells)


def _nothing_written(model: Model, read: Reference) -> Map | None:
    """{ x -> c in untouched : c inside }, or None where it is empty or unknown.

    `gpucodegen.tiling.proof.array_bounds` covers cells outside of the array.

        Not exact:   without the x that read some c' with x -> c' not in untouched.
        Not certain: only if there is no such x.
    """

    def nothing() -> Map | None:
        whole = _untouched(model, read)
        untouched = whole.intersect_range(_inside(model, read))
        written = read.relation.subtract(whole).domain()
        if not read.exact:
            untouched = untouched.subtract_domain(written)
        hidden = not read.instances.certain and not written.is_empty()
        return None if hidden or untouched.is_empty() else untouched

    return model.solver.ask(nothing, None)


def _untouched(model: Model, read: Reference) -> Map:
    """{ x -> c in read : no y with y -> c in write is before x }."""
    rest = read.relation.wrap()
    targets = read.relation.range_map().reverse()
    for equal in reversed(range(len(read.instances.loops) + 1)):
        for write in model.writes.get(read.access.array, ()):
            for _, pairs in _before(write, read, targets, equal, rest):
                rest = rest.subtract(pairs.range())
                if rest.is_empty():
                    return rest.unwrap()
    return rest.unwrap()


def _inside(model: Model, read: Reference) -> Set:
    """{ c : 0 <= c_d < extent_d for each dimension whose extent is known }."""
    array = model.array(read.access.array)
    cell = [f"__c{i}" for i in range(read.relation.dim(OUT))]
    own = zip(cell[len(array.scope) :], array.shape, strict=True)
    limits = [f"0 <= {c} < {extent}" for c, extent in own if extent is not None]
    return model.where(cell, " and ".join(limits) or "true")


def _always(model: Model, read: Reference, nothing: Map) -> bool:
    """domain(read) is a subset of domain(nothing)."""
    domain = read.instances.domain
    return read.instances.certain and model.solver.ask(
        lambda: domain.is_subset(nothing.domain()), otherwise=False
    )
