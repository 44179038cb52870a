"""Epilogue and prologue fusion: elementwise nests fused with a contraction.

A nest before the contraction initialises the elements of its result (a fill, ``C *=
beta``).  The nests after it, the epilogue, continue with the finished sums (bias,
activation, conversion).  A candidate nest has one loop of equal extent per result axis,
elementwise operations and row-major accesses of unit stride.  It may be fused element
by element iff no dependence leaves its element (`gpucodegen.tiling.proof.legality`):
with p the result element of an instance,

    { x -> y in dependences : p(x) != p(y) } = {}.

Within an element the nests run on registers, one value per place (an array and its
index expressions).  A load takes the value of the last store to its place, so two
places may not be one memory element unless nothing stores to either:

    { x -> y in dependences : place(x) != place(y) } = {}.

Sums that are not needed in memory may grow in a buffer H that the epilogue stores to,
instead of in C; the epilogue still takes them from registers under the place of C.  The
epilogue stores every element of H after the last sum, and until then nothing reads H:

    { reads of H in the nests before, in the contraction, or in the epilogue } = {}.

An epilogue may compute with the variables of its loops; in a tile, each is the position
of a cell along the loop's axis.

The first reduction block of a tile takes its initial sums from memory or from the fused
prologue; the last block stores the tile or runs the epilogue.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import field, replace

from gpucodegen.dialects import affine
from gpucodegen.dialects.framework.declare import with_element
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import MemRefType, Type, element_type
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.analysis.queries import NestAnalysis, analyse
from gpucodegen.passes.contraction.operands import (
    Domain,
    Operand,
    Positions,
    Range,
    access,
    domain_of,
    is_linear,
)
from gpucodegen.passes.contraction.recognize import (
    Contraction,
    Pointwise,
    Step,
    Tile,
    is_position,
)
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.functions import has_no_effect
from gpucodegen.passes.framework.indexing import ZERO, Index, replace_values
from gpucodegen.passes.framework.nests import Axis
from gpucodegen.passes.nests.loop_names import lifted_loops
from gpucodegen.passes.outlining.kernel_operations import ELEMENTWISE, lane_bits
from gpucodegen.records import dataclass
from gpucodegen.tiling.model.scop import statements
from gpucodegen.tiling.proof.legality import leaving

Alone = Callable[[], Sequence[Operation]]
"""Maps a nest as it is."""


@dataclass(slots=True)
class Mapped:
    """Mapped operations, and the last nest, which may still be fused.

    ``alone`` maps that nest, at ``place``, once it is certain that no kernel fuses it.
    """

    operations: list[Operation] = field(default_factory=list[Operation])
    nest: Operation | None = None
    alone: Alone | None = None
    place: int = 0

    def add(self, operations: Sequence[Operation]) -> None:
        if not all(op.name == "memref.alloc" or has_no_effect(op) for op in operations):
            self.close()
        self.operations += operations

    def add_nest(self, nest: Operation, alone: Alone) -> None:
        self.close()
        self.nest, self.alone, self.place = nest, alone, len(self.operations)

    def close(self) -> None:
        """Map the pending nest."""
        if self.alone is not None:
            self.operations[self.place : self.place] = self.alone()
        self.drop_nest()

    def drop_writers(self, buffer: Value) -> None:
        """Remove the nests that mention a buffer, which is never read."""
        self.operations = [
            op
            for op in self.operations
            if not (op.regions and any(buffer in inner.used for inner in op.walk()))
        ]

    def drop_nest(self) -> None:
        """Drop the pending nest."""
        self.nest = self.alone = None


def started(
    b: Builder,
    contraction: Contraction,
    tile: Tile,
    ranges: Sequence[Range] = (),
    read: Callable[[Builder], Value] | None = None,
) -> Value:
    """The accumulator of a reduction block: from memory, or the initial value.

    ``ranges``: those of the block, of the whole reduction if empty.  ``read``: how
    memory is read, if not at the place of the result.
    """
    start, result = contraction.start, contraction.result

    def load(i: Builder) -> Value:
        return tile.read(i, result, "acc") if read is None else read(i)

    if start is None:
        return load(b)
    lowers = {part.axis.iv: Index.of(part.lower) for part in ranges}
    places = (_place(axis, lowers, tile, 0) for axis in contraction.reduction)
    conditions = [Index.of(0) - place for place in places]
    return b.choose(conditions, lambda i: start.value(i, tile, result), load, "acc")


def finished(
    b: Builder,
    contraction: Contraction,
    tile: Tile,
    total: Value,
    ranges: Sequence[Range] = (),
    write: Callable[[Builder], None] | None = None,
) -> None:
    """Store the accumulator of a reduction block, or run the epilogue of the last."""
    epilogue, result = contraction.epilogue, contraction.result

    def store(i: Builder) -> None:
        if write is None:
            tile.write(i, result, total)
        else:
            write(i)

    if epilogue is None:
        store(b)
        return
    lasts = {part.axis.iv: Index.of(part.uppers[0]) - 1 for part in ranges}
    conditions = [
        _place(axis, lasts, tile, axis.extent - 1) - (axis.extent - 1)
        for axis in contraction.reduction
    ]
    b.guard(conditions, lambda i: epilogue.store(i, tile, total), store)


def kept_at(contraction: Contraction) -> Operand | None:
    """The only place that the epilogue stores to; None if there are several."""
    if contraction.epilogue is None:
        return contraction.result
    stored = contraction.epilogue.stored
    return stored[0] if len(stored) == 1 else None


def outcome(b: Builder, contraction: Contraction, tile: Tile, total: Value) -> Value:
    """The value that the epilogue stores at its only place."""
    if contraction.epilogue is None:
        return total
    (kept,) = contraction.epilogue.kept(b, tile, total)
    return kept


def in_element(b: Builder, element: Type, value: Value, conversion: str) -> Value:
    """A number, or a line of them, in another type: sums may be wider than memory."""
    if element_type(value.type) == element:
        return value
    ty = with_element(value.type, element)
    (converted,) = b.add(conversion, (value,), [ty], hint=value.name)
    return converted


def _place(axis: Axis, ends: Positions, tile: Tile, whole: int) -> Index:
    """Lower or upper end of a block on an axis; ``whole`` if the axis is not cut."""
    return ends.get(axis.iv, tile.at.get(axis.iv, Index.of(whole)))


def fits(op: Operation) -> bool:
    """Whether an operation on one cell extends to a tile in registers."""
    if op.name in affine.ACCESSES:
        scalars = (*op.operands[:1], *op.results)
        values = [v for v in scalars if not isinstance(v.type, MemRefType)]
    else:
        values = [*op.operands, *op.results]
        if op.name not in ELEMENTWISE and op.name != "arith.constant":
            return False
    return all(lane_bits(value.type) is not None for value in values)


def aligned(
    place: Operand, anchor: Operand, own: Sequence[Axis], axes: Sequence[Axis]
) -> dict[Axis, Axis] | None:
    """The loop of a nest for each axis, if the same cells are accessed.

    Every axis of the anchor corresponds to one loop with an equal number of iterations,
    in the same index with the same factor; all loops with more than one iteration
    correspond.
    """
    if place.memref is not anchor.memref:
        return None
    loops: dict[Axis, Axis] = {}
    for mine, theirs in zip(place.indices, anchor.indices, strict=True):
        moving = [loop for loop in own if loop.iv in mine.values]
        wanted = [axis for axis in axes if axis.iv in theirs.values]
        if len(moving) != len(wanted) or len(moving) > 1:
            return None
        for loop, axis in zip(moving, wanted, strict=True):
            if loop in loops.values() or loop.extent != axis.extent:
                return None
            loops[axis] = loop
        moved = {loops[axis].iv: Index.of(axis.iv) for axis in wanted}
        if (replace_values(mine, moved) - theirs).constant != 0:
            return None
    left = (loop for loop in own if loop not in loops.values())
    is_whole = all(loop.extent == 1 for loop in left) and len(loops) == len(axes)
    return loops if is_whole and all(axis.extent for axis in axes) else None


def has_guards(
    guards: Sequence[Index], nest: Domain, loops: Mapping[Axis, Axis]
) -> bool:
    """Whether a nest visits exactly the cells whose guards are >= 0.

    Every guard of the one is a guard of the other.
    """
    moved = {loop.iv: Index.of(axis.iv) for axis, loop in loops.items()}
    own = [replace_values(guard, moved) for guard in nest.guards]

    def are_among(some: Sequence[Index], others: Sequence[Index]) -> bool:
        return all(any((a - b).constant == 0 for b in others) for a in some)

    return are_among(guards, own) and are_among(own, guards)


def is_in_rows(
    place: Operand,
    axes: Sequence[Axis],
    result: Operand,
    *,
    whole: bool,
    strided: bool = False,
) -> bool:
    """Whether tiles are read and stored like those of the result, row by row.

    Each axis moves one index of row-major memory, in steps of one, and each index
    moves with one axis; the axis of the result's last dimension is the last one here,
    too.  ``whole``: every axis moves the place.  ``strided``: by any positive number.
    """
    ty, last = place.memref.type, len(place.indices) - 1
    if not isinstance(ty, MemRefType) or ty.layout is not None or None in ty.shape:
        return False
    if not all(map(is_linear, place.indices)):
        return False
    fastest = [a for a in axes if result.dimensions_of(a) == [len(result.indices) - 1]]
    for axis in axes:
        dimensions = place.dimensions_of(axis)
        steps = [place.coefficient(d, axis) for d in dimensions]
        if len(steps) > 1 or any(n < 1 or (n > 1 and not strided) for n in steps):
            return False
        if whole and not dimensions:
            return False
        if axis in fastest and dimensions not in ([], [last]):
            return False
    return all(sum(a.iv in i.values for a in axes) <= 1 for i in place.indices)


@dataclass(frozen=True, slots=True)
class EpilogueMember:
    """A nest of a group, its loop for each axis of the result, its steps."""

    nest: Operation
    loops: Mapping[Axis, Axis]
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class EpilogueGroup:
    """A contraction with the nests around it that stay within its cells.

    ``context``: operations before them.  ``strided``: kernels may store elements that
    are not side by side.  ``indexed``: an epilogue may compute with loop variables,
    such as the mask of a triangle.
    """

    contraction: Contraction
    core: EpilogueMember
    context: Sequence[Operation] = ()
    surroundings: Surroundings = field(default_factory=Surroundings)
    before: EpilogueMember | None = None
    after: tuple[EpilogueMember, ...] = ()
    analysis: NestAnalysis | None = None
    strided: bool = False
    indexed: bool = False

    @staticmethod
    def of(
        nest: Operation,
        contraction: Contraction,
        context: Sequence[Operation],
        surroundings: Surroundings,
        *,
        strided: bool = False,
        indexed: bool = False,
    ) -> EpilogueGroup:
        """A group of the contraction only."""
        axes = (a for a in contraction.axes if contraction.result.mentions(a))
        core = EpilogueMember(nest, {axis: axis for axis in axes})
        given = contraction, core, context, surroundings
        return EpilogueGroup(*given, strided=strided, indexed=indexed)

    @property
    def members(self) -> tuple[EpilogueMember, ...]:
        first = () if self.before is None else (self.before,)
        return (*first, self.core, *self.after)

    def fused(self, dead: Collection[Value]) -> Contraction:
        """The contraction with fused nests; ``dead`` buffers are not stored."""
        result = self.contraction.result
        start = self.before and Pointwise(self.before.steps, (result,))
        epilogue = None
        if self.after:
            steps = tuple(step for member in self.after for step in member.steps)
            written = dict.fromkeys((result, *_stored(steps)))
            kept = tuple(place for place in written if place.memref not in dead)
            epilogue = Pointwise(steps, kept, result)
        found = replace(self.contraction, start=start, epilogue=epilogue)
        host = self._host(found)
        return found if host is None else _hosted(found, host)

    def _host(self, found: Contraction) -> Operand | None:
        """The place where sums may grow instead of in a dead buffer, or None."""
        result, start, epilogue = found.result, found.start, found.epilogue
        if start is None or epilogue is None or result in epilogue.stored:
            return None
        if self._overwrites:
            return None
        read = {
            place.memref
            for part in (start, epilogue)
            for op, place in part.steps
            if place and op.results
        }
        return next(
            (
                place
                for place in epilogue.stored
                if place.indices == result.indices
                and place.memref.type == result.memref.type
                and place.memref not in read
            ),
            None,
        )

    @property
    def _overwrites(self) -> bool:
        """Whether the epilogue overwrites elements read before, but the sums."""
        if self.analysis is None:
            return False
        earlier = [member.nest for member in self.members[: -len(self.after)]]
        later = [member.nest for member in self.after]
        arrays, sums = self.analysis.lifted.arrays, self.contraction.result.memref
        return any(
            found.sink.access.writes and arrays[found.sink.access.array] is not sums
            for found in self.analysis.conflicts(earlier, later)
        )

    def led_by(self, op: Operation) -> EpilogueGroup:
        """The group with a preceding nest that only stores to its cells, if any."""
        result = self.contraction.result
        member = self._member(op, [result])
        if member is None or _stored(member.steps) != [result]:
            return self
        variables = {axis.iv for axis in self.core.loops}
        if not variables.isdisjoint(v for o, _ in member.steps for v in o.operands):
            return self
        led = replace(self, before=member)
        is_fill = all(not o.results for o, place in member.steps if place)
        if is_fill or self.contraction.guards:
            return led if is_fill else self
        return self._legal(led) or self

    def followed_by(self, following: Sequence[Operation]) -> EpilogueGroup:
        """The group with the following nests, up to the first one that does not fit."""
        group = self
        for op in () if self.contraction.guards else following:
            if op.name == "memref.alloc" or has_no_effect(op):
                continue
            steps = (step for member in group.after for step in member.steps)
            anchors = [self.contraction.result, *_stored(steps)]
            member = group._member(op, anchors)
            longer = member and group._legal(
                replace(group, after=(*group.after, member))
            )
            if not longer:
                break
            group = longer
        return group

    def _member(
        self, op: Operation, anchors: Sequence[Operand]
    ) -> EpilogueMember | None:
        nest = domain_of(op)
        if nest is None or not all(fits(o) or is_position(o) for o in nest.body):
            return None
        accesses = {
            o: access(o, nest.axes) for o in nest.body if o.name in affine.ACCESSES
        }
        for anchor in anchors:
            for place in accesses.values():
                loops = aligned(place, anchor, nest.axes, tuple(self.core.loops))
                if loops is not None:
                    is_same = has_guards(self.contraction.guards, nest, loops)
                    return self._steps(op, nest, accesses, loops) if is_same else None
        return None

    def _steps(
        self,
        op: Operation,
        nest: Domain,
        accesses: Mapping[Operation, Operand],
        loops: Mapping[Axis, Axis],
    ) -> EpilogueMember | None:
        """The member, if it accesses whole tiles in rows and computes on vectors."""
        positions: Positions = {axis.iv: ZERO for axis in nest.axes}
        positions |= {loop.iv: Index.of(axis.iv) for axis, loop in loops.items()}
        places = {
            o: Operand(place.memref, tuple(place.at(positions)))
            for o, place in accesses.items()
        }
        axes, result = tuple(self.core.loops), self.contraction.result
        variables = {axis.iv for axis in nest.axes}
        positioned = {
            loop.iv: axis.iv
            for axis, loop in loops.items()
            if self.indexed and not loop.lower and loop.step == 1
        }
        steps = list[Step]()
        for inner in nest.body:
            place = places.get(inner)
            steps.append((inner, place))
            if place is None:
                if is_position(inner) and inner.operands[0] in positioned:
                    moved = (positioned[inner.operands[0]],)
                    steps[-1] = inner.with_(operands=moved), None
                elif not variables.isdisjoint(inner.operands):
                    return None
            elif not is_in_rows(
                *(place, axes, result),
                whole=not inner.results,
                strided=self.strided and not inner.results,
            ):
                return None
        return EpilogueMember(op, loops, tuple(steps))

    def _legal(self, group: EpilogueGroup) -> EpilogueGroup | None:
        """The group with its dependences, if they permit running it cell by cell.

        { x -> y in dependences : p(x) != p(y) or place(x) != place(y) } = {}
        """
        nests = [member.nest for member in group.members]
        analysis = analyse(nests, self.context, self.surroundings, fine=True)
        positions = dict[str, list[str]]()
        for member in group.members:
            positions |= _positions(analysis, member, tuple(self.core.loops))
        is_legal = group._keeps_places(analysis) and not leaving(
            analysis.dependences, positions
        )
        return replace(group, analysis=analysis) if is_legal else None

    def _keeps_places(self, analysis: NestAnalysis) -> bool:
        """{ x -> y in dependences : place(x) != place(y) } = {}."""
        result = self.contraction.result
        places = {
            id(op): result
            for op in self.core.nest.walk()
            if op.name in affine.ACCESSES and result.memref in op.operands
        }
        steps = (step for member in self.members for step in member.steps)
        places |= {id(op): place for op, place in steps if place is not None}
        operations = analysis.lifted.operations
        for dependence in analysis.dependences:
            ends = (dependence.source.instances, dependence.sink.instances)
            found = {
                places[id(op)]
                for end in ends
                for op in operations[end.name]
                if id(op) in places
            }
            if len(found) > 1:
                return False
        return True


def _stored(steps: Iterable[Step]) -> list[Operand]:
    return [place for op, place in steps if place is not None and not op.results]


def _hosted(contraction: Contraction, host: Operand) -> Contraction:
    """The contraction whose sums grow in another buffer of the same form."""
    result, start = contraction.result, contraction.start

    def to(place: Operand) -> Operand:
        return host if place == result else place

    return replace(contraction, result=host, start=start and start.moved(to))


def _positions(
    analysis: NestAnalysis, member: EpilogueMember, axes: Sequence[Axis]
) -> dict[str, list[str]]:
    """For each statement of a nest, the positions of the axes over its loops."""
    (root,) = lifted_loops(analysis, [member.nest])
    loops = [member.loops[axis] for axis in axes]
    names = [loop.name for loop in lifted_loops(analysis, [a.operation for a in loops])]
    position = [
        f"floor(({name} - ({loop.lower}))/{loop.step})"
        for name, loop in zip(names, loops, strict=True)
    ]
    return {statement.name: position for statement in statements((root,))}
