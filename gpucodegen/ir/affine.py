"""Affine expressions, maps and integer sets: immutable, simplified when built.

Grammar: ``expr ::= d<i> | s<i> | <int> | expr + expr | expr * expr | expr mod expr |
expr floordiv expr | expr ceildiv expr``. Sums are flat with one constant at the end,
products keep their constant on the right, so equal expressions are mostly equal values
and print alike. Maps and sets print as in MLIR, compose and evaluate.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import assert_never

from gpucodegen.records import dataclass


class AffineExpr:
    """Base of the expression nodes; Python operators build simplified expressions.

    >>> d0, s0 = Dim(0), Sym(0)
    >>> print((d0 * 4 + s0) % 2 + (d0 - d0))
    (d0 * 4 + s0) mod 2
    """

    __slots__ = ()

    def __add__(self, other: AffineExpr | int) -> AffineExpr:
        return add(self, to_expr(other))

    def __radd__(self, other: int) -> AffineExpr:
        return add(to_expr(other), self)

    def __sub__(self, other: AffineExpr | int) -> AffineExpr:
        return add(self, mul(to_expr(other), Const(-1)))

    def __rsub__(self, other: int) -> AffineExpr:
        return add(to_expr(other), mul(self, Const(-1)))

    def __neg__(self) -> AffineExpr:
        return mul(self, Const(-1))

    def __mul__(self, other: AffineExpr | int) -> AffineExpr:
        return mul(self, to_expr(other))

    def __rmul__(self, other: int) -> AffineExpr:
        return mul(self, to_expr(other))

    def __mod__(self, other: AffineExpr | int) -> AffineExpr:
        return mod(self, to_expr(other))

    def __floordiv__(self, other: AffineExpr | int) -> AffineExpr:
        return floordiv(self, to_expr(other))

    def ceildiv(self, other: AffineExpr | int) -> AffineExpr:
        """``ceil(self / other)`` for a positive ``other``."""
        return ceildiv(self, to_expr(other))


@dataclass(frozen=True, slots=True)
class Dim(AffineExpr):
    """Dimension ``d<position>``."""

    position: int

    def __str__(self) -> str:
        return f"d{self.position}"


@dataclass(frozen=True, slots=True)
class Sym(AffineExpr):
    """Symbol ``s<position>``."""

    position: int

    def __str__(self) -> str:
        return f"s{self.position}"


@dataclass(frozen=True, slots=True)
class Const(AffineExpr):
    """Integer constant."""

    value: int

    def __str__(self) -> str:
        return str(self.value)


_NUMBERS = {op: n for n, op in enumerate(("+", "*", "mod", "floordiv", "ceildiv"))}


@dataclass(frozen=True, slots=True)
class Binary(AffineExpr):
    """``lhs op rhs`` with ``op`` one of ``+ * mod floordiv ceildiv``.

    Expressions are keys of `linear_form`, so a node keeps its hash: of numbers alone,
    which is the same in each process.
    """

    op: str
    lhs: AffineExpr
    rhs: AffineExpr
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        value = hash((_NUMBERS[self.op], self.lhs, self.rhs))
        object.__setattr__(self, "_hash", value)

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        return text(self)


Expr = Dim | Sym | Const | Binary


def text(expr: AffineExpr, dims: Sequence[str] = (), syms: Sequence[str] = ()) -> str:
    """The expression with names in place of dimensions and symbols.

    >>> print(text(Dim(0) * 4 - Sym(0), ["%i"], ["symbol(%n)"]))
    %i * 4 - symbol(%n)
    """
    match expr:
        case Dim(position) if dims:
            return dims[position]
        case Sym(position) if syms:
            return syms[position]
        case Binary("+", lhs, rhs):
            return _text_of_sum(text(lhs, dims, syms), rhs, dims, syms)
        case Binary("*", lhs, Const(-1)):
            return f"-{_factor(lhs, dims, syms)}"
        case Binary(op, lhs, rhs):
            return f"{_factor(lhs, dims, syms)} {op} {_factor(rhs, dims, syms)}"
        case _:
            return str(expr)


def _factor(expr: AffineExpr, dims: Sequence[str], syms: Sequence[str]) -> str:
    shown = text(expr, dims, syms)
    return f"({shown})" if isinstance(expr, Binary) else shown


def _text_of_sum(
    left: str, rhs: AffineExpr, dims: Sequence[str], syms: Sequence[str]
) -> str:
    match rhs:
        case Const(value) if value < 0:
            return f"{left} - {-value}"
        case Binary("*", inner, Const(-1)):
            return f"{left} - {_factor(inner, dims, syms)}"
        case Binary("*", inner, Const(value)) if value < 0:
            return f"{left} - {_factor(inner, dims, syms)} * {-value}"
        case _:
            return f"{left} + {text(rhs, dims, syms)}"


def to_expr(value: AffineExpr | int) -> AffineExpr:
    """Turn an ``int`` into a constant; leave expressions alone."""
    return Const(value) if isinstance(value, int) else value


Terms = dict[AffineExpr, int]
"""The coefficients of the terms of a sum."""


def _terms(expr: AffineExpr) -> tuple[Terms, int]:
    """Split a sum into coefficients per non-constant term and a constant."""
    terms: Terms = {}
    constant = 0
    work: list[tuple[AffineExpr, int]] = [(expr, 1)]
    while work:
        node, factor = work.pop()
        # Comparing types and operators takes half as long as class patterns.
        if isinstance(node, Const):
            constant += factor * node.value
        elif not isinstance(node, Binary):
            terms[node] = terms.get(node, 0) + factor
        elif node.op == "+":
            work += [(node.rhs, factor), (node.lhs, factor)]
        elif node.op == "*" and isinstance(node.rhs, Const):
            work.append((node.lhs, factor * node.rhs.value))
        else:
            terms[node] = terms.get(node, 0) + factor
    return _without_zeros(terms), constant


def _without_zeros(terms: Terms) -> Terms:
    if 0 not in terms.values():
        return terms
    return {term: c for term, c in terms.items() if c}


def _collected(terms: Terms, more: Terms) -> Terms:
    """The sum of two sums; the first one is changed."""
    for term, c in more.items():
        terms[term] = terms.get(term, 0) + c
    return _without_zeros(terms)


def from_linear_form(terms: Mapping[AffineExpr, int], constant: int) -> AffineExpr:
    """The sum of terms, none of them a sum, and a constant: `linear_form` reversed.

    >>> print(from_linear_form({Dim(0): 3}, -2))
    d0 * 3 - 2
    """
    parts: list[AffineExpr] = [
        term if c == 1 else Binary("*", term, Const(c)) for term, c in terms.items()
    ]
    if constant or not parts:
        parts.append(Const(constant))
    result = parts[0]
    for part in parts[1:]:
        result = Binary("+", result, part)
    return result


def add(lhs: AffineExpr, rhs: AffineExpr) -> AffineExpr:
    """``lhs + rhs`` with like terms collected."""
    terms, constant = _terms(lhs)
    more, offset = _terms(rhs)
    return from_linear_form(_collected(terms, more), constant + offset)


def mul(lhs: AffineExpr, rhs: AffineExpr) -> AffineExpr:
    """``lhs * rhs``; constants move right and distribute over sums."""
    if isinstance(lhs, Const):
        lhs, rhs = rhs, lhs
    if not isinstance(rhs, Const):
        return Binary("*", lhs, rhs)
    terms, constant = _terms(lhs)
    return from_linear_form(_scaled(terms, rhs.value), constant * rhs.value)


def _scaled(terms: Terms, factor: int) -> Terms:
    return {t: c * factor for t, c in terms.items()} if factor else {}


def mod(lhs: AffineExpr, rhs: AffineExpr) -> AffineExpr:
    """``lhs mod rhs``, in ``[0, rhs)`` for positive ``rhs``."""
    if isinstance(rhs, Const) and rhs.value > 0:
        if isinstance(lhs, Const):
            return Const(lhs.value % rhs.value)
        terms, constant = _terms(lhs)
        if all(c % rhs.value == 0 for c in terms.values()):
            return Const(constant % rhs.value)
    return Binary("mod", lhs, rhs)


def floordiv(lhs: AffineExpr, rhs: AffineExpr) -> AffineExpr:
    """``floor(lhs / rhs)``."""
    exact = _exact_quotient(lhs, rhs, lambda a, b: a // b)
    return Binary("floordiv", lhs, rhs) if exact is None else exact


def ceildiv(lhs: AffineExpr, rhs: AffineExpr) -> AffineExpr:
    """``ceil(lhs / rhs)``."""
    exact = _exact_quotient(lhs, rhs, lambda a, b: -(-a // b))
    return Binary("ceildiv", lhs, rhs) if exact is None else exact


def _exact_quotient(
    lhs: AffineExpr, rhs: AffineExpr, divide: Callable[[int, int], int]
) -> AffineExpr | None:
    """Quotient when every coefficient of ``lhs`` is a multiple of ``rhs``."""
    if not isinstance(rhs, Const) or rhs.value <= 0:
        return None
    terms, constant = _terms(lhs)
    if any(c % rhs.value for c in terms.values()):
        return None
    quotients = {t: c // rhs.value for t, c in terms.items()}
    return from_linear_form(quotients, divide(constant, rhs.value))


_BUILD: dict[str, Callable[[AffineExpr, AffineExpr], AffineExpr]] = {
    "+": add,
    "*": mul,
    "mod": mod,
    "floordiv": floordiv,
    "ceildiv": ceildiv,
}


def binary(op: str, lhs: AffineExpr, rhs: AffineExpr) -> AffineExpr:
    """Build ``lhs op rhs`` simplified; ``op`` as in :class:`Binary`, or ``-``."""
    return lhs - rhs if op == "-" else _BUILD[op](lhs, rhs)


def linear_form(expr: AffineExpr) -> tuple[dict[AffineExpr, int], int]:
    """Coefficient per non-constant term (dims, symbols, quasi-affine), and constant.

    >>> {str(t): c for t, c in linear_form(Dim(0) * 3 - 2)[0].items()}
    {'d0': 3}
    """
    return _terms(expr)


def leaves(expr: AffineExpr) -> Iterable[AffineExpr]:
    """All dimension and symbol nodes, left to right, with repetition."""
    if isinstance(expr, Binary):
        yield from leaves(expr.lhs)
        yield from leaves(expr.rhs)
    elif not isinstance(expr, Const):
        yield expr


def substitute(
    expr: AffineExpr, dims: Sequence[AffineExpr], syms: Sequence[AffineExpr] = ()
) -> AffineExpr:
    """Replace dimensions and symbols by expressions.

    >>> print(substitute(Dim(0) * 2 + Sym(0), [Dim(1) + 1], [Const(5)]))
    d1 * 2 + 7
    """
    match expr:
        case Dim(position):
            return dims[position]
        case Sym(position):
            return syms[position]
        case Binary("+") | Binary("*", _, Const()):
            return from_linear_form(*_substituted_terms(expr, dims, syms))
        case Binary(op, lhs, rhs):
            return binary(op, substitute(lhs, dims, syms), substitute(rhs, dims, syms))
        case _:
            return expr


def _substituted_terms(
    expr: AffineExpr, dims: Sequence[AffineExpr], syms: Sequence[AffineExpr]
) -> tuple[Terms, int]:
    """The terms of a sum after `substitute`, in the order in which `add` leaves them.

    The sum is built once, not for each of its terms.
    """
    match expr:
        case Binary("+", lhs, rhs):
            terms, constant = _substituted_terms(lhs, dims, syms)
            more, offset = _substituted_terms(rhs, dims, syms)
            return _collected(terms, more), constant + offset
        case Binary("*", lhs, Const(factor)):
            terms, constant = _substituted_terms(lhs, dims, syms)
            return _scaled(terms, factor), constant * factor
        case _:
            return _terms(substitute(expr, dims, syms))


_EVALUATE: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "*": operator.mul,
    "mod": operator.mod,
    "floordiv": lambda a, b: a // b,
    "ceildiv": lambda a, b: -(-a // b),
}


def evaluate(expr: AffineExpr, dims: Sequence[int], syms: Sequence[int] = ()) -> int:
    """Value of the expression at integer dimensions and symbols."""
    node: Expr = expr  # type: ignore[assignment]
    match node:
        case Dim(position):
            return dims[position]
        case Sym(position):
            return syms[position]
        case Const(value):
            return value
        case Binary(op, lhs, rhs):
            left, right = evaluate(lhs, dims, syms), evaluate(rhs, dims, syms)
            return _EVALUATE[op](left, right)
        case _:
            assert_never(node)


def divisor_of(expr: AffineExpr, divisors: Sequence[int]) -> int:
    """A divisor of an expression whose dimensions have the given divisors.

    >>> divisor_of(Dim(0) * 4 + 8, [1])
    4
    """
    match expr:
        case Const(value):
            return abs(value)
        case Dim(position):
            return divisors[position]
        case Binary("+", lhs, rhs):
            return math.gcd(divisor_of(lhs, divisors), divisor_of(rhs, divisors))
        case Binary("*", lhs, rhs):
            return divisor_of(lhs, divisors) * divisor_of(rhs, divisors)
        case Binary("mod", lhs, rhs):
            return math.gcd(divisor_of(lhs, divisors), divisor_of(rhs, divisors))
        case Binary("floordiv", lhs, Const(value)):
            whole = divisor_of(lhs, divisors)
            return whole // value if value > 0 and whole % value == 0 else 1
        case _:
            return 1


def _signature(num_dims: int, num_syms: int) -> str:
    dims = ", ".join(f"d{i}" for i in range(num_dims))
    syms = ", ".join(f"s{i}" for i in range(num_syms))
    return f"({dims})" + (f"[{syms}]" if num_syms else "")


@dataclass(frozen=True, slots=True)
class AffineMap:
    """``(d0, ..)[s0, ..] -> (results)``.

    >>> print(AffineMap(2, 0, (Dim(1), Dim(0))))
    (d0, d1) -> (d1, d0)
    """

    num_dims: int
    num_syms: int
    results: tuple[AffineExpr, ...]

    def __str__(self) -> str:
        results = ", ".join(map(str, self.results))
        return f"{_signature(self.num_dims, self.num_syms)} -> ({results})"

    @property
    def num_inputs(self) -> int:
        return self.num_dims + self.num_syms

    @property
    def is_identity(self) -> bool:
        return self.num_syms == 0 and self == AffineMap.identity(self.num_dims)

    @staticmethod
    def identity(rank: int) -> AffineMap:
        return AffineMap(rank, 0, tuple(Dim(i) for i in range(rank)))

    @staticmethod
    def constant(*values: int) -> AffineMap:
        """The map ``() -> (values)``."""
        return AffineMap(0, 0, tuple(map(Const, values)))

    def evaluate(
        self, dims: Sequence[int], syms: Sequence[int] = ()
    ) -> tuple[int, ...]:
        """Results at integer inputs."""
        return tuple(
            [
                dims[r.position] if type(r) is Dim else evaluate(r, dims, syms)
                for r in self.results
            ]
        )

    def compose(self, inner: AffineMap) -> AffineMap:
        """``self`` after ``inner``; symbols of ``self`` come before those of ``inner``.

        >>> outer = AffineMap(1, 0, (Dim(0) * 2,))
        >>> print(outer.compose(AffineMap(2, 0, (Dim(0) + Dim(1),))))
        (d0, d1) -> (d0 * 2 + d1 * 2)
        """
        shifted = [Sym(i + self.num_syms) for i in range(inner.num_syms)]
        dims = [Dim(i) for i in range(inner.num_dims)]
        values = [substitute(r, dims, shifted) for r in inner.results]
        own = [Sym(i) for i in range(self.num_syms)]
        results = tuple(substitute(r, values, own) for r in self.results)
        return AffineMap(inner.num_dims, self.num_syms + inner.num_syms, results)


@dataclass(frozen=True, slots=True)
class Constraint:
    """``expr == 0`` if ``equality`` else ``expr >= 0``."""

    expr: AffineExpr
    equality: bool

    def __str__(self) -> str:
        return f"{self.expr} {'==' if self.equality else '>='} 0"


@dataclass(frozen=True, slots=True)
class IntegerSet:
    """``(d0, ..)[s0, ..] : (constraints)``.

    >>> print(IntegerSet(1, 1, (Constraint(Sym(0) - Dim(0) - 1, equality=False),)))
    (d0)[s0] : (s0 - d0 - 1 >= 0)
    """

    num_dims: int
    num_syms: int
    constraints: tuple[Constraint, ...]

    def __str__(self) -> str:
        constraints = ", ".join(map(str, self.constraints))
        return f"{_signature(self.num_dims, self.num_syms)} : ({constraints})"

    @property
    def num_inputs(self) -> int:
        return self.num_dims + self.num_syms

    def contains(self, dims: Sequence[int], syms: Sequence[int] = ()) -> bool:
        """Whether the point satisfies every constraint."""
        return all(
            (value == 0) if c.equality else (value >= 0)
            for c in self.constraints
            for value in (evaluate(c.expr, dims, syms),)
        )
