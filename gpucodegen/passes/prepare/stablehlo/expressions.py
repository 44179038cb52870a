"""Expressions in Python's operators that build operations on tensors or scalars.

Includes the table of arith, math and complex operations for each StableHLO operation by
kind of number, and conversions between element types.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen.dialects.arith import CMPF_PREDICATES, CMPI_PREDICATES, bit_width
from gpucodegen.dialects.framework.declare import with_element
from gpucodegen.ir.affine import Dim
from gpucodegen.ir.attributes import IntegerAttr
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import (
    I1,
    I64,
    ComplexType,
    FloatType,
    IntegerType,
    TensorType,
    Type,
    element_type,
)
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.prepare.stablehlo.forms import chosen, mapped, splat
from gpucodegen.records import dataclass

FLOAT, SIGNED, UNSIGNED, TRUTH, COMPLEX = range(5)

_ROWS = """
add        | arith.addf      | arith.addi  | arith.addi  | arith.ori  | complex.add
subtract   | arith.subf      | arith.subi  | arith.subi  | arith.xori | complex.sub
multiply   | arith.mulf      | arith.muli  | arith.muli  | arith.andi | complex.mul
divide     | arith.divf      | arith.divsi | arith.divui | -          | complex.div
remainder  | arith.remf      | arith.remsi | arith.remui | -          | -
maximum    | arith.maximumf  | arith.maxsi | arith.maxui | arith.ori  | -
minimum    | arith.minimumf  | arith.minsi | arith.minui | arith.andi | -
power      | math.powf       | math.ipowi  | math.ipowi  | -          | complex.pow
atan2      | math.atan2      | -           | -           | -          | complex.atan2
and        | -               | arith.andi  | arith.andi  | arith.andi | -
or         | -               | arith.ori   | arith.ori   | arith.ori  | -
xor        | -               | arith.xori  | arith.xori  | arith.xori | -
abs        | math.absf       | math.absi   | =           | =          | complex.abs
ceil       | math.ceil       | -           | -           | -          | -
floor      | math.floor      | -           | -           | -          | -
cbrt       | math.cbrt       | -           | -           | -          | -
cosine     | math.cos        | -           | -           | -          | complex.cos
sine       | math.sin        | -           | -           | -          | complex.sin
tan        | math.tan        | -           | -           | -          | complex.tan
tanh       | math.tanh       | -           | -           | -          | complex.tanh
exponential | math.exp       | -           | -           | -          | complex.exp
exponential_minus_one | math.expm1 | -     | -           | -          | complex.expm1
log        | math.log        | -           | -           | -          | complex.log
log_plus_one | math.log1p    | -           | -           | -          | complex.log1p
sqrt       | math.sqrt       | -           | -           | -          | complex.sqrt
rsqrt      | math.rsqrt      | -           | -           | -          | complex.rsqrt
round_nearest_afz  | math.round     | -    | -           | -          | -
round_nearest_even | math.roundeven | -    | -           | -          | -
is_finite  | math.isfinite   | -           | -           | -          | -
popcnt     | -               | math.ctpop  | math.ctpop  | -          | -
count_leading_zeros | -      | math.ctlz   | math.ctlz   | -          | -
complex    | complex.create  | -           | -           | -          | -
real       | =               | -           | -           | -          | complex.re
imag       | -               | -           | -           | -          | complex.im
optimization_barrier | =     | =           | =           | =          | =
"""
TABLE = {
    name: cells
    for name, *cells in (
        [cell.strip() for cell in row.split("|")] for row in _ROWS.strip().splitlines()
    )
}
"""By name: the operation for each kind of number; ``=`` changes nothing."""

CHLO = {
    **{name: f"math.{name}" for name in ("acos", "acosh", "asin", "asinh", "atan")},
    **{
        name: f"math.{name}" for name in ("atanh", "cosh", "erf", "erfc", "sinh", "tan")
    },
    "is_inf": "math.isinf",
}


def kind_of(ty: Type) -> int:
    """The table column of a type."""
    element = element_type(ty)
    if isinstance(element, ComplexType):
        return COMPLEX
    if isinstance(element, FloatType):
        return FLOAT
    if element == I1:
        return TRUTH
    unsigned = isinstance(element, IntegerType) and str(element).startswith("u")
    return UNSIGNED if unsigned else SIGNED


def compared(b: Builder, predicate: str, x: Value, y: Value) -> Value:
    """A comparison by its arith predicate, without the kind prefix."""
    is_float = kind_of(x.type) == FLOAT
    names = CMPF_PREDICATES if is_float else CMPI_PREDICATES
    attributes = {"predicate": IntegerAttr(names.index(predicate), I64)}
    result = with_element(x.type, I1)
    return b.value(f"arith.cmp{'f' if is_float else 'i'}", (x, y), result, attributes)


def convert(b: Builder, op: Operation) -> Sequence[Value]:
    """All elements in the element type of the result."""
    return [converted(b, op.operands[0], op.result.type)]


def converted(b: Builder, value: Value, ty: Type) -> Value:
    """A number, or all of a tensor, in another element type."""
    source, target = element_type(value.type), element_type(ty)
    if source == target:
        return value
    if isinstance(target, ComplexType):
        return _complex(b, value, ty)
    if isinstance(source, ComplexType):
        return _real(b, value, source, ty)
    if target == I1:
        other = splat(b, 0, value.type)
        is_float = kind_of(value.type) == FLOAT
        return compared(b, "une" if is_float else "ne", value, other)
    name = _cast(value.type, ty)
    if name is None:  # types differ in sign, or are two formats of one width
        if isinstance(source, FloatType):
            wide = with_element(value.type, FloatType("f32"))
            value = b.value("arith.extf", (value,), wide)
            name = "arith.truncf"
        else:
            return b.value("builtin.unrealized_conversion_cast", (value,), ty)
    return b.value(name, (value,), ty)


def applied(b: Builder, name: str, operands: Sequence[Value], ty: Type) -> Value:
    """An operation on all elements; complex ones apply to scalars only."""
    if not name.startswith("complex.") or not isinstance(ty, TensorType):
        return b.value(name, operands, ty)

    def body(inner: Builder, elements: Sequence[Value]) -> Sequence[Value]:
        return inner.add(name, elements[:-1], [ty.element])

    whole = [Dim(d) for d in range(len(ty.shape))]
    return mapped(b, operands, [whole] * len(operands), ty, body)


def _complex(b: Builder, value: Value, ty: Type) -> Value:
    """Numbers as complex ones of a type; real ones have the imaginary part 0."""
    source, target = element_type(value.type), element_type(ty)
    assert isinstance(target, ComplexType)
    part_type = with_element(ty, target.element)
    if isinstance(source, ComplexType):
        own = with_element(ty, source.element)
        parts = [
            converted(b, applied(b, f"complex.{name}", (value,), own), part_type)
            for name in ("re", "im")
        ]
    else:
        parts = [converted(b, value, part_type), splat(b, 0, part_type)]
    return applied(b, "complex.create", parts, ty)


def _real(b: Builder, value: Value, source: ComplexType, ty: Type) -> Value:
    """The real parts; as truth values: whether either part is not zero."""
    own = with_element(ty, source.element)
    names = ("re", "im") if element_type(ty) == I1 else ("re",)
    parts = [
        converted(b, applied(b, f"complex.{name}", (value,), own), ty) for name in names
    ]
    return parts[0] if len(parts) == 1 else b.value("arith.ori", parts, ty)


def _cast(source: Type, target: Type) -> str | None:
    has_sign = kind_of(source) == SIGNED
    match element_type(source), element_type(target):
        case FloatType() as old, FloatType() as new:
            widths = bit_width(old), bit_width(new)
            same = widths[0] == widths[1]
            shorter = "arith.extf" if widths[0] < widths[1] else "arith.truncf"
            return None if same else shorter
        case FloatType(), IntegerType():
            return "arith.fptoui" if kind_of(target) == UNSIGNED else "arith.fptosi"
        case IntegerType(), FloatType():
            return "arith.sitofp" if has_sign else "arith.uitofp"
        case IntegerType() as old, IntegerType() as new:
            if old.width == new.width:
                return None
            wider = "arith.extsi" if has_sign else "arith.extui"
            return wider if old.width < new.width else "arith.trunci"
        case _:
            return None


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
        return self.value.type

    def of(self, value: Expression | float) -> Expression:
        """A constant in the type of this value."""
        if isinstance(value, Expression):
            return value
        element = element_type(self.type)
        if not isinstance(element, ComplexType):
            return Expression(self.b, splat(self.b, value, self.type))
        part = splat(self.b, value, with_element(self.type, element.element))
        return Expression(self.b, _complex(self.b, part, self.type))

    def by(self, name: str, *others: Expression | float) -> Expression:
        """An operation of the table, or of MLIR, on this value and others."""
        made = name if "." in name else TABLE[name][kind_of(self.type)]
        operands = (self.value, *(self.of(x).value for x in others))
        return Expression(self.b, applied(self.b, made, operands, self.type))

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
        name = "complex.neg" if kind_of(self.type) == COMPLEX else "arith.negf"
        return self.by(name)

    def __and__(self, other: Expression | float) -> Expression:
        return self.by("and", other)

    def __or__(self, other: Expression | float) -> Expression:
        return self.by("or", other)

    def __xor__(self, other: Expression | float) -> Expression:
        return self.by("xor", other)

    def __lshift__(self, bits: int) -> Expression:
        return self.by("arith.shli", bits)

    def __rshift__(self, bits: int) -> Expression:
        """Logical shift: zeros are shifted in."""
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


def clamped(place: Expression, extent: int) -> Expression:
    """An index between 0 and the last one of a dimension."""
    return place.by("arith.maxsi", 0).by("arith.minsi", extent - 1)
