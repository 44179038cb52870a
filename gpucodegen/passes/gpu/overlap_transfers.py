"""Software pipelining of DMA copies: later copies run while the loop computes.

    for k { start(k); wait(k); compute(k) }      with stages n, slot(k) = trip(k) mod n

becomes, where trip counts the iterations and s is the step,

    prologue:  for k in the first n - 1 { start(k) into slot(k) }
    steady:    for k in all but the last n - 1 {
                   wait(k); start(k + (n - 1) s) into its slot;
                   compute(k) from slot(k) }
    epilogue:  for k in the last n - 1 { wait(k); compute(k) from slot(k) }

A buffer gets one more dimension, the slot.  The loop's body must have the form

    body := (index arithmetic | allocation)* start* (start | wait | release)* compute*

where a start or wait may stand in its own loops, one copy per row.  It is legal if no
iteration reads buffer contents of another one,

    { c : x reads c of a buffer, no start y of the same k writes c, S(y) < S(x) } = {},

and if the result obeys the rules of `gpucodegen.tiling.proof.races`: while a copy is in
flight, its source is not written and its destination is not accessed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import ClassVar

from gpucodegen import errors
from gpucodegen.dialects import affine
from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.shared.dma import (
    STARTS,
    TRANSFERS,
    WAITS,
    ends_of,
    lengths_of,
    tag_of,
)
from gpucodegen.dialects.shared.memory import ALLOCATIONS
from gpucodegen.ir.attributes import AffineMapAttr, Attribute
from gpucodegen.ir.operation import (
    Operation,
    Value,
    clone,
    rewrite_bottom_up,
    segment_counts,
)
from gpucodegen.ir.types import MemRefType
from gpucodegen.passes.analysis.lifting import Lifted, Surroundings, lift_function
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.functions import in_functions
from gpucodegen.passes.framework.indexing import (
    Index,
    as_map,
    bounds_of,
    compact,
    from_map,
)
from gpucodegen.passes.framework.nests import inner_operations
from gpucodegen.records import dataclass
from gpucodegen.tiling.model.relations import Model, Reference, model
from gpucodegen.tiling.proof.flow import TileBody
from gpucodegen.tiling.proof.liveness import LoopKind, loop_verdicts
from gpucodegen.tiling.proof.races import races

ACCESSES = {
    "affine.load": 0,
    "affine.vector_load": 0,
    "affine.store": 1,
    "affine.vector_store": 1,
}
"""Position of the memref among the operands."""


@dataclass(frozen=True, slots=True)
class Slots:
    """New buffers for old ones; every access is to one slot of them."""

    buffers: Mapping[Value, Value]
    slot: Index

    def of(self, operations: Sequence[Operation]) -> list[Operation]:
        """The operations with accesses to the slot, without releases."""
        return [new for op in operations for new in rewrite_bottom_up(op, self._one)]

    def _one(self, op: Operation) -> list[Operation] | None:
        if not any(value in self.buffers for value in op.operands):
            return None
        if op.name in TRANSFERS:
            return [self._transfer(op)]
        return [self._access(op)] if op.name in ACCESSES else []

    def _place(self, memref: Value, indices: list[Index]) -> tuple[Value, list[Index]]:
        new = self.buffers.get(memref)
        return (memref, indices) if new is None else (new, [self.slot, *indices])

    def _access(self, op: Operation) -> Operation:
        at = ACCESSES[op.name]
        indices = from_map(affine.map_of(op), op.operands[at + 1 :])
        memref, places = self._place(op.operands[at], indices)
        map_, values = as_map([compact(place) for place in places])
        return op.with_(
            operands=(*op.operands[:at], memref, *values),
            attributes={**op.attributes, "map": AffineMapAttr(map_)},
        )

    def _transfer(self, op: Operation) -> Operation:
        is_start = op.name in STARTS
        names = ("src_map", "dst_map", "tag_map") if is_start else ("tag_map",)
        operands: list[Value] = []
        attributes: dict[str, Attribute] = {}
        for name, end in zip(names, ends_of(op), strict=True):
            memref, places = self._place(end.memref, from_map(end.map, end.operands))
            map_, values = as_map([compact(place) for place in places])
            operands += [memref, *values]
            attributes[name] = AffineMapAttr(map_)
        return op.with_(
            name="affine.dma_start" if is_start else "affine.dma_wait",
            operands=(*operands, *lengths_of(op)),
            attributes=attributes,
        )


ARITHMETIC = frozenset({"arith.constant", "affine.apply", "affine.min", "affine.max"})
RELEASE = "memref.dealloc"
MEMORY = ALLOCATIONS | {RELEASE}


@dataclass(frozen=True, slots=True)
class StreamingLoop:
    """A loop of this form, in parts; ``buffers`` and ``tags`` belong to its starts."""

    loop: Operation
    lower: Index
    upper: Index
    step: int
    arithmetic: tuple[Operation, ...]
    starts: tuple[Operation, ...]
    waits: tuple[Operation, ...]
    compute: tuple[Operation, ...]
    buffers: tuple[Value, ...]
    tags: tuple[Value, ...]

    @property
    def iv(self) -> Value:
        return affine.For(self.loop).iv

    def trip(self, at: Index) -> Index:
        """The number of the iteration at a value of the loop variable."""
        return (at - self.lower) // self.step


def streaming(loop: Operation) -> StreamingLoop | None:
    """The parts of a loop, or None where it has another form."""
    if loop.name != "affine.for" or loop.results:
        return None
    view = affine.For(loop)
    lowers, uppers = bounds_of(view)
    body = inner_operations(loop)
    head = tuple(takewhile(_is_head, body))
    starts = tuple(op for op in head if _kind(op) == "start")
    waits = tuple(op for op in head if _kind(op) == "wait")
    if len(lowers) != 1 or len(uppers) != 1 or not starts or not waits:
        return None
    inside = [op for group in starts for op in group.walk() if op.name in STARTS]
    buffers = tuple(dict.fromkeys(ends_of(op)[1].memref for op in inside))
    tags = tuple(dict.fromkeys(tag_of(op).memref for op in inside))
    memory = [op for op in head if op.name in MEMORY]
    kept = [op for op in memory if memref_of(op) not in {*buffers, *tags}]
    return StreamingLoop(
        loop,
        lowers[0],
        uppers[0],
        view.step,
        tuple(op for op in head if op.name in ARITHMETIC),
        starts,
        waits,
        (*kept, *body[len(head) :]),
        buffers,
        tags,
    )


def memref_of(op: Operation) -> Value:
    return (*op.results, *op.operands)[0]


def _is_head(op: Operation) -> bool:
    return op.name in ARITHMETIC | MEMORY or _kind(op) in {"start", "wait"}


def _kind(op: Operation) -> str:
    """``start`` or ``wait`` for such an operation, and for loops around only such."""
    found = {inner.name for inner in op.walk()} - ARITHMETIC
    moves = found & TRANSFERS
    around = found - TRANSFERS - {"affine.for", "affine.yield"}
    if not moves or around:
        return ""
    return "start" if moves <= STARTS else "wait" if moves <= WAITS else ""


def is_sequential(
    function: Operation, loop: Operation, surroundings: Surroundings
) -> bool:
    """Whether a loop carries a dependence; pipelining would order a parallel one."""
    built = model(lift_function(function, surroundings).scop)
    kinds = [v.kind for v in loop_verdicts(built) if v.loop.payload is loop]
    return LoopKind.PARALLEL not in kinds


def check_unshared(
    function: Operation, found: StreamingLoop, surroundings: Surroundings
) -> None:
    """Refuse buffers with other uses, or with contents that outlive an iteration."""
    for op in _other_uses(function, found):
        raise _refusal(found, f"'{op.name}' uses a buffer of its transfers", op)
    lifted = lift_function(function, surroundings)
    built = model(lifted.scop)
    for reference in _reads(built, lifted, found):
        reason = _left_behind(built, reference, found)
        if reason:
            op = lifted.operations[reference.instances.name][reference.position]
            raise _refusal(found, reason, op)


def _left_behind(built: Model, reference: Reference, found: StreamingLoop) -> str:
    """A description of a read of contents that no copy of its iteration brought."""
    loops = [loop.payload for loop in reference.instances.loops]
    body = TileBody(built, loops.index(found.loop) + 1)
    array = reference.access.array
    left = built.solver.ask(lambda: body.exposed(reference, finished=True), None)
    if left is not None and built.solver.is_empty(left):
        return ""
    point = None if left is None else built.solver.smallest(left)
    shown = "" if point is None else f": {_cell(array, *point)}"
    return f"an iteration reads what its own transfers do not bring{shown}"


def _other_uses(function: Operation, found: StreamingLoop) -> Iterator[Operation]:
    """Uses outside of the loop, and uses in it that cannot be redirected to a slot."""
    inside = {id(op) for op in found.loop.walk()}
    own = {*found.buffers, *found.tags}
    known = {*ACCESSES, *TRANSFERS, *MEMORY}
    for op in function.walk():
        uses = any(value in own for value in op.operands)
        is_known = id(op) in inside and op.name in known
        if uses and not is_known and op.name not in MEMORY:
            yield op


def _reads(built: Model, lifted: Lifted, found: StreamingLoop) -> Iterator[Reference]:
    for reference in built.references:
        memref: Value | None = lifted.arrays.get(reference.access.array)
        if memref in found.buffers and not reference.access.writes:
            yield reference


def _cell(array: str, given: dict[str, int], cell: tuple[int, ...]) -> str:
    where = ", ".join(f"{name}={value}" for name, value in given.items())
    return f"{array}[{', '.join(map(str, cell))}] at ({where})"


def check_result(
    function: Operation, found: StreamingLoop, surroundings: Surroundings
) -> None:
    """Refuse accesses to cells of a copy in flight, with a witness."""
    broken = races(model(lift_function(function, surroundings).scop))
    for race in sorted(broken, key=lambda r: r.witness is None):
        raise _refusal(found, str(race), None)


def _refusal(
    found: StreamingLoop, reason: str, op: Operation | None
) -> errors.IllegalTransformation:
    notes = [] if op is None else [(op.location, "this one")]
    return errors.IllegalTransformation(
        found.loop.location,
        notes=notes,
        transformation=f"overlapping the transfers of loop %{found.iv.name}",
        reason=reason,
    )


@dataclass(frozen=True, slots=True)
class OverlapTransfers(ModulePass):
    """Overlap the DMA copies at the head of loops with earlier iterations' computation.

    ``stages``: how many iterations are in flight at once, at least 2.  ``buffers``:
    slots of each buffer; 0 makes one per stage.  ``loop``: the variable of the loop; by
    default all loops of the form that are not parallel.
    """

    name: ClassVar[str] = "overlap-transfers"
    stages: int = 2
    buffers: int = 0
    loop: str = ""

    def apply(self, module: Module) -> Module:
        """Overlap, or raise IllegalTransformation with a witness."""
        if self.stages < 2:
            raise errors.InvalidPassOption(
                name=self.name,
                problem=f"option 'stages' cannot be {self.stages}",
                hint="Give 2 or more",
            )
        surroundings = Surroundings.of(module)
        return in_functions(module, lambda op: [self._function(op, surroundings)])

    def _function(self, function: Operation, surroundings: Surroundings) -> Operation:
        for loop in list(function.walk()):
            found = streaming(loop)
            if found is None or not self._is_meant(found, function, surroundings):
                continue
            check_unshared(function, found, surroundings)
            function = self._replaced(function, found)
            check_result(function, found, surroundings)
        return function

    def _is_meant(
        self, found: StreamingLoop, function: Operation, surroundings: Surroundings
    ) -> bool:
        if self.loop:
            return found.iv.name == self.loop
        return is_sequential(function, found.loop, surroundings)

    def _replaced(self, function: Operation, found: StreamingLoop) -> Operation:
        """The function with one loop in stages and its buffers in slots."""
        old = (*found.buffers, *found.tags)
        new = {value: self._widened(value) for value in old}

        def staged(op: Operation) -> list[Operation] | None:
            if op.name == "affine.for" and affine.For(op).iv is found.iv:
                return self._staged(found, new)
            is_old = op.name in MEMORY and memref_of(op) in new
            return [] if is_old else None

        (result,) = rewrite_bottom_up(function, staged)
        return result

    def _widened(self, memref: Value) -> Value:
        ty = memref.type
        assert isinstance(ty, MemRefType)
        slots = self.buffers or self.stages
        return memref.renewed(replace(ty, shape=(slots, *ty.shape)))

    def _slot(self, found: StreamingLoop, at: Index) -> Index:
        return compact(found.trip(at) % (self.buffers or self.stages))

    def _staged(self, found: StreamingLoop, new: dict[Value, Value]) -> list[Operation]:
        b = Builder(found.loop.location)
        for value in new.values():
            sizes = {"operandSegmentSizes": segment_counts(0, 0)}
            b.operations.append(
                Operation("memref.alloc", (), (value,), sizes, location=b.location)
            )
        ahead = (self.stages - 1) * found.step
        lower, upper = found.lower, found.upper
        trips = compact((upper - lower + (found.step - 1)) // found.step)
        last = compact(lower + (trips - (self.stages - 1)) * found.step)

        def started(inner: Builder, at: Index) -> None:
            slots = Slots(new, self._slot(found, at))
            mapping = {found.iv: inner.index(compact(at), found.iv.name)}
            copied = [clone(o, mapping) for o in (*found.arithmetic, *found.starts)]
            inner.operations += slots.of(copied)

        def computed(inner: Builder, iv: Value, *, with_start: bool) -> None:
            here = Index.of(iv)
            slots = Slots(new, self._slot(found, here))
            mapping = {found.iv: iv}
            head = [clone(o, mapping) for o in (*found.arithmetic, *found.waits)]
            inner.operations += slots.of(head)
            if with_start:
                started(inner, here + ahead)
            inner.operations += slots.of([clone(o, mapping) for o in found.compute])

        hint, step = found.iv.name, found.step
        first = _tightest([upper, compact(lower + ahead)], min)
        b.loop(
            lower, first, lambda i, iv: started(i, Index.of(iv)), step=step, hint=hint
        )
        b.loop(
            lower,
            compact(upper - ahead),
            lambda i, iv: computed(i, iv, with_start=True),
            step=step,
            hint=hint,
        )
        b.loop(
            _tightest([lower, last], max),
            upper,
            lambda i, iv: computed(i, iv, with_start=False),
            step=step,
            hint=hint,
        )
        for value in new.values():
            b.add(RELEASE, (value,))
        return b.operations


def _tightest(
    bounds: Sequence[Index], choose: Callable[[Sequence[int]], int]
) -> Sequence[Index]:
    """Several constant bounds as one."""
    numbers = [b.constant for b in bounds if b.constant is not None]
    is_known = len(numbers) == len(bounds)
    return [Index.of(choose(numbers))] if is_known else bounds
