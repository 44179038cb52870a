"""Loops whose iterations do nothing but update cells, by updates in any order.

Nobody reads the old values, and the extents of the updated buffers are known.  Blocks
with their own cells make sums of sums, so the order of float sums must be free.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from gpucodegen.dialects.shared.combiners import OF_ATOMICS, Combiner, atomic_kind
from gpucodegen.ir.operation import Operation, Value, rewrite_bottom_up
from gpucodegen.ir.types import MemRefType, element_bytes, element_type
from gpucodegen.passes.framework.nests import inner_operations
from gpucodegen.passes.gpu.facts.mapped_loops import parallel_chain, trip_count
from gpucodegen.passes.gpu.kinds.nest import Nest
from gpucodegen.passes.gpu.sweeps.sweep import (
    DEEPEST,
    Rows,
    Sweep,
    iterations,
    sweeps,
)
from gpucodegen.passes.loops.scatter.atomic_updates import UPDATE
from gpucodegen.passes.prepare.affine.dead_code import has_no_effect
from gpucodegen.tiling.machine.gpu.scatters import Cells, ScatterLoop, is_native

Rewrite = Callable[[Operation], list[Operation]]
"""What an update becomes."""
_HARMLESS = frozenset(
    {
        *("affine.load", "memref.load", "vector.load"),
        *("affine.for", "affine.if", "scf.for", "scf.if"),
        *("affine.yield", "scf.yield"),
    }
)
"""What may be beside updates, and pure operations."""


@dataclass(frozen=True)
class Updates:
    """A parallel nest of updates; ``kinds``: how the cells of each buffer combine."""

    sweep: Sweep
    kinds: Mapping[Value, Combiner]

    @property
    def iterations(self) -> int:
        """Of all loops together, or what is taken for that."""
        return prod(map(iterations, (*self.sweep.rows, self.sweep.loop)))

    @property
    def loop(self) -> ScatterLoop:
        """What the plan depends on."""
        streams = [self.sweep.stream(op) for op in self.sweep.addresses]
        return ScatterLoop(
            self.iterations,
            tuple(map(self._cells, self.kinds)),
            sum(stream.element for stream in streams),
            tuple(sorted({1, *(w for s in streams for w, n in s.widths if n == w)})),
            self.sweep.operations,
        )

    def _cells(self, buffer: Value) -> Cells:
        kind, bytes_ = self.kinds[buffer], element_bytes(element_type(buffer.type)) or 1
        made = sum(op.operands[1] is buffer for op in _updates(self.sweep.body))
        return Cells(
            prod(extents(buffer)), bytes_, made, is_native(kind.operation, bytes_)
        )

    def with_updates(self, rewrites: Mapping[Value, Rewrite]) -> Sweep:
        """The sweep with other updates of each buffer."""

        def rewrite(op: Operation) -> list[Operation] | None:
            return rewrites[op.operands[1]](op) if op.name == UPDATE else None

        body = [n for op in self.sweep.body for n in rewrite_bottom_up(op, rewrite)]
        return replace(self.sweep, body=body)


def extents(buffer: Value) -> tuple[int, ...]:
    """The shape of a buffer, where all of it is known."""
    ty = buffer.type
    return tuple(e or 0 for e in ty.shape) if isinstance(ty, MemRefType) else ()


def updates_of(nest: Nest) -> Updates | str | None:
    """The nest, if it does nothing but such updates; else why not.

    None of a nest that is not parallel, or without updates.
    """
    sweep = _sweep(nest) if _updates([nest.op]) else None
    if sweep is None:
        return None
    if not is_counted(sweep):
        return "how many iterations inner loops have is not known"
    inner = [o for op in sweep.body for o in op.walk()]
    known = _Body(
        frozenset(v for op in inner for v in op.used),
        frozenset(v for op in nest.op.walk() for v in op.results),
        nest.mapper.order.relaxed,
    )
    kinds: dict[Value, Combiner] = {}
    for op in inner:
        objection = known.objection(op, kinds)
        if objection:
            return objection
    return Updates(sweep, kinds)


def is_counted(sweep: Sweep) -> bool:
    """Whether the number of a group of neighbours tells which iterations it has."""
    rows = Rows(sweep.rows)
    is_known = trip_count(sweep.loop).constant is not None
    return not rows.loops or (is_known and rows.is_counted)


def _updates(operations: Sequence[Operation]) -> list[Operation]:
    return [o for op in operations for o in op.walk() if o.name == UPDATE]


def _sweep(nest: Nest) -> Sweep | None:
    """The nest along the loop whose loads have most neighbours, or the innermost."""
    found = list(
        sweeps(
            nest.op, nest.analysis, nest.definitions, nest.mapper.surroundings.aliases
        )
    )
    if found:
        return max(found, key=lambda sweep: (sweep.contiguous, sweep.number))
    chain = parallel_chain(nest.op, nest.analysis, DEEPEST)
    if not chain:
        return None
    body = inner_operations(chain[-1].operation)
    return Sweep(len(chain) - 1, tuple(chain), body, nest.definitions)


@dataclass(frozen=True, slots=True)
class _Body:
    """Values that iterations use, and make; ``relaxed``: any order of float sums."""

    used: frozenset[Value]
    made: frozenset[Value]
    relaxed: bool

    def objection(self, op: Operation, kinds: dict[Value, Combiner]) -> str:
        """Why an operation keeps blocks from having cells; updates add to ``kinds``."""
        if op.name != UPDATE:
            is_harmless = op.name in _HARMLESS or has_no_effect(op)
            return "" if is_harmless else f"iterations do {op.name}, too"
        buffer, kind = op.operands[1], OF_ATOMICS.get(atomic_kind(op))
        if kind is None:
            return "the last one of some values stays"
        reasons = {
            "an old value is used": op.result in self.used,
            "the number of cells is not known": not _has_cells(buffer),
            "an iteration makes the cells": buffer in self.made,
            "cells are updated in several ways": kinds.setdefault(buffer, kind) != kind,
            "the order of sums is not free": kind.is_ordered and not self.relaxed,
        }
        return next((reason for reason, holds in reasons.items() if holds), "")


def _has_cells(buffer: Value) -> bool:
    """Whether a buffer is in global memory, with a number of cells that is known."""
    ty = buffer.type
    if not isinstance(ty, MemRefType) or ty.memory_space is not None:
        return False
    return None not in ty.shape and 0 not in ty.shape
