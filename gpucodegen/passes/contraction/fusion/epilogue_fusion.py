"""Epilogue fusion: nests around a contraction that touch single cells of its result.

A nest before it gives the cells their first value (a fill, ``C *= beta``). The nests
after it, the epilogue, go on with the finished sums (bias, activation, conversion).
Together they may run cell by cell, in any order of cells, iff no dependence leaves its
cell (`gpucodegen.tiling.machine.pointwise`): with p the cell of an execution,

    { x -> y in dependences : p(x) != p(y) } = {}.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from gpucodegen.dialects import affine
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.analysis.queries import NestAnalysis, analyse
from gpucodegen.passes.contraction.cpu.ranges import Positions
from gpucodegen.passes.contraction.fusion.alignment import (
    aligned,
    fits,
    has_guards,
    is_in_rows,
)
from gpucodegen.passes.contraction.fusion.pointwise import Pointwise, Step
from gpucodegen.passes.contraction.recognition.domain import Domain, domain_of
from gpucodegen.passes.contraction.recognition.operands import Operand, access
from gpucodegen.passes.contraction.recognition.recognize import Contraction
from gpucodegen.passes.framework.indexing import ZERO, Index
from gpucodegen.passes.framework.nests import Axis
from gpucodegen.passes.loops.framework.legality import lifted_loops
from gpucodegen.passes.prepare.affine.dead_code import has_no_effect
from gpucodegen.tiling.machine.pointwise import leaving
from gpucodegen.tiling.model.scop import statements


@dataclass(frozen=True, slots=True)
class EpilogueMember:
    """A nest of a group, its loop for each axis of the result, its steps."""

    nest: Operation
    loops: Mapping[Axis, Axis]
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class EpilogueGroup:
    """A contraction, and the nests around it that keep to its cells.

    ``context``: operations before them.
    """

    contraction: Contraction
    core: EpilogueMember
    context: Sequence[Operation] = ()
    surroundings: Surroundings = field(default_factory=Surroundings)
    before: EpilogueMember | None = None
    after: tuple[EpilogueMember, ...] = ()
    analysis: NestAnalysis | None = None

    @staticmethod
    def of(
        nest: Operation,
        contraction: Contraction,
        context: Sequence[Operation],
        surroundings: Surroundings,
    ) -> EpilogueGroup:
        """The contraction alone."""
        axes = (a for a in contraction.axes if contraction.result.mentions(a))
        core = EpilogueMember(nest, {axis: axis for axis in axes})
        return EpilogueGroup(contraction, core, context, surroundings)

    @property
    def members(self) -> tuple[EpilogueMember, ...]:
        """The nests in order."""
        first = () if self.before is None else (self.before,)
        return (*first, self.core, *self.after)

    def fused(self, dead: Collection[Value]) -> Contraction:
        """The contraction with what the nests do; ``dead`` buffers are not needed."""
        result = self.contraction.result
        start = self.before and Pointwise(self.before.steps, (result,))
        epilogue = None
        if self.after:
            steps = tuple(step for member in self.after for step in member.steps)
            written = dict.fromkeys((result, *_stored(steps)))
            kept = tuple(place for place in written if place.memref not in dead)
            epilogue = Pointwise(steps, kept)
        found = replace(self.contraction, start=start, epilogue=epilogue)
        host = self._host(found)
        return found if host is None else _hosted(found, host)

    def _host(self, found: Contraction) -> Operand | None:
        """Where the sums may grow instead of in a buffer that is not needed."""
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
        """Whether the nests after it write what is read before, but for the sums."""
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
        """With a nest in front that stores to the cells only, if it is one."""
        result = self.contraction.result
        member = self._member(op, [result])
        if member is None or _stored(member.steps) != [result]:
            return self
        led = replace(self, before=member)
        is_fill = all(not o.results for o, place in member.steps if place)
        if is_fill or self.contraction.guards:
            return led if is_fill else self
        return self._legal(led) or self

    def followed_by(self, following: Sequence[Operation]) -> EpilogueGroup:
        """With the nests after it, up to the first one that does not fit."""
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
        if nest is None or not all(map(fits, nest.body)):
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
        for inner in nest.body:
            place = places.get(inner)
            if place is None:
                if not variables.isdisjoint(inner.operands):
                    return None
            elif not is_in_rows(place, axes, result, whole=not inner.results):
                return None
        return EpilogueMember(op, loops, tuple((o, places.get(o)) for o in nest.body))

    def _legal(self, group: EpilogueGroup) -> EpilogueGroup | None:
        """{ x -> y in dependences of the group : p(x) != p(y) } = {}."""
        nests = [member.nest for member in group.members]
        analysis = analyse(nests, self.context, self.surroundings)
        places = dict[str, list[str]]()
        for member in group.members:
            places |= _places(analysis, member, tuple(self.core.loops))
        if leaving(analysis.dependences, places):
            return None
        return replace(group, analysis=analysis)


def _stored(steps: Iterable[Step]) -> list[Operand]:
    """The places of the stores."""
    return [place for op, place in steps if place is not None and not op.results]


def _hosted(contraction: Contraction, host: Operand) -> Contraction:
    """The contraction with its sums in another buffer of the same form."""
    result = contraction.result

    def to(place: Operand) -> Operand:
        return host if place == result else place

    start, epilogue = contraction.start, contraction.epilogue
    return replace(
        contraction,
        result=host,
        start=start and start.moved(to),
        epilogue=epilogue and epilogue.moved(to),
    )


def _places(
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
