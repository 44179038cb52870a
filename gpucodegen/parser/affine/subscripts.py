"""Affine subscripts of SSA values: ``[%i + 1, symbol(%n)]``."""

from __future__ import annotations

from dataclasses import dataclass, field

from gpucodegen.ir.affine.expressions import AffineExpr, Dim, Sym
from gpucodegen.ir.affine.maps import AffineMap
from gpucodegen.ir.operation import Value
from gpucodegen.ir.types import INDEX
from gpucodegen.parser.affine.maps import parse_sum
from gpucodegen.parser.parser import Parser


@dataclass(slots=True)
class _Operands:
    dims: dict[Value, AffineExpr] = field(default_factory=dict[Value, AffineExpr])
    syms: dict[Value, AffineExpr] = field(default_factory=dict[Value, AffineExpr])

    def place(self, value: Value, *, is_symbol: bool) -> AffineExpr:
        """What stands for a value; it keeps the role in which it comes first."""
        known = self.dims.get(value) or self.syms.get(value)
        if known is None and is_symbol:
            known = self.syms[value] = Sym(len(self.syms))
        elif known is None:
            known = self.dims[value] = Dim(len(self.dims))
        return known

    def applied(self, results: list[AffineExpr]) -> tuple[AffineMap, list[Value]]:
        """The map of these results, and its operands."""
        map_ = AffineMap(len(self.dims), len(self.syms), tuple(results))
        return map_, [*self.dims, *self.syms]


def parse_subscripts(
    p: Parser, opening: str, closing: str
) -> tuple[AffineMap, list[Value]]:
    """``[%i + 1, symbol(%n)]`` as a map and its operands."""
    operands = _Operands()

    def leaf() -> AffineExpr:
        return _value_leaf(p, operands)

    return operands.applied(p.listed(opening, closing, lambda: parse_sum(p, leaf)))


def parse_subscript(p: Parser) -> tuple[AffineMap, list[Value]]:
    """``%i + 1`` as a map of one result and its operands."""
    operands = _Operands()
    return operands.applied([parse_sum(p, lambda: _value_leaf(p, operands))])


def _value_leaf(p: Parser, operands: _Operands) -> AffineExpr:
    if p.token == "symbol":
        p.advance()
        p.expect("(")
        value = p.resolve(p.use(), INDEX)
        p.close("(", ")")
        return operands.place(value, is_symbol=True)
    if p.token[:1] != "%":
        raise p.unexpected("an affine expression of index values")
    value = p.resolve(p.use(), INDEX)
    return operands.place(value, is_symbol=False)
