"""Illegal requests are refused with a witness; mapped kernels are proven."""

from __future__ import annotations

import pytest

from gpucodegen import errors
from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.operation import Operation, rewrite_bottom_up
from gpucodegen.parser import parse_module
from gpucodegen.passes.checks.bounds import CheckBounds
from gpucodegen.passes.checks.races import VerifyKernels
from gpucodegen.passes.cpu.map_cpu import MapCpu
from gpucodegen.passes.framework.base import run_pipeline
from gpucodegen.passes.gpu.map_gpu import MapGpu
from gpucodegen.passes.loops.rectangular_tiling import Tile
from gpucodegen.passes.outlining.cpu_outliner import OutlineCpu

DIAGONAL = """func.func @diagonal(%A: memref<8x8xf32>) {
  affine.for %i = 0 to 7 {
    affine.for %j = 1 to 8 {
      %x = affine.load %A[%i + 1, %j - 1] : memref<8x8xf32>
      affine.store %x, %A[%i, %j] : memref<8x8xf32>
    }
  }
  return
}"""

MATMUL = """func.func @matmul(%A: memref<70x40xf32>, %B: memref<40x50xf32>,
    %C: memref<70x50xf32>) {
  affine.for %i = 0 to 70 {
    affine.for %j = 0 to 50 {
      affine.for %k = 0 to 40 {
        %a = affine.load %A[%i, %k] : memref<70x40xf32>
        %b = affine.load %B[%k, %j] : memref<40x50xf32>
        %c = affine.load %C[%i, %j] : memref<70x50xf32>
        %p = arith.mulf %a, %b : f32
        %s = arith.addf %c, %p : f32
        affine.store %s, %C[%i, %j] : memref<70x50xf32>
      }
    }
  }
  return
}"""


def test_tiling_against_a_backward_distance_is_refused() -> None:
    with pytest.raises(errors.IllegalTransformation) as caught:
        run_pipeline(parse_module(DIAGONAL, "d.mlir"), [Tile(sizes=(4, 4))])
    text = str(caught.value)
    assert "d.mlir:2:3" in text
    assert "A[1, 1]" in text


def test_tiling_the_outer_loop_alone_is_legal() -> None:
    tiled = run_pipeline(parse_module(DIAGONAL), [Tile(sizes=(4,))])
    loops = [op for op in tiled.walk() if op.name == "affine.for"]
    assert len(loops) == 3


@pytest.mark.sampled(2)
@pytest.mark.parametrize("text", [MATMUL, DIAGONAL])
def test_mapped_kernels_are_proven(text: str) -> None:
    module = parse_module(text)
    run_pipeline(module, [MapCpu(threads=2), OutlineCpu(), VerifyKernels()])
    run_pipeline(module, [MapGpu(), VerifyKernels()])


def without(module: Module, name: str, position: int) -> Module:
    """The module with the ``position``-th operation of a name removed."""
    count = -1

    def drop(op: Operation) -> list[Operation] | None:
        nonlocal count
        if op.name != name:
            return None
        count += 1
        return [] if count == position else None

    (root,) = rewrite_bottom_up(module.operation, drop)
    return Module(root)


@pytest.mark.slow
@pytest.mark.parametrize("position", [0, 1])
def test_a_removed_barrier_is_found(position: int) -> None:
    by_registers = MapGpu(plan=("product.direct", 1))
    mapped = run_pipeline(parse_module(MATMUL, "m.mlir"), [by_registers])
    broken = without(mapped, "gpu.barrier", position)
    with pytest.raises(errors.RaceFound) as caught:
        run_pipeline(broken, [VerifyKernels()])
    text = str(caught.value)
    assert text.count("m.mlir:") >= 2
    assert "thread_x=" in text


def test_a_declared_parallel_loop_that_races_is_refused() -> None:
    text = """func.func @f(%A: memref<9xf32>) {
  affine.parallel (%i) = (0) to (8) {
    %x = affine.load %A[%i] : memref<9xf32>
    affine.store %x, %A[%i + 1] : memref<9xf32>
  }
  return
}"""
    with pytest.raises(errors.RaceFound):
        run_pipeline(parse_module(text), [VerifyKernels()])


def test_a_proven_out_of_bounds_access_is_an_error() -> None:
    text = DIAGONAL.replace("0 to 7", "0 to 8")
    with pytest.raises(errors.OutOfBounds) as caught:
        run_pipeline(parse_module(text, "o.mlir"), [CheckBounds()])
    assert "o.mlir:4:" in str(caught.value)
