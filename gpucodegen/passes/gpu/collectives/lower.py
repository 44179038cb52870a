"""Reductions among threads, rotations and broadcasts as shuffles.

Comes in: proven kernels with ``gpu.all_reduce``, ``gpu.subgroup_reduce``,
``gpu.rotate`` and ``gpu.subgroup_broadcast``.  Goes out: ``gpu.shuffle``, and
``nvvm.redux.sync`` where one instruction reduces.  A block reduces in its warps first;
then each thread combines what the warps left in shared memory.  A barrier lies between,
and one behind where a loop comes back to that memory.  A kernel that has got memory and
barriers is proven again, if the extents of its blocks are known.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
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
        changed = [op for op in module.walk() if _has_collectives(op)]
        if not changed:
            return module
        (root,) = rewrite_bottom_up(module.operation, _kernel)
        lowered = Module(root)
        if self.verify:
            shared = [op for op in changed if "gpu.all_reduce" in _names(op)]
            _prove(lowered, set(map(symbol_name, shared)))
        return lowered


def _prove(module: Module, names: AbstractSet[str]) -> None:
    """Prove kernels by name; without the extents of a block no warp is known."""
    around = Surroundings.of(module)
    for op in module.walk():
        is_named = op.name == "gpu.func" and symbol_name(op) in names
        if is_named and None not in gpu.known_block(op):
            check_kernel(op, around)


def _names(op: Operation) -> set[str]:
    return {inner.name for inner in op.walk()}


def _has_collectives(op: Operation) -> bool:
    return op.name == "gpu.func" and not LOWERED.keys().isdisjoint(_names(op))


def _kernel(op: Operation) -> list[Operation] | None:
    if not _has_collectives(op):
        return None
    values: dict[Value, Value] = {}
    repeated = set(_repeated(op))

    def rewrite(inner: Operation) -> list[Operation] | None:
        lower = LOWERED.get(inner.name)
        if lower is None:
            return None
        again = inner.results[0] in repeated
        warp = Warp(Builder(inner.location), gpu.known_block(op), again)
        values.update(zip(inner.results, lower(warp, inner), strict=True))
        return warp.b.operations

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
