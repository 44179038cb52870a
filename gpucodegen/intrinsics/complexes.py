"""Complex numbers: division, parts and functions, under the names of C's complex.h.

Sums, differences and products are Numba's operators.  A division by zero gives
infinities and NaN. `Real` wraps LLVM values of real numbers with Python's operators,
for formulas.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from llvmlite import ir
from numba.core import types

from gpucodegen.intrinsics.arithmetic import repeated_product
from gpucodegen.intrinsics.framework.lowering import (
    Backend,
    Lowering,
    number,
    signature,
)
from gpucodegen.records import dataclass


@dataclass(frozen=True, slots=True)
class Real:
    """A real number during code generation, with the operators of Python."""

    low: Lowering
    ty: Any
    value: Any

    def of(self, value: Any) -> Real:
        """Another number of this type: a constant, or an LLVM value."""
        is_plain = isinstance(value, int | float)
        made = number(self.value.type, value) if is_plain else value
        return Real(self.low, self.ty, made)

    def function(self, name: str, *others: Real) -> Real:
        """A function of C's library."""
        arguments = [x.value for x in (self, *others)]
        return self.of(self.low.face.function(self.low, name, self.ty, arguments))

    def _combined(self, method: str, other: Real | float) -> Real:
        value = other.value if isinstance(other, Real) else self.of(other).value
        return self.of(getattr(self.low.builder, method)(self.value, value))

    def __add__(self, other: Real | float) -> Real:
        return self._combined("fadd", other)

    def __sub__(self, other: Real | float) -> Real:
        return self._combined("fsub", other)

    def __mul__(self, other: Real | float) -> Real:
        return self._combined("fmul", other)

    def __truediv__(self, other: Real | float) -> Real:
        return self._combined("fdiv", other)

    def __neg__(self) -> Real:
        return self.of(-0.0) - self

    def __abs__(self) -> Real:
        return self.of(self.low.overloaded("fabs", (self.value,)))

    def root(self) -> Real:
        """The square root."""
        return self.of(self.low.overloaded("sqrt", (self.value,)))

    def with_sign_of(self, other: Real) -> Real:
        """This size with another number's sign."""
        return self.of(self.low.overloaded("copysign", (self.value, other.value)))

    def compared(self, symbol: str, other: Real | float) -> Any:
        """An ordered comparison, as a bit."""
        value = other.value if isinstance(other, Real) else self.of(other).value
        return self.low.builder.fcmp_ordered(symbol, self.value, value)

    def is_nan(self) -> Any:
        """A bit."""
        return self.low.builder.fcmp_unordered("uno", self.value, self.value)

    def if_(self, condition: Any, other: Real) -> Real:
        """This number where the bit is set, else the other."""
        chosen = self.low.builder.select(condition, self.value, other.value)
        return self.of(chosen)


PART = {types.complex64: types.float32, types.complex128: types.float64}
WHOLE = {part: whole for whole, part in PART.items()}


Pair = tuple[Real, Real]
Formula = Callable[..., "Pair | Real"]


def _parts(low: Lowering, ty: Any, z: Any) -> Pair:
    real, imaginary = (low.builder.extract_value(z, i) for i in (0, 1))
    return Real(low, PART[ty], real), Real(low, PART[ty], imaginary)


def _joined(low: Lowering, z: Pair) -> Any:
    first = z[0].value
    value = ir.Constant(ir.LiteralStructType([first.type] * 2), ir.Undefined)
    for i, part in enumerate(z):
        value = low.builder.insert_value(value, part.value, i)
    return value


def _size(z: Pair) -> Real:
    return z[0].function("hypot", z[1])


def _product(a: Pair, b: Pair) -> Pair:
    (x, y), (u, v) = a, b
    return x * u - y * v, x * v + y * u


def _quotient(a: Pair, b: Pair) -> Pair:
    """R. L. Smith, Algorithm 116: Complex division, 1962.

    Where both parts are NaN, annex G of C decides, as in MLIR's lowering.
    """
    (x, y), (u, v) = a, b
    is_tall = abs(u).compared("<", abs(v))
    large, small = v.if_(is_tall, u), u.if_(is_tall, v)
    ratio = small / large
    total = large + small * ratio
    real = (x * ratio + y).if_(is_tall, x + y * ratio) / total
    imaginary = (y * ratio - x).if_(is_tall, y - x * ratio) / total
    both = x.low.builder.and_
    is_nan = both(real.is_nan(), imaginary.is_nan())
    for holds, pair in _limits(a, b):
        real = pair[0].if_(both(is_nan, holds), real)
        imaginary = pair[1].if_(both(is_nan, holds), imaginary)
    return real, imaginary


def _limits(a: Pair, b: Pair) -> Iterator[tuple[Any, Pair]]:
    """Mutually exclusive conditions, each with its quotient."""
    (x, y), (u, v) = a, b
    b_, infinity, zero = x.low.builder, x.of(math.inf), x.of(0.0)
    finite = [b_.and_(*(abs(n).compared("<", math.inf) for n in z)) for z in (a, b)]
    infinite = [b_.or_(*(abs(n).compared("==", math.inf) for n in z)) for z in (a, b)]
    is_zero = b_.and_(*(n.compared("==", 0.0) for n in b))
    signed = infinity.with_sign_of(u)
    yield is_zero, (signed * x, signed * y)
    x1, y1, u1, v1 = (
        x.of(1.0).if_(abs(n).compared("==", math.inf), zero).with_sign_of(n)
        for n in (x, y, u, v)
    )
    products = x1 * u + y1 * v, y1 * u - x1 * v
    where = b_.and_(b_.and_(infinite[0], finite[1]), b_.not_(is_zero))
    yield where, (infinity * products[0], infinity * products[1])
    products = x * u1 + y * v1, y * u1 - x * v1
    where = b_.and_(finite[0], infinite[1])
    yield where, (zero * products[0], zero * products[1])


def _angle(z: Pair) -> Real:
    return z[1].function("atan2", z[0])


def _exp(z: Pair) -> Pair:
    x, y = z
    size = x.function("exp")
    imaginary = y.if_(y.compared("==", 0.0), size * y.function("sin"))
    return size * y.function("cos"), imaginary


def _expm1(z: Pair) -> Pair:
    """``e^x cos y - 1 = (e^x - 1) cos y - 2 sin^2(y/2)``."""
    x, y = z
    half = (y * 0.5).function("sin")
    real = x.function("expm1") * y.function("cos") - half * half * 2.0
    return real, x.function("exp") * y.function("sin")


def _log(z: Pair) -> Pair:
    """``ln |z| = ln1p((|x| - 1) (|x| + 1) + y^2) / 2`` where |z| is about one."""
    x, y = abs(z[0]), z[1]
    near = ((x - 1.0) * (x + 1.0) + y * y).function("log1p") * 0.5
    size = _size(z)
    is_near = abs(size - 1.0).compared("<", 0.5)
    return near.if_(is_near, size.function("log")), _angle(z)


def _log1p(z: Pair) -> Pair:
    """``ln |1 + z| = ln1p(2 x + |z|^2) / 2`` near zero."""
    x, y = z
    near = (x * 2.0 + (x * x + y * y)).function("log1p") * 0.5
    real, angle = _log((x + 1.0, y))
    is_near = (abs(x) + abs(y)).compared("<", 0.5)
    return near.if_(is_near, real), angle


def _scale(z: Pair) -> Real:
    """A factor before which sizes do not overflow: 1/16 of huge numbers, else 1."""
    is_huge = (abs(z[0]) + abs(z[1])).compared(">", 2.0**100)
    return z[0].of(2.0**-4).if_(is_huge, z[0].of(1.0))


def _sqrt(z: Pair) -> Pair:
    """One part is the root of half of ``|z| + |x|``, the other follows from y.

    Numbers whose size may overflow are divided by 16 before. An infinite y makes both
    parts infinite, as in C.
    """
    x, y = z
    scale = _scale(z)
    u, v = x * scale, y * scale
    large = (_size((u, v)) * 0.5 + abs(u) * 0.5).root()
    small = abs(v) * 0.5 / large
    small = small.of(0.0).if_(large.compared("==", 0.0), small)
    back = scale.root()
    large, small = large / back, small / back
    infinity = x.of(math.inf)
    is_infinite = abs(y).compared("==", math.inf)
    large, small = (infinity.if_(is_infinite, part) for part in (large, small))
    is_right = x.compared(">=", 0.0)
    real, imaginary = large.if_(is_right, small), small.if_(is_right, large)
    return real, imaginary.with_sign_of(y)


def _sin(z: Pair) -> Pair:
    """``sin x cosh y + i cos x sinh y``; zero times an infinite factor is zero."""
    x, y = z
    real = x.if_(x.compared("==", 0.0), x.function("sin") * y.function("cosh"))
    imaginary = y.if_(y.compared("==", 0.0), x.function("cos") * y.function("sinh"))
    return real, imaginary


def _cos(z: Pair) -> Pair:
    """``cos x cosh y - i sin x sinh y``, with zeros as in `_sin`."""
    x, y = z
    real = x.function("cos") * y.function("cosh")
    zero = x * y.of(1.0).with_sign_of(y)
    product = zero.if_(x.compared("==", 0.0), x.function("sin") * y.function("sinh"))
    return real, -product


FLAT = 40.0
"""Beyond this imaginary part a tangent is i or -i; its hyperbolic parts stay finite."""


def _tan(z: Pair) -> Pair:
    """``(sin 2x + i sinh 2y) / (cos 2x + cosh 2y)``."""
    x, y = z[0] * 2.0, z[1]
    is_flat = abs(y).compared(">", FLAT)
    y = y.of(FLAT).with_sign_of(y).if_(is_flat, y) * 2.0
    total = x.function("cos") + y.function("cosh")
    return x.function("sin") / total, y.function("sinh") / total


def _sign(z: Pair) -> Pair:
    """``z / |z|``, zero for zero; a single infinite part counts alone.

    Numbers whose size may overflow are divided by 16 before.
    """
    x, y = z
    builder, scale = x.low.builder, _scale(z)
    infinite = [abs(part).compared("==", math.inf) for part in z]
    is_infinite = builder.xor(*infinite)
    found: list[Real] = []
    for part, is_large in zip(z, infinite, strict=True):
        unit = part.of(1.0).if_(is_large, part.of(0.0)).with_sign_of(part)
        found.append(unit.if_(is_infinite, part * scale))
    size = _size((found[0], found[1]))
    is_zero = size.compared("==", 0.0)
    return x.if_(is_zero, found[0] / size), y.if_(is_zero, found[1] / size)


def _power(a: Pair, b: Pair) -> Pair:
    """``e^(b ln a)``; a power of zero is zero, or one if the exponent is zero."""
    logarithm = _log(a)
    x, y = _exp(_product(b, logarithm))
    is_zero, is_first = _size(a).compared("==", 0.0), _size(b).compared("==", 0.0)
    one, zero = x.of(1.0), x.of(0.0)
    return one.if_(is_first, zero.if_(is_zero, x)), zero.if_(
        x.low.builder.or_(is_zero, is_first), y
    )


def _angle_of(a: Pair, b: Pair) -> Pair:
    """``atan2(a, b) = -i ln((b + i a) / sqrt(a^2 + b^2))``."""
    (x, y), (u, v) = a, b
    squares = [_product(z, z) for z in (a, b)]
    root = _sqrt((squares[0][0] + squares[1][0], squares[0][1] + squares[1][1]))
    real, imaginary = _log(_quotient((u - y, v + x), root))
    return imaginary, -real


def _tanh(z: Pair) -> Pair:
    """``tanh z = -i tan(i z)``."""
    real, imaginary = _tan((-z[1], z[0]))
    return imaginary, -real


def _inverse(z: Pair) -> Pair:
    return _quotient((z[0].of(1.0), z[0].of(0.0)), z)


FORMULAS: dict[str, tuple[int, Formula]] = {
    "creal": (1, lambda z: z[0]),
    "cimag": (1, lambda z: z[1]),
    "cabs": (1, _size),
    "carg": (1, _angle),
    "conj": (1, lambda z: (z[0], -z[1])),
    "csign": (1, _sign),
    "cexp": (1, _exp),
    "cexpm1": (1, _expm1),
    "clog": (1, _log),
    "clog1p": (1, _log1p),
    "csqrt": (1, _sqrt),
    "crsqrt": (1, lambda z: _inverse(_sqrt(z))),
    "csin": (1, _sin),
    "ccos": (1, _cos),
    "ctan": (1, _tan),
    "ctanh": (1, _tanh),
    "cdiv": (2, _quotient),
    "cpow": (2, _power),
    "catan2": (2, _angle_of),
}
"""Per intrinsic: the number of operands, and the formula on their parts."""
REAL = frozenset({"creal", "cimag", "cabs", "carg"})
"""Intrinsics with a real result."""


def function(face: Backend, name: str) -> Any:
    """The intrinsic of one row of the table."""
    arity, formula = FORMULAS[name]

    def typing_rule(*arguments: Any) -> Any:
        ty = arguments[0]
        if ty not in PART or set(arguments) != {ty}:
            return None
        return signature(PART[ty] if name in REAL else ty, *arguments)

    def lower(low: Lowering, *args: Any) -> Any:
        ty = low.signature.args[0]
        result = formula(*(_parts(low, ty, z) for z in args))
        return result.value if isinstance(result, Real) else _joined(low, result)

    return face.define(name, arity, typing_rule, lower)


def create(face: Backend) -> Any:
    """``cmplx(re, im)``."""

    def typing_rule(real: Any, imaginary: Any) -> Any:
        whole = WHOLE.get(real)
        return None if whole is None else signature(whole, real, imaginary)

    def lower(low: Lowering, *args: Any) -> Any:
        part = low.signature.args[0]
        real, imaginary = (Real(low, part, x) for x in args)
        return _joined(low, (real, imaginary))

    return face.define("cmplx", 2, typing_rule, lower)


def power(face: Backend) -> Any:
    """``cpowi(z, n)``: an integer exponent, by repeated squaring."""

    def typing_rule(base: Any, _exponent: Any) -> Any:
        return signature(base, base, types.int64) if base in PART else None

    def lower(low: Lowering, base: Any, exponent: Any) -> Any:
        ty = low.signature.return_type

        def multiply(a: Any, b: Any) -> Any:
            return _joined(low, _product(_parts(low, ty, a), _parts(low, ty, b)))

        x, _ = _parts(low, ty, base)
        one = _joined(low, (x.of(1.0), x.of(0.0)))
        product, negative = repeated_product(low, base, exponent, one, multiply)
        inverse = _joined(low, _inverse(_parts(low, ty, product)))
        return low.builder.select(negative, inverse, product)

    return face.define("cpowi", 2, typing_rule, lower)
