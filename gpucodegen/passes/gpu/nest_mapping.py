"""Interface of the kernel kinds, and the plain one: a thread per iteration.

A kind gets a `Nest` (a nest with its analysis) and may ask the `Mapper`, the pass that
maps the function.  `map_parallel_loops` assigns a thread to each iteration of perfectly
nested parallel loops, at most `MOST_LOOPS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, reduce
from typing import Protocol

from gpucodegen.dialects import affine
from gpucodegen.dialects.shared.memory import ALLOCATIONS
from gpucodegen.ir.affine import Dim, linear_form
from gpucodegen.ir.operation import Operation, Value, clone, substitute_values
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.analysis.queries import NestAnalysis, analyse
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import (
    Index,
    bounds_of,
    from_map,
    replace_values,
)
from gpucodegen.passes.framework.nests import inner_operations
from gpucodegen.passes.gpu.interior import Interior, Ranges, interior_of
from gpucodegen.passes.gpu.joined_launches import Joinable
from gpucodegen.passes.gpu.speculative_loads import with_speculative_loads
from gpucodegen.passes.loops.scalar_replacement import kept_in_values
from gpucodegen.passes.outlining.gpu_launch import KernelBody, thread_index
from gpucodegen.passes.outlining.vector_width import address_of
from gpucodegen.passes.vectorize.accumulations import Order
from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.gpu.devices import GpuDevice
from gpucodegen.tiling.machine.gpu.thread_groups import ThreadGroup
from gpucodegen.tiling.machine.plan_space import KernelMenus

LOOPS = frozenset({"affine.for", "affine.parallel", "scf.for", "scf.while"})
"""Operations that a kernel may distribute or run."""


@dataclass(frozen=True, slots=True)
class MappedLoop:
    """One dimension of a parallel loop: ``iv = lower + step * position``.

    ``uppers``: exclusive bounds; the least of them ends the loop.
    """

    iv: Value
    lower: Index
    step: int
    uppers: tuple[Index, ...]
    operation: Operation


def mapped_loops(op: Operation, analysis: NestAnalysis) -> list[MappedLoop]:
    """The dimensions of one parallel operation; empty if it has several starts."""
    if op.results:
        return []
    if op.name == "affine.parallel":
        return _of_parallel(affine.Parallel(op))
    if op.name == "affine.for" and analysis.is_parallel(op):
        return _of_for(affine.For(op))
    return []


def parallel_chain(
    op: Operation, analysis: NestAnalysis, most: int
) -> list[MappedLoop]:
    """Perfectly nested parallel loops from ``op`` inwards with rectangular bounds.

    At most ``most`` of them.
    """
    chain: list[MappedLoop] = []
    while True:
        found = mapped_loops(op, analysis)
        ivs = {loop.iv for loop in chain}
        depends = any(
            v in ivs
            for loop in found
            for bound in (loop.lower, *loop.uppers)
            for v in bound.values
        )
        if not found or depends or len(chain) + len(found) > most:
            return chain
        chain += found
        inner = inner_operations(op)
        if len(inner) != 1:
            return chain
        op = inner[0]


def trip_count(loop: MappedLoop) -> Index:
    """Iterations by the first upper bound; the others are guarded in the kernel."""
    span = loop.uppers[0] - loop.lower
    return (span + (loop.step - 1)) // loop.step


def ranges_of(chain: Sequence[MappedLoop]) -> Ranges:
    """First and last values of loops of one constant range."""
    ranges: dict[Value, tuple[Index, Index]] = {}
    for loop in chain:
        first, count = loop.lower.constant, trip_count(loop).constant
        if first is not None and count is not None and len(loop.uppers) == 1:
            last = first + (count - 1) * loop.step
            ranges[loop.iv] = Index.of(first), Index.of(last)
    return ranges


@dataclass(frozen=True, slots=True)
class Rows:
    """Loops that one dimension of the grid counts, the innermost first.

    The number of a block is ``sum(position_k * prod(count_0 .. count_(k-1)))``.
    """

    loops: Sequence[MappedLoop]

    @property
    def is_counted(self) -> bool:
        """Whether positions follow from the number: divisors must be known."""
        return all(trip_count(loop).constant is not None for loop in self.loops[:-1])

    @property
    def count(self) -> Index:
        return reduce(lambda n, loop: n * trip_count(loop), self.loops, Index.of(1))

    def place(
        self, b: Builder, number: Index, places: dict[Value, Value]
    ) -> list[Index]:
        """Define the loops' variables; expressions >= 0 where the iteration exists."""
        guards: list[Index] = []
        deep = Index.of(1)
        for loop in self.loops:
            count, rest = trip_count(loop), number // deep
            known = count.constant
            position = rest if loop is self.loops[-1] else rest % (known or 1)
            iv = b.index(loop.lower + position * loop.step, loop.iv.name)
            places[loop.iv] = iv
            guards += [upper - 1 - iv for upper in loop.uppers[1:]]
            deep = deep * count
        return guards


def _of_for(loop: affine.For) -> list[MappedLoop]:
    lowers, uppers = bounds_of(loop)
    return _starting_once([lowers], [uppers], [loop.iv], [loop.step], loop.operation)


def _of_parallel(loop: affine.Parallel) -> list[MappedLoop]:
    lowers = [from_map(m, loop.lower_operands) for m in loop.lower_maps]
    uppers = [from_map(m, loop.upper_operands) for m in loop.upper_maps]
    return _starting_once(lowers, uppers, loop.ivs, loop.steps, loop.operation)


def _starting_once(
    lowers: Sequence[Sequence[Index]],
    uppers: Sequence[Sequence[Index]],
    ivs: Sequence[Value],
    steps: Sequence[int],
    op: Operation,
) -> list[MappedLoop]:
    if any(len(starts) != 1 for starts in lowers):
        return []
    return [
        MappedLoop(iv, lower, step, tuple(ends), op)
        for iv, (lower,), step, ends in zip(ivs, lowers, steps, uppers, strict=True)
    ]


class Mapper(Protocol):
    """The pass that launches the kernels of a function and maps inner nests."""

    surroundings: Surroundings
    definitions: Mapping[Value, Operation]
    """The operations that make the values of the function."""
    users: Mapping[Value, Sequence[Operation]]
    """The operations that use a value of the function."""
    depth: int
    """The number of host loops around the current operations."""
    order: Order
    """The reassociation that the program allows."""
    precision: str
    """The precision of f32 products on tensor cores."""
    arch: str
    """The architecture whose specific features kernels use, or ""."""
    team: ThreadGroup | None
    """The thread group of sequential programs, if the caller chose one."""
    contractions: bool
    """Whether contractions become specialised kernels."""
    time_tiles: bool
    """Whether sequential loops may run in kernels, around barriers."""
    joinable: Joinable | None
    """The last launch, if other contractions may run in it."""

    @property
    def device(self) -> GpuDevice:
        """The GPU for which kernels are planned."""
        ...

    @property
    def plans(self) -> KernelMenus:
        """The plans on offer for the next kernel."""
        ...

    def define(self, operations: Sequence[Operation]) -> None:
        """Add host operations that kinds of kernels made to the definitions."""
        ...

    def launch(self, kernel: KernelBody) -> list[Operation]: ...

    def relaunch(
        self, kernel: KernelBody, parts: Joinable, added: KernelBody
    ) -> list[Operation] | None:
        """Launch a kernel in place of the last one."""
        ...

    def nest(self, nest: Nest) -> list[Operation]:
        """The host operations for a nest."""
        ...

    def operations(
        self, operations: Sequence[Operation], context: Sequence[Operation] = ()
    ) -> list[Operation]:
        """The host operations for a straight list of operations."""
        ...


@dataclass(frozen=True)
class Nest:
    """A loop, or an operation around loops, that can run in kernels.

    ``context``: the operations before it.
    """

    op: Operation
    context: Sequence[Operation]
    mapper: Mapper

    @cached_property
    def analysis(self) -> NestAnalysis:
        return analyse([self.op], self.context, self.mapper.surroundings)

    @property
    def definitions(self) -> Mapping[Value, Operation]:
        """Definitions of the function's values, and of those that kinds added."""
        made = {value: op for op in self.context for value in op.results}
        return {**made, **self.mapper.definitions}

    @cached_property
    def own_buffers(self) -> list[Value]:
        """Earlier allocations that only this nest uses, which runs once for each.

        After the nest their contents are dead.
        """
        if self.mapper.depth:
            return []
        inside, users = {id(op) for op in self.op.walk()}, self.mapper.users
        return [
            op.result
            for op in self.context
            if op.name in ALLOCATIONS
            and all(
                id(user) in inside or user.name == "memref.dealloc"
                for user in users.get(op.result, (op,))
            )
        ]

    def of(self, op: Operation) -> Nest:
        """Another nest in its place."""
        return self if op is self.op else replace(self, op=op)


THREADS: tuple[tuple[int, int, int], ...] = ((256, 1, 1), (32, 8, 1), (32, 4, 2))
"""Block shape by number of mapped loops; x runs along the innermost one."""


MOST_LOOPS = 8
"""Loops of a nest that one kernel distributes, at most."""


def map_parallel_loops(nest: Nest) -> list[Operation] | None:
    """A kernel with a thread for each iteration of the outer parallel loops.

    Neighbouring threads differ along the loop with the most contiguous accesses.  The
    outer ones of more than three share an axis of the grid, which needs their extents.
    """
    chain, order = distributed_loops(nest)
    if not chain:
        return None
    aliases = nest.mapper.surroundings.aliases
    body = inner_operations(chain[-1].operation)
    found = interior_of(body, {}) if is_wide(order[-1]) else None
    inner, ranges = found or Interior((), ()), ranges_of(chain)

    def in_registers(b: Builder, values: Mapping[Value, Value]) -> None:
        def built(b: Builder, body: Sequence[Operation]) -> None:
            kept = [new for op in body for new in kept_in_values(op, aliases)]
            kept = with_speculative_loads(kept, ranges, aliases)
            own = dict(values)
            b.operations += [clone(op, own) for op in kept]

        known = {old: Index.of(new) for old, new in values.items()}
        limits = [replace_values(limit, known) for limit in inner.limits]
        if limits:
            b.guard(limits, lambda i: built(i, inner.body), lambda i: built(i, body))
        else:
            built(b, body)

    return nest.mapper.launch(thread_per_iteration(chain, order, in_registers))


WIDE = 256
"""Iterations of the contiguous loop from which few warps have a border."""


def is_wide(loop: MappedLoop) -> bool:
    """Whether a warp along a loop seldom holds one of its ends."""
    return (trip_count(loop).constant or 0) >= WIDE


def distributed_loops(nest: Nest) -> tuple[list[MappedLoop], list[MappedLoop]]:
    """The outer parallel loops, as nested, and with the contiguous one last."""
    chain = parallel_chain(nest.op, nest.analysis, MOST_LOOPS)
    order = _contiguous_last(chain, nest.definitions) if chain else []
    if not Rows(_along_z(order)).is_counted:
        chain = parallel_chain(nest.op, nest.analysis, len(THREADS))
        order = _contiguous_last(chain, nest.definitions) if chain else []
    return chain, order


def _contiguous_last(
    chain: Sequence[MappedLoop], definitions: Mapping[Value, Operation]
) -> list[MappedLoop]:
    """The loops with the one last along which most accesses are contiguous.

    It is the innermost of several.
    """
    accesses = [op for op in chain[-1].operation.walk() if op.name in affine.ACCESSES]
    counts = dict.fromkeys((loop.iv for loop in chain), 0)
    for address in (address_of(op, definitions) for op in accesses):
        terms = linear_form(address.offset.expr)[0] if address else {}
        for term, factor in terms.items():
            assert address is not None
            iv = address.offset.values[term.position] if isinstance(term, Dim) else None
            if iv in counts and abs(factor) == 1:
                counts[iv] += 1
    best = max(range(len(chain)), key=lambda n: (counts[chain[n].iv], n))
    return [*chain[:best], *chain[best + 1 :], chain[best]]


def _along_z(chain: Sequence[MappedLoop]) -> list[MappedLoop]:
    """The loops that share the last axis, the innermost first."""
    return [*reversed(chain)][len(THREADS) - 1 :]


Iteration = Callable[[Builder, Mapping[Value, Value]], None]
"""Builds an iteration, for the values of the loops' variables."""


def thread_per_iteration(
    chain: Sequence[MappedLoop],
    order: Sequence[MappedLoop] = (),
    iteration: Iteration | None = None,
) -> KernelBody:
    """A kernel whose thread ``(x, y, z)`` runs one iteration of the chain.

    ``order``: the loops of the chain, those of x, y and z from the last one on.
    ``iteration``: in the place of the operations in the last loop of the chain.
    """
    order = order or chain
    block = THREADS[min(len(chain), len(THREADS)) - 1]
    b = Builder(chain[0].operation.location)
    grid = [Index.of(1)] * 3
    values: dict[Value, Value] = {}
    limits: list[Index] = []
    shared = _along_z(order)
    axes = [Rows([loop]) for loop in reversed(order[len(shared) :])]
    axes += [Rows(shared)] if shared else []
    for dimension, loops in enumerate(axes):
        name = "xyz"[dimension]
        thread = thread_index(b, "thread_id", name, f"t{name}")
        number = thread_index(b, "block_id", name, f"b{name}")
        position = Index.of(number) * block[dimension] + thread
        if len(loops.loops) > 1:
            position = Index.of(b.index(position, f"n{name}"))
        count = loops.count
        grid[dimension] = (count + (block[dimension] - 1)) // block[dimension]
        further = loops.place(b, position, values)
        exact = count.constant is not None and count.constant % block[dimension] == 0
        limits += [] if exact else _ends(loops, count, position, values)
        limits += further
    body = inner_operations(chain[-1].operation)

    def plain(i: Builder, values: Mapping[Value, Value]) -> None:
        i.operations += [substitute_values(op, values) for op in body]

    build = iteration or plain
    b.guard(limits, lambda i: build(i, values))
    return KernelBody(tuple(b.operations), tuple(grid), block)


def _ends(
    rows: Rows, count: Index, position: Index, values: Mapping[Value, Value]
) -> list[Index]:
    """Expressions >= 0 where a number is one of the iterations."""
    if len(rows.loops) > 1:
        return [count - 1 - position]
    (loop,) = rows.loops
    return [loop.uppers[0] - 1 - values[loop.iv]]
