"""Interprets complex: double precision, parts rounded to their type."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gpucodegen.interp.arith import divided, typed_constant
from gpucodegen.interp.machine import Machine
from gpucodegen.interp.registry import Evaluate
from gpucodegen.interp.values import canonical, elementwise
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import element_type


def _numpy(name: str) -> Callable[..., complex]:
    function = getattr(np, name)

    def of(*values: complex) -> complex:
        with np.errstate(all="ignore"):
            return complex(function(*map(np.complex128, values)))

    return of


def _product(a: complex, b: complex) -> complex:
    """The product as MLIR lowers it: infinity times zero has a NaN part."""
    return complex(a.real * b.real - a.imag * b.imag, a.imag * b.real + a.real * b.imag)


def _quotient(a: complex, b: complex) -> complex:
    """The quotient as MLIR lowers it: Smith's method, then C annex G for NaN."""
    x, y, u, v = a.real, a.imag, b.real, b.imag
    made = _smith(x, y, u, v)
    if not (math.isnan(made.real) and math.isnan(made.imag)):
        return made
    if u == v == 0 and not (math.isnan(x) and math.isnan(y)):
        large = math.copysign(math.inf, u)
        return complex(large * x, large * y)
    if _is_infinite(a) and math.isfinite(u) and math.isfinite(v):
        x, y = _unit(x), _unit(y)
        return complex(math.inf * (x * u + y * v), math.inf * (y * u - x * v))
    if math.isfinite(x) and math.isfinite(y) and _is_infinite(b):
        u, v = _unit(u), _unit(v)
        return complex(0.0 * (x * u + y * v), 0.0 * (y * u - x * v))
    return made


def _smith(x: float, y: float, u: float, v: float) -> complex:
    """R. L. Smith, Algorithm 116: Complex division, 1962."""
    if abs(u) < abs(v):
        ratio = divided(u, v)
        total = v + ratio * u
        return complex(divided(x * ratio + y, total), divided(y * ratio - x, total))
    ratio = divided(v, u)
    total = u + ratio * v
    return complex(divided(x + y * ratio, total), divided(y - x * ratio, total))


def _is_infinite(z: complex) -> bool:
    return math.isinf(z.real) or math.isinf(z.imag)


def _unit(x: float) -> float:
    """One with the sign of an infinite number, a signed zero for another."""
    return math.copysign(float(math.isinf(x)), x)


def _sign(z: complex) -> complex:
    size = abs(z)
    return z / size if size else z


def _atan2(y: complex, x: complex) -> complex:
    """``-i * log((x + i * y) / sqrt(x * x + y * y))``."""
    log, sqrt, divide = _numpy("log"), _numpy("sqrt"), _numpy("divide")
    return -1j * log(divide(x + 1j * y, sqrt(x * x + y * y)))


def _power(base: complex, exponent: complex) -> complex:
    if base == 0:
        return 1 + 0j if exponent == 0 else 0j
    return _numpy("power")(base, exponent)


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": abs,
    "add": lambda a, b: a + b,
    "angle": lambda z: math.atan2(z.imag, z.real),
    "atan2": _atan2,
    "conj": lambda z: z.conjugate(),
    "cos": _numpy("cos"),
    "create": complex,
    "div": _quotient,
    "eq": lambda a, b: int(a == b),
    "exp": _numpy("exp"),
    "expm1": _numpy("expm1"),
    "im": lambda z: z.imag,
    "log": _numpy("log"),
    "log1p": _numpy("log1p"),
    "mul": _product,
    "neg": lambda z: -z,
    "neq": lambda a, b: int(a != b),
    "pow": _power,
    "powi": _power,
    "re": lambda z: z.real,
    "rsqrt": lambda z: _numpy("divide")(1, _numpy("sqrt")(z)),
    "sign": _sign,
    "sin": _numpy("sin"),
    "sqrt": _numpy("sqrt"),
    "sub": lambda a, b: a - b,
    "tan": _numpy("tan"),
    "tanh": _numpy("tanh"),
}


def _function(function: Callable[..., Any]) -> Evaluate:
    def evaluate(_: Machine, op: Operation, *values: Any) -> Any:
        ty = element_type(op.results[0].type)
        return elementwise(op, lambda *row: canonical(function(*row), ty), values)

    return evaluate


def _bitcast(m: Machine, op: Operation, value: Any) -> Any:
    from gpucodegen.interp.casts import bitcast

    return bitcast(m, op, value)


OPERATIONS: dict[str, Evaluate] = {
    **{f"complex.{name}": _function(f) for name, f in _FUNCTIONS.items()},
    "complex.constant": typed_constant,
    "complex.bitcast": _bitcast,
}
