from __future__ import annotations

import re

import numpy as np
import pytest
from stencil_texts import SEIDEL, STENCILS, Stencil

import gpucodegen as gcg
from gpucodegen import errors
from gpucodegen.dialects.builtin import Module
from gpucodegen.passes.framework.base import run_pipeline
from gpucodegen.passes.framework.pipeline_text import parse_pipeline
from gpucodegen.passes.prepare.canonicalize import Canonicalize

PASSES = (
    "wavefront{sizes=[2,3]}",
    "wavefront{sizes=[1,2],chains=2}",
    "skew",
    "restructure",
)
SIZES = ((2, 3), (3, 2), (6, 4))
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


@pytest.mark.filterwarnings("ignore::gpucodegen.errors.warnings.TimeTilesUnproven")
@pytest.mark.parametrize("passes", PASSES)
@pytest.mark.parametrize("name", STENCILS)
@pytest.mark.sampled(12, long=("seidel_2d", "jacobi_3d"))
@pytest.mark.drawn(8)
def test_reordered_stencils_give_the_same_bits(name: str, passes: str):
    stencil = STENCILS[name]
    assert_equal_bits(stencil, transformed(stencil.mlir(), passes), "sim")


@pytest.mark.slow
@pytest.mark.parametrize("name", STENCILS)
def test_wavefronts_on_threads_give_the_same_bits(name: str):
    stencil = STENCILS[name]
    assert_equal_bits(stencil, transformed(stencil.mlir(), PASSES[0]), "cpu")


@pytest.mark.slow
def test_what_was_rebuilt_can_be_taken_apart_again():
    module = transformed(SEIDEL.mlir(), "skew,restructure,wavefront{sizes=[2,2]}")
    assert_equal_bits(SEIDEL, module, "sim")


def test_loops_and_operations_keep_their_places():
    module = transformed(SEIDEL.mlir(), "wavefront{sizes=[8,32]}")
    loops = [op for op in module.walk() if op.name == "affine.for"]
    lines = [op.location.line for op in loops]
    assert lines == [7, 7, 9, 8]
    stores = [op for op in module.walk() if op.name == "affine.store"]
    assert [op.location.line for op in stores] == [28]


def test_tiles_of_a_wavefront_are_parallel():
    module = transformed(SEIDEL.mlir(), "wavefront{sizes=[8,32]}")
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


@pytest.mark.parametrize("passes", ["wavefront", "wavefront{sizes=[2,2]}"])
def test_parallel_loops_need_no_wavefront(passes: str):
    assert str(transformed(PARALLEL, passes)) == str(gcg.parse(PARALLEL))


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


@pytest.mark.sampled(4)
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


@pytest.mark.cases("passes", REFUSED)
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
    monkeypatch.setattr("gpucodegen.tiling.schedule.isl_ast.PATIENCE", 0.0001)
    with pytest.warns(errors.OrderKept) as warned:
        module = transformed(SEIDEL.mlir(), "skew")
    assert str(module) == str(gcg.parse(SEIDEL.mlir()))
    assert "the loops (t, i, j) keep their order: isl" in str(warned[0].message)


def static(stencil: Stencil, extent: int, steps: int | None = None) -> str:
    """The text with fixed extents and, if given, a fixed number of steps."""
    text = stencil.mlir().replace("?x" * stencil.rank, f"{extent}x" * stencil.rank)
    text = text if steps is None else text.replace("to %T", f"to {steps}")
    return str(run_pipeline(gcg.parse(text), [Canonicalize()]))


def shape_of(module: Module) -> str:
    """Names of the operations with regions, outermost first."""
    names = [op.name.removeprefix("affine.") for op in module.walk() if op.regions]
    return " ".join(names[2:])


CHOSEN = {
    "jacobi_2d": 600,
    "jacobi_3d": 64,
    "fdtd_2d": 600,
    "jacobi_1d": 300_000,
    "seidel_2d": 300,
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", CHOSEN)
def test_large_time_loops_are_tiled_without_being_asked(name: str):
    text = static(STENCILS[name], CHOSEN[name], steps=100)
    around, _, inside = shape_of(transformed(text, "wavefront")).partition("parallel")
    assert around.split() in (["for"] * 2, ["for"] * 3)
    assert inside.split()[0] == "for"


def test_a_time_loop_of_unknown_length_keeps_its_loops_beside_the_tiles():
    module = transformed(static(STENCILS["jacobi_2d"], 600), "wavefront")
    assert shape_of(module).startswith("if for for parallel for")
    assert re.search(r"affine_set<\(d0\) : \(d0 - \d+ >= 0\)>\(%T\)", str(module))


@pytest.mark.parametrize(
    ("name", "extent", "steps"),
    [("jacobi_2d", 100, 100), ("jacobi_2d", 600, 1), ("seidel_2d", 20, 100)],
)
def test_small_time_loops_stay_as_they_are(name: str, extent: int, steps: int):
    text = static(STENCILS[name], extent, steps)
    assert str(transformed(text, "wavefront")) == text


@pytest.mark.slow
def test_compiled_time_loops_give_the_bits_of_untiled_ones():
    """On threads by default; long enough for the tiles, and too short for them."""
    stencil = STENCILS["jacobi_1d"]
    programs = [
        gcg.compile(stencil.mlir("f32"), target="cpu", threads=2, time_tiles=tiled)
        for tiled in (True, False)
    ]
    random = np.random.default_rng(3)
    arrays = [random.random(1_000_001).astype("f4") for _ in stencil.arrays]
    for steps in (40, 3):
        results = [[array.copy() for array in arrays] for _ in programs]
        for program, copies in zip(programs, results, strict=True):
            program[stencil.name](steps, *copies)
        for tiled, plain in zip(*results, strict=True):
            np.testing.assert_array_equal(tiled, plain)
    assert "wavefront" in [name for name, _ in programs[0].stages(stencil.name)]
    assert "wave" in programs[0].source(stencil.name)
    assert "wave" not in programs[1].source(stencil.name)


@pytest.mark.slow
def test_seidel_runs_on_threads_with_the_bits_of_one():
    programs = [
        gcg.compile(STENCILS["seidel_2d"].mlir(), target="cpu", threads=2, time_tiles=t)
        for t in (True, False)
    ]
    random = np.random.default_rng(4)
    for extent, steps in ((201, 19), (101, 3)):
        a = random.random((extent, extent + 3))
        b = a.copy()
        programs[0].seidel_2d(steps, a)
        programs[1].seidel_2d(steps, b)
        np.testing.assert_array_equal(a, b)
    assert "prange" in programs[0].source("seidel_2d")
    assert "one_at_a_time()" in programs[0].source("seidel_2d")


LATTICE = """
func.func @longest(%M: memref<512x512xf64>, %w: memref<512x512xf64>) {
  affine.for %i = 1 to 512 {
    affine.for %j = 1 to 512 {
      %a = affine.load %M[%i - 1, %j] : memref<512x512xf64>
      %b = affine.load %M[%i, %j - 1] : memref<512x512xf64>
      %m = arith.maximumf %a, %b : f64
      %c = affine.load %w[%i, %j] : memref<512x512xf64>
      %s = arith.addf %m, %c : f64
      affine.store %s, %M[%i, %j] : memref<512x512xf64>
    }
  }
  return
}
"""


@pytest.mark.slow
def test_a_lattice_without_parallel_loops_runs_in_wavefronts():
    shape = shape_of(transformed(LATTICE, "wavefront"))
    assert shape.startswith("for for parallel for")
    program = gcg.compile(LATTICE, target="cpu", threads=2)
    random = np.random.default_rng(5)
    m, w = np.zeros((512, 512)), random.random((512, 512))
    program.longest(m, w)
    expected = np.zeros((512, 512))
    for i in range(1, 512):
        for j in range(1, 512):
            best = max(expected[i - 1, j], expected[i, j - 1])
            expected[i, j] = best + w[i, j]
    np.testing.assert_array_equal(m, expected)
