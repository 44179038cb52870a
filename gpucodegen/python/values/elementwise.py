"""Operators and functions of numbers: NumPy's names and types, MLIR's operations.

A row holds what a function of NumPy is for truth values, signed and unsigned integers
and floats (``b``, ``i``, ``u``, ``f``).  The same rows serve numbers and arrays.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpucodegen.dialects import math
from gpucodegen.ir.operation import Value
from gpucodegen.ir.types import I1, INDEX
from gpucodegen.passes.framework.operation_list import OperationList
from gpucodegen.python.values.scalars import (
    Scalar,
    chosen,
    compared,
    convert,
    negated,
)
from gpucodegen.python.values.types import (
    Kind,
    category,
    described,
    is_python,
    resolved,
)

Rule = Callable[[OperationList, Sequence[Value]], Value]


def operation(name: str) -> Rule:
    """One operation whose result has the type of its operands."""

    def rule(b: OperationList, values: Sequence[Value]) -> Value:
        return b.add(name, values, [values[0].type])[0]

    return rule


def comparison(predicate: str) -> Rule:
    """A comparison."""
    return lambda b, v: compared(b, predicate, v[0], v[1])


def _zero(b: OperationList, v: Sequence[Value]) -> Value:
    return b.constant(0, v[0].type)


def _negative(b: OperationList, v: Sequence[Value]) -> Value:
    return b.add("arith.subi", (_zero(b, v), v[0]), [v[0].type])[0]


def _absolute(b: OperationList, v: Sequence[Value]) -> Value:
    is_negative = compared(b, "slt", v[0], _zero(b, v))
    return chosen(b, is_negative, _negative(b, v), v[0])


def _invert(b: OperationList, v: Sequence[Value]) -> Value:
    ones = b.constant(1 if v[0].type == I1 else -1, v[0].type)
    return b.add("arith.xori", (v[0], ones), [v[0].type])[0]


def _floor_remainder(b: OperationList, v: Sequence[Value]) -> Value:
    """``x - x // y * y``: the sign is that of ``y``."""
    ty = [v[0].type]
    (quotient,) = b.add("arith.floordivsi", v, ty)
    (product,) = b.add("arith.muli", (quotient, v[1]), ty)
    return b.add("arith.subi", (v[0], product), ty)[0]


def _float_remainder(b: OperationList, v: Sequence[Value]) -> Value:
    """C's remainder, plus ``y`` where its sign is not that of ``y``."""
    ty, zero = [v[0].type], _zero(b, v)
    (rest,) = b.add("arith.remf", v, ty)
    signs = [compared(b, "olt", value, zero) for value in (rest, v[1])]
    (differ,) = b.add("arith.xori", signs, [I1])
    is_rest = compared(b, "une", rest, zero)
    (moves,) = b.add("arith.andi", (differ, is_rest), [I1])
    (moved,) = b.add("arith.addf", (rest, v[1]), ty)
    return chosen(b, moves, moved, rest)


def _float_quotient(b: OperationList, v: Sequence[Value]) -> Value:
    """What remains without the remainder is a multiple of ``y`` up to rounding."""
    ty = [v[0].type]
    (whole,) = b.add("arith.subf", (v[0], _float_remainder(b, v)), ty)
    (quotient,) = b.add("arith.divf", (whole, v[1]), ty)
    return b.add("math.roundeven", (quotient,), ty)[0]


def _integer_power(b: OperationList, v: Sequence[Value]) -> Value:
    if v[0].type != INDEX:
        return b.add("math.ipowi", v, [v[0].type])[0]
    from gpucodegen.ir.types import I64

    wide = [b.add("arith.index_cast", (x,), [I64])[0] for x in v]
    (power,) = b.add("math.ipowi", wide, [I64])
    return b.add("arith.index_cast", (power,), [INDEX])[0]


def _sign(b: OperationList, v: Sequence[Value]) -> Value:
    zero, one = _zero(b, v), b.constant(1, v[0].type)
    less = b.constant(-1, v[0].type)
    below, above = ("olt", "ogt") if category_of(v[0]) == "f" else ("slt", "sgt")
    positive = chosen(b, compared(b, above, v[0], zero), one, zero)
    return chosen(b, compared(b, below, v[0], zero), less, positive)


def category_of(value: Value) -> str:
    """``f`` for a float, ``i`` for any other number."""
    return "f" if str(value.type)[0] in "fb" else "i"


def _square(name: str) -> Rule:
    return lambda b, v: b.add(name, (v[0], v[0]), [v[0].type])[0]


def _reciprocal(b: OperationList, v: Sequence[Value]) -> Value:
    return b.add("arith.divf", (b.constant(1, v[0].type), v[0]), [v[0].type])[0]


def _hypotenuse(b: OperationList, v: Sequence[Value]) -> Value:
    ty = [v[0].type]
    squares = [b.add("arith.mulf", (x, x), ty)[0] for x in v]
    return b.add("math.sqrt", b.add("arith.addf", squares, ty), ty)[0]


def _no(b: OperationList, v: Sequence[Value]) -> Value:
    return negated(b, v[0])


def _test(name: str) -> Rule:
    return lambda b, v: b.add(name, v, [I1])[0]


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


ROWS: dict[np.ufunc, dict[str, Rule]] = {
    np.add: _numbers("add", b=operation("arith.ori")),
    np.subtract: _numbers("sub"),
    np.multiply: _numbers("mul", b=operation("arith.andi")),
    np.true_divide: {"f": operation("arith.divf")},
    np.floor_divide: {
        "i": operation("arith.floordivsi"),
        "u": operation("arith.divui"),
        "f": _float_quotient,
    },
    np.remainder: {
        "i": _floor_remainder,
        "u": operation("arith.remui"),
        "f": _float_remainder,
    },
    np.fmod: _numbers("rem", signed="s"),
    np.power: {
        "i": _integer_power,
        "u": operation("math.ipowi"),
        "f": operation("math.powf"),
    },
    np.negative: {
        "i": _negative,
        "u": _negative,
        "f": operation("arith.negf"),
    },
    np.positive: {c: lambda _, v: v[0] for c in "iuf"},
    np.absolute: {
        "b": lambda _, v: v[0],
        "i": _absolute,
        "u": lambda _, v: v[0],
        "f": operation("math.absf"),
    },
    np.fabs: {"f": operation("math.absf")},
    np.sign: {"i": _sign, "f": _sign},
    np.square: {c: _square(f"arith.mul{c.replace('u', 'i')}") for c in "iuf"},
    np.reciprocal: {"f": _reciprocal},
    np.hypot: {"f": _hypotenuse},
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
    np.isnan: {"f": lambda b, v: compared(b, "uno", v[0], v[0])},
    np.isinf: {"f": _test("math.isinf")},
    np.isfinite: {"f": _test("math.isfinite")},
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
}
"""Every function of numbers, by the function of NumPy that it is."""


class NoRow(TypeError):
    """A function that takes no numbers of these kinds."""


def kinds_of(ufunc: np.ufunc, kinds: Sequence[Kind]) -> tuple[list[Kind], Kind]:
    """Kinds that operands get, and that of the result.  Raises NoRow.

    >>> kinds_of(np.sqrt, [int])
    ([<class 'float'>], <class 'float'>)
    """
    if all(k is bool for k in kinds) and ufunc not in _OF_TRUTH:
        kinds = [int] * len(kinds)  # as Python does it
    if ufunc in _LOGICAL:
        return [bool] * len(kinds), bool
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
    np.equal,
    np.not_equal,
}


def apply(b: OperationList, ufunc: np.ufunc, scalars: Sequence[Scalar]) -> Scalar:
    """The function of numbers; of known Python numbers, the number.  Raises NoRow."""
    kinds, result = kinds_of(ufunc, [s.kind for s in scalars])
    folded = _folded(ufunc, scalars, result)
    if folded is not None:
        return folded
    converted = [convert(b, s, k) for s, k in zip(scalars, kinds, strict=True)]
    power = _small_power(b, ufunc, converted, result)
    if power is not None:
        return power
    rule = ROWS[ufunc][category(kinds[0])]
    return Scalar(result, rule(b, [s.ssa(b) for s in converted]))


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
    if type(number) is not kind:
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
    np.less: "lt",
    np.less_equal: "le",
    np.greater: "gt",
    np.greater_equal: "ge",
    np.equal: "eq",
    np.not_equal: "ne",
    np.logical_not: "not_",
    np.bitwise_and: "and_",
    np.bitwise_or: "or_",
    np.bitwise_xor: "xor",
    np.left_shift: "lshift",
    np.right_shift: "rshift",
    np.power: "pow",
}
"""Python's operator of each function, by its name in `operator`."""
_PYTHON: dict[np.ufunc, Callable[..., Any]] = {
    ufunc: getattr(operator, name) for ufunc, name in _NAMES.items()
}
"""What Python computes of numbers that are known."""


def _small_power(
    b: OperationList, ufunc: np.ufunc, scalars: Sequence[Scalar], kind: Kind
) -> Scalar | None:
    """Squares and cubes as products, roots as roots: exact, and fast."""
    if ufunc is not np.power or scalars[1].value is not None:
        return None
    exponent, base = scalars[1].constant, scalars[0]
    if exponent == 0.5 and category(kind) == "f":
        return apply(b, np.sqrt, [base])
    if exponent not in (1, 2, 3):
        return None
    product = base
    for _ in range(int(exponent) - 1):
        product = apply(b, np.multiply, [product, base])
    return product


def refusal(ufunc: np.ufunc, kinds: Sequence[Kind]) -> tuple[str, str]:
    """What was asked of which types, for a message."""
    return ufunc.__name__, " and ".join(map(described, kinds))
