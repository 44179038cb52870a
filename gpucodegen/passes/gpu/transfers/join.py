"""Transfers that start together share a group, waits in a row share a barrier.

Comes in: kernels with ``dma_start`` and ``dma_wait``.  Goes out: the same operations,
with a mark at those whose group the next start closes, and at those which the next wait
makes; only index arithmetic stands between.  Starts share a group only if the same
waits end them, so that no wait ends more than it did.  The threads of a block meet in
a wait, so those of a run meet once; a loop of few waits, one for each row, becomes such
a run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from gpucodegen.dialects import affine
from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.shared.dma import JOINED, STARTS, WAITS, tag_of
from gpucodegen.ir.attributes import UnitAttr
from gpucodegen.ir.operation import Operation, Value, clone, rewrite_bottom_up
from gpucodegen.ir.types import INDEX
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.nests import inner_operations
from gpucodegen.passes.prepare.affine.dead_code import has_no_effect

MOST_WAITS = 16
"""Waits that a loop may become; all but the last one are no instructions."""
Run = list[Operation]
"""Starts, or waits, of one block with no more than index arithmetic between them."""


@dataclass(frozen=True, slots=True)
class JoinTransfers(ModulePass):
    """Fewer groups and fewer meetings for the transfers of kernels."""

    name: ClassVar[str] = "join-transfers"

    def apply(self, module: Module) -> Module:
        """The module with the marks."""
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
    """A loop of waits as its iterations, if it has few."""
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
    """The operations that leave their end to the next one, by identity."""
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
    """The longest runs of such operations."""
    for op in kernel.walk():
        for block in (block for region in op.regions for block in region.blocks):
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
    """Whether the same runs of waits end two transfers: one cell, or one of each."""
    a, b = tag_of(one), tag_of(other)
    if a.memref is b.memref:
        return a == b
    mine, theirs = (ended.get(tag.memref) for tag in (a, b))
    return mine is not None and mine == theirs and set(mine.values()) == {1}
