"""Scalar operations at each cell of a result, done to whole tiles in registers.

A value has the axes of the tile that it depends on: a bias along the columns is one
row, loaded once for the tile, and becomes a tile where it meets one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from gpucodegen.ir.operation import Operation, Value, clone
from gpucodegen.ir.types import Type, VectorType, element_type
from gpucodegen.passes.contraction.cpu.ranges import Positions
from gpucodegen.passes.contraction.recognition.operands import Operand
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.nests import Axis

Extents = Mapping[Axis, int]
"""Cells of a tile along the axes that it spans."""
Step = tuple[Operation, Operand | None]
"""An operation; for a load or store, its place over the axes of the result."""
Span = tuple[Axis, ...]


@dataclass(frozen=True, slots=True)
class Tile:
    """The cells from ``at`` on."""

    at: Positions
    extents: Extents

    def type(self, element: Type, span: Span) -> Type:
        """The type of a value with some of the axes."""
        shape = tuple(self.extents[axis] for axis in span)
        return VectorType(shape, element) if span else element

    def spanned(self, place: Operand) -> Span:
        """The axes that move a place."""
        return tuple(axis for axis in self.extents if place.mentions(axis))

    def read(self, b: Builder, place: Operand, hint: str = "") -> Value:
        """The elements at a place, with the axes that move it."""
        span, indices = self.spanned(place), place.at(self.at)
        ty = self.type(element_type(place.memref.type), span)
        if not isinstance(ty, VectorType):
            return b.load(place.memref, indices, hint)
        dimensions = [place.dimensions_of(axis)[0] for axis in span]
        if dimensions == [len(indices) - 1]:
            return b.vector_load(place.memref, indices, ty, hint)
        return b.transfer_read(place.memref, indices, ty, dimensions, hint=hint)

    def write(self, b: Builder, place: Operand, value: Value) -> None:
        """Store a value that has all axes of the tile."""
        indices = place.at(self.at)
        if not self.extents:
            b.store(value, place.memref, indices)
            return
        dimensions = [place.dimensions_of(axis)[0] for axis in self.extents]
        if dimensions == [len(indices) - 1]:
            b.vector_store(value, place.memref, indices)
            return
        b.transfer_write(value, place.memref, indices, dimensions)


@dataclass(frozen=True, slots=True)
class Pointwise:
    """Operations at one cell; what they leave at the places ``stored`` is kept.

    ``sums``: the place that holds the finished sums when the operations start. Their
    value is given in registers, so this place need not exist in memory.
    """

    steps: tuple[Step, ...]
    stored: tuple[Operand, ...]
    sums: Operand | None = None

    @property
    def places(self) -> tuple[Operand, ...]:
        """All places that the operations access, in memory or in registers."""
        accessed = (place for _, place in self.steps if place)
        return (*accessed, *self.stored, *((self.sums,) if self.sums else ()))

    def moved(self, to: Callable[[Operand], Operand]) -> Pointwise:
        """The same operations at other places."""
        steps = ((op, place and to(place)) for op, place in self.steps)
        return replace(
            self,
            steps=tuple(steps),
            stored=tuple(map(to, self.stored)),
            sums=self.sums and to(self.sums),
        )

    def value(self, b: Builder, tile: Tile, place: Operand) -> Value:
        """What the operations leave at a place."""
        cells = _Cells(b, tile)
        cells.run(self.steps)
        return cells.whole(cells.held[place], "acc")

    def store(self, b: Builder, tile: Tile, value: Value) -> None:
        """Run the operations on the sums ``value``, and store what is kept."""
        kept = self.kept(b, tile, value)
        for target, result in zip(self.stored, kept, strict=True):
            tile.write(b, target, result)

    def kept(self, b: Builder, tile: Tile, value: Value) -> tuple[Value, ...]:
        """The values at the places ``stored`` after a run on the sums ``value``."""
        assert self.sums is not None
        cells = _Cells(b, tile, {self.sums: value}, spans={value: tuple(tile.extents)})
        cells.run(self.steps)
        return tuple(cells.whole(cells.held[target]) for target in self.stored)


def computed(b: Builder, tile: Tile, steps: Sequence[Step]) -> Value:
    """What the last of some operations leaves at every cell of a tile."""
    cells = _Cells(b, tile)
    cells.run(steps)
    return cells.whole(cells.values[steps[-1][0].result])


@dataclass(slots=True)
class _Cells:
    """The values at the cells of a tile while operations on them are built.

    ``held``: what places hold, as far as the operations know it.  ``spans``: the axes
    that a built value has.
    """

    b: Builder
    tile: Tile
    held: dict[Operand, Value] = field(default_factory=dict[Operand, Value])
    values: dict[Value, Value] = field(default_factory=dict[Value, Value])
    spans: dict[Value, Span] = field(default_factory=dict[Value, Span])

    def run(self, steps: Sequence[Step]) -> None:
        """Build the operations."""
        for op, place in steps:
            if place is None:
                self._compute(op)
            elif op.results:
                self.values[op.result] = self._read(place, op.result.name)
            else:
                (stored, *_) = op.operands
                self.held[place] = self.values.get(stored, stored)

    def _compute(self, op: Operation) -> None:
        operands = [self.values.get(value, value) for value in op.operands]
        spanned = {axis for value in operands for axis in self.spans.get(value, ())}
        span = tuple(axis for axis in self.tile.extents if axis in spanned)
        is_choice = op.name == "arith.select" and not self.spans.get(operands[0])
        uniform = operands[: int(is_choice)]
        spread = [*uniform, *(self._spread(v, span) for v in operands[len(uniform) :])]
        copy = clone(op)
        results = tuple(v.renewed(self.tile.type(v.type, span)) for v in copy.results)
        made = copy.with_(operands=tuple(spread), results=results)
        self.b.operations.append(made)
        self.values.update(zip(op.results, results, strict=True))
        self.spans.update(dict.fromkeys(results, span))

    def _read(self, place: Operand, hint: str) -> Value:
        if place not in self.held:
            value = self.tile.read(self.b, place, hint)
            self.held[place] = value
            self.spans[value] = self.tile.spanned(place)
        return self.held[place]

    def whole(self, value: Value, hint: str = "") -> Value:
        """The value with all axes of the tile."""
        return self._spread(value, tuple(self.tile.extents), hint)

    def _spread(self, value: Value, span: Span, hint: str = "") -> Value:
        """The value with the axes ``span``, which are its own and others."""
        own = self.spans.get(value, ())
        if own == span:
            return value
        element = element_type(value.type)
        if own and own[-1] is not span[-1]:
            ty = VectorType((self.tile.extents[own[0]], 1), element)
            (value,) = self.b.add("vector.shape_cast", (value,), [ty], hint=value.name)
        ty = self.tile.type(element, span)
        assert isinstance(ty, VectorType)
        spread = self.b.broadcast(value, ty, hint or value.name)
        self.spans[spread] = span
        return spread
