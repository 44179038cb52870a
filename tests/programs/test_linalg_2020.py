"""Operations of the linalg dialect of 2020 in their own form, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

import gpucodegen as gcg

RNG = np.random.default_rng(4)


def numbers(*shape: int) -> Any:
    return (RNG.integers(-8, 9, size=shape) / 4).astype("f4")


A, B = numbers(4, 6), numbers(6, 5)
LAYOUT = "(i, j)[s0] -> (i * s0 + j)"
PRODUCT = """
func @fma(%a: f32, %b: f32, %c: f32) -> f32 {
  %d = mulf %a, %b: f32
  %e = addf %c, %d: f32
  return %e: f32
}
#matmul_accesses = [
  (m, n, k) -> (m, k),
  (m, n, k) -> (k, n),
  (m, n, k) -> (m, n)
]
#matmul_trait = {
  doc = "C(m, n) += A(m, k) * B(k, n)",
  fun = @fma,
  indexing_maps = #matmul_accesses,
  library_call = "linalg_matmul",
  n_views = [2, 1],
  iterator_types = ["parallel", "parallel", "reduction"]
}
func @f(%A: memref<?x?xf32, LAYOUT>, %B: memref<?x?xf32, LAYOUT>,
        %C: memref<?x?xf32, LAYOUT>) {
  linalg.generic #matmul_trait %A, %B, %C : memref<?x?xf32, LAYOUT>,
    memref<?x?xf32, LAYOUT>, memref<?x?xf32, LAYOUT>
  return
}
""".replace("LAYOUT", LAYOUT)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["cpu", "sim"])
def test_a_function_of_elements_on_strided_memrefs(target: str):
    """The layout with an open stride takes whatever stride a call has."""
    wide = numbers(4, 9)
    result = np.ones((4, 5), np.float32)
    gcg.compile(PRODUCT, target=target).f(wide[:, :6], B, result)
    np.testing.assert_allclose(result, 1 + wide[:, :6] @ B, rtol=1e-5)


@pytest.mark.slow
def test_library_calls_run_functions_of_python_and_numba():
    import numba

    def multiply(a: Any, b: Any, c: Any) -> None:
        c += a @ b

    @numba.njit
    def compiled(a: Any, b: Any, c: Any) -> None:
        for i, j in np.ndindex(c.shape):
            c[i, j] += (a[i] * b[:, j]).sum()

    for function in (multiply, compiled):
        result = np.ones((4, 5), np.float32)
        handlers = {"linalg_matmul": function}
        gcg.compile(PRODUCT, target="cpu", handlers=handlers).f(A, B, result)
        np.testing.assert_allclose(result, 1 + A @ B, rtol=1e-5)


SLICES = {
    "%r, %r": ("!linalg.range, !linalg.range", "?x?xf32", A[1:4:2, 1:4:2]),
    "%c1, %r": ("index, !linalg.range", "?xf32", A[1, 1:4:2]),
    "%c1, %c1": ("index, index", "f32", A[1, 1]),
}


@pytest.mark.parametrize("entries", SLICES)
def test_ranges_and_slices(entries: str):
    types, shape, want = SLICES[entries]
    strides = ", ".join("?" * shape.count("x"))
    view = f"memref<{shape}, offset: ?, strides: [{strides}]>"
    text = f"""func @f(%a: memref<?x?xf32>, %b: memref<{shape}>) {{
      %c1 = constant 1 : index
      %c2 = constant 2 : index
      %c4 = constant 4 : index
      %r = linalg.range %c1:%c4:%c2 : !linalg.range
      %s = linalg.slice %a[{entries}] : memref<?x?xf32>, {types}, {view}
      linalg.copy(%s, %b) : {view}, memref<{shape}>
      return
    }}"""
    found = np.zeros(np.shape(want), np.float32)
    gcg.compile(text, target="cpu").f(A, found)
    np.testing.assert_array_equal(found, want)


def test_reshapes():
    text = """func @f(%a: memref<?x?x?xf32>, %b: memref<?x?xf32>) {
      %1 = linalg.reshape %a [(i, j, k) -> (i, j), (i, j, k) -> (k)]
        : memref<?x?x?xf32> into memref<?x?xf32>
      linalg.copy(%1, %b) : memref<?x?xf32>, memref<?x?xf32>
      return
    }"""
    x, found = numbers(2, 3, 4), np.zeros((6, 4), np.float32)
    gcg.compile(text, target="cpu").f(x, found)
    np.testing.assert_array_equal(found, x.reshape(6, 4))


# -- windows ---------------------------------------------------------------------------


def padding(*sides: tuple[int, int]) -> str:
    pairs = [list(side) for side in sides]
    return f"padding = dense<{pairs}> : tensor<{len(pairs)}x2xi64>"


@pytest.mark.slow
@pytest.mark.parametrize("target", ["cpu", "sim"])
def test_padded_convolutions(target: str):
    x, k = numbers(2, 6, 7, 3), numbers(3, 2, 3, 4)
    ty = "memref<?x?x?x?xf32>"
    sides = padding((0, 1), (2, 1))
    text = f"""func @f(%k: {ty}, %x: {ty}, %o: {ty}) {{
      linalg.conv(%k, %x, %o) {{strides = [2, 1], dilations = [1, 2], {sides}}}
        : {ty}, {ty}, {ty}
      return
    }}"""
    padded = np.pad(x.astype(float), [(0, 0), (0, 1), (2, 1), (0, 0)])
    windows = sliding_window_view(padded, (3, 3), (1, 2))[:, ::2, :, :, :, ::2]
    want = 1 + np.einsum("nyxchw,hwcf->nyxf", windows, k)
    found = np.ones(want.shape, np.float32)
    gcg.compile(text, target=target).f(k, x, found)
    np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-5)


POOLED = {
    "max": (np.max, np.maximum, -np.inf),
    "min": (np.min, np.minimum, np.inf),
    "sum": (np.sum, np.add, 0),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", ["f4", "i4"])
@pytest.mark.parametrize("kind", POOLED)
def test_padded_poolings(kind: str, dtype: str):
    """Room never wins: every window has at least one element of the image."""
    reduced, combined, neutral = POOLED[kind]
    x = (numbers(6, 7) * 4).astype(dtype)
    ty = "memref<?x?xf32>" if dtype == "f4" else "memref<?x?xi32>"
    text = f"""func @f(%x: {ty}, %w: memref<2x3xi32>, %o: {ty}) {{
      linalg.pooling_{kind}(%x, %w, %o) {{strides = [1, 2], {padding((0, 1), (1, 1))}}}
        : {ty}, memref<2x3xi32>, {ty}
      return
    }}"""
    padded = np.pad(x.astype(float), [(0, 1), (1, 1)], constant_values=neutral)
    found = reduced(sliding_window_view(padded, (2, 3))[:, ::2], axis=(2, 3))
    start = np.ones(found.shape, dtype)
    want = combined(found, start)
    gcg.compile(text, target="cpu").f(x, np.zeros((2, 3), np.int32), start)
    np.testing.assert_array_equal(start, want)


@pytest.mark.slow
def test_convolutions_over_four_dimensions():
    x, k = numbers(1, 3, 3, 2, 3, 2), numbers(2, 2, 1, 2, 2, 3)
    ty = "memref<?x?x?x?x?x?xf32>"
    text = f"""func @f(%k: {ty}, %x: {ty}, %o: {ty}) {{
      linalg.conv(%k, %x, %o) : {ty}, {ty}, {ty}
      return
    }}"""
    windows = sliding_window_view(x.astype(float), k.shape[:4], (1, 2, 3, 4))
    want = np.einsum("nabdecwxyz,wxyzcf->nabdef", windows, k)
    found = np.zeros(want.shape, np.float32)
    gcg.compile(text, target="cpu").f(k, x, found)
    np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-5)
