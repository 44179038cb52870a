"""Programs whose kernels are of each kind, for tuning: text, arguments, numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

Arrays = tuple[np.ndarray, ...]


@dataclass(frozen=True, slots=True)
class Tuned:
    """A function ``f``, whose last argument is its result.

    ``shapes``: of the arguments; ``dtype``: of all but the last one.  ``expected_of``
    computes in f64.
    """

    text: str
    shapes: tuple[tuple[int, ...], ...]
    expected_of: Callable[..., np.ndarray]
    dtype: str = "f4"
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def arguments(self) -> Arrays:
        """Random numbers, and zeros for the result."""
        random = np.random.default_rng(0)
        *given, result = self.shapes
        made = (random.random(shape).astype(self.dtype) for shape in given)
        return (*made, np.zeros(result, "f4"))

    def expected(self) -> np.ndarray:
        """The result."""
        return self.expected_of(*(a.astype("f8") for a in self.arguments()[:-1]))


def matmul(rows: int, columns: int, terms: int, element: str = "f32") -> Tuned:
    """C += A B."""
    left, right = (
        f"memref<{rows}x{terms}x{element}>",
        f"memref<{terms}x{columns}x{element}>",
    )
    sums = f"memref<{rows}x{columns}xf32>"
    text = f"""func.func @f(%A: {left}, %B: {right}, %C: {sums}) {{
      linalg.matmul ins(%A, %B : {left}, {right}) outs(%C : {sums})
      return
    }}"""
    shapes = (rows, terms), (terms, columns), (rows, columns)
    dtype = {"f32": "f4", "f16": "f2"}[element]
    return Tuned(text, shapes, np.matmul, dtype)


def convolution(size: int, channels: int, filters: int) -> Tuned:
    """Windows of 3 x 3, channels last."""
    image = f"memref<1x{size + 2}x{size + 2}x{channels}xf32>"
    taps, made = (
        f"memref<3x3x{channels}x{filters}xf32>",
        f"memref<1x{size}x{size}x{filters}xf32>",
    )
    text = f"""func.func @f(%I: {image}, %K: {taps}, %O: {made}) {{
      linalg.conv_2d_nhwc_hwcf ins(%I, %K : {image}, {taps}) outs(%O : {made})
      return
    }}"""
    shapes = (
        (1, size + 2, size + 2, channels),
        (3, 3, channels, filters),
        (1, size, size, filters),
    )

    def expected(image: np.ndarray, taps: np.ndarray) -> np.ndarray:
        seen = np.lib.stride_tricks.sliding_window_view(image, (3, 3), (1, 2))
        return np.einsum("nyxckl,klcf->nyxf", seen, taps)

    return Tuned(text, shapes, expected)


def sums(rows: int, length: int, *, across: bool = False) -> Tuned:
    """Sums of rows, or of what lies across memory."""
    at, shape = ("%j, %i", (length, rows)) if across else ("%i, %j", (rows, length))
    matrix, result = f"memref<{shape[0]}x{shape[1]}xf32>", f"memref<{rows}xf32>"
    text = f"""func.func @f(%A: {matrix}, %s: {result}) {{
      affine.for %i = 0 to {rows} {{ affine.for %j = 0 to {length} {{
        %x = affine.load %A[{at}] : {matrix}
        %y = affine.load %s[%i] : {result}
        %z = arith.addf %x, %y : f32
        affine.store %z, %s[%i] : {result}
      }} }}
      return
    }}"""
    axis = 0 if across else 1
    options = {"reassociate": True}
    return Tuned(text, (shape, (rows,)), partial(np.sum, axis=axis), options=options)


def elementwise(size: int, stored: str, expected: Callable[..., np.ndarray]) -> Tuned:
    """2 x, stored at an index of %i and %j."""
    matrix = f"memref<{size}x{size}xf32>"
    text = f"""func.func @f(%A: {matrix}, %B: {matrix}) {{
      affine.for %i = 0 to {size} {{ affine.for %j = 0 to {size} {{
        %x = affine.load %A[%i, %j] : {matrix}
        %y = arith.addf %x, %x : f32
        affine.store %y, %B[{stored}] : {matrix}
      }} }}
      return
    }}"""
    return Tuned(text, ((size, size), (size, size)), expected)


def prefix(rows: int, length: int) -> Tuned:
    """Each row of B is that before it and a row of A."""
    matrix = f"memref<{rows}x{length}xf32>"
    text = f"""func.func @f(%A: {matrix}, %B: {matrix}) {{
      affine.for %t = 1 to {rows} {{
        affine.for %i = 1 to {length} {{
          %x = affine.load %A[%t, %i] : {matrix}
          %y = affine.load %B[%t - 1, %i - 1] : {matrix}
          %z = arith.addf %x, %y : f32
          affine.store %z, %B[%t, %i] : {matrix}
        }}
        affine.for %i = 1 to {length} {{
          %x = affine.load %B[%t, {length} - %i] : {matrix}
          %z = arith.addf %x, %x : f32
          affine.store %z, %B[%t, {length} - %i] : {matrix}
        }}
      }}
      return
    }}"""

    def expected(a: np.ndarray) -> np.ndarray:
        b = np.zeros_like(a)
        for t in range(1, rows):
            b[t, 1:] = 2 * (a[t, 1:] + b[t - 1, :-1])
        return b

    return Tuned(text, ((rows, length), (rows, length)), expected)


def jacobi(cells: int, steps: int) -> Tuned:
    """Means of three points, back and forth."""
    line = f"memref<{cells}xf32>"

    def sweep(source: str, target: str) -> str:
        return f"""affine.for %i = 1 to {cells - 1} {{
          %l = affine.load {source}[%i - 1] : {line}
          %m = affine.load {source}[%i] : {line}
          %r = affine.load {source}[%i + 1] : {line}
          %a = arith.addf %l, %m : f32
          %b = arith.addf %a, %r : f32
          %c = arith.mulf %b, %third : f32
          affine.store %c, {target}[%i] : {line}
        }}"""

    text = f"""func.func @f(%A: {line}, %B: {line}) {{
      %third = arith.constant 0.333333333 : f32
      affine.for %t = 0 to {steps} {{
        {sweep("%A", "%B")}
        {sweep("%B", "%A")}
      }}
      return
    }}"""

    def expected(a: np.ndarray) -> np.ndarray:
        b = np.zeros_like(a)
        for _ in range(steps):
            b[1:-1] = (a[:-2] + a[1:-1] + a[2:]) / 3
            a[1:-1] = (b[:-2] + b[1:-1] + b[2:]) / 3
        return b

    return Tuned(text, ((cells,), (cells,)), expected)


def _doubled(a: np.ndarray) -> np.ndarray:
    return 2 * a


def _doubled_across(a: np.ndarray) -> np.ndarray:
    return 2 * a.T


PROGRAMS = {
    "matmul f32": matmul(64, 64, 64),
    "matmul f16": matmul(64, 64, 64, "f16"),
    "convolution": convolution(12, 8, 16),
    "row sum": sums(16, 2048),
    "column sum": sums(64, 1024, across=True),
    "relu": elementwise(128, "%i, %j", _doubled),
    "transpose": elementwise(64, "%j, %i", _doubled_across),
    "steps": prefix(6, 100),
    "jacobi": jacobi(1 << 14, 8),
}
"""By what they are; each is of one kind of kernel or two."""
