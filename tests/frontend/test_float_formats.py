"""Float formats: every code of the small ones, and samples of the others."""

from __future__ import annotations

import importlib
import math
import random
import struct
from fractions import Fraction
from itertools import pairwise

import pytest

from gpucodegen.ir.number_formats import FORMATS, decode_table, of_bits, to_bits

SMALL = [name for name, format_ in FORMATS.items() if format_.width <= 8]

FACTS = {
    # name: largest, smallest above zero, NaN codes, infinite codes
    "f8E5M2": (57344.0, 2.0**-16, 6, 2),
    "f8E4M3": (240.0, 2.0**-9, 14, 2),
    "f8E3M4": (15.5, 2.0**-6, 30, 2),
    "f8E4M3FN": (448.0, 2.0**-9, 2, 0),
    "f8E4M3FNUZ": (240.0, 2.0**-10, 1, 0),
    "f8E5M2FNUZ": (57344.0, 2.0**-17, 1, 0),
    "f8E4M3B11FNUZ": (30.0, 2.0**-13, 1, 0),
    "f8E8M0FNU": (2.0**127, 2.0**-127, 1, 0),
    "f6E3M2FN": (28.0, 2.0**-4, 0, 0),
    "f6E2M3FN": (7.5, 2.0**-3, 0, 0),
    "f4E2M1FN": (6.0, 0.5, 0, 0),
}


@pytest.mark.cases("name", SMALL)
def test_facts_of_the_format(name: str):
    values = decode_table(name)
    finite = [v for v in values if math.isfinite(v)]
    largest, smallest, nans, infinities = FACTS[name]
    assert len(values) == 1 << FORMATS[name].width
    assert max(finite) == largest
    assert min(v for v in finite if v > 0) == smallest
    assert sum(map(math.isnan, values)) == nans
    assert sum(map(math.isinf, values)) == infinities


@pytest.mark.cases("name", SMALL)
def test_codes_and_values_correspond(name: str):
    values = decode_table(name)
    for code, value in enumerate(values):
        if not math.isnan(value):
            assert to_bits(value, name) == code
    assert math.isnan(of_bits(to_bits(math.nan, name), name)) == (FACTS[name][2] > 0)


@pytest.mark.cases("name", SMALL)
def test_rounding_goes_to_the_nearest_and_to_even(name: str):
    values = sorted({v for v in decode_table(name) if math.isfinite(v) and v >= 0})
    for low, high in pairwise(values):
        middle = (low + high) / 2
        assert of_bits(to_bits((low + middle) / 2, name), name) == low
        assert of_bits(to_bits((high + middle) / 2, name), name) == high
        nearest = of_bits(to_bits(middle, name), name)
        codes = [to_bits(v, name) for v in (low, high)]
        even = low if codes[0] % 2 == 0 else high
        assert nearest == (high if name == "f8E8M0FNU" else even)


def test_no_minus_zero_without_a_code_for_it():
    assert to_bits(-0.0, "f8E4M3FNUZ") == 0
    assert to_bits(-0.0, "f8E4M3FN") == 0x80


def test_what_is_too_large():
    assert [to_bits(1e9, name) for name in ("f8E5M2", "f8E4M3FN", "f4E2M1FN")] == [
        0x7C,
        0x7F,
        0x7,
    ]
    assert to_bits(-1e9, "f8E5M2FNUZ") == 0x80


def test_native_formats_agree_with_the_machine():
    source = random.Random(0)
    for name, layout, code in (("f16", "e", "H"), ("f32", "f", "I"), ("f64", "d", "Q")):
        format_ = FORMATS[name]
        for _ in range(300):
            bits = source.getrandbits(format_.width)
            (value,) = struct.unpack(f"<{layout}", struct.pack(f"<{code}", bits))
            if math.isfinite(value):
                assert format_.decode(bits) == value
                exact = Fraction(value) or value
                assert format_.encode(value) == format_.encode(exact) == bits


def test_long_formats():
    for name in ("f80", "f128"):
        format_ = FORMATS[name]
        for value in (1.0, -0.1, 3.5e300, 5e-324, -0.0, math.inf, -math.inf):
            assert format_.decode(format_.encode(value)) == value
        assert format_.exact(format_.encode(Fraction(1, 3))) != Fraction(1, 3)
        assert of_bits(format_.encode(Fraction(1, 3)), name) == 1 / 3
    assert FORMATS["f80"].encode(1.0) == 0x3FFF8000000000000000
    assert FORMATS["f128"].encode(-2.0) == 0xC0000000000000000000000000000000


@pytest.mark.cases("name", SMALL)
def test_ml_dtypes_agrees(name: str):
    """Optional: another implementation of the same tables."""
    pytest.importorskip("ml_dtypes")
    peers, np = importlib.import_module("ml_dtypes"), importlib.import_module("numpy")
    bits, _, rest = name[1:].partition("E")
    peer = getattr(peers, f"float{bits}_e{rest.lower()}", None)
    if peer is None:
        pytest.skip(f"this version of ml_dtypes has no {name}")
    codes = np.arange(1 << FORMATS[name].width, dtype=np.uint8)
    theirs = codes.view(peer).astype(np.float64).tolist()
    for ours, value in zip(decode_table(name), theirs, strict=True):
        assert str(ours) == str(value)
