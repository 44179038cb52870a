"""Products whose result is a part of a larger array are register tiles, too."""

from __future__ import annotations

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen.runtime.processor import AVX512, stated

PART = "memref<48x64xf32, strided<[STEP, 1], offset: AT>>"


def product(whole: str, subview: str, step: int, at: int) -> str:
    part = PART.replace("STEP", str(step)).replace("AT", str(at))
    return f"""func.func @f(%A: memref<48x56xf32>, %B: memref<56x64xf32>,
        %C: memref<{whole}xf32>) {{
      %zero = arith.constant 0.0 : f32
      %part = memref.subview %C{subview} : memref<{whole}xf32> to {part}
      linalg.fill ins(%zero : f32) outs(%part : {part})
      linalg.matmul ins(%A, %B : memref<48x56xf32>, memref<56x64xf32>)
        outs(%part : {part})
      return
    }}"""


PARTS = {
    "rows and columns": ("100x200", "[40, 72] [48, 64] [1, 1]", 200, 8072),
    "each second row": ("96x64", "[1, 0] [48, 64] [2, 1]", 128, 64),
    "one of a stack": ("3x48x64", "[2, 0, 0] [1, 48, 64] [1, 1, 1]", 64, 6144),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PARTS)
@stated(AVX512)
def test_the_part_is_the_product_and_nothing_else_changes(name: str):
    whole, subview, step, at = PARTS[name]
    rng = np.random.default_rng(2)
    a = rng.integers(-4, 5, (48, 56)).astype("f4")
    b = rng.integers(-4, 5, (56, 64)).astype("f4")
    c = np.full([int(n) for n in whole.split("x")], 7, "f4")
    expected = c.copy()
    rows = np.lib.stride_tricks.as_strided(
        expected.reshape(-1)[at:], (48, 64), (4 * step, 4)
    )
    rows[...] = a @ b
    program = gcg.compile(product(whole, subview, step, at), target="cpu")
    program.f(a, b, c)
    np.testing.assert_array_equal(c, expected)
    kernels = program.f.executable().kernels
    assert any("outerproduct" in kernel.source for kernel in kernels)


@stated(AVX512)
def test_a_product_that_reads_the_array_it_updates():
    """The trailing update of LU: three parts of one array."""
    part = "memref<32x32xf64, strided<[64, 1], offset: AT>>"
    types = [part.replace("AT", str(at)) for at in (2048, 32, 2080)]
    text = f"""func.func @f(%A: memref<64x64xf64>) {{
      %l = memref.subview %A[32, 0] [32, 32] [1, 1] : memref<64x64xf64> to {types[0]}
      %u = memref.subview %A[0, 32] [32, 32] [1, 1] : memref<64x64xf64> to {types[1]}
      %c = memref.subview %A[32, 32] [32, 32] [1, 1] : memref<64x64xf64> to {types[2]}
      linalg.matmul ins(%l, %u : {types[0]}, {types[1]}) outs(%c : {types[2]})
      return
    }}"""
    a = np.random.default_rng(1).integers(-4, 5, (64, 64)).astype("f8")
    expected = a.copy()
    expected[32:, 32:] += a[32:, :32] @ a[:32, 32:]
    program = gcg.compile(text, target="cpu")
    program.f(a)
    np.testing.assert_array_equal(a, expected)
    kernels = program.f.executable().kernels
    assert any("outerproduct" in kernel.source for kernel in kernels)


def test_overlapping_parts_keep_their_order():
    """Result and factor share elements, so that sums read what others wrote."""
    part = "memref<16x16xf64, strided<[32, 1], offset: AT>>"
    types = [part.replace("AT", str(at)) for at in (0, 4)]
    text = f"""func.func @f(%A: memref<16x32xf64>, %B: memref<16x16xf64>) {{
      %x = memref.subview %A[0, 0] [16, 16] [1, 1] : memref<16x32xf64> to {types[0]}
      %y = memref.subview %A[0, 4] [16, 16] [1, 1] : memref<16x32xf64> to {types[1]}
      linalg.matmul ins(%x, %B : {types[0]}, memref<16x16xf64>) outs(%y : {types[1]})
      return
    }}"""
    rng = np.random.default_rng(1)
    a, b = rng.integers(-2, 3, (16, 32)) * 1.0, rng.integers(-1, 2, (16, 16)) * 1.0
    results = []
    for target in ("interp", "cpu"):
        given = a.copy()
        gcg.compile(text, target=target).f(given, b)
        results.append(given)
    np.testing.assert_array_equal(*results)
