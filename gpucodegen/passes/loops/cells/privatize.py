"""Copies of small buffers for each iteration, where they make a loop parallel.

Comes in: affine nests. Goes out: the same with allocations inside outermost loops that
are parallel after privatisation (`gpucodegen.tiling.proof.liveness` proves
which), so that the mapping takes these loops for parallel ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import ClassVar

from gpucodegen.dialects import affine
from gpucodegen.dialects.arith import element_bits
from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.shared.memory import ALLOCATIONS
from gpucodegen.ir.operation import (
    Operation,
    Value,
    replaced,
    rewrite_bottom_up,
    substitute_values,
)
from gpucodegen.ir.types import FloatType, IndexType, IntegerType, MemRefType
from gpucodegen.passes.analysis.lifting import Lifted, Surroundings, lift_function
from gpucodegen.passes.analysis.lifting.buffers.aliases import owners
from gpucodegen.passes.analysis.lifting.buffers.escapes import Escapes
from gpucodegen.passes.cpu.cpu_outliner import needs_host
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index, from_map
from gpucodegen.passes.framework.nests import axis_of, inner_operations
from gpucodegen.passes.gpu.blocks.transfer_spans import needs_block
from gpucodegen.tiling.model.relations import model
from gpucodegen.tiling.proof.liveness import (
    LiveValues,
    LoopKind,
    LoopVerdict,
    Private,
    loop_verdicts,
    values,
    with_privatisation,
)


@dataclass(frozen=True, slots=True)
class Privatize(ModulePass):
    """Give iterations their own buffers of at most ``max_bytes`` bytes each.

    Loops of fewer than ``min_iterations`` stay: the loops in them may have more.
    """

    name: ClassVar[str] = "privatize"
    max_bytes: int = 1 << 14
    min_iterations: int = 2

    def apply(self, module: Module) -> Module:
        """Privatise in every function with a body."""
        surroundings = Surroundings.of(module)

        def changed(op: Operation) -> Operation:
            has_body = op.name == "func.func" and op.regions and op.regions[0].blocks
            if not has_body or "gcg.kernel" in op.attributes:
                return op
            return _privatised(op, surroundings, self)

        return module.with_operations(map(changed, module.operations))


def _privatised(
    function: Operation, surroundings: Surroundings, limits: Privatize
) -> Operation:
    """The function with loops rewritten, each at most once, in rounds of one analysis.

    The loops of a round are apart and do not change each other's verdicts: one that
    copies in stores nothing, one that copies out leaves what it left before.
    """
    done: set[Value] = set()
    while True:
        small = _Buffers.of(function, limits.max_bytes)
        if not small.written_in_loops(function):
            return function
        renewed: dict[Operation, tuple[Operation]] = {}
        inside: set[Operation] = set()
        for loop, changed in _found(function, surroundings, small):
            iv = affine.For(loop).iv
            if iv not in done and loop not in inside and _is_long(loop, limits):
                renewed[loop] = (changed,)
                done.add(iv)
                inside.update(loop.walk())
        if not renewed:
            return function
        function = _without_unused(replaced(function, renewed))


def _is_long(loop: Operation, limits: Privatize) -> bool:
    """Whether there are enough iterations; a number that is not known is enough."""
    axis = axis_of(loop)
    return axis is None or axis.extent >= limits.min_iterations


def _found(
    function: Operation, surroundings: Surroundings, small: _Buffers
) -> Iterator[tuple[Operation, Operation]]:
    """Loops, outermost first, with what they become."""
    lifted = lift_function(function, surroundings)
    built = model(lifted.scop)
    verdicts = {
        v.loop.payload: v
        for v in loop_verdicts(built)
        if isinstance(v.loop.payload, Operation)
    }
    passed = values(built)
    for block in function.regions[0].blocks:
        for op, verdict in _outermost(block.operations, verdicts):
            private = _private(op, verdict, passed, small, lifted)
            if private:
                buffers = {p: lifted.arrays[p.array] for p in private}
                yield op, _with_copies(op, buffers)


def _outermost(
    operations: Sequence[Operation], verdicts: dict[Operation, LoopVerdict]
) -> Iterator[tuple[Operation, LoopVerdict]]:
    """Sequential loops that are in no parallel loop, or are all that is in one."""
    for op in operations:
        verdict = verdicts.get(op)
        if verdict is not None and verdict.kind is LoopKind.PARALLEL:
            inner = [o for o in inner_operations(op) if o.name not in ALLOCATIONS]
            yield from _outermost(inner if len(inner) == 1 else (), verdicts)
            continue
        if verdict is not None and op.name == "affine.for":
            yield op, verdict
        for region in op.regions:
            for block in region.blocks:
                yield from _outermost(block.operations, verdicts)


def _private(
    op: Operation,
    verdict: LoopVerdict,
    passed: LiveValues,
    small: _Buffers,
    lifted: Lifted,
) -> tuple[Private, ...]:
    """The buffers to copy for each iteration; none if that helps or fits nothing."""
    needed = {d.source.access.array for d in verdict.carried if d.reduces is None}
    fits = all(small.fits(lifted.arrays[name], op) for name in needed)
    if not fits or needs_block(op) or any(map(needs_host, op.walk())):
        return ()
    (found,) = with_privatisation([verdict], passed)
    loop = affine.For(op)
    is_simple = len(loop.lower_map.results) == len(loop.upper_map.results) == 1
    is_parallel = found.kind is LoopKind.PRIVATISABLE
    return found.private if is_simple and is_parallel else ()


def _with_copies(op: Operation, buffers: dict[Private, Value]) -> Operation:
    """The loop with buffers of its own in each iteration.

    The last iteration, iv + step >= upper, copies out.
    """
    loop = affine.For(op)
    begin, end = Builder(op.location), Builder(op.location)
    renamed: dict[Value, Value] = {}
    for private, buffer in buffers.items():
        assert isinstance(buffer.type, MemRefType)
        own = begin.allocate("memref.alloca", buffer.type, buffer.name)
        renamed[buffer] = own
        if private.copied_in:
            begin.add("memref.copy", (buffer, own))
        if private.copied_out:
            (upper,) = from_map(loop.upper_map, loop.upper_operands)
            is_last = Index.of(loop.iv) + loop.step - upper
            end.guard([is_last], partial(_copy, own, buffer))
    *inside, terminator = op.body.operations
    body = [substitute_values(inner, renamed) for inner in inside]
    return op.with_body([*begin.operations, *body, *end.operations, terminator])


def _copy(source: Value, target: Value, b: Builder) -> None:
    b.add("memref.copy", (source, target))


@dataclass(frozen=True, slots=True)
class _Buffers:
    """What is known of the buffers of a function."""

    max_bytes: int
    escaping: frozenset[Value]
    views: dict[Value, Value]

    @staticmethod
    def of(function: Operation, max_bytes: int) -> _Buffers:
        everything = tuple(function.walk())
        return _Buffers(max_bytes, Escapes.of([function]).anywhere, owners(everything))

    def written_in_loops(self, function: Operation) -> bool:
        """Whether a loop stores to a buffer that is small enough."""
        return any(
            self._is_small(self.views.get(value, value))
            for op in function.walk()
            if op.name == "affine.for"
            for inner in op.walk()
            if inner.name in _STORES
            for value in inner.operands
        )

    def fits(self, buffer: Value, loop: Operation) -> bool:
        """Whether a loop uses a small buffer by its own name or by views of its own."""
        defined = {value for op in loop.walk() for value in op.results}
        used = {value for op in loop.walk() for value in op.operands}
        return (
            self._is_small(buffer)
            and buffer in used
            and buffer not in self.escaping
            and buffer not in self.views
            and not any(self.views.get(v) is buffer for v in used - defined)
        )

    def _is_small(self, buffer: Value) -> bool:
        ty = buffer.type
        if not isinstance(ty, MemRefType) or ty.layout or ty.memory_space:
            return False
        if not isinstance(ty.element, IntegerType | FloatType | IndexType):
            return False
        elements = prod(extent or self.max_bytes + 1 for extent in ty.shape)
        return elements * element_bits(ty.element) <= 8 * self.max_bytes


_STORES = frozenset({"affine.store", "memref.store", "affine.vector_store"})


def _without_unused(function: Operation) -> Operation:
    """Allocations that are only freed go."""
    used = {
        value
        for op in function.walk()
        if op.name != "memref.dealloc"
        for value in (*op.operands, *(v for s in op.successors for v in s.operands))
    }
    unused = {
        value
        for op in function.walk()
        if op.name in ALLOCATIONS
        for value in op.results
        if value not in used
    }

    def rewrite(op: Operation) -> list[Operation] | None:
        is_unused = unused.intersection((*op.results, *op.operands))
        return [] if is_unused else None

    (function,) = rewrite_bottom_up(function, rewrite)
    return function
