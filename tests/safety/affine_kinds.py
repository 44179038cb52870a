"""Affine nests over arrays that may be too small for them."""

from __future__ import annotations

from random import Random

import numpy as np

from .made import FLOATS, Array, Made, near, numbers, options_of
from .reference import OutsideError, at, put, window


def line(r: Random) -> Made:
    """A loop to ``%n`` over two arrays, with a stride and an offset."""
    ty, extent = r.choice(FLOATS), r.randrange(1, 40)
    scale, offset = r.choice([1, 1, 1, 2, 3]), r.choice([0, 0, 1, -1, 5])
    start = r.choice([0, 0, 1])
    text = f"""
func.func @f(%a: memref<?x{ty}>, %b: memref<?x{ty}>, %n: index) {{
  affine.for %i = {start} to %n {{
    %v = affine.load %a[%i * {scale} + {offset}] : memref<?x{ty}>
    affine.store %v, %b[%i] : memref<?x{ty}>
  }}
  return
}}"""
    count = r.choice([extent, extent + 1, max(extent - 2, 0), -3, 10**6])

    def meaning(a: np.ndarray, b: np.ndarray, n: int) -> None:
        for i in range(start, n):
            put(b, at(a, i * scale + offset), i)

    arrays = (
        Array(numbers(r, [near(r, extent * scale + max(offset, 0))], ty)),
        Array(numbers(r, [near(r, extent)], ty)),
    )
    return Made("line", text, (*arrays, count), meaning, options_of(r))


def plane(r: Random) -> Made:
    """Two loops whose bounds are the extents of one of three arrays."""
    ty = r.choice(FLOATS)
    rows, columns = r.randrange(1, 12), r.randrange(1, 30)
    text = f"""
func.func @f(%a: memref<?x?x{ty}>, %b: memref<?x?x{ty}>, %c: memref<?x?x{ty}>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.dim %a, %c0 : memref<?x?x{ty}>
  %n = memref.dim %a, %c1 : memref<?x?x{ty}>
  affine.for %i = 0 to %m {{
    affine.for %j = 0 to %n {{
      %x = affine.load %a[%i, %j] : memref<?x?x{ty}>
      %y = affine.load %b[%j, %i] : memref<?x?x{ty}>
      %z = arith.addf %x, %y : {ty}
      affine.store %z, %c[%i, %j] : memref<?x?x{ty}>
    }}
  }}
  return
}}"""

    def meaning(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
        for i, j in np.ndindex(*a.shape):
            put(c, at(a, i, j) + at(b, j, i), i, j)

    shapes = ([rows, columns], [near(r, columns), near(r, rows)], [near(r, rows)])
    arrays = [Array(numbers(r, shape, ty)) for shape in shapes[:2]]
    arrays.append(Array(numbers(r, [*shapes[2], near(r, columns)], ty)))
    return Made("plane", text, tuple(arrays), meaning, options_of(r))


def product(r: Random) -> Made:
    """A product of matrices, as loops or as linalg, whose extents may disagree."""
    ty = r.choice(FLOATS)
    m, n, k = (r.randrange(1, 20) for _ in range(3))
    named = r.random() < 0.5
    loops = f"""
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.dim %a, %c0 : memref<?x?x{ty}>
  %k = memref.dim %a, %c1 : memref<?x?x{ty}>
  %n = memref.dim %b, %c1 : memref<?x?x{ty}>
  affine.for %i = 0 to %m {{
    affine.for %j = 0 to %n {{
      affine.for %l = 0 to %k {{
        %x = affine.load %a[%i, %l] : memref<?x?x{ty}>
        %y = affine.load %b[%l, %j] : memref<?x?x{ty}>
        %z = affine.load %c[%i, %j] : memref<?x?x{ty}>
        %p = arith.mulf %x, %y : {ty}
        %s = arith.addf %z, %p : {ty}
        affine.store %s, %c[%i, %j] : memref<?x?x{ty}>
      }}
    }}
  }}"""
    whole = f"""
  linalg.matmul ins(%a, %b : memref<?x?x{ty}>, memref<?x?x{ty}>)
    outs(%c : memref<?x?x{ty}>)"""
    text = f"""
func.func @f(%a: memref<?x?x{ty}>, %b: memref<?x?x{ty}>, %c: memref<?x?x{ty}>) {{
{whole if named else loops}
  return
}}"""

    def meaning(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
        fits = (a.shape[0], b.shape[1]) == c.shape and a.shape[1] == b.shape[0]
        if named and not fits:
            raise OutsideError
        if a.shape[0] and b.shape[1] and a.shape[1]:
            window(b, (0, 0), (a.shape[1], b.shape[1]))
            window(c, (0, 0), (a.shape[0], b.shape[1]))
            c[: a.shape[0], : b.shape[1]] += a @ b[: a.shape[1]]

    shapes = ([m, k], [near(r, k), near(r, n)], [near(r, m), near(r, n)])
    arrays = tuple(Array(numbers(r, shape, ty)) for shape in shapes)
    return Made("product", text, arrays, meaning, options_of(r))


def stencil(r: Random) -> Made:
    """Time steps over a stencil, to ``%n`` of an array."""
    ty, extent, steps = r.choice(FLOATS), r.randrange(4, 60), r.randrange(0, 4)
    text = f"""
func.func @f(%a: memref<?x{ty}>, %b: memref<?x{ty}>, %n: index, %t: index) {{
  affine.for %s = 0 to %t {{
    affine.for %i = 1 to affine_map<()[n] -> (n - 1)>()[%n] {{
      %x = affine.load %a[%i - 1] : memref<?x{ty}>
      %y = affine.load %a[%i + 1] : memref<?x{ty}>
      %z = arith.addf %x, %y : {ty}
      affine.store %z, %b[%i] : memref<?x{ty}>
    }}
    affine.for %i = 1 to affine_map<()[n] -> (n - 1)>()[%n] {{
      %x = affine.load %b[%i] : memref<?x{ty}>
      affine.store %x, %a[%i] : memref<?x{ty}>
    }}
  }}
  return
}}"""

    def meaning(a: np.ndarray, b: np.ndarray, n: int, t: int) -> None:
        for _ in range(t):
            for i in range(1, n - 1):
                put(b, at(a, i - 1) + at(a, i + 1), i)
            for i in range(1, n - 1):
                put(a, at(b, i), i)

    arrays = tuple(Array(numbers(r, [near(r, extent)], ty)) for _ in "ab")
    return Made("stencil", text, (*arrays, extent, steps), meaning, options_of(r))


def divided(r: Random) -> Made:
    """Quotients and remainders of a loop variable as indices."""
    ty, extent = r.choice(FLOATS), r.randrange(2, 50)
    d, e = r.randrange(2, 6), r.randrange(2, 6)
    text = f"""
func.func @f(%a: memref<?x?x{ty}>, %b: memref<?x{ty}>, %n: index) {{
  affine.for %i = 0 to %n step {e} {{
    %v = affine.load %a[%i floordiv {d}, %i mod {d}] : memref<?x?x{ty}>
    affine.store %v, %b[%i] : memref<?x{ty}>
  }}
  return
}}"""

    def meaning(a: np.ndarray, b: np.ndarray, n: int) -> None:
        for i in range(0, n, e):
            put(b, at(a, i // d, i % d), i)

    shape = [near(r, -(-extent // d)), r.choice([d, d, d - 1, d + 2])]
    arrays = (Array(numbers(r, shape, ty)), Array(numbers(r, [near(r, extent)], ty)))
    return Made("divided", text, (*arrays, extent), meaning, options_of(r))
