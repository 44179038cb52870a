"""Maxima and minima with NaN and zeros of both signs, on vectors of every width."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tests.runtime.kernel_texts import FACES, loop, run

NUMBERS = [0.0, -0.0, 1.0, -1.5, 1e-40, -1e-40, np.inf, -np.inf, np.nan, -np.nan]


def on_vectors(face: str, name: str, lanes: int, a: np.ndarray, b: np.ndarray):
    dtype = {4: "f32", 8: "f64"}[a.itemsize]
    header = (
        f"{name}, vload = intrinsics.{name}, intrinsics.vload({lanes}, '{dtype}')\n"
        f"vstore = intrinsics.vstore({lanes}, '{dtype}')"
    )
    body = loop(f"vstore(R, i, {name}(vload(A, i), vload(B, i)))", step=lanes)
    result = np.zeros_like(a)
    run(face, header, body, A=a, B=b, R=result, n=len(a))
    return result


@pytest.mark.cases("face", FACES, parts=2)
@pytest.mark.cases("dtype", ["float32", "float64"])
@pytest.mark.cases("lanes", [1, 2, 4, 8, 16, 32])
@pytest.mark.sampled(6)
def test_all_pairs(face: str, dtype: str, lanes: int) -> None:
    table = np.array([*itertools.product(NUMBERS, NUMBERS)], dtype)
    table = np.resize(table, (128, 2))
    a, b = np.ascontiguousarray(table.T)
    for name, wanted in (("maximumf", np.maximum), ("minimumf", np.minimum)):
        result = on_vectors(face, name, lanes, a, b)
        np.testing.assert_array_equal(result, wanted(a, b), name)
        zeros = (a == 0) & (b == 0)
        join = {"maximumf": np.logical_and, "minimumf": np.logical_or}[name]
        signs = join(np.signbit(a), np.signbit(b))
        assert (np.signbit(result) == signs)[zeros].all()
