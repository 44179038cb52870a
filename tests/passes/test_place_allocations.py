"""Allocations at fixed addresses share memory exactly where they overlap."""

from __future__ import annotations

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors

TEXT = """
func @f(%out: memref<8xf32>) {{
  %a = alloc_static(0x1000) : memref<8xf32>
  %b = alloc_static({address}) : memref<2x2xf32>
  affine.for %i = 0 to 8 {{
    store 1 to %a[%i] : memref<8xf32>
  }}
  affine.for %i = 0 to 2 {{
    affine.for %j = 0 to 2 {{
      store 5 to %b[%i, %j] : memref<2x2xf32>
    }}
  }}
  affine.for %i = 0 to 8 {{
    %v = load %a[%i] : memref<8xf32>
    store %v, %out[%i] : memref<8xf32>
  }}
  dealloc %a : memref<8xf32>
  dealloc %b : memref<2x2xf32>
  return
}}
"""
CASES = [
    ("0x1008", [1, 1, 5, 5, 5, 5, 1, 1]),
    ("0x0FF8", [5, 5, 1, 1, 1, 1, 1, 1]),
    ("0x1020", [1] * 8),
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("target", ["cpu", "sim"])
@pytest.mark.cases(("address", "wanted"), CASES, parts=2)
def test_memory_is_shared_where_ranges_meet(
    address: str, wanted: list[int], target: str
):
    out = np.zeros(8, np.float32)
    gcg.compile(TEXT.format(address=address), target=target).f(out)
    assert out.tolist() == wanted


@pytest.mark.filterwarnings("ignore:.*holds no value yet", "ignore:.*may be read where")
def test_analysis_sees_the_overlap():
    nest = """
    func @f() {{
      %a = alloc_static(0x1000) : memref<8xf32>
      %b = alloc_static({address}) : memref<8xf32>
      affine.for %i = 0 to 8 {{
        %v = affine.load %a[%i] : memref<8xf32>
        affine.store %v, %b[%i] : memref<8xf32>
      }}
      return
    }}"""
    kinds = {}
    for address in ("0x1004", "0x2000"):
        (loop,) = gcg.analyze(gcg.parse(nest.format(address=address)))["f"].loops
        kinds[address] = loop.kind.value
    assert kinds == {"0x1004": "sequential", "0x2000": "parallel"}


def test_a_dynamic_shape_has_no_place():
    text = """
    func @f(%n: index) {
      %a = alloc_static(0x1000) : memref<?xf32>
      return
    }"""
    with pytest.raises(errors.Error):
        gcg.compile(text, target="cpu").f(3)


def test_different_elements_cannot_share():
    text = TEXT.format(address="0x1002")
    with pytest.raises(errors.UnsupportedOperation, match="one element type"):
        gcg.compile(text, target="cpu").f(np.zeros(8, np.float32))
