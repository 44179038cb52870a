"""Older spellings become today's operations."""

from __future__ import annotations

import pytest

from gpucodegen import errors
from gpucodegen.parser import parse_module

MUL = """
func @mul(%A: tensor<100x?xf32>, %B: tensor<?x50xf32>) -> (tensor<100x50xf32>) {
  %n = dim %A, 1 : tensor<100x?xf32>
  %A_m = alloc(%n) : memref<100x?xf32>
  tensor_store %A to %A_m : memref<100x?xf32>
  %B_m = alloc(%n) : memref<?x50xf32>
  tensor_store %B to %B_m : memref<?x50xf32>
  %C_m = call @multiply(%A_m, %B_m)
          : (memref<100x?xf32>, memref<?x50xf32>) -> (memref<100x50xf32>)
  dealloc %A_m : memref<100x?xf32>
  dealloc %B_m : memref<?x50xf32>
  %C = tensor_load %C_m : memref<100x50xf32>
  dealloc %C_m : memref<100x50xf32>
  "tf.Print"(%C){message: "mul result"}
                  : (tensor<100x50xf32§) -> (tensor<100x50xf32>)
  return %C : tensor<100x50xf32>
}
func @multiply(%A: memref<100x?xf32>, %B: memref<?x50xf32>) -> (memref<100x50xf32>)
"""


def test_first_example_of_the_2019_reference_completed():
    module = parse_module(MUL.replace("§", ">"), allow_unregistered=True)
    printed = str(module)
    assert str(parse_module(printed, allow_unregistered=True)) == printed
    assert '"tf.Print"(%C) {message = "mul result"}' in printed
    assert "tensor.dim %A" in printed


def test_first_example_of_the_2019_reference_as_printed():
    with pytest.raises(errors.Unclosed) as caught:
        parse_module(MUL.replace("§", ""), "ref.txt", allow_unregistered=True)
    assert str(caught.value).startswith("ref.txt:15:39: error: expected '>'")


OLD = """
#map0 = (d0, d1)[s0] -> (d0 + s0, d1)
#set0 = (d0)[s0] : (d0 - 1 >= 0, s0 - d0 == 0)
func @old(%A: memref<16x?xf32, (i, j) -> (i, j), 2>, %n: index, %c: i1) -> f32 {
  %x = constant 1.5 : f32
  %t = alloc() : memref<1 x i32, (d0) -> (d0), 4>
  %v = load %A[0, %n] : memref<16x?xf32, 2>
  store %v, %A[%n, 1] : memref<16x?xf32, 2>
  store 2 to %A[3, 1] : memref<16x?xf32, 2>
  %z = constant 0 : index
  %k = constant 32 : index
  dma_start %A[%z, %z], %A[%n, %z], %k, %t[%z] :
    memref<16x?xf32, 2>, memref<16x?xf32, 2>, memref<1 x i32, 4>
  dma_wait %t[%z], %k : memref<1 x i32, (d0) -> (d0), 4>
  %e = cmpi "slt", %n, %k : index
  %y = select %c, %x, %v : f32
  loop.for %i = %z to %n step %k {
    affine.if #set0(%z)[%n] {
      affine.terminator
    }
  }
  affine.for %i = 0 to 10 {
    %q = affine.apply (d0) -> (d0 * 2)(%i)
    %w = affine.load %A[%q, %i] : memref<16x?xf32, 2>
  }
  br_cond %c, ^bb1(%y : f32), ^bb2
^bb1(%r: f32):
  br ^bb3(%r : f32)
^bb2:
  %m = "addf"(%x, %y) {a: 1, b: "text"} : (f32, f32) -> f32
  br ^bb3(%m : f32)
^bb3(%o: f32):
  %s = "std.mulf"(%o, %o) : (f32, f32) -> f32
  return %s : f32
}
"""


def test_words_of_2019():
    printed = str(parse_module(OLD))
    assert str(parse_module(printed)) == printed
    for modern in (
        "memref.alloc()",
        "memref.load %A",
        "memref.dma_start",
        "memref.dma_wait",
        "arith.cmpi slt",
        "arith.select",
        "scf.for",
        "affine_map<(d0) -> (d0 * 2)>(%i)",
        "cf.cond_br %c, ^bb1(%y : f32), ^bb2",
        "arith.mulf %o, %o : f32",
        "func.func @old",
        "arith.constant 2.000000e+00 : f32",
        '{a = 1, b = "text"}',
    ):
        assert modern in printed


def test_function_constants_and_number_constants():
    text = """func.func @f() -> i32 {
      %f = constant @f : () -> i32
      %x = constant 3 : i32
      return %x : i32
    }"""
    printed = str(parse_module(text))
    assert "func.constant @f : () -> i32" in printed
    assert "arith.constant 3 : i32" in printed


def test_linalg_of_2020():
    text = """func @f(%a: memref<?x?xf32>, %v: f32) {
      linalg.fill(%a, %v) : memref<?x?xf32>, f32
      linalg.matmul(%a, %a, %a) : memref<?x?xf32>, memref<?x?xf32>, memref<?x?xf32>
      return
    }"""
    printed = str(parse_module(text))
    assert "linalg.fill ins(%v : f32) outs(%a : memref<?x?xf32>)" in printed
    assert "linalg.matmul ins(%a, %a : " in printed
