"""Perfect nests of ``affine.for``, mostly with constant ranges."""

from __future__ import annotations

from collections.abc import Callable

from gpucodegen.dialects import affine
from gpucodegen.ir.affine import AffineMap, Const
from gpucodegen.ir.attributes import (
    AffineMapAttr,
    ArrayAttr,
    DenseElementsAttr,
    IntegerAttr,
)
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import I32, I64, VectorType
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.records import dataclass


@dataclass(frozen=True, slots=True)
class Axis:
    """One loop normalised to ``0 <= x < extent``; its iv is ``lower + step * x``.

    ``count``: a dynamic extent; ``extent`` is 0 then.
    """

    iv: Value
    extent: int
    lower: int
    step: int
    operation: Operation
    count: Index | None = None

    @property
    def size(self) -> Index:
        return Index.of(self.extent) if self.count is None else self.count

    @property
    def name(self) -> str:
        return self.iv.name

    def at(self, position: Index | Value | int) -> Index:
        """The loop variable at a normalised position."""
        return Index.of(position) * self.step + self.lower


def axis_of(op: Operation) -> Axis | None:
    """The axis of a loop with constant bounds and no loop-carried values."""
    if op.name != "affine.for" or op.results:
        return None
    loop = affine.For(op)
    lowers, uppers = loop.lower_map.results, loop.upper_map.results
    if not all(isinstance(bound, Const) for bound in (*lowers, *uppers)):
        return None
    lower = max(b.value for b in lowers if isinstance(b, Const))
    upper = min(b.value for b in uppers if isinstance(b, Const))
    extent = max(0, -(-(upper - lower) // loop.step))
    return Axis(loop.iv, extent, lower, loop.step, op)


def inner_operations(op: Operation) -> tuple[Operation, ...]:
    """Body of a loop without its terminator."""
    return tuple(o for o in op.body.operations if o.name != "affine.yield")


def loop_depth(op: Operation) -> int:
    """The largest number of nested ``affine.for`` in an operation, itself included."""
    return max(map(loop_depth, op.nested), default=0) + (op.name == "affine.for")


def perfect_chain(
    op: Operation, takes: Callable[[Operation], object]
) -> list[Operation]:
    """The perfectly nested ``affine.for`` loops from ``op`` inwards that it takes."""
    chain: list[Operation] = []
    while op.name == "affine.for" and takes(op):
        chain.append(op)
        inner = inner_operations(op)
        if len(inner) != 1:
            break
        op = inner[0]
    return chain


def to_parallel(op: Operation) -> Operation:
    """``affine.parallel`` over the range of one ``affine.for``."""
    loop = affine.For(op)
    low, high = loop.lower_map, loop.upper_map
    attributes = {
        "lowerBoundsMap": AffineMapAttr(low),
        "lowerBoundsGroups": _group(low),
        "upperBoundsMap": AffineMapAttr(high),
        "upperBoundsGroups": _group(high),
        "steps": ArrayAttr((IntegerAttr(loop.step, I64),)),
        "reductions": ArrayAttr(()),
    }
    return op.with_(
        name="affine.parallel",
        operands=(*loop.lower_operands, *loop.upper_operands),
        attributes=attributes,
    )


def _group(map_: AffineMap) -> DenseElementsAttr:
    return DenseElementsAttr((len(map_.results),), VectorType((1,), I32), I32)
