"""A pass that is left out of a pipeline would have changed and refused nothing."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

import gpucodegen as gcg
from gpucodegen.compiling.pipeline import all_passes
from gpucodegen.options import Options
from gpucodegen.passes.framework.base import contents
from gpucodegen.passes.framework.functions import reachable
from tests.house.readme import ROOT

EXAMPLES = sorted((ROOT / "examples").rglob("*.mlir"))
MATMUL = """
func.func @f(%a: memref<64x64xf32>, %b: memref<64x64xf32>, %c: memref<64x64xf32>) {
  linalg.matmul ins(%a, %b: memref<64x64xf32>, memref<64x64xf32>)
    outs(%c: memref<64x64xf32>)
  return
}"""
PROOFS = {"check-bounds", "verify-kernels", "check-reads"}
"""Passes that change no module and take long."""


def check_passes_left_out(program: gcg.Program, name: str, target: str) -> int:
    """Run the passes of a function, those that are left out too; their number."""
    module, left_out = reachable(program.module, name), 0
    types = (None,) * len(program[name].signature.parameters)
    for pass_ in all_passes(name, types, target, Options(target=target)):
        if not pass_.concerns(module, contents(module)):
            left_out += 1
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                assert str(pass_.apply(module)) == str(module), pass_.name
        elif pass_.name not in PROOFS:
            module = pass_.apply(module)
    return left_out


@pytest.mark.slow
@pytest.mark.drawn(40)
@pytest.mark.sampled(24, long=("conv_2d", "jacobi-1d"))
@pytest.mark.parametrize("target", ["cpu", "cuda"])
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_passes_left_out_change_nothing(path: Path, target: str) -> None:
    program = gcg.compile(path)
    for name in program.names:
        assert check_passes_left_out(program, name, target) > 10


@pytest.mark.parametrize("target", ["cpu", "cuda", "sim"])
def test_few_passes_run_for_a_product_in_memory(target: str) -> None:
    parsed, *stages = gcg.compile(MATMUL, target=target).stages("f")
    assert parsed[0] == "parse"
    assert len(stages) <= 25
    before = [parsed, *stages]
    changing = [s[0] for s, old in zip(stages, before, strict=False) if s[1] != old[1]]
    assert {"generalize", "linalg-to-affine"} < {*changing}


def test_contents_name_operations_attributes_and_types() -> None:
    found = contents(
        gcg.parse(
            """
            memref.global @g : memref<2xvector<4xf32>>
            func.func @f(%a: memref<?xf32, strided<[2]>>, %s: tensor<*xf32>) {
              scf.execute_region { scf.yield } {kept}
              return
            }
            """
        )
    )
    assert {"!vector", "!dynamic", "!layout", "!tensor", "scf", "scf.yield"} <= found
    assert "kept" in found
    assert "affine" not in found
