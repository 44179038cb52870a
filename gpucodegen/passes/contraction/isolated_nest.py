"""Rebasing of inner nests: a nest inside other loops in the form `recognize` expects.

A loop whose bounds, but not extent, depend on enclosing loops is rebased to zero:

    for i = x to x + 32 { a[i - x, ..] }      =>   for i = 0 to 32 { a[i, ..] }

An index that is constant within the nest, such as a buffer slot, becomes a value:

    a[(k floordiv 16) mod 2, i, j]    =>    a[s, i, j]  with  s = (k floordiv 16) mod 2
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from gpucodegen.dialects import affine
from gpucodegen.ir.affine import AffineExpr, Dim, linear_form, to_expr
from gpucodegen.ir.attributes import AffineMapAttr
from gpucodegen.ir.operation import Operation, Value, rewrite_bottom_up, segment_counts
from gpucodegen.ir.types import INDEX
from gpucodegen.passes.framework.indexing import (
    Index,
    as_map,
    bounds_of,
    compact,
    from_map,
    replace_values,
)
from gpucodegen.records import dataclass


@dataclass(frozen=True, slots=True)
class IsolatedNest:
    """A nest that depends on ``terms`` only: values computed in enclosing loops."""

    nest: Operation
    terms: dict[Value, Index]


def isolated(nest: Operation) -> IsolatedNest:
    """The nest with a value for each term that none of its loops moves.

    >>> import gpucodegen as gcg
    >>> module = gcg.parse('''func.func @f(%a: memref<2x8x64xf32>) {
    ...   affine.for %k = 0 to 64 step 8 {
    ...     affine.for %i = affine_map<(d0) -> (d0)>(%k)
    ...         to affine_map<(d0) -> (d0 + 8)>(%k) {
    ...       %v = affine.load %a[(%k floordiv 8) mod 2, %i - %k, %i]
    ...           : memref<2x8x64xf32>
    ...     }
    ...   }
    ...   return
    ... }''')
    >>> _, inner = (op for op in module.walk() if op.name == "affine.for")
    >>> found = isolated(inner)
    >>> [str(index.expr) for index in found.terms.values()]
    ['(d0 floordiv 8) mod 2']
    >>> print(found.nest.body.operations[0].attributes["map"])
    affine_map<(d0, d1, d2) -> (d0, d1, d2 + d1)>
    """
    own = {value for op in nest.walk() for value in op.defined}
    rewriting = _Alone(own, dict(_starts(nest, own)))
    (found,) = rewrite_bottom_up(nest, rewriting.rewritten)
    return IsolatedNest(
        found, {value: index for index, value in rewriting.named.items()}
    )


def _starts(nest: Operation, own: set[Value]) -> Iterator[tuple[Value, Index]]:
    """Lower bounds of loops that enclosing loops shift without changing the extent."""
    for op in nest.walk():
        if op.name != "affine.for" or op.results:
            continue
        loop = affine.For(op)
        (lower, *lowers), (upper, *uppers) = bounds_of(loop)
        is_open = lower.constant is None and own.isdisjoint(lower.values)
        is_known = compact(upper - lower).constant is not None
        if is_open and is_known and not (lowers or uppers):
            yield loop.iv, lower


@dataclass(slots=True)
class _Alone:
    """``own``: the values of the nest; ``starts``: of loops that are rebased to 0.

    ``named``: the terms that have a value.
    """

    own: set[Value]
    starts: dict[Value, Index]
    named: dict[Index, Value] = field(default_factory=dict[Index, Value])

    def rewritten(self, op: Operation) -> list[Operation] | None:
        """A loop from zero, or an access with linear indices; None for others."""
        if op.name in affine.ACCESSES:
            return self._access(op)
        if op.name == "affine.for" and affine.For(op).iv in self.starts:
            return [self._from_zero(op)]
        return None

    def _from_zero(self, op: Operation) -> Operation:
        loop = affine.For(op)
        (upper,) = from_map(loop.upper_map, loop.upper_operands)
        extent = compact(upper - self.starts[loop.iv])
        bounds = [as_map([bound])[0] for bound in (0, extent)]
        names = "lowerBoundMap", "upperBoundMap"
        maps = dict(zip(names, map(AffineMapAttr, bounds), strict=True))
        none = {"operandSegmentSizes": segment_counts(0, 0, 0)}
        return op.with_(operands=(), attributes={**op.attributes, **maps, **none})

    def _access(self, op: Operation) -> list[Operation] | None:
        attribute = op.attributes["map"]
        assert isinstance(attribute, AffineMapAttr)
        first = 1 if op.results else 2
        old = from_map(attribute.map, op.operands[first:])
        new = [self._linear(self._moved(index)) for index in old]
        if new == old:
            return None
        map_, operands = as_map(new)
        attributes = {**op.attributes, "map": AffineMapAttr(map_)}
        moved = (*op.operands[:first], *operands)
        return [op.with_(operands=moved, attributes=attributes)]

    def _moved(self, index: Index) -> Index:
        """An index with rebased loops, whose variables keep their names."""
        return replace_values(index, {iv: s + iv for iv, s in self.starts.items()})

    def _linear(self, index: Index) -> Index:
        terms, constant = linear_form(index.expr)
        total = Index(to_expr(constant))
        for term, factor in terms.items():
            total = total + self._named(term, index) * factor
        return compact(total)

    def _named(self, term: AffineExpr, index: Index) -> Index:
        """A term, or its value."""
        whole = compact(Index(term, index.values))
        if isinstance(term, Dim) or not self.own.isdisjoint(whole.values):
            return whole
        if whole not in self.named:
            self.named[whole] = Value(INDEX, "term")
        return Index.of(self.named[whole])
