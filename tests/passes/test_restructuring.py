from __future__ import annotations

import numpy as np
import pytest
from stencil_texts import SEIDEL, STENCILS, Stencil

import gpucodegen as gcg
from gpucodegen import errors
from gpucodegen.dialects.builtin import Module
from gpucodegen.passes.base import run_pipeline
from gpucodegen.passes.pipeline_text import parse_pipeline

PASSES = ("wavefront{sizes=[2,3]}", "skew", "restructure")
SIZES = ((2, 3), (3, 2), (7, 5), (8, 4))
"""Smallest extent, and steps: without inner points, with one, with more."""

pytestmark = pytest.mark.filterwarnings("ignore::gpucodegen.errors.PossiblyOutOfBounds")


def transformed(text: str, passes: str) -> Module:
    module = run_pipeline(gcg.parse(text, filename="f.mlir"), parse_pipeline(passes))
    assert str(gcg.parse(str(module))) == str(module)
    return module


def assert_equal_bits(stencil: Stencil, module: Module, target: str) -> None:
    """Every result has the bits that the original order gives."""
    program = gcg.compile(module, target=target, specialize=False, exact=True)
    random = np.random.default_rng(7)
    for extent, steps in SIZES:
        shape = tuple(extent + d for d in range(stencil.rank))
        arrays = [random.random(shape) for _ in stencil.arrays]
        expected = [array.copy() for array in arrays]
        program[stencil.name](steps, *arrays)
        stencil.run(steps, expected)
        for got, wanted in zip(arrays, expected, strict=True):
            np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("passes", PASSES)
@pytest.mark.parametrize("name", STENCILS)
def test_reordered_stencils_give_the_same_bits(name: str, passes: str):
    stencil = STENCILS[name]
    assert_equal_bits(stencil, transformed(stencil.mlir(), passes), "sim")


@pytest.mark.parametrize("name", STENCILS)
def test_wavefronts_on_threads_give_the_same_bits(name: str):
    stencil = STENCILS[name]
    assert_equal_bits(stencil, transformed(stencil.mlir(), PASSES[0]), "cpu")


def test_what_was_rebuilt_can_be_taken_apart_again():
    module = transformed(SEIDEL.mlir(), "skew,restructure,wavefront{sizes=[2,2]}")
    assert_equal_bits(SEIDEL, module, "sim")


def test_loops_and_operations_keep_their_places():
    module = transformed(SEIDEL.mlir(), "wavefront")
    loops = [op for op in module.walk() if op.name == "affine.for"]
    lines = [op.location.line for op in loops]
    assert lines == [7, 7, 9, 8]
    stores = [op for op in module.walk() if op.name == "affine.store"]
    assert [op.location.line for op in stores] == [28]


def test_tiles_of_a_wavefront_are_parallel():
    module = transformed(SEIDEL.mlir(), "wavefront")
    names = [op.name for op in module.walk() if op.regions]
    assert names[2:5] == ["affine.for", "affine.parallel", "affine.for"]


PARALLEL = """
func.func @f(%A: memref<8xf64>) {
  affine.for %i = 0 to 8 {
    %x = affine.load %A[%i] : memref<8xf64>
    affine.store %x, %A[%i] : memref<8xf64>
  }
  return
}
"""


def test_parallel_loops_need_no_wavefront():
    module = transformed(PARALLEL, "wavefront")
    assert str(module) == str(gcg.parse(PARALLEL))


GUARDED = """
func.func @f(%T: index, %A: memref<16xf64>, %s: memref<16xf64>) {
  affine.for %t = 0 to %T {
    affine.for %i = 1 to 15 step 2 {
      affine.if affine_set<(d0) : (d0 - 4 >= 0)>(%i) {
        %k = affine.apply affine_map<(d0) -> (d0 - 1)>(%i)
        %x = affine.load %A[%k] : memref<16xf64>
        affine.store %x, %A[%i] : memref<16xf64>
      } else {
        %y = affine.load %s[%i] : memref<16xf64>
        affine.store %y, %A[%i + 1] : memref<16xf64>
      }
    }
  }
  return
}
"""


def guarded(steps: int, a: np.ndarray, s: np.ndarray) -> None:
    for _ in range(steps):
        for i in range(1, 15, 2):
            if i >= 4:
                a[i] = a[i - 1]
            else:
                a[i + 1] = s[i]


@pytest.mark.parametrize("passes", PASSES)
def test_conditions_and_steps_are_part_of_the_domain(passes: str):
    program = gcg.compile(transformed(GUARDED, passes), target="sim")
    arrays = [np.arange(16.0), np.arange(16.0) * 3]
    expected = [array.copy() for array in arrays]
    program.f(3, *arrays)
    guarded(3, *expected)
    np.testing.assert_array_equal(arrays[0], expected[0])


REFUSED = {
    "skew{factors=[1,1,1]}": (
        "skewing the loops (t, i, j) is not legal: a dependence points backward "
        "along loop j: S0 at (t=0, i=2, j=2) reads A[1, 1] and S0 at (t=1, i=1, j=1) "
        "writes it"
    ),
    "skew{factors=[1]}": "3 loops take 3 factors, not 1",
    "wavefront{sizes=[4]}": "a wavefront needs a size for the time loop and for one",
    "wavefront{sizes=[4,4,4,4]}": "its band has fewer than 4 loops",
}


@pytest.mark.parametrize("passes", REFUSED)
def test_refusals_name_loops_and_a_witness(passes: str):
    with pytest.raises(errors.IllegalTransformation) as refused:
        transformed(SEIDEL.mlir(), passes)
    assert REFUSED[passes] in str(refused.value)
    assert str(refused.value).startswith("f.mlir:7:1: error: ")
    assert refused.value.message.endswith(
        "Choose another transformation or remove the dependence"
    )


CARRIED = """
func.func @f(%A: memref<8x8xf64>) {
  affine.for %i = 0 to 8 {
    %x = affine.load %A[%i, 0] : memref<8x8xf64>
    affine.for %j = 0 to 7 {
      affine.store %x, %A[%i, %j + 1] : memref<8x8xf64>
    }
  }
  return
}
"""
SUMMED = """
func.func @f(%A: memref<8xf64>, %z: f64) {
  %s = affine.for %i = 0 to 8 iter_args(%a = %z) -> f64 {
    %x = affine.load %A[%i] : memref<8xf64>
    %b = arith.addf %a, %x : f64
    affine.yield %b : f64
  }
  affine.store %s, %A[0] : memref<8xf64>
  return
}
"""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (CARRIED, "%x is made in one body of the nest and used in another"),
        (SUMMED, "'affine.for' inside it keeps its place among the loops"),
    ],
)
def test_values_tie_operations_to_their_loops(text: str, reason: str):
    with pytest.raises(errors.IllegalTransformation) as refused:
        transformed(text, "restructure")
    assert reason in str(refused.value)


def test_without_an_answer_of_isl_the_order_is_kept_with_a_warning(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr("gpucodegen.tiling.isl_ast.PATIENCE", 0.0001)
    with pytest.warns(errors.OrderKept) as warned:
        module = transformed(SEIDEL.mlir(), "skew")
    assert str(module) == str(gcg.parse(SEIDEL.mlir()))
    assert "the loops (t, i, j) keep their order: isl" in str(warned[0].message)
