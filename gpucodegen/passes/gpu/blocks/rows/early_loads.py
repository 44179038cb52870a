"""Loads of a straight program, put before its stores.

No compiler moves a load across a store to what may be the same memory, so that a member
would wait for each of them in turn.  Arrays that the program does not write are read
first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod

from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import VectorType, element_bytes, element_type
from gpucodegen.passes.prepare.affine.dead_code import has_no_effect, is_pure

MOST = 256
"""Bytes that a member has on their way at once, beside what it keeps: 64 registers."""
_LOADS = frozenset({"affine.load", "vector.load"})
_KNOWN = frozenset({"affine.store", "vector.store", "affine.if", "affine.yield"})


def loads_first(
    parts: Sequence[Sequence[Operation]], may_change: Callable[[Value], bool]
) -> list[Operation]:
    """The parts of a program in order, loads of several before their stores.

    ``may_change``: whether the program may store to a buffer.
    """

    def is_early(op: Operation) -> bool:
        return op.name in _LOADS and not may_change(op.operands[0])

    found: list[Operation] = []
    for group in _groups(parts, is_early):
        found += _sorted(group, is_early) if all(map(_is_known, group)) else group
    return found


def _groups(
    parts: Sequence[Sequence[Operation]], is_early: Callable[[Operation], bool]
) -> Iterator[list[Operation]]:
    """Neighbouring parts whose early loads need no more registers than there are."""
    group, size = list[Operation](), 0
    for part in parts:
        more = sum(_bytes(op) for op in part if is_early(op))
        if group and size + more > MOST:
            yield group
            group, size = [], 0
        group, size = [*group, *part], size + more
    yield group


def _bytes(load: Operation) -> int:
    ty = load.result.type
    count = prod(ty.shape) if isinstance(ty, VectorType) else 1
    return count * (element_bytes(element_type(ty)) or 1)


def _is_known(op: Operation) -> bool:
    """Whether an operation does nothing but load, compute and store."""
    return all(is_pure(o) or o.name in _KNOWN for o in op.walk())


def _sorted(
    operations: Sequence[Operation], is_early: Callable[[Operation], bool]
) -> list[Operation]:
    """Early loads and what they need, if nothing of that is guarded; the others."""
    wanted, early = set[Value](), set[int]()
    for op in reversed(operations):
        if is_early(op) or not wanted.isdisjoint(op.results):
            if not (is_early(op) or has_no_effect(op)):
                return list(operations)
            early.add(id(op))
            wanted.update(op.used)
    return [
        *(op for op in operations if id(op) in early),
        *(op for op in operations if id(op) not in early),
    ]
