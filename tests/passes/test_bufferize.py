from __future__ import annotations

import pytest

import gpucodegen as gcg
from gpucodegen import errors
from gpucodegen.passes.framework.base import run_pipeline
from gpucodegen.passes.framework.pipeline_text import parse_pipeline


def test_tensors_without_a_rank_are_refused_where_they_enter():
    text = """func.func @f(%a: tensor<*xf32>) -> tensor<4xf32> {
  %d = tensor.cast %a : tensor<*xf32> to tensor<4xf32>
  return %d : tensor<4xf32>
}"""
    with pytest.raises(errors.UnsupportedType, match=r"t\.mlir:1:14: .*tensor<\*xf32>"):
        run_pipeline(gcg.parse(text, "t.mlir"), parse_pipeline("bufferize"))
