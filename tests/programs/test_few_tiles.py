"""Double-buffered products of few tiles: loops of one turn, a prologue without them."""

from __future__ import annotations

import numpy as np
import pytest

import gpucodegen as gcg
from examples.catalogue import PROGRAMS

SIDES = {"dma_matmul": 16, "dma_matmul_f16": 32}
TILES = [(1, 1, 1), (1, 1, 2), (2, 1, 1), (1, 2, 3), (1, 1, 0), (0, 1, 1)]


@pytest.mark.drawn(10)
@pytest.mark.sampled(36)
@pytest.mark.parametrize("target", ["interp", "cpu", "sim"])
@pytest.mark.parametrize("tiles", TILES, ids=str)
@pytest.mark.parametrize("name", SIDES)
def test_so_many_tiles(name: str, tiles: tuple[int, ...], target: str) -> None:
    program = PROGRAMS[name]
    size = dict(zip("MNK", (SIDES[name] * n for n in tiles), strict=True))
    given = program.problem.arguments(np.random.default_rng(0), size)
    answer = program.problem.answer(*(array.copy() for array in given))
    gcg.compile(program.text, target=target)[program.entry](*given)
    program.check(answer, given, None)


@pytest.mark.slow
def test_transfers_around_a_loop_are_of_its_kernel() -> None:
    text = """
    func.func @f(%A: memref<128xf32>, %B: memref<64xf32>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c64 = arith.constant 64 : index
      %a = memref.alloc() : memref<2x64xf32, 2>
      %tag = memref.alloc() : memref<2xi32>
      memref.dma_start %A[%c0], %a[%c0, %c0], %c64, %tag[%c0]
          : memref<128xf32>, memref<2x64xf32, 2>, memref<2xi32>
      affine.for %k = 0 to 2 {
        memref.dma_wait %tag[%k], %c64 : memref<2xi32>
        affine.if affine_set<(d0) : (-d0 >= 0)>(%k) {
          memref.dma_start %A[%c64], %a[%c1, %c0], %c64, %tag[%c1]
              : memref<128xf32>, memref<2x64xf32, 2>, memref<2xi32>
        }
        affine.for %i = 0 to 64 {
          %v = affine.load %a[%k, %i] : memref<2x64xf32, 2>
          %s = affine.load %B[%i] : memref<64xf32>
          %r = arith.addf %s, %v : f32
          affine.store %r, %B[%i] : memref<64xf32>
        }
      }
      memref.dealloc %a : memref<2x64xf32, 2>
      memref.dealloc %tag : memref<2xi32>
      return
    }"""
    a, b = np.arange(128, dtype="f4"), np.ones(64, "f4")
    gcg.compile(text, target="cpu").f(a, b)
    np.testing.assert_array_equal(b, 1 + a[:64] + a[64:])
