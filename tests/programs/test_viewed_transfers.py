"""Transfers whose fast memory or tags are seen through views of what was allocated."""

from __future__ import annotations

import numpy as np
import pytest

import gpucodegen as gcg

PROGRAM = """
func.func @f(%A: memref<256xf32>, %B: memref<256xf32>) {{
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  affine.for %t = 0 to 256 step 64 {{
    %a0 = memref.alloc() : memref<2x64xf32, 2>
    %a = {view} : memref<2x64xf32, 2> to {row}
    %tag0 = memref.alloc() : memref<2xi32>
    %tag = {tag} : memref<2xi32> to {tags}
    memref.dma_start %A[%t], %a[{at}%c0], %c64, %tag[%c0]
        : memref<256xf32>, {row}, {tags}
    memref.dma_wait %tag[%c0], %c64 : {tags}
    affine.for %i = 0 to 64 {{
      %v = affine.load %a[{first}%i] : {row}
      %w = arith.addf %v, %v : f32
      affine.store %w, %B[%t + %i] : memref<256xf32>
    }}
    memref.dealloc %a0 : memref<2x64xf32, 2>
    memref.dealloc %tag0 : memref<2xi32>
  }}
  return
}}"""
ROWS = {
    "cast": {
        "view": "memref.cast %a0",
        "row": "memref<2x?xf32, 2>",
        "at": "%c0, ",
        "first": "0, ",
    },
    "row": {
        "view": "memref.subview %a0[1, 0] [1, 64] [1, 1]",
        "row": "memref<64xf32, strided<[1], offset: 64>, 2>",
        "at": "",
        "first": "",
    },
}
TAGS = {
    "cast": {"tag": "memref.cast %tag0", "tags": "memref<?xi32>"},
    "cell": {
        "tag": "memref.subview %tag0[1] [1] [1]",
        "tags": "memref<1xi32, strided<[1], offset: 1>>",
    },
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("target", ["interp", "cpu", "sim"])
@pytest.mark.cases("tag", TAGS)
@pytest.mark.cases("row", ROWS, parts=2)
def test_views_of_fast_memory_and_of_tags(row: str, tag: str, target: str) -> None:
    text = PROGRAM.format(**ROWS[row], **TAGS[tag])
    a, b = np.arange(256, dtype="f4"), np.zeros(256, "f4")
    gcg.compile(text, target=target).f(a, b)
    np.testing.assert_array_equal(b, 2 * a)


HOST = """
func.func @f(%A: memref<64xf32>, %B: memref<64xf32>) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %tag0 = memref.alloc() : memref<1xi32>
  %tag = memref.cast %tag0 : memref<1xi32> to memref<?xi32>
  memref.dma_start %A[%c0], %B[%c0], %c64, %tag[%c0]
      : memref<64xf32>, memref<64xf32>, memref<?xi32>
  memref.dma_wait %tag0[%c0], %c64 : memref<1xi32>
  memref.dealloc %tag0 : memref<1xi32>
  return
}"""


@pytest.mark.parametrize("target", ["interp", "cpu", "sim"])
def test_a_start_and_its_wait_may_see_a_tag_by_different_names(target: str) -> None:
    a, b = np.arange(64, dtype="f4"), np.zeros(64, "f4")
    gcg.compile(HOST, target=target).f(a, b)
    np.testing.assert_array_equal(b, a)
