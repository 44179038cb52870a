"""Wait groups and barrier elimination in kernels with asynchronous copies.

* `JoinTransfers`: starts with only index arithmetic in between form one group if the
  same waits end them; consecutive waits share one barrier, since the threads of a block
  synchronise at a wait.  A loop of few waits, one per row, is unrolled into such a run.
* `AssignWaitGroups`: hardware completes a thread's copies in group order, and
  ``cp.async.wait_group N`` leaves the N newest groups in flight.  N is the least number
  of groups committed between a start's own group and its wait, over

      { x -> w : tag(x) = tag(w), S(x) < S(w) }

  (`gpucodegen.tiling.proof.async_copies`); 0 where it is unknown.  The kernel's race
  proof verifies the resulting waits.
* `EliminateBarriers`: the mapping places barriers before it knows which copies a wait
  completes, and before a block reduction adds a barrier.  Each barrier of the mapping
  is removed, the last one first, if the kernel is proven without it.  That takes a
  proof per barrier, so kernels with more than `MOST` of them keep all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import count, pairwise
from typing import ClassVar

from gpucodegen.dialects import affine, gpu
from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.shared.dma import JOINED, PENDING, STARTS, WAITS, tag_of
from gpucodegen.ir.attributes import IntegerAttr, UnitAttr
from gpucodegen.ir.operation import Operation, Value, clone, rewrite_bottom_up
from gpucodegen.ir.types import INDEX
from gpucodegen.passes.analysis.lifting import Surroundings, lift_function
from gpucodegen.passes.checks.races import is_proven
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.functions import has_no_effect
from gpucodegen.passes.framework.nests import inner_operations
from gpucodegen.records import dataclass
from gpucodegen.tiling.model.relations import model
from gpucodegen.tiling.model.scop import Wait
from gpucodegen.tiling.proof.async_copies import MOST_OPEN, Transfers
from gpucodegen.tiling.proof.races import PROOF

BARRIER = "gpu.barrier"
MOST = 4
"""A kernel with more candidate barriers keeps all of them: each costs a proof."""


def without_redundant_barriers(
    kernel: Operation, of_trees: Sequence[bool], surroundings: Surroundings
) -> Operation:
    """The kernel without the barriers that its proof does not need, tried in turn.

    ``of_trees``: for each barrier in textual order, whether a reduction introduced it.
    User-written kernels are unchanged.
    """
    asked = [at for at, is_new in enumerate(of_trees) if not is_new]
    if gpu.MAPPED_BLOCK not in kernel.attributes or len(asked) > MOST:
        return kernel
    for number in reversed(asked):
        fewer = _without(kernel, number)
        if is_proven(fewer, surroundings):
            kernel = fewer
    return kernel


def _without(kernel: Operation, number: int) -> Operation:
    seen = count()

    def rewrite(op: Operation) -> list[Operation] | None:
        return [] if op.name == BARRIER and next(seen) == number else None

    (changed,) = rewrite_bottom_up(kernel, rewrite)
    return changed


@dataclass(frozen=True, slots=True)
class EliminateBarriers(ModulePass):
    """Remove barriers that the race proof of kernels with waits does not need."""

    name: ClassVar[str] = "eliminate-barriers"
    looks_for: ClassVar[frozenset[str]] = WAITS

    def apply(self, module: Module) -> Module:
        surroundings = Surroundings.of(module)

        def rewrite(op: Operation) -> list[Operation] | None:
            if op.name != "gpu.func":
                return None
            inner = [o.name for o in op.walk()]
            if WAITS.isdisjoint(inner) or BARRIER not in inner:
                return None
            asked = [False] * inner.count(BARRIER)
            return [without_redundant_barriers(op, asked, surroundings)]

        (root,) = rewrite_bottom_up(module.operation, rewrite)
        return Module(root)


@dataclass(frozen=True, slots=True)
class AssignWaitGroups(ModulePass):
    """Let each wait leave as many newer commit groups in flight as possible."""

    name: ClassVar[str] = "assign-wait-groups"
    looks_for: ClassVar[frozenset[str]] = WAITS

    def apply(self, module: Module) -> Module:
        surroundings = Surroundings.of(module)
        numbers: dict[int, int] = {}
        for op in module.walk():
            if op.name == "gpu.func" and any(o.name in WAITS for o in op.walk()):
                numbers |= _open_groups(op, surroundings)

        def numbered(op: Operation) -> list[Operation] | None:
            count = numbers.get(id(op))
            return [op.with_attribute(PENDING, IntegerAttr(count))] if count else None

        (root,) = rewrite_bottom_up(module.operation, numbered)
        return Module(root)


def _open_groups(kernel: Operation, surroundings: Surroundings) -> dict[int, int]:
    """The groups in flight after each wait, by identity: the least over its copies."""
    built = model(lift_function(kernel, surroundings).scop, PROOF)
    transfers = Transfers(built)
    numbers: dict[int, int] = {}
    for instances in built.everything:
        if isinstance(instances.node, Wait):
            wait = id(instances.node.payload)
            least = numbers.get(wait, MOST_OPEN)
            if least:
                numbers[wait] = min(least, transfers.may_stay_open(instances))
    return numbers


MOST_WAITS = 16
"""Most waits into which a loop is unrolled; only the last one costs instructions."""
Run = list[Operation]
"""Starts, or waits, of one block with only index arithmetic in between."""


@dataclass(frozen=True, slots=True)
class JoinTransfers(ModulePass):
    """Join the commit groups and waits of adjacent DMA copies."""

    name: ClassVar[str] = "join-transfers"
    looks_for: ClassVar[frozenset[str]] = STARTS | WAITS

    def apply(self, module: Module) -> Module:
        (spread,) = rewrite_bottom_up(module.operation, _in_a_row)
        module = Module(spread)
        joined: set[int] = set()
        for op in module.walk():
            if op.name == "gpu.func":
                joined |= _joined(op)

        def marked(op: Operation) -> list[Operation] | None:
            return [op.with_attribute(JOINED, UnitAttr())] if id(op) in joined else None

        (root,) = rewrite_bottom_up(module.operation, marked)
        return Module(root)


def _in_a_row(op: Operation) -> list[Operation] | None:
    """A loop of few waits, unrolled."""
    if op.name != "affine.for" or op.results:
        return None
    loop, body = affine.For(op), inner_operations(op)
    waits = sum(inner.name in WAITS for inner in body)
    is_plain = all(inner.name in WAITS or has_no_effect(inner) for inner in body)
    if not waits or not is_plain or loop.constant_bounds is None:
        return None
    values = range(*loop.constant_bounds, loop.step)
    if len(values) * waits > MOST_WAITS:
        return None
    b = Builder(op.location)
    for value in values:
        mapping = {loop.iv: b.constant(value, INDEX)}
        b.operations += [clone(inner, mapping) for inner in body]
    return b.operations


def _joined(kernel: Operation) -> set[int]:
    """The operations that share the group or barrier of the next one, by identity."""
    ended: dict[Value, Counter[int]] = {}
    waits = list(_runs(kernel, WAITS))
    for number, run in enumerate(waits):
        for wait in run:
            ended.setdefault(tag_of(wait).memref, Counter())[number] += 1
    found = {id(wait) for run in waits for wait in run[:-1]}
    for run in _runs(kernel, STARTS):
        pairs = pairwise(run)
        found |= {id(one) for one, other in pairs if _end_together(one, other, ended)}
    return found


def _runs(kernel: Operation, names: Collection[str]) -> Iterator[Run]:
    """The longest runs of operations of these names."""
    for op in kernel.walk():
        for block in op.blocks:
            run: Run = []
            for inner in block.operations:
                if inner.name in names:
                    run.append(inner)
                elif run and not has_no_effect(inner):
                    yield run
                    run = []
            if run:
                yield run


def _end_together(
    one: Operation, other: Operation, ended: dict[Value, Counter[int]]
) -> bool:
    """Whether the same runs of waits complete two copies."""
    a, b = tag_of(one), tag_of(other)
    if a.memref is b.memref:
        return a == b
    mine, theirs = (ended.get(tag.memref) for tag in (a, b))
    return mine is not None and mine == theirs and set(mine.values()) == {1}
