"""Interprets arith conversions between number types.

A float out of an integer type's range becomes the nearest integer of the type, NaN
zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gpucodegen.interp.arith import refuse_rounding, unsigned
from gpucodegen.interp.machine import Machine
from gpucodegen.interp.registry import Evaluate
from gpucodegen.interp.values import array_of, bits_of, canonical, elementwise, numbers
from gpucodegen.ir.literals import code_of, number_of, wrapped
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import ComplexType, FloatType, Type, element_type

Cast = Callable[[Any, Type, Type], Any]
"""A function of a number, its type and the new type; the result is canonicalized."""


def _signed(value: int, source: Type, _: Type) -> int:
    return wrapped(value, bits_of(source))


def _unsigned(value: int, source: Type, _: Type) -> int:
    return unsigned(value, bits_of(source))


def _to_signed(value: float, _: Type, target: Type) -> int:
    half = 1 << (bits_of(target) - 1)
    return within(value, -half, half - 1)


def _to_unsigned(value: float, _: Type, target: Type) -> int:
    return within(value, 0, (1 << bits_of(target)) - 1)


def within(value: float, low: int, high: int) -> int:
    """The integer part, clamped to a range.

    >>> within(-2.5, -128, 127), within(1e9, -128, 127), within(float("nan"), 0, 1)
    (-2, 127, 0)
    """
    if math.isnan(value):
        return 0
    if math.isinf(value):
        return high if value > 0 else low
    return max(low, min(high, int(value)))


CASTS: dict[str, Cast] = {
    "extsi": _signed,
    "extui": _unsigned,
    "trunci": _unsigned,
    "index_cast": _signed,
    "index_castui": _unsigned,
    "sitofp": _signed,
    "uitofp": _unsigned,
    "fptosi": _to_signed,
    "fptoui": _to_unsigned,
    "extf": lambda value, *_: value,
    "truncf": lambda value, *_: value,
    "convertf": lambda value, *_: value,
}


def _exact(value: Any, ty: Type) -> Any:
    """An integer as a float, rounded once."""
    if isinstance(ty, FloatType) and isinstance(value, int):
        from fractions import Fraction

        from gpucodegen.interp.values import nearest

        return nearest(Fraction(value), ty.name)
    return canonical(value, ty)


def _cast(function: Cast) -> Evaluate:
    def evaluate(_: Machine, op: Operation, value: Any) -> Any:
        refuse_rounding(op)
        source = element_type(op.operands[0].type)
        target = element_type(op.results[0].type)
        return elementwise(
            op, lambda x: _exact(function(x, source, target), target), (value,)
        )

    return evaluate


# -- bits ------------------------------------------------------------------------------


def code(value: Any, ty: Type) -> int:
    """The bits of a number."""
    if isinstance(ty, ComplexType):
        low, high = code(value.real, ty.element), code(value.imag, ty.element)
        return low | high << _width(ty.element)
    return code_of(value, ty)


def decode(bits: int, ty: Type) -> Any:
    """The number that bits stand for."""
    if isinstance(ty, ComplexType):
        width = _width(ty.element)
        low, high = bits & ((1 << width) - 1), bits >> width
        return complex(decode(low, ty.element), decode(high, ty.element))
    return canonical(number_of(bits, ty), ty)


def _width(ty: Type) -> int:
    from gpucodegen.dialects.arith import element_bits

    return element_bits(ty)


def recast(value: Any, source: Type, target: Type, shape: tuple[int, ...]) -> Any:
    """The same bits as elements of another type, lowest first.

    >>> from gpucodegen.ir.types import F32, I16
    >>> recast(np.array([1.0], "f4"), F32, I16, (2,)).tolist()
    [0, 16256]
    """
    codes = [code(x, source) for x in numbers(value, source)]
    wide, narrow = _width(source), _width(target)
    if wide > narrow:
        mask = (1 << narrow) - 1
        codes = [c >> at & mask for c in codes for at in range(0, wide, narrow)]
    elif wide < narrow:
        step = narrow // wide
        groups = [codes[i : i + step] for i in range(0, len(codes), step)]
        codes = [sum(c << at * wide for at, c in enumerate(g)) for g in groups]
    return array_of([decode(c, target) for c in codes], shape, target)


def bitcast(_: Machine, op: Operation, value: Any) -> Any:
    """The same bits as another type."""
    source = element_type(op.operands[0].type)
    target = element_type(op.results[0].type)
    if isinstance(value, np.ndarray):
        shape = value.shape
        extents = getattr(op.results[0].type, "shape", shape)
        shape = (*shape[:-1], extents[-1] or shape[-1]) if shape else shape
        return recast(value, source, target, shape)
    return decode(code(value, source), target)


def _scaled(_: Machine, op: Operation, value: Any, scale: Any) -> Any:
    """``scaling_extf``: times the scale; ``scaling_truncf``: divided by it."""
    refuse_rounding(op)
    ty = element_type(op.results[0].type)
    is_wider = op.name == "arith.scaling_extf"

    def one(x: float, by: float) -> float:
        by = canonical(by, FloatType("f8E8M0FNU"))
        return canonical(x * by if is_wider else x / by, ty)

    return elementwise(op, one, (value, scale))


OPERATIONS: dict[str, Evaluate] = {
    **{f"arith.{name}": _cast(function) for name, function in CASTS.items()},
    "arith.bitcast": bitcast,
    "arith.scaling_extf": _scaled,
    "arith.scaling_truncf": _scaled,
}
