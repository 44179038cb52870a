"""Value-based flow: for each read, the writes whose values it may find.

Comes in: a `Model` and one reference that reads. Goes out: a `Flow`, exact where all
accesses are. A write that is certain and exact hides all writes before it; one that may
not happen hides nothing. A flow that isl does not find within the limits is None, which
means that any write may reach the read: unknown, never none.

Instances are executed one after the other in the order of the program; what threads
and asynchronous copies do at once is the matter of `races`. A statement that sums up
loops (`summary`) may read what it has written itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from gpucodegen.tiling.model.isl import IN, OUT, Map, Set
from gpucodegen.tiling.model.relations import Model, Reference, common_loops
from gpucodegen.tiling.proof.dependences import before_in_text


@dataclass(frozen=True, slots=True)
class ValueSource:
    """Executions of ``write`` that are the last before the read of a cell.

    ``level``: as in `Dependence`, the common loop in which the two differ first.
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
    """Where the values of one reference come from.

    ``initial``: { x -> c : no write has certainly happened before }.
    ``untouched``: { x -> c : no write can have happened before }.
    """

    read: Reference
    sources: tuple[ValueSource, ...]
    initial: Map
    untouched: Map

    def entering(self, depth: int) -> Map:
        """{ x -> c : the value may be from before the iteration of the outer loops }.

        ``depth``: how many of the read's loops stand still.
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

    The more loops two writes before x share with it in the same iteration, the later.
    """
    written = [_Write(w, _time(model, w)) for w in _writes(model, read.access.array)]
    is_certain = partial(_is_certain, read=read, finished=finished)
    rest = untouched = read.relation.wrap()
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
        for f in found:
            untouched = untouched.subtract(f.pairs.range())
        if last is not None:
            rest = rest.subtract(last.domain())
    return Flow(
        read,
        tuple(s for s in sources if not s.pairs.is_empty()),
        rest.unwrap(),
        untouched.unwrap(),
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


def _writes(model: Model, array: str) -> Iterator[Reference]:
    for reference in model.references:
        if reference.access.writes and reference.access.array == array:
            yield reference


def _before(
    write: Reference, read: Reference, targets: Map, equal: int, rest: Set
) -> Iterator[tuple[int | None, Map]]:
    """{ y -> [x -> c] } with the level, if there are executions that agree so far."""
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

    All that may keep y from being executed is around x too, in the same iteration.
    """
    a, b = write.instances, read.instances
    is_copy = not finished and a.copies
    shared = all(doubt in b.doubts and doubt.depth <= equal for doubt in a.doubts)
    apart = a is not b or not _is_summary(write)
    return write.exact and shared and apart and not is_copy


def _is_summary(reference: Reference) -> bool:
    """Whether the statement holds loops: its accesses are not in order of execution."""
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
    """The pairs with nothing certain in between."""
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

    o_d is the place in the text of what surrounds y at depth d, so that times compare
    as executions do.
    """
    depth = max(len(i.loops) for i in model.everything)
    own = write.instances
    trips = [f"t{d}" for d in range(len(own.loops))]
    first = {
        loop.name: instances.order
        for instances in reversed(model.everything)
        for loop in instances.loops
    }
    vector: list[str] = []
    for trip, loop in zip(trips, own.loops, strict=True):
        vector += [str(first[loop.name]), trip]
    vector.append(str(own.order))
    vector += ["0"] * (2 * depth + 1 - len(vector))
    source = f"[{', '.join(trips)}]"
    target = f"[{', '.join([*vector, str(write.position)])}]"
    parameters = ", ".join(model.scop.parameters)
    return model.solver.map(f"[{parameters}] -> {{ {source} -> {target} }}")
