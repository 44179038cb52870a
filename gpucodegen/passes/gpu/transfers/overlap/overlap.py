"""Software pipelining of transfers: the next ones are under way while one computes.

    for k { start(k); wait(k); compute(k) }      with stages n, slot(k) = trip(k) mod n

becomes, where trip counts the iterations and s is the step,

    prologue:  for k in the first n - 1 { start(k) into slot(k) }
    steady:    for k in all but the last n - 1 {
                   wait(k); start(k + (n - 1) s) into its slot;
                   compute(k) from slot(k) }
    epilogue:  for k in the last n - 1 { wait(k); compute(k) from slot(k) }

Legal if no iteration finds what another left in the buffers,

    { c : x reads c of a buffer, no start y of the same k writes c, S(y) < S(x) } = {},

and if the rules of `gpucodegen.tiling.proof.races` hold for the result: what a
transfer reads is not written, and what it writes is not touched, while it is under way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from gpucodegen import errors
from gpucodegen.dialects import affine
from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.operation import (
    Operation,
    Value,
    clone,
    rewrite_bottom_up,
    segment_counts,
)
from gpucodegen.ir.types import MemRefType
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.functions import in_functions
from gpucodegen.passes.framework.indexing import Index, compact
from gpucodegen.passes.gpu.transfers.overlap.legality import (
    check_result,
    check_unshared,
    is_sequential,
)
from gpucodegen.passes.gpu.transfers.overlap.rotate import Slots
from gpucodegen.passes.gpu.transfers.overlap.shape import (
    MEMORY,
    RELEASE,
    StreamingLoop,
    memref_of,
    streaming,
)


@dataclass(frozen=True, slots=True)
class OverlapTransfers(ModulePass):
    """Overlap the transfers at the head of loops with the computation before them.

    ``stages``: how many iterations are under way at once, at least 2.  ``buffers``:
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
    """Several bounds as one where they are numbers."""
    numbers = [b.constant for b in bounds if b.constant is not None]
    is_known = len(numbers) == len(bounds)
    return [Index.of(choose(numbers))] if is_known else bounds
