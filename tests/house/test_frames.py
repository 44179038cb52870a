"""A first call reaches the compiler by few functions."""

from __future__ import annotations

import traceback

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen.calls.function import Function
from gpucodegen.passes.checks.supported import CheckSize

TEXT = """
func.func @twice(%a: memref<8xf32>) {
  affine.for %i = 0 to 8 {
    %v = affine.load %a[%i] : memref<8xf32>
    %w = arith.addf %v, %v : f32
    affine.store %w, %a[%i] : memref<8xf32>
  }
  return
}"""


def test_six_frames_from_a_call_to_the_first_pass() -> None:
    stacks: list[traceback.StackSummary] = []

    def apply(pass_: CheckSize, module: gcg.Module) -> gcg.Module:
        del pass_
        stacks.append(traceback.extract_stack())
        return module

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(CheckSize, "apply", apply)
        gcg.compile(gcg.parse(TEXT), target="cpu").twice(np.ones(8, np.float32))
    frames = [(frame.name, frame.filename) for frame in stacks[0]]
    call = Function.__call__.__code__
    first = frames.index((call.co_name, call.co_filename))
    names = [name for name, _ in frames[first:-1]]
    assert names[0] == "__call__"
    assert names[-1] == "run_pipeline"
    assert len(names) <= 6
