"""Programs in which indices, bounds and conditions come out of arrays."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np

from .made import FLOATS, Array, Made, indices, near, numbers, options_of
from .reference import at, put


def gather(r: Random) -> Made:
    """``b[i] = a[idx[i]]``, ``b[idx[i]] = a[i]`` or ``b[idx[i]] += a[i]``."""
    ty, index = r.choice(FLOATS), r.choice(["i64", "i32", "index"])
    form = r.choice(["gather", "scatter", "histogram"])
    extent, count = r.randrange(1, 40), r.randrange(1, 40)
    cast = (
        "%k = arith.addi %j, %c0 : index"
        if index == "index"
        else f"%k = arith.index_cast %j : {index} to index"
    )
    bodies = {
        "gather": f"""
    %v = memref.load %a[%k] : memref<?x{ty}>
    affine.store %v, %b[%i] : memref<?x{ty}>""",
        "scatter": f"""
    %v = affine.load %a[%i] : memref<?x{ty}>
    memref.store %v, %b[%k] : memref<?x{ty}>""",
        "histogram": f"""
    %v = affine.load %a[%i] : memref<?x{ty}>
    %o = memref.load %b[%k] : memref<?x{ty}>
    %s = arith.addf %v, %o : {ty}
    memref.store %s, %b[%k] : memref<?x{ty}>""",
    }
    text = f"""
func.func @f(%a: memref<?x{ty}>, %b: memref<?x{ty}>, %idx: memref<?x{index}>) {{
  %c0 = arith.constant 0 : index
  %n = memref.dim %idx, %c0 : memref<?x{index}>
  affine.for %i = 0 to %n {{
    %j = affine.load %idx[%i] : memref<?x{index}>
    {cast}{bodies[form]}
  }}
  return
}}"""

    def meaning(a: np.ndarray, b: np.ndarray, idx: np.ndarray) -> None:
        for i, k in enumerate(map(int, idx)):
            if form == "gather":
                put(b, at(a, k), i)
            else:
                put(b, at(a, i) + (at(b, k) if form == "histogram" else 0), k)

    near_count = near(r, count)
    shapes = ([extent], [near_count]) if form == "gather" else ([near_count], [extent])
    arrays = tuple(Array(numbers(r, shape, ty)) for shape in shapes)
    stored = "i64" if index == "index" else index
    chosen = Array(indices(r, count, extent, stored))
    return Made(form, text, (*arrays, chosen), meaning, options_of(r))


def rows(r: Random) -> Made:
    """A sparse matrix times a vector: bounds and indices out of arrays."""
    ty = r.choice(FLOATS)
    count, columns = r.randrange(1, 9), r.randrange(1, 12)
    text = f"""
func.func @f(%ptr: memref<?xi64>, %col: memref<?xi64>, %val: memref<?x{ty}>,
             %x: memref<?x{ty}>, %y: memref<?x{ty}>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.dim %y, %c0 : memref<?x{ty}>
  scf.for %i = %c0 to %m step %c1 {{
    %i1 = arith.addi %i, %c1 : index
    %p = memref.load %ptr[%i] : memref<?xi64>
    %q = memref.load %ptr[%i1] : memref<?xi64>
    %lo = arith.index_cast %p : i64 to index
    %hi = arith.index_cast %q : i64 to index
    scf.for %j = %lo to %hi step %c1 {{
      %k = memref.load %col[%j] : memref<?xi64>
      %l = arith.index_cast %k : i64 to index
      %v = memref.load %val[%j] : memref<?x{ty}>
      %w = memref.load %x[%l] : memref<?x{ty}>
      %o = memref.load %y[%i] : memref<?x{ty}>
      %s = arith.mulf %v, %w : {ty}
      %t = arith.addf %o, %s : {ty}
      memref.store %t, %y[%i] : memref<?x{ty}>
    }}
  }}
  return
}}"""
    sizes = [r.randrange(0, 4) for _ in range(count)]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    total = int(starts[-1])
    if r.random() < 0.4:
        starts[r.randrange(count + 1)] = r.choice([total + 1, total + 900, -2])

    def meaning(ptr: Any, col: Any, val: Any, x: Any, y: Any) -> None:
        for i in range(len(y)):
            for j in range(int(at(ptr, i)), int(at(ptr, i + 1))):
                k = int(at(col, j))
                y[i] += at(val, j) * at(x, k)

    arguments = (
        Array(starts),
        Array(indices(r, near(r, total), columns)),
        Array(numbers(r, [near(r, total)], ty)),
        Array(numbers(r, [columns], ty)),
        Array(numbers(r, [near(r, count)], ty)),
    )
    return Made("rows", text, arguments, meaning, options_of(r))


def chosen(r: Random) -> Made:
    """An access under a condition on data, and a loop of branches."""
    ty, extent = r.choice(FLOATS), r.randrange(1, 30)
    text = f"""
func.func @f(%a: memref<?x{ty}>, %b: memref<?x{ty}>, %n: index, %at: index) {{
  %zero = arith.constant 0.0 : {ty}
  affine.for %i = 0 to %n {{
    %v = affine.load %a[%i] : memref<?x{ty}>
    %big = arith.cmpf ogt, %v, %zero : {ty}
    scf.if %big {{
      %k = arith.addi %i, %at : index
      memref.store %v, %b[%k] : memref<?x{ty}>
    }}
  }}
  return
}}"""

    def meaning(a: np.ndarray, b: np.ndarray, n: int, shift: int) -> None:
        for i in range(n):
            if at(a, i) > 0:
                put(b, at(a, i), i + shift)

    arrays = tuple(Array(numbers(r, [near(r, extent)], ty)) for _ in "ab")
    shift = r.choice([0, 0, 1, -1, 3])
    return Made("chosen", text, (*arrays, extent, shift), meaning, options_of(r))


def branches(r: Random) -> Made:
    """A loop of blocks, run by the host or in a kernel."""
    ty, extent = r.choice(FLOATS), r.randrange(1, 30)
    text = f"""
func.func @f(%a: memref<?x{ty}>, %b: memref<?x{ty}>, %n: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  cf.br ^head(%c0 : index)
^head(%i: index):
  %more = arith.cmpi slt, %i, %n : index
  cf.cond_br %more, ^body, ^end
^body:
  %v = memref.load %a[%i] : memref<?x{ty}>
  %w = arith.addf %v, %v : {ty}
  memref.store %w, %b[%i] : memref<?x{ty}>
  %next = arith.addi %i, %c1 : index
  cf.br ^head(%next : index)
^end:
  return
}}"""

    def meaning(a: np.ndarray, b: np.ndarray, n: int) -> None:
        for i in range(n):
            put(b, 2 * at(a, i), i)

    arrays = tuple(Array(numbers(r, [near(r, extent)], ty)) for _ in "ab")
    return Made("branches", text, (*arrays, near(r, extent)), meaning, options_of(r))


def searched(r: Random) -> Made:
    """A loop that follows indices from one element to the next."""
    extent = r.randrange(1, 20)
    text = """
func.func @f(%next: memref<?xi64>, %seen: memref<?xi32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1 : i32
  %end = scf.for %i = %c0 to %n step %c1 iter_args(%at = %c0) -> index {
    memref.atomic_rmw addi %one, %seen[%at] : (i32, memref<?xi32>) -> i32
    %k = memref.load %next[%at] : memref<?xi64>
    %to = arith.index_cast %k : i64 to index
    scf.yield %to : index
  }
  return
}"""

    def meaning(following: np.ndarray, seen: np.ndarray, n: int) -> None:
        place = 0
        for _ in range(n):
            put(seen, at(seen, place) + 1, place)
            place = int(at(following, place))

    arguments = (
        Array(indices(r, extent, extent)),
        Array(numbers(r, [near(r, extent)], "i32")),
        r.randrange(0, 40),
    )
    return Made("searched", text, arguments, meaning, options_of(r))
