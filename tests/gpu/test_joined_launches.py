"""Phases of a transposed convolution: strided stores, several in one launch."""

from __future__ import annotations

import re

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import kernels as gk
from gpucodegen.report.gpu.report import report


def transposed(
    x: np.ndarray, w: np.ndarray, stride: int, dilation: int = 1
) -> np.ndarray:
    """Filters (c, f, taps) and images (n, c, width), in f64."""
    width = (x.shape[2] - 1) * stride + (w.shape[2] - 1) * dilation + 1
    made = np.zeros((x.shape[0], w.shape[1], width))
    for tap in range(w.shape[2]):
        first = tap * dilation
        end = first + (x.shape[2] - 1) * stride + 1
        made[:, :, first:end:stride] += np.einsum("ncx,cf->nfx", x, w[:, :, tap])
    return made


@pytest.mark.slow
@pytest.mark.cases("stride", [2, 3, 5])
@pytest.mark.cases("target", ["sim", "cpu"])
def test_phases(target: str, stride: int):
    rng = np.random.default_rng(stride)
    for _ in range(3):
        n, c, f, width, taps = rng.integers(1, [3, 9, 20, 70, 8])
        x = rng.standard_normal((n, c, width)).astype("f4")
        w = rng.standard_normal((c, f, taps)).astype("f4")
        found = gk.conv_transpose1d(x, w, strides=stride, layout="NCW", target=target)
        right = transposed(x.astype("f8"), w.astype("f8"), stride)
        assert np.allclose(found, right, atol=1e-4)


@pytest.mark.slow
@pytest.mark.cases("stride, dilation", [(2, 2), (5, 2), (6, 4), (7, 1)])
@pytest.mark.cases("target", ["sim", "cpu"])
def test_outputs_without_taps(target: str, stride: int, dilation: int):
    """These are the bias; the kernels of neighbours write them, or a fill."""
    rng = np.random.default_rng(stride)
    n, c, f, width, taps = rng.integers(1, [3, 9, 20, 70, 4])
    x = rng.standard_normal((n, c, width)).astype("f4")
    w = rng.standard_normal((c, f, taps)).astype("f4")
    bias = rng.standard_normal(f).astype("f4")
    found = gk.conv_transpose1d(
        *(x, w, bias),
        strides=stride,
        dilations=dilation,
        layout="NCW",
        target=target,
        out=np.full((n, f, (width - 1) * stride + (taps - 1) * dilation + 1), 7, "f4"),
    )
    right = transposed(x.astype("f8"), w.astype("f8"), stride, dilation)
    assert np.allclose(found, right + bias[:, None], atol=1e-4)


TEXT = """
func.func @f(%a: memref<32x64xf32>, %b: memref<64x96xf32>,
             %d: memref<32x{terms}xf32>, %c: memref<{terms}x96xf32>,
             %out: memref<32x{extent}xf32>) {{
  %zero = arith.constant 0.0 : f32
  %s = memref.alloc() : memref<32x96xf32>
  linalg.fill ins(%zero : f32) outs(%s : memref<32x96xf32>)
  linalg.matmul ins(%a, %b : memref<32x64xf32>, memref<64x96xf32>)
    outs(%s : memref<32x96xf32>)
  affine.for %i = 0 to 32 {{ affine.for %j = 0 to 96 {{
    %v = affine.load %s[%i, %j] : memref<32x96xf32>
    affine.store %v, %out[%i, %j * 2] : memref<32x{extent}xf32>
  }} }}
  %t = memref.alloc() : memref<32x96xf32>
  linalg.fill ins(%zero : f32) outs(%t : memref<32x96xf32>)
  linalg.matmul ins(%d, %c : memref<32x{terms}xf32>, memref<{terms}x96xf32>)
    outs(%t : memref<32x96xf32>)
  affine.for %i = 0 to 32 {{ affine.for %j = 0 to 96 {{
    %v = affine.load %t[%i, %j] : memref<32x96xf32>
    affine.store %v, %out[%i, %j * 2 + {first}] : memref<32x{extent}xf32>
  }} }}
  return
}}
"""


@pytest.mark.slow
@pytest.mark.cases("first, terms, launches", [(1, 64, 1), (2, 64, 2), (1, 36, 1)])
def test_only_independent_products_share_a_launch(
    first: int, terms: int, launches: int
):
    """K tiles of another depth share it, too."""
    rng = np.random.default_rng(first)
    shapes = (32, 64), (64, 96), (32, terms), (terms, 96)
    a, b, d, c = (rng.standard_normal(s).astype("f4") for s in shapes)
    extent = 192 + first
    out = np.zeros((32, extent), "f4")
    text = TEXT.format(first=first, extent=extent, terms=terms)
    program = gcg.compile(text, target="sim")
    program.f(a, b, d, c, out)
    right = np.zeros((32, extent))
    right[:, 0:192:2] = a.astype("f8") @ b
    right[:, first : 192 + first : 2] = d.astype("f8") @ c
    assert np.allclose(out, right, atol=1e-3)
    assert program.source("f").count("launch(") == launches


STRIDED = """
func.func @f(%a: memref<{rows}x40xf32>, %b: memref<40x{columns}xf32>,
             %out: memref<{rows}x{extent}xf32>) {{
  %zero = arith.constant 0.0 : f32
  %s = memref.alloc() : memref<{rows}x{columns}xf32>
  linalg.fill ins(%zero : f32) outs(%s : memref<{rows}x{columns}xf32>)
  linalg.matmul ins(%a, %b : memref<{rows}x40xf32>, memref<40x{columns}xf32>)
    outs(%s : memref<{rows}x{columns}xf32>)
  affine.for %i = 0 to {rows} {{ affine.for %j = 0 to {columns} {{
    %v = affine.load %s[%i, %j] : memref<{rows}x{columns}xf32>
    affine.store %v, %out[%i, %j * {step}] : memref<{rows}x{extent}xf32>
  }} }}
  return
}}
"""


def strided(rows: int, columns: int, step: int) -> str:
    extents = {"rows": rows, "columns": columns, "extent": columns * step}
    return STRIDED.format(**extents, step=step)


@pytest.mark.cases("rows, columns, step", [(33, 200, 2), (8, 531, 3), (33, 40, 8)])
def test_results_in_steps(rows: int, columns: int, step: int):
    """Lanes exchange sums while several results lie in one sector."""
    rng = np.random.default_rng(rows)
    a, b = (rng.standard_normal(s).astype("f4") for s in ((rows, 40), (40, columns)))
    out = np.zeros((rows, columns * step), "f4")
    program = gcg.compile(strided(rows, columns, step), target="sim")
    program.f(a, b, out)
    assert np.allclose(out[:, ::step], a.astype("f8") @ b, atol=1e-4)
    out[:, ::step] = 0
    assert not out.any()
    assert ("sums = " in program.source("f")) == (step < 8)


@pytest.mark.slow
@pytest.mark.cases("step", [2, 3])
def test_neighbouring_lanes_store_neighbouring_results(step: int):
    """Of a quad that each lane stored, 32 lanes would touch 32 sectors."""
    (function,) = report(strided(64, 256, step)).functions
    (kernel,) = function.kernels
    (stores,) = (
        each
        for each in kernel.accesses
        if each.array == "out" and each.direction == "store"
    )
    assert stores.executed <= 4 * step


@pytest.mark.slow
def test_nine_phases_share_a_launch():
    rng = np.random.default_rng(9)
    x, w = (rng.standard_normal(s).astype("f4") for s in ((2, 8, 40), (8, 8, 9)))
    found = gk.conv_transpose1d(x, w, strides=9, layout="NCW", target="sim")
    right = transposed(x.astype("f8"), w.astype("f8"), 9)
    assert np.allclose(found, right, atol=1e-4)


RAGGED = """
func.func @f(%a: memref<70x33xf32>, %b: memref<33x51xf32>, %c: memref<70x51xf32>) {
  %one = arith.constant 1.0 : f32
  linalg.fill ins(%one : f32) outs(%c : memref<70x51xf32>)
  linalg.matmul ins(%a, %b : memref<70x33xf32>, memref<33x51xf32>)
    outs(%c : memref<70x51xf32>)
  return
}
"""


@pytest.mark.slow
def test_each_column_of_a_ragged_tile_is_tested_once():
    """Sums that start from one value are not tested; rows share tests of columns."""
    rng = np.random.default_rng(3)
    a, b = (rng.standard_normal(s).astype("f4") for s in ((70, 33), (33, 51)))
    c = np.zeros((70, 51), "f4")
    program = gcg.compile(RAGGED, target="sim")
    program.f(a, b, c)
    assert np.allclose(c, a.astype("f8") @ b + 1, atol=1e-3)
    tests = re.findall(r"^ *if (j.*):$", program.source("f"), re.MULTILINE)
    assert tests
    assert len(tests) == len(set(tests)) + 1, "one as vectors and one as elements"
