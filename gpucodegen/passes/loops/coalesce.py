"""Loop coalescing: two loops over contiguous memory become one.

    for a in 0..M { for b in 0..N { f(X[a, b]) } }  =>  for p in 0..M N { f(X'[p]) }

``X'`` is X with both dimensions as one (``memref.collapse_shape``).  It exists iff
every access has, for the extent N of b,

    stride(a) = N stride(b),  both in one index each,  or neither of them.

The order of iterations is kept, which is always legal for sequential loops.  Where the
outer loop is parallel, the inner loops must be parallel, too:

    { d in distances of the inner loops' dependences : d != 0 } = {}

It pays where the result has the accesses of an elementwise nest: stored arrays are
accessed at one place only, and accumulators do not move.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from gpucodegen.dialects import affine
from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.memref.layouts import is_row_major
from gpucodegen.ir.attributes import AffineMapAttr
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import MemRefType
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.analysis.queries import analyse
from gpucodegen.passes.contraction.collapse import Folded, merge_of
from gpucodegen.passes.contraction.operands import (
    Operand,
    access,
    is_linear,
)
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.functions import (
    has_no_effect,
    in_functions,
    with_blocks,
)
from gpucodegen.passes.framework.indexing import Index, as_map
from gpucodegen.passes.framework.nests import Axis, inner_operations, to_parallel
from gpucodegen.passes.nests.loop_ranges import chain_of, rebuilt
from gpucodegen.passes.vectorize.loops import RANGES, range_in
from gpucodegen.records import dataclass


@dataclass(frozen=True, slots=True)
class FlatNest:
    """Loops around a body, and where each of its accesses lands.

    A merged axis stands for the outer one of its two loops.
    """

    axes: tuple[Axis, ...]
    body: tuple[Operation, ...]
    places: Mapping[Operation, Folded]

    def merged(self, at: int) -> FlatNest | None:
        """The nest with the loop at a position and the next one merged."""
        slow, fast = self.axes[at : at + 2]
        whole = merge_of(slow, fast)
        starts = {axis.iv: axis.at(axis.iv) for axis in (slow, fast)}
        places: dict[Operation, Folded] = {}
        for op, place in self.places.items():
            found = place.substituted(starts).merged(slow, fast, whole)
            if found is None:
                return None
            places[op] = found
        axes = (*self.axes[:at], whole, *self.axes[at + 2 :])
        return replace(self, axes=axes, places=places)

    @property
    def is_elementwise(self) -> bool:
        """Whether each stored buffer is accessed at one place only."""
        stored = {p.memref for op, p in self.places.items() if not op.results}
        return all(
            len({as_map(p.indices) for p in self.places.values() if p.memref is memref})
            == 1
            for memref in stored
        )

    def overlaps(self, may_overlap: Callable[[Value, Value], bool]) -> bool:
        """Whether a stored buffer may overlap another one of the nest.

        Collapsed, two views of one memory have no common index space, so dependences
        between them would no longer be exact.
        """
        memrefs = {place.memref for place in self.places.values()}
        stored = {p.memref for op, p in self.places.items() if not op.results}
        return any(
            may_overlap(one, other) for one in stored for other in memrefs - {one}
        )

    @property
    def coalesced(self) -> FlatNest:
        """The nest with all neighbouring loops merged that can be."""
        flat = self
        for at in reversed(range(len(self.axes) - 1)):
            flat = flat.merged(at) or flat
        return flat

    def operations(self) -> list[Operation]:
        b = Builder(self.axes[0].operation.location)
        loop = self.loop(b, {})
        return [*b.operations, loop]

    def loop(self, b: Builder, views: dict[Folded, Value]) -> Operation:
        """The outermost loop; ``views`` of buffers that are made, and new ones in b."""
        inside: list[Operation] = []
        for op in self.body:
            place = self.places.get(op)
            if place is None:
                inside.append(op)
                continue
            view = replace(place, indices=())
            if view not in views:
                views[view] = place.view(b).memref
            inside.append(_redirected(op, views[view], place.indices))
        for axis in reversed(self.axes):
            inside = [_loop(axis, inside)]
        return inside[0]


def flat_nest(chain: Sequence[Operation]) -> FlatNest | None:
    """A chain of loops around a straight body; None if views cannot show it.

    Its loops have constant ranges, its buffers are contiguous, its indices are linear,
    and only accesses use the variables.
    """
    axes = [axis for op in chain if (axis := _axis(op))]
    body = inner_operations(chain[-1])
    variables = {axis.iv for axis in axes}
    if len(axes) < max(2, len(chain)):
        return None
    places: dict[Operation, Folded] = {}
    for op in body:
        if op.name in affine.ACCESSES:
            place = access(op, ())
            if not _is_seen_whole(place):
                return None
            places[op] = Folded.of(place)
        elif (
            op.regions or not has_no_effect(op) or not variables.isdisjoint(op.operands)
        ):
            return None
    return FlatNest(tuple(axes), body, places)


def _is_seen_whole(place: Operand) -> bool:
    """Whether indices are linear and the buffer is contiguous."""
    ty = place.memref.type
    is_plain = isinstance(ty, MemRefType) and is_row_major(ty) and None not in ty.shape
    return is_plain and all(map(is_linear, place.indices))


def _axis(op: Operation) -> Axis | None:
    """A loop with constant bounds and steps of one, parallel or not."""
    range_ = range_in(op)
    if op.results or range_ is None or range_.constant_trips is None:
        return None
    first = range_.lowers[0].constant
    return (
        first
        if first is None
        else Axis(op.body.arguments[0], range_.constant_trips, first, 1, op)
    )


def _redirected(op: Operation, view: Value, indices: Sequence[Index]) -> Operation:
    """The access with another buffer and other indices."""
    map_, operands = as_map(indices)
    return op.with_(
        operands=(*(() if op.results else op.operands[:1]), view, *operands),
        attributes={**op.attributes, "map": AffineMapAttr(map_)},
    )


def _loop(axis: Axis, body: Sequence[Operation]) -> Operation:
    """The loop of an axis around a body, of the kind that its operation has."""
    given = axis.operation
    if given.body.arguments[0] is axis.iv:
        return given.with_body((*body, given.body.operations[-1]))
    loop = affine.for_(
        0, (), axis.extent, (), body=body, iv=axis.iv, location=given.location
    )
    return loop if given.name == "affine.for" else to_parallel(loop)


@dataclass(frozen=True, slots=True)
class Coalesce(ModulePass):
    """Run elementwise loops over whole rows as one loop.

    >>> import gpucodegen as gcg
    >>> module = gcg.parse('''func.func @f(%A: memref<9x5xf32>, %v: f32) {
    ...   affine.for %i = 0 to 9 {
    ...     affine.for %j = 0 to 5 {
    ...       affine.store %v, %A[%i, %j] : memref<9x5xf32>
    ...     }
    ...   }
    ...   return
    ... }''')
    >>> print(Coalesce().apply(module))
    module {
      func.func @f(%A: memref<9x5xf32>, %v: f32) {
        %A_0 = memref.collapse_shape %A [[0, 1]] : memref<9x5xf32> into memref<45xf32>
        affine.for %j = 0 to 45 {
          affine.store %v, %A_0[%j] : memref<45xf32>
        }
        return
      }
    }
    """

    name: ClassVar[str] = "coalesce"
    looks_for: ClassVar[frozenset[str]] = frozenset({"affine.for", "affine.parallel"})

    def apply(self, module: Module) -> Module:
        coalescer = _Coalescer(Surroundings.of(module))
        return in_functions(module, lambda op: [with_blocks(op, coalescer.operations)])


@dataclass(frozen=True, slots=True)
class _Coalescer:
    surroundings: Surroundings

    def operations(self, operations: Sequence[Operation]) -> list[Operation]:
        """Operations with the loops among and inside them coalesced."""
        return [new for op in operations for new in self._operation(op)]

    def _operation(self, op: Operation) -> list[Operation]:
        if not op.regions:
            return [op]
        nest = flat_nest(chain_of(op)) if op.name in RANGES else None
        if nest is None or nest.overlaps(self.surroundings.aliases.may_overlap):
            return [with_blocks(op, self.operations)]
        merged = self._merged(nest)
        return [op] if merged is nest else merged.operations()

    def _merged(self, nest: FlatNest) -> FlatNest:
        """Neighbouring loops merged, the innermost ones first."""
        current = nest
        for at in reversed(range(len(nest.axes) - 1)):
            found = current.merged(at)
            if found and found.is_elementwise and self._is_legal(current, at):
                current = found
        return current

    def _is_legal(self, nest: FlatNest, at: int) -> bool:
        outer, inner = (axis.operation for axis in nest.axes[at : at + 2])
        if outer.name == "affine.for":
            return True
        analysis = analyse([inner], (), self.surroundings)
        return all(map(analysis.is_parallel, chain_of(inner)))


@dataclass(frozen=True, slots=True)
class CoalesceRows(ModulePass):
    """Coalesce the loops that pass over a row, where several do, over common views.

    Thread groups keep rows of single loops in registers.
    """

    name: ClassVar[str] = "coalesce-rows"
    looks_for: ClassVar[frozenset[str]] = frozenset({"affine.for"})

    def apply(self, module: Module) -> Module:
        may_overlap = Surroundings.of(module).aliases.may_overlap

        def block(operations: Sequence[Operation]) -> list[Operation]:
            return [new for op in operations for new in _rows(op, may_overlap)]

        return in_functions(module, lambda op: [with_blocks(op, block)])


def _rows(
    op: Operation, may_overlap: Callable[[Value, Value], bool]
) -> list[Operation]:
    """A nest whose rows are single loops, after its views; the nest itself if none."""
    around = chain_of(op) if op.name == "affine.for" else []
    inside = inner_operations(around[-1]) if around else ()
    chains = {o: chain_of(o) for o in inside if o.name == "affine.for"}
    if len(chains) < 2 or all(len(chain) == 1 for chain in chains.values()):
        return [op]
    b, views = Builder(op.location), dict[Folded, Value]()
    made: dict[Operation, Operation] = {}
    for o, chain in chains.items():
        nest = flat_nest(chain)
        if nest is None or len(nest.coalesced.axes) > 1:
            return [op]
        made[o] = nest.coalesced.loop(b, views)
    accesses = [o for o in op.walk() if o.name in affine.ACCESSES]
    stored = {o.operands[1] for o in accesses if not o.results}
    loaded = {o.operands[0] for o in accesses if o.results}
    shown = {view.memref for view, value in views.items() if value is not view.memref}
    body = [made.get(o, o) for o in inside]
    direct = {v for o in body for n in o.walk() for v in n.operands}
    if (
        not shown.isdisjoint(stored & loaded | direct)
        or len({view.memref for view in views}) < len(views)
        or any(may_overlap(s, v) for s in stored for v in stored | loaded if s is not v)
    ):
        return [op]
    end = around[-1].body.operations[-1]
    return [*b.operations, rebuilt(around, (*body, end))]
