"""Nests as MLIR text, and the planes of them."""

from __future__ import annotations

import gpucodegen as gcg
from examples.catalogue import FOLDER
from gpucodegen.report.pictures.plane_builder import plane
from gpucodegen.report.pictures.planes import Plane, planes
from gpucodegen.report.sizes import make_sizes
from gpucodegen.report.subjects import Nest, Subject, subject


def example(name: str) -> str:
    return (FOLDER / f"{name}.mlir").read_text(encoding="utf-8")


def square(body: str, lower: str = "0", name: str = "f") -> str:
    """Loops i and j over a square matrix, j from ``lower``."""
    return f"""func.func @{name}(%A: memref<?x?xf32>) {{
  %c0 = arith.constant 0 : index
  %N = memref.dim %A, %c0 : memref<?x?xf32>
  affine.for %i = 1 to affine_map<()[s] -> (s - 1)>()[%N] {{
    affine.for %j = {lower} to affine_map<()[s] -> (s - 1)>()[%N] {{
      {body}
    }}
  }}
  return
}}
"""


def copy_of(*sources: str) -> str:
    """``A[i, j] =`` the sum of other elements of A."""
    lines = [
        f"%x{n} = affine.load %A[{source}] : memref<?x?xf32>"
        for n, source in enumerate(sources)
    ]
    total = "%x0"
    for n in range(1, len(sources)):
        lines.append(f"%s{n} = arith.addf {total}, %x{n} : f32")
        total = f"%s{n}"
    lines.append(f"affine.store {total}, %A[%i, %j] : memref<?x?xf32>")
    return "\n      ".join(lines)


DIAGONAL = square(copy_of("%i + 1, %j - 1"), "1", "diagonal")
SWEEP = square(copy_of("%i - 1, %j", "%i, %j - 1"), "1", "sweep")
TRIANGLE = square(copy_of("%i - 1, %j"), "#self(%i)", "triangle").replace(
    "func.func", "#self = affine_map<(d) -> (d)>\nfunc.func", 1
)

SEIDEL = """func.func @seidel(%T: index, %A: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %N = memref.dim %A, %c0 : memref<?xf32>
  affine.for %t = 0 to %T {
    affine.for %i = 1 to affine_map<()[s] -> (s - 1)>()[%N] {
      %w = affine.load %A[%i - 1] : memref<?xf32>
      %e = affine.load %A[%i + 1] : memref<?xf32>
      %s = arith.addf %w, %e : f32
      affine.store %s, %A[%i] : memref<?xf32>
    }
  }
  return
}
"""

LU = """func.func @lu(%A: memref<?x?xf64>) {
  %c0 = arith.constant 0 : index
  %N = memref.dim %A, %c0 : memref<?x?xf64>
  affine.for %k = 0 to %N {
    affine.for %i = affine_map<(d) -> (d + 1)>(%k) to %N {
      %a = affine.load %A[%i, %k] : memref<?x?xf64>
      %p = affine.load %A[%k, %k] : memref<?x?xf64>
      %l = arith.divf %a, %p : f64
      affine.store %l, %A[%i, %k] : memref<?x?xf64>
      affine.for %j = affine_map<(d) -> (d + 1)>(%k) to %N {
        %u = affine.load %A[%k, %j] : memref<?x?xf64>
        %f = affine.load %A[%i, %k] : memref<?x?xf64>
        %x = affine.load %A[%i, %j] : memref<?x?xf64>
        %m = arith.mulf %f, %u : f64
        %n = arith.subf %x, %m : f64
        affine.store %n, %A[%i, %j] : memref<?x?xf64>
      }
    }
  }
  return
}
"""

TILED = """#low = affine_map<(d) -> (d)>
#high = affine_map<(d) -> (d + 4)>
func.func @tiled(%A: memref<8x12xf32>, %B: memref<12x8xf32>) {
  affine.for %it = 0 to 8 step 4 {
    affine.for %jt = 0 to 12 step 4 {
      affine.for %i = #low(%it) to #high(%it) {
        affine.for %j = #low(%jt) to #high(%jt) {
          %v = affine.load %A[%i, %j] : memref<8x12xf32>
          affine.store %v, %B[%j, %i] : memref<12x8xf32>
        }
      }
    }
  }
  return
}
"""

TILED_SWEEP = TILED.replace("%A[%i, %j]", "%A[%i - 1, %j]").replace(
    "%B[%j, %i] : memref<12x8xf32>", "%A[%i, %j] : memref<8x12xf32>"
)


def first_nest(text: str) -> tuple[Subject, Nest]:
    """The first function and its first nest."""
    module = gcg.parse(text)
    found = subject(module, next(iter(module.functions)))
    return found, found.nests[0]


def first_plane(text: str, size: int = 7, loops: tuple[str, ...] = ()) -> Plane:
    """A plane of the first nest."""
    found, nest = first_nest(text)
    pairs = planes(nest)
    by_name = {(a.name, b.name): (a, b) for a, b in pairs}
    pair = by_name[loops[0], loops[1]] if loops else pairs[0]
    return plane(found, nest, pair, make_sizes(size))
