"""Sums of widened bytes, which LLVM makes VPDPBUSD and PSADBW of."""

from __future__ import annotations

import numpy as np
import pytest

import gpucodegen as gcg

SUM = """
func.func @f(%a: memref<6x{n}xi8>, %b: memref<6x{n}xi8>, %c: memref<6xi32>) {{
  affine.for %i = 0 to 6 {{
    affine.for %j = 0 to {n} {{
      %p = affine.load %a[%i, %j] : memref<6x{n}xi8>
      %q = affine.load %b[%i, %j] : memref<6x{n}xi8>
      %x = arith.{widen} %p : i8 to i32
      %y = arith.{widen} %q : i8 to i32
      {term}
      %s = affine.load %c[%i] : memref<6xi32>
      %t = arith.addi %s, %z : i32
      affine.store %t, %c[%i] : memref<6xi32>
    }}
  }}
  return
}}"""
SCALED = "%k = arith.constant {} : i32\n      %z = arith.muli %x, %k : i32"
DIFFERENCE = "%d = arith.subi %x, %y : i32\n      %z = math.absi %d : i32"
TERMS = {
    "x": ("%z = arith.addi %x, %x : i32", lambda x, _: x + x),
    "7 x": (SCALED.format(7), lambda x, _: 7 * x),
    "-3 x": (SCALED.format(-3), lambda x, _: -3 * x),
    "200 x": (SCALED.format(200), lambda x, _: 200 * x),
    "x y": ("%z = arith.muli %x, %y : i32", lambda x, y: x * y),
    "|x - y|": (DIFFERENCE, lambda x, y: np.abs(x - y)),
}


@pytest.mark.slow
@pytest.mark.drawn(6)
@pytest.mark.sampled(6)
@pytest.mark.parametrize("widen", ["extsi", "extui"])
@pytest.mark.parametrize("name", TERMS)
def test_no_byte_is_left_out(name: str, widen: str) -> None:
    term, expected = TERMS[name]
    for n in (4, 8, 16, 24, 32):
        rng = np.random.default_rng(n)
        a, b = rng.integers(-128, 128, (2, 6, n)).astype("i1")
        c = np.full(6, 7, "i4")
        text = SUM.format(n=n, widen=widen, term=term)
        kind = "i1" if widen == "extsi" else "u1"
        x, y = (each.view(kind).astype("i4") for each in (a, b))
        wanted = c + expected(x, y).sum(1)
        gcg.compile(text, target="cpu", threads=1).f(a, b, c)
        assert np.array_equal(c, wanted), n
