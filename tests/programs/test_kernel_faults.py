"""The emulated device reports what the race proof would have refused."""

from __future__ import annotations

import numpy as np
import pytest

from gpucodegen import errors
from gpucodegen.parser import parse_module
from gpucodegen.passes.checks.races import VerifyKernels
from gpucodegen.passes.framework.base import run_pipeline
from tests.emit.running import loaded


def kernel(body: str) -> str:
    return f"""
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
}}"""


PUT = "affine.store %one, %s[%t] : memref<64xf32, #gpu.address_space<workgroup>>\n"
GET = """%v = affine.load %s[-%t + 63] : memref<64xf32, #gpu.address_space<workgroup>>
affine.store %v, %out[%t] : memref<64xf32>
"""
HALF = """affine.if affine_set<(d0) : (d0 - 32 >= 0)>(%t) {{
  {}
}}
"""


def run(text: str) -> np.ndarray:
    out = np.zeros(64, "f4")
    loaded(text, "sim", "f")(out)
    return out


def prove(text: str) -> None:
    run_pipeline(parse_module(text), [VerifyKernels()])


def line_of(text: str, part: str) -> int:
    lines = text.splitlines()
    return next(n for n, line in enumerate(lines, 1) if part in line)


def test_a_barrier_between_is_enough() -> None:
    text = kernel(PUT + "gpu.barrier\n" + GET)
    prove(text)
    assert run(text).tolist() == [1.0] * 64


FAULTS = {
    "race": (PUT + GET, errors.SharedRace, "affine.load %s"),
    "divergent barrier": (
        PUT + HALF.format("gpu.barrier"),
        errors.DivergentBarrier,
        "",
    ),
    "half written": (
        HALF.format(PUT) + "gpu.barrier\n" + GET,
        errors.UninitialisedRead,
        "affine.load %s",
    ),
    "out of bounds": (
        "affine.store %one, %out[%t * 4096] : memref<64xf32>",
        errors.KernelOutOfBounds,
        "affine.store %one",
    ),
}


@pytest.mark.cases("name", FAULTS)
def test_a_fault_has_its_kernel_block_thread_and_line(name: str) -> None:
    body, kind, part = FAULTS[name]
    text = kernel(body)
    with pytest.raises(kind, match="kernel k failed") as caught:
        run(text)
    assert caught.value.details["block"] == (0, 0, 0)
    assert caught.value.details["thread"] is not None
    if part:
        assert caught.value.place.line == line_of(text, part)


@pytest.mark.parametrize("name", ["race", "divergent barrier"])
def test_the_proof_refuses_it_as_well(name: str) -> None:
    with pytest.raises(errors.RaceFound):
        prove(kernel(FAULTS[name][0]))
