"""complex: complex numbers in double precision, their parts rounded to their type."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gpucodegen.interp.machine import Machine
from gpucodegen.interp.registry import Evaluate
from gpucodegen.interp.values.constants import constant
from gpucodegen.interp.values.elements import canonical
from gpucodegen.interp.values.elementwise import elementwise
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import element_type


def _numpy(name: str) -> Callable[..., complex]:
    function = getattr(np, name)

    def of(*values: complex) -> complex:
        with np.errstate(all="ignore"):
            return complex(function(*map(np.complex128, values)))

    return of


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
    "div": _numpy("divide"),
    "eq": lambda a, b: int(a == b),
    "exp": _numpy("exp"),
    "expm1": _numpy("expm1"),
    "im": lambda z: z.imag,
    "log": _numpy("log"),
    "log1p": _numpy("log1p"),
    "mul": lambda a, b: a * b,
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


def _constant(_: Machine, op: Operation) -> Any:
    return constant(op.attributes.get("value"), op.results[0].type)


def _bitcast(m: Machine, op: Operation, value: Any) -> Any:
    from gpucodegen.interp.scalars.casts import bitcast

    return bitcast(m, op, value)


OPERATIONS: dict[str, Evaluate] = {
    **{f"complex.{name}": _function(f) for name, f in _FUNCTIONS.items()},
    "complex.constant": _constant,
    "complex.bitcast": _bitcast,
}
