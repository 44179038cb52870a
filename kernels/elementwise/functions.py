"""Table of the functions of expressions: NumPy's result type, and their operations.

The element of a result is the one NumPy gives for empty arrays of the arguments'
elements.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gpucodegen.kernels.elements import BOOL, I64, U64, Element
from gpucodegen.kernels.scalar_text import UNARY, Scalars, Value, has
from gpucodegen.records import dataclass

Builder = Callable[..., Value]


@dataclass(frozen=True, slots=True)
class Call:
    """A function: ``typed`` asks NumPy for the element of its result.

    ``build`` maps the text, the element of the result, and the arguments to a value.
    ``converts``: the arguments are converted to that element first.
    """

    typed: Callable[..., Any]
    build: Builder
    converts: bool = True


def _same(_text: Scalars, _element: Element, x: Value) -> Value:
    return x


def _unary(name: str) -> Builder:
    return lambda text, _, x: text.unary(name, x)


def _binary(name: str) -> Builder:
    return lambda text, _, x, y: text.binary(name, x, y)


def _compared(name: str) -> Builder:
    return lambda text, _, x, y: text.compared(name, x, y)


def _rounding(name: str) -> Builder:
    def build(text: Scalars, element: Element, x: Value) -> Value:
        return text.unary(name, x) if has(UNARY, name, element.kind) else x

    return build


def _square(text: Scalars, _element: Element, x: Value) -> Value:
    return text.binary("mul", x, x)


def _reciprocal(text: Scalars, element: Element, x: Value) -> Value:
    """``1 / x``; of integers 1 of 1, -1 of -1, else 0."""
    if element.kind in "iu":
        found = text.constant(0, element)
        for number in (1, -1) if element.kind == "i" else (1,):
            same = text.constant(number, element)
            found = text.select(text.compared("eq", x, same), same, found)
        return found
    return text.binary("div", text.constant(1, element), x)


def relu(text: Scalars, element: Element, x: Value) -> Value:
    """``max(x, 0)``."""
    return text.binary("max", x, text.constant(0, element))


def sigmoid(text: Scalars, element: Element, x: Value) -> Value:
    """``1 / (1 + exp(-x))``."""
    one = text.constant(1, element)
    power = text.unary("exp", text.unary("neg", x))
    return text.binary("div", one, text.binary("add", one, power))


def silu(text: Scalars, element: Element, x: Value) -> Value:
    """``x * sigmoid(x)``."""
    return text.binary("mul", x, sigmoid(text, element, x))


def gelu(text: Scalars, element: Element, x: Value) -> Value:
    """``x / 2 * (1 + erf(x / sqrt(2)))``."""
    scaled = text.binary("mul", x, text.constant(math.sqrt(0.5), element))
    ends = text.binary("add", text.constant(1, element), text.unary("erf", scaled))
    return text.binary("mul", text.binary("mul", x, text.constant(0.5, element)), ends)


def _power(text: Scalars, element: Element, x: Value, y: Value) -> Value:
    """Integers in 64 bits; no exponent is negative.

    ``math.ipowi`` reads signed exponents: odd numbers to the power of 2^62 are 1 modulo
    2^64 and even ones 0, so bit 62 of an exponent may stand for bit 63.
    """
    if element.kind not in "iu":
        return text.binary("pow", x, y)
    base, exponent = text.cast(x, I64), text.cast(y, I64)
    if element.kind == "u" and element.bits == 64:
        top = text.binary("shl", _bit_63(text, y), text.constant(62, U64))
        rest = text.binary("and", y, text.constant((1 << 63) - 1, U64))
        exponent = text.cast(text.binary("or", rest, top), I64)
    return text.cast(text.binary("pow", base, exponent), element)


def _bit_63(text: Scalars, x: Value) -> Value:
    return text.binary("shr", x, text.constant(63, x.element))


def _sign(text: Scalars, element: Element, x: Value) -> Value:
    """-1, 0 or 1; NaN for NaN."""
    zero, one = text.constant(0, element), text.constant(1, element)
    found = text.select(text.compared("gt", x, zero), one, zero)
    if element.kind == "u":
        return found
    less = text.compared("lt", x, zero)
    found = text.select(less, text.constant(-1, element), found)
    return text.select(text.is_nan(x), x, found) if element.kind == "f" else found


def _where(
    text: Scalars, element: Element, condition: Value, x: Value, y: Value
) -> Value:
    values = text.cast(x, element), text.cast(y, element)
    return text.select(text.cast(condition, BOOL), *values)


def _floor_divide(text: Scalars, element: Element, x: Value, y: Value) -> Value:
    """``npy_floor_divide``: 0 for integers divided by 0, ``x / 0`` for floats.

    ``x`` without C's remainder is a multiple of ``y`` but for rounding, and the
    quotient almost an integer; one of zero has the sign of ``x / y``.
    """
    if element.kind != "f":
        x, y = _divisible(text, element, x, y)
        return text.binary("floordiv", x, y)
    zero, half = text.constant(0, element), text.constant(0.5, element)
    rest, moves = _c_remainder(text, element, x, y)
    quotient = text.binary("div", text.binary("sub", x, rest), y)
    less = text.binary("sub", quotient, text.constant(1, element))
    quotient = text.select(moves, less, quotient)
    whole = text.unary("floor", quotient)
    above = text.compared("gt", text.binary("sub", quotient, whole), half)
    rounded = text.select(
        above, text.binary("add", whole, text.constant(1, element)), whole
    )
    plain = text.binary("div", x, y)
    signed = text.binary("copysign", zero, plain)
    rounded = text.select(text.compared("eq", quotient, zero), signed, rounded)
    return text.select(text.compared("eq", y, zero), plain, rounded)


def remainder(text: Scalars, element: Element, x: Value, y: Value) -> Value:
    """``npy_remainder``: 0 for integers divided by 0; a zero has the sign of ``y``."""
    if element.kind == "f":
        rest, moves = _c_remainder(text, element, x, y)
        moved = text.select(moves, text.binary("add", rest, y), rest)
        signed = text.binary("copysign", moved, y)
        is_zero = text.compared("eq", moved, text.constant(0, element))
        return text.select(is_zero, signed, moved)
    x, y = _divisible(text, element, x, y)
    if element.kind == "u":
        return text.binary("rem", x, y)
    rest, moves = _c_remainder(text, element, x, y)
    return text.select(moves, text.binary("add", rest, y), rest)


def _c_remainder(
    text: Scalars, element: Element, x: Value, y: Value
) -> tuple[Value, Value]:
    """C's remainder, and whether ``y`` must be added to match its sign."""
    rest, zero = text.binary("rem", x, y), text.constant(0, element)
    apart = text.binary(
        "xor", text.compared("lt", rest, zero), text.compared("lt", y, zero)
    )
    return rest, text.binary("and", text.compared("ne", rest, zero), apart)


def _divisible(
    text: Scalars, element: Element, x: Value, y: Value
) -> tuple[Value, Value]:
    """Operands whose integer division is defined in MLIR and gives NumPy's result.

    A division by 0 is replaced by 0 / 1, and one by -1 by the negated dividend / 1.
    """
    zero, one = text.constant(0, element), text.constant(1, element)
    by_zero = text.compared("eq", y, zero)
    x, safe = text.select(by_zero, zero, x), text.select(by_zero, one, y)
    if element.kind == "u":
        return x, safe
    by_less = text.compared("eq", y, text.constant(-1, element))
    x = text.select(by_less, text.unary("neg", x), x)
    return x, text.select(by_less, one, safe)


def _not(text: Scalars, element: Element, x: Value) -> Value:
    every = 1 if element.kind == "b" else -1
    return text.binary("xor", x, text.constant(every, element))


def _ask(numpy_name: str) -> Callable[..., Any]:
    return getattr(np, numpy_name)


CALLS: dict[str, Call] = {
    **{
        name: Call(_ask(name), _unary(name))
        for name in """exp log sin cos tan tanh sqrt expm1 log2 log10 log1p exp2 sinh
            cosh cbrt""".split()
    },
    **{
        name: Call(_ask(f"arc{name[1:]}"), _unary(name))
        for name in "asin acos atan asinh acosh atanh".split()
    },
    **{
        name: Call(_ask(numpy), _rounding(name if name != "round" else "roundeven"))
        for name, numpy in {
            "ceil": "ceil",
            "floor": "floor",
            "trunc": "trunc",
            "round": "round",
        }.items()
    },
    "rsqrt": Call(np.sqrt, _unary("rsqrt")),
    "erf": Call(np.exp, _unary("erf")),
    "abs": Call(np.abs, _unary("abs"), converts=False),
    "sign": Call(np.sign, _sign),
    "square": Call(np.square, _square),
    "reciprocal": Call(np.reciprocal, _reciprocal),
    "relu": Call(lambda x: np.maximum(x, x), relu),
    "sigmoid": Call(np.exp, sigmoid),
    "silu": Call(np.exp, silu),
    "gelu": Call(np.exp, gelu),
    "maximum": Call(np.maximum, _binary("max")),
    "minimum": Call(np.minimum, _binary("min")),
    "atan2": Call(np.arctan2, _binary("atan2")),
    "copysign": Call(np.copysign, _binary("copysign")),
    "where": Call(np.where, _where, converts=False),
}
"""Functions by their names in expressions."""

OPERATORS: dict[str, Call] = {
    "Add": Call(np.add, _binary("add")),
    "Sub": Call(np.subtract, _binary("sub")),
    "Mult": Call(np.multiply, _binary("mul")),
    "Div": Call(np.true_divide, _binary("div")),
    "FloorDiv": Call(np.floor_divide, _floor_divide),
    "Mod": Call(np.remainder, remainder),
    "Pow": Call(np.power, _power),
    "BitAnd": Call(np.bitwise_and, _binary("and")),
    "BitOr": Call(np.bitwise_or, _binary("or")),
    "BitXor": Call(np.bitwise_xor, _binary("xor")),
    "USub": Call(np.negative, _unary("neg")),
    "UAdd": Call(np.positive, _same),
    "Invert": Call(np.invert, _not),
}
"""Operators by the names of Python's grammar."""

COMPARISONS: dict[str, Call] = {
    word: Call(_ask(numpy), _compared(name), converts=False)
    for word, numpy, name in (
        ("Eq", "equal", "eq"),
        ("NotEq", "not_equal", "ne"),
        ("Lt", "less", "lt"),
        ("LtE", "less_equal", "le"),
        ("Gt", "greater", "gt"),
        ("GtE", "greater_equal", "ge"),
    )
}
"""Comparisons by the names of Python's grammar."""
ACTIVATIONS = {
    "relu": relu,
    "sigmoid": sigmoid,
    "silu": silu,
    "gelu": gelu,
    "tanh": _unary("tanh"),
}
"""Activations in epilogues of products."""
