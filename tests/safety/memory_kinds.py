"""Views, vectors, copies, buffers of their own and calls."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from .made import FLOATS, Array, Made, near, numbers, options_of
from .reference import OutsideError, at, put, window

if TYPE_CHECKING:
    import numpy as np


def part(r: Random) -> Made:
    """A subview by arguments, or a cast to other sizes, that is written."""
    ty, extent = r.choice(FLOATS), r.randrange(4, 40)
    cast = r.random() < 0.4
    view = (
        f"memref.reinterpret_cast %a to offset: [%o], sizes: [%n], strides: [%s]"
        f" : memref<?x{ty}> to memref<?x{ty}, strided<[?], offset: ?>>"
        if cast
        else f"memref.subview %a[%o] [%n] [%s]"
        f" : memref<?x{ty}> to memref<?x{ty}, strided<[?], offset: ?>>"
    )
    text = f"""
func.func @f(%a: memref<?x{ty}>, %o: index, %n: index, %s: index, %x: {ty}) {{
  %v = {view}
  affine.for %i = 0 to %n {{
    affine.store %x, %v[%i] : memref<?x{ty}, strided<[?], offset: ?>>
  }}
  return
}}"""
    step = r.choice([1, 1, 2])
    offset = r.choice([0, 1, extent // 2, extent, -1])
    count = max((extent - offset) // step + r.choice([0, 0, -1, 1, 50]), 0)

    def meaning(a: np.ndarray, o: int, n: int, s: int, x: float) -> None:
        for i in range(n):
            put(a, x, o + i * s)

    arguments = (Array(numbers(r, [extent], ty)), offset, count, step, 3.0)
    return Made("part", text, arguments, meaning, options_of(r))


def lanes(r: Random) -> Made:
    """Vectors loaded and stored, whole or with a padded tail."""
    ty, extent = r.choice(FLOATS), r.randrange(1, 40)
    width, padded = r.choice([2, 4, 8]), r.random() < 0.5
    plain = f"""
    %v = vector.load %a[%i] : memref<?x{ty}>, vector<{width}x{ty}>
    vector.store %v, %b[%i] : memref<?x{ty}>, vector<{width}x{ty}>"""
    tail = f"""
    %v = vector.transfer_read %a[%i], %pad : memref<?x{ty}>, vector<{width}x{ty}>
    vector.transfer_write %v, %b[%i] : vector<{width}x{ty}>, memref<?x{ty}>"""
    text = f"""
func.func @f(%a: memref<?x{ty}>, %b: memref<?x{ty}>, %n: index) {{
  %pad = arith.constant 7.0 : {ty}
  affine.for %i = 0 to %n step {width} {{{tail if padded else plain}
  }}
  return
}}"""

    def meaning(a: np.ndarray, b: np.ndarray, n: int) -> None:
        for i in range(0, n, width):
            for lane in range(i, i + width):
                if not padded:
                    put(b, at(a, lane), lane)
                elif lane < len(b):
                    b[lane] = a[lane] if lane < len(a) else 7.0

    arrays = tuple(Array(numbers(r, [near(r, extent)], ty)) for _ in "ab")
    return Made("lanes", text, (*arrays, extent), meaning, options_of(r))


def copied(r: Random) -> Made:
    """``memref.copy`` of buffers that may have other shapes."""
    ty = r.choice(FLOATS)
    m, n = r.randrange(1, 10), r.randrange(1, 20)
    text = f"""
func.func @f(%a: memref<?x?x{ty}>, %b: memref<?x?x{ty}>) {{
  memref.copy %a, %b : memref<?x?x{ty}> to memref<?x?x{ty}>
  return
}}"""

    def meaning(a: np.ndarray, b: np.ndarray) -> None:
        if a.shape != b.shape:
            raise OutsideError
        b[...] = a

    shapes = ([m, n], [near(r, m), near(r, n)])
    arrays = tuple(Array(numbers(r, shape, ty)) for shape in shapes)
    return Made("copied", text, arrays, meaning, options_of(r))


def transfer(r: Random) -> Made:
    """``dma_start`` from and to places that arguments give."""
    ty, extent = r.choice(FLOATS), r.randrange(1, 40)
    text = f"""
func.func @f(%a: memref<?x{ty}>, %b: memref<?x{ty}>, %p: index, %q: index, %n: index) {{
  %c0 = arith.constant 0 : index
  %tag = memref.alloc() : memref<1xi32>
  memref.dma_start %a[%p], %b[%q], %n, %tag[%c0]
    : memref<?x{ty}>, memref<?x{ty}>, memref<1xi32>
  memref.dma_wait %tag[%c0], %n : memref<1xi32>
  memref.dealloc %tag : memref<1xi32>
  return
}}"""

    def meaning(a: np.ndarray, b: np.ndarray, p: int, q: int, n: int) -> None:
        if n < 0:
            raise OutsideError
        if n:
            window(b, (q,), (n,))[...] = window(a, (p,), (n,))

    arrays = tuple(Array(numbers(r, [extent], ty)) for _ in "ab")
    places = [r.choice([0, 0, 1, extent // 2, -1, extent]) for _ in "pq"]
    count = max(extent - max(*places, 0) + r.choice([0, 0, 1, -1, 30]), 0)
    return Made("transfer", text, (*arrays, *places, count), meaning, options_of(r))


def tiles(r: Random) -> Made:
    """Subviews in a loop, of a size that need not divide the array."""
    ty, extent, size = r.choice(FLOATS), r.randrange(1, 40), r.choice([2, 4, 5])
    view = f"memref<{size}x{ty}, strided<[1], offset: ?>>"
    text = f"""
func.func @f(%a: memref<?x{ty}>, %n: index, %x: {ty}) {{
  affine.for %i = 0 to %n step {size} {{
    %t = memref.subview %a[%i] [{size}] [1] : memref<?x{ty}> to {view}
    affine.for %j = 0 to {size} {{
      affine.store %x, %t[%j] : {view}
    }}
  }}
  return
}}"""

    def meaning(a: np.ndarray, n: int, x: float) -> None:
        for i in range(0, n, size):
            for j in range(size):
                put(a, x, i + j)

    count = extent if r.random() < 0.3 else extent // size * size
    array = Array(numbers(r, [near(r, extent)], ty))
    return Made("tiles", text, (array, count, 2.0), meaning, options_of(r))


def local(r: Random) -> Made:
    """A buffer of the function's own, of another size than the loop over it."""
    ty, extent = r.choice(FLOATS), r.randrange(1, 30)
    kind = r.choice(["alloc", "alloca"])
    free = f"  memref.dealloc %t : memref<?x{ty}>" if kind == "alloc" else ""
    text = f"""
func.func @f(%a: memref<?x{ty}>, %m: index, %n: index) {{
  %t = memref.{kind}(%m) : memref<?x{ty}>
  affine.for %i = 0 to %n {{
    %v = affine.load %a[%i] : memref<?x{ty}>
    affine.store %v, %t[%n - %i - 1] : memref<?x{ty}>
  }}
  affine.for %i = 0 to %n {{
    %v = affine.load %t[%i] : memref<?x{ty}>
    affine.store %v, %a[%i] : memref<?x{ty}>
  }}
{free}
  return
}}"""

    def meaning(a: np.ndarray, m: int, n: int) -> None:
        if m < 0 or n > min(m, len(a)):
            raise OutsideError
        a[: max(n, 0)] = a[: max(n, 0)][::-1].copy()

    array = Array(numbers(r, [near(r, extent)], ty))
    sizes = near(r, extent), near(r, extent)
    return Made("local", text, (array, *sizes), meaning, options_of(r))


def called(r: Random) -> Made:
    """Another function that is called with an index; or a cast to a static type."""
    ty, extent = r.choice(FLOATS), r.randrange(1, 30)
    static = r.random() < 0.5
    inner = f"memref<{extent}x{ty}>" if static else f"memref<?x{ty}>"
    given = (
        f"  %b = memref.cast %a : memref<?x{ty}> to {inner}"
        if static
        else f"  %b = memref.cast %a : memref<?x{ty}> to memref<?x{ty}>"
    )
    text = f"""
func.func private @set(%a: {inner}, %i: index, %x: {ty}) {{
  %o = memref.load %a[%i] : {inner}
  %s = arith.addf %o, %x : {ty}
  memref.store %s, %a[%i] : {inner}
  return
}}
func.func @f(%a: memref<?x{ty}>, %n: index, %x: {ty}) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
{given}
  scf.for %i = %c0 to %n step %c1 {{
    func.call @set(%b, %i, %x) : ({inner}, index, {ty}) -> ()
  }}
  return
}}"""

    def meaning(a: np.ndarray, n: int, x: float) -> None:
        if static and len(a) != extent:
            raise OutsideError
        for i in range(n):
            put(a, at(a, i) + x, i)

    array = Array(numbers(r, [near(r, extent)], ty))
    return Made("called", text, (array, near(r, extent), 2.0), meaning, options_of(r))
