"""Tiles of a product as programs lay them out: padded, turned, moved, from the end."""

from __future__ import annotations

import numpy as np
import pytest

import gpucodegen as gcg
from tests.programs.own_tiles import OwnTiles

TEXT = """
func.func @f(%A: memref<64x64xf16>, %B: memref<64x32xf16>, %C: memref<CxSUMS>) {
  affine.for %i = 0 to 64 step 32 { affine.for %j = 0 to 32 step 32 {
    %a = memref.alloc() : memref<TILExf16, 2>
    %b = memref.alloc() : memref<32x32xf16, 2>
    affine.for %k = 0 to 64 step 32 {
      affine.for %r = 0 to 32 { affine.for %t = 0 to 32 {
        %v = affine.load %A[%i + %r, %k + %t] : memref<64x64xf16>
        affine.store %v, %a[PLACE] : memref<TILExf16, 2>
        %w = affine.load %B[%k + %r, %j + %t] : memref<64x32xf16>
        affine.store %w, %b[%r, %t] : memref<32x32xf16, 2>
      } }
      affine.for %r = 0 to 32 { affine.for %c = 0 to 32 { affine.for %t = 0 to 32 {
        %x = affine.load %a[PLACE] : memref<TILExf16, 2>
        %y = affine.load %b[%t, %c] : memref<32x32xf16, 2>
        %z = affine.load %C[CELL] : memref<CxSUMS>
        %left = arith.extf %x : f16 to f32
        %right = arith.extf %y : f16 to f32
        %p = arith.mulf %left, %right : f32
        %s = arith.addf %z, %p : f32
        affine.store %s, %C[CELL] : memref<CxSUMS>
      } } }
    }
  } }
  return
}"""
PLACES = {
    "by row": ("%r, %t", "32x32", True),
    "by term": ("%t, %r", "32x32", True),
    "rows of 80 bytes": ("%r, %t", "32x40", True),
    "rows of 66 bytes": ("%r, %t", "32x33", False),
    "from 16 bytes on": ("%r, %t + 8", "32x40", True),
    "from 6 bytes on": ("%r, %t + 3", "32x40", False),
    "from the end": ("%r, 31 - %t", "32x32", False),
    "every second row": ("2 * %r + 1, %t", "64x32", True),
}
CELLS = {
    "by row": ("%i + %r, %j + %c", "64x32", lambda c: c),
    "turned": ("%j + %c, %i + %r", "32x64", lambda c: c.T),
    "rows of 140 bytes": ("%i + %r, %j + %c + 1", "64x35", lambda c: c[:, 1:33]),
}


@pytest.mark.drawn(12)
@pytest.mark.parametrize("is_free", [False, True])
@pytest.mark.parametrize(
    ("place", "cell"),
    [*((name, "by row") for name in PLACES), *(("by row", name) for name in CELLS)],
)
@pytest.mark.sampled(24)
def test_layouts(place: str, cell: str, is_free: bool) -> None:
    where, shape, in_rows = PLACES[place]
    index, extents, of_result = CELLS[cell]
    named = {"PLACE": where, "TILE": shape, "CELL": index, "CxSUMS": f"{extents}xf32"}
    text = TEXT
    for name, value in named.items():
        text = text.replace(name, value)
    a, b, c = OwnTiles((32, 32, 32)).arguments((2, 1, 2))
    result = np.zeros([int(n) for n in extents.split("x")], np.float32)
    of_result(result)[:] = c
    program = gcg.compile(text, target="sim", reassociate=is_free)
    program["f"](a, b, result)
    assert (of_result(result) == c + a.astype("f8") @ b.astype("f8")).all()
    (code,) = program.assembly("f").values()
    assert code.count("mma.sync") == (4 if is_free else 0)
    turned = cell == "turned"  # then the tile is the factor of the columns
    if is_free and not turned:
        assert code.count("ldmatrix") == (4 if in_rows else 2)
