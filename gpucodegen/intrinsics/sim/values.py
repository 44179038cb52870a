"""Arithmetic of the emulator: the Python twin of every elementwise intrinsic.

Scalars are ``int`` (i32 and index), ``bool`` (i1) and NumPy scalars (all others); tiles
are NumPy arrays.  Results have the operands' type and wrap around.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gpucodegen.intrinsics.sim.integers import INTEGER_TWINS, on_bits, unsigned
from gpucodegen.intrinsics.sim.machine import plain
from gpucodegen.intrinsics.sim.twins import Twin, twin, typed


def _fused(a: Any, b: Any, c: Any) -> Any:
    """One rounding: exact in float64 for narrower types."""
    wide = np.float64(a) * np.float64(b) + np.float64(c)
    return wide.astype(a.dtype)


def _half_away(a: Any) -> Any:
    whole = np.trunc(a)
    is_far = np.abs(a - whole) >= a.dtype.type(0.5)
    return np.where(is_far, whole + np.copysign(1, a), whole).astype(a.dtype)[()]


def _maximum(a: Any, b: Any) -> Any:
    """The larger number; +0.0 is larger than -0.0, which NumPy leaves open."""
    return np.where(a == b, np.where(np.signbit(a), b, a), np.maximum(a, b))[()]


def _minimum(a: Any, b: Any) -> Any:
    return np.where(a == b, np.where(np.signbit(a), a, b), np.minimum(a, b))[()]


FLOAT_TWINS: dict[str, Twin] = {
    "addf": np.add,
    "subf": np.subtract,
    "mulf": np.multiply,
    "divf": np.divide,
    "negf": np.negative,
    "remf": np.fmod,
    "absf": np.absolute,
    "fma": _fused,
    "maximumf": _maximum,
    "minimumf": _minimum,
    "maxnumf": np.fmax,
    "minnumf": np.fmin,
    "copysign": np.copysign,
    "sqrt": np.sqrt,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "roundeven": np.rint,
    "round": _half_away,
}


def _by_element(function: Callable[..., float]) -> Twin:
    def one(*values: Any) -> float:
        try:
            return function(*map(float, values))
        except (ValueError, OverflowError):
            return math.nan

    def call(*values: Any) -> Any:
        first = values[0]
        if not isinstance(first, np.ndarray):
            return first.dtype.type(one(*values))
        columns = zip(*(v.flat for v in values), strict=True)
        return np.array([one(*c) for c in columns], first.dtype).reshape(first.shape)

    return call


LIBRARY_TWINS: dict[str, Twin] = {
    "exp": np.exp,
    "expm1": np.expm1,
    "log": np.log,
    "log10": np.log10,
    "log1p": np.log1p,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "erf": _by_element(math.erf),
    "erfc": _by_element(math.erfc),
    "atan2": np.arctan2,
    "powf": np.power,
    "exp2": np.exp2,
    "log2": np.log2,
    "cbrt": np.cbrt,
    "rsqrt": lambda a: (1 / np.sqrt(a)).astype(a.dtype),
}


def _power_integer(base: Any, exponent: Any) -> Any:
    count = int(exponent)
    if count < 0:
        return base.dtype.type(int(base) == 1)
    result, factor = base.dtype.type(1), base
    while count:
        result = result * factor if count & 1 else result
        factor, count = factor * factor, count >> 1
    return result


def _power_float(base: Any, exponent: Any) -> Any:
    size = _power_integer(base, abs(int(exponent)))
    return base.dtype.type(1) / size if exponent < 0 else size


def select(condition: Any, a: Any, b: Any) -> Any:
    """``arith.select``."""
    if isinstance(condition, np.ndarray):
        return np.where(condition, a, b).astype(np.asarray(a).dtype)
    return a if condition else b


TWINS: dict[str, Twin] = {
    **{name: twin(f) for name, f in INTEGER_TWINS.items()},
    **{name: twin(f) for name, f in FLOAT_TWINS.items()},
    **{name: twin(f) for name, f in LIBRARY_TWINS.items()},
    "ipowi": lambda base, n: plain(_power_integer(typed(base), n)),
    "fpowi": lambda base, n: _power_float(typed(base), n),
    "select": select,
    "floordiv": lambda a, b: int(a) // int(b),
    "floormod": lambda a, b: int(a) % int(b),
}

SIGNED_ORDER: dict[str, Twin] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "slt": np.less,
    "sle": np.less_equal,
    "sgt": np.greater,
    "sge": np.greater_equal,
}
UNSIGNED_ORDER: dict[str, Twin] = {
    "ult": np.less,
    "ule": np.less_equal,
    "ugt": np.greater,
    "uge": np.greater_equal,
}
FLOAT_ORDER: dict[str, Twin] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}

UNORDERED_ALONE: dict[str, Twin] = {
    "false": np.zeros_like,
    "ord": np.logical_not,
    "uno": np.asarray,
    "true": np.ones_like,
}
"""Float predicates that ask for nothing but whether an operand is NaN."""


def cmpi(predicate: str) -> Twin:
    """``arith.cmpi``."""
    if predicate in SIGNED_ORDER:
        return twin(on_bits(SIGNED_ORDER[predicate]))
    compare = UNSIGNED_ORDER[predicate]
    return twin(on_bits(lambda a, b: compare(unsigned(a), unsigned(b))))


def cmpf(predicate: str) -> Twin:
    """``arith.cmpf``: with NaN, ordered predicates are false, unordered true."""

    def call(a: Any, b: Any) -> Any:
        unordered = np.isnan(a) | np.isnan(b)
        if predicate in UNORDERED_ALONE:
            return UNORDERED_ALONE[predicate](unordered)[()]
        truth = FLOAT_ORDER[predicate[1:]](a, b)
        return truth | unordered if predicate[0] == "u" else truth & ~unordered

    return twin(call)
