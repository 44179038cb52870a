"""Rows of neighbours on vectors of a line: cells loaded once, the same bits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from vector_runs import kernel, run, vectorized

import gpucodegen as gcg

RNG = np.random.default_rng(23)
ROWS = 4
FLOATS = {"f32": np.float32, "f64": np.float64}


@dataclass(frozen=True)
class Stencil:
    """``z[i][j + at] = sum of x[i + di][j + dj]`` for ``9 <= j < last``."""

    dtype: str
    columns: int
    last: int
    taps: tuple[tuple[int, int], ...]
    at: int
    dynamic: bool = False

    @property
    def arguments(self) -> str:
        ty = f"memref<{ROWS}x{self.columns}x{self.dtype}>"
        return f"%x: {ty}, %z: {ty}, %n: index"

    def kernel(self) -> str:
        ty = f"memref<{ROWS}x{self.columns}x{self.dtype}>"
        lines = [
            f"%x{n} = affine.load %x[%i + {di}, %j + {dj}] : {ty}"
            for n, (di, dj) in enumerate(self.taps)
        ]
        for n in range(1, len(self.taps)):
            before = "%x0" if n == 1 else f"%s{n - 1}"
            lines.append(f"%s{n} = arith.addf {before}, %x{n} : {self.dtype}")
        result = f"%s{len(self.taps) - 1}"
        body = "\n".join(lines)
        return f"""affine.for %i = 1 to {ROWS - 1} {{
          affine.for %j = 9 to {"%n" if self.dynamic else self.last} {{
            {body}
            affine.store {result}, %z[%i, %j + {self.at}] : {ty}
          }}
        }}"""

    def values(self) -> list[np.ndarray]:
        shape, dtype = (ROWS, self.columns), FLOATS[self.dtype]
        return [_misaligned(RNG.random(shape).astype(dtype)) for _ in range(2)]

    def expected(self, x: np.ndarray, z: np.ndarray) -> np.ndarray:
        def tap(di: int, dj: int) -> np.ndarray:
            return x[1 + di : ROWS - 1 + di, 9 + dj : self.last + dj]

        total = tap(*self.taps[0])
        for shift in self.taps[1:]:
            total = total + tap(*shift)
        want = z.copy()
        want[1 : ROWS - 1, 9 + self.at : self.last + self.at] = total
        return want


def _misaligned(values: np.ndarray) -> np.ndarray:
    """A copy that begins at some element of a line."""
    first = int(RNG.integers(16))
    flat = np.empty(values.size + 16, values.dtype)[first : first + values.size]
    flat[:] = values.ravel()
    return flat.reshape(values.shape)


TAPS = st.tuples(st.sampled_from([-1, 0, 1]), st.integers(-6, 6))


@st.composite
def stencils(draw: st.DrawFn) -> Stencil:
    columns = draw(st.integers(145, 180))
    return Stencil(
        draw(st.sampled_from(sorted(FLOATS))),
        columns,
        last=draw(st.integers(columns - 12, columns - 7)),
        taps=tuple(draw(st.lists(TAPS, min_size=2, max_size=6))),
        at=draw(st.sampled_from([-3, 0, 0])),
        dynamic=draw(st.booleans()),
    )


def result(stencil: Stencil, module: gcg.Module, target: str, *values: Any) -> Any:
    x, z = (v.copy() for v in values)
    run(module, target, x, z, stencil.last)
    return z


@pytest.mark.sampled(8)
@settings(max_examples=6, deadline=None, phases=[Phase.generate])
@given(stencils())
def test_on_the_emulated_device(stencil: Stencil):
    x, z = stencil.values()
    module = vectorized(kernel(stencil.arguments, stencil.kernel(), "sim"), 512)
    got = result(stencil, module, "sim", x, z)
    np.testing.assert_array_equal(got, stencil.expected(x, z))


FIVE_POINTS = ((0, 0), (0, -1), (0, 1), (-1, 0), (1, 0))
BOX = tuple((i, j) for i in (-1, 0, 1) for j in (-1, 0, 1))


@pytest.mark.parametrize(
    "taps", [FIVE_POINTS, BOX, ((0, 0), (0, 2)), ((0, -5), (0, -1))]
)
@pytest.mark.parametrize("dtype", sorted(FLOATS))
@pytest.mark.sampled(9)
def test_on_the_processor(taps: tuple[tuple[int, int], ...], dtype: str):
    stencil = Stencil(dtype, 173, 164, taps, 0)
    text = kernel(stencil.arguments, stencil.kernel(), "cpu")
    module = vectorized(text, 512)
    for _ in range(3):
        x, z = stencil.values()
        run(module, "cpu", x, z, stencil.last)
        np.testing.assert_array_equal(z, stencil.expected(x, z))


def slides(text: str, bits: int = 512) -> bool:
    return "vector.shuffle" in str(vectorized(text, bits))


def test_each_row_of_neighbours_is_loaded_once():
    stencil = Stencil("f32", 173, 164, BOX, 0)
    text = str(vectorized(kernel(stencil.arguments, stencil.kernel(), "cpu"), 512))
    (loop,) = (part for part in text.split("affine.for") if "iter_args" in part)
    assert loop.count("affine.vector_load") == 3
    assert loop.count("vector.shuffle") == 6


SHORT = Stencil("f32", 173, 100, FIVE_POINTS, 0)
LONG = Stencil("f32", 173, 164, FIVE_POINTS, 0)
LATE = """affine.for %j = 1 to 171 {
  %a = affine.load %x[0, %j] : memref<4x173xf32>
  affine.store %a, %x[0, %j] : memref<4x173xf32>
  %b = affine.load %z[0, %j] : memref<4x173xf32>
  %c = affine.load %z[0, %j + 1] : memref<4x173xf32>
  %s = arith.addf %b, %c : f32
  affine.store %s, %x[1, %j] : memref<4x173xf32>
}"""


def test_only_long_rows_of_vectors_that_fill_lines_slide():
    def of(stencil: Stencil) -> str:
        return kernel(stencil.arguments, stencil.kernel(), "cpu")

    assert slides(of(LONG))
    assert not slides(of(LONG), 256)
    assert not slides(of(SHORT))


def test_loads_behind_a_store_stay_where_they_are():
    assert not slides(kernel(LONG.arguments, LATE, "cpu"))


INSIDE = """affine.for %i = 1 to 299 {
  affine.for %j = 1 to 299 {
    %end = arith.constant 299 : index
    %row = affine.apply affine_map<(d0)[s0] -> (s0 - d0)>(%i)[%end]
    %a = affine.load %x[%row, %j - 1] : memref<300x300xf32>
    %b = affine.load %x[%row, %j + 1] : memref<300x300xf32>
    %s = arith.addf %a, %b : f32
    affine.store %s, %z[%row, %j] : memref<300x300xf32>
  }
}"""


@pytest.mark.parametrize("cache", [0, 1 << 20])
def test_indices_that_the_body_computes(cache: int):
    """They are folded into the accesses: those in front of the loop have them too."""
    arguments = "%x: memref<300x300xf32>, %z: memref<300x300xf32>"
    module = vectorized(kernel(arguments, INSIDE, "cpu"), 512, cache)
    x = RNG.random((300, 300)).astype(np.float32)
    z, want = np.zeros_like(x), np.zeros_like(x)
    want[1:-1, 1:-1] = x[1:-1, :-2] + x[1:-1, 2:]
    run(module, "cpu", x, z)
    np.testing.assert_array_equal(z, want)
