"""Updates of cells that data choose as atomic ones, in loops that they make parallel.

Comes in: affine nests.  Goes out: the same, where an outermost loop that only such
updates keep from being parallel is an ``affine.parallel`` of ``memref.atomic_rmw``.
The race proof of a mapped CPU kernel decides which loops these are: nothing else in
them may touch the cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.shared.combiners import ATOMIC_KINDS
from gpucodegen.ir.attributes import IntegerAttr
from gpucodegen.ir.operation import Operation, Value, replaced
from gpucodegen.ir.types import I64
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.checks.races import runs_in_parallel
from gpucodegen.passes.cpu.parallel_loops import to_parallel
from gpucodegen.passes.cpu.vectorize.accumulations import Order
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.nests import axis_of, inner_operations
from gpucodegen.passes.loops.scatter.scatters import Scatter, in_loops

UPDATE = "memref.atomic_rmw"


@dataclass(frozen=True, slots=True)
class AtomicUpdates(ModulePass):
    """Loops of updates of cells that data choose become parallel, and they atomic.

    Loops of fewer than ``min_iterations`` stay as they are.  ``relaxed``: floats may be
    summed in any order; ``exact``: only where the order makes no difference.
    """

    name: ClassVar[str] = "atomic-updates"
    min_iterations: int = 32
    relaxed: bool = False
    exact: bool = False

    def apply(self, module: Module) -> Module:
        """Rewrite the outermost loops that are proven, and such loops alone in them."""
        surroundings = Surroundings.of(module)

        def parallel(
            op: Operation, found: Sequence[Scatter], context: Sequence[Operation]
        ) -> list[Operation] | None:
            if not all(map(_is_instruction, found)):
                return None
            nest = _perfect(with_atomics(op, found))
            while nest and _iterations(nest) >= self.min_iterations:
                new = _declared(nest)
                if runs_in_parallel([new], context, surroundings):
                    return [new]
                nest.pop()
            return None

        return in_loops(module, Order(self.relaxed, self.exact), parallel)


def with_atomics(op: Operation, found: Sequence[Scatter]) -> Operation:
    """An operation with these updates as atomic ones, as far as there are such."""
    pairs = (pair for one in found if one.kind.atomic for pair in _atomic(one))
    return replaced(op, dict(pairs))


def update(
    b: Builder, word: str, term: Value, buffer: Value, at: Sequence[Value]
) -> None:
    """An atomic update of a cell; ``word`` says how it combines."""
    kind = {"kind": IntegerAttr(ATOMIC_KINDS.index(word), I64)}
    b.add(UPDATE, (term, buffer, *at), [term.type], kind)


def _is_instruction(one: Scatter) -> bool:
    """Whether an atomic operation has the combination and the type."""
    return bool(one.kind.atomic) and one.kind.takes(one.load.result.type)


def _atomic(one: Scatter) -> list[tuple[Operation, list[Operation]]]:
    """What takes the place of the three operations of an update."""
    b = Builder(one.store.location)
    update(b, one.kind.atomic, one.term(b), one.buffer, one.indices)
    return [(one.load, []), (one.combine, []), (one.store, b.operations)]


def _perfect(op: Operation) -> list[Operation]:
    """Loops without carried values, each all that the one before it holds."""
    found: list[Operation] = []
    while op.name == "affine.for" and not op.results:
        found.append(op)
        inner = inner_operations(op)
        if len(inner) != 1:
            break
        op = inner[0]
    return found


def _iterations(nest: Sequence[Operation]) -> float:
    """How many there are, all loops taken together; many where it is not known."""
    axes = [axis_of(op) for op in nest]
    return prod(float("inf") if axis is None else axis.extent for axis in axes)


def _declared(nest: Sequence[Operation]) -> Operation:
    """The outermost loop, with all of these parallel."""
    outer, *inner = nest
    if not inner:
        return to_parallel(outer)
    held = _declared(inner)
    return to_parallel(replaced(outer, {inner[0]: (held,)}))
