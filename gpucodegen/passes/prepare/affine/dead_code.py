"""Removal of operations whose results are unused and that have no effect."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from gpucodegen.dialects.framework.definition import Trait
from gpucodegen.dialects.framework.registry import lookup
from gpucodegen.ir.operation import Operation, Value, rewrite_bottom_up

PURE_DIALECTS = frozenset({"arith", "math"})
PURE = frozenset(
    {
        "affine.apply",
        "affine.min",
        "affine.max",
        "affine.load",
        "linalg.range",
        "memref.load",
        "memref.dim",
        "memref.cast",
        "memref.subview",
        "builtin.unrealized_conversion_cast",
        "tensor.dim",
        "tensor.empty",
        "tensor.cast",
        "vector.load",
        "vector.transfer_read",
        "vector.from_elements",
        "gpu.thread_id",
        "gpu.block_id",
    }
)
LOOPS = frozenset({"affine.for", "affine.if", "affine.parallel"})


def is_pure(op: Operation) -> bool:
    """Whether removing an unused operation changes nothing."""
    return op.dialect in PURE_DIALECTS or op.name in PURE or has_no_effect(op)


def has_no_effect(op: Operation) -> bool:
    """Whether an operation only computes its results, touching no memory."""
    definition = lookup(op.name)
    return definition is not None and definition.has(Trait.PURE)


def without_dead_code(root: Operation) -> Operation:
    """The operation with dead ones inside removed, until there are none."""
    while True:
        uses = Counter(value for op in root.walk() for value in op.used)
        removed = False

        def rewrite(
            op: Operation, uses: Counter[Value] = uses
        ) -> list[Operation] | None:
            nonlocal removed
            unused = not any(uses[value] for value in op.results)
            if unused and (_is_empty_loop(op) or (op.results and is_pure(op))):
                removed = True
                return []
            return None

        (root,) = rewrite_bottom_up(root, rewrite)
        if not removed:
            return root


def all_used(operations: Sequence[Operation]) -> list[Operation]:
    """A list without those that only compute results which it does not use."""
    kept: list[Operation] = []
    used: set[Value] = set()
    for op in reversed(operations):
        if op.results and has_no_effect(op) and used.isdisjoint(op.results):
            continue
        kept.append(op)
        used.update(value for inner in op.walk() for value in inner.used)
    return kept[::-1]


def _is_empty_loop(op: Operation) -> bool:
    """A loop or condition whose bodies hold only their terminators."""
    return op.name in LOOPS and all(
        len(block.operations) <= 1 for region in op.regions for block in region.blocks
    )
