"""Outer products of words, and casts between elements of different widths."""

from __future__ import annotations

import numpy as np
import pytest

import gpucodegen as gcg
from tests.targets import ALL

TARGETS = ALL
PARTS = [("i16", "i16"), ("i8", "ui8"), ("ui8", "i8"), ("i8", "i8"), ("ui8", "ui8")]


def parts_of(words: np.ndarray, kind: str) -> np.ndarray:
    return words[..., None].view(kind.replace("i", "int")).astype("i4")


@pytest.mark.sampled(18)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.cases("columns", [3, 16, 40])
@pytest.mark.cases(("left", "right"), PARTS)
def test_outer_products_of_words(left: str, right: str, columns: int, target: str):
    text = f"""func.func @f(%x: memref<4xi32>, %y: memref<{columns}xi32>,
        %z: memref<4x{columns}xi32>) {{
      affine.for %once = 0 to 1 {{
        %c0 = arith.constant 0 : index
        %a = vector.load %x[%c0] : memref<4xi32>, vector<4xi32>
        %b = vector.load %y[%c0] : memref<{columns}xi32>, vector<{columns}xi32>
        %c = vector.load %z[%c0, %c0] : memref<4x{columns}xi32>, vector<4x{columns}xi32>
        %d = vector.outerproduct %a, %b, %c
          {{gcg.words = [{left}, {right}], kind = #vector.kind<add>}}
          : vector<4xi32>, vector<{columns}xi32>
        vector.store %d, %z[%c0, %c0] : memref<4x{columns}xi32>, vector<4x{columns}xi32>
      }}
      return
    }}"""
    rng = np.random.default_rng(0)
    x, y, z = (
        rng.integers(-(2**31), 2**31, n).astype("i4")
        for n in (4, columns, (4, columns))
    )
    x[0] = y[0] = -(2**31)
    x[1] = y[1] = 0x80008000 - 2**32
    products = parts_of(x, left)[:, None] * parts_of(y, right)
    expected = z + products.sum(axis=-1, dtype="i4")
    assert str(gcg.parse(str(gcg.parse(text)))) == str(gcg.parse(text))
    gcg.compile(text, target=target).f(x, y, z)
    assert np.array_equal(z, expected)


CASTS = [
    (64, "i8", 16, "i32"),
    (20, "i8", 5, "i32"),
    (5, "i32", 20, "i8"),
    (48, "i16", 24, "i32"),
    (6, "i64", 12, "f32"),
]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.cases("case", CASTS, ids=str, parts=2)
def test_bits_as_other_elements(case: tuple[int, str, int, str], target: str):
    old, before, new, after = case
    text = f"""func.func @f(%x: memref<{old}x{before}>, %y: memref<{new}x{after}>) {{
      affine.for %once = 0 to 1 {{
        %c0 = arith.constant 0 : index
        %v = vector.load %x[%c0] : memref<{old}x{before}>, vector<{old}x{before}>
        %w = vector.bitcast %v : vector<{old}x{before}> to vector<{new}x{after}>
        vector.store %w, %y[%c0] : memref<{new}x{after}>, vector<{new}x{after}>
      }}
      return
    }}"""
    dtypes = (f"{t[0]}{int(t[1:]) // 8}" for t in (before, after))
    x = np.arange(1, old + 1).astype(next(dtypes))
    y = np.zeros(new, next(dtypes))
    gcg.compile(text, target=target).f(x, y)
    assert x.tobytes() == y.tobytes()
