"""Programs whose own parallelism is wrong: refused, with the two that collide."""

from __future__ import annotations

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors

REDUCTION = """func.func @f(%A: memref<64xf32>, %s: memref<f32>) {
  affine.parallel (%i) = (0) to (64) {
    %x = affine.load %A[%i] : memref<64xf32>
    %y = affine.load %s[] : memref<f32>
    %z = arith.addf %x, %y : f32
    affine.store %z, %s[] : memref<f32>
  }
  return
}"""

SPLIT_K = """func.func @f(%A: memref<8x64xf32>, %B: memref<64x8xf32>,
                        %C: memref<8x8xf32>) {
  affine.parallel (%b, %i) = (0, 0) to (4, 8) {
    affine.for %j = 0 to 8 {
      affine.for %k = 0 to 16 {
        %x = affine.load %A[%i, %b * 16 + %k] : memref<8x64xf32>
        %y = affine.load %B[%b * 16 + %k, %j] : memref<64x8xf32>
        %c = affine.load %C[%i, %j] : memref<8x8xf32>
        %p = arith.mulf %x, %y : f32
        %s = arith.addf %c, %p : f32
        affine.store %s, %C[%i, %j] : memref<8x8xf32>
      }
    }
  }
  return
}"""

PREFETCH = """func.func @f(%A: memref<8x32xf32>, %B: memref<8x32xf32>) {
  %t = memref.alloc() : memref<32xf32, 1>
  %tag = memref.alloc() : memref<1xi32>
  %c0 = arith.constant 0 : index
  %n = arith.constant 32 : index
  affine.dma_start %A[%c0, %c0], %t[%c0], %tag[%c0], %n
    : memref<8x32xf32>, memref<32xf32, 1>, memref<1xi32>
  affine.for %i = 0 to 7 {
    affine.dma_wait %tag[%c0], %n : memref<1xi32>
    affine.dma_start %A[%i + 1, %c0], %t[%c0], %tag[%c0], %n
      : memref<8x32xf32>, memref<32xf32, 1>, memref<1xi32>
    affine.for %j = 0 to 32 {
      %x = affine.load %t[%j] : memref<32xf32, 1>
      affine.store %x, %B[%i, %j] : memref<8x32xf32>
    }
  }
  affine.dma_wait %tag[%c0], %n : memref<1xi32>
  return
}"""

ILLEGAL = {
    "a sum in a parallel loop": (REDUCTION, [(64,), ()], errors.RaceFound, "s[]"),
    "split K without atomics": (
        SPLIT_K,
        [(8, 64), (64, 8), (8, 8)],
        errors.RaceFound,
        "C[0, 0]",
    ),
    "prefetch into the buffer in use": (
        PREFETCH,
        [(8, 32), (8, 32)],
        errors.TransferOvertaken,
        "t[0]",
    ),
}


@pytest.mark.parametrize("target", ["cpu", "sim"])
@pytest.mark.parametrize("case", ILLEGAL)
@pytest.mark.sampled(3)
def test_is_refused_with_a_witness(case: str, target: str):
    text, shapes, kind, cell = ILLEGAL[case]
    arguments = [np.zeros(shape, "f4") for shape in shapes]
    program = gcg.compile(text, target=target)
    with pytest.raises(kind) as caught:
        program["f"](*arguments)
    message = str(caught.value)
    assert cell in message
    assert message.count("<string>:") == 2, "both accesses are shown"
