"""arith.constant: a value and its type."""

from __future__ import annotations

from gpucodegen import errors
from gpucodegen.dialects.framework.syntax import Reader, State, Writer
from gpucodegen.ir.attributes import (
    Attribute,
    DenseElementsAttr,
    ElementsAttr,
    FloatAttr,
    IntegerAttr,
    OpaqueAttr,
)
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import IntegerType, Type, VectorType, element_type


def parse_constant(r: Reader, state: State) -> None:
    """``{attrs} value``."""
    state.attributes |= r.attr_dict()
    start = r.start
    value = r.attribute()
    ty = type_of(value)
    if ty is None:
        if not isinstance(value, OpaqueAttr) or not r.accept(":"):
            raise errors.InvalidAttribute(
                r.location(start),
                problem=f"{value} is not a constant value",
                hint="Write a number with its type, or dense<...> : type",
            )
        ty = r.type()
    state.attributes["value"] = value
    state.result_types = [ty]


def type_of(value: Attribute) -> Type | None:
    """The type of a number or elements attribute."""
    is_typed = isinstance(value, IntegerAttr | FloatAttr | ElementsAttr | OpaqueAttr)
    return value.type if is_typed else None


def print_constant(w: Writer, o: Operation) -> None:
    """``{attrs} value : type``, the type written unless the value is true or false."""
    w.attr_dict(o, ("value",))
    value = o.attributes["value"]
    text = f" {value}"
    w.write(text if type_of(value) is not None else f"{text} : {o.results[0].type}")


def check_constant(o: Operation) -> None:
    """A number or elements of the result's type, which has no sign."""
    value, result = o.attributes["value"], o.results[0].type
    ty = type_of(value)
    if ty is None and not isinstance(value, OpaqueAttr):
        raise errors.WrongAttribute(
            o.location,
            operation=o.name,
            problem=f"{value} is not a constant value",
            hint="Write a number with its type, or dense<...> : type",
        )
    if ty is not None and ty != result:
        raise errors.TypesDiffer(
            o.location,
            operation=o.name,
            first="the value",
            first_type=ty,
            second="the result",
            second_type=result,
        )
    _check_constant_type(o, value, result)


def _check_constant_type(o: Operation, value: Attribute, ty: Type) -> None:
    element = element_type(ty)
    if isinstance(element, IntegerType) and element.signedness:
        raise errors.InvalidOperandType(
            o.location,
            operation=o.name,
            what="the result",
            expected="a signless integer",
            actual=ty,
        )
    is_list = isinstance(value, DenseElementsAttr) and not value.is_splat
    if is_list and isinstance(ty, VectorType) and any(ty.scalable):
        raise errors.WrongAttribute(
            o.location,
            operation=o.name,
            problem="a scalable vector has no list of elements",
            hint="Give all elements one value",
        )
