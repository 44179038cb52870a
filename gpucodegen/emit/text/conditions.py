"""Integer sets as Python conditions, each constraint with its negative terms moved."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpucodegen.emit.text.fragments import Precedence, Text
from gpucodegen.ir.affine.expressions import AffineExpr, Const, linear_form
from gpucodegen.ir.affine.maps import Constraint

Printer = Callable[[AffineExpr], Text]


def condition_text(constraints: Sequence[Constraint], text: Printer) -> Text:
    """All constraints joined by ``and``.

    >>> from gpucodegen.ir.affine.expressions import Dim
    >>> from gpucodegen.emit.text.expressions import affine_text
    >>> inside = Constraint(Dim(1) - Dim(0) - 1, equality=False)
    >>> print(condition_text([inside], lambda e: affine_text(e, ["i", "n"])))
    i < n
    """
    if not constraints:
        return Text("True")
    if len(constraints) == 1:
        return _constraint(constraints[0], text)
    parts = [_constraint(c, text).within(Precedence.AND + 1) for c in constraints]
    return Text(" and ".join(parts), Precedence.AND)


def _constraint(constraint: Constraint, text: Printer) -> Text:
    """``positive + constant >= negative`` or its equality."""
    terms, constant = linear_form(constraint.expr)
    positive, negative = _sum(terms, 1), _sum(terms, -1)
    if constraint.equality:
        return _compare(text(positive + constant), "==", text(negative))
    if positive == Const(0):
        return _compare(text(negative), "<", text(Const(constant + 1)))
    if negative == Const(0):
        return _compare(text(positive), ">=", text(Const(-constant)))
    if constant < 0:
        return _compare(text(negative + (-constant - 1)), "<", text(positive))
    return _compare(text(negative), "<=", text(positive + constant))


def _sum(terms: dict[AffineExpr, int], sign: int) -> AffineExpr:
    total: AffineExpr = Const(0)
    for term, factor in terms.items():
        if factor * sign > 0:
            total = total + term * (factor * sign)
    return total


def _compare(lhs: Text, symbol: str, rhs: Text) -> Text:
    level = Precedence.COMPARE + 1
    return Text(f"{lhs.within(level)} {symbol} {rhs.within(level)}", Precedence.COMPARE)
