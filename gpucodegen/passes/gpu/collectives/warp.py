"""What a lane does: exchanges with others, and what those of a cluster combine to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod

from gpucodegen.dialects import arith, gpu
from gpucodegen.ir.attributes import OpaqueAttr
from gpucodegen.ir.operation import Value
from gpucodegen.ir.types import I1, I32
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.gpu.launches.gpu_launch import thread_index
from gpucodegen.passes.prepare.launches.identities import ThreadPlace
from gpucodegen.tiling.machine.gpu.devices import WARP

Combine = Callable[[Builder, Value, Value], Value]
"""Builds one value of two."""


@dataclass(slots=True)
class Warp:
    """Builds what a lane does; ``block`` is what is known of the block's extents.

    ``again``: the threads may come here more than once.
    """

    b: Builder
    block: gpu.Extents
    again: bool = True
    place: ThreadPlace = field(init=False)

    def __post_init__(self) -> None:
        """Positions and extents of the thread, for what follows."""
        names = ("block_id", "thread_id", "grid_dim", "block_dim")
        found = {n: [thread_index(self.b, n, d, n) for d in "xyz"] for n in names}
        sizes = [
            size if known is None else self.b.index(known)
            for size, known in zip(found["block_dim"], self.block, strict=True)
        ]
        known = zip(sizes, self.block, strict=True)
        numbers = {size: extent for size, extent in known if extent is not None}
        positions = [*found["block_id"], *found["thread_id"]]
        extents = [*found["grid_dim"], *sizes]
        self.place = ThreadPlace(self.b, positions, extents, numbers)

    @property
    def threads(self) -> int | None:
        """How many threads a block has, if that is known."""
        known = [extent for extent in self.block if extent is not None]
        return prod(known) if len(known) == len(self.block) else None

    def is_full(self, lanes: int) -> bool:
        """Whether each so many threads in a row certainly exist."""
        return self.threads is not None and self.threads % lanes == 0

    def word(self, value: Value | int) -> Value:
        """An index, or a number, as an integer of 32 bits."""
        if isinstance(value, int):
            return self.b.constant(value, I32)
        if value.type == I32:
            return value
        return self.b.add("arith.index_cast", (value,), [I32])[0]

    def integer(self, name: str, left: Value, right: Value | int) -> Value:
        """An operation of arith on integers of 32 bits."""
        return self.b.add(f"arith.{name}", (left, self.word(right)), [I32])[0]

    def shuffle(
        self, mode: str, value: Value, other: Value | int, width: int = WARP
    ) -> tuple[Value, ...]:
        """``gpu.shuffle``: the value of another lane, and whether there is one."""
        attributes = {"mode": OpaqueAttr(f"#gpu.shuffle_mode<{mode}>")}
        operands = (value, self.word(other), self.word(width))
        return self.b.add("gpu.shuffle", operands, [value.type, I1], attributes)

    def combined(
        self, value: Value, combine: Combine, size: int = WARP, stride: int = 1
    ) -> Value:
        """All values of a cluster: ``size`` lanes, each ``stride`` after the last.

        In a full warp each lane exchanges with the one whose number has another bit.
        Elsewhere the first lane of a cluster collects from those that exist.
        """
        if self.threads is not None and self.threads < WARP:
            size = min(size, 1 << (self.threads - 1).bit_length())
        steps = [stride << bit for bit in range(size.bit_length() - 1)]
        if self.is_full(size * stride):
            for step in steps:
                value = combine(self.b, value, self.shuffle("xor", value, step)[0])
            return value
        lane, number, end = map(self.word, (self.lane, self.number, self.end))
        for step in reversed(steps):
            there = self._less(self.integer("addi", number, step), end)
            source = self._chosen(there, self.integer("addi", lane, step), lane)
            other = self.shuffle("idx", value, source)[0]
            value = self._chosen(there, combine(self.b, value, other), value)
        cluster = (size - 1) * stride
        first = self.integer("andi", lane, (WARP - 1) & ~cluster)
        return self.shuffle("idx", value, first)[0]

    @property
    def lane(self) -> Value:
        """The number of the thread in its warp."""
        return self.place.lane()

    @property
    def number(self) -> Value:
        """The number of the thread in its block."""
        return self.place.number()

    @property
    def end(self) -> Value:
        """How many threads the block has."""
        known = self.threads
        return self.place.count() if known is None else self.b.index(known)

    def _less(self, left: Value, right: Value) -> Value:
        compared = arith.compare("arith.cmpi", "slt", left, right)
        self.b.operations.append(compared)
        return compared.result

    def _chosen(self, condition: Value, first: Value, second: Value) -> Value:
        operands = (condition, first, second)
        return self.b.add("arith.select", operands, [first.type])[0]
