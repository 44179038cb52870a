"""Arguments of another shape, stride, rank or element type than the program has."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from .made import DTYPES, FLOATS, Array, Made, near, numbers, options_of
from .reference import at, put

if TYPE_CHECKING:
    import numpy as np


def misfit(r: Random) -> Made:
    """A static or strided argument of another shape, stride, rank or element type.

    Where the type says no strides, any run.
    """
    ty, other = r.sample(FLOATS, 2)
    rows_, columns, pitch = r.randrange(2, 8), r.randrange(2, 8), r.randrange(8, 12)
    strided = r.random() < 0.5
    layout = f", strided<[{pitch}, 1]>" if strided else ""
    memref = f"memref<{rows_}x{columns}x{ty}{layout}>"
    text = f"""
func.func @f(%a: {memref}, %x: {ty}) {{
  affine.for %i = 0 to {rows_} {{
    affine.for %j = 0 to {columns} {{
      affine.store %x, %a[%i, %j] : {memref}
    }}
  }}
  return
}}"""
    fault = r.choice(["none", "shape", "dtype", "rank", "strides", "reversed"])
    own = (pitch, 1) if strided else (columns, 1)
    shape = (rows_, columns)
    values = numbers(r, shape, ty)
    array = {
        "none": lambda: Array(values, own),
        "shape": lambda: Array(values[:-1], own),
        "dtype": lambda: Array(values.astype(DTYPES[other]), own),
        "rank": lambda: Array(values[0]),
        "strides": lambda: Array(values, (columns + 13, 1)),
        "reversed": lambda: Array(values, (-own[0], 1)),
    }[fault]()

    def meaning(a: np.ndarray, x: float) -> None:
        a[...] = x

    runs = ("none",) if strided else ("none", "strides", "reversed")
    refused = fault not in runs
    return Made("misfit", text, (array, 2.0), meaning, options_of(r), refused=refused)


def slanted(r: Random) -> Made:
    """Arrays with gaps, transposed or reversed, where the type leaves strides open."""
    ty, extent = r.choice(FLOATS), r.randrange(2, 12)
    memref = f"memref<?x?x{ty}, strided<[?, ?], offset: ?>>"
    text = f"""
func.func @f(%a: {memref}, %b: {memref}, %m: index, %n: index) {{
  affine.for %i = 0 to %m {{
    affine.for %j = 0 to %n {{
      %v = affine.load %a[%i, %j] : {memref}
      affine.store %v, %b[%i, %j] : {memref}
    }}
  }}
  return
}}"""

    def meaning(a: np.ndarray, b: np.ndarray, m: int, n: int) -> None:
        for i in range(m):
            for j in range(n):
                put(b, at(a, i, j), i, j)

    def array() -> Array:
        m, n = near(r, extent), near(r, extent)
        forms = [(n + 3, 1), (1, m + 2), (-(n + 1), 1), (2 * n + 1, -2), (1, m)]
        return Array(numbers(r, [m, n], ty), r.choice(forms))

    sizes = near(r, extent), near(r, extent)
    return Made("slanted", text, (array(), array(), *sizes), meaning, options_of(r))
