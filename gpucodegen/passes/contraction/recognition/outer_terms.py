"""What a nest reads of the loops around it, as values of its own.

A nest inside of other loops has indices such as ``(k floordiv 16) mod 2``: the slot that
a loop around it has filled.  No loop of the nest moves that, so for the nest it is one
number.  `recognize` takes indices that are linear; so each such term becomes a value:

    a[(k floordiv 16) mod 2, i, j]    =>    a[s, i, j]  with  s = (k floordiv 16) mod 2
"""

from __future__ import annotations

from dataclasses import dataclass, field

from gpucodegen.dialects.affine import ACCESSES
from gpucodegen.ir.affine.expressions import AffineExpr, Dim, linear_form, to_expr
from gpucodegen.ir.attributes import AffineMapAttr
from gpucodegen.ir.operation import Operation, Value, rewrite_bottom_up
from gpucodegen.ir.types import INDEX
from gpucodegen.passes.framework.indexing import Index, as_map, compact, from_map


@dataclass(slots=True)
class OuterTerms:
    """A nest whose indices are linear where they can be; ``terms``: its new values."""

    nest: Operation
    terms: dict[Value, Index]


def with_outer_terms(nest: Operation) -> OuterTerms:
    """The nest with a value in place of each term that none of its loops moves."""
    inside = {
        argument
        for op in nest.walk()
        for region in op.regions
        for block in region.blocks
        for argument in block.arguments
    }
    made = {value for op in nest.walk() for value in op.results}
    named = _Named(inside | made)
    (found,) = rewrite_bottom_up(nest, named.renamed)
    return OuterTerms(found, {value: index for index, value in named.values.items()})


@dataclass(slots=True)
class _Named:
    """``own``: the values of the nest; ``values``: of the terms that have a name."""

    own: set[Value]
    values: dict[Index, Value] = field(default_factory=dict[Index, Value])

    def renamed(self, op: Operation) -> list[Operation] | None:
        """An access with linear indices; None for what stays as it is."""
        if op.name not in ACCESSES:
            return None
        attribute = op.attributes["map"]
        assert isinstance(attribute, AffineMapAttr)
        first = 1 if op.results else 2
        old = from_map(attribute.map, op.operands[first:])
        new = [self._linear(index) for index in old]
        if new == old:
            return None
        map_, operands = as_map(new)
        attributes = {**op.attributes, "map": AffineMapAttr(map_)}
        moved = (*op.operands[:first], *operands)
        return [op.with_(operands=moved, attributes=attributes)]

    def _linear(self, index: Index) -> Index:
        terms, constant = linear_form(index.expr)
        total = Index(to_expr(constant))
        for term, factor in terms.items():
            total = total + self._named(term, index) * factor
        return total

    def _named(self, term: AffineExpr, index: Index) -> Index:
        """A term, or the value that stands for it."""
        whole = compact(Index(term, index.values))
        if isinstance(term, Dim) or not self.own.isdisjoint(whole.values):
            return whole
        if whole not in self.values:
            self.values[whole] = Value(INDEX, "slot")
        return Index.of(self.values[whole])
