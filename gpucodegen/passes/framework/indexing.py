"""Index arithmetic over SSA values, affine until it is attached to an operation.

An `Index` is an affine expression over SSA values.  After its operands are replaced or
substituted, `rewrite_maps` rebuilds the affine maps and sets of the operations that use
it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from math import gcd
from operator import eq

from gpucodegen.dialects import affine
from gpucodegen.ir.affine import (
    AffineExpr,
    AffineMap,
    Binary,
    Const,
    Constraint,
    Dim,
    IntegerSet,
    Sym,
    binary,
    from_linear_form,
    leaves,
    linear_form,
    substitute,
)
from gpucodegen.ir.attributes import (
    AffineMapAttr,
    Attribute,
    DenseArrayAttr,
    IntegerSetAttr,
)
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import I32
from gpucodegen.records import dataclass
from gpucodegen.tiling.schedule import schedule_ast as ast

IndexLike = "Index | Value | int"


@dataclass(frozen=True, slots=True)
class Index:
    """An affine expression whose ``d<i>`` stands for ``values[i]``.

    >>> from gpucodegen.ir.types import INDEX
    >>> i, j = Value(INDEX, "i"), Value(INDEX, "j")
    >>> print((Index.of(i) * 4 + j + 1).expr)
    d0 * 4 + d1 + 1
    """

    expr: AffineExpr
    values: tuple[Value, ...] = ()

    @staticmethod
    def of(item: Index | Value | int) -> Index:
        """Turn a value or an integer into an index expression."""
        match item:
            case Index():
                return item
            case int():
                return Index(Const(item))
            case _:
                return Index(Dim(0), (item,))

    def _combine(self, op: str, other: Index | Value | int) -> Index:
        right = Index.of(other)
        values, (left_expr, right_expr) = merge([self, right])
        return Index(binary(op, left_expr, right_expr), values)

    def __add__(self, other: Index | Value | int) -> Index:
        return self._combine("+", other)

    def __sub__(self, other: Index | Value | int) -> Index:
        return self._combine("-", other)

    def __mul__(self, factor: Index | Value | int) -> Index:
        return self._combine("*", factor)

    def __floordiv__(self, divisor: Index | Value | int) -> Index:
        return self._combine("floordiv", divisor)

    def ceildiv(self, divisor: Index | Value | int) -> Index:
        """The quotient rounded up; the divisor must be positive."""
        return self._combine("ceildiv", divisor)

    def __mod__(self, divisor: Index | Value | int) -> Index:
        return self._combine("mod", divisor)

    @property
    def constant(self) -> int | None:
        """The value when it is a plain integer."""
        return self.expr.value if isinstance(self.expr, Const) else None


ZERO = Index(Const(0))


def divided(index: Index, divisor: int) -> tuple[Index, Index]:
    """The quotient and the remainder of a division.

    Terms that the divisor divides belong to the quotient.  The rest is the remainder if
    remainders in it show that it is less.  Otherwise the common factor of its
    coefficients and the divisor is divided first.

    >>> from gpucodegen.ir.types import INDEX
    >>> y, t = (Index.of(Value(INDEX, name)) for name in "yt")
    >>> [str(part.expr) for part in divided(y * 64 + t % 32 // 8 + 65, 8)]
    ['d0 * 8 + 8', '(d0 mod 32) floordiv 8 + 1']
    >>> [str(part.expr) for part in divided(y * 64 + t, 8)]
    ['d0 * 8 + d1 floordiv 8', 'd0 mod 8']
    >>> [str(part.expr) for part in divided(y * 4 + 6, 8)]
    ['(d0 + 1) floordiv 2', '((d0 + 1) mod 2) * 4 + 2']
    """
    terms, constant = linear_form(index.expr)
    most: int | None = constant % divisor
    common = divisor
    wholes, others = dict[AffineExpr, int](), dict[AffineExpr, int]()
    for term, factor in terms.items():
        if factor % divisor == 0:
            wholes[term] = factor // divisor
            continue
        common = gcd(common, factor)
        others[term] = factor
        largest = _largest(term) if factor > 0 else None
        most = None if most is None or largest is None else most + factor * largest
    quotient = from_linear_form(wholes, constant // divisor)
    rest = from_linear_form(others, constant % divisor)
    if most is None or most >= divisor:
        over = constant % common
        units = (rest - over) // common
        within = divisor // common
        quotient, rest = quotient + units // within, units % within * common + over
    return compact(Index(quotient, index.values)), compact(Index(rest, index.values))


def _largest(expr: AffineExpr) -> int | None:
    """The largest value of a remainder, or of its quotient."""
    match expr:
        case Binary("mod", _, Const(divisor)):
            return divisor - 1
        case Binary("floordiv", inner, Const(divisor)):
            largest = _largest(inner)
            return None if largest is None else largest // divisor
        case _:
            return None


def merge(items: Sequence[Index]) -> tuple[tuple[Value, ...], list[AffineExpr]]:
    """Rewrite several expressions over one common list of values."""
    positions: dict[Value, int] = {}
    for item in items:
        for value in item.values:
            positions.setdefault(value, len(positions))
    exprs = [_moved(item, [positions[v] for v in item.values]) for item in items]
    return tuple(positions), exprs


def _moved(item: Index, places: Sequence[int]) -> AffineExpr:
    """The expression with other positions of its values."""
    if all(map(eq, places, count())):
        return item.expr
    return substitute(item.expr, list(map(Dim, places)))


Applied = tuple[AffineMap, Sequence[Value]]
"""A map and its operands."""


def as_map(items: Sequence[Index | Value | int]) -> tuple[AffineMap, tuple[Value, ...]]:
    """One affine map and its operands for a list of index expressions.

    Factors and divisors of other values are symbols of the map.

    >>> from gpucodegen.ir.types import INDEX
    >>> i, t = Value(INDEX, "i"), Value(INDEX, "t")
    >>> print(as_map([Index.of(i).ceildiv(t)])[0])
    (d0)[s0] -> (d0 ceildiv s0)
    """
    values, exprs = merge([Index.of(item) for item in items])
    return split_symbols(values, exprs)


def as_set(conditions: Sequence[Index]) -> tuple[IntegerSet, tuple[Value, ...]]:
    """The set where all conditions are >= 0, and its operands.

    >>> print(as_set([Index(Const(4))])[0])
    () : (4 >= 0)
    """
    map_, operands = as_map(conditions)
    constraints = tuple(Constraint(e, equality=False) for e in map_.results)
    return IntegerSet(map_.num_dims, map_.num_syms, constraints), operands


def split_symbols(
    values: Sequence[Value], exprs: Sequence[AffineExpr]
) -> tuple[AffineMap, tuple[Value, ...]]:
    """The map of expressions over dimensions, some of which must be symbols."""
    symbolic = {p for expr in exprs for p in _symbolic(expr)}
    if not symbolic:
        return AffineMap(len(values), 0, tuple(exprs)), tuple(values)
    kept = [p for p in range(len(values)) if p not in symbolic]
    order = [*kept, *sorted(symbolic)]
    targets: list[AffineExpr] = [Const(0)] * len(values)
    for place, position in enumerate(order):
        is_symbol = position in symbolic
        targets[position] = Sym(place - len(kept)) if is_symbol else Dim(place)
    results = tuple(substitute(expr, targets) for expr in exprs)
    operands = tuple(values[p] for p in order)
    return AffineMap(len(kept), len(symbolic), results), operands


def _symbolic(expr: AffineExpr) -> set[int]:
    """Positions of the dimensions in divisors and in factors that are not constant."""
    if not isinstance(expr, Binary):
        return set()
    inner = _symbolic(expr.lhs) | _symbolic(expr.rhs)
    return inner if expr.op == "+" else inner | _positions(expr.rhs)


def from_map(map_: AffineMap, operands: Sequence[Value]) -> list[Index]:
    """The results of a map applied to values (symbols are values too)."""
    dims = [Dim(i) for i in range(map_.num_dims)]
    syms = [Dim(i + map_.num_dims) for i in range(map_.num_syms)]
    whole = tuple(operands)
    results = [Index(substitute(r, dims, syms), whole) for r in map_.results]
    return [compact(index) for index in results]


def bounds_of(loop: affine.For) -> tuple[list[Index], list[Index]]:
    """The lower bounds, of which the largest counts, and the upper bounds."""
    return (
        from_map(loop.lower_map, loop.lower_operands),
        from_map(loop.upper_map, loop.upper_operands),
    )


def compact(index: Index) -> Index:
    """Drop values that do not occur and merge repeated ones."""
    used: dict[Value, int] = {}
    targets: list[AffineExpr] = []
    occurring = _positions(index.expr)
    if len(occurring) == len(set(index.values)) == len(index.values):
        return index
    for position, value in enumerate(index.values):
        if position in occurring:
            used.setdefault(value, len(used))
            targets.append(Dim(used[value]))
        else:
            targets.append(Const(0))
    return Index(substitute(index.expr, targets), tuple(used))


def _positions(expr: AffineExpr) -> set[int]:
    return {leaf.position for leaf in leaves(expr) if isinstance(leaf, Dim)}


def replace_values(index: Index, mapping: dict[Value, Index]) -> Index:
    """Substitute values of an index expression by other index expressions."""
    items = [mapping.get(v, Index.of(v)) for v in index.values]
    values, exprs = merge(items)
    return compact(Index(substitute(index.expr, exprs), values))


def substituted(index: Index, known: Mapping[Value, Index]) -> Index:
    """An index expression with known values substituted and unused ones dropped."""
    return replace_values(index, {v: known[v] for v in index.values if v in known})


Known = dict[Value, Index]


def rewrite_maps(op: Operation, known: Known) -> Operation:
    """``op`` with known index values composed into its maps."""
    rewrite = _TABLE.get(op.name)
    if rewrite is None or not any(value in known for value in op.operands):
        return op
    return rewrite(op, known)


def _known_results(
    map_attr: Attribute, operands: Sequence[Value], known: Known
) -> list[Index]:
    assert isinstance(map_attr, AffineMapAttr)
    return [substituted(index, known) for index in from_map(map_attr.map, operands)]


def _access(first: int) -> Callable[[Operation, Known], Operation]:
    """The rewrite of operations whose index operands begin at ``first``."""

    def rewrite(op: Operation, known: Known) -> Operation:
        indices = _known_results(op.attributes["map"], op.operands[first:], known)
        map_, operands = as_map(indices)
        return op.with_(
            operands=(*op.operands[:first], *operands),
            attributes={**op.attributes, "map": AffineMapAttr(map_)},
        )

    return rewrite


def _for(op: Operation, known: Known) -> Operation:
    loop = affine.For(op)
    lower = _known_results(op.attributes["lowerBoundMap"], loop.lower_operands, known)
    upper = _known_results(op.attributes["upperBoundMap"], loop.upper_operands, known)
    return with_bounds(op, as_map(lower), as_map(upper))


def with_bounds(op: Operation, lower: Applied, upper: Applied) -> Operation:
    """The ``affine.for`` with other bounds, each a map of operands."""
    (lower_map, lowers), (upper_map, uppers) = lower, upper
    inits = affine.For(op).inits
    sizes = len(lowers), len(uppers), len(inits)
    return op.with_(
        operands=(*lowers, *uppers, *inits),
        attributes={
            **op.attributes,
            "lowerBoundMap": AffineMapAttr(lower_map),
            "upperBoundMap": AffineMapAttr(upper_map),
            "operandSegmentSizes": DenseArrayAttr(I32, sizes),
        },
    )


def _parallel(op: Operation, known: Known) -> Operation:
    loop = affine.Parallel(op)
    lower = _known_results(op.attributes["lowerBoundsMap"], loop.lower_operands, known)
    upper = _known_results(op.attributes["upperBoundsMap"], loop.upper_operands, known)
    lower_map, lower_operands = as_map(lower)
    upper_map, upper_operands = as_map(upper)
    return op.with_(
        operands=(*lower_operands, *upper_operands),
        attributes={
            **op.attributes,
            "lowerBoundsMap": AffineMapAttr(lower_map),
            "upperBoundsMap": AffineMapAttr(upper_map),
        },
    )


def _if(op: Operation, known: Known) -> Operation:
    condition = op.attributes["condition"]
    assert isinstance(condition, IntegerSetAttr)
    constraints = condition.set.constraints
    indices = [
        substituted(Index(c.expr, tuple(op.operands)), known)
        for c in affine_over_dims(condition.set)
    ]
    values, exprs = merge(indices)
    map_, operands = split_symbols(values, exprs)
    rebuilt = tuple(
        Constraint(expr, equality=old.equality)
        for expr, old in zip(map_.results, constraints, strict=True)
    )
    folded = IntegerSetAttr(IntegerSet(map_.num_dims, map_.num_syms, rebuilt))
    return op.with_(
        operands=operands, attributes={**op.attributes, "condition": folded}
    )


def affine_over_dims(set_: IntegerSet) -> list[Constraint]:
    """The constraints with symbols renumbered as trailing dimensions."""
    dims = [Dim(i) for i in range(set_.num_dims)]
    syms = [Dim(i + set_.num_dims) for i in range(set_.num_syms)]
    return [
        Constraint(substitute(c.expr, dims, syms), equality=c.equality)
        for c in set_.constraints
    ]


_TABLE: dict[str, Callable[[Operation, Known], Operation]] = {
    "affine.load": _access(1),
    "affine.store": _access(2),
    "affine.vector_load": _access(1),
    "affine.vector_store": _access(2),
    "affine.apply": _access(0),
    "affine.min": _access(0),
    "affine.max": _access(0),
    "affine.for": _for,
    "affine.parallel": _parallel,
    "affine.if": _if,
}


Variables = Mapping[str, Index]


def index_of(expression: ast.Expression, known: Variables) -> Index:
    """An expression over SSA values."""
    match expression:
        case ast.Name(text):
            return known[text]
        case ast.Number(value):
            return Index.of(value)
        case ast.Term(operator, left, right):
            return _OPERATORS[operator](index_of(left, known), index_of(right, known))


def _product(left: Index, right: Index) -> Index:
    if right.constant is not None:
        return left * right.constant
    assert left.constant is not None, "products of variables are not affine"
    return right * left.constant


def _divisor(index: Index) -> int:
    assert index.constant is not None, "divisors are numbers"
    return index.constant


def _quotient(left: Index, right: Index) -> Index:
    return left // _divisor(right)


def _remainder(left: Index, right: Index) -> Index:
    return left % _divisor(right)


_OPERATORS = {
    "+": Index.__add__,
    "-": Index.__sub__,
    "*": _product,
    "floordiv": _quotient,
    "mod": _remainder,
}
