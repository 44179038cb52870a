"""The base of all builders: an open list of operations, indices and constants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gpucodegen.ir.affine import Dim
from gpucodegen.ir.attributes import AffineMapAttr, Attribute, DenseElementsAttr, number
from gpucodegen.ir.locations import UNKNOWN, Location
from gpucodegen.ir.operation import Operation, Region, Value
from gpucodegen.ir.types import INDEX, FloatType, Type, VectorType
from gpucodegen.passes.framework.indexing import Index, as_map

IndexLike = Index | Value | int


@dataclass(slots=True)
class OperationList:
    """An open list of operations at one place in the program."""

    location: Location = UNKNOWN
    operations: list[Operation] = field(default_factory=list[Operation])

    def add(
        self,
        name: str,
        operands: Sequence[Value] = (),
        results: Sequence[Type] = (),
        attributes: Mapping[str, Attribute] | None = None,
        regions: Sequence[Region] = (),
        hint: str = "",
    ) -> tuple[Value, ...]:
        """Append an operation and return its results."""
        values = tuple(Value(ty, hint, self.location) for ty in results)
        self.operations.append(
            Operation(
                name,
                tuple(operands),
                values,
                attributes or {},
                tuple(regions),
                location=self.location,
            )
        )
        return values

    def index(self, item: IndexLike, hint: str = "") -> Value:
        """The SSA value of an index expression (``affine.apply`` or a constant)."""
        if isinstance(item, Value):
            return item
        index = Index.of(item)
        if index.constant is not None:
            return self.constant(index.constant, INDEX)
        if index.expr == Dim(0):
            return index.values[0]
        map_, operands = as_map([index])
        (value,) = self.add(
            "affine.apply", operands, [INDEX], {"map": AffineMapAttr(map_)}, hint=hint
        )
        return value

    def smallest(self, items: Sequence[Index], hint: str = "") -> Value:
        """The SSA value of the smallest of several index expressions."""
        return self._extreme("affine.min", items, hint)

    def largest(self, items: Sequence[Index], hint: str = "") -> Value:
        """The SSA value of the largest of several index expressions."""
        return self._extreme("affine.max", items, hint)

    def _extreme(self, op: str, items: Sequence[Index], hint: str) -> Value:
        if len(items) == 1:
            return self.index(items[0], hint)
        map_, operands = as_map(items)
        attributes = {"map": AffineMapAttr(map_)}
        (value,) = self.add(op, operands, [INDEX], attributes, hint=hint)
        return value

    def constant(self, value: float, ty: Type) -> Value:
        """``arith.constant`` of a scalar, or of a vector filled with it."""
        attribute: Attribute
        if isinstance(ty, VectorType):
            scalar = float(value) if isinstance(ty.element, FloatType) else int(value)
            attribute = DenseElementsAttr((scalar,), ty, ty.element)
        else:
            attribute = number(value, ty)
        (result,) = self.add("arith.constant", (), [ty], {"value": attribute}, hint="c")
        return result

    # -- memory ----------------------------------------------------------------------
