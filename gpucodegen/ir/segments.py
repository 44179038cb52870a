"""Operand segments: the groups of a variadic operand list, kept as an attribute."""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen.ir.attributes import DenseArrayAttr
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import I32

OPERAND_SEGMENTS = "operandSegmentSizes"


def segment_sizes(groups: Sequence[Sequence[Value]]) -> DenseArrayAttr:
    """The ``operandSegmentSizes`` attribute of operand groups.

    >>> print(segment_sizes([(), ()]))
    array<i32: 0, 0>
    """
    return DenseArrayAttr(I32, tuple(map(len, groups)))


def segment_counts(*sizes: int) -> DenseArrayAttr:
    """The same attribute from the lengths of the groups.

    >>> print(segment_counts(1, 2))
    array<i32: 1, 2>
    """
    return DenseArrayAttr(I32, sizes)


def split(
    values: Sequence[Value], sizes: Sequence[int]
) -> tuple[tuple[Value, ...], ...]:
    """Cut ``values`` into consecutive groups of the given sizes."""
    groups: list[tuple[Value, ...]] = []
    start = 0
    for size in sizes:
        groups.append(tuple(values[start : start + size]))
        start += size
    return tuple(groups)


def operand_segments(op: Operation, count: int) -> tuple[tuple[Value, ...], ...]:
    """The operand groups; without an attribute all operands are in the first."""
    sizes = op.attributes.get(OPERAND_SEGMENTS)
    if isinstance(sizes, DenseArrayAttr):
        return split(op.operands, [int(size) for size in sizes.values])
    return (op.operands,) + ((),) * (count - 1)
