"""Views of arguments whose extents and strides a call fixes."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import gpucodegen as gcg

OPEN = "memref<?x4xf32, strided<[?, ?], offset: ?>>"
PLAIN = "memref<?x4xf32>"
INNER = "memref<2x2xf32, strided<[?, ?], offset: ?>>"
LINE = "memref<2xf32, strided<[?], offset: ?>>"

VIEWS = {
    "subview": (
        OPEN,
        f"""%w = memref.subview %a[1, 1] [2, 2] [1, 2] : {OPEN} to {INNER}
        %v = memref.subview %w[1, 0] [1, 2] [1, 1] : {INNER} to {LINE}""",
        (LINE, "1"),
        (2, 3),
    ),
    "open": (
        PLAIN,
        f"""%d = memref.dim %a, %c0 : {PLAIN}
        %v = memref.subview %a[0, 1] [%d, 2] [1, 1] : {PLAIN}
            to memref<?x2xf32, strided<[4, 1], offset: 1>>""",
        ("memref<?x2xf32, strided<[4, 1], offset: 1>>", "7, 1"),
        (7, 2),
    ),
    "origin": (
        "memref<?x?xf32>",
        """%v = memref.subview %a[0, 0] [2, 2] [1, 3]
            : memref<?x?xf32> to memref<2x2xf32, strided<[?, 3]>>""",
        ("memref<2x2xf32, strided<[?, 3]>>", "1, 1"),
        (1, 3),
    ),
    "transpose": (
        OPEN,
        f"""%v = memref.transpose %a (d0, d1) -> (d1, d0) : {OPEN}
            to memref<4x?xf32, strided<[?, ?], offset: ?>>""",
        ("memref<4x?xf32, strided<[?, ?], offset: ?>>", "3, 6"),
        (6, 3),
    ),
    "collapse": (
        PLAIN,
        f"%v = memref.collapse_shape %a [[0, 1]] : {PLAIN} into memref<?xf32>",
        ("memref<?xf32>", "9"),
        (2, 1),
    ),
    "expand": (
        PLAIN,
        f"""%v = memref.expand_shape %a [[0], [1, 2]] output_shape [8, 2, 2]
            : {PLAIN} into memref<?x2x2xf32>""",
        ("memref<?x2x2xf32>", "5, 1, 0"),
        (5, 2),
    ),
    "alignment": (
        PLAIN,
        f"%v = memref.assume_alignment %a, 4 : {PLAIN}",
        (PLAIN, "4, 2"),
        (4, 2),
    ),
}


@pytest.mark.cases("name", VIEWS)
def test_the_types_of_views_follow(name: str):
    source, view, (ty, place), cell = VIEWS[name]
    text = f"""func.func @f(%a: {source}) -> f32 {{
      %c0 = arith.constant 0 : index
      {view}
      %x = affine.load %v[{place}] : {ty}
      return %x : f32
    }}"""
    a = np.arange(32, dtype=np.float32).reshape(8, 4)
    assert gcg.compile(text, target="cpu").f(a) == a[cell]


def test_the_host_views_arrays_with_gaps():
    """What owns the memory, as far as NumPy knows, need not be in one piece."""
    text = f"""func.func @f(%a: {OPEN}) -> f32 {{
      %v = memref.transpose %a (d0, d1) -> (d1, d0) : {OPEN}
          to memref<4x?xf32, strided<[?, ?], offset: ?>>
      %x = affine.load %v[3, 6] : memref<4x?xf32, strided<[?, ?], offset: ?>>
      return %x : f32
    }}"""
    memory = np.arange(100, dtype=np.float32)
    a = as_strided(memory, (8, 4), (48, 8))
    assert gcg.compile(text, target="cpu").f(a) == a[6, 3]


@pytest.mark.parametrize("count", [1, 3])
def test_a_subview_drops_the_same_dimension_where_sizes_become_numbers(count: int):
    """A size that is 1 in this call is not the dimension that the type drops."""
    text = """
    func.func @f(%x: memref<?x3xf32>, %y: memref<?xf32>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = memref.dim %y, %c0 : memref<?xf32>
      %v = memref.subview %x[0, 2] [%n, 1] [1, 1]
        : memref<?x3xf32> to memref<?xf32, strided<[3], offset: 2>>
      scf.for %i = %c0 to %n step %c1 {
        %e = memref.load %v[%i] : memref<?xf32, strided<[3], offset: 2>>
        memref.store %e, %y[%i] : memref<?xf32>
      }
      return
    }"""
    x = np.arange(12, dtype="f4").reshape(4, 3)
    for target in ("interp", "cpu"):
        y = np.zeros(count, "f4")
        gcg.compile(text, target=target).f(x, y)
        np.testing.assert_array_equal(y, x[:count, 2])
