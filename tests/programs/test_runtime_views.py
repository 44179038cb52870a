"""Views that the runtime makes: other ranks, shapes and elements of one memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors
from tests.targets import ALL


def matrix() -> np.ndarray:
    return np.arange(12, dtype=np.float32).reshape(4, 3)


RANKS = """
func.func @f(%u: memref<*xf32>) -> (index, index, memref<*xf32>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %r = memref.rank %u : memref<*xf32>
  %d = memref.dim %u, %c0 : memref<*xf32>
  %is_matrix = arith.cmpi eq, %r, %c2 : index
  scf.if %is_matrix {
    %m = memref.cast %u : memref<*xf32> to memref<?x3xf32>
    affine.for %i = 0 to %d {
      affine.for %j = 0 to 3 {
        %v = affine.load %m[%i, %j] : memref<?x3xf32>
        %w = arith.addf %v, %v : f32
        affine.store %w, %m[%i, %j] : memref<?x3xf32>
      }
    }
  } else {
    %m = memref.cast %u : memref<*xf32> to memref<?xf32, strided<[?], offset: ?>>
    affine.for %i = 0 to %d {
      %v = affine.load %m[%i] : memref<?xf32, strided<[?], offset: ?>>
      %w = arith.negf %v : f32
      affine.store %w, %m[%i] : memref<?xf32, strided<[?], offset: ?>>
    }
  }
  return %r, %d, %u : index, index, memref<*xf32>
}"""


@pytest.mark.parametrize("target", ALL)
def test_arguments_of_any_rank(target: str):
    f = gcg.compile(RANKS, target=target).f
    a = matrix()
    rank, extent, same = f(a)
    assert (rank, extent) == (2, 4)
    assert same is a
    assert (a == 2 * matrix()).all()
    row = np.arange(10, dtype=np.float32)
    assert f(row[::2])[:2] == (1, 5)
    assert row.tolist() == [0, 1, -2, 3, -4, 5, -6, 7, -8, 9]


def test_a_cast_to_what_the_array_is_not_is_refused():
    f = gcg.compile(RANKS, target="cpu").f
    with pytest.raises(errors.WrongExtent):
        f(np.zeros((4, 2), np.float32))
    with pytest.raises(errors.WrongStride):
        f(np.zeros((4, 6), np.float32)[:, ::2])


OFFSETS = """
func.func @f(%a: memref<4x3xf32>, %k: index, %c: i1)
    -> (index, index, index, index, index) {
  %s = memref.subview %a[1, %k] [2, 2] [1, 1]
      : memref<4x3xf32> to memref<2x2xf32, strided<[3, 1], offset: ?>>
  %t = memref.subview %a[2, %k] [2, 2] [1, 1]
      : memref<4x3xf32> to memref<2x2xf32, strided<[3, 1], offset: ?>>
  %r = memref.reinterpret_cast %s to offset: [2], sizes: [3], strides: [2]
      : memref<2x2xf32, strided<[3, 1], offset: ?>>
      to memref<3xf32, strided<[2], offset: 2>>
  affine.for %i = 0 to 3 {
    %x = affine.load %r[%i] : memref<3xf32, strided<[2], offset: 2>>
    %y = arith.negf %x : f32
    affine.store %y, %r[%i] : memref<3xf32, strided<[2], offset: 2>>
  }
  %one = scf.if %c -> memref<2x2xf32, strided<[3, 1], offset: ?>> {
    scf.yield %s : memref<2x2xf32, strided<[3, 1], offset: ?>>
  } else {
    scf.yield %t : memref<2x2xf32, strided<[3, 1], offset: ?>>
  }
  %q = memref.reinterpret_cast %one to offset: [11], sizes: [1], strides: [1]
      : memref<2x2xf32, strided<[3, 1], offset: ?>>
      to memref<1xf32, strided<[1], offset: 11>>
  %ten = arith.constant 10.0 : f32
  affine.store %ten, %q[0] : memref<1xf32, strided<[1], offset: 11>>
  %base, %o, %n:2, %w:2 = memref.extract_strided_metadata %s
      : memref<2x2xf32, strided<[3, 1], offset: ?>>
      -> memref<f32>, index, index, index, index, index
  %b = memref.reinterpret_cast %base to offset: [%o], sizes: [1], strides: [1]
      : memref<f32> to memref<1xf32, strided<[1], offset: ?>>
  %c0 = arith.constant 0 : index
  memref.store %ten, %b[%c0] : memref<1xf32, strided<[1], offset: ?>>
  return %o, %n#0, %n#1, %w#0, %w#1 : index, index, index, index, index
}"""


@pytest.mark.parametrize("target", ALL)
def test_offsets_count_from_the_buffer(target: str):
    f = gcg.compile(OFFSETS, target=target).f
    for chosen in (True, False):
        a, expected = matrix(), matrix().ravel()
        assert f(a, 1, chosen) == (4, 2, 2, 3, 1)
        expected[2:8:2] *= -1
        expected[[11, 4]] = 10
        assert a.ravel().tolist() == expected.tolist()


SHAPES = """
func.func @f(%a: memref<4x3xf32>, %shape: memref<2xindex>, %n: index)
    -> (f32, f32, i1) {
  %r = memref.reshape %a(%shape)
      : (memref<4x3xf32>, memref<2xindex>) -> memref<?x?xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %first = memref.load %r[%c1, %c0] : memref<?x?xf32>
  %bytes = memref.alloc() : memref<64xi8>
  %v = memref.view %bytes[%c4][%n] : memref<64xi8> to memref<?x3xf32>
  affine.for %i = 0 to %n {
    affine.for %j = 0 to 3 {
      %x = affine.load %a[%i, %j] : memref<4x3xf32>
      %y = arith.addf %x, %x : f32
      memref.store %y, %v[%i, %j] : memref<?x3xf32>
    }
  }
  affine.for %i = 0 to %n {
    affine.for %j = 0 to 3 {
      %x = memref.load %v[%i, %j] : memref<?x3xf32>
      affine.store %x, %a[%i, %j] : memref<4x3xf32>
    }
  }
  memref.dealloc %bytes : memref<64xi8>
  %small = memref.alloc() : memref<3xf32>
  affine.for %i = 0 to 3 {
    %x = affine.load %a[0, %i] : memref<4x3xf32>
    affine.store %x, %small[%i] : memref<3xf32>
  }
  %large = memref.realloc %small(%n) : memref<3xf32> to memref<?xf32>
  %kept = memref.load %large[%c1] : memref<?xf32>
  memref.dealloc %large : memref<?xf32>
  %p = memref.extract_aligned_pointer_as_index %a : memref<4x3xf32> -> index
  %q = memref.extract_aligned_pointer_as_index %r : memref<?x?xf32> -> index
  %same = arith.cmpi eq, %p, %q : index
  return %first, %kept, %same : f32, f32, i1
}"""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::gpucodegen.errors.PossiblyOutOfBounds")
@pytest.mark.parametrize("target", ALL)
def test_other_shapes_and_elements_of_a_buffer(target: str):
    f = gcg.compile(SHAPES, target=target).f
    a = matrix()
    assert f(a, np.array([2, 6]), 3) == (6.0, 2.0, True)
    expected = matrix()
    expected[:3] *= 2
    assert (a == expected).all()
    with pytest.raises(
        errors.ShapesDisagree, match=r"\[4, 3\] is reshaped to \[5, 2\]"
    ):
        f(matrix(), np.array([5, 2]), 3)


OPEN = "strided<[?], offset: ?>"
ROWS = "strided<[?, ?], offset: ?>"
VIEWS = {
    "metadata": f"""
  %base, %o, %n, %s = memref.extract_strided_metadata %b
    : memref<?xf32, {OPEN}> -> memref<f32>, index, index, index
  %v = memref.reinterpret_cast %base to offset: [%o], sizes: [%n], strides: [%s]
    : memref<f32> to memref<?xf32, {OPEN}>""",
    "reinterpret": f"""
  %s = arith.constant 2 : index
  %n = arith.constant 6 : index
  %v = memref.reinterpret_cast %b to offset: [0], sizes: [%n], strides: [%s]
    : memref<?xf32, {OPEN}> to memref<?xf32, {OPEN}>""",
    "reshaped": f"""
  %m = arith.constant 2 : index
  %k = arith.constant 3 : index
  %w = memref.expand_shape %b [[0, 1]] output_shape [%m, %k]
    : memref<?xf32, {OPEN}> into memref<?x?xf32, {ROWS}>
  %v = memref.collapse_shape %w [[0, 1]]
    : memref<?x?xf32, {ROWS}> into memref<?xf32, {OPEN}>
  %n = arith.constant 6 : index""",
}
"""Views %v of the elements of %b, of which there are %n = 6 at a stride of 2."""
COPY = f"""
  affine.for %i = 0 to %n {{
    %x = affine.load %v[%i] : memref<?xf32, {OPEN}>
    affine.store %x, %a[%i] : memref<6xf32>
  }}
  return
}}"""
JOIN = (
    f"""
func.func @f(%a: memref<6xf32>, %b: memref<?x?xf32, {ROWS}>) {{
  %v = memref.collapse_shape %b [[0, 1]]
    : memref<?x?xf32, {ROWS}> into memref<?xf32, {OPEN}>
  %n = arith.constant 6 : index"""
    + COPY
)


@pytest.mark.slow
def test_views_of_arrays_whose_strides_only_a_call_knows():
    head = f"func.func @f(%a: memref<6xf32>, %b: memref<?xf32, {OPEN}>) {{"
    row = np.arange(24, dtype=np.float32)
    grid = row.reshape(4, 6)
    joining = [row[3:21:3].reshape(2, 3), grid[:1, :6], row[1:19:3].reshape(6, 1)]
    a = np.zeros(6, np.float32)
    for target in ALL:
        for specialize in (True, False):
            options: dict[str, Any] = {"target": target, "specialize": specialize}
            for name, view in VIEWS.items():
                f = gcg.compile(head + view + COPY, **options).f
                b = row[1:13:2]
                a[:] = 0
                f(a, b)
                assert (a == b).all(), (target, name)
                if name != "metadata":  # too few elements
                    with pytest.raises(errors.LaunchError):
                        f(a, row[1:8:2])
            f = gcg.compile(JOIN, **options).f
            for b in joining:
                f(a, b)
                assert (a == b.ravel()).all(), target
            with pytest.raises(errors.ShapesDisagree):
                f(a, grid[:2, :3])


PART = """
func.func @f(%A: memref<6x8xi64>) {
  %v = memref.subview %A[1, 0] [3, 8] [1, 1]
    : memref<6x8xi64> to memref<3x8xi64, strided<[8, 1], offset: 8>>
  %w = memref.collapse_shape %v [[0, 1]]
    : memref<3x8xi64, strided<[8, 1], offset: 8>>
      into memref<24xi64, strided<[1], offset: 8>>
  affine.for %i = 0 to 24 {
    %x = affine.load %w[%i] : memref<24xi64, strided<[1], offset: 8>>
    %y = arith.addi %x, %x : i64
    affine.store %y, %TO[%i] : memref<24xi64, strided<[1], offset: 8>>
  }
  return
}"""


def test_a_collapsed_part_of_a_buffer_is_known_cell_by_cell():
    a = np.arange(48).reshape(6, 8)
    for target in ALL:
        found = a.copy()
        gcg.compile(PART.replace("%TO", "%w"), target=target).f(found)
        expected = a.copy()
        expected[1:4] *= 2
        assert np.array_equal(found, expected)
    for index, threads in {"%i": 32, "(%i + 1) mod 24": 1}.items():
        text = PART.replace("%TO[%i]", f"%w[{index}]")
        source = gcg.compile(text, target="sim").source("f")
        assert f"(1, 1, 1), ({threads}, 1, 1)" in source
