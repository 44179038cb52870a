"""Loops that keep the best value and its place: on vectors as one by one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from vector_runs import kernel, run, vectorized

import gpucodegen as gcg

ROWS, COLUMNS = 2, 90
TYPES = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "i64": np.int64}
COMPARE = {
    "gt": np.greater,
    "ge": np.greater_equal,
    "lt": np.less,
    "le": np.less_equal,
}


@dataclass(frozen=True)
class Search:
    """``v PREDICATE best`` of row elements, or with both sides exchanged.

    ``weighed``: a second array gives what is kept beside the place.
    """

    dtype: str
    order: str
    first: int
    last: int
    exchanged: bool = False
    weighed: bool = False
    start: float = 0

    @property
    def arguments(self) -> str:
        ty = f"memref<{ROWS}x{COLUMNS}x{self.dtype}>"
        ends = f"%b: memref<{ROWS}x{self.dtype}>, %k: memref<{ROWS}xi64>"
        return f"%x: {ty}, %w: {ty}, {ends}, %w0: memref<{ROWS}x{self.dtype}>"

    @property
    def body(self) -> str:
        ty = f"memref<{ROWS}x{COLUMNS}x{self.dtype}>"
        ends = f"memref<{ROWS}x{self.dtype}>"
        op = "cmpf o" if self.dtype[0] == "f" else "cmpi s"
        mirrored = {"gt": "lt", "ge": "le", "lt": "gt", "le": "ge"}[self.order]
        sides = f"{mirrored}, %t, %v" if self.exchanged else f"{self.order}, %v, %t"
        weights = "%w" if self.weighed else "%x"
        start = int(self.start) if self.dtype[0] == "i" else float(self.start)
        return f"""
          %start = arith.constant {start} : {self.dtype}
          %none = arith.constant -7 : i64
          affine.for %i = 0 to {ROWS} {{
            %r:3 = affine.for %j = {self.first} to {self.last}
                iter_args(%t = %start, %p = %none, %q = %start)
                -> ({self.dtype}, i64, {self.dtype}) {{
              %v = affine.load %x[%i, %j] : {ty}
              %g = arith.{op}{sides} : {self.dtype}
              %at = arith.index_cast %j : index to i64
              %u = affine.load {weights}[%i, %j] : {ty}
              %t1 = arith.select %g, %v, %t : {self.dtype}
              %p1 = arith.select %g, %at, %p : i64
              %q1 = arith.select %g, %u, %q : {self.dtype}
              affine.yield %t1, %p1, %q1 : {self.dtype}, i64, {self.dtype}
            }}
            affine.store %r#0, %b[%i] : {ends}
            affine.store %r#1, %k[%i] : memref<{ROWS}xi64>
            affine.store %r#2, %w0[%i] : {ends}
          }}"""

    def one_by_one(self, x: Any, w: Any) -> tuple[list[Any], list[int], list[Any]]:
        """As the loop says it."""
        best, places, weights = [], [], []
        for i in range(ROWS):
            t, p, q = TYPES[self.dtype](self.start), -7, TYPES[self.dtype](self.start)
            for j in range(self.first, self.last):
                if COMPARE[self.order](x[i, j], t):
                    t, p, q = x[i, j], j, (w if self.weighed else x)[i, j]
            best.append(t)
            places.append(p)
            weights.append(q)
        return best, places, weights


SEARCHES = st.builds(
    Search,
    dtype=st.sampled_from(sorted(TYPES)),
    order=st.sampled_from(sorted(COMPARE)),
    first=st.integers(0, 9),
    last=st.integers(9, COLUMNS),
    exchanged=st.booleans(),
    weighed=st.booleans(),
    start=st.integers(-3, 3),
)
WIDTHS = st.sampled_from([128, 256, 512])


@pytest.mark.slow
@pytest.mark.parametrize("target", [pytest.param("cpu", marks=pytest.mark.slow), "sim"])
@settings(max_examples=8, deadline=None, phases=[Phase.generate])
@given(search=SEARCHES, bits=WIDTHS, seed=st.integers(0, 99))
def test_records_are_those_of_the_loop(
    target: str, search: Search, bits: int, seed: int
):
    """With ties, zeros of both signs, infinities and NaN."""
    rng, dtype = np.random.default_rng(seed), TYPES[search.dtype]
    x = rng.integers(-4, 5, (ROWS, COLUMNS)).astype(dtype)
    w = rng.integers(-99, 99, (ROWS, COLUMNS)).astype(dtype)
    if search.dtype[0] == "f":
        strange = np.array([np.nan, -0.0, np.inf, -np.inf], dtype)
        where = rng.random(x.shape) < 0.2 * (seed % 3)
        x[where] = rng.choice(strange[: 2 + seed % 3], where.sum())
    text = kernel(search.arguments, search.body, target)
    best, places = np.zeros(ROWS, dtype), np.zeros(ROWS, np.int64)
    weights = np.zeros(ROWS, dtype)
    run(vectorized(text, bits), target, x, w, best, places, weights)
    expected = search.one_by_one(x, w)
    assert best.tobytes() == np.array(expected[0], dtype).tobytes()
    np.testing.assert_array_equal(places, expected[1])
    assert weights.tobytes() == np.array(expected[2], dtype).tobytes()


def made(body: str, predicate: str = "ogt") -> str:
    """The pass on one row, with what an iteration does beside the comparison."""
    text = f"""func.func @f(%x: memref<640xf32>, %y: memref<f32>, %k: memref<index>) {{
      %zero = arith.constant 0.0 : f32
      %c0 = arith.constant 0 : index
      %r:2 = affine.for %j = 0 to 640
          iter_args(%t = %zero, %p = %c0) -> (f32, index) {{
        %v = affine.load %x[%j] : memref<640xf32>
        %g = arith.cmpf {predicate}, %v, %t : f32
        %a = arith.select %g, %v, %t : f32
        {body}
        affine.yield %a, %q : f32, index
      }}
      affine.store %r#0, %y[] : memref<f32>
      affine.store %r#1, %k[] : memref<index>
      return
    }}"""
    return str(vectorized(text))


KEPT = "%q = arith.select %g, %j, %p : index"


def test_a_place_is_kept_in_lanes():
    assert "vector.reduction <minui>" in made(KEPT)


@pytest.mark.cases(
    ("body", "predicate"),
    [
        (KEPT, "ugt"),
        (KEPT, "oeq"),
        ("%q = arith.select %g, %p, %j : index", "ogt"),
        ("%n = arith.addi %p, %j : index\n%q = arith.select %g, %n, %p : index", "ogt"),
        (
            "%h = arith.cmpf olt, %v, %t : f32\n%q = arith.select %h, %j, %p : index",
            "ogt",
        ),
    ],
)
def test_what_depends_on_the_order_stays(body: str, predicate: str):
    """NaN that are taken, other choices, counts of what was taken."""
    assert "vector.reduction" not in made(body, predicate)


def test_a_single_row_leaves_its_result_to_no_host():
    """The kernel stores the number; the host only launches it."""
    text = """func.func @f(%x: memref<1x700xf32>, %s: memref<1xf32>) {
      %zero = arith.constant 0.0 : f32
      affine.for %i = 0 to 1 {
        %q = affine.for %j = 0 to 700 iter_args(%a = %zero) -> (f32) {
          %v = affine.load %x[%i, %j] : memref<1x700xf32>
          %r = arith.addf %a, %v : f32
          affine.yield %r : f32
        }
        affine.store %q, %s[%i] : memref<1xf32>
      }
      return
    }"""
    program = gcg.compile(text, target="cpu")
    x, s = np.arange(700, dtype=np.float32)[None], np.zeros(1, np.float32)
    program.f(x, s)
    assert s[0] == x.sum()
    assert "rt.alloc" not in program.source("f")
