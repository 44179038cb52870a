"""The loop AST of a schedule: a small tree without isl and without a target language.

The grammar, where a body is a tuple of nodes in order of execution, is::

    Node       := For(body) | Guard(body, orelse) | Run
    For        := name, max of lowers, min of uppers (exclusive), step
    Guard      := constraints that all hold
    Run        := name of what is executed, values of its original loops
    Expression := Name | Number | Term(operator, left, right)

Operators are those of affine expressions: ``+``, ``-``, ``*``, ``floordiv`` and
``mod``; divisors are positive numbers, and one factor of a product is a number.

>>> i = Name("i")
>>> print(Term("+", Term("*", i, Number(2)), Number(1)))
((i * 2) + 1)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from gpucodegen.records import dataclass


@dataclass(frozen=True, slots=True)
class Name:
    """A parameter or the variable of a loop."""

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Number:
    """An integer."""

    value: int

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True, slots=True)
class Term:
    """``left operator right``."""

    operator: str
    left: Expression
    right: Expression

    def __str__(self) -> str:
        return f"({self.left} {self.operator} {self.right})"


Expression: TypeAlias = Name | Number | Term


@dataclass(frozen=True, slots=True)
class Inequality:
    """``expression >= 0``, or ``expression = 0``."""

    expression: Expression
    equality: bool = False


@dataclass(frozen=True, slots=True)
class LoopNode:
    """A loop; ``dimension`` is the position of its variable in the schedule."""

    name: str
    lowers: tuple[Expression, ...]
    uppers: tuple[Expression, ...]
    step: int
    body: tuple[Node, ...]
    dimension: int


@dataclass(frozen=True, slots=True)
class Guard:
    """``body`` where all constraints hold, ``orelse`` elsewhere."""

    constraints: tuple[Inequality, ...]
    body: tuple[Node, ...]
    orelse: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True)
class StatementNode:
    """One execution: values of its original loops, outermost first."""

    name: str
    values: tuple[Expression, ...]


Node: TypeAlias = LoopNode | Guard | StatementNode


def names(nodes: Sequence[Node]) -> set[str]:
    """All names in the expressions of some nodes.

    >>> sorted(names([LoopNode("i", (Number(0),), (Name("n"),), 1, (), 0)]))
    ['n']
    """
    found: set[str] = set()
    for node in nodes:
        match node:
            case LoopNode():
                parts, inner = (*node.lowers, *node.uppers), node.body
            case Guard():
                parts = tuple(c.expression for c in node.constraints)
                inner = (*node.body, *node.orelse)
            case StatementNode():
                parts, inner = node.values, ()
        found |= {leaf for part in parts for leaf in _leaves(part)} | names(inner)
    return found


def _leaves(expression: Expression) -> Iterator[str]:
    match expression:
        case Name(text):
            yield text
        case Term(_, left, right):
            yield from _leaves(left)
            yield from _leaves(right)
        case _:
            pass


def substitute(expression: Expression, known: Mapping[str, Expression]) -> Expression:
    """``expression`` with names replaced.

    >>> print(substitute(Term("-", Name("i"), Name("n")), {"n": Number(4)}))
    (i - 4)
    """
    match expression:
        case Name(text):
            return known.get(text, expression)
        case Term(operator, left, right):
            return Term(operator, substitute(left, known), substitute(right, known))
        case _:
            return expression
