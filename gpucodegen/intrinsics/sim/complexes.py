"""Complex numbers in the emulator: NumPy's functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpucodegen.intrinsics.sim.twins import Twin


def _create(real: Any, imaginary: Any) -> Any:
    whole = np.complex64 if real.dtype == np.float32 else np.complex128
    return whole(complex(real, imaginary))


def _power(a: Any, b: Any) -> Any:
    return a**b if a and b else float(not b)


def _angle_of(a: Any, b: Any) -> Any:
    return -1j * np.log((b + 1j * a) / np.sqrt(a * a + b * b))


def _log1p(z: Any) -> Any:
    """NumPy's loses the real part of small numbers."""
    x, y = float(z.real), float(z.imag)
    if abs(z) > 0.5:
        return np.log1p(complex(z))
    return complex(0.5 * np.log1p(2 * x + (x * x + y * y)), np.arctan2(y, 1 + x))


def _integer_power(base: Any, exponent: Any) -> Any:
    count, factor, result = abs(int(exponent)), base, base.dtype.type(1)
    while count:
        result = result * factor if count & 1 else result
        factor, count = factor * factor, count >> 1
    return 1 / result if exponent < 0 else result


FUNCTIONS: dict[str, Twin] = {
    "conj": np.conj,
    "csign": np.sign,
    "cexp": np.exp,
    "cexpm1": np.expm1,
    "clog": np.log,
    "clog1p": _log1p,
    "csqrt": np.sqrt,
    "crsqrt": lambda z: 1 / np.sqrt(z),
    "csin": np.sin,
    "ccos": np.cos,
    "ctan": np.tan,
    "ctanh": np.tanh,
    "cdiv": np.divide,
    "cpow": _power,
    "cpowi": _integer_power,
    "catan2": _angle_of,
}


def _of_one_type(function: Twin) -> Twin:
    return lambda z, *others: z.dtype.type(function(z, *others))


TWINS: dict[str, Twin] = {
    **{name: _of_one_type(function) for name, function in FUNCTIONS.items()},
    "cmplx": _create,
    "creal": lambda z: z.real,
    "cimag": lambda z: z.imag,
    "cabs": np.abs,
    "carg": np.angle,
}
