"""Nests whose loops are bound to blocks and threads (`passes.nests.bindings`).

The outermost loops, perfectly nested, are those of the blocks. Inside, a loop that is
bound to ``thread.x`` becomes a condition,

    for i = l to u step s { S(i) }   ->   if t < trips { S(l + t s) },

and other loops run in each thread. Operations with an effect that stand outside the
loops of an axis run in the first thread along it. Between two parts of a sequence that
depend on each other stands a barrier, and so at the end of a sequential loop around
threads whose iterations depend on each other; a later pass removes those that order
nothing, and the race proof of the kernel checks the others.

A block of loops that are bound to blocks alone runs as a block program: its work is
distributed over the threads by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from math import prod

from gpucodegen import errors
from gpucodegen.dialects.shared.dma import TRANSFERS
from gpucodegen.dialects.shared.memory import ALLOCATIONS
from gpucodegen.ir.operation import Operation, Value, substitute_values
from gpucodegen.passes.analysis.queries import NestAnalysis
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.functions import has_no_effect
from gpucodegen.passes.framework.indexing import Index, compact
from gpucodegen.passes.framework.nests import inner_operations
from gpucodegen.passes.gpu.block_programs import (
    allowed_by,
    block_program,
    with_buffers_first,
)
from gpucodegen.passes.gpu.nest_mapping import (
    MappedLoop,
    Nest,
    mapped_loops,
    trip_count,
)
from gpucodegen.passes.nests.bindings import BLOCKS, THREADS, binding, bindings
from gpucodegen.passes.nests.loop_names import loop_name
from gpucodegen.passes.outlining.gpu_launch import KernelBody, thread_index
from gpucodegen.records import dataclass

_TWICE = "a loop around it is bound to the same place"
MOST_THREADS = 1024
"""Threads of a block at most, on every device."""
_BY_EVERY_THREAD = ALLOCATIONS | {
    *("affine.load", "affine.vector_load", "memref.load", "memref.dim"),
    *("affine.yield", "memref.dealloc"),
}
"""Operations that threads may run several times."""


def map_bound_loops(nest: Nest) -> list[Operation] | None:
    """The launch of a nest with bound loops; loops around them stay on the host."""
    places = bindings([nest.op]) & {*BLOCKS, *THREADS}
    if not places or nest.op.name != "affine.for":
        return None
    if not binding(nest.op):
        inner = nest.mapper.operations(nest.op.body.operations, nest.context)
        return [nest.op.with_body(inner)]
    blocks, body = _block_loops(nest)
    if not places & {*THREADS}:
        given = [nest.op], nest.analysis, nest.context, nest.mapper.surroundings
        axes = "".join(binding(loop.operation)[-1] for loop in blocks)
        kernel = block_program(*given, allowed_by(nest.mapper), axes)
        return nest.mapper.launch(kernel)
    return nest.mapper.launch(_Kernel.of(nest, body).launched(blocks, body))


def _block_loops(nest: Nest) -> tuple[list[MappedLoop], Sequence[Operation]]:
    """The loops that are bound to blocks, and the operations inside them."""
    chain: list[MappedLoop] = []
    body: Sequence[Operation] = [nest.op]
    while len(body) == 1 and binding(body[0]) in BLOCKS:
        chain += _mapped(body[0], nest.analysis)
        body = inner_operations(body[0])
    variables = {loop.iv for loop in chain}
    places = [binding(loop.operation) for loop in chain]
    for loop in chain:
        bounds = (loop.lower, *loop.uppers)
        if variables.intersection(v for bound in bounds for v in bound.values):
            raise _refused(loop.operation, "its bounds depend on another block loop")
        if places.count(binding(loop.operation)) > 1:
            raise _refused(loop.operation, "another loop is bound to the same place")
    for op in (inner for outer in body for inner in outer.walk()):
        if binding(op) in BLOCKS:
            raise _refused(op, "only the outermost loops, perfectly nested, are blocks")
    return chain, body


def _mapped(op: Operation, analysis: NestAnalysis) -> list[MappedLoop]:
    found = mapped_loops(op, analysis)
    if not found:
        raise _refused(op, "it is not parallel, or begins at the largest of several")
    return found


def _refused(op: Operation, reason: str) -> errors.IllegalTransformation:
    what = f"binding loop {loop_name(op)} to {binding(op)}"
    return errors.IllegalTransformation(op.location, transformation=what, reason=reason)


def _size(loop: MappedLoop) -> int:
    """The most iterations of a loop of threads."""
    spans = [compact(upper - loop.lower).constant for upper in loop.uppers]
    known = [-(-span // loop.step) for span in spans if span is not None]
    if not known:
        raise _refused(
            loop.operation,
            "the number of its iterations is not constant; tile it, and bind the inner "
            "loop",
        )
    return min(known)


@dataclass(frozen=True, slots=True)
class _Kernel:
    """A kernel of bound loops.

    ``sizes``: threads along each axis.  ``threads``: the number of a thread along it.
    ``varying``: values that are made in loops of threads.
    """

    analysis: NestAnalysis
    sizes: Mapping[str, int]
    threads: Mapping[str, Value]
    varying: frozenset[Value]
    b: Builder
    values: dict[Value, Value] = field(default_factory=dict[Value, Value])

    @property
    def axes(self) -> frozenset[str]:
        """The places of all loops of threads."""
        return frozenset(self.sizes)

    @staticmethod
    def of(nest: Nest, body: Sequence[Operation]) -> _Kernel:
        sizes: dict[str, int] = {}
        for op in (inner for outer in body for inner in outer.walk()):
            if op.name in TRANSFERS:
                hint = "a block shares out its copies by itself; bind blocks only"
                raise errors.IllegalTransformation(
                    op.location, transformation="binding loops to threads", reason=hint
                )
            if (place := binding(op)) in THREADS:
                (loop,) = _mapped(op, nest.analysis)
                sizes[place] = max(sizes.get(place, 1), _size(loop))
        if prod(sizes.values()) > MOST_THREADS:
            raise errors.ResourceLimit(
                nest.op.location,
                what="a block of threads",
                needed=prod(sizes.values()),
                limit=MOST_THREADS,
            )
        b = Builder(nest.op.location)
        threads = {
            place: thread_index(b, "thread_id", place[-1], f"t{place[-1]}")
            for place in sorted(sizes)
        }
        return _Kernel(nest.analysis, sizes, threads, _varying(body), b)

    def launched(
        self, blocks: Sequence[MappedLoop], body: Sequence[Operation]
    ) -> KernelBody:
        grid, limits = [Index.of(1)] * 3, list[Index]()
        for loop in blocks:
            axis = binding(loop.operation)[-1]
            number = thread_index(self.b, "block_id", axis, f"b{axis}")
            grid["xyz".index(axis)] = trip_count(loop)
            at = loop.lower + Index.of(number) * loop.step
            iv = self.values[loop.iv] = self.b.index(at, loop.iv.name)
            limits += [upper - 1 - iv for upper in loop.uppers[1:]]
        program = self._sequence(body, frozenset(), uniform=True)
        buffers, program = with_buffers_first(program, self.varying)
        program = [substitute_values(op, self.values) for op in program]
        self.b.operations += buffers
        self.b.guard(limits, lambda inner: inner.operations.extend(program))
        x, y, z = (self.sizes.get(place, 1) for place in THREADS)
        return KernelBody(tuple(self.b.operations), tuple(grid), (x, y, z))

    def _sequence(
        self, operations: Sequence[Operation], active: frozenset[str], *, uniform: bool
    ) -> list[Operation]:
        """The operations for a thread, with barriers; ``active``: bound axes around."""
        if active == self.axes:
            for op in (inner for outer in operations for inner in outer.walk()):
                if binding(op) in active:
                    raise _refused(op, _TWICE)
            return list(operations)
        made: list[Operation] = []
        since: list[Operation] = []
        for op in operations:
            if since and self._conflict(since, [op]):
                made += self._barrier(op, uniform=uniform)
                since = []
            made += self._one(op, active, uniform=uniform)
            since.append(op)
        return made

    def _conflict(
        self, sources: Sequence[Operation], sinks: Sequence[Operation]
    ) -> bool:
        conflicts = self.analysis.conflicts
        return bool(conflicts(sources, sinks) or conflicts(sinks, sources))

    def _barrier(self, op: Operation, *, uniform: bool) -> list[Operation]:
        if not uniform:
            raise errors.IllegalTransformation(
                op.location,
                transformation="binding loops to threads",
                reason="a barrier would stand where not every thread comes by",
            )
        b = Builder(op.location)
        b.add("gpu.barrier")
        return b.operations

    def _one(
        self, op: Operation, active: frozenset[str], *, uniform: bool
    ) -> Iterator[Operation]:
        place = binding(op)
        if place in active:
            raise _refused(op, _TWICE)
        if place in THREADS:
            yield from self._thread(op, active | {place}, uniform=uniform)
        elif op.name in ("affine.for", "affine.if"):
            yield self._around(op, active, uniform=uniform)
        elif has_no_effect(op) or op.name in _BY_EVERY_THREAD:
            yield op
        else:
            b = Builder(op.location)
            first = [
                Index.of(0) - thread
                for axis, thread in self.threads.items()
                if axis not in active and self.sizes[axis] > 1
            ]
            b.guard(first, lambda inner: inner.operations.append(op))
            yield from b.operations

    def _around(
        self, op: Operation, active: frozenset[str], *, uniform: bool
    ) -> Operation:
        """A sequential loop or a condition, with its body for a thread.

        Where its bounds depend on the number of the thread, not all come by inside.
        """
        same = uniform and self.varying.isdisjoint(op.operands)
        regions = tuple(
            replace(
                region,
                blocks=tuple(
                    block.with_operations(
                        self._body(op, block.operations, active, uniform=same)
                    )
                    for block in region.blocks
                ),
            )
            for region in op.regions
        )
        return op.with_(regions=regions)

    def _body(
        self,
        op: Operation,
        operations: Sequence[Operation],
        active: frozenset[str],
        *,
        uniform: bool,
    ) -> list[Operation]:
        inner = [o for o in operations if o.name != "affine.yield"]
        ends = [o for o in operations if o.name == "affine.yield"]
        made = self._sequence(inner, active, uniform=uniform)
        repeats = op.name == "affine.for" and active != self.axes
        if repeats and self._conflict(inner, inner):
            made += self._barrier(op, uniform=uniform)
        return [*made, *ends]

    def _thread(
        self, op: Operation, active: frozenset[str], *, uniform: bool
    ) -> Iterator[Operation]:
        """The iteration of a thread, under a condition unless each thread has one."""
        (loop,) = _mapped(op, self.analysis)
        place = binding(op)
        b = Builder(op.location)
        position = loop.lower + Index.of(self.threads[place]) * loop.step
        iv = self.values[loop.iv] = b.index(position, loop.iv.name)
        size = self.sizes[place]
        limits = [
            upper - 1 - iv
            for upper in loop.uppers
            if not _fills(compact(upper - loop.lower).constant, loop.step, size)
        ]
        whole = uniform and not limits
        inner = self._sequence(inner_operations(op), active, uniform=whole)
        b.guard(limits, lambda i: i.operations.extend(inner))
        yield from b.operations


def _fills(span: int | None, step: int, threads: int) -> bool:
    """Whether a loop has an iteration for each thread."""
    return span is not None and -(-span // step) >= threads


def _varying(operations: Sequence[Operation]) -> frozenset[Value]:
    """The values that are made inside loops of threads, and their variables."""
    inside = [
        own
        for op in operations
        for inner in op.walk()
        if binding(inner) in THREADS
        for own in inner.walk()
    ]
    made = {value for op in inside for value in op.results}
    blocks = [block for op in inside for block in op.blocks]
    return frozenset(made.union(*(block.arguments for block in blocks)))
