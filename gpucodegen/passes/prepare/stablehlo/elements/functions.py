"""Functions that math does not have, as formulas in 32 or 64 bits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, log, nan, pi

from gpucodegen.dialects.arith import bit_width
from gpucodegen.dialects.framework.declare import with_element
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import F32, F64, element_type
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.prepare.stablehlo.elements.conversions import converted
from gpucodegen.passes.prepare.stablehlo.elements.expressions import Expression
from gpucodegen.passes.prepare.stablehlo.forms import Rule

Formula = Callable[[Expression], Expression]

# -- the inverse of erf ----------------------------------------------------------------

_INVERSE_ERF = {
    32: (
        (5.0, 0, 2.5, (
            2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06,
            0.00021858087, -0.00125372503, -0.00417768164, 0.246640727, 1.50140941,
        )),
        (inf, 1, 3.0, (
            -0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844,
            0.00573950773, -0.0076224613, 0.00943887047, 1.00167406, 2.83297682,
        )),
    ),
    64: (
        (6.25, 0, 3.125, (
            -3.6444120640178196996e-21, -1.685059138182016589e-19,
            1.2858480715256400167e-18, 1.115787767802518096e-17,
            -1.333171662854620906e-16, 2.0972767875968561637e-17,
            6.6376381343583238325e-15, -4.0545662729752068639e-14,
            -8.1519341976054721522e-14, 2.6335093153082322977e-12,
            -1.2975133253453532498e-11, -5.4154120542946279317e-11,
            1.051212273321532285e-09, -4.1126339803469836976e-09,
            -2.9070369957882005086e-08, 4.2347877827932403518e-07,
            -1.3654692000834678645e-06, -1.3882523362786468719e-05,
            0.0001867342080340571352, -0.00074070253416626697512,
            -0.0060336708714301490533, 0.24015818242558961693, 1.6536545626831027356,
        )),
        (16.0, 1, 3.25, (
            2.2137376921775787049e-09, 9.0756561938885390979e-08,
            -2.7517406297064545428e-07, 1.8239629214389227755e-08,
            1.5027403968909827627e-06, -4.013867526981545969e-06,
            2.9234449089955446044e-06, 1.2475304481671778723e-05,
            -4.7318229009055733981e-05, 6.8284851459573175448e-05,
            2.4031110387097893999e-05, -0.0003550375203628474796,
            0.00095328937973738049703, -0.0016882755560235047313,
            0.0024914420961078508066, -0.0037512085075692412107,
            0.005370914553590063617, 1.0052589676941592334, 3.0838856104922207635,
        )),
        (inf, 1, 5.0, (
            -2.7109920616438573243e-11, -2.5556418169965252055e-10,
            1.5076572693500548083e-09, -3.7894654401267369937e-09,
            7.6157012080783393804e-09, -1.4960026627149240478e-08,
            2.9147953450901080826e-08, -6.7711997758452339498e-08,
            2.2900482228026654717e-07, -9.9298272942317002539e-07,
            4.5260625972231537039e-06, -1.9681778105531670567e-05,
            7.5995277030017761139e-05, -0.00021503011930044477347,
            -0.00013871931833623122026, 1.0103004648645343977, 4.8499064014085844221,
        )),
    ),
}  # fmt: skip
"""By width: up to which w, whether of its root, less what, which polynomial.

M. Giles, Approximating the erfinv function, GPU Computing Gems 2 (2011).
"""


def inverse_erf(x: Expression) -> Expression:
    """``x * p(w)`` with ``w = -log(1 - x * x)``."""
    w = -(-(x * x)).by("log_plus_one")
    root = w.by("sqrt")
    total = x
    for end, is_root, less, coefficients in reversed(
        _INVERSE_ERF[bit_width(element_type(x.type))]
    ):
        piece = ((root if is_root else w) - less).polynomial(coefficients)
        total = piece if end == inf else piece.where(w < end, total)
    infinite = x * inf
    return infinite.where(x.by("abs").equals(1), total * x)


# -- the gamma function ----------------------------------------------------------------

_G = 7.0
_LANCZOS = (
    676.520368121885098567009190444019, -1259.13921672240287047156078755283,
    771.3234287776530788486528258894, -176.61502916214059906584551354,
    12.507343278686904814458936853, -0.13857109526572011689554707,
    9.984369578019570859563e-6, 1.50563273514931155834e-7,
)  # fmt: skip
_FIRST = 0.99999999999980993227684700473478
"""Coefficients of C. Lanczos's series for g = 7, as P. Godfrey computed them."""


def _shifted(x: Expression) -> tuple[Expression, Expression, Expression]:
    """z of ``gamma(z + 1)``, ``z + g + 1/2`` and its logarithm.

    Below 1/2 it is that of ``1 - x``, for the reflection.
    """
    z = (-x).where(x < 0.5, x - 1)
    middle = _G + 0.5
    return z, z + middle, (z / middle).by("log_plus_one") + log(middle)


def log_gamma(x: Expression) -> Expression:
    """``log |gamma(x)|``: Lanczos's series, and its reflection below 1/2."""
    z, t, log_t = _shifted(x)
    series = x.of(_FIRST)
    for n, coefficient in enumerate(_LANCZOS, 1):
        series = series + coefficient / (z + n)
    own = (z + 0.5 - t / log_t) * log_t + log(2 * pi) / 2 + series.by("log")
    whole = x.by("abs")
    part = whole - whole.by("floor")
    part = (1 - part).where(part > 0.5, part)
    sine = (part * pi).by("sine").by("log")
    mirrored = (log(pi) - sine - own).where(sine > -inf, -sine)
    return x.of(inf).where(whole.equals(inf), mirrored.where(x < 0.5, own))


def digamma(x: Expression) -> Expression:
    """The derivative of ``log gamma(x)``, by the same series; NaN at its poles."""
    z, t, log_t = _shifted(x)
    above, below = x.of(0), x.of(_FIRST)
    for n, coefficient in enumerate(_LANCZOS, 1):
        term = coefficient / (z + n)
        above, below = above - term / (z + n), below + term
    own = log_t + above / below - _G / t
    angle = (x + (x + 0.5).by("floor").by("abs")) * pi
    mirrored = own - angle.by("cosine") * pi / angle.by("sine")
    value = mirrored.where(x < 0.5, own)
    pole = (x < 0).by("arith.ori", x.equals(0))
    pole = pole.by("arith.andi", x.equals(x.by("floor")))
    return x.of(nan).where(pole, value)


def _rule(formula: Formula) -> Rule:
    """A formula, of narrow floats in 32 bits."""

    def rule(b: Builder, op: Operation) -> Sequence[Value]:
        (x,) = op.operands
        element = element_type(x.type)
        wide = with_element(x.type, element if element == F64 else F32)
        made = formula(Expression(b, converted(b, x, wide)))
        return [converted(b, made.value, op.result.type)]

    return rule


RULES: dict[str, Rule] = {
    "chlo.erf_inv": _rule(inverse_erf),
    "chlo.lgamma": _rule(log_gamma),
    "chlo.digamma": _rule(digamma),
}
