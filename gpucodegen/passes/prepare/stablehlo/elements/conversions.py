"""Conversions between element types."""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen.dialects.arith import bit_width
from gpucodegen.dialects.framework.declare import with_element
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import I1, FloatType, IntegerType, Type, element_type
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.prepare.stablehlo.elements.table import (
    FLOAT,
    SIGNED,
    UNSIGNED,
    compared,
    kind_of,
)
from gpucodegen.passes.prepare.stablehlo.forms import splat


def convert(b: Builder, op: Operation) -> Sequence[Value]:
    """All elements in the element type of the result."""
    return [converted(b, op.operands[0], op.result.type)]


def converted(b: Builder, value: Value, ty: Type) -> Value:
    """A number, or all of a tensor, in another element type."""
    source, target = element_type(value.type), element_type(ty)
    if source == target:
        return value
    if target == I1:
        other = splat(b, 0, value.type)
        is_float = kind_of(value.type) == FLOAT
        return compared(b, "une" if is_float else "ne", value, other)
    name = _cast(value.type, ty)
    if name is None:  # a sign is all that differs, or two formats of one width
        if isinstance(source, FloatType):
            wide = with_element(value.type, FloatType("f32"))
            (value,) = b.add("arith.extf", (value,), [wide])
            name = "arith.truncf"
        else:
            return b.add("builtin.unrealized_conversion_cast", (value,), [ty])[0]
    return b.add(name, (value,), [ty])[0]


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
