"""One array and the same in blocks of dask: from which size blocks, and kernels, pay.

Each line is one computation on a square of f32: by one kernel on the whole array, by
kernels on blocks (`gcg.dask`), by NumPy on the same blocks, and by NumPy on the whole.
The arrays fit in memory; blocks are halves of each side, computed by dask's threads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

import gpucodegen as gcg
from bench.harness import SETTLE, race
from bench.row import OURS, Row, Settings

SIDES = (128, 512, 1024, 2048, 4096)
MOST_FLOPS = 1 << 35
"""Of a line: the largest products take seconds for each contender."""
STEPS = 8
"""Of the grid, on which halos of so many cells travel once."""
IN_BLOCKS, NUMPY_IN_BLOCKS, NUMPY = "gcg.dask", "NumPy on dask", "NumPy"

LENGTH = """
func.func @f(%x: tensor<?x?xf32>, %y: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %a = arith.mulf %x, %x : tensor<?x?xf32>
  %b = arith.mulf %y, %y : tensor<?x?xf32>
  %c = arith.addf %a, %b : tensor<?x?xf32>
  %d = math.sqrt %c : tensor<?x?xf32>
  return %d : tensor<?x?xf32>
}"""
STEP = """
func.func @f(%a: memref<?x?xf32>, %b: memref<?x?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %k = arith.constant 0.2 : f32
  %m = memref.dim %a, %c0 : memref<?x?xf32>
  %n = memref.dim %a, %c1 : memref<?x?xf32>
  affine.for %i = 1 to affine_map<()[m] -> (m - 1)>()[%m] {
    affine.for %j = 1 to affine_map<()[n] -> (n - 1)>()[%n] {
      %x = affine.load %a[%i, %j] : memref<?x?xf32>
      %u = affine.load %a[%i - 1, %j] : memref<?x?xf32>
      %d = affine.load %a[%i + 1, %j] : memref<?x?xf32>
      %l = affine.load %a[%i, %j - 1] : memref<?x?xf32>
      %r = affine.load %a[%i, %j + 1] : memref<?x?xf32>
      %s = arith.addf %u, %d : f32
      %t = arith.addf %l, %r : f32
      %v = arith.addf %s, %t : f32
      %w = arith.addf %v, %x : f32
      %y = arith.mulf %w, %k : f32
      affine.store %y, %b[%i, %j] : memref<?x?xf32>
    }
  }
  return
}"""

Call = Callable[[], Any]
Contenders = Mapping[str, Call]


def _computed(array: Any, threads: int) -> Any:
    return array.compute(scheduler="threads", num_workers=threads)


def _in_blocks(side: int, *arrays: Any) -> list[Any]:
    """The arrays as dask's, in four blocks."""
    da: Any = import_module("dask.array")
    return [da.from_array(array, chunks=-(-side // 2)) for array in arrays]


def lengths(side: int, threads: int) -> Contenders:
    """Roots of sums of squares, element by element: as fast as memory is."""
    x, y = np.random.default_rng(0).random((2, side, side), np.float32)
    whole = gcg.compile(LENGTH, target="cpu", threads=threads)["f"]

    def by_numpy(x: Any, y: Any) -> Any:
        return np.sqrt(x * x + y * y)

    found: dict[str, Call] = {
        OURS: partial(whole, x, y),
        NUMPY: partial(by_numpy, x, y),
    }
    if find_spec("dask"):
        one = gcg.compile(LENGTH, target="cpu", threads=1)["f"]
        xs, ys = _in_blocks(side, x, y)
        kernel, plain = gcg.dask.map_blocks(one, xs, ys), by_numpy(xs, ys)
        found[IN_BLOCKS] = partial(_computed, kernel, threads)
        found[NUMPY_IN_BLOCKS] = partial(_computed, plain, threads)
    return found


def steps(side: int, threads: int) -> Contenders:
    """Means of five neighbours, again and again; the border stays."""
    grid = np.random.default_rng(0).random((side, side), np.float32)
    whole = gcg.compile(STEP, target="cpu", threads=threads)["f"]

    def ours() -> Any:
        before, after = grid.copy(), grid.copy()
        for _ in range(STEPS):
            whole(before, after)
            before, after = after, before
        return before

    def by_numpy(state: Any) -> Any:
        for _ in range(STEPS):
            later = state.copy()
            later[1:-1, 1:-1] = np.float32(0.2) * (
                state[:-2, 1:-1]
                + state[2:, 1:-1]
                + (state[1:-1, :-2] + state[1:-1, 2:])
                + state[1:-1, 1:-1]
            )
            state = later
        return state

    found: dict[str, Call] = {OURS: ours, NUMPY: partial(by_numpy, grid)}
    if find_spec("dask"):
        one = gcg.compile(STEP, target="cpu", threads=1)["f"]
        (cut,) = _in_blocks(side, grid)
        kernel = gcg.dask.stencil(one, cut, steps=STEPS, together=STEPS)
        plain = cut.map_overlap(
            by_numpy, depth=STEPS, boundary="none", meta=np.empty((0, 0), np.float32)
        )
        found[IN_BLOCKS] = partial(_computed, kernel, threads)
        found[NUMPY_IN_BLOCKS] = partial(_computed, plain, threads)
    return found


def products(side: int, threads: int) -> Contenders:
    """Products of two squares."""
    a, b = np.random.default_rng(0).random((2, side, side), np.float32)

    product = partial(gcg.kernels.matmul, a, b, target="cpu")
    found: dict[str, Call] = {OURS: product, NUMPY: partial(np.matmul, a, b)}
    if find_spec("dask"):
        left, right = _in_blocks(side, a, b)
        kernel = gcg.dask.matmul(left, right, target="cpu")
        found[IN_BLOCKS] = partial(_computed, kernel, threads)
        found[NUMPY_IN_BLOCKS] = partial(_computed, left @ right, threads)
    return found


@dataclass(frozen=True, slots=True)
class Blocks:
    """A computation on a square of some side."""

    name: str
    contenders: Callable[[int, int], Contenders]
    side: int

    def measure(self, settings: Settings) -> Row:
        """Compare with NumPy on the whole array, then race."""
        calls = self.contenders(self.side, settings.threads)
        expected = calls[NUMPY]()
        for name, call in calls.items():
            np.testing.assert_allclose(call(), expected, rtol=1e-4, err_msg=name)
        times = race(
            *calls.values(),
            clock=settings.clock,
            budget=settings.budget,
            settle=SETTLE if settings.threads > 1 else 0.0,
        )
        return Row(self.name, dict(zip(calls, times, strict=True)))


KINDS = {"lengths": lengths, f"{STEPS} steps of a grid": steps, "products": products}
LINES = tuple(
    Blocks(f"{name} {side}x{side}", contenders, side)
    for name, contenders in KINDS.items()
    for side in SIDES
    if contenders is not products or 2 * side**3 < MOST_FLOPS
)
