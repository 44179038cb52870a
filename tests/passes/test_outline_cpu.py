"""Buffers of one kernel: small ones are its own, others come from the host."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen.passes.outlining.cpu_outliner import STACK_BYTES


def program(elements: int) -> gcg.Program:
    return gcg.compile(
        f"""func.func @f(%A: memref<{elements}xf64>) {{
          %t = memref.alloc() : memref<{elements}xf64>
          affine.for %i = 0 to {elements} {{
            %a = affine.load %A[%i] : memref<{elements}xf64>
            affine.store %a, %t[%i] : memref<{elements}xf64>
          }}
          affine.for %i = 0 to {elements} {{
            %a = affine.load %t[{elements - 1} - %i] : memref<{elements}xf64>
            affine.store %a, %A[%i] : memref<{elements}xf64>
          }}
          memref.dealloc %t : memref<{elements}xf64>
          return
        }}""",
        target="cpu",
    )


@pytest.mark.parametrize(
    ("elements", "on_host"), [(STACK_BYTES // 8, 0), (STACK_BYTES // 8 + 1, 1)]
)
def test_small_buffers_are_the_kernels_own(elements: int, on_host: int):
    f = program(elements)
    a = np.arange(elements, dtype="f8")
    for expected in (a[::-1].copy(), a.copy()):
        f.f(a)
        assert np.array_equal(a, expected)
    assert f.source("f").count("rt.alloc") == on_host


def test_a_result_is_not_the_kernels_own():
    f = gcg.compile(
        """func.func @f(%A: memref<8xf64>) -> memref<8xf64> {
          %t = memref.alloc() : memref<8xf64>
          affine.for %i = 0 to 8 {
            %a = affine.load %A[7 - %i] : memref<8xf64>
            affine.store %a, %t[%i] : memref<8xf64>
          }
          return %t : memref<8xf64>
        }""",
        target="cpu",
    )
    a = np.arange(8.0)
    first, second = f.f(a), f.f(2 * a)
    assert np.array_equal(first, a[::-1])
    assert np.array_equal(second, 2 * a[::-1])


def test_numbers_between_vectors_stay_in_their_kernel():
    """No vector may leave a kernel, so a load on the host would part what it joins."""
    f = gcg.compile(
        """func.func @f(%A: memref<16xf32>, %K: memref<4xf32>) {
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %zero = arith.constant dense<0.0> : vector<8xf32>
          %k0 = affine.load %K[0] : memref<4xf32>
          %v0 = vector.broadcast %k0 : f32 to vector<8xf32>
          %a0 = vector.load %A[%c0] : memref<16xf32>, vector<8xf32>
          %x0 = vector.fma %v0, %a0, %zero : vector<8xf32>
          %k1 = affine.load %K[1] : memref<4xf32>
          %k2 = affine.load %K[2] : memref<4xf32>
          %s = arith.addf %k1, %k2 : f32
          %v1 = vector.broadcast %s : f32 to vector<8xf32>
          %a1 = vector.load %A[%c1] : memref<16xf32>, vector<8xf32>
          %x1 = vector.fma %v1, %a1, %x0 : vector<8xf32>
          vector.store %x1, %A[%c0] : memref<16xf32>, vector<8xf32>
          return
        }""",
        target="cpu",
    )
    a, k = np.arange(16, dtype="f4"), np.array([2, 3, 5, 7], "f4")
    want = np.concatenate([2 * a[:8] + 8 * a[1:9], a[8:]])
    f.f(a, k)
    np.testing.assert_array_equal(a, want)
    assert f.source("f").count("rt.launch") == 1


def scalars(body: str, returns: str = "") -> gcg.Program:
    return gcg.compile(
        f"""func.func @f(%x: memref<9xf32>, %y: memref<9xf32>) {returns} {{
          %zero = arith.constant 0.0 : f32
          {body}
        }}""",
        target="cpu",
    )


SCALE = """affine.for %i = 0 to 9 {{
             %v = affine.load %x[%i] : memref<9xf32>
             %w = arith.mulf %v, {factor} : f32
             affine.store %w, %y[%i] : memref<9xf32>
           }}"""
TOTAL = """%sum = affine.for %i = 0 to 9 iter_args(%t = %zero) -> (f32) {
             %v = affine.load %x[%i] : memref<9xf32>
             %r = arith.addf %t, %v : f32
             affine.yield %r : f32
           }"""
X = np.arange(1, 10, dtype="f4")


def launches_of(f: gcg.Program) -> tuple[int, int]:
    """Kernels, and elements that the host touches."""
    host = f.source("f").split("\ndef f_k0")[0]
    return host.count("rt.launch"), host.count("rt.load") + host.count("rt.store")


def test_elements_before_a_nest_are_accessed_by_its_kernel():
    f = scalars(f"""%a = affine.load %x[8] : memref<9xf32>
                    affine.store %a, %x[0] : memref<9xf32>
                    {SCALE.format(factor="%a")}
                    return""")
    x, y = X.copy(), np.zeros(9, "f4")
    f.f(x, y)
    assert launches_of(f) == (1, 0)
    assert x[0] == 9
    np.testing.assert_array_equal(y, x * 9)


def test_numbers_between_nests_stay_in_their_kernel():
    f = scalars(f"""{TOTAL}
                    %mean = arith.divf %sum, %sum : f32
                    affine.store %mean, %x[3] : memref<9xf32>
                    {SCALE.format(factor="%sum")}
                    return""")
    x, y = X.copy(), np.zeros(9, "f4")
    f.f(x, y)
    assert launches_of(f) == (1, 0)
    assert x[3] == 1
    np.testing.assert_array_equal(y, x * 45)


@pytest.mark.slow
def test_what_follows_the_last_nest_stays_with_the_host():
    f = scalars(
        f"""{SCALE.format(factor="%zero")}
            %last = affine.load %y[8] : memref<9xf32>
            %more = arith.addf %last, %last : f32
            affine.store %more, %x[8] : memref<9xf32>
            return %more : f32""",
        "-> f32",
    )
    x, y = X.copy(), np.ones(9, "f4")
    assert f.f(x, y) == 0
    assert launches_of(f) == (1, 2)
    assert (y == 0).all()
    assert x[8] == 0


def test_a_number_that_sizes_a_buffer_is_loaded_before_it():
    f = gcg.compile(
        """func.func @f(%n: memref<1xindex>, %y: memref<1xf32>) {
          %one = arith.constant 1.0 : f32
          %m = affine.load %n[0] : memref<1xindex>
          %t = memref.alloc(%m) : memref<?xf32>
          affine.for %i = 0 to %m {
            affine.store %one, %t[%i] : memref<?xf32>
          }
          affine.for %i = 0 to %m {
            %v = affine.load %t[%i] : memref<?xf32>
            affine.store %v, %y[0] : memref<1xf32>
          }
          memref.dealloc %t : memref<?xf32>
          return
        }""",
        target="cpu",
    )
    y = np.zeros(1, "f4")
    f.f(np.array([5]), y)
    assert y.tolist() == [1]


COUNTED = """func.func @f(%A: memref<8xi32>, %B: memref<8xi32>) {
  %c0 = arith.constant 0 : i32
  %s = affine.for %i = 0 to 8 iter_args(%p = %c0) -> (i32) {
    %a = affine.load %A[%i] : memref<8xi32>
    %q = arith.addi %p, %a : i32
    affine.yield %q : i32
  }
  %is = arith.cmpi sgt, %s, %c0 : i32
  %c = arith.select %is, %s, %c0 : i32
  affine.for %i = 0 to 8 {
    affine.store %c, %B[%i] : memref<8xi32>
  }
  return
}"""
COMPLEX = """func.func @f(%A: memref<8xf32>, %B: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %i1 = complex.create %zero, %one : complex<f32>
  %s = affine.for %i = 0 to 8 iter_args(%p = %zero) -> (f32) {
    %a = affine.load %A[%i] : memref<8xf32>
    %q = arith.addf %p, %a : f32
    affine.yield %q : f32
  }
  %z = complex.create %s, %one : complex<f32>
  %w = complex.mul %z, %i1 : complex<f32>
  affine.for %i = 0 to 8 {
    %r = complex.im %w : complex<f32>
    affine.store %r, %B[%i] : memref<8xf32>
  }
  return
}"""
COPIED = """func.func @f(%A: memref<8xf32>, %B: memref<8xf32>) {
  %t = memref.alloc() : memref<8xf32>
  affine.for %i = 0 to 8 {
    %a = affine.load %A[%i] : memref<8xf32>
    %b = arith.addf %a, %a : f32
    affine.store %b, %B[%i] : memref<8xf32>
  }
  memref.copy %B, %t : memref<8xf32> to memref<8xf32>
  affine.for %i = 0 to 8 {
    %a = affine.load %t[7 - %i] : memref<8xf32>
    affine.store %a, %B[%i] : memref<8xf32>
  }
  memref.dealloc %t : memref<8xf32>
  return
}"""


def total(a: np.ndarray) -> np.ndarray:
    return np.full(8, a.sum())


def twice_reversed(a: np.ndarray) -> np.ndarray:
    return 2 * a[::-1]


@pytest.mark.parametrize(
    ("text", "dtype", "wanted"),
    [
        pytest.param(COUNTED, "i4", total, id="integers"),
        pytest.param(COMPLEX, "f4", total, id="complex", marks=pytest.mark.slow),
        pytest.param(COPIED, "f4", twice_reversed, id="copies"),
    ],
)
def test_what_stands_between_nests_joins_their_kernel(
    text: str, dtype: str, wanted: Callable[[np.ndarray], np.ndarray]
):
    f = gcg.compile(text, target="cpu")
    a, b = np.arange(1, 9).astype(dtype), np.zeros(8, dtype)
    f.f(a, b)
    assert np.array_equal(b, wanted(a))
    assert f.source("f").count("rt.launch") == 1
    assert "rt.alloc" not in f.source("f")


VIEW = "memref<1x4xf32, strided<[4096, 1], offset: ?>>"
ROW = "memref<1x4096xf32, strided<[4096, 1], offset: ?>>"
AT_A_PLACE = f"""func.func @f(%a: memref<8x4096xf32>, %x: memref<4xi32>,
                         %part: memref<1x4xf32>, %out: memref<1x4096xf32>) {{
  affine.for %i = 0 to 4 {{
    %v = affine.load %x[%i] : memref<4xi32>
    %w = arith.addi %v, %v : i32
    affine.store %w, %x[%i] : memref<4xi32>
  }}
  %first = arith.constant 0 : index
  %last = arith.constant 7 : index
  %n = affine.load %x[1] : memref<4xi32>
  %m = arith.index_cast %n : i32 to index
  %k = arith.maxsi %m, %first : index
  %at = arith.minsi %k, %last : index
  %row = memref.subview %a[%at, 0] [1, 4096] [1, 1] : memref<8x4096xf32> to {ROW}
  %v = memref.subview %row[0, 8] [1, 4] [1, 1] : {ROW} to {VIEW}
  memref.copy %v, %part : {VIEW} to memref<1x4xf32>
  affine.for %i = 0 to 4 {{
    %p = affine.load %part[0, %i] : memref<1x4xf32>
    %q = arith.addf %p, %p : f32
    affine.store %q, %part[0, %i] : memref<1x4xf32>
  }}
  MORE
  return
}}"""
BY_THE_KERNEL = f"memref.copy %row, %out : {ROW} to memref<1x4096xf32>"
ANY = "memref<?x?xf32, strided<[?, 1], offset: ?>>"
BY_THE_HOST = f"""%any = memref.cast %row : {ROW} to {ANY}
  call @fill(%any) : ({ANY}) -> ()"""


@pytest.mark.parametrize("is_host", [False, True])
def test_views_at_computed_places_join_their_kernel(is_host: bool):
    text = AT_A_PLACE.replace("MORE", BY_THE_HOST if is_host else BY_THE_KERNEL)
    outside = f"func.func private @fill({ANY})\n"

    def fill(row: Any) -> None:
        np.asarray(row)[:] = 7

    externals = {"fill": fill} if is_host else {}
    f = gcg.compile(outside * is_host + text, target="cpu", externals=externals)
    a = np.arange(8 * 4096, dtype="f4").reshape(8, 4096)
    before = a.copy()
    x, part, out = np.array([0, 2, 5, 1], "i4"), np.zeros((1, 4), "f4"), a[:1].copy()
    f.f(a, x, part, out)
    assert f.source("f").count("rt.launch") == 1
    assert np.array_equal(part[0], 2 * before[4, 8:12])
    assert np.array_equal(out[0], before[0 if is_host else 4])
    before[4] = 7 if is_host else before[4]
    assert np.array_equal(a, before)


def test_large_copies_are_the_hosts():
    f = gcg.compile(COPIED.replace("8xf32", "8192xf32"), target="cpu")
    assert f.source("f").count("rt.copy") == 1


def test_scalars_that_several_kernels_need_are_computed_once():
    text = """func.func private @g(memref<8xf32>)
    func.func @f(%A: memref<8xf32>, %x: f32, %y: f32) {
      %s = arith.addf %x, %y : f32
      %p = arith.mulf %x, %y : f32
      affine.for %i = 0 to 8 {
        affine.store %s, %A[%i] : memref<8xf32>
      }
      func.call @g(%A) : (memref<8xf32>) -> ()
      affine.for %i = 0 to 8 {
        %a = affine.load %A[%i] : memref<8xf32>
        %b = arith.addf %a, %s : f32
        %c = arith.mulf %b, %p : f32
        affine.store %c, %A[%i] : memref<8xf32>
      }
      return
    }"""

    def g(a: Any) -> None:
        a[:] = np.asarray(a) + 1

    f = gcg.compile(text, target="cpu", externals={"g": g})
    a = np.zeros(8, "f4")
    f.f(a, np.float32(2), np.float32(3))
    assert np.array_equal(a, np.full(8, 66, "f4"))
    host = f.source("f").split("\ndef ")[0]
    assert host.count(" + ") == 1
    assert " * " not in host
