"""Arithmetic of the emulator: the Python twin of every elementwise intrinsic.

Scalars are ``int`` (i32 and index), ``bool`` (i1) and NumPy scalars (all others); tiles
are NumPy arrays.  Results have the operands' type and wrap around.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gpucodegen.intrinsics.elements import element
from gpucodegen.intrinsics.sim import narrow
from gpucodegen.intrinsics.sim.machine import plain
from gpucodegen.ir.float_formats import NARROW

Twin = Callable[..., Any]


def typed(value: Any) -> Any:
    """An operand as NumPy knows it: a plain ``int`` is an i32."""
    if isinstance(value, bool):
        return np.bool_(value)
    if isinstance(value, int):
        return np.int32((value + 0x8000_0000) % 0x1_0000_0000 - 0x8000_0000)
    return value


def _operands(values: tuple[Any, ...]) -> list[Any]:
    """Operands of one type: a plain ``int`` beside a wider integer takes its type."""
    wide = next((v for v in values if isinstance(v, (np.generic, np.ndarray))), None)
    if wide is None or wide.dtype.kind == "b":
        return [typed(v) for v in values]
    kind = wide.dtype.type
    return [kind(v) if isinstance(v, int) else v for v in values]


def twin(function: Twin) -> Twin:
    """Make an operation on NumPy values one on kernel values."""

    def call(*values: Any) -> Any:
        operands = _operands(values)
        result = function(*operands)
        if isinstance(result, np.ndarray):
            return result
        return plain(result)

    return call


def _unsigned(value: Any) -> Any:
    return value.view(f"u{value.dtype}")


def _signed(value: Any, like: Any) -> Any:
    return value.astype(like.dtype)


def _on_unsigned(function: Twin) -> Twin:
    def call(a: Any, b: Any) -> Any:
        return _signed(np.asarray(function(_unsigned(a), _unsigned(b))), a)[()]

    return call


def _quotient(a: Any, b: Any) -> Any:
    """Rounded towards zero; 0 for a zero divisor; the smallest by -1 wraps around."""
    safe = np.where(b == 0, 1, b).astype(b.dtype)
    down = np.floor_divide(a, safe)
    rest = a - down * safe
    up = (rest != 0) & ((a < 0) != (safe < 0))
    exact = np.where(safe == -1, np.negative(a), down + up)
    return np.where(b == 0, 0, exact).astype(a.dtype)[()]


def _rest(a: Any, b: Any) -> Any:
    safe = np.where(b == 0, 1, b).astype(b.dtype)
    return (a - _quotient(a, safe) * safe).astype(a.dtype)[()]


def _floor_quotient(a: Any, b: Any) -> Any:
    quotient, rest = _quotient(a, b), _rest(a, b)
    return (quotient - ((rest != 0) & ((a < 0) != (b < 0)))).astype(a.dtype)


def _ceil_quotient(a: Any, b: Any) -> Any:
    quotient, rest = _quotient(a, b), _rest(a, b)
    return (quotient + ((rest != 0) & ((a < 0) == (b < 0)))).astype(a.dtype)


def _unsigned_quotient(a: Any, b: Any) -> Any:
    safe = np.where(b == 0, 1, b).astype(b.dtype)
    return np.where(b == 0, 0, a // safe)


def _unsigned_rest(a: Any, b: Any) -> Any:
    return a % np.where(b == 0, 1, b).astype(b.dtype)


def _unsigned_ceil_quotient(a: Any, b: Any) -> Any:
    return _unsigned_quotient(a, b) + (_unsigned_rest(a, b) != 0)


def _width(value: Any) -> int:
    return 1 if value.dtype.kind == "b" else 8 * value.dtype.itemsize


def _shift(function: Twin) -> Twin:
    def call(a: Any, b: Any) -> Any:
        width = _width(a)
        inside = b < width
        moved = function(a, np.where(inside, b, 0).astype(a.dtype))
        return np.where(inside, moved, 0)

    return _on_unsigned(call)


def _arithmetic_shift(a: Any, b: Any) -> Any:
    count = np.where((b < 0) | (b >= _width(a)), _width(a) - 1, b).astype(a.dtype)
    return np.right_shift(a, count)


def _high_half(a: Any, b: Any, *, signed: bool) -> Any:
    """The upper half of the double-width product."""
    width = _width(a)

    def one(x: Any, y: Any) -> int:
        x, y = (int(v) if signed else int(v) % (1 << width) for v in (x, y))
        high = (x * y) >> width
        return (high + (1 << (width - 1))) % (1 << width) - (1 << (width - 1))

    if isinstance(a, np.ndarray):
        cells = [one(x, y) for x, y in zip(a.flat, b.flat, strict=True)]
        return np.array(cells, a.dtype).reshape(a.shape)
    return a.dtype.type(one(a, b))


def _fused(a: Any, b: Any, c: Any) -> Any:
    """One rounding: exact in float64 for narrower types."""
    wide = np.float64(a) * np.float64(b) + np.float64(c)
    return wide.astype(a.dtype)


def _counted(count: Callable[[str], int]) -> Twin:
    def one(value: Any) -> int:
        width = _width(value)
        return count(format(int(value) % (1 << width), f"0{width}b"))

    def call(a: Any) -> Any:
        if isinstance(a, np.ndarray):
            return np.array([one(v) for v in a.flat], a.dtype).reshape(a.shape)
        return a.dtype.type(one(a))

    return call


def _leading(bits: str) -> int:
    return len(bits) - len(bits.lstrip("0"))


def _trailing(bits: str) -> int:
    return len(bits) - len(bits.rstrip("0"))


def _half_away(a: Any) -> Any:
    whole = np.trunc(a)
    is_far = np.abs(a - whole) >= a.dtype.type(0.5)
    return np.where(is_far, whole + np.copysign(1, a), whole).astype(a.dtype)[()]


INTEGER_TWINS: dict[str, Twin] = {
    "addi": np.add,
    "subi": np.subtract,
    "muli": np.multiply,
    "divsi": _quotient,
    "divui": _on_unsigned(_unsigned_quotient),
    "remsi": _rest,
    "remui": _on_unsigned(_unsigned_rest),
    "floordivsi": _floor_quotient,
    "ceildivsi": _ceil_quotient,
    "ceildivui": _on_unsigned(_unsigned_ceil_quotient),
    "mulsi_high": lambda a, b: _high_half(a, b, signed=True),
    "mului_high": lambda a, b: _high_half(a, b, signed=False),
    "andi": np.bitwise_and,
    "ori": np.bitwise_or,
    "xori": np.bitwise_xor,
    "shli": _shift(np.left_shift),
    "shrui": _shift(np.right_shift),
    "shrsi": _arithmetic_shift,
    "minsi": np.minimum,
    "maxsi": np.maximum,
    "minui": _on_unsigned(np.minimum),
    "maxui": _on_unsigned(np.maximum),
    "absi": np.absolute,
    "ctpop": _counted(lambda bits: bits.count("1")),
    "ctlz": _counted(_leading),
    "cttz": _counted(_trailing),
}
FLOAT_TWINS: dict[str, Twin] = {
    "addf": np.add,
    "subf": np.subtract,
    "mulf": np.multiply,
    "divf": np.divide,
    "negf": np.negative,
    "remf": np.fmod,
    "absf": np.absolute,
    "fma": _fused,
    "maximumf": np.maximum,
    "minimumf": np.minimum,
    "maxnumf": np.fmax,
    "minnumf": np.fmin,
    "copysign": np.copysign,
    "sqrt": np.sqrt,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "roundeven": np.rint,
    "round": _half_away,
}


def _by_element(function: Callable[..., float]) -> Twin:
    def one(*values: Any) -> float:
        try:
            return function(*map(float, values))
        except (ValueError, OverflowError):
            return math.nan

    def call(*values: Any) -> Any:
        first = values[0]
        if not isinstance(first, np.ndarray):
            return first.dtype.type(one(*values))
        columns = zip(*(v.flat for v in values), strict=True)
        return np.array([one(*c) for c in columns], first.dtype).reshape(first.shape)

    return call


LIBRARY_TWINS: dict[str, Twin] = {
    "exp": np.exp,
    "expm1": np.expm1,
    "log": np.log,
    "log10": np.log10,
    "log1p": np.log1p,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "erf": _by_element(math.erf),
    "erfc": _by_element(math.erfc),
    "atan2": np.arctan2,
    "powf": np.power,
    "exp2": np.exp2,
    "log2": np.log2,
    "cbrt": np.cbrt,
    "rsqrt": lambda a: (1 / np.sqrt(a)).astype(a.dtype),
}


def _power_integer(base: Any, exponent: Any) -> Any:
    count = int(exponent)
    if count < 0:
        return base.dtype.type(int(base) == 1)
    result, factor = base.dtype.type(1), base
    while count:
        result = result * factor if count & 1 else result
        factor, count = factor * factor, count >> 1
    return result


def _power_float(base: Any, exponent: Any) -> Any:
    size = _power_integer(base, abs(int(exponent)))
    return base.dtype.type(1) / size if exponent < 0 else size


def select(condition: Any, a: Any, b: Any) -> Any:
    """``arith.select``."""
    if isinstance(condition, np.ndarray):
        return np.where(condition, a, b).astype(np.asarray(a).dtype)
    return a if condition else b


TWINS: dict[str, Twin] = {
    **{name: twin(f) for name, f in INTEGER_TWINS.items()},
    **{name: twin(f) for name, f in FLOAT_TWINS.items()},
    **{name: twin(f) for name, f in LIBRARY_TWINS.items()},
    "ipowi": lambda base, n: plain(_power_integer(typed(base), n)),
    "fpowi": lambda base, n: _power_float(typed(base), n),
    "select": select,
    "floordiv": lambda a, b: int(a) // int(b),
    "floormod": lambda a, b: int(a) % int(b),
}

SIGNED_ORDER: dict[str, Twin] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "slt": np.less,
    "sle": np.less_equal,
    "sgt": np.greater,
    "sge": np.greater_equal,
}
UNSIGNED_ORDER: dict[str, Twin] = {
    "ult": np.less,
    "ule": np.less_equal,
    "ugt": np.greater,
    "uge": np.greater_equal,
}
FLOAT_ORDER: dict[str, Twin] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}


def cmpi(predicate: str) -> Twin:
    """``arith.cmpi``."""
    if predicate in SIGNED_ORDER:
        return twin(SIGNED_ORDER[predicate])
    compare = UNSIGNED_ORDER[predicate]
    return twin(lambda a, b: compare(_unsigned(a), _unsigned(b)))


def cmpf(predicate: str) -> Twin:
    """``arith.cmpf``: with NaN, ordered predicates are false, unordered true."""

    def call(a: Any, b: Any) -> Any:
        unordered = np.isnan(a) | np.isnan(b)
        if predicate in {"ord", "uno"}:
            return unordered if predicate == "uno" else ~unordered
        truth = FLOAT_ORDER[predicate[1:]](a, b)
        return truth | unordered if predicate[0] == "u" else truth & ~unordered

    return twin(call)


def from_storage(value: Any, name: str) -> Any:
    """Stored elements as kernels carry them."""
    if name in NARROW:
        return narrow.from_bits(value, name)
    carried = np.dtype(element(name).carrier.replace("boolean", "bool"))
    array = np.asarray(value)
    array = array.view(carried) if array.dtype.itemsize == carried.itemsize else array
    return array if array.ndim else plain(array[()])


def to_storage(value: Any, name: str) -> Any:
    """Carried values as they are stored."""
    return narrow.to_bits(value, name) if name in NARROW else value


def wrap(value: Any, name: str) -> Any:
    """An integer cut to a width: a plain ``int`` for i32, NumPy's for others."""
    if isinstance(value, (float, np.floating)) and not math.isfinite(value):
        value = 0
    dtype = np.dtype(name)
    bits = 8 * dtype.itemsize
    cut = (int(value) + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))
    return cut if name == "int32" else dtype.type(cut)


def cast(op: str, name: str) -> Twin:
    """The arith conversion ``op`` to an element type."""
    target = np.dtype(element(name).carrier.replace("boolean", "bool"))
    if name in NARROW:
        return lambda x: _narrowed(op, typed(x), name)

    def call(x: Any) -> Any:
        return plain(np.asarray(_cast(op, np.asarray(typed(x)), target))[()])

    def call_tile(x: Any) -> Any:
        return _cast(op, x, target) if isinstance(x, np.ndarray) else call(x)

    return call_tile


def _narrowed(op: str, x: Any, name: str) -> Any:
    """A number of any type rounded to a narrow float."""
    if x.dtype.kind == "f":
        return narrow.rounded(x, name)
    value = int(x) % (1 << _width(x))
    is_negative = op == "sitofp" and value >> (_width(x) - 1)
    return narrow.of_integer(value - (is_negative << _width(x)), name)


def _cast(op: str, x: np.ndarray, target: np.dtype) -> np.ndarray:
    if op == "bitcast":
        return x.view(target)
    if op in {"fptosi", "fptoui"}:
        return _saturated(x, target, signed=op == "fptosi")
    if op in {"extui", "uitofp", "index_castui"} and x.dtype.kind == "i":
        x = _unsigned(x)
    if op in {"extsi", "sitofp", "index_cast"} and x.dtype.kind == "b":
        x = -x.astype(np.int8)
    if op == "trunci" and target.kind == "b":
        x = x & 1
    return x.astype(target)


def _saturated(x: np.ndarray, target: np.dtype, *, signed: bool) -> np.ndarray:
    bounds = np.iinfo(target if signed else np.dtype(f"u{target}"))
    clean = np.where(np.isnan(x), 0, np.trunc(x)).astype(np.float64)
    cells = [
        min(max(int(v), bounds.min), bounds.max)
        if math.isfinite(v)
        else (bounds.max if v > 0 else bounds.min)
        for v in clean.flat
    ]
    return np.array(cells, bounds.dtype).reshape(x.shape).view(target)
