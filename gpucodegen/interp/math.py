"""Interprets math: float functions in double precision, rounded to their type."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gpucodegen.interp.arith import unsigned
from gpucodegen.interp.machine import Machine
from gpucodegen.interp.registry import Evaluate
from gpucodegen.interp.values import bits_of, canonical, elementwise, fma
from gpucodegen.ir.literals import wrapped
from gpucodegen.ir.number_formats import FORMATS
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import FloatType, Type, element_type


def _numpy(name: str) -> Callable[..., float]:
    """A NumPy function, which handles infinities and NaN."""
    function = getattr(np, name)

    def of(*values: float) -> float:
        with np.errstate(all="ignore"):
            return float(function(*map(np.float64, values)))

    return of


def _power(x: float, y: float) -> float:
    """``pow`` as in C; NumPy computes an exponent of 0.5 as a square root.

    >>> _power(-0.0, 0.5), _power(-math.inf, 0.5)
    (0.0, inf)
    """
    with np.errstate(all="ignore"):
        return float(np.power(np.full(1, x, "f8"), np.full(1, y, "f8"))[0])


def _rounded_away(x: float) -> float:
    """Round halves away from zero."""
    if not math.isfinite(x) or abs(x) >= 2.0**52:
        return x
    return math.copysign(math.floor(abs(x) + 0.5) if abs(x) != _HALF else 0.0, x)


_HALF = 0.49999999999999994
"""The largest double below 0.5; adding 0.5 to it rounds to 1."""


def _rsqrt(x: float) -> float:
    if x == 0:
        return math.copysign(math.inf, x)
    return 1.0 / _numpy("sqrt")(x)


_NUMPY = {
    "absf": "fabs",
    "acos": "arccos",
    "acosh": "arccosh",
    "asin": "arcsin",
    "asinh": "arcsinh",
    "atan": "arctan",
    "atan2": "arctan2",
    "atanh": "arctanh",
    "cbrt": "cbrt",
    "ceil": "ceil",
    "copysign": "copysign",
    "cos": "cos",
    "cosh": "cosh",
    "exp": "exp",
    "exp2": "exp2",
    "expm1": "expm1",
    "floor": "floor",
    "log": "log",
    "log10": "log10",
    "log1p": "log1p",
    "log2": "log2",
    "roundeven": "rint",
    "sin": "sin",
    "sinh": "sinh",
    "sqrt": "sqrt",
    "tan": "tan",
    "tanh": "tanh",
    "trunc": "trunc",
}
FLOATS: dict[str, Callable[..., float]] = {
    **{ours: _numpy(theirs) for ours, theirs in _NUMPY.items()},
    "erf": math.erf,
    "erfc": math.erfc,
    "round": _rounded_away,
    "rsqrt": _rsqrt,
    "fpowi": _power,
    "powf": _power,
    "clampf": lambda x, low, high: max(low, min(high, x)) if x == x else x,  # noqa: PLR0124
}


def _is_normal(x: float, name: str) -> bool:
    return math.isfinite(x) and abs(x) >= math.ldexp(1.0, FORMATS[name].low)


_TESTS: dict[str, Callable[[float, str], bool]] = {
    "isfinite": lambda x, _: math.isfinite(x),
    "isinf": lambda x, _: math.isinf(x),
    "isnan": lambda x, _: math.isnan(x),
    "isnormal": _is_normal,
}


def _zeros_above(x: int, bits: int) -> int:
    return bits - unsigned(x, bits).bit_length()


def _zeros_below(x: int, bits: int) -> int:
    code = unsigned(x, bits)
    return (code & -code).bit_length() - 1 if code else bits


_INTEGERS: dict[str, Callable[[int, int], int]] = {
    "absi": lambda x, bits: abs(wrapped(x, bits)),
    "ctlz": _zeros_above,
    "cttz": _zeros_below,
    "ctpop": lambda x, bits: unsigned(x, bits).bit_count(),
}


def power(base: int, exponent: int, bits: int) -> int:
    """A power modulo two to the width; negative exponents truncate to an integer.

    >>> power(3, 4, 32), power(2, -1, 32), power(-1, -3, 32)
    (81, 0, -1)
    """
    base, exponent = wrapped(base, bits), wrapped(exponent, bits)
    if exponent >= 0:
        return wrapped(pow(base, exponent, 1 << bits), bits)
    if base == 0:
        from gpucodegen import errors

        raise errors.DivisionByZero
    return {1: 1, -1: -1 if exponent % 2 else 1}.get(base, 0)


def _result(op: Operation) -> Type:
    return element_type(op.results[0].type)


def _float(function: Callable[..., float]) -> Evaluate:
    def evaluate(_: Machine, op: Operation, *values: Any) -> Any:
        ty = _result(op)
        return elementwise(op, lambda *row: canonical(function(*row), ty), values)

    return evaluate


def _integer(function: Callable[[int, int], int]) -> Evaluate:
    def evaluate(_: Machine, op: Operation, value: Any) -> Any:
        ty = _result(op)
        bits = bits_of(ty)
        return elementwise(op, lambda x: canonical(function(x, bits), ty), (value,))

    return evaluate


def _test(function: Callable[[float, str], bool]) -> Evaluate:
    def evaluate(_: Machine, op: Operation, value: Any) -> Any:
        name = str(element_type(op.operands[0].type))
        return elementwise(op, lambda x: int(function(x, name)), (value,))

    return evaluate


def _ipowi(_: Machine, op: Operation, *values: Any) -> Any:
    ty = _result(op)
    bits = bits_of(ty)
    return elementwise(op, lambda a, b: canonical(power(a, b, bits), ty), values)


def fused(_: Machine, op: Operation, *values: Any) -> Any:
    """One rounding of a product and a sum."""
    ty = _result(op)
    assert isinstance(ty, FloatType)
    return elementwise(op, lambda a, b, c: fma(a, b, c, ty.name), values)


def _sincos(_: Machine, op: Operation, value: Any) -> Any:
    ty = _result(op)
    sin, cos = FLOATS["sin"], FLOATS["cos"]
    return elementwise(
        op, lambda x: (canonical(sin(x), ty), canonical(cos(x), ty)), (value,)
    )


OPERATIONS: dict[str, Evaluate] = {
    **{f"math.{name}": _float(function) for name, function in FLOATS.items()},
    **{f"math.{name}": _integer(function) for name, function in _INTEGERS.items()},
    **{f"math.{name}": _test(function) for name, function in _TESTS.items()},
    "math.ipowi": _ipowi,
    "math.fma": fused,
    "math.sincos": _sincos,
}
