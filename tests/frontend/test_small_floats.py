"""Floats of up to eight bits: every code against the documents' description."""

from __future__ import annotations

import math
from typing import NamedTuple

import pytest

from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.number_formats import FORMATS
from gpucodegen.parser import parse_module


class Description(NamedTuple):
    """As the builtin dialect states it; ``nan`` and ``infinity`` are codes."""

    exponent: int
    mantissa: int
    bias: int
    nan: frozenset[int] = frozenset()
    infinity: int | None = None
    signed: bool = True


def parse(text: str) -> Module:
    return parse_module(text, allow_unregistered=True)


def codes(*ranges: range) -> frozenset[int]:
    return frozenset(code for some in ranges for code in some)


DESCRIPTIONS = {
    "f4E2M1FN": Description(2, 1, 1),
    "f6E2M3FN": Description(2, 3, 1),
    "f6E3M2FN": Description(3, 2, 3),
    "f8E3M4": Description(
        3, 4, 3, codes(range(0x71, 0x80), range(0xF1, 0x100)), infinity=0x70
    ),
    "f8E4M3": Description(
        4, 3, 7, codes(range(0x79, 0x80), range(0xF9, 0x100)), infinity=0x78
    ),
    "f8E4M3FN": Description(4, 3, 7, frozenset({0x7F, 0xFF})),
    "f8E4M3FNUZ": Description(4, 3, 8, frozenset({0x80})),
    "f8E4M3B11FNUZ": Description(4, 3, 11, frozenset({0x80})),
    "f8E5M2": Description(
        5, 2, 15, codes(range(0x7D, 0x80), range(0xFD, 0x100)), infinity=0x7C
    ),
    "f8E5M2FNUZ": Description(5, 2, 16, frozenset({0x80})),
    "f8E8M0FNU": Description(8, 0, 127, frozenset({0xFF}), signed=False),
}


def value(kind: Description, code: int) -> float:
    if code in kind.nan:
        return math.nan
    width = kind.exponent + kind.mantissa
    sign = -1.0 if code >> width and kind.signed else 1.0
    code &= (1 << width) - 1
    if code == kind.infinity:
        return sign * math.inf
    exponent, fraction = code >> kind.mantissa, code % (1 << kind.mantissa)
    if exponent == 0 and kind.signed:
        return sign * math.ldexp(fraction, 1 - kind.bias - kind.mantissa)
    whole = fraction + (1 << kind.mantissa)
    return sign * math.ldexp(whole, exponent - kind.bias - kind.mantissa)


def same(a: float, b: float) -> bool:
    if math.isnan(a) or math.isnan(b):
        return math.isnan(a) and math.isnan(b)
    return a == b and math.copysign(1, a) == math.copysign(1, b)


def width(name: str) -> int:
    return int(name[1])


@pytest.mark.cases("name", DESCRIPTIONS)
def test_every_code_has_its_value(name: str):
    for code in range(1 << width(name)):
        wanted = value(DESCRIPTIONS[name], code)
        assert same(FORMATS[name].decode(code), wanted), hex(code)


@pytest.mark.cases("name", DESCRIPTIONS)
def test_every_value_has_its_code(name: str):
    for code in range(1 << width(name)):
        wanted = value(DESCRIPTIONS[name], code)
        if not math.isnan(wanted):
            assert FORMATS[name].encode(wanted) == code


@pytest.mark.cases("name", DESCRIPTIONS)
def test_every_code_prints_and_parses_back(name: str):
    literals = ", ".join(f"0x{code:02X} : {name}" for code in range(1 << width(name)))
    printed = str(parse(f'"t.t"() {{a = [{literals}]}} : () -> ()\n'))
    assert str(parse(printed)) == printed
    assert printed.count(name) == 1 << width(name)
