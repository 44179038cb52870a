"""Contractions are recognised from their accesses, in any loop order."""

from __future__ import annotations

from itertools import permutations

import pytest

from gpucodegen.ir.operation import Operation
from gpucodegen.parser import parse_module
from gpucodegen.passes.contraction.recognize import Contraction, recognize
from gpucodegen.passes.cpu.map_cpu import MapCpu
from gpucodegen.passes.framework.base import run_pipeline
from gpucodegen.passes.gpu.map_gpu import MapGpu

EXTENTS = {"i": 33, "j": 47, "k": 21}


def matmul(order: tuple[str, ...], a: str = "%i, %k", b: str = "%k, %j") -> str:
    loops = "".join(f"affine.for %{v} = 0 to {EXTENTS[v]} {{\n" for v in order)
    return f"""func.func @f(%A: memref<64x64xf32>, %B: memref<64x64xf32>,
    %C: memref<33x47xf32>) {{
{loops}
  %a = affine.load %A[{a}] : memref<64x64xf32>
  %b = affine.load %B[{b}] : memref<64x64xf32>
  %c = affine.load %C[%i, %j] : memref<33x47xf32>
  %p = arith.mulf %a, %b : f32
  %s = arith.addf %p, %c : f32
  affine.store %s, %C[%i, %j] : memref<33x47xf32>
{"}" * 3}
  return
}}"""


def found(text: str) -> Contraction | None:
    module = parse_module(text)
    (loop,) = [o for o in first_function(module.operations) if o.name == "affine.for"]
    return recognize(loop)


def first_function(operations: tuple[Operation, ...]) -> tuple[Operation, ...]:
    return operations[0].body.operations


@pytest.mark.cases("order", list(permutations("ijk")))
def test_any_loop_order(order: tuple[str, ...]) -> None:
    contraction = found(matmul(order))
    assert contraction is not None
    assert [axis.name for axis in contraction.rows] == ["i"]
    assert [axis.name for axis in contraction.columns] == ["j"]
    assert [axis.name for axis in contraction.reduction] == ["k"]


@pytest.mark.parametrize(("a", "b"), [("%k, %i", "%k, %j"), ("%i, %k", "%j, %k")])
def test_transposed_operands(a: str, b: str) -> None:
    assert found(matmul(("i", "j", "k"), a, b)) is not None


def test_a_product_of_other_cells_is_none() -> None:
    assert found(matmul(("i", "j", "k"), "%i, %j", "%i, %j")) is None


@pytest.mark.parametrize("mapping", [MapCpu(threads=2), MapGpu()])
def test_register_tiles_in_both_mappings(mapping: MapCpu | MapGpu) -> None:
    mapped = run_pipeline(parse_module(matmul(("k", "i", "j"))), [mapping])
    assert any(op.name == "vector.outerproduct" for op in mapped.walk())
