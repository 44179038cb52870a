"""The emulator reports what the race proof would have refused."""

from __future__ import annotations

import numpy as np
import pytest

from gpucodegen import errors
from gpucodegen.compiling.targets import find
from gpucodegen.dialects.builtin import Module
from gpucodegen.emit import CUDA, emit_program
from gpucodegen.parser import parse_module
from gpucodegen.passes.checks.kernels import VerifyKernels
from gpucodegen.passes.framework.base import run_pipeline
from gpucodegen.runtime.host.buffers import Expected, to_buffer
from gpucodegen.runtime.host.loader import load_program


def kernel(body: str) -> Module:
    return parse_module(f"""
gpu.module @kernels {{
  gpu.func @k(%out: memref<64xf32>) kernel
      attributes {{gcg.block = array<i32: 64, 1, 1>, gcg.grid = array<i32: 1, 1, 1>}} {{
    %s = memref.alloca() : memref<64xf32, #gpu.address_space<workgroup>>
    %t = gpu.thread_id x
    %one = arith.constant 1.0 : f32
    {body}
    gpu.return
  }}
}}
func.func @f(%out: memref<64xf32>) {{
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  gpu.launch_func @kernels::@k blocks in (%c1, %c1, %c1) threads in (%c64, %c1, %c1)
      args(%out : memref<64xf32>)
  return
}}""")


PUT = "affine.store %one, %s[%t] : memref<64xf32, #gpu.address_space<workgroup>>\n"
GET = """%v = affine.load %s[-%t + 63] : memref<64xf32, #gpu.address_space<workgroup>>
affine.store %v, %out[%t] : memref<64xf32>
"""
HALF_BARRIER = """affine.if affine_set<(d0) : (d0 - 32 >= 0)>(%t) {
  gpu.barrier
}
"""


def run(module: Module) -> np.ndarray:
    out = np.zeros(64, "f4")
    loaded = load_program(emit_program(module, CUDA), find("sim").engine())
    buffer = to_buffer(out, Expected("out", "f32", (64,)), "f")
    loaded.functions["f"](loaded.runtime, buffer)
    return out


def test_a_barrier_between_is_enough() -> None:
    module = kernel(PUT + "gpu.barrier\n" + GET)
    run_pipeline(module, [VerifyKernels()])
    assert run(module).tolist() == [1.0] * 64


def test_a_shared_memory_race() -> None:
    module = kernel(PUT + GET)
    with pytest.raises(errors.SharedRace):
        run(module)
    with pytest.raises(errors.RaceFound):
        run_pipeline(module, [VerifyKernels()])


def test_a_divergent_barrier() -> None:
    module = kernel(PUT + HALF_BARRIER)
    with pytest.raises(errors.DivergentBarrier):
        run(module)
    with pytest.raises(errors.RaceFound):
        run_pipeline(module, [VerifyKernels()])
