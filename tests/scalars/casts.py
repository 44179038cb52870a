"""arith: from every type to every other one."""

from __future__ import annotations

import math
from typing import Any

from gpucodegen.ir.number_formats import FORMATS, to_bits
from gpucodegen.ir.number_formats import of_bits as float_of
from tests.scalars.table import Row
from tests.scalars.values import (
    FLOATS,
    INTEGERS,
    bits,
    is_integer,
    signed,
    unsigned,
)


def cast(name: str, before: str, after: str, want: Any) -> Row:
    text = f"%r = arith.{name} %x : {{x}} to {{r}}"
    return Row(f"arith.{name} to {after}", text, (before,), (after,), want)


def integer(before: str, after: str) -> list[Row]:
    """Between integers."""
    old = bits(before)
    if "index" in (before, after):
        return [
            cast("index_cast", before, after, lambda x: x),
            cast("index_castui", before, after, lambda x: unsigned(x, old)),
        ]
    if bits(after) < old:
        return [cast("trunci", before, after, lambda x: x)]
    return [
        cast("extsi", before, after, lambda x: x),
        cast("extui", before, after, lambda x: unsigned(x, old)),
    ]


def to_float(before: str, after: str) -> list[Row]:
    old = bits(before)
    return [
        cast("sitofp", before, after, float_exactly),
        cast("uitofp", before, after, lambda x: float_exactly(unsigned(x, old))),
    ]


def float_exactly(x: int) -> Any:
    """Integers that a float64 holds; the others are rounded twice here."""
    return float(x) if int(float(x)) == x else None


def to_integer(before: str, after: str) -> list[Row]:
    width = bits(after)

    def want(low: int, high: int) -> Any:
        def one(x: float) -> int | None:
            if not math.isfinite(x) or not low <= math.trunc(x) <= high:
                return None
            return math.trunc(x)

        return one

    half = 1 << (width - 1)
    return [
        cast("fptosi", before, after, want(-half, half - 1)),
        cast("fptoui", before, after, want(0, 2 * half - 1)),
    ]


def between_floats(before: str, after: str) -> list[Row]:
    old, new = FORMATS[before].width, FORMATS[after].width
    if old == new:
        return [] if before == after else [cast("convertf", before, after, _same)]
    name = "extf" if new > old else "truncf"
    return [cast(name, before, after, _same)]


def _same(x: float) -> float:
    return x


def bitcasts(before: str, after: str) -> list[Row]:
    def want(x: Any) -> Any:
        if is_integer(before):
            code = unsigned(x, bits(before))
        elif math.isnan(x):
            return None
        else:
            code = to_bits(x, before)
        return signed(code, bits(after)) if is_integer(after) else float_of(code, after)

    return [cast("bitcast", before, after, want)]


def width(ty: str) -> int:
    return bits(ty) if is_integer(ty) else FORMATS[ty].width


def rows(before: str, types: tuple[str, ...] = (*INTEGERS, *FLOATS)) -> list[Row]:
    """All casts of a type."""
    found: list[Row] = []
    for after in types:
        if before == after:
            continue
        if "index" in (before, after) and not (
            is_integer(before) and is_integer(after)
        ):
            continue
        kinds = is_integer(before), is_integer(after)
        make = {
            (True, True): integer,
            (True, False): to_float,
            (False, True): to_integer,
            (False, False): between_floats,
        }[kinds]
        found += make(before, after)
        if width(before) == width(after) and "index" not in (before, after):
            found += bitcasts(before, after)
    return found
