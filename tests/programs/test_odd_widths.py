"""Integers of odd widths in programs: constants, memory, loops, calls, tensors."""

from __future__ import annotations

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors
from tests.targets import ALL

TARGETS = pytest.mark.parametrize("target", ALL)
RETURNED = {
    "dense<[1, 7, -8, 15]> : tensor<4xi4>": np.array([1, 7, -8, -1], "i1"),
    "dense<16777214> : tensor<3xi24>": np.array([-2, -2, -2], "i4"),
}
FUNCTIONS = {
    "carried": (
        """func.func @f(%x: i5) -> i5 {
          %lo = arith.constant 0 : index
          %hi = arith.constant 5 : index
          %one = arith.constant 1 : index
          %r = scf.for %i = %lo to %hi step %one iter_args(%a = %x) -> (i5) {
            %b = arith.addi %a, %x : i5
            scf.yield %b : i5
          }
          return %r : i5
        }""",
        {7: 10, 3: -14},
    ),
    "called": (
        """func.func @f(%x: i5) -> i5 {
          %y = func.call @square(%x) : (i5) -> i5
          return %y : i5
        }
        func.func private @square(%x: i5) -> i5 {
          %y = arith.muli %x, %x : i5
          return %y : i5
        }""",
        {7: -15, 4: -16},
    ),
    "switch": (
        """func.func @f(%v: i7) -> i32 {
          %a = arith.constant 1 : i32
          %b = arith.constant 2 : i32
          cf.switch %v : i7, [default: ^end(%a : i32), 127: ^end(%b : i32)]
        ^end(%r: i32):
          return %r : i32
        }""",
        {-1: 2, 127: 2, 1: 1},
    ),
}


@TARGETS
@pytest.mark.cases("constant", RETURNED)
def test_constants(constant: str, target: str):
    ty = constant.rpartition(" : ")[2]
    text = f"""func.func @f() -> {ty} {{
      %0 = arith.constant {constant}
      return %0 : {ty}
    }}"""
    result = gcg.compile(text, target=target).f()
    assert result.dtype == RETURNED[constant].dtype
    assert result.tolist() == RETURNED[constant].tolist()


@pytest.mark.sampled(2)
@TARGETS
@pytest.mark.cases("name", FUNCTIONS, parts=2)
def test_numbers(name: str, target: str):
    text, wanted = FUNCTIONS[name]
    program = gcg.compile(text, target=target)
    assert {x: program.f(x) for x in wanted} == wanted


MEMORY = """
memref.global constant @table : memref<4xi4> = dense<[1, 7, -8, 15]>
func.func @f(%a: memref<64xi3>, %sum: memref<1xi3>, %o: memref<4xi32>) {
  %z = arith.constant 0 : i3
  %s = affine.for %i = 0 to 64 iter_args(%x = %z) -> (i3) {
    %v = affine.load %a[%i] : memref<64xi3>
    %y = arith.addi %x, %v : i3
    affine.yield %y : i3
  }
  affine.store %s, %sum[0] : memref<1xi3>
  %table = memref.get_global @table : memref<4xi4>
  affine.for %i = 0 to 4 {
    %v = affine.load %table[%i] : memref<4xi4>
    %w = arith.extui %v : i4 to i32
    affine.store %w, %o[%i] : memref<4xi32>
  }
  return
}"""


@TARGETS
def test_memory(target: str):
    """Bits beyond the width count for nothing."""
    a = np.random.default_rng(0).integers(-128, 128, 64).astype(np.int8)
    total, o = np.zeros(1, np.int8), np.zeros(4, np.int32)
    gcg.compile(MEMORY, target=target).f(a, total, o)
    assert total[0] == (int(a.sum()) + 4) % 8 - 4
    assert o.tolist() == [1, 7, 8, 15]


PRODUCT = """
func.func @f(%a: tensor<5x6xi4>, %b: tensor<6x7xi4>, %c: tensor<5x7xi32>)
    -> tensor<5x7xi32> {
  %0 = linalg.matmul ins(%a, %b : tensor<5x6xi4>, tensor<6x7xi4>)
    outs(%c : tensor<5x7xi32>) -> tensor<5x7xi32>
  return %0 : tensor<5x7xi32>
}"""


@pytest.mark.slow
@TARGETS
def test_products(target: str):
    random = np.random.default_rng(1)
    a, b = (random.integers(-8, 8, s).astype("i1") for s in ((5, 6), (6, 7)))
    result = gcg.compile(PRODUCT, target=target).f(a, b, np.zeros((5, 7), np.int32))
    np.testing.assert_array_equal(result, a.astype("i4") @ b.astype("i4"))


def test_what_depends_on_the_bits_in_memory_is_refused():
    text = """func.func @f(%a: memref<8xi4>, %o: memref<4xi8>) {
      %c = arith.constant 0 : index
      %v = vector.load %a[%c] : memref<8xi4>, vector<8xi4>
      %w = vector.bitcast %v : vector<8xi4> to vector<4xi8>
      vector.store %w, %o[%c] : memref<4xi8>, vector<4xi8>
      return
    }"""
    program = gcg.compile(text, target="cpu")
    with pytest.raises(errors.UnsupportedOperation, match=r"vector<8xi4>"):
        program.f(np.zeros(8, np.int8), np.zeros(4, np.int8))


def test_more_than_64_bits_are_refused():
    program = gcg.compile("func.func @f(%x: i128) { return }", target="cpu")
    with pytest.raises(errors.UnsupportedType, match="i128"):
        program.f(1)
