"""Reductions among threads, rotations and broadcasts as shuffles.

Comes in: proven kernels with ``gpu.all_reduce``, ``gpu.subgroup_reduce``,
``gpu.rotate`` and ``gpu.subgroup_broadcast``.  Goes out: ``gpu.shuffle``, and
``nvvm.redux.sync`` where one instruction reduces.  A block reduces in its warps first;
then each thread combines what the warps left in shared memory.  A barrier lies between,
and one behind where a loop comes back to that memory.  A kernel that has got memory and
barriers is proven again, if the extents of its blocks are known, and loses the barriers
that these make needless.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from gpucodegen.dialects import gpu
from gpucodegen.dialects.builtin import Module, symbol_name
from gpucodegen.ir.operation import (
    Operation,
    Value,
    rewrite_bottom_up,
    substitute_values,
)
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.checks.races import check_kernel
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.gpu.collectives.needless import BARRIER, without_needless
from gpucodegen.passes.gpu.collectives.operations import LOWERED
from gpucodegen.passes.gpu.collectives.warp import Warp
from gpucodegen.passes.prepare.affine.dead_code import without_dead_code


@dataclass(frozen=True, slots=True)
class LowerCollectives(ModulePass):
    """Operations among threads to shuffles, shared memory and barriers.

    ``verify``: prove the kernels that have changed.
    """

    name: ClassVar[str] = "lower-collectives"
    verify: bool = True

    def apply(self, module: Module) -> Module:
        """Rewrite every kernel that has such an operation."""
        found: dict[str, list[bool]] = {}
        (root,) = rewrite_bottom_up(module.operation, lambda op: _kernel(op, found))
        shared = {name for name, barriers in found.items() if any(barriers)}
        if not found or not (shared and self.verify):
            return Module(root) if found else module
        surroundings = Surroundings.of(Module(root))

        def proven(op: Operation) -> list[Operation] | None:
            """Without the extents of a block no warp is known."""
            is_named = op.name == "gpu.func" and symbol_name(op) in shared
            if not is_named or None in gpu.known_block(op):
                return None
            check_kernel(op, surroundings)
            return [without_needless(op, found[symbol_name(op)], surroundings)]

        (root,) = rewrite_bottom_up(root, proven)
        return Module(root)


def _names(op: Operation) -> set[str]:
    return {inner.name for inner in op.walk()}


def _has_collectives(op: Operation) -> bool:
    return op.name == "gpu.func" and not LOWERED.keys().isdisjoint(_names(op))


def _kernel(op: Operation, found: dict[str, list[bool]]) -> list[Operation] | None:
    """The kernel without collectives; ``found`` learns which barriers trees brought."""
    if not _has_collectives(op):
        return None
    barriers = found.setdefault(symbol_name(op), [])
    values: dict[Value, Value] = {}
    repeated = set(_repeated(op))

    def rewrite(inner: Operation) -> list[Operation] | None:
        lower = LOWERED.get(inner.name)
        if lower is None:
            barriers.extend([False] * (inner.name == BARRIER))
            return None
        again = inner.results[0] in repeated
        warp = Warp(Builder(inner.location), gpu.known_block(op), again)
        values.update(zip(inner.results, lower(warp, inner), strict=True))
        made = warp.b.operations
        barriers.extend(True for o in made if o.name == BARRIER)
        return made

    (changed,) = rewrite_bottom_up(op, rewrite)
    return [without_dead_code(substitute_values(changed, values))]


def _repeated(op: Operation) -> Iterator[Value]:
    """The first results of operations that a thread may come to more than once."""
    for inner in op.walk():
        blocks = max((len(region.blocks) for region in inner.regions), default=0)
        if blocks > 1 or (blocks and inner.name not in {*_ONCE, *LOWERED}):
            yield from (o.results[0] for o in inner.walk() if o.results)


_ONCE = frozenset({"affine.if", "gpu.func", "scf.if"})
"""Operations that run a region at most once."""
