"""Fits the polynomials of ``gpucodegen/intrinsics/vector_math/coefficients.py``.

``python bench/fit_polynomials.py`` prints that file; it needs mpmath.  Each row of
`FITS` names a function that is smooth on a short interval, and a weight that turns the
polynomial's error into one of the result in units of its last place.  The polynomial
is the weighted least-squares fit on Chebyshev points, which is within a small factor
of the minimax one (L. N. Trefethen, Approximation Theory and Approximation Practice,
2013, chapters 4 and 16), of the lowest degree whose weighted error stays below 1/16 of
half an ulp.  Coefficients are rounded to the format that they are used in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

mpmath: Any = import_module("mpmath")
mpf: Any = mpmath.mpf
mpmath.mp.dps = 60
POINTS = 6
"""Points of the fit per coefficient."""
BITS = {"f32": 24, "f64": 53}
"""Bits of a number's fraction, the leading one included."""
SLACK = 5
"""Bits by which a fit is better than one ulp."""
HEAD = '''"""Polynomials of the vector functions, lowest power first, for two formats.

Made by ``bench/fit_polynomials.py``, which states intervals, weights and the method.
"""

from __future__ import annotations

Polynomial = tuple[float, ...]
'''


@dataclass(frozen=True)
class Fit:
    """``function`` on ``[low, high]``; its error counts ``weight`` times."""

    name: str
    meaning: str
    low: Any
    high: Any
    function: Callable[[Any], Any]
    weight: Callable[[Any], Any]


def series(term: Callable[[Any], Any]) -> Any:
    """The sum of ``term(n)`` over all natural numbers."""
    return mpmath.nsum(term, [0, mpmath.inf])


def _exp(r: Any) -> Any:
    return series(lambda n: r**n / mpmath.factorial(n + 2))


def _log(z: Any) -> Any:
    return series(lambda n: 2 * z**n / (2 * n + 3))


def _sin(z: Any) -> Any:
    return series(lambda n: -((-z) ** n) / mpmath.factorial(2 * n + 3))


def _cos(z: Any) -> Any:
    return series(lambda n: (-z) ** n / mpmath.factorial(2 * n + 4))


def _tanh(z: Any) -> Any:
    x = mpmath.sqrt(z)
    return (mpmath.tanh(x) / x - 1) / z


def _erf(z: Any) -> Any:
    x = mpmath.sqrt(z)
    return mpmath.erf(x) / x - 1


def _asin(z: Any) -> Any:
    return series(
        lambda n: mpmath.rf(0.5, n + 1) / mpmath.factorial(n + 1) * z**n / (2 * n + 3)
    )


def _atan(z: Any) -> Any:
    return series(lambda n: -((-z) ** n) / (2 * n + 3))


def _sinh(z: Any) -> Any:
    return series(lambda n: z**n / mpmath.factorial(2 * n + 3))


def _erfc(t: Any) -> Any:
    x = 4 * (1 + t) / (1 - t)
    return (1 + 2 * x) * mpmath.exp(x * x) * mpmath.erfc(x)


HALF_LN2 = mpmath.log(2) / 2 * (1 + mpf(2) ** -8)
LOG_END = (mpmath.sqrt(2) - 1) ** 2 / (mpmath.sqrt(2) + 1) ** 2 * (1 + mpf(2) ** -8)
SIN_END = (mpmath.pi / 4) ** 2 * (1 + mpf(2) ** -8)
ERF_SPLIT = mpf("0.90625")
ERF_END = {"f32": mpf(4), "f64": mpf(6)}

FITS = (
    Fit("EXP", "(exp(r) - 1 - r) / r^2", -HALF_LN2, HALF_LN2, _exp, abs),
    Fit("LOG", "(log((1+s)/(1-s))/s - 2) / z, z = s^2", mpf(0), LOG_END, _log, abs),
    Fit(
        "LOG_TAIL",
        "(log((1+s)/(1-s))/s - 2 - 2z/3) / z^2, z = s^2, for sums of two floats",
        mpf(0),
        LOG_END,
        lambda z: series(lambda n: 2 * z**n / (2 * n + 5)),
        lambda z: 1024 * z * z,
    ),
    Fit("SIN", "(sin(r)/r - 1) / z, z = r^2", mpf(0), SIN_END, _sin, abs),
    Fit(
        "COS",
        "(cos(r) - 1 + z/2) / z^2, z = r^2",
        mpf(0),
        SIN_END,
        _cos,
        lambda z: z * z,
    ),
    Fit(
        "TANH",
        "(tanh(x)/x - 1) / z, z = x^2, |x| <= 0.5625",
        mpf(2) ** -40,
        mpf("0.5625") ** 2,
        _tanh,
        abs,
    ),
    Fit(
        "ERF_INNER",
        "erf(x)/x - 1, z = x^2, |x| <= 0.90625",
        mpf(2) ** -40,
        ERF_SPLIT**2,
        _erf,
        lambda _: mpf(1),
    ),
)

WIDE_FITS = (
    Fit(
        "ASIN",
        "(asin(x)/x - 1) / z, z = x^2, |x| <= 1/2",
        mpf(0),
        mpf(1) / 4,
        _asin,
        abs,
    ),
    Fit(
        "ATAN",
        "(atan(x)/x - 1) / z, z = x^2, |x| <= tan(pi/8)",
        mpf(0),
        (mpmath.sqrt(2) - 1) ** 2 * (1 + mpf(2) ** -8),
        _atan,
        abs,
    ),
    Fit("SINH", "(sinh(x)/x - 1) / z, z = x^2, |x| <= 1", mpf(0), mpf(1), _sinh, abs),
    Fit(
        "ERFC",
        "(1 + 2x) e^(x^2) erfc(x), t = (x - 4) / (x + 4), 1/2 <= x <= 28",
        -mpf(7) / 9,
        mpf(3) / 4,
        _erfc,
        lambda _: mpf(1),
    ),
)
"""Functions that float32 computes in float64."""


def chebyshev(low: Any, high: Any, count: int) -> list[Any]:
    """The Chebyshev points of an interval."""
    middle, radius = (low + high) / 2, (high - low) / 2
    angles = (mpmath.pi * (2 * i + 1) / (2 * count) for i in range(count))
    return [middle + radius * mpmath.cos(a) for a in angles]


def fitted(fit: Fit, points: list[Any], values: list[Any], degree: int) -> list[Any]:
    """The weighted least-squares polynomial of one degree."""
    weights = [fit.weight(p) for p in points]
    rows = [
        [w * p**k for k in range(degree + 1)]
        for p, w in zip(points, weights, strict=True)
    ]
    right = [w * v for w, v in zip(weights, values, strict=True)]
    solution, _ = mpmath.qr_solve(mpmath.matrix(rows), mpmath.matrix(right))
    return list(solution)


def polynomial(fit: Fit, bits: int) -> list[Any]:
    """The polynomial of the lowest degree that is good enough for ``bits``."""
    for degree in range(2, 40):
        points = chebyshev(fit.low, fit.high, POINTS * (degree + 1))
        values = [fit.function(p) for p in points]
        solution = fitted(fit, points, values, degree)
        error = max(
            abs(fit.weight(p) * (mpmath.polyval(solution[::-1], p) - v))
            for p, v in zip(points, values, strict=True)
        )
        if error < mpf(2) ** -(bits + SLACK):
            return solution
    raise ValueError(fit.name)


def outer_error_function(kind: str) -> Fit:
    """``-log(erfc(x))`` in the distance from the split, where it has to be exact."""
    return Fit(
        "ERF_OUTER",
        "-log(erfc(x)), u = x - 0.90625, x <= 4 or 6",
        mpf(0),
        ERF_END[kind] - ERF_SPLIT,
        lambda u: -mpmath.log(mpmath.erfc(ERF_SPLIT + u)),
        lambda u: mpmath.erfc(ERF_SPLIT + u),
    )


def literal(value: Any, kind: str) -> str:
    """A coefficient in its format, in the shortest decimals that give it back."""
    return repr(float(np.float32(str(value)) if kind == "f32" else np.float64(value)))


def table(name: str, fits: dict[str, Fit]) -> str:
    """One table of the file."""
    lines = [f"{name}: dict[str, Polynomial] = {{"]
    for kind, fit in fits.items():
        numbers = polynomial(fit, BITS[kind])
        body = "".join(f"        {literal(c, kind)},\n" for c in numbers)
        lines.append(f'    "{kind}": (\n{body}    ),')
    return "\n".join([*lines, "}", f'"""{fits["f64"].meaning}"""', ""])


def main() -> None:
    """Print the file."""
    print(HEAD)
    for fit in FITS:
        print(table(fit.name, {"f32": fit, "f64": fit}))
    outer = {kind: outer_error_function(kind) for kind in ERF_END}
    print(table("ERF_OUTER", outer))
    print("\n".join(table(fit.name, {"f64": fit}) for fit in WIDE_FITS).rstrip())


if __name__ == "__main__":
    main()
