"""Conditions on index values as ``arith`` operations, true where an access leaves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from gpucodegen.ir.affine import AffineExpr, Const, linear_form
from gpucodegen.ir.affine_maps import AffineMap
from gpucodegen.ir.operation import Value
from gpucodegen.ir.types import I1, INDEX, MemRefType
from gpucodegen.passes.builder import Builder
from gpucodegen.passes.indexing import Index, as_map
from gpucodegen.passes.lower_affine.bounds import compare
from gpucodegen.passes.lower_affine.expressions import index_operation, results_of
from gpucodegen.passes.restructuring.rebuild import index_of
from gpucodegen.tiling.guards import Pieces
from gpucodegen.tiling.schedule_ast import Constraint


@dataclass(slots=True)
class Conditions:
    """Appends to a builder; conditions are values of type ``i1``."""

    b: Builder

    def within(self, pieces: Pieces, known: Mapping[str, Value]) -> Value:
        """Whether parameters lie in one of the pieces."""
        names = {name: Index.of(value) for name, value in known.items()}
        return self.some([self._every(piece, names) for piece in pieces])

    def _every(self, piece: Sequence[Constraint], names: Mapping[str, Index]) -> Value:
        return self.every([self._holds(constraint, names) for constraint in piece])

    def _holds(self, constraint: Constraint, names: Mapping[str, Index]) -> Value:
        """``p - n + c >= 0`` as ``p >= n - c``: nothing is subtracted that is known."""
        map_, operands = as_map([index_of(constraint.expression, names)])
        terms, number = linear_form(map_.results[0])
        positive = [(term, factor) for term, factor in terms.items() if factor > 0]
        negative = [(term, -factor) for term, factor in terms.items() if factor < 0]
        if not positive and not constraint.equality:
            left = self._sum(map_, operands, negative, 0)
            return self._compared("sle", left, number)
        left, right = (
            self._sum(map_, operands, part, amount)
            for part, amount in ((positive, 0), (negative, -number))
        )
        return self._compared("eq" if constraint.equality else "sge", left, right)

    def _sum(
        self,
        map_: AffineMap,
        operands: Sequence[Value],
        terms: Sequence[tuple[AffineExpr, int]],
        number: int,
    ) -> Value:
        expr: AffineExpr = Const(number)
        for term, factor in terms:
            expr = expr + term * factor
        one = AffineMap(map_.num_dims, map_.num_syms, (expr,))
        return results_of(self.b, one, operands)[0]

    def _compared(self, predicate: str, left: Value, right: Value | int) -> Value:
        return compare(self.b, predicate, left, self.value(right))

    def value(self, number: Value | int) -> Value:
        """A number as an index value."""
        if isinstance(number, int):
            return self.b.constant(number, INDEX)
        return self.as_index(number)

    def as_index(self, value: Value) -> Value:
        """An integer as an index value."""
        if value.type == INDEX:
            return value
        return self.b.add("arith.index_cast", (value,), [INDEX], hint=value.name)[0]

    def every(self, conditions: Sequence[Value]) -> Value:
        """Whether all hold."""
        return self._joined("arith.andi", conditions, otherwise=1)

    def some(self, conditions: Sequence[Value]) -> Value:
        """Whether one holds."""
        return self._joined("arith.ori", conditions, otherwise=0)

    def _joined(self, name: str, conditions: Sequence[Value], otherwise: int) -> Value:
        if not conditions:
            return self.b.constant(otherwise, I1)
        return reduce(lambda a, b: self.b.add(name, (a, b), [I1])[0], conditions)

    # -- arithmetic ------------------------------------------------------------------

    def extent(self, memref: Value, dimension: int) -> Value:
        """The extent of a buffer."""
        shape = memref.type.shape if isinstance(memref.type, MemRefType) else ()
        extent = shape[dimension]
        if extent is not None:
            return self.value(extent)
        at = self.value(dimension)
        return self.b.add("memref.dim", (memref, at), [INDEX], hint="extent")[0]

    def plus(self, left: Value, right: Value | int) -> Value:
        """A sum."""
        return index_operation(self.b, "arith.addi", left, self.value(right))

    def minus(self, left: Value, right: Value | int) -> Value:
        """A difference."""
        return index_operation(self.b, "arith.subi", left, self.value(right))

    def times(self, left: Value, right: Value | int) -> Value:
        """A product."""
        return index_operation(self.b, "arith.muli", left, self.value(right))

    def differ(self, left: Value, right: Value) -> Value:
        """Whether two numbers are not the same."""
        return self._compared("ne", left, right)

    def below(self, left: Value, right: Value | int) -> Value:
        """Whether one number is less than another."""
        return self._compared("slt", left, right)

    def outside(self, first: Value, last: Value, extent: Value) -> Value:
        """Whether a range, both ends included, leaves ``[0, extent)``."""
        low = self.below(first, 0)
        return self.some([low, self._compared("sge", last, extent)])
