"""Where in memory a tensor lies: a storage, and the views of it that lead there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from gpucodegen.dialects.memref import Mixed
from gpucodegen.ir.operation import Value


@dataclass(eq=False, slots=True)
class Storage:
    """Memory, compared by identity; ``members`` are the tensors that lie in it.

    ``owned``: allocated here, and not seen as a memref.
    """

    writable: bool
    owned: bool = False
    members: list[Value] = field(default_factory=list[Value])


@dataclass(frozen=True, slots=True)
class Part:
    """A slice: offset, size and stride of each dimension."""

    offsets: tuple[Mixed, ...]
    sizes: tuple[Mixed, ...]
    strides: tuple[Mixed, ...]

    def misses(self, other: Part) -> bool:
        """Whether both surely have no element in common."""
        if len(self.offsets) != len(other.offsets):
            return False
        return any(
            _misses(self._span(d), other._span(d)) for d in range(len(self.offsets))
        )

    def _span(self, d: int) -> tuple[int, int] | None:
        offset, size, stride = self.offsets[d], self.sizes[d], self.strides[d]
        numbers = isinstance(offset, int) and isinstance(size, int)
        if not numbers or not isinstance(stride, int) or stride <= 0:
            return None
        assert isinstance(offset, int)
        assert isinstance(size, int)
        return offset, offset + max(size - 1, 0) * stride if size else offset - 1


def _misses(one: tuple[int, int] | None, other: tuple[int, int] | None) -> bool:
    if one is None or other is None:
        return False
    return one[1] < other[0] or other[1] < one[0]


Step = Part | tuple[object, ...]
"""A slice, or another view of the whole."""


@dataclass(frozen=True, slots=True)
class Buffer:
    """The memref that holds a tensor: all of its storage, seen through ``steps``."""

    value: Value
    storage: Storage
    steps: tuple[Step, ...] = ()

    def is_at(self, other: Buffer, step: Step | None = None) -> bool:
        """Whether it lies where another one does, or a part of that."""
        steps = other.steps if step is None else (*other.steps, step)
        return self.storage is other.storage and self.steps == steps

    def is_within(self, other: Buffer, step: Step) -> bool:
        """Whether it lies in a part of another one."""
        steps = (*other.steps, step)
        return self.storage is other.storage and self.steps[: len(steps)] == steps

    def misses(
        self, other: Buffer, mine: Step | None = None, its: Step | None = None
    ) -> bool:
        """Whether two places (or parts of them) surely have no element in common."""
        if self.storage is not other.storage:
            return True
        first = self.steps if mine is None else (*self.steps, mine)
        second = other.steps if its is None else (*other.steps, its)
        return _part_ways(first, second)


def _part_ways(first: Sequence[Step], second: Sequence[Step]) -> bool:
    for one, other in zip(first, second, strict=False):
        if one != other:
            if isinstance(one, Part) and isinstance(other, Part):
                return one.misses(other)
            return False
    return False
