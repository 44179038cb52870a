"""The arith dialect: constants, arithmetic, comparisons and casts."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import replace

from gpucodegen.ir.attributes import (
    Attribute,
    DenseElementsAttr,
    FloatAttr,
    IntegerAttr,
    number,
)
from gpucodegen.ir.locations import UNKNOWN, Location
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import (
    I1,
    I64,
    ComplexType,
    FloatType,
    FunctionType,
    IntegerType,
    MemRefType,
    TensorType,
    Type,
    UnrankedMemRefType,
    VectorType,
    element_type,
)

CMPI_PREDICATES = tuple("eq ne slt sle sgt sge ult ule ugt uge".split())
CMPF_PREDICATES = tuple(
    "false oeq ogt oge olt ole one ord ueq ugt uge ult ule une uno true".split()
)


def permits(op: Operation, flag: str) -> bool:
    """Whether the ``fastmath`` flags have one, such as ``reassoc``; ``fast`` is all.

    >>> permits(Operation("arith.addf"), "reassoc")
    False
    """
    flags = str(op.attributes.get("fastmath", ""))
    return flag in flags or "fast>" in flags


def constant_attribute(value: float, ty: Type) -> Attribute:
    """The attribute of a number at a scalar type, or of a splat at a shaped type."""
    if not isinstance(ty, VectorType | TensorType):
        return number(value, ty)
    scalar = float(value) if isinstance(ty.element, FloatType) else int(value)
    return DenseElementsAttr((scalar,), ty, ty.element)


def constant(
    value: float | Attribute,
    ty: Type,
    *,
    name: str = "",
    location: Location = UNKNOWN,
) -> Operation:
    """``arith.constant`` of a number (a splat for vectors and tensors)."""
    attribute = value if isinstance(value, Attribute) else constant_attribute(value, ty)
    return Operation(
        "arith.constant",
        results=(Value(ty, name, location),),
        attributes={"value": attribute},
        location=location,
    )


def constant_for(op: Operation, value: Attribute) -> Operation:
    """``arith.constant`` in place of an operation, with its results."""
    attributes = {"value": value}
    return Operation("arith.constant", (), op.results, attributes, location=op.location)


def constant_value(op: Operation) -> int | float | None:
    """The number of a scalar ``arith.constant``, else None."""
    if op.name != "arith.constant":
        return None
    value = op.attributes.get("value")
    return value.value if isinstance(value, IntegerAttr | FloatAttr) else None


def binary(
    op: str, lhs: Value, rhs: Value, *, location: Location = UNKNOWN
) -> Operation:
    """A two-operand operation whose result has the operands' type."""
    return Operation(
        op, (lhs, rhs), (Value(lhs.type, "", location),), location=location
    )


def unary(op: str, operand: Value, *, location: Location = UNKNOWN) -> Operation:
    """A one-operand operation whose result has the operand's type."""
    return Operation(
        op, (operand,), (Value(operand.type, "", location),), location=location
    )


def compare(
    op: str,
    predicate: str,
    lhs: Value,
    rhs: Value,
    *,
    location: Location = UNKNOWN,
) -> Operation:
    """``arith.cmpi`` or ``arith.cmpf`` by the predicate's name."""
    names = CMPI_PREDICATES if op == "arith.cmpi" else CMPF_PREDICATES
    number_ = IntegerAttr(names.index(predicate), I64)
    result = Value(_bool_like(lhs.type), "", location)
    return Operation(
        op, (lhs, rhs), (result,), {"predicate": number_}, location=location
    )


def predicate(op: Operation) -> str:
    """The predicate's name of a comparison."""
    value = op.attributes.get("predicate")
    names = CMPI_PREDICATES if op.name == "arith.cmpi" else CMPF_PREDICATES
    return names[value.value] if isinstance(value, IntegerAttr) else ""


COMPARED: dict[str, Callable[[int, int], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "slt": operator.lt,
    "sle": operator.le,
    "sgt": operator.gt,
    "sge": operator.ge,
}
"""Comparisons of integers that are equal as signed and unsigned ones, or signed."""


def _bool_like(ty: Type) -> Type:
    if isinstance(ty, VectorType):
        return VectorType(ty.shape, I1, ty.scalable)
    if isinstance(ty, TensorType):
        return TensorType(ty.shape, I1, ty.encoding)
    return I1


def select(
    condition: Value,
    true: Value,
    false: Value,
    *,
    location: Location = UNKNOWN,
) -> Operation:
    """``arith.select``."""
    result = Value(true.type, "", location)
    return Operation(
        "arith.select", (condition, true, false), (result,), location=location
    )


def cast(
    op: str, operand: Value, ty: Type, *, location: Location = UNKNOWN
) -> Operation:
    """A conversion: ``arith.index_cast``, ``arith.extf``, ``arith.sitofp`` ..."""
    return Operation(op, (operand,), (Value(ty, "", location),), location=location)


def is_float(ty: Type) -> bool:
    """Whether a scalar or shaped type holds floats."""
    return isinstance(element_type(ty), FloatType)


_FLOAT = re.compile(r"b?f(\d+)")
_ODD_WIDTHS = {"tf32": 19}  # sign, 8 bits of exponent, 10 of fraction


def bit_width(ty: Type) -> int:
    """Bits of a number; zero where the target decides.

    >>> bit_width(FloatType("f8E4M3FN")), bit_width(ComplexType(FloatType("bf16")))
    (8, 32)
    """
    match ty:
        case IntegerType(bits):
            return bits
        case FloatType(name):
            known = _FLOAT.match(name)
            return int(known[1]) if known else _ODD_WIDTHS.get(name, 0)
        case ComplexType(element):
            return 2 * bit_width(element)
        case _:
            return 0


def element_bits(element: Type) -> int:
    """Width of a scalar type in bits; ``index`` counts as 64.

    >>> from gpucodegen.ir.types import INDEX
    >>> element_bits(FloatType("bf16")), element_bits(INDEX)
    (16, 64)
    """
    return bit_width(element) or 64


HOLDING = (8, 16, 32, 64)
"""Bits of the integers that processors have."""


def held(ty: Type) -> Type:
    """The narrowest type that a processor has for the elements of ``ty``.

    Integers of odd widths are stored in the next wider integer; other types stay.

    >>> from gpucodegen.ir.types import MemRefType
    >>> print(held(IntegerType(24)), held(MemRefType((4,), IntegerType(3))), held(I1))
    i32 memref<4xi8> i1
    """
    match ty:
        case IntegerType(1):
            return ty
        case IntegerType(width, sign) if width <= HOLDING[-1]:
            return IntegerType(min(n for n in HOLDING if n >= width), sign)
        case FunctionType(inputs, results):
            return FunctionType(tuple(map(held, inputs)), tuple(map(held, results)))
        case (
            VectorType() | TensorType() | MemRefType() | UnrankedMemRefType()
        ) as shaped:
            return replace(shaped, element=held(shaped.element))
        case _:
            return ty


def holds_odd(ty: Type) -> bool:
    """Whether a type or its element is an integer of a width that no processor has.

    >>> [holds_odd(IntegerType(bits)) for bits in (1, 7, 8, 128)]
    [False, True, False, False]
    """
    return held(ty) != ty
