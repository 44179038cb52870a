"""arith and math on numbers, against Python's integers and IEEE arithmetic."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from running import loaded
from scalar_programs import Case, float_cases, integer_cases, program, signed

from tests.targets import ALL

WIDTHS = (8, 16, 32, 64)
SIGNED_ZEROS = {"maximumf", "minimumf"}
"""Operations whose expected zeros have the right sign."""
FLOATS = {"f32": np.float32, "f64": np.float64, "f16": np.float16}
TARGETS = ALL


@cache
def integer_function(bits: int, target: str):
    return loaded(program(f"i{bits}", integer_cases(bits), target), target, "ops")


@cache
def float_function(ty: str, target: str):
    return loaded(program(ty, float_cases(ty), target), target, "ops")


def corners(bits: int) -> list[int]:
    lowest = -(1 << (bits - 1))
    return [lowest, lowest + 1, -7, -2, -1, 0, 1, 2, 3, 7, bits - 1, -1 - lowest]


def check_integers(bits: int, target: str, pairs: list[tuple[int, int]]):
    dtype = np.dtype(f"int{bits}")
    a, b = (np.array(column, dtype) for column in zip(*pairs, strict=True))
    cases = integer_cases(bits)
    out = np.zeros((len(cases), len(pairs)), dtype)
    integer_function(bits, target)(a, b, out)
    for case, row in zip(cases, out, strict=True):
        for (x, y), got in zip(pairs, row, strict=True):
            want = case.want(x, y)
            if want is not None:
                assert got == signed(int(want), bits), (case.name, x, y)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("bits", WIDTHS)
def test_integers_at_the_corners(bits: int, target: str):
    values = corners(bits)
    check_integers(bits, target, [(x, y) for x in values for y in values])


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("bits", WIDTHS)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_random_integers(bits: int, target: str, data: st.DataObject):
    value = st.integers(-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    pairs = data.draw(st.lists(st.tuples(value, value), min_size=1, max_size=20))
    check_integers(bits, target, pairs)


def expected(case: Case, x: float, y: float, dtype: type) -> float:
    with np.errstate(all="ignore"):
        return float(dtype(case.want(float(x), float(y))))


def check_floats(ty: str, target: str, pairs: list[tuple[float, float]]):
    dtype = FLOATS[ty]
    with np.errstate(over="ignore"):
        a, b = (np.array(column, dtype) for column in zip(*pairs, strict=True))
    cases = float_cases(ty)
    out = np.zeros((len(cases), len(pairs)), dtype)
    float_function(ty, target)(a, b, out)
    for case, row in zip(cases, out, strict=True):
        want = [expected(case, x, y, dtype) for x, y in zip(a, b, strict=True)]
        told = f"{case.name} of {a} and {b}"
        np.testing.assert_array_equal(row, np.array(want, dtype), err_msg=told)
        if case.name in SIGNED_ZEROS:
            numbers = ~np.isnan(want)
            signs = np.signbit(row)[numbers], np.signbit(want)[numbers]
            np.testing.assert_array_equal(*signs, err_msg=told)


FLOAT_CORNERS = (
    *(0.0, -0.0, 0.5, -0.5, 1.0, -1.5, 2.5, 3.5, -7.25, 1e-7, 60000.0, 1e30, -1e30),
    *(float("inf"), float("-inf"), float("nan")),
)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("ty", FLOATS)
def test_floats_at_the_corners(ty: str, target: str):
    check_floats(ty, target, [(x, y) for x in FLOAT_CORNERS for y in FLOAT_CORNERS])


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("ty", FLOATS)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_random_floats(ty: str, target: str, data: st.DataObject):
    value = st.floats(width=64 if ty == "f64" else 32)
    pairs = data.draw(st.lists(st.tuples(value, value), min_size=1, max_size=20))
    check_floats(ty, target, pairs)
