"""Buffers of one kernel: small ones are its own, others come from the host."""

from __future__ import annotations

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
