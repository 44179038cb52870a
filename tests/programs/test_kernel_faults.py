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


LAUNCHED = """
module attributes {{gpu.container_module}} {{
  gpu.module @m {{
    gpu.func @k(%n: index, %z: memref<?xi32>) kernel attributes {{
        gcg.block = array<i32: 32, 1, 1>, gcg.grid = array<i32: -1, 1, 1>}} {{
      %t = gpu.thread_id x
      %b = gpu.block_id x
      %i = affine.min affine_map<(d0, d1, d2) -> (d0 * 32 + d1, d2 - 1)>(%b, %t, %n)
      %v = affine.load %z[%i] : memref<?xi32>
      gpu.barrier
      affine.if affine_set<(d0, d1, d2) : (d2 - d0 * 32 - d1 - 1 >= 0)>(%b, %t, %n) {{
        affine.store %v, %z[%i] : memref<?xi32>
      }}
      gpu.return
    }}
  }}
  func.func @f(%n: index, %z: memref<?xi32>) {{
    %one = arith.constant 1 : index
    %threads = arith.constant 32 : index
    %blocks = affine.apply affine_map<(d0) -> ({blocks})>(%n)
    gpu.launch_func @m::@k blocks in (%blocks, %one, %one)
      threads in (%threads, %one, %one) args(%n : index, %z : memref<?xi32>)
    return
  }}
}}"""
"""Threads behind the last element read it, in the last of the launched blocks."""


def test_a_block_that_is_never_launched_races_with_no_other() -> None:
    prove(LAUNCHED.format(blocks="(d0 + 31) floordiv 32"))
    with pytest.raises(errors.RaceFound):
        prove(LAUNCHED.format(blocks="(d0 + 31) floordiv 32 + 1"))


def test_a_column_sum_is_written_over_a_term() -> None:
    """Only a call knows the number of rows, and so the grid."""
    text = """func.func @f(
        %n: index, %m: index, %A: memref<?x?xi32>, %z: memref<?xi32>) {
      %zero = arith.constant 0 : i32
      affine.for %i = 0 to %m step 2 {
        %sum = affine.for %k = 0 to %n iter_args(%s = %zero) -> (i32) {
          %a = affine.load %A[%k, %i] : memref<?x?xi32>
          %b = affine.load %z[%i] : memref<?xi32>
          %c = arith.maxsi %a, %b : i32
          %d = arith.addi %s, %c : i32
          affine.yield %d : i32
        }
        affine.store %sum, %z[%i] : memref<?xi32>
      }
      return
    }"""
    a, z = np.arange(35, dtype="i4").reshape(5, 7), np.arange(7, dtype="i4") * 9
    wanted = z.copy()
    wanted[::2] = np.maximum(a, z).sum(0)[::2]
    loaded(text, "sim", "f")(5, 7, a, z)
    assert z.tolist() == wanted.tolist()
