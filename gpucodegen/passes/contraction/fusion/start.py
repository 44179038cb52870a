"""What the cells of a result hold before a contraction runs, and what becomes of them.

A tile of sums starts from memory, or from what a nest in front would store there; then
the first block of the reduction computes that in registers.  Behind the last block, the
tile is stored, or goes on through the epilogue.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from gpucodegen.dialects.framework.declare import with_element
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import Type, element_type
from gpucodegen.passes.contraction.cpu.ranges import Positions, Range
from gpucodegen.passes.contraction.fusion.pointwise import Tile
from gpucodegen.passes.contraction.recognition.operands import Operand
from gpucodegen.passes.contraction.recognition.recognize import Contraction
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.framework.nests import Axis
from gpucodegen.passes.prepare.affine.dead_code import has_no_effect

Alone = Callable[[], Sequence[Operation]]
"""Maps a nest as it is."""


@dataclass(slots=True)
class Mapped:
    """Mapped operations, and the nest that nothing follows yet.

    ``alone`` maps that nest, at ``place``, once it is sure that no kernel takes it in.
    """

    operations: list[Operation] = field(default_factory=list[Operation])
    nest: Operation | None = None
    alone: Alone | None = None
    place: int = 0

    def add(self, operations: Sequence[Operation]) -> None:
        """Append operations."""
        if not all(op.name == "memref.alloc" or has_no_effect(op) for op in operations):
            self.close()
        self.operations += operations

    def add_nest(self, nest: Operation, alone: Alone) -> None:
        """Append a nest."""
        self.close()
        self.nest, self.alone, self.place = nest, alone, len(self.operations)

    def close(self) -> None:
        """Map the nest that nothing follows."""
        if self.alone is not None:
            self.operations[self.place : self.place] = self.alone()
        self.drop_nest()

    def drop_writers(self, buffer: Value) -> None:
        """Remove the nests that mention a buffer, which is never read."""
        self.operations = [
            op
            for op in self.operations
            if not (op.regions and any(buffer in inner.used for inner in op.walk()))
        ]

    def drop_nest(self) -> None:
        """Leave out the nest that nothing follows."""
        self.nest = self.alone = None


def started(
    b: Builder,
    contraction: Contraction,
    tile: Tile,
    ranges: Sequence[Range] = (),
    read: Callable[[Builder], Value] | None = None,
) -> Value:
    """The accumulator of a reduction block: what memory holds, or the start of all.

    ``ranges``: those of the block, of the whole reduction if there are none.  ``read``:
    how memory is read, if not at the place of the result.
    """
    start, result = contraction.start, contraction.result

    def load(i: Builder) -> Value:
        return tile.read(i, result, "acc") if read is None else read(i)

    if start is None:
        return load(b)
    lowers = {part.axis.iv: Index.of(part.lower) for part in ranges}
    places = (_place(axis, lowers, tile, 0) for axis in contraction.reduction)
    conditions = [Index.of(0) - place for place in places]
    return b.choose(conditions, lambda i: start.value(i, tile, result), load, "acc")


def finished(
    b: Builder,
    contraction: Contraction,
    tile: Tile,
    total: Value,
    ranges: Sequence[Range] = (),
    write: Callable[[Builder], None] | None = None,
) -> None:
    """Store the accumulator of a reduction block, or run the epilogue of the last."""
    epilogue, result = contraction.epilogue, contraction.result

    def store(i: Builder) -> None:
        if write is None:
            tile.write(i, result, total)
        else:
            write(i)

    if epilogue is None:
        store(b)
        return
    lasts = {part.axis.iv: Index.of(part.uppers[0]) - 1 for part in ranges}
    conditions = [
        _place(axis, lasts, tile, axis.extent - 1) - (axis.extent - 1)
        for axis in contraction.reduction
    ]
    b.guard(conditions, lambda i: epilogue.store(i, tile, total), store)


def kept_at(contraction: Contraction) -> Operand | None:
    """The only place where finished sums leave anything; None if there are several."""
    if contraction.epilogue is None:
        return contraction.result
    stored = contraction.epilogue.stored
    return stored[0] if len(stored) == 1 else None


def outcome(b: Builder, contraction: Contraction, tile: Tile, total: Value) -> Value:
    """What finished sums become at the only place where they leave anything."""
    if contraction.epilogue is None:
        return total
    (kept,) = contraction.epilogue.kept(b, tile, total)
    return kept


def in_element(b: Builder, element: Type, value: Value, conversion: str) -> Value:
    """A number, or a line of them, in another type: sums may be wider than memory."""
    if element_type(value.type) == element:
        return value
    ty = with_element(value.type, element)
    (converted,) = b.add(conversion, (value,), [ty], hint=value.name)
    return converted


def _place(axis: Axis, ends: Positions, tile: Tile, whole: int) -> Index:
    """Where a block begins or ends on an axis, ``whole`` of an axis that is not cut."""
    return ends.get(axis.iv, tile.at.get(axis.iv, Index.of(whole)))
