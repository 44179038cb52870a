"""What reads fresh memory before anything has written it."""

from __future__ import annotations

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors

LOOP = """func.func @f(%b: memref<8xf32>) {{
  %x = arith.constant 1.0 : f32
  %m = {alloc}() : memref<8xf32>
  affine.for %i = {first} to 8 {{ affine.store %x, %m[%i] : memref<8xf32> }}
  {between}
  affine.for %i = 0 to 8 {{
    %v = affine.load {read}[%i] : memref<8xf32>
    affine.store %v, %b[%i] : memref<8xf32>
  }}
  return
}}"""
COPY = """%c = memref.alloc() : memref<8xf32>
  memref.copy %m, %c : memref<8xf32> to memref<8xf32>"""


@pytest.mark.cases("alloc", ["memref.alloc", "memref.alloca"])
@pytest.mark.cases(("between", "read"), [("", "%m"), (COPY, "%c")])
def test_loads(alloc: str, between: str, read: str):
    names = {"alloc": alloc, "between": between, "read": read}
    good, bad = (LOOP.format(first=n, **names) for n in (0, 1))
    b = np.zeros(8, "f4")
    gcg.compile(good, target="interp").f(b)
    assert b.all()
    line = 7 + bool(between)
    with pytest.raises(errors.ReadBeforeWritten, match=rf"^<string>:{line}:10: "):
        gcg.compile(bad, target="interp").f(b)
    with pytest.raises(errors.ReadBeforeWritten):
        gcg.check(bad, b)


PRODUCT = """
func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) -> tensor<2x4xf32> {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x4xf32>
  %c = linalg.fill ins(%zero : f32) outs(%e : tensor<2x4xf32>) -> tensor<2x4xf32>
  %r = linalg.matmul ins(%a, %b : tensor<2x3xf32>, tensor<3x4xf32>)
    outs({start} : tensor<2x4xf32>) -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}}"""


def test_sums_on_tensors():
    a, b = np.ones((2, 3), "f4"), np.ones((3, 4), "f4")
    good, bad = (
        gcg.compile(PRODUCT.format(start=n), target="interp") for n in ("%c", "%e")
    )
    assert (good.f(a, b) == 3).all()
    with pytest.raises(errors.ReadBeforeWritten, match=r"^<string>:6:"):
        bad.f(a, b)


def test_elements_of_tensors():
    text = """func.func @f(%x: f32, %i: index) -> f32 {
      %two = arith.constant 2 : index
      %e = tensor.empty() : tensor<4xf32>
      %t = tensor.insert %x into %e[%two] : tensor<4xf32>
      %r = tensor.extract %t[%i] : tensor<4xf32>
      return %r : f32
    }"""
    program = gcg.compile(text, target="interp")
    assert program.f(3.0, 2) == 3
    with pytest.raises(errors.ReadBeforeWritten, match=r"^<string>:5:"):
        program.f(3.0, 1)
