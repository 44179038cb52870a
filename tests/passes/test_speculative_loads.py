"""Predicated loads become loads of clamped indices, where nothing stands against it."""

from __future__ import annotations

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen.ir.operation import Operation
from gpucodegen.passes.analysis.lifting.aliases import Aliases
from gpucodegen.passes.gpu.interior import loop_range
from gpucodegen.passes.gpu.speculative_loads import with_speculative_loads

TEXT = """func.func @f(%x: memref<7x9xf32>, %y: memref<8x9x3xf32>) {
  %other = arith.constant -3.0 : f32
  affine.for %i = 0 to 8 {
    affine.for %j = 0 to 9 {
      affine.for %k = 0 to 3 {
        %v = affine.if affine_set<(d0, d1, d2) : (CONDITION)>(%i, %j, %k) -> f32 {
          %a = affine.load %x[%i - 1, %j + %k - 1] : memref<7x9xf32>
          affine.yield %a : f32
        } else {
          affine.yield %other : f32
        }
        affine.store %v, STORE
      }
    }
  }
  return
}"""
INSIDE = "d0 - 1 >= 0, d1 + d2 - 1 >= 0, -d1 - d2 + 9 >= 0"
APART = "%y[%i, %j, %k] : memref<8x9x3xf32>"


def text(condition: str = INSIDE, store: str = APART) -> str:
    return TEXT.replace("CONDITION", condition).replace("STORE", store)


def converted(source: str) -> list[Operation]:
    """The outermost loop, as operations."""
    module = gcg.parse(source)
    (outer,) = (op for op in module.functions["f"].body.operations if op.regions)
    (made,) = with_speculative_loads([outer], {}, Aliases())
    return list(made.walk())


@pytest.mark.parametrize("target", ["sim", "cpu"])
def test_the_elements_and_the_other_value(target: str) -> None:
    x = np.random.default_rng(1).standard_normal((7, 9)).astype("f4")
    y = np.zeros((8, 9, 3), "f4")
    gcg.compile(text(), target=target).f(x, y)
    wide = np.full((8, 11), -3, "f4")
    wide[1:, 1:10] = x
    right = np.stack([wide[:, k : k + 9] for k in range(3)], 2)
    np.testing.assert_array_equal(y, right)


def test_only_indices_that_may_leave_the_array_are_moved() -> None:
    names = [op.name for op in converted(text())]
    assert names.count("memref.load") == 1
    assert "affine.load" not in names
    # i - 1 is at most 6: one limit of two; j + k - 1 has both.
    assert (names.count("affine.max"), names.count("affine.min")) == (2, 1)


@pytest.mark.parametrize(
    "source",
    [
        text("d0 - d1 == 0, d0 - 1 >= 0"),
        text("d0 * 0 - 1 >= 0"),
        text(store="%x[%i - 1, %j] : memref<7x9xf32>"),
        text().replace("memref<7x9xf32>", "memref<?x9xf32>"),
    ],
    ids=["an equality", "a false condition", "a store", "an open extent"],
)
def test_other_loads_stay(source: str) -> None:
    names = [op.name for op in converted(source)]
    assert "memref.load" not in names


def test_ranges_of_loops() -> None:
    source = text().replace("%k = 0 to 3", "%k = 0 to 3 step 2")
    module = gcg.parse(source.replace("%i = 0 to 8", "%i = 3 to 3"))
    loops = [op for op in module.walk() if op.name == "affine.for"]
    ends = [
        found and tuple(e.constant for e in found) for found in map(loop_range, loops)
    ]
    assert sorted(ends, key=str) == sorted([None, (0, 8), (0, 2)], key=str)
