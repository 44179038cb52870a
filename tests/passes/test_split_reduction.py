"""`split-reduction`: results in parts, and reductions that keep their order."""

from __future__ import annotations

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors
from gpucodegen.passes.loops.split_reduction import SplitReduction
from gpucodegen.schedule import bind, schedule, split_reduction

TEXT = """
func.func @f(%A: memref<7x50xELEMENT>, %B: memref<50x5xELEMENT>,
             %C: memref<7x5xELEMENT>, %D: memref<5xELEMENT>) {
  affine.for %i = 0 to 7 {
    affine.for %k = 2 to 49 step 3 {
      affine.for %j = 0 to 5 {
        %a = affine.load %A[%i, %k] : memref<7x50xELEMENT>
        %b = affine.load %B[%k, %j] : memref<50x5xELEMENT>
        %c = affine.load %C[%i, %j] : memref<7x5xELEMENT>
        %p = arith.MULTIPLY %a, %b : ELEMENT
        %s = arith.ADD %c, %p : ELEMENT
        affine.store %s, %C[%i, %j] : memref<7x5xELEMENT>
        %d = affine.load %D[%j] : memref<5xELEMENT>
        %m = arith.LARGER %d, %p : ELEMENT
        affine.store %m, %D[%j] : memref<5xELEMENT>
      }
    }
  }
  return
}"""
WORDS = {
    "i32": ("muli", "addi", "maxsi"),
    "f64": ("mulf", "addf", "maximumf"),
}


def text_of(element: str) -> str:
    found = TEXT.replace("ELEMENT", element)
    names = ("MULTIPLY", "ADD", "LARGER")
    for name, word in zip(names, WORDS[element], strict=True):
        found = found.replace(name, word)
    return found


def arrays(element: str) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(1)
    kind = {"i32": "i4", "f64": "f8"}[element]
    shapes = (7, 50), (50, 5), (7, 5), (5,)
    return tuple(rng.integers(-9, 9, shape).astype(kind) for shape in shapes)


@pytest.mark.parametrize("element", WORDS)
@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("parts", [1, 3, 16, 20])
def test_parts_give_the_results_of_the_whole(
    parts: int, interleaved: bool, element: str
) -> None:
    """Both reductions of the loop in the middle; the last parts may be empty."""
    step = SplitReduction(loop="k", parts=parts, interleaved=interleaved, relaxed=True)
    split = step.apply(gcg.parse(text_of(element)))
    a, b, c, d = arrays(element)
    terms = a[:, 2:49:3, None] * b[None, 2:49:3]
    want = c + terms.sum(1), np.maximum(d, terms.max((0, 1)))
    gcg.compile(str(split), target="interp").f(a, b, c, d)
    for found, right in zip((c, d), want, strict=True):
        np.testing.assert_array_equal(found, right)


def test_parts_run_as_blocks() -> None:
    steps = schedule(split_reduction("k", parts=4, part="p"), bind("p", "block.x"))
    program = gcg.compile(text_of("i32"), target="sim", schedule={"f": steps})
    a, b, c, d = arrays("i32")
    terms = a[:, 2:49:3, None] * b[None, 2:49:3]
    want = c + terms.sum(1)
    program.f(a, b, c, d)
    np.testing.assert_array_equal(c, want)
    assert "(4, 1, 1)" in program.f.executable().source


def loop(body: str) -> str:
    return f"""
func.func @f(%x: memref<9xf32>, %y: memref<1xf32>, %z: memref<?xf32>,
             %w: memref<1xf32>) {{
  %v = memref.cast %y : memref<1xf32> to memref<1xf32>
  affine.for %i = 0 to 9 {{
    %a = affine.load %x[%i] : memref<9xf32>
    {body}
  }}
  return
}}"""


SUM = """%t = affine.load %y[0] : memref<1xf32>
    %s = arith.addf %t, %a : f32
    affine.store %s, %y[0] : memref<1xf32>"""
MAXIMUM = SUM.replace("addf", "maximumf")
MINIMUM = SUM.replace("addf", "minimumf").replace("%t", "%p").replace("%s", "%q")
OTHERS_PREFIX = """%d = affine.load %w[0] : memref<1xf32>
    %e = arith.maximumf %d, %s : f32
    affine.store %e, %w[0] : memref<1xf32>"""
OF_VIEW = """%d = affine.load %v[0] : memref<1xf32>
    %e = arith.minimumf %d, %a : f32
    affine.store %e, %v[0] : memref<1xf32>"""


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (SUM, "keeps its order: state relaxed"),
        (f"{MAXIMUM} affine.store %a, %x[%i] : memref<9xf32>", "is no update"),
        (f"{MAXIMUM} %u = affine.load %y[0] : memref<1xf32>", "is used besides"),
        (MAXIMUM.replace("%y", "%z").replace("<1x", "<?x"), "are open"),
        (MAXIMUM.replace("%t, %a", "%t, %t"), "is no update"),
        (f"{MAXIMUM} {MINIMUM}", "two kinds"),
        ("%b = arith.addf %a, %a : f32", "reduces nothing"),
        (f"{MAXIMUM} {OTHERS_PREFIX}", "no update|used besides"),
        (f"{MAXIMUM} {OF_VIEW}", "is used besides"),
    ],
)
def test_other_loops_are_refused(body: str, reason: str) -> None:
    with pytest.raises(errors.IllegalTransformation, match=reason):
        SplitReduction(loop="i", parts=2).apply(gcg.parse(loop(body)))


def test_cells_of_loops_around_more_than_the_nest_are_refused() -> None:
    text = """
func.func @f(%x: memref<4x9xf32>, %y: memref<4xf32>, %z: f32) {
  affine.for %r = 0 to 4 {
    affine.store %z, %y[%r] : memref<4xf32>
    affine.for %i = 0 to 9 {
      %a = affine.load %x[%r, %i] : memref<4x9xf32>
      %t = affine.load %y[%r] : memref<4xf32>
      %s = arith.maximumf %t, %a : f32
      affine.store %s, %y[%r] : memref<4xf32>
    }
  }
  return
}"""
    with pytest.raises(errors.IllegalTransformation, match="distribute them first"):
        SplitReduction(loop="i", parts=2).apply(gcg.parse(text))
    with pytest.raises(errors.InvalidPassOption, match="parts=0"):
        SplitReduction(loop="i", parts=0).apply(gcg.parse(text))
