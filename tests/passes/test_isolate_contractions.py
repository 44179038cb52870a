"""Which loops are searched for contractions that need a nest of their own."""

from __future__ import annotations

import pytest

import gpucodegen as gcg
from gpucodegen.passes.contraction import isolate

POLYNOMIAL = """func.func @f(%x: memref<64x64xf32>, %y: memref<64xf32>) {
  %c = arith.constant 2.0 : f32
  affine.for %i = 0 to 64 {
    %last = affine.load %y[%i] : memref<64xf32>
    affine.for %j = 0 to 64 {
      %a = affine.load %x[%i, %j] : memref<64x64xf32>
      %b = arith.mulf %a, %a : f32
      %d = arith.addf %b, %c : f32
      %e = arith.mulf %d, %a : f32
      %g = arith.addf %e, %c : f32
      affine.store %g, %x[%i, %j] : memref<64x64xf32>
    }
    affine.store %c, %y[%i] : memref<64xf32>
  }
  return
}"""
IMPERFECT = """func.func @f(%a: memref<64x64xf32>, %b: memref<64x64xf32>,
                        %c: memref<64x64xf32>, %y: memref<64xf32>) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 64 {
    affine.store %zero, %y[%i] : memref<64xf32>
    affine.for %j = 0 to 64 {
      SUM
    }
  }
  return
}"""
CARRIED = """%s = affine.for %k = 0 to 64 iter_args(%p = %zero) -> (f32) {
        %l = affine.load %a[%i, %k] : memref<64x64xf32>
        %r = affine.load %b[%k, %j] : memref<64x64xf32>
        %lr = arith.mulf %l, %r : f32
        %q = arith.addf %lr, %p : f32
        affine.yield %q : f32
      }
      affine.store %s, %c[%i, %j] : memref<64x64xf32>"""
SUBTRACTED = """affine.for %k = 0 to 64 {
        %l = affine.load %a[%i, %k] : memref<64x64xf32>
        %r = affine.load %b[%k, %j] : memref<64x64xf32>
        %lr = arith.mulf %l, %r : f32
        %p = affine.load %c[%i, %j] : memref<64x64xf32>
        %q = arith.subf %p, %lr : f32
        affine.store %q, %c[%i, %j] : memref<64x64xf32>
      }"""


def test_polynomials_are_not_searched(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delattr(isolate, "expansions")
    module = gcg.parse(POLYNOMIAL)
    assert isolate.IsolateContractions().apply(module).operation is module.operation


@pytest.mark.parametrize("total", [CARRIED, SUBTRACTED], ids=["carried", "in memory"])
def test_sums_of_products_get_a_nest_of_their_own(total: str):
    module = isolate.IsolateContractions().apply(
        gcg.parse(IMPERFECT.replace("SUM", total))
    )
    nests = [o for o in module.functions["f"].body.operations if o.name == "affine.for"]
    assert any(map(isolate.paying_contraction, nests))
