"""The lowering passes of the affine dialect.

`LowerIfAndFor` lowers loops and conditions to blocks and branches, `LowerAffineApply`
index arithmetic in functions without affine loops, and `LowerAffine` all affine
operations, also those outside of functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpucodegen import errors
from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.operation import Operation, Rewrite, rewrite_bottom_up
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.functions import with_blocks
from gpucodegen.passes.lower_affine.control_flow import in_blocks, to_scf
from gpucodegen.passes.lower_affine.expressions import (
    ACCESSES,
    INDEX_ARITHMETIC,
    LOWERINGS,
    Straightener,
)
from gpucodegen.records import dataclass

FUNCTIONS = frozenset({"func.func", "gpu.func"})
CONTROL_FLOW = frozenset({"affine.for", "affine.if", "affine.parallel"})


@dataclass(frozen=True, slots=True)
class LowerIfAndFor(ModulePass, name="lower-if-and-for"):
    """Affine loops and conditions of functions to blocks and branches."""

    def apply(self, module: Module) -> Module:
        return _affine_functions(module, in_blocks)


@dataclass(frozen=True, slots=True)
class LowerAffineApply(ModulePass, name="lower-affine-apply"):
    """``affine.apply``, ``min`` and ``max`` to arithmetic; no loops may be left."""

    def apply(self, module: Module) -> Module:
        """Lower every function, or raise AffineControlFlow."""
        return _affine_functions(module, _without_applies)


@dataclass(frozen=True, slots=True)
class LowerAffine(ModulePass, name="lower-affine"):
    """Every affine operation to ``cf``, ``arith``, ``memref`` and ``vector`` ones."""

    def apply(self, module: Module) -> Module:
        straighten = Straightener(LOWERINGS)
        branching = _affine_functions(module, in_blocks).operation
        (structured,) = rewrite_bottom_up(branching, to_scf)
        (straight,) = rewrite_bottom_up(structured, straighten)
        return Module(straighten.renamed(straight))


def _affine_functions(
    module: Module, rewrite: Callable[[Operation], Operation]
) -> Module:
    def rewritten(op: Operation) -> list[Operation] | None:
        is_affine = op.name in FUNCTIONS and any(
            o.dialect == "affine" for o in op.walk()
        )
        return [rewrite(op)] if is_affine else None

    (root,) = rewrite_bottom_up(module.operation, rewritten)
    return Module(root)


def _without_applies(function: Operation) -> Operation:
    for op in function.walk():
        if op.name in CONTROL_FLOW:
            raise errors.AffineControlFlow.at(op)
    straighten = Straightener(INDEX_ARITHMETIC)
    follow = _followers(function, Straightener(LOWERINGS, straighten.replaced))

    def straight(operations: Sequence[Operation]) -> list[Operation]:
        return [
            new
            for op in operations
            for new in rewrite_bottom_up(op, follow if op.regions else straighten)
        ]

    return straighten.renamed(with_blocks(function, straight))


def _followers(function: Operation, straighten: Straightener) -> Rewrite:
    """Rewrites index arithmetic and its users in the body of an operation.

    An arithmetic result is no affine dimension, so accesses at it become non-affine.
    """
    arithmetic = {
        value
        for op in function.walk()
        if op.name in LOWERINGS and op.name not in ACCESSES
        for value in op.results
    }

    def follow(op: Operation) -> list[Operation] | None:
        is_kept = op.name not in INDEX_ARITHMETIC and arithmetic.isdisjoint(op.operands)
        return None if is_kept else straighten(op)

    return follow
