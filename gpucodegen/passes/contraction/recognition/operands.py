"""Operands of a contraction: which elements they are, or what is computed of those."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from gpucodegen.ir.affine import Dim, linear_form
from gpucodegen.ir.attributes import AffineMapAttr
from gpucodegen.ir.locations import UNKNOWN, Location
from gpucodegen.ir.operation import Operation, Value, clone
from gpucodegen.ir.types import MemRefType, Type, element_type
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index, from_map, replace_values
from gpucodegen.passes.framework.nests import Axis


@dataclass(frozen=True, slots=True)
class Operand:
    """An array and its index expressions over the axes' normalised positions.

    ``steps``: scalar operations of which the last gives the value, with the places of
    the loads among them; none if the value is the element itself.  The array is then
    one that depends on every axis that the value depends on.  ``location``: where the
    program accesses it.
    """

    memref: Value
    indices: tuple[Index, ...]
    steps: tuple[tuple[Operation, Operand | None], ...] = ()
    location: Location = field(default=UNKNOWN, compare=False)

    def coefficient(self, dimension: int, axis: Axis) -> int:
        """Coefficient of an axis in one index."""
        return coefficients(self.indices[dimension]).get(axis.iv, 0)

    def mentions(self, axis: Axis) -> bool:
        """Whether any index depends on the axis."""
        return any(axis.iv in index.values for index in self.indices)

    def dimensions_of(self, axis: Axis) -> list[int]:
        """Dimensions whose index depends on the axis."""
        return [d for d, index in enumerate(self.indices) if axis.iv in index.values]

    def at(self, positions: Mapping[Value, Index]) -> list[Index]:
        """Index expressions with positions put in for the axes."""
        return [replace_values(index, dict(positions)) for index in self.indices]

    @property
    def accesses(self) -> tuple[Operand, ...]:
        """All elements that the value is made of."""
        return tuple(place for _, place in self.steps if place) or (self,)

    def multiplied(self, scale: Value, multiply: str) -> Operand:
        """``scale`` times the value."""
        return self._then(multiply, scale)

    def negated(self) -> Operand:
        """The value with the other sign."""
        return self._then("arith.negf")

    def converted(self, operation: str, ty: Type) -> Operand:
        """The value in another type."""
        return self._then(operation, ty=ty)

    @property
    def element(self) -> Operand:
        """The element that the value depends on, itself."""
        return Operand(self.memref, self.indices)

    @property
    def is_of_one(self) -> bool:
        """Whether the value depends on no other element."""
        return set(self.accesses) == {self.element}

    def seen(self, element: Operand) -> Operand:
        """The value where its element is seen as one of another array."""
        steps = tuple((op, place and element) for op, place in self.steps)
        return Operand(element.memref, element.indices, steps)

    def _then(self, operation: str, *others: Value, ty: Type | None = None) -> Operand:
        """What an operation makes of other operands and the value."""
        steps = self.steps
        if not steps:
            element = Value(element_type(self.memref.type), self.memref.name)
            load = Operation("affine.load", (self.memref,), (element,))
            steps = ((load, self.element),)
        last = steps[-1][0].result
        made = Operation(operation, (*others, last), (last.renewed(ty),))
        return replace(self, steps=(*steps, (made, None)))

    def value(self, b: Builder, at: Mapping[Value, Index], hint: str = "") -> Value:
        """The scalar at some position."""
        made: dict[Value, Value] = {}
        for op, place in self.steps:
            if place is None:
                b.operations.append(clone(op, made))
            else:
                made[op.result] = place.value(b, at, hint)
        if not self.steps:
            where = b.location if self.location is UNKNOWN else self.location
            here = Builder(where, b.operations)
            return here.load(self.memref, self.at(at), hint)
        return made[self.steps[-1][0].result]


def buffer_of(b: Builder, axes: Sequence[Axis], element: Type, hint: str) -> Operand:
    """A new buffer that has a dimension for each axis, and its element for them."""
    ty = MemRefType(tuple(axis.extent for axis in axes), element)
    buffer = b.allocate("memref.alloc", ty, hint)
    return Operand(buffer, tuple(Index.of(axis.iv) for axis in axes))


def coefficients(index: Index) -> dict[Value, int]:
    """Coefficient per value of a linear index; quasi-affine terms have none."""
    terms, _ = linear_form(index.expr)
    return {index.values[t.position]: c for t, c in terms.items() if isinstance(t, Dim)}


def is_linear(index: Index) -> bool:
    """Whether an index has no quotient and no remainder."""
    return all(isinstance(t, Dim) for t in linear_form(index.expr)[0])


def access(op: Operation, axes: Sequence[Axis]) -> Operand:
    """What an ``affine.load`` or ``store`` accesses, over normalised positions."""
    attribute = op.attributes["map"]
    assert isinstance(attribute, AffineMapAttr)
    memref = 0 if op.results else 1
    indices = from_map(attribute.map, op.operands[memref + 1 :])
    positions = {axis.iv: axis.at(axis.iv) for axis in axes}
    return Operand(
        op.operands[memref],
        tuple(replace_values(index, positions) for index in indices),
        location=op.location,
    )
