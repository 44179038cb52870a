"""Memrefs that are stored by maps, against the maps evaluated point by point."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import gpucodegen as gcg
from gpucodegen import errors
from gpucodegen.dialects.shared.memory import box, collision, lowest
from gpucodegen.ir.affine import AffineExpr, AffineMap, Const, Dim

COPY = """
#layout = affine_map<{layout}>
func.func @f(%A: memref<{n}x{m}xf32>, %B: memref<{n}x{m}xf32, #layout>) {{
  affine.for %i = 0 to {n} {{
    affine.for %j = 0 to {m} {{
      %0 = affine.load %A[%i, %j] : memref<{n}x{m}xf32>
      affine.store %0, %B[%i, %j] : memref<{n}x{m}xf32, #layout>
    }}
  }}
  return
}}
"""

extents = st.integers(1, 7)
tiles = st.integers(2, 4)


@st.composite
def layouts(draw: st.DrawFn) -> tuple[AffineMap, tuple[int, int]]:
    """A one-to-one layout: tiles, shifts and reversals of two dimensions, permuted."""
    shape = draw(extents), draw(extents)
    results: list[AffineExpr] = []
    for position, extent in enumerate(shape):
        index: AffineExpr = Dim(position)
        if draw(st.booleans()):
            index = Const(extent - 1) - index
        index = index + draw(st.integers(0, 3))
        tile = draw(tiles)
        results += [index // tile, index % tile] if draw(st.booleans()) else [index]
    return AffineMap(2, 0, tuple(draw(st.permutations(results)))), shape


def places(layout: AffineMap, shape: tuple[int, int]):
    points = list(product(*map(range, shape)))
    return points, [layout.evaluate(point) for point in points]


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(layouts())
def test_the_box_holds_every_place(case: tuple[AffineMap, tuple[int, int]]):
    layout, shape = case
    _, found = places(layout, shape)
    extents = box(layout, [Const(n) for n in shape])
    assert lowest(layout, shape) >= 0
    assert collision(layout, shape) is None
    for d, extent in enumerate(extents):
        assert isinstance(extent, Const)
        highest = max(place[d] for place in found)
        spare = 0 if " mod " not in str(layout.results[d]) else 3
        assert highest < extent.value <= highest + 1 + spare


SPLIT = AffineMap(2, 0, (Dim(0), Dim(1) // 2, Dim(1) % 2))


@pytest.mark.sampled(12)
@settings(max_examples=20, deadline=None)
@given(layouts(), st.sampled_from(["cpu", "sim"]))
@example((SPLIT, (1, 1)), "cpu")
def test_elements_lie_where_the_map_says(
    case: tuple[AffineMap, tuple[int, int]], target: str
):
    layout, (n, m) = case
    source = np.arange(1, n * m + 1, dtype="f4").reshape(n, m)
    extents = box(layout, [Const(n), Const(m)])
    memory = np.zeros([e.value for e in extents if isinstance(e, Const)], "f4")
    permutes = all(isinstance(result, Dim) for result in layout.results)
    passed = memory.reshape(n, m) if permutes else memory
    gcg.compile(COPY.format(layout=layout, n=n, m=m), target=target).f(source, passed)
    points, found = places(layout, (n, m))
    for point, place in zip(points, found, strict=True):
        assert memory[place] == source[point]
    assert np.count_nonzero(memory) == n * m


coefficients = st.integers(0, 4)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(extents, extents, coefficients, coefficients, tiles)
def test_collisions_are_those_of_brute_force(n: int, m: int, a: int, b: int, tile: int):
    layout = AffineMap(2, 0, ((Dim(0) * a + Dim(1) * b) // tile, Dim(1) % tile))
    _, found = places(layout, (n, m))
    pair = collision(layout, (n, m))
    assert (pair is None) == (len(set(found)) == len(found))
    if pair is not None:
        first, second = pair
        assert first != second
        assert layout.evaluate(first) == layout.evaluate(second)


@pytest.mark.parametrize(
    ("layout", "rows", "words"),
    [
        ("(d0, d1) -> (d0 floordiv 2, d1)", 2, r"\[0, 0\] and \[1, 0\]"),
        ("(d0, d1) -> (d0 - 1, d1)", 3, "below the start"),
    ],
)
def test_other_layouts_are_refused(layout: str, rows: int, words: str):
    program = gcg.compile(COPY.format(layout=layout, n=4, m=5), target="cpu")
    with pytest.raises(errors.LayoutNotInjective, match=words):
        program.f(np.zeros((4, 5), "f4"), np.zeros((rows, 5), "f4"))


def test_memory_that_is_too_small_is_refused():
    text = COPY.format(layout="(d0, d1) -> (d0 floordiv 4, d1, d0 mod 4)", n=5, m=3)
    program = gcg.compile(text, target="cpu")
    with pytest.raises(errors.WrongArgumentRank, match="rank 3, got 2"):
        program.f(np.zeros((5, 3), "f4"), np.zeros((5, 3), "f4"))
