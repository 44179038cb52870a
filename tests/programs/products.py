"""Products of matrices as MLIR text, and factors whose sums are exact in any order."""

from __future__ import annotations

import numpy as np


def integers(*shape: int, dtype: str = "f4", most: int = 4) -> np.ndarray:
    """Of a small magnitude: sums of a few thousand products are exact in f32."""
    return np.random.default_rng(0).integers(-most, most + 1, shape).astype(dtype)


def product(
    m: int,
    n: int,
    k: int,
    element: str,
    *,
    left: str = "ik",
    right: str = "kj",
    behind: str = "",
) -> str:
    """``C += A B`` with the factors' indices as given, and what stands behind it."""
    extents = {"i": m, "j": n, "k": k}

    def memref(axes: str) -> str:
        shape = "x".join(str(extents[axis]) for axis in axes)
        return f"memref<{shape}x{element}>"

    def indexing(axes: str) -> str:
        return f"affine_map<(i, j, k) -> ({', '.join(axes)})>"

    a, b, c = memref(left), memref(right), memref("ij")
    maps = ", ".join(map(indexing, (left, right, "ij")))
    return f"""func.func @f(%A: {a}, %B: {b}, %C: {c}) {{
      linalg.matmul indexing_maps = [{maps}] ins(%A, %B : {a}, {b}) outs(%C : {c})
      {behind}
      return
    }}"""


def by_way_of(n: int, element: str, left: str, right: str, into: str) -> str:
    """Nests for ``t = half + left right`` in a new buffer, copied into another."""
    square = f"memref<{n}x{n}x{element}>"
    return f"""%t = memref.alloc() : {square}
      affine.for %i = 0 to {n} {{
        affine.for %j = 0 to {n} {{
          affine.store %half, %t[%i, %j] : {square}
        }}
      }}
      affine.for %i = 0 to {n} {{
        affine.for %j = 0 to {n} {{
          affine.for %k = 0 to {n} {{
            %x = affine.load %t[%i, %j] : {square}
            %y = affine.load {left}[%i, %k] : {square}
            %z = affine.load {right}[%k, %j] : {square}
            %p = arith.mulf %y, %z : {element}
            %s = arith.addf %x, %p : {element}
            affine.store %s, %t[%i, %j] : {square}
          }}
        }}
      }}
      affine.for %i = 0 to {n} {{
        affine.for %j = 0 to {n} {{
          %x = affine.load %t[%i, %j] : {square}
          affine.store %x, {into}[%i, %j] : {square}
        }}
      }}"""
