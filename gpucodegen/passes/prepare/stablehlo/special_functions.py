"""Functions of CHLO without an equivalent in math, as formulas in 32 or 64 bits.

Inverse erf, the gamma function and its relatives, a Bessel function; and elementary
functions of complex numbers by others, on their principal branches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import factorial, inf, log, nan, pi

from gpucodegen.dialects.arith import bit_width
from gpucodegen.dialects.framework.declare import with_element
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import F32, F64, ComplexType, element_type
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.prepare.stablehlo.expressions import (
    Expression,
    applied,
    converted,
)
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
"""By width: per interval its limit of w, whether of sqrt(w), shift, and polynomial.

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


# -- zeta functions and their relatives ------------------------------------------------

_BERNOULLI = (
    1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510,
    43867 / 798, -174611 / 330, 854513 / 138, -236364091 / 2730,
)  # fmt: skip
"""The Bernoulli numbers B2, B4, ..."""
_TERMS = 9
"""Terms of zeta that are added as they are."""


def zeta(s: Expression, q: Expression) -> Expression:
    """``sum (q + k)**-s`` over ``k >= 0``, by the formula of Euler and Maclaurin.

        sum of the first N terms + w**(1 - s) / (s - 1) + w**-s / 2
            + sum B(2j) / (2j)! * s (s + 1) .. (s + 2j - 2) * w**(-s - 2j + 1)

    with ``w = q + N``. It is infinite for s = 1 and at the poles of q, and NaN below 1.
    """
    total = s.of(0)
    for k in range(_TERMS):
        total = total + (q + k).by("power", -s)
    w = q + _TERMS
    power = w.by("power", -s)
    total = total + power * w / (s - 1) + power * 0.5
    rising, power = s, power / w
    for j, number in enumerate(_BERNOULLI, 1):
        total = total + rising * power * (number / factorial(2 * j))
        rising = rising * (s + (2 * j - 1)) * (s + 2 * j)
        power = power / (w * w)
    pole = (q < 0).by("arith.ori", q.equals(0))
    pole = pole.by("arith.andi", q.equals(q.by("floor")))
    total = s.of(inf).where(pole, total)
    total = s.of(inf).where(s.equals(1), total)
    return s.of(nan).where(s < 1, total)


def polygamma(n: Expression, x: Expression) -> Expression:
    """The n-th derivative of digamma: ``(-1)**(n + 1) n! zeta(n + 1, x)``."""
    half = n * 0.5
    sign = n.of(-1).where(half.equals(half.by("floor")), 1)
    whole = sign * log_gamma(n + 1).by("exponential") * zeta(n + 1, x)
    made = digamma(x).where(n.equals(0), whole)
    wrong = (n < 0).by("arith.ori", n.compared("ne", n.by("floor")))
    return n.of(nan).where(wrong, made)


_I1E_SMALL = (
    2.7779141127610464e-18, -2.111421214358166e-17, 1.5536319577362005e-16,
    -1.1055969477353862e-15, 7.600684294735408e-15, -5.042185504727912e-14,
    3.223793365945575e-13, -1.9839743977649436e-12, 1.1736186298890901e-11,
    -6.663489723502027e-11, 3.625590281552117e-10, -1.8872497517228294e-09,
    9.381537386495773e-09, -4.445059128796328e-08, 2.0032947535521353e-07,
    -8.568720264695455e-07, 3.4702513081376785e-06, -1.3273163656039436e-05,
    4.781565107550054e-05, -0.00016176081582589674, 0.0005122859561685758,
    -0.0015135724506312532, 0.004156422944312888, -0.010564084894626197,
    0.024726449030626516, -0.05294598120809499, 0.1026436586898471,
    -0.17641651835783406, 0.25258718644363365,
)  # fmt: skip
_I1E_LARGE = (
    7.517296310842105e-18, 4.414348323071708e-18, -4.6503053684893586e-17,
    -3.209525921993424e-17, 2.96262899764595e-16, 3.3082023109209285e-16,
    -1.8803547755107825e-15, -3.8144030724370075e-15, 1.0420276984128802e-14,
    4.272440016711951e-14, -2.1015418427726643e-14, -4.0835511110921974e-13,
    -7.198551776245908e-13, 2.0356285441470896e-12, 1.4125807436613782e-11,
    3.2526035830154884e-11, -1.8974958123505413e-11, -5.589743462196584e-10,
    -3.835380385964237e-09, -2.6314688468895196e-08, -2.512236237870209e-07,
    -3.882564808877691e-06, -0.00011058893876262371, -0.009761097491361469,
    0.7785762350182801,
)  # fmt: skip
"""Chebyshev coefficients up to 8 and beyond: S. Moshier, Cephes, i1.c (1987)."""


def bessel_i1e(x: Expression) -> Expression:
    """``exp(-|x|) I1(x)``, of the modified Bessel function of order 1."""
    size = x.by("abs")
    small = _chebyshev(size * 0.5 - 2, _I1E_SMALL) * size
    large = _chebyshev(32 / size - 2, _I1E_LARGE) / size.by("sqrt")
    made = small.where(size < 8, large)
    return made.by("math.copysign", x)


def _chebyshev(x: Expression, coefficients: Sequence[float]) -> Expression:
    """Clenshaw's recurrence, the coefficient of the highest order first."""
    before, now, last = x.of(0), x.of(0), x.of(0)
    for coefficient in coefficients:
        before, last, now = last, now, x * now - last + coefficient
    return (now - before) * 0.5


# -- complex numbers -------------------------------------------------------------------


def _turned(z: Expression) -> Expression:
    """``i z``."""
    element = element_type(z.type)
    assert isinstance(element, ComplexType)
    own = with_element(z.type, element.element)
    real, imaginary = (
        applied(z.b, f"complex.{n}", (z.value,), own) for n in ("re", "im")
    )
    parts = (-Expression(z.b, imaginary)).value, real
    return Expression(z.b, applied(z.b, "complex.create", parts, z.type))


def _asinh(z: Expression) -> Expression:
    square = z * z
    return (z + square / ((square + 1).by("sqrt") + 1)).by("log_plus_one")


def _atanh(z: Expression) -> Expression:
    return (z.by("log_plus_one") - (-z).by("log_plus_one")) * 0.5


def _asin(z: Expression) -> Expression:
    return -_turned(_asinh(_turned(z)))


COMPLEX_FUNCTIONS: dict[str, Formula] = {
    "sinh": lambda z: -_turned(_turned(z).by("sine")),
    "cosh": lambda z: _turned(z).by("cosine"),
    "tan": lambda z: z.by("tan"),
    "asinh": _asinh,
    "acosh": lambda z: (z + (z + 1).by("sqrt") * (z - 1).by("sqrt")).by("log"),
    "atanh": _atanh,
    "asin": _asin,
    "acos": lambda z: z.of(pi / 2) - _asin(z),
    "atan": lambda z: -_turned(_atanh(_turned(z))),
}
"""Functions of complex numbers by others: ``sinh z = -i sin iz``, and so on."""


def complex_sign(z: Expression) -> Expression:
    """``z / |z|``, and 0 for 0."""
    element = element_type(z.type)
    assert isinstance(element, ComplexType)
    own = with_element(z.type, element.element)
    size = Expression(z.b, applied(z.b, "complex.abs", (z.value,), own))
    return z.where(
        size.equals(0), z / Expression(z.b, converted(z.b, size.value, z.type))
    )


# -- rules -----------------------------------------------------------------------------


def _rule(formula: Callable[..., Expression]) -> Rule:
    """A formula, of narrow floats in 32 bits."""

    def rule(b: Builder, op: Operation) -> Sequence[Value]:
        element = element_type(op.result.type)
        wide = with_element(op.result.type, element if element == F64 else F32)
        given = [Expression(b, converted(b, x, wide)) for x in op.operands]
        return [converted(b, formula(*given).value, op.result.type)]

    return rule


FUNCTION_RULES: dict[str, Rule] = {
    "chlo.erf_inv": _rule(inverse_erf),
    "chlo.lgamma": _rule(log_gamma),
    "chlo.digamma": _rule(digamma),
    "chlo.zeta": _rule(zeta),
    "chlo.polygamma": _rule(polygamma),
    "chlo.bessel_i1e": _rule(bessel_i1e),
}
