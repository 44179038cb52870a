"""Formulas in Python's operators, as operations on tensors or numbers of one type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpucodegen.ir.operation import Value
from gpucodegen.ir.types import Type
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.prepare.stablehlo.elements.table import (
    FLOAT,
    SIGNED,
    TABLE,
    compared,
    kind_of,
)
from gpucodegen.passes.prepare.stablehlo.forms import chosen, splat


@dataclass(frozen=True, slots=True, eq=False)
class Expression:
    """A value, whose operators append to ``b``; a number stands for all elements.

    >>> from gpucodegen.ir.types import F32
    >>> x = Expression(b := Builder(), Value(F32))
    >>> _ = (x * 2 + 1).where(x > 0, x)
    >>> [op.name for op in b.operations if op.name != "arith.constant"]
    ['arith.mulf', 'arith.addf', 'arith.cmpf', 'arith.select']
    """

    b: Builder
    value: Value

    @property
    def type(self) -> Type:
        """The type of the value."""
        return self.value.type

    def of(self, value: Expression | float) -> Expression:
        """A number in the type of this value."""
        if isinstance(value, Expression):
            return value
        return Expression(self.b, splat(self.b, value, self.type))

    def by(self, name: str, *others: Expression | float) -> Expression:
        """An operation of the table, or of MLIR, on this value and others."""
        made = name if "." in name else TABLE[name][kind_of(self.type)]
        operands = (self.value, *(self.of(x).value for x in others))
        return Expression(self.b, self.b.add(made, operands, [self.type])[0])

    def __add__(self, other: Expression | float) -> Expression:
        return self.by("add", other)

    def __sub__(self, other: Expression | float) -> Expression:
        return self.by("subtract", other)

    def __rsub__(self, other: float) -> Expression:
        return self.of(other) - self

    def __mul__(self, other: Expression | float) -> Expression:
        return self.by("multiply", other)

    def __truediv__(self, other: Expression | float) -> Expression:
        return self.by("divide", other)

    def __rtruediv__(self, other: float) -> Expression:
        return self.of(other) / self

    def __neg__(self) -> Expression:
        return self.by("arith.negf")

    def __and__(self, other: Expression | float) -> Expression:
        return self.by("and", other)

    def __or__(self, other: Expression | float) -> Expression:
        return self.by("or", other)

    def __xor__(self, other: Expression | float) -> Expression:
        return self.by("xor", other)

    def __lshift__(self, bits: int) -> Expression:
        return self.by("arith.shli", bits)

    def __rshift__(self, bits: int) -> Expression:
        """What is shifted in is 0."""
        return self.by("arith.shrui", bits)

    def compared(self, predicate: str, other: Expression | float) -> Expression:
        """A comparison: ``lt`` and so on, as numbers of this kind are ordered."""
        kind, equality = kind_of(self.type), predicate in ("eq", "ne")
        if kind == FLOAT:
            predicate = "une" if predicate == "ne" else f"o{predicate}"
        elif not equality:
            predicate = f"{'s' if kind == SIGNED else 'u'}{predicate}"
        right = self.of(other).value
        return Expression(self.b, compared(self.b, predicate, self.value, right))

    def __lt__(self, other: Expression | float) -> Expression:
        return self.compared("lt", other)

    def __gt__(self, other: Expression | float) -> Expression:
        return self.compared("gt", other)

    def equals(self, other: Expression | float) -> Expression:
        """Whether both are the same number."""
        return self.compared("eq", other)

    def where(self, condition: Expression, other: Expression | float) -> Expression:
        """This value where a condition holds, and another elsewhere."""
        second = self.of(other).value
        return Expression(self.b, chosen(self.b, condition.value, self.value, second))

    def polynomial(self, coefficients: Sequence[float]) -> Expression:
        """A polynomial of this value, the coefficient of its highest power first."""
        total = self.of(coefficients[0])
        for coefficient in coefficients[1:]:
            total = total * self + coefficient
        return total
