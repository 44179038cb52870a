"""``linalg.pack`` and ``linalg.unpack``, against NumPy's reshape and transpose."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import gpucodegen as gcg


@dataclass(frozen=True)
class Case:
    """Rows, which of their dimensions are cut into what, and the order of tiles."""

    rows: tuple[int, ...]
    positions: tuple[int, ...]
    tiles: tuple[int, ...]
    order: tuple[int, ...]

    @property
    def counts(self) -> list[int]:
        tiles = dict(zip(self.positions, self.tiles, strict=True))
        return [-(-n // tiles.get(d, 1)) for d, n in enumerate(self.rows)]

    @property
    def packed(self) -> tuple[int, ...]:
        return (*(self.counts[d] for d in self.order), *self.tiles)

    def answer(self, rows: np.ndarray, padding: float) -> np.ndarray:
        tiles = dict(zip(self.positions, self.tiles, strict=True))
        whole = [n * tiles.get(d, 1) for d, n in enumerate(self.counts)]
        missing = [(0, m - n) for m, n in zip(whole, rows.shape, strict=True)]
        split = [s for d, n in enumerate(self.counts) for s in (n, tiles.get(d, 1))]
        cut = np.pad(rows, missing, constant_values=padding).reshape(split)
        axes = [*(2 * d for d in self.order), *(2 * p + 1 for p in self.positions)]
        others = sorted(set(range(2 * rows.ndim)) - set(axes))
        return cut.transpose(*axes, *others).reshape(self.packed)

    @property
    def clauses(self) -> str:
        return (
            f"outer_dims_perm = {list(self.order)}"
            f" inner_dims_pos = {list(self.positions)} inner_tiles = {list(self.tiles)}"
        )


CASES = [
    Case((8, 12), (0, 1), (4, 3), (0, 1)),
    Case((8, 12), (1, 0), (3, 4), (1, 0)),
    Case((7, 10), (0, 1), (4, 4), (1, 0)),
    Case((5, 6, 7), (2,), (4,), (2, 0, 1)),
]


def shaped(kind: str, shape: tuple[int, ...], *, dynamic: bool) -> str:
    extents = ("?" for _ in shape) if dynamic else map(str, shape)
    return f"{kind}<{'x'.join(extents)}xf32>"


def packing(case: Case, *, dynamic: bool) -> str:
    source = shaped("tensor", case.rows, dynamic=dynamic)
    numbers = len(case.rows)
    outer = shaped("tensor", case.packed[:numbers], dynamic=dynamic)
    target = outer.replace("xf32", f"x{'x'.join(map(str, case.tiles))}xf32")
    return f"""
func.func @pack(%s: {source}, %d: {target}, %p: f32) -> {target} {{
  %r = linalg.pack %s padding_value(%p : f32) {case.clauses} into %d
    : {source} -> {target}
  return %r : {target}
}}
func.func @unpack(%s: {target}, %d: {source}) -> {source} {{
  %r = linalg.unpack %s {case.clauses} into %d : {target} -> {source}
  return %r : {source}
}}"""


@pytest.mark.filterwarnings("ignore::gpucodegen.errors.PossiblyOutOfBounds")
@pytest.mark.parametrize("target", ["cpu", "sim"])
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.sampled(10)
def test_there_and_back(case: Case, dynamic: bool, target: str):
    program = gcg.compile(packing(case, dynamic=dynamic), target=target)
    rows = np.arange(np.prod(case.rows), dtype=np.float32).reshape(case.rows)
    packed = program.pack(rows, np.zeros(case.packed, np.float32), -1.0)
    np.testing.assert_array_equal(packed, case.answer(rows, -1))
    back = program.unpack(packed, np.zeros_like(rows))
    np.testing.assert_array_equal(back, rows)


def test_on_buffers_without_padding():
    text = """
    func.func @f(%s: memref<8x12xf32>, %d: memref<2x3x4x4xf32>) {
      linalg.pack %s inner_dims_pos = [0, 1] inner_tiles = [4, 4] into %d
        : memref<8x12xf32> -> memref<2x3x4x4xf32>
      return
    }"""
    case = Case((8, 12), (0, 1), (4, 4), (0, 1))
    rows = np.arange(96, dtype=np.float32).reshape(8, 12)
    packed = np.zeros(case.packed, np.float32)
    gcg.compile(text, target="cpu").f(rows, packed)
    np.testing.assert_array_equal(packed, case.answer(rows, 0))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::gpucodegen.errors.PossiblyOutOfBounds")
@pytest.mark.parametrize("target", ["cpu", "sim"])
@pytest.mark.parametrize("specialize", [False, True])
def test_tiles_of_unknown_size(target: str, specialize: bool):
    text = """
    func.func @pack(%s: tensor<?x3xf32>, %d: tensor<?x3x?xf32>, %n: index, %p: f32)
        -> tensor<?x3x?xf32> {
      %r = linalg.pack %s padding_value(%p : f32) inner_dims_pos = [0]
        inner_tiles = [%n] into %d : tensor<?x3xf32> -> tensor<?x3x?xf32>
      return %r : tensor<?x3x?xf32>
    }
    func.func @unpack(%s: tensor<?x3x?xf32>, %d: tensor<?x3xf32>, %n: index)
        -> tensor<?x3xf32> {
      %r = tensor.unpack %s inner_dims_pos = [0] inner_tiles = [%n] into %d
        : tensor<?x3x?xf32> -> tensor<?x3xf32>
      return %r : tensor<?x3xf32>
    }"""
    case = Case((7, 3), (0,), (4,), (0, 1))
    rows = np.arange(21, dtype=np.float32).reshape(7, 3)
    program = gcg.compile(text, target=target, specialize=specialize)
    packed = program.pack(rows, np.zeros(case.packed, np.float32), 4, -1.0)
    np.testing.assert_array_equal(packed, case.answer(rows, -1))
    back = program.unpack(packed, np.zeros_like(rows), 4)
    np.testing.assert_array_equal(back, rows)
