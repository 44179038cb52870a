"""Matrices of a warp in the interpreter, and copies to shared memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg

RNG = np.random.default_rng(3)


def whole(*shape: int, dtype: str = "f2") -> Any:
    return RNG.integers(-4, 5, shape).astype(dtype)


def in_warp(arguments: str, body: str, shared: str = "") -> Any:
    """A launch of one warp; ``%z`` is zero, ``%t`` the lane."""
    text = f"""func.func @f({arguments}) {{
      %z = arith.constant 0 : index
      %one = arith.constant 1 : index
      %n = arith.constant 32 : index
      gpu.launch blocks(%bx, %by, %bz) in (%gx = %one, %gy = %one, %gz = %one)
          threads(%t, %ty, %tz) in (%ex = %n, %ey = %one, %ez = %one) {shared} {{
        {body}
        gpu.terminator
      }}
      return
    }}"""
    return gcg.compile(text, target="interp").f


def mma(role: str, element: str) -> str:
    return f'!gpu.mma_matrix<16x16x{element}, "{role}Op">'


@pytest.mark.parametrize("flag", ["", "transpose"])
def test_products_of_matrices_accumulate(flag: str):
    a, b, c = whole(32, 40), whole(16, 16), whole(16, 16, dtype="f4")
    attribute = f"{{leadDimension = 40 : index{', transpose' if flag else ''}}}"
    lead = "{leadDimension = 16 : index}"
    call = in_warp(
        "%a: memref<32x40xf16>, %b: memref<16x16xf16>, %c: memref<16x16xf32>",
        f"""%at = arith.constant 3 : index
        %x = gpu.subgroup_mma_load_matrix %a[%at, %one] {attribute}
          : memref<32x40xf16> -> {mma("A", "f16")}
        %y = gpu.subgroup_mma_load_matrix %b[%z, %z] {lead}
          : memref<16x16xf16> -> {mma("B", "f16")}
        %w = gpu.subgroup_mma_load_matrix %c[%z, %z] {lead}
          : memref<16x16xf32> -> {mma("C", "f32")}
        %d = gpu.subgroup_mma_compute %x, %y, %w
          : {mma("A", "f16")}, {mma("B", "f16")} -> {mma("C", "f32")}
        %m = gpu.subgroup_mma_elementwise negatef %d
          : ({mma("C", "f32")}) -> {mma("C", "f32")}
        gpu.subgroup_mma_store_matrix %m, %c[%z, %z] {lead}
          : {mma("C", "f32")}, memref<16x16xf32>""",
    )
    part = a[3:19, 1:17].astype(float)
    want = -(c + (part.T if flag else part) @ b)
    call(a, b, c)
    np.testing.assert_array_equal(c, want)


def test_fragments_are_dealt_out_as_ptx_says():
    """`ldmatrix` brings A and B to lanes, `mma.sync` multiplies, lanes store C."""
    a, b, c = whole(16, 16), whole(16, 8), np.zeros((16, 8), "f4")
    call = in_warp(
        "%a: memref<16x16xf16>, %b: memref<16x8xf16>, %c: memref<16x8xf32>",
        """%eight = arith.constant 8 : index
        %four = arith.constant 4 : index
        %two = arith.constant 2 : index
        %sixteen = arith.constant 16 : index
        memref.copy %a, %s : memref<16x16xf16> to memref<16x16xf16, 3>
        memref.copy %b, %u : memref<16x8xf16> to memref<16x8xf16, 3>
        gpu.barrier
        %row = arith.remui %t, %sixteen : index
        %half = arith.divui %t, %sixteen : index
        %column = arith.muli %half, %eight : index
        %x = nvgpu.ldmatrix %s[%row, %column] {numTiles = 4 : i32, transpose = false}
          : memref<16x16xf16, 3> -> vector<4x2xf16>
        %y = nvgpu.ldmatrix %u[%row, %z] {numTiles = 2 : i32, transpose = true}
          : memref<16x8xf16, 3> -> vector<2x2xf16>
        %zero = arith.constant dense<1.0> : vector<2x2xf32>
        %d = nvgpu.mma.sync(%x, %y, %zero) {mmaShape = [16, 8, 16]}
          : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
        %g = arith.divui %t, %four : index
        %q = arith.remui %t, %four : index
        %first = arith.muli %q, %two : index
        %below = arith.addi %g, %eight : index
        %top = vector.extract %d[0] : vector<2xf32> from vector<2x2xf32>
        %bottom = vector.extract %d[1] : vector<2xf32> from vector<2x2xf32>
        vector.store %top, %c[%g, %first] : memref<16x8xf32>, vector<2xf32>
        vector.store %bottom, %c[%below, %first] : memref<16x8xf32>, vector<2xf32>""",
        "workgroup(%s : memref<16x16xf16, 3>, %u : memref<16x8xf16, 3>)",
    )
    call(a, b, c)
    np.testing.assert_array_equal(c, 1 + a.astype(float) @ b)


COPY = """%four = arith.constant 4 : index
  %three = arith.constant 3 : index
  %i = arith.muli %t, %four : index
  %p = nvgpu.device_async_copy %a[%i], %s[%i], 4{count} : memref<128xf32>
    to memref<128xf32, 3>
  %g = nvgpu.device_async_create_group %p
  nvgpu.device_async_wait %g {wait}
  gpu.barrier
  %v = vector.load %s[%i] : memref<128xf32, 3>, vector<4xf32>
  vector.store %v, %b[%i] : memref<128xf32>, vector<4xf32>"""


@pytest.mark.parametrize(
    ("count", "wait", "kept"),
    [("", "", 4), (", %three", "", 3), ("", "{numGroups = 0 : i32}", 4)],
)
def test_copies_happen_when_waited_for(count: str, wait: str, kept: int):
    a, b = np.arange(128, dtype="f4"), np.ones(128, "f4")
    call = in_warp(
        "%a: memref<128xf32>, %b: memref<128xf32>",
        COPY.format(count=count, wait=wait),
        "workgroup(%s : memref<128xf32, 3>)",
    )
    call(a, b)
    want = a.reshape(32, 4) * (np.arange(4) < kept)
    np.testing.assert_array_equal(b, want.reshape(-1))
