"""Programs whose schedules tests change, with arguments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import gpucodegen as gcg


@dataclass(frozen=True, slots=True)
class Sample:
    """A program, the shapes of its arrays, and the loops that steps may name."""

    text: str
    shapes: tuple[tuple[int, ...], ...]
    loops: tuple[str, ...]
    numpy: Callable[..., None] | None = None
    """What changes the arrays as the program does: NumPy, or else the interpreter."""

    def arguments(self, seed: int) -> list[np.ndarray]:
        """Small integers, so that sums are exact in any order."""
        draws = np.random.default_rng(seed)
        made = (draws.integers(-1, 2, shape) for shape in self.shapes)
        return [numbers.astype(np.float32) for numbers in made]

    def answer(self, seed: int) -> list[np.ndarray]:
        """The arrays after a call."""
        arrays = self.arguments(seed)
        (self.numpy or gcg.compile(self.text, target="interp").f)(*arrays)
        return arrays


def multiply(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
    c += a @ b


PRODUCT = Sample(
    """
func.func @f(%A: memref<37x23xf32>, %B: memref<23x29xf32>, %C: memref<37x29xf32>) {
  affine.for %i = 0 to 37 {
    affine.for %j = 0 to 29 {
      affine.for %k = 0 to 23 {
        %a = affine.load %A[%i, %k] : memref<37x23xf32>
        %b = affine.load %B[%k, %j] : memref<23x29xf32>
        %c = affine.load %C[%i, %j] : memref<37x29xf32>
        %p = arith.mulf %a, %b : f32
        %s = arith.addf %c, %p : f32
        affine.store %s, %C[%i, %j] : memref<37x29xf32>
      }
    }
  }
  return
}""",
    ((37, 23), (23, 29), (37, 29)),
    ("i", "j", "k"),
    multiply,
)

LINALG = Sample(
    """
func.func @f(%A: memref<64x48xf32>, %B: memref<48x80xf32>, %C: memref<64x80xf32>) {
  linalg.matmul ins(%A, %B : memref<64x48xf32>, memref<48x80xf32>)
    outs(%C : memref<64x80xf32>)
  return
}""",
    ((64, 48), (48, 80), (64, 80)),
    ("d0", "d1", "d2"),
    multiply,
)

STENCIL = Sample(
    """
func.func @f(%A: memref<34x45xf32>, %B: memref<34x45xf32>) {
  %half = arith.constant 0.5 : f32
  affine.for %i = 1 to 33 {
    affine.for %j = 1 to 44 {
      %a = affine.load %A[%i, %j - 1] : memref<34x45xf32>
      %b = affine.load %A[%i - 1, %j + 1] : memref<34x45xf32>
      %s = arith.addf %a, %b : f32
      %h = arith.mulf %s, %half : f32
      affine.store %h, %B[%i, %j] : memref<34x45xf32>
    }
  }
  return
}""",
    ((34, 45), (34, 45)),
    ("i", "j"),
)

SKEWED = Sample(
    """
func.func @f(%A: memref<20x31xf32>) {
  affine.for %i = 0 to 19 {
    affine.for %j = 2 to 31 {
      %x = affine.load %A[%i + 1, %j - 2] : memref<20x31xf32>
      %y = affine.load %A[%i, %j] : memref<20x31xf32>
      %s = arith.addf %x, %y : f32
      affine.store %s, %A[%i, %j] : memref<20x31xf32>
    }
  }
  return
}""",
    ((20, 31),),
    ("i", "j"),
)

CHAIN = Sample(
    """
func.func @f(%A: memref<40x24xf32>, %T: memref<40x24xf32>, %B: memref<40x24xf32>) {
  %two = arith.constant 2.0 : f32
  affine.for %i = 0 to 40 {
    affine.for %j = 0 to 24 {
      %a = affine.load %A[%i, %j] : memref<40x24xf32>
      %d = arith.mulf %a, %two : f32
      affine.store %d, %T[%i, %j] : memref<40x24xf32>
    }
  }
  affine.for %p = 0 to 40 {
    affine.for %q = 0 to 24 {
      %t = affine.load %T[%p, 23 - %q] : memref<40x24xf32>
      affine.store %t, %B[%p, %q] : memref<40x24xf32>
    }
  }
  return
}""",
    ((40, 24), (40, 24), (40, 24)),
    ("i", "j", "p", "q"),
)

TRIANGLE = Sample(
    """
func.func @f(%L: memref<12x12xf32>, %b: memref<12xf32>) {
  affine.for %i = 0 to 12 {
    affine.for %j = 0 to affine_map<(d0) -> (d0)>(%i) {
      %l = affine.load %L[%i, %j] : memref<12x12xf32>
      %x = affine.load %b[%j] : memref<12xf32>
      %y = affine.load %b[%i] : memref<12xf32>
      %p = arith.mulf %l, %x : f32
      %s = arith.subf %y, %p : f32
      affine.store %s, %b[%i] : memref<12xf32>
    }
  }
  return
}""",
    ((12, 12), (12,)),
    ("i", "j"),
)

SAMPLES: dict[str, Sample] = {
    "product": PRODUCT,
    "linalg": LINALG,
    "stencil": STENCIL,
    "skewed": SKEWED,
    "chain": CHAIN,
    "triangle": TRIANGLE,
}
