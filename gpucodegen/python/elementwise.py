"""Table of elementwise functions: NumPy's names and types, MLIR's operations.

A row gives a NumPy function's operations for truth values, signed and unsigned integers
and floats (``b``, ``i``, ``u``, ``f``); `complex_numbers` has those of complex ones
(``c``). The same rows serve numbers and arrays.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpucodegen.dialects import math
from gpucodegen.ir.attributes import StringAttr
from gpucodegen.ir.operation import Value
from gpucodegen.ir.types import F16, F32, F64, I1, I64, INDEX, Type
from gpucodegen.passes.framework.builder import OperationList
from gpucodegen.python import complex_numbers
from gpucodegen.python.range_checks import convert
from gpucodegen.python.scalars import (
    NoRow,
    Scalar,
    chosen,
    combined_limits,
    compared,
    fits,
    integers,
    negated,
)
from gpucodegen.python.types import (
    Kind,
    Truth,
    category,
    is_python,
    resolved,
)

Rule = Callable[[OperationList, Sequence[Value]], Value]


def operation(name: str) -> Rule:
    """A rule: one operation whose result has the type of its operands."""

    def rule(b: OperationList, values: Sequence[Value]) -> Value:
        return b.value(name, values, values[0].type)

    return rule


def comparison(predicate: str) -> Rule:
    return lambda b, v: compared(b, predicate, v[0], v[1])


def _scaled(over: float, under: float) -> Rule:
    """A multiple by a quotient that is rounded to the type, as in NumPy's C code."""

    def rule(b: OperationList, v: Sequence[Value]) -> Value:
        number = np.float32 if v[0].type == F32 else np.float64
        factor = b.constant(float(number(over) / number(under)), v[0].type)
        return b.value("arith.mulf", (v[0], factor), v[0].type)

    return rule


def _zero(b: OperationList, v: Sequence[Value]) -> Value:
    return b.constant(0, v[0].type)


def _negative(b: OperationList, v: Sequence[Value]) -> Value:
    return b.value("arith.subi", (_zero(b, v), v[0]), v[0].type)


def _absolute(b: OperationList, v: Sequence[Value]) -> Value:
    is_negative = compared(b, "slt", v[0], _zero(b, v))
    return chosen(b, is_negative, _negative(b, v), v[0])


def _invert(b: OperationList, v: Sequence[Value]) -> Value:
    ones = b.constant(1 if v[0].type == I1 else -1, v[0].type)
    return b.value("arith.xori", (v[0], ones), v[0].type)


def _floor_remainder(b: OperationList, v: Sequence[Value]) -> Value:
    """``x - x // y * y``: the sign is that of ``y``."""
    ty = [v[0].type]
    (quotient,) = b.add("arith.floordivsi", v, ty)
    (product,) = b.add("arith.muli", (quotient, v[1]), ty)
    return b.add("arith.subi", (v[0], product), ty)[0]


def _divided_by_any(rule: Rule, *, signed: bool) -> Rule:
    """NumPy's integer division, including the cases that MLIR leaves undefined.

    A division by 0 gives 0, and the smallest number divided by -1 is itself.
    """

    def guarded(b: OperationList, v: Sequence[Value]) -> Value:
        x, y = v
        zero, one = _zero(b, v), b.constant(1, y.type)
        is_zero = compared(b, "eq", y, zero)
        dividend = chosen(b, is_zero, zero, x)
        divisor = chosen(b, is_zero, one, y)
        if not signed:
            return rule(b, [dividend, divisor])
        is_less = compared(b, "eq", y, b.constant(-1, y.type))
        dividend = chosen(b, is_less, _negative(b, [dividend]), dividend)
        return rule(b, [dividend, chosen(b, is_less, one, divisor)])

    return guarded


def _in_wide(rule: Rule, narrow: Sequence[Type] = (F16,), wide: Type = F32) -> Rule:
    """A rule computed in a wider float type and rounded once, as NumPy does f16."""

    def widened(b: OperationList, v: Sequence[Value]) -> Value:
        if v[0].type not in narrow:
            return rule(b, v)
        found = rule(b, [b.value("arith.extf", (x,), wide) for x in v])
        return b.value("arith.truncf", (found,), v[0].type)

    return widened


def _sum(b: OperationList, x: Value, y: Value) -> Value:
    return b.value("arith.addf", (x, y), x.type)


def _divmod(b: OperationList, v: Sequence[Value]) -> tuple[Value, Value, Value]:
    """C's remainder, whether ``y`` is added to match its sign, and the adjusted one."""
    zero = _zero(b, v)
    rest = b.value("arith.remf", v, v[0].type)
    signs = [compared(b, "olt", value, zero) for value in (rest, v[1])]
    differ = b.value("arith.xori", signs, I1)
    is_rest = compared(b, "une", rest, zero)
    moves = b.value("arith.andi", (differ, is_rest), I1)
    return rest, moves, chosen(b, moves, _sum(b, rest, v[1]), rest)


def _float_remainder(b: OperationList, v: Sequence[Value]) -> Value:
    """``npy_remainder``: a remainder of zero has the sign of ``y``."""
    _, _, moved = _divmod(b, v)
    signed = b.value("math.copysign", (moved, v[1]), v[0].type)
    return chosen(b, compared(b, "oeq", moved, _zero(b, v)), signed, moved)


def _float_quotient(b: OperationList, v: Sequence[Value]) -> Value:
    """``npy_floor_divide``: ``x / 0`` where ``y`` is zero.

    ``x`` without its remainder is a multiple of ``y`` up to rounding; a quotient of
    zero has the sign of ``x / y``.
    """
    ty, zero = [v[0].type], _zero(b, v)
    rest, moves, _ = _divmod(b, v)
    (whole,) = b.add("arith.subf", (v[0], rest), ty)
    (quotient,) = b.add("arith.divf", (whole, v[1]), ty)
    less = _sum(b, quotient, b.constant(-1, v[0].type))
    quotient = chosen(b, moves, less, quotient)
    (floor,) = b.add("math.floor", (quotient,), ty)
    (above,) = b.add("arith.subf", (quotient, floor), ty)
    up = compared(b, "ogt", above, b.constant(0.5, v[0].type))
    floor = chosen(b, up, _sum(b, floor, b.constant(1, v[0].type)), floor)
    (plain,) = b.add("arith.divf", v, ty)
    (signed,) = b.add("math.copysign", (zero, plain), ty)
    floor = chosen(b, compared(b, "oeq", quotient, zero), signed, floor)
    return chosen(b, compared(b, "oeq", v[1], zero), plain, floor)


def _integer_power(b: OperationList, v: Sequence[Value]) -> Value:
    if v[0].type != INDEX:
        return b.value("math.ipowi", v, v[0].type)
    wide = [b.value("arith.index_cast", (x,), I64) for x in v]
    power = b.value("math.ipowi", wide, I64)
    return b.value("arith.index_cast", (power,), INDEX)


def _unsigned_power(b: OperationList, v: Sequence[Value]) -> Value:
    """``math.ipowi`` reads signed exponents, so unsigned ones are widened to 64 bits.

    Odd numbers to the power of 2^62 are 1 modulo 2^64, and even ones 0 from 64 on, so
    bit 62 of an exponent may stand for bit 63.
    """
    ty = v[0].type
    if ty != I64:
        wide = [b.value("arith.extui", (x,), I64) for x in v]
        power = b.value("math.ipowi", wide, I64)
        return b.value("arith.trunci", (power,), ty)
    top = b.value("arith.shrui", (v[1], b.constant(63, ty)), ty)
    moved = b.value("arith.shli", (top, b.constant(62, ty)), ty)
    rest = b.value("arith.andi", (v[1], b.constant((1 << 63) - 1, ty)), ty)
    exponent = b.value("arith.ori", (rest, moved), ty)
    return b.value("math.ipowi", (v[0], exponent), ty)


def _sign(b: OperationList, v: Sequence[Value]) -> Value:
    """-1, 0 or 1; NaN of NaN."""
    zero, one = _zero(b, v), b.constant(1, v[0].type)
    less = b.constant(-1, v[0].type)
    is_float = category_of(v[0]) == "f"
    below, above = ("olt", "ogt") if is_float else ("slt", "sgt")
    found = chosen(b, compared(b, above, v[0], zero), one, zero)
    found = chosen(b, compared(b, below, v[0], zero), less, found)
    return chosen(b, compared(b, "uno", v[0], v[0]), v[0], found) if is_float else found


def _unsigned_sign(b: OperationList, v: Sequence[Value]) -> Value:
    return b.value("arith.minui", (v[0], b.constant(1, v[0].type)), v[0].type)


def category_of(value: Value) -> str:
    """``f`` for a float, ``i`` for any other number."""
    return "f" if str(value.type)[0] in "fb" else "i"


def _square(name: str) -> Rule:
    return lambda b, v: b.value(name, (v[0], v[0]), v[0].type)


def _reciprocal(b: OperationList, v: Sequence[Value]) -> Value:
    return b.value("arith.divf", (b.constant(1, v[0].type), v[0]), v[0].type)


def _integer_reciprocal(b: OperationList, v: Sequence[Value]) -> Value:
    """1 of 1, -1 of -1, else 0; also of 0, where NumPy divides by zero."""
    found = _zero(b, v)
    for number in (1, -1):
        same = b.constant(number, v[0].type)
        found = chosen(b, compared(b, "eq", v[0], same), same, found)
    return found


def _one_of_one(b: OperationList, v: Sequence[Value]) -> Value:
    is_one = compared(b, "eq", v[0], b.constant(1, v[0].type))
    return chosen(b, is_one, b.constant(1, v[0].type), _zero(b, v))


def _hypotenuse(b: OperationList, v: Sequence[Value]) -> Value:
    """C's ``hypot`` in f64: both sides are scaled so that no square overflows.

    The scale is a power of two, so it rounds nothing; infinity wins over NaN.
    """
    ty = [v[0].type]

    def number(value: float) -> Value:
        return b.constant(value, v[0].type)

    def product(x: Value, y: Value) -> Value:
        return b.add("arith.mulf", (x, y), ty)[0]

    sides = [b.add("math.absf", (x,), ty)[0] for x in v]
    (largest,) = b.add("arith.maximumf", sides, ty)
    is_huge = compared(b, "ogt", largest, number(2.0**500))
    is_tiny = compared(b, "olt", largest, number(2.0**-400))

    def by_size(huge: float, tiny: float) -> Value:
        smaller = chosen(b, is_tiny, number(tiny), number(1.0))
        return chosen(b, is_huge, number(huge), smaller)

    scaled = [product(x, by_size(2.0**-600, 2.0**600)) for x in sides]
    squares = [product(x, x) for x in scaled]
    (root,) = b.add("math.sqrt", (_sum(b, *squares),), ty)
    found = product(root, by_size(2.0**600, 2.0**-600))
    infinity = number(float("inf"))
    are = [compared(b, "oeq", x, infinity) for x in sides]
    return chosen(b, b.value("arith.ori", are, I1), infinity, found)


def _no(b: OperationList, v: Sequence[Value]) -> Value:
    return negated(b, v[0])


def _test(name: str) -> Rule:
    return lambda b, v: b.value(name, v, I1)


def _numbers(name: str, *, signed: str = "", **others: Rule) -> dict[str, Rule]:
    """``arith.<name>i`` and ``arith.<name>f``; ``signed``: sign letters of integers."""
    unsigned = signed.replace("s", "u")
    return {
        "i": operation(f"arith.{name}{signed}i"),
        "u": operation(f"arith.{name}{unsigned}i"),
        "f": operation(f"arith.{name}f"),
        **others,
    }


def _compare(name: str, ordered: str) -> dict[str, Rule]:
    signs = {"i": "s", "u": "u", "b": "u"}
    if name in ("eq", "ne"):
        rows = {c: comparison(name) for c in signs}
    else:
        rows = {c: comparison(f"{sign}{name}") for c, sign in signs.items()}
    return {**rows, "f": comparison(ordered)}


def _bits(name: str) -> dict[str, Rule]:
    return {c: operation(f"arith.{name}") for c in "biu"}


def _extreme(name: str, floats: str) -> dict[str, Rule]:
    return {
        "b": operation("arith.ori" if name == "max" else "arith.andi"),
        "i": operation(f"arith.{name}si"),
        "u": operation(f"arith.{name}ui"),
        "f": operation(f"arith.{floats}"),
    }


def _whole(name: str) -> dict[str, Rule]:
    """``floor`` and the like: integers stay unchanged."""
    return {**dict.fromkeys("biu", _same), "f": operation(f"math.{name}")}


def _same(_: OperationList, v: Sequence[Value]) -> Value:
    return v[0]


def _always(truth: bool) -> dict[str, Rule]:
    """A test with the same result for all integers."""
    return {c: lambda b, _: b.constant(int(truth), I1) for c in "biu"}


ROWS: dict[np.ufunc, dict[str, Rule]] = {
    np.add: _numbers("add", b=operation("arith.ori")),
    np.subtract: _numbers("sub"),
    np.multiply: _numbers("mul", b=operation("arith.andi")),
    np.true_divide: {"f": operation("arith.divf")},
    np.floor_divide: {
        "i": operation("arith.floordivsi"),
        "u": operation("arith.divui"),
        "f": _in_wide(_float_quotient),
    },
    np.remainder: {
        "i": _floor_remainder,
        "u": operation("arith.remui"),
        "f": _in_wide(_float_remainder),
    },
    np.fmod: _numbers("rem", signed="s"),
    np.power: {
        "i": _integer_power,
        "u": _unsigned_power,
        "f": operation("math.powf"),
    },
    np.negative: {
        "i": _negative,
        "u": _negative,
        "f": operation("arith.negf"),
    },
    np.positive: dict.fromkeys("iuf", _same),
    np.absolute: {
        "b": _same,
        "i": _absolute,
        "u": _same,
        "f": operation("math.absf"),
    },
    np.fabs: {"f": operation("math.absf")},
    np.sign: {"i": _sign, "u": _unsigned_sign, "f": _sign},
    np.square: {c: _square(f"arith.mul{c.replace('u', 'i')}") for c in "iuf"},
    np.reciprocal: {
        "i": _integer_reciprocal,
        "u": _one_of_one,
        "f": _reciprocal,
    },
    np.hypot: {"f": _in_wide(_hypotenuse, (F16, F32), F64)},
    np.less: _compare("lt", "olt"),
    np.less_equal: _compare("le", "ole"),
    np.greater: _compare("gt", "ogt"),
    np.greater_equal: _compare("ge", "oge"),
    np.equal: _compare("eq", "oeq"),
    np.not_equal: _compare("ne", "une"),
    np.bitwise_and: _bits("andi"),
    np.bitwise_or: _bits("ori"),
    np.bitwise_xor: _bits("xori"),
    np.invert: dict.fromkeys("biu", _invert),
    np.left_shift: dict.fromkeys("iu", operation("arith.shli")),
    np.right_shift: {
        "i": operation("arith.shrsi"),
        "u": operation("arith.shrui"),
    },
    np.logical_not: {"b": _no},
    np.logical_and: {"b": operation("arith.andi")},
    np.logical_or: {"b": operation("arith.ori")},
    np.logical_xor: {"b": operation("arith.xori")},
    np.minimum: _extreme("min", "minimumf"),
    np.maximum: _extreme("max", "maximumf"),
    np.fmin: _extreme("min", "minnumf"),
    np.fmax: _extreme("max", "maxnumf"),
    np.isnan: {
        **_always(False),
        "f": lambda b, v: compared(b, "uno", v[0], v[0]),
    },
    np.isinf: {**_always(False), "f": _test("math.isinf")},
    np.isfinite: {**_always(True), "f": _test("math.isfinite")},
    np.copysign: {"f": operation("math.copysign")},
    np.arctan2: {"f": operation("math.atan2")},
    np.rint: {"f": operation("math.roundeven")},
    np.arcsin: {"f": operation("math.asin")},
    np.arccos: {"f": operation("math.acos")},
    np.arctan: {"f": operation("math.atan")},
    np.arcsinh: {"f": operation("math.asinh")},
    np.arccosh: {"f": operation("math.acosh")},
    np.arctanh: {"f": operation("math.atanh")},
    **{
        getattr(np, name): {"f": operation(f"math.{name}")}
        for table in (math.INSTRUCTIONS, math.POLYNOMIALS, math.LIBRARY)
        for name in table["operand"].split()
        if isinstance(getattr(np, name, None), np.ufunc)
    },
    np.floor: _whole("floor"),
    np.ceil: _whole("ceil"),
    np.trunc: _whole("trunc"),
    np.conjugate: dict.fromkeys("iuf", _same),
    **{u: {"f": _in_wide(_scaled(np.pi, 180))} for u in (np.deg2rad, np.radians)},
    **{u: {"f": _in_wide(_scaled(180, np.pi))} for u in (np.rad2deg, np.degrees)},
}
for _ufunc, _rule in complex_numbers.ROWS.items():
    ROWS[_ufunc]["c"] = _rule
"""All elementwise functions, by their NumPy function."""
_DIVISIONS = {np.floor_divide, np.remainder, np.fmod}
COMPARISONS: dict[np.ufunc, str] = {
    np.less: "lt",
    np.less_equal: "le",
    np.greater: "gt",
    np.greater_equal: "ge",
    np.equal: "eq",
    np.not_equal: "ne",
}
"""Name in `operator` of each comparison."""


def kinds_of(ufunc: np.ufunc, kinds: Sequence[Kind]) -> tuple[list[Kind], Kind]:
    """Kinds to which operands are converted, and the result's kind.

    Raises NoRow.

    >>> kinds_of(np.sqrt, [int])
    ([<class 'float'>], <class 'float'>)
    """
    all_python = all(map(is_python, kinds))
    if ufunc in _LOGICAL:
        return [bool] * len(kinds), bool if all_python else np.dtype(bool)
    if all_python and Truth in kinds and ufunc not in _OF_TRUTH:
        raise NoRow
    if all(k is bool for k in kinds) and ufunc not in _OF_TRUTH:
        kinds = [int] * len(kinds)  # as Python does it
    try:
        operands, result = resolved(ufunc, kinds)
    except TypeError as problem:
        raise NoRow from problem
    if operands and category(operands[0]) not in ROWS[ufunc]:
        raise NoRow
    return operands, result


_LOGICAL = {np.logical_and, np.logical_or, np.logical_not, np.logical_xor}
_OF_TRUTH = {
    *_LOGICAL,
    np.bitwise_and,
    np.bitwise_or,
    np.bitwise_xor,
    *COMPARISONS,
}


def apply(
    b: OperationList,
    ufunc: np.ufunc,
    scalars: Sequence[Scalar],
    *,
    checked: bool = False,
) -> Scalar:
    """Apply a function to numbers; constants are folded.

    Raises NoRow.

    ``checked``: integer exponents were checked before (`refuse_negative`).
    """
    kinds, result = kinds_of(ufunc, [s.kind for s in scalars])
    folded = _folded(ufunc, scalars, result)
    if folded is not None:
        return folded
    if ufunc in COMPARISONS and _are_mixed(scalars, kinds):
        return Scalar(result, _exact_comparison(b, COMPARISONS[ufunc], scalars))
    converted = [convert(b, s, k) for s, k in zip(scalars, kinds, strict=True)]
    if ufunc is np.power:
        power = _small_power(b, converted, result)
        if power is not None:
            return power
        if not checked and category(result) == "i":
            refuse_negative(b, scalars[1])
    if ufunc in _SUMS and result is int:
        return integers(b, _SUMS[ufunc], *converted)
    letter = category(kinds[0])
    rule = ROWS[ufunc][letter]
    is_open = converted[-1].value is not None or converted[-1].constant in (0, -1)
    is_integer = letter in "iu" and not is_python(kinds[0])
    if ufunc in _DIVISIONS and is_integer and is_open:
        rule = _divided_by_any(rule, signed=letter == "i")
    value = rule(b, [s.ssa(b) for s in converted])
    return (
        _of_python(ufunc, converted, value) if result is int else Scalar(result, value)
    )


def _of_python(ufunc: np.ufunc, scalars: Sequence[Scalar], value: Value) -> Scalar:
    """An integer of Python, with its limits."""
    if len(scalars) != 2:
        return Scalar(int, value)
    one, other = scalars
    name = "floordiv" if ufunc is np.floor_divide else ufunc.__name__
    limits = combined_limits(name, one, other)
    is_monotone = name == "floordiv" and other.value is None and other.constant
    parts = (name, one, other) if is_monotone else None
    return Scalar(int, value, limits=limits, parts=parts)


_SUMS: dict[np.ufunc, str] = {np.add: "add", np.subtract: "sub", np.multiply: "mul"}


def refuse_negative(b: OperationList, exponent: Scalar) -> None:
    """An integer to a negative power ends the call, as NumPy raises.

    Raises NoRow if the exponent is a constant.
    """
    if category(exponent.kind) != "i" or exponent.is_natural:
        return
    if exponent.value is None:
        if exponent.constant < 0:
            raise NoRow
        return
    value = exponent.value
    is_natural = compared(b, "sge", value, b.constant(0, value.type))
    said = {"msg": StringAttr("an integer to a negative power; make the base a float")}
    b.add("cf.assert", (is_natural,), (), said)


def _are_mixed(scalars: Sequence[Scalar], kinds: Sequence[Kind]) -> bool:
    """Whether integers of different types are compared, neither of them a constant.

    NumPy compares their values, which neither type may represent.
    """
    given = [s.kind for s in scalars]
    if not all(category(k) in "iu" for k in given) or len({*map(str, given)}) == 1:
        return False
    return len({*map(str, kinds)}) > 1 or not all(
        str(s.kind) == str(kind)
        or (s.kind is int and s.value is None and fits(s.constant, kind))
        for s, kind in zip(scalars, kinds, strict=True)
    )


def _exact_comparison(b: OperationList, name: str, scalars: Sequence[Scalar]) -> Value:
    """A comparison of integers of which one may be a u64 and the other negative."""
    wide = [np.dtype("u8" if _is_u64(s) else "i8") for s in scalars]
    converted = [convert(b, s, k).ssa(b) for s, k in zip(scalars, wide, strict=True)]
    sign = "" if name in ("eq", "ne") else "u" if any(map(_is_u64, scalars)) else "s"
    found = compared(b, sign + name, *converted)
    signed = [n for n, s in enumerate(scalars) if category(s.kind) == "i"]
    if len({*wide}) == 1 or not signed:
        return found
    (place,) = signed
    value = converted[place]
    is_negative = compared(b, "slt", value, b.constant(0, value.type))
    holds = name in (("lt", "le", "ne"), ("gt", "ge", "ne"))[place]
    return chosen(b, is_negative, b.constant(int(holds), I1), found)


def _is_u64(scalar: Scalar) -> bool:
    return category(scalar.kind) == "u" and scalar.kind.itemsize == 8


_WIDE = 1 << 63


def _folded(ufunc: np.ufunc, scalars: Sequence[Scalar], kind: Kind) -> Scalar | None:
    python = _PYTHON.get(ufunc)
    is_known = all(s.value is None for s in scalars)
    if python is None or not is_known or not is_python(kind):
        return None
    try:
        number = python(*(s.constant for s in scalars))
    except (ArithmeticError, ValueError):
        return None
    if type(number) is not kind or (ufunc in _EXTREMES and kind is not int):
        return None
    if kind is int and not -_WIDE <= number < _WIDE:
        raise NoRow
    return Scalar(kind, constant=number)


_NAMES: dict[np.ufunc, str] = {
    np.add: "add",
    np.subtract: "sub",
    np.multiply: "mul",
    np.true_divide: "truediv",
    np.floor_divide: "floordiv",
    np.remainder: "mod",
    np.negative: "neg",
    np.positive: "pos",
    np.logical_not: "not_",
    np.logical_and: "and_",
    np.logical_or: "or_",
    np.bitwise_and: "and_",
    np.bitwise_or: "or_",
    np.bitwise_xor: "xor",
    np.left_shift: "lshift",
    np.right_shift: "rshift",
    np.power: "pow",
}
"""Name in `operator` of each other function's Python operator."""
_EXTREMES: dict[np.ufunc, Callable[..., Any]] = {np.minimum: min, np.maximum: max}
_PYTHON: dict[np.ufunc, Callable[..., Any]] = _EXTREMES | {
    ufunc: getattr(operator, name) for ufunc, name in (_NAMES | COMPARISONS).items()
}
"""Python's functions for constant folding."""


def _small_power(
    b: OperationList, scalars: Sequence[Scalar], kind: Kind
) -> Scalar | None:
    """Squares and cubes as products, roots as roots: exact, and fast.

    The power of -0 is 0 and that of minus infinity is infinity, unlike their roots.
    """
    if scalars[1].value is not None:
        return None
    exponent, base = scalars[1].constant, scalars[0]
    if exponent == 0.5 and category(kind) == "f":
        root, value = apply(b, np.sqrt, [base]).ssa(b), base.ssa(b)
        root = _sum(b, root, b.constant(0, root.type))
        infinities = [b.constant(x, root.type) for x in (-np.inf, np.inf)]
        is_lowest = compared(b, "oeq", value, infinities[0])
        return Scalar(kind, chosen(b, is_lowest, infinities[1], root))
    if exponent not in (1, 2, 3):
        return None
    product = base
    for _ in range((1, 2, 3).index(exponent)):
        product = apply(b, np.multiply, [product, base])
    return product
