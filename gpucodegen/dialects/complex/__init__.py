"""The complex dialect: constants."""

from __future__ import annotations

from gpucodegen.ir.attributes import ArrayAttr, number
from gpucodegen.ir.locations import UNKNOWN, Location
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import ComplexType


def constant(
    value: complex, ty: ComplexType, *, name: str = "", location: Location = UNKNOWN
) -> Operation:
    """``complex.constant``.

    >>> from gpucodegen.ir.types import F32
    >>> print(constant(1 + 2j, ComplexType(F32)).attributes["value"])
    [1.000000e+00 : f32, 2.000000e+00 : f32]
    """
    value = complex(value)
    parts = tuple(number(part, ty.element) for part in (value.real, value.imag))
    return Operation(
        "complex.constant",
        results=(Value(ty, name, location),),
        attributes={"value": ArrayAttr(parts)},
        location=location,
    )
