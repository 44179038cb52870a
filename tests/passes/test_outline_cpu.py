"""Buffers of one kernel: small ones are its own, others come from the host."""

from __future__ import annotations

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen.passes.outline_cpu import STACK_BYTES


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
