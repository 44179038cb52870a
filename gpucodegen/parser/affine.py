"""Parser of affine maps, integer sets and subscripts of SSA values.

Subscripts are written as ``[%i + 1, symbol(%n)]``. Grammar::

    map  ::= (dims)[syms] -> (expr, ..)        set ::= (dims)[syms] : (constraint, ..)
    expr ::= term ((+|-) term)*
    term ::= factor ((*|mod|floordiv|ceildiv) factor)*
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import field

from gpucodegen import errors
from gpucodegen.ir.affine import (
    AffineExpr,
    AffineMap,
    Const,
    Constraint,
    Dim,
    IntegerSet,
    Sym,
    binary,
    leaves,
)
from gpucodegen.ir.operation import Value
from gpucodegen.ir.types import INDEX
from gpucodegen.parser.parser import Parser
from gpucodegen.records import dataclass

_OLD_PRODUCTS = {"div": "floordiv", "%": "mod"}
_PRODUCTS = frozenset(["*", "mod", "floordiv", "ceildiv", "div"])
_COMPARISONS = ("==", ">=", "<=")
_RESERVED = frozenset(["mod", "floordiv", "ceildiv", "symbol"])

Leaf = Callable[[], AffineExpr]


@dataclass(slots=True)
class _Names:
    """The dimensions and symbols a map or set declares."""

    exprs: dict[str, AffineExpr] = field(default_factory=dict[str, AffineExpr])
    num_dims: int = 0
    num_syms: int = 0


def parse_map(p: Parser) -> AffineMap:
    """``(d0)[s0] -> (d0 + s0)``."""
    names = _signature(p)
    p.expect("->")
    return map_results(p, names)


def map_results(p: Parser, names: _Names) -> AffineMap:
    """The part of a map after its arrow."""
    leaf = _named_leaf(p, names)
    results = p.listed("(", ")", lambda: parse_sum(p, leaf))
    _skip_sizes(p, leaf, len(results))
    return AffineMap(names.num_dims, names.num_syms, tuple(results))


def _skip_sizes(p: Parser, leaf: Leaf, results: int) -> None:
    """Skip ``size (16, min(s0, 4))`` of old maps, which has no meaning today."""
    if p.token != "size":
        return
    p.advance()
    start = p.start
    count = len(p.listed("(", ")", lambda: _skip_size(p, leaf)))
    if count != results:
        raise errors.InvalidAffine(
            p.location(start),
            problem=f"there are {count} sizes for {results} results",
            hint="Write one size per result",
        )


def _skip_size(p: Parser, leaf: Leaf) -> None:
    if p.accept("min"):
        p.listed("(", ")", lambda: parse_sum(p, leaf))
    else:
        parse_sum(p, leaf)


def parse_set(p: Parser) -> IntegerSet:
    """``(d0)[s0] : (d0 - s0 >= 0)``."""
    names = _signature(p)
    p.expect(":")
    return set_constraints(p, names)


def set_constraints(p: Parser, names: _Names) -> IntegerSet:
    """The part of a set after its colon."""
    leaf = _named_leaf(p, names)
    constraints = p.listed("(", ")", lambda: _constraint(p, leaf))
    return IntegerSet(names.num_dims, names.num_syms, tuple(constraints))


def parse_map_or_set(p: Parser) -> AffineMap | IntegerSet:
    """A map or set of old text without ``affine_map<>`` around it."""
    names = _signature(p)
    if p.accept("->"):
        return map_results(p, names)
    if p.accept(":"):
        return set_constraints(p, names)
    advice = "Remove the comma" if p.at(",") else ""
    raise p.unexpected("'->' or ':'", advice)


def _signature(p: Parser) -> _Names:
    names = _Names()
    names.num_dims = len(p.listed("(", ")", lambda: _declare(p, names, Dim)))
    if p.token == "[":
        names.num_syms = len(p.listed("[", "]", lambda: _declare(p, names, Sym)))
    return names


def _declare(p: Parser, names: _Names, kind: type[Dim | Sym]) -> None:
    start = p.start
    name = p.keyword("a dimension or symbol name")
    if name in names.exprs or name in _RESERVED:
        raise errors.InvalidAffine(
            p.location(start),
            problem=f"'{name}' cannot be declared here",
            hint="Use each name once, and none of mod, floordiv, ceildiv, symbol",
        )
    position = sum(isinstance(e, kind) for e in names.exprs.values())
    names.exprs[name] = kind(position)


def _named_leaf(p: Parser, names: _Names) -> Leaf:
    def leaf() -> AffineExpr:
        expr = names.exprs.get(p.token)
        if expr is None:
            raise _unknown_name(p, names)
        p.advance()
        return expr

    return leaf


def _unknown_name(p: Parser, names: _Names) -> errors.ParseError:
    if not p.token[:1].isalpha():
        return p.unexpected("an affine expression")
    known = list(names.exprs)
    return errors.InvalidAffine(
        p.location(),
        problem=f"'{p.token}' is not declared by this map or set",
        hint=errors.did_you_mean(p.token, known, "Declare it before the arrow"),
    )


# -- expressions -----------------------------------------------------------------------


def parse_sum(p: Parser, leaf: Leaf) -> AffineExpr:
    """A sum; ``leaf`` reads the names."""
    expr = _product(p, leaf)
    while p.token in ("+", "-"):
        sign = p.advance()
        expr = binary(sign, expr, _product(p, leaf))
    return expr


def _product(p: Parser, leaf: Leaf) -> AffineExpr:
    """A chain of products; the operators associate to the left."""
    expr = _factor(p, leaf)
    depth = p.depth
    while p.token in _PRODUCTS or (p.is_of_2018 and p.token == "%"):
        p.deepen()
        start = p.start
        op = p.advance()
        op = _today(p, op, start)
        expr = _checked(p, op, expr, _factor(p, leaf), start)
    p.depth = depth
    return expr


def _today(p: Parser, op: str, start: int) -> str:
    """Today's spelling of an operator; warns if the text has another one."""
    meant = _OLD_PRODUCTS.get(op, op)
    if meant != op:
        place = p.location(start)
        p.warn(errors.OldSpelling(place, written=op, meant=meant))
    return meant


def _factor(p: Parser, leaf: Leaf) -> AffineExpr:
    token = p.token
    if token == "-":
        p.advance()
        with p.nested():
            return -_factor(p, leaf)
    if token == "(":
        p.advance()
        with p.nested():
            expr = parse_sum(p, leaf)
        p.close("(", ")")
        return expr
    if token[:1].isdigit():
        return Const(_constant(p))
    return leaf()


def _constant(p: Parser) -> int:
    start = p.start
    value = p.integer()
    if value > 1 << 63:
        raise errors.LiteralOutOfRange(p.location(start), literal=value, type=INDEX)
    return value


def _checked(
    p: Parser, op: str, lhs: AffineExpr, rhs: AffineExpr, start: int
) -> AffineExpr:
    """The product, once its right operand is one that affine expressions allow."""
    if op == "*":
        if _mentions_dims(lhs) and _mentions_dims(rhs):
            raise errors.InvalidAffine(
                p.location(start),
                problem="a product of two dimensions is not affine",
                hint="One factor must be a constant or a symbol",
            )
        return binary(op, lhs, rhs)
    if _mentions_dims(rhs):
        raise errors.InvalidAffine(
            p.location(start),
            problem=f"the right side of {op} must not depend on a dimension",
            hint="Divide by a constant or a symbol",
        )
    return binary(op, lhs, rhs)


def _mentions_dims(expr: AffineExpr) -> bool:
    return any(isinstance(leaf, Dim) for leaf in leaves(expr))


def _constraint(p: Parser, leaf: Leaf) -> Constraint:
    lhs = parse_sum(p, leaf)
    if p.token not in _COMPARISONS:
        raise p.unexpected("'==', '>=' or '<='")
    comparison = p.advance()
    rhs = parse_sum(p, leaf)
    difference = rhs - lhs if comparison == "<=" else lhs - rhs
    return Constraint(difference, equality=comparison == "==")


# -- lookahead -------------------------------------------------------------------------

_BLANK = r"(?:\s|//[^\n]*\n)*"
_MAP_AHEAD = re.compile(
    rf"""\({_BLANK}([A-Za-z_]\w*)?(?:[\w\s,]|//[^\n]*\n)*\){_BLANK}
    (?:(,?\s*\[)|(:{_BLANK}\()|(->){_BLANK}\(?{_BLANK}([^\s]))""",
    re.ASCII | re.VERBOSE,
)


def looks_like_map(p: Parser) -> bool:
    """Whether ``(`` starts a bare map or set rather than a function type."""
    match = _MAP_AHEAD.match(p.text, p.start)
    if match is None:
        return False
    first, has_symbols, has_colon, _, result = match.groups()
    if has_symbols or has_colon:
        return True
    if first is None:
        return result.isdigit() or result == "-"
    return first not in p.type_cache and not _INTEGER.fullmatch(first)


_INTEGER = re.compile(r"[su]?i\d+")


@dataclass(slots=True)
class _Operands:
    dims: dict[Value, AffineExpr] = field(default_factory=dict[Value, AffineExpr])
    syms: dict[Value, AffineExpr] = field(default_factory=dict[Value, AffineExpr])

    def place(self, value: Value, *, is_symbol: bool) -> AffineExpr:
        """The dimension or symbol for a value, in the role of its first occurrence."""
        known = self.dims.get(value) or self.syms.get(value)
        if known is None and is_symbol:
            known = self.syms[value] = Sym(len(self.syms))
        elif known is None:
            known = self.dims[value] = Dim(len(self.dims))
        return known

    def applied(self, results: list[AffineExpr]) -> tuple[AffineMap, list[Value]]:
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
    if p.accept("symbol"):
        p.expect("(")
        value = p.resolve(p.use(), INDEX)
        p.close("(", ")")
        return operands.place(value, is_symbol=True)
    if p.token[:1] != "%":
        raise p.unexpected("an affine expression of index values")
    value = p.resolve(p.use(), INDEX)
    return operands.place(value, is_symbol=False)
