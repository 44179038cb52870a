"""Arithmetic on integers of a width, as MLIR defines it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpucodegen.intrinsics.sim.twins import Twin


def unsigned(value: Any) -> Any:
    """The same bits as an unsigned number."""
    return value.view(f"u{value.dtype}")


def on_bits(function: Twin) -> Twin:
    """Truth values compute as 0 and -1 in eight bits; a number's lowest bit is kept.

    >>> on_bits(np.less)(np.True_, np.False_), on_bits(np.subtract)(np.True_, np.True_)
    (np.True_, np.False_)
    """

    def call(*values: Any) -> Any:
        if values[0].dtype.kind != "b":
            return function(*values)
        result = np.asarray(function(*(-v.astype(np.int8) for v in values)))
        is_answer = result.dtype.kind == "b"
        return (result if is_answer else (result & 1).astype(np.bool_))[()]

    return call


def _signed(value: Any, like: Any) -> Any:
    return value.astype(like.dtype)


def _on_unsigned(function: Twin) -> Twin:
    def call(a: Any, b: Any) -> Any:
        return _signed(np.asarray(function(unsigned(a), unsigned(b))), a)[()]

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


def width_of(value: Any) -> int:
    """Bits of a number; 1 for a truth value."""
    return 1 if value.dtype.kind == "b" else 8 * value.dtype.itemsize


def _shift(function: Twin) -> Twin:
    def call(a: Any, b: Any) -> Any:
        width = width_of(a)
        inside = b < width
        moved = function(a, np.where(inside, b, 0).astype(a.dtype))
        return np.where(inside, moved, 0)

    return _on_unsigned(call)


def _arithmetic_shift(a: Any, b: Any) -> Any:
    count = np.where((b < 0) | (b >= width_of(a)), width_of(a) - 1, b).astype(a.dtype)
    return np.right_shift(a, count)


def _high_half(a: Any, b: Any, *, signed: bool) -> Any:
    """The upper half of the double-width product."""
    width = width_of(a)

    def one(x: Any, y: Any) -> int:
        x, y = (int(v) if signed else int(v) % (1 << width) for v in (x, y))
        high = (x * y) >> width
        return (high + (1 << (width - 1))) % (1 << width) - (1 << (width - 1))

    if isinstance(a, np.ndarray):
        cells = [one(x, y) for x, y in zip(a.flat, b.flat, strict=True)]
        return np.array(cells, a.dtype).reshape(a.shape)
    return a.dtype.type(one(a, b))


def _counted(count: Callable[[str], int]) -> Twin:
    def one(value: Any) -> int:
        width = width_of(value)
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


ARITHMETIC: dict[str, Twin] = {
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
}
COUNTS: dict[str, Twin] = {
    "ctpop": _counted(lambda bits: bits.count("1")),
    "ctlz": _counted(_leading),
    "cttz": _counted(_trailing),
}
INTEGER_TWINS = {name: on_bits(f) for name, f in ARITHMETIC.items()} | COUNTS
