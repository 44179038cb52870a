"""``to_tensor`` with ``restrict`` copies only where something changes the buffer."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors
from gpucodegen.passes.framework.base import run_pipeline
from gpucodegen.passes.framework.pipeline_text import parse_pipeline

TEXT = """func.func @f(%a: memref<4xf32>, %b: memref<4xf32>) {{
  %c0 = arith.constant 0 : index
  %k = arith.constant 9.0 : f32
  {before}
  %t = bufferization.to_tensor %a {flag} : memref<4xf32> to tensor<4xf32>
  {between}
  %e = tensor.empty() : tensor<4xf32>
  %r = linalg.generic {{indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]}} ins(%t : tensor<4xf32>) outs(%e : tensor<4xf32>) {{
  ^bb0(%x: f32, %o: f32):
    %y = arith.addf %x, %x : f32
    linalg.yield %y : f32
  }} -> tensor<4xf32>
  bufferization.materialize_in_destination %r in restrict writable %{to}
      : (tensor<4xf32>, memref<4xf32>) -> ()
  {after}
  return
}}"""  # noqa: E501
STORE = "memref.store %k, %a[%c0] : memref<4xf32>"
OTHER = "memref.store %k, %b[%c0] : memref<4xf32>"
VIEWED = """%v = memref.subview %a[1] [2] [1]
      : memref<4xf32> to memref<2xf32, strided<[1], offset: 1>>
  memref.store %k, %v[%c0] : memref<2xf32, strided<[1], offset: 1>>"""
READ_LATER = """%u = tensor.extract %t[%c0] : tensor<4xf32>
  memref.store %u, %b[%c0] : memref<4xf32>"""
PLACES = {"flag": "restrict", "before": "", "between": "", "after": "", "to": "b"}
CASES = {
    "nothing writes": ({}, ""),
    "written before": ({"before": STORE}, ""),
    "written after": ({"after": STORE}, ""),
    "another is written": ({"between": OTHER}, ""),
    "the result goes there": ({"to": "a"}, ""),
    "no promise": ({"flag": ""}, "it is not 'restrict'"),
    "written between": ({"between": STORE}, "'memref.store' may change its buffer"),
    "a view is written": ({"between": VIEWED}, "'memref.store' may change"),
    "used after the result": ({"to": "a", "after": READ_LATER}, "'bufferization.mat"),
    "shown again": (
        {
            "between": "%w = bufferization.to_buffer %t"
            " : tensor<4xf32> to memref<4xf32>\n  memref.store %k, %w[%c0]"
            " : memref<4xf32>"
        },
        "'bufferization.to_buffer' may change",
    ),
}


@pytest.mark.cases("name", list(CASES))
def test_what_is_copied(name: str):
    changed, reason = CASES[name]
    text = TEXT.format(**PLACES | changed)
    passes = parse_pipeline("generalize,bufferize{report=true}")
    with warnings.catch_warnings(record=True) as remarks:
        warnings.simplefilter("always", errors.TensorCopied)
        module = run_pipeline(gcg.parse(text), passes)
    said = [str(remark.message) for remark in remarks]
    assert any(reason in text for text in said) if reason else not said
    fresh = str(module).count("memref.alloc()")
    assert (fresh == 1) == (not reason), "the result alone"


@pytest.mark.sampled(6)
@pytest.mark.parametrize("target", ["cpu", "sim"])
@pytest.mark.cases("name", list(CASES), parts=3)
def test_what_is_computed(name: str, target: str):
    text = TEXT.format(**PLACES | CASES[name][0])
    a, b = np.arange(4, dtype="f4"), np.zeros(4, "f4")
    gcg.check(gcg.parse(text), a, b, target=target)
