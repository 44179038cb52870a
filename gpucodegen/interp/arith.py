"""Interprets arith and index: exact integer and float arithmetic at the type's width.

Floats are rounded once per operation, to nearest with ties to even. Divisions round as
their names say; ``index`` has 64 bits. A shift by the width or more gives the result of
shifting one bit at a time.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import cache
from typing import Any

from gpucodegen import errors
from gpucodegen.dialects.arith import predicate
from gpucodegen.interp.machine import Machine
from gpucodegen.interp.registry import Evaluate
from gpucodegen.interp.values import (
    INDEX_BITS,
    bits_of,
    canonical,
    constant,
    converter,
    elementwise,
)
from gpucodegen.ir.literals import wrapped
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import Type, element_type

Integers = Callable[[int, int, int], int]
"""A function of two integers and their width; the result is wrapped afterwards."""


def unsigned(value: int, bits: int) -> int:
    return value & ((1 << bits) - 1)


def of_signed(function: Callable[[int, int], int]) -> Integers:
    return lambda a, b, bits: function(wrapped(a, bits), wrapped(b, bits))


def of_unsigned(function: Callable[[int, int], int]) -> Integers:
    return lambda a, b, bits: function(unsigned(a, bits), unsigned(b, bits))


def quotient(a: int, b: int) -> int:
    """Division rounded towards zero.

    Raises DivisionByZero.

    >>> quotient(-7, 2), floor(-7, 2), ceil(-7, 2), remainder(-7, 2)
    (-3, -4, -3, -1)
    """
    if b == 0:
        raise errors.DivisionByZero
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def floor(a: int, b: int) -> int:
    return a // b if b else quotient(a, b)


def ceil(a: int, b: int) -> int:
    return -(-a // b) if b else quotient(a, b)


def remainder(a: int, b: int) -> int:
    """The remainder of the truncating division, with the dividend's sign."""
    return a - b * quotient(a, b)


def _shifted_left(a: int, b: int, bits: int) -> int:
    return a << min(unsigned(b, bits), bits)


def _shifted_right(a: int, b: int, bits: int) -> int:
    return wrapped(a, bits) >> min(unsigned(b, bits), bits)


INTEGERS: dict[str, Integers] = {
    "addi": lambda a, b, _: a + b,
    "subi": lambda a, b, _: a - b,
    "muli": lambda a, b, _: a * b,
    "andi": lambda a, b, _: a & b,
    "ori": lambda a, b, _: a | b,
    "xori": lambda a, b, _: a ^ b,
    "divsi": of_signed(quotient),
    "divui": of_unsigned(quotient),
    "floordivsi": of_signed(floor),
    "ceildivsi": of_signed(ceil),
    "ceildivui": of_unsigned(ceil),
    "remsi": of_signed(remainder),
    "remui": of_unsigned(remainder),
    "maxsi": of_signed(max),
    "maxui": of_unsigned(max),
    "minsi": of_signed(min),
    "minui": of_unsigned(min),
    "shli": _shifted_left,
    "shrsi": _shifted_right,
    "shrui": of_unsigned(lambda a, b: a >> min(b, 1 << 10)),
}


# -- floats ----------------------------------------------------------------------------


def _maximum(a: float, b: float) -> float:
    """The maximum; NaN if an operand is NaN, and +0.0 is greater than -0.0."""
    if math.isnan(a) or math.isnan(b):
        return math.nan
    return max(a, b, key=_order)


def _minimum(a: float, b: float) -> float:
    return -_maximum(-a, -b)


def _order(value: float) -> tuple[float, float]:
    return value, math.copysign(1.0, value)


def _numbers(of: Callable[[float, float], float]) -> Callable[[float, float], float]:
    """``maxnum`` and ``minnum``: the other operand if one is NaN."""
    return lambda a, b: a if math.isnan(b) else b if math.isnan(a) else of(a, b)


def divided(a: float, b: float) -> float:
    """As IEEE 754 divides.

    >>> divided(1.0, -0.0), divided(0.0, 0.0)
    (-inf, nan)
    """
    if b:
        return a / b
    if math.isnan(a) or a == 0 or math.isnan(b):
        return math.nan
    return math.copysign(math.inf, math.copysign(1.0, a) * math.copysign(1.0, b))


def _remainder(a: float, b: float) -> float:
    if math.isinf(a) or b == 0:
        return math.nan
    return math.fmod(a, b)


FLOATS: dict[str, Callable[..., float]] = {
    "addf": lambda a, b: a + b,
    "subf": lambda a, b: a - b,
    "mulf": lambda a, b: a * b,
    "divf": divided,
    "remf": _remainder,
    "negf": lambda a: -a,
    "maximumf": _maximum,
    "minimumf": _minimum,
    "maxnumf": _numbers(_maximum),
    "minnumf": _numbers(_minimum),
    "maximumnumf": _numbers(_maximum),
    "minimumnumf": _numbers(_minimum),
}


@cache
def combine(name: str, ty: Type) -> Callable[[Any, Any], Any]:
    """The function of two numbers of a type, by the name of its arith operation.

    >>> from gpucodegen.ir.types import IntegerType
    >>> combine("addi", IntegerType(8))(100, 100)
    -56
    """
    convert = converter(ty)
    if name in INTEGERS:
        function, bits = INTEGERS[name], bits_of(ty)
        return lambda a, b: convert(function(a, b, bits))
    of_floats = FLOATS[name]
    return lambda a, b: convert(of_floats(a, b))


# -- operations ------------------------------------------------------------------------


def refuse_rounding(op: Operation) -> None:
    """Only rounding to nearest, ties to even. Raises UnsupportedOperation."""
    mode = op.attributes.get("roundingmode")
    if mode is not None and "to_nearest_even" not in str(mode) and str(mode) != "0":
        raise errors.UnsupportedOperation(
            operation=f"{op.name} {mode}",
            target="interp",
            advice="Leave out the rounding mode; ties go to even",
        )


def integers(name: str) -> Evaluate:
    def evaluate(_: Machine, op: Operation, *values: Any) -> Any:
        function = combine(name, element_type(op.results[0].type))
        return elementwise(op, function, values)

    return evaluate


def _floats(function: Callable[..., float]) -> Evaluate:
    def evaluate(_: Machine, op: Operation, *values: Any) -> Any:
        refuse_rounding(op)
        convert = converter(element_type(op.results[0].type))
        return elementwise(op, lambda *row: convert(function(*row)), values)

    return evaluate


def typed_constant(_: Machine, op: Operation) -> Any:
    return constant(op.attributes.get("value"), op.results[0].type)


def _select(_: Machine, op: Operation, condition: Any, *values: Any) -> Any:
    if isinstance(condition, int):
        return values[0] if condition else values[1]
    return elementwise(op, lambda c, a, b: a if c else b, (condition, *values))


def _flushed(_: Machine, op: Operation, value: Any) -> Any:
    from gpucodegen.ir.number_formats import FORMATS

    ty = element_type(op.results[0].type)
    least = math.ldexp(1.0, FORMATS[str(ty)].low)
    return elementwise(
        op, lambda x: math.copysign(0.0, x) if abs(x) < least else x, (value,)
    )


def _extended(function: Callable[[int, int, int], tuple[int, int]]) -> Evaluate:
    """Low and high half of a double-width sum, difference or product."""

    def evaluate(_: Machine, op: Operation, *values: Any) -> Any:
        types = [element_type(v.type) for v in op.results]
        bits = bits_of(types[0])

        def both(a: int, b: int) -> tuple[int, ...]:
            made = function(a, b, bits)
            return tuple(canonical(x, ty) for x, ty in zip(made, types, strict=True))

        return elementwise(op, both, values)

    return evaluate


def _sum(a: int, b: int, bits: int) -> tuple[int, int]:
    whole = unsigned(a, bits) + unsigned(b, bits)
    return whole, whole >> bits


def _difference(a: int, b: int, bits: int) -> tuple[int, int]:
    return a - b, int(unsigned(a, bits) < unsigned(b, bits))


def _signed_product(a: int, b: int, bits: int) -> tuple[int, int]:
    whole = wrapped(a, bits) * wrapped(b, bits)
    return whole, whole >> bits


def _unsigned_product(a: int, b: int, bits: int) -> tuple[int, int]:
    whole = unsigned(a, bits) * unsigned(b, bits)
    return whole, whole >> bits


ARITH_OPERATIONS: dict[str, Evaluate] = {
    **{f"arith.{name}": integers(name) for name in INTEGERS},
    **{f"arith.{name}": _floats(function) for name, function in FLOATS.items()},
    "arith.constant": typed_constant,
    "arith.select": _select,
    "arith.flush_denormals": _flushed,
    "arith.addui_extended": _extended(_sum),
    "arith.subui_extended": _extended(_difference),
    "arith.mulsi_extended": _extended(_signed_product),
    "arith.mului_extended": _extended(_unsigned_product),
}


_RELATIONS = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}


def compared(name: str, a: int, b: int, bits: int) -> int:
    """An integer comparison by its predicate, such as ``slt``, at a width.

    >>> compared("slt", -1, 1, 8), compared("ult", -1, 1, 8)
    (1, 0)
    """
    relation = _RELATIONS[name[-2:]]
    if name[0] == "u":
        return int(relation(unsigned(a, bits), unsigned(b, bits)))
    return int(relation(wrapped(a, bits), wrapped(b, bits)))


def compared_floats(name: str, a: float, b: float) -> int:
    """A float comparison: with a NaN, ``o`` predicates are false, ``u`` ones true.

    >>> compared_floats("olt", 1.0, 2.0), compared_floats("ult", 1.0, float("nan"))
    (1, 1)
    """
    is_ordered = not (math.isnan(a) or math.isnan(b))
    if name in ("false", "true"):
        return int(name == "true")
    if name in ("ord", "uno"):
        return int(is_ordered == (name == "ord"))
    if not is_ordered:
        return int(name[0] == "u")
    return int(_RELATIONS[name[1:]](a, b))


def _cmpi(_: Machine, op: Operation, *values: Any) -> Any:
    name, bits = predicate(op), bits_of(element_type(op.operands[0].type))
    return elementwise(op, lambda a, b: compared(name, a, b, bits), values)


def _cmpf(_: Machine, op: Operation, *values: Any) -> Any:
    name = predicate(op)
    return elementwise(op, lambda a, b: compared_floats(name, a, b), values)


COMPARISON_OPERATIONS: dict[str, Evaluate] = {"arith.cmpi": _cmpi, "arith.cmpf": _cmpf}


_OF_ARITH = {
    "add": "addi",
    "and": "andi",
    "ceildivs": "ceildivsi",
    "ceildivu": "ceildivui",
    "divs": "divsi",
    "divu": "divui",
    "floordivs": "floordivsi",
    "maxs": "maxsi",
    "maxu": "maxui",
    "mins": "minsi",
    "minu": "minui",
    "mul": "muli",
    "or": "ori",
    "rems": "remsi",
    "remu": "remui",
    "shl": "shli",
    "shrs": "shrsi",
    "shru": "shrui",
    "sub": "subi",
    "xor": "xori",
}


def _cast_signed(_: Machine, op: Operation, value: int) -> int:
    return canonical(wrapped(value, bits_of(op.operands[0].type)), op.results[0].type)


def _cast_unsigned(_: Machine, op: Operation, value: int) -> int:
    return canonical(unsigned(value, bits_of(op.operands[0].type)), op.results[0].type)


def _cmp(_: Machine, op: Operation, a: int, b: int) -> int:
    return compared(cmp_word(op), a, b, INDEX_BITS)


def cmp_word(op: Operation) -> str:
    """``slt`` of ``#index.cmp_predicate<slt>``."""
    text = str(op.attributes.get("pred"))
    return text.partition("<")[2].removesuffix(">") if "<" in text else text


INDEX_OPERATIONS: dict[str, Evaluate] = {
    **{f"index.{ours}": integers(theirs) for ours, theirs in _OF_ARITH.items()},
    "index.constant": typed_constant,
    "index.bool.constant": typed_constant,
    "index.casts": _cast_signed,
    "index.castu": _cast_unsigned,
    "index.cmp": _cmp,
    "index.sizeof": lambda *_: INDEX_BITS,
}
