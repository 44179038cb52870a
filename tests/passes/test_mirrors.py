"""Loops that store along both of them: tiles, one half of which is transposed."""

from __future__ import annotations

import numpy as np
import pytest
from interpreter import interpret

import gpucodegen as gcg
from gpucodegen.passes.cpu.vectorize import Vectorize
from gpucodegen.passes.framework.base import run_pipeline

N = 37
BOUNDS = {
    "upper": ("affine_map<(d0) -> (d0)>(%i)", "37"),
    "lower": ("0", "affine_map<(d0) -> (d0 + 1)>(%i)"),
    "box": ("0", "37"),
    "other corner": ("affine_map<(d0) -> (-d0 + 36)>(%i)", "37"),
    "steep": ("affine_map<(d0) -> (2 * d0 - 33)>(%i)", "37"),
    "band": ("affine_map<(d0) -> (d0 - 17)>(%i)", "affine_map<(d0) -> (d0 + 2)>(%i)"),
}
FIRST = 17
"""The first row: no bound leaves the array behind it."""
TYPES = {"f32": np.float32, "f64": np.float64}


def nest(element: str, bounds: tuple[str, str], body: str) -> str:
    ty = f"memref<{N}x{N}x{element}>"
    low, high = bounds
    return f"""func.func @f(%A: {ty}, %B: {ty}, %D: {ty}) {{
      affine.for %i = {FIRST} to 35 {{
        affine.for %j = {low} to {high} {{
          {body.replace("TYPE", ty).replace("ELEMENT", element)}
        }}
      }}
      return
    }}"""


APART = """%a = affine.load %A[%i, %j] : TYPE
  %b = arith.addf %a, %a : ELEMENT
  affine.store %b, %B[%i, %j] : TYPE
  affine.store %a, %D[%j, %i] : TYPE"""
IN_PLACE = """%a = affine.load %A[%i, %j] : TYPE
  %b = arith.addf %a, %a : ELEMENT
  affine.store %a, %A[%i, %j] : TYPE
  affine.store %b, %A[%j, %i] : TYPE"""


def numbers(element: str) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal((N, N)).astype(TYPES[element]) for _ in range(3)]


def check(text: str, element: str, threads: int) -> gcg.Program:
    """The loops as they stand tell the result."""
    arguments = numbers(element)
    wanted = interpret(gcg.parse(text), arguments).arrays
    compiled = gcg.compile(text, target="cpu", threads=threads)
    compiled.f(*arguments)
    for found, right in zip(arguments, wanted, strict=True):
        np.testing.assert_array_equal(found, right)
    return compiled


@pytest.mark.parametrize("element", TYPES)
@pytest.mark.parametrize("bounds", BOUNDS.values(), ids=BOUNDS)
@pytest.mark.sampled(5)
def test_both_halves(bounds: tuple[str, str], element: str):
    check(nest(element, bounds, APART), element, 1)


@pytest.mark.parametrize("bounds", ["upper", "lower"])
def test_a_triangle_is_mirrored_in_place(bounds: str):
    compiled = check(nest("f64", BOUNDS[bounds], IN_PLACE), "f64", 1)
    assert "vector.transpose" in dict(compiled.stages("f"))["vectorize"]


@pytest.mark.parametrize("bounds", ["upper", "band"])
def test_blocks_of_rows_run_on_threads(bounds: str):
    text = nest("f32", BOUNDS[bounds], APART).replace("affine.for %i = ", PARALLEL)
    text = text.replace(f"{FIRST} to 35", f"= ({FIRST}) to (35)")
    module = gcg.parse(text)
    assert "vector.transpose" in str(
        run_pipeline(module, [Vectorize(vector_bits=256, threads=2)])
    )
    check(nest("f32", BOUNDS[bounds], APART), "f32", 2)


PARALLEL = "affine.parallel (%i) "


def test_a_box_whose_mirror_is_read_keeps_its_order():
    text = nest("f64", BOUNDS["box"], IN_PLACE)
    compiled = check(text, "f64", 1)
    assert "vector.transpose" not in dict(compiled.stages("f"))["vectorize"]
