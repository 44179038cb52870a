"""Affine expressions, maps and sets as isl text; None where no affine form exists."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpucodegen.ir.affine import (
    AffineExpr,
    AffineMap,
    Binary,
    Const,
    Constraint,
    Dim,
    Sym,
)
from gpucodegen.tiling.model.scop import RESERVED

Texts = Sequence[str | None]


def isl_text(expr: AffineExpr, dims: Texts, syms: Texts = ()) -> str | None:
    """The expression in isl syntax over the given texts.

    >>> isl_text((Dim(0) * 2 + Sym(0)) // 4, ["i"], ["N"])
    'floor((2*i + N)/4)'
    """
    match expr:
        case Const(value):
            return str(value)
        case Dim(position):
            return dims[position]
        case Sym(position):
            return syms[position]
        case Binary(op, lhs, rhs):
            left, right = isl_text(lhs, dims, syms), isl_text(rhs, dims, syms)
            return None if left is None or right is None else _combine(op, left, right)
        case _:
            return None


_INTEGER = re.compile(r"-?\d+")
_ATOM = re.compile(r"\w+|floor\(\([^()]*\)/\d+\)")


def _group(text: str) -> str:
    return text if _ATOM.fullmatch(text) else f"({text})"


def _combine(op: str, left: str, right: str) -> str | None:
    if op == "+":
        is_negative = right.startswith("-")
        return f"{left} - {right[1:]}" if is_negative else f"{left} + {right}"
    if op == "*":
        return product(left, right)
    if not _INTEGER.fullmatch(right) or int(right) <= 0:
        return None
    divisor = int(right)
    return _DIVISIONS[op].format(
        left=left, group=_group(left), d=divisor, r=divisor - 1
    )


def product(left: str, right: str) -> str | None:
    """A product with one integer factor; isl wants it bare and in front.

    >>> product("i + 1", "-2"), product("i", "N")
    ('-2*(i + 1)', None)
    """
    for factor, other in ((right, left), (left, right)):
        if _INTEGER.fullmatch(factor):
            return f"{factor}*{_group(other)}"
    return None


_DIVISIONS = {
    "mod": "({group} mod {d})",
    "floordiv": "floor(({left})/{d})",
    "ceildiv": "floor(({left} + {r})/{d})",
}


def map_texts(map_: AffineMap, operands: Texts) -> tuple[str | None, ...]:
    """One isl text per result of a map applied to dimensions, then symbols."""
    dims, syms = operands[: map_.num_dims], operands[map_.num_dims :]
    return tuple(isl_text(result, dims, syms) for result in map_.results)


def constraint_texts(
    constraints: Sequence[Constraint], dims: Texts, syms: Texts
) -> tuple[str, ...] | None:
    """isl constraints of an integer set, or None when one is not affine."""
    texts: list[str] = []
    for constraint in constraints:
        text = isl_text(constraint.expr, dims, syms)
        if text is None:
            return None
        texts.append(f"{text} {'=' if constraint.equality else '>='} 0")
    return tuple(texts)


class IslNames:
    """Fresh isl identifiers made from hints.

    >>> names = IslNames()
    >>> names.fresh("i"), names.fresh("i"), names.fresh("mod"), names.fresh("0")
    ('i', 'i_1', 'mod_1', 'v0')
    """

    def __init__(self) -> None:
        self._used: set[str] = set(RESERVED)

    def fresh(self, hint: str, default: str = "v") -> str:
        """An identifier not given before."""
        base = re.sub(r"\W", "_", hint) or default
        if not base[0].isalpha():
            base = default + base
        name, count = base, 0
        while name in self._used:
            count += 1
            name = f"{base}_{count}"
        self._used.add(name)
        return name
