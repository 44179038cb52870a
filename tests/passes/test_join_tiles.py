"""Tile loops that a text states become the plain nests that planners know."""

from __future__ import annotations

import random

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen.passes.loops.join_tiles import JoinTiles

N, T = 96, 32
WHOLE = f"memref<{N}x{N}xf32>"
PART = f"memref<{T}x{T}xf32, strided<[{N}, 1], offset: ?>>"
ARGUMENTS = f"%A: {WHOLE}, %B: {WHOLE}, %C: {WHOLE}"
SLICES = "\n".join(
    f"%{name.lower()} = memref.subview %{name}[{at}] [{T}, {T}] [1, 1]"
    f" : {WHOLE} to {PART}"
    for name, at in (("A", "%i, %k"), ("B", "%k, %j"), ("C", "%i, %j"))
)
PRODUCT = f"linalg.matmul ins(%a, %b : {PART}, {PART}) outs(%c : {PART})"


def tiled(*names: str, of: int = N, step: int = T) -> str:
    return " ".join(f"affine.for %{name} = 0 to {of} step {step} {{" for name in names)


def multiplied(row: str, column: str, term: str) -> str:
    return f"""
      %a = affine.load %A[{row}, {term}] : {WHOLE}
      %b = affine.load %B[{term}, {column}] : {WHOLE}
      %c = affine.load %C[{row}, {column}] : {WHOLE}
      %m = arith.mulf %a, %b : f32
      %s = arith.addf %c, %m : f32
      affine.store %s, %C[{row}, {column}] : {WHOLE}"""


def absolute(name: str, tile: str) -> str:
    low = f"affine_map<(d) -> (d)>(%{tile})"
    return f"affine.for %{name} = {low} to affine_map<(d) -> (d + {T})>(%{tile}) {{"


TENSOR, TILE = f"tensor<{N}x{N}xf32>", f"tensor<{T}x{T}xf32>"
TEXTS = {
    "slices": f"""func.func @f({ARGUMENTS}) {{
      {tiled(*"ijk")} {SLICES} {PRODUCT} }} }} }}
      return
    }}""",
    "scf.parallel": f"""func.func @f({ARGUMENTS}) {{
      %0 = arith.constant 0 : index
      %n = arith.constant {N} : index
      %t = arith.constant {T} : index
      scf.parallel (%i, %j) = (%0, %0) to (%n, %n) step (%t, %t) {{
        scf.for %k = %0 to %n step %t {{ {SLICES} {PRODUCT} }}
      }}
      return
    }}""",
    "affine.parallel": f"""func.func @f({ARGUMENTS}) {{
      affine.parallel (%i, %j) = (0, 0) to ({N}, {N}) step ({T}, {T}) {{
        {tiled("k")} {SLICES} {PRODUCT} }}
      }}
      return
    }}""",
    "two levels": f"""func.func @f({ARGUMENTS}) {{
      {tiled(*"ijk")} {tiled("p", "q", "r", of=T, step=8)} {tiled(*"xyz", of=8, step=1)}
      {multiplied("%i + %p + %x", "%j + %q + %y", "%k + %r + %z")}
      }} }} }} }} }} }} }} }} }} return
    }}""",
    "bounds of tiles": f"""func.func @f({ARGUMENTS}) {{
      {tiled(*"ijk")} {absolute("x", "i")} {absolute("y", "j")} {absolute("z", "k")}
      {multiplied("%x", "%y", "%z")}
      }} }} }} }} }} }} return
    }}""",
    "scf.forall": f"""
    func.func @f(%A: {TENSOR}, %B: {TENSOR}, %C: {TENSOR}) -> {TENSOR} {{
      %r = scf.forall (%i, %j) = (0, 0) to ({N}, {N}) step ({T}, {T})
          shared_outs(%o = %C) -> ({TENSOR}) {{
        %a = tensor.extract_slice %A[%i, 0] [{T}, {N}] [1, 1]
          : {TENSOR} to tensor<{T}x{N}xf32>
        %b = tensor.extract_slice %B[0, %j] [{N}, {T}] [1, 1]
          : {TENSOR} to tensor<{N}x{T}xf32>
        %c = tensor.extract_slice %o[%i, %j] [{T}, {T}] [1, 1] : {TENSOR} to {TILE}
        %m = linalg.matmul ins(%a, %b : tensor<{T}x{N}xf32>, tensor<{N}x{T}xf32>)
          outs(%c : {TILE}) -> {TILE}
        scf.forall.in_parallel {{
          tensor.parallel_insert_slice %m into %o[%i, %j] [{T}, {T}] [1, 1]
            : {TILE} into {TENSOR}
        }}
      }}
      return %r : {TENSOR}
    }}""",
}


@pytest.mark.slow
@pytest.mark.cases("target", ["cpu", "sim"])
@pytest.mark.cases("name", TEXTS)
def test_tiles_of_products(name: str, target: str) -> None:
    rng = np.random.default_rng(5)
    a, b, c = (rng.integers(-3, 4, (N, N)).astype(np.float32) for _ in range(3))
    expected = a @ b + c
    found = gcg.compile(TEXTS[name], target=target).f(a, b, c)
    np.testing.assert_array_equal(c if found is None else found, expected)


@pytest.mark.parametrize("name", TEXTS)
def test_the_kernel_is_that_of_a_product(name: str) -> None:
    """A block of an H100 computes a tile of its own size, not of the text's."""
    program = gcg.compile(TEXTS[name], target="cuda", arch="sm_90a", verify=False)
    assert f"to {N} step" not in dict(program.stages("f"))["join-tiles"]
    assert ", (3, 3, 1), (128, 1, 1), " in program.source("f")


DYNAMIC = """func.func @f(%A: memref<?x?xf32>, %B: memref<?x?xf32>) {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %m = memref.dim %A, %0 : memref<?x?xf32>
  %n = memref.dim %A, %1 : memref<?x?xf32>
  %z = arith.constant 1.0 : f32
  affine.for %i = 0 to %m step 32 {
    affine.for %j = 0 to %n step 8 {
      affine.for %x = 0 to min affine_map<(d)[s] -> (32, s - d)>(%i)[%m] {
        affine.for %y = 0 to min affine_map<(d)[s] -> (8, s - d)>(%j)[%n] {
          %a = affine.load %A[%i + %x, %j + %y] : memref<?x?xf32>
          %b = arith.addf %a, %z : f32
          affine.store %b, %B[%i + %x, %j + %y] : memref<?x?xf32>
        }
      }
    }
  }
  return
}"""


@pytest.mark.slow
@pytest.mark.parametrize("target", ["cpu", "sim"])
def test_last_tiles_may_be_smaller(target: str) -> None:
    program = gcg.compile(DYNAMIC, target=target)
    for shape in [(70, 21), (64, 16), (1, 3), (0, 5)]:
        a, b = np.ones(shape, np.float32), np.zeros(shape, np.float32)
        program.f(a, b)
        np.testing.assert_array_equal(b, 2)
    assert " step " not in str(JoinTiles().apply(gcg.parse(DYNAMIC)))


STAYS = {
    "a dependence between tiles": f"""
      affine.for %i = 0 to 64 step 8 {{
        affine.for %k = 0 to 4 {{
          affine.for %x = 0 to 8 {{
            %a = affine.load %A[%i + %x + 1, %k] : {WHOLE}
            affine.store %a, %A[%i + %x, %k + 1] : {WHOLE}
          }}
        }}
      }}""",
    "tiles that overlap": f"""
      affine.for %i = 0 to 64 step 8 {{
        affine.for %x = 0 to 9 {{
          %a = affine.load %A[%i + %x, 0] : {WHOLE}
          affine.store %a, %B[%i + %x, 0] : {WHOLE}
        }}
      }}""",
    "tiles beyond the end": f"""
      affine.for %i = 0 to 60 step 8 {{
        affine.for %x = 0 to 8 {{
          %a = affine.load %A[%i + %x, 0] : {WHOLE}
          affine.store %a, %B[%i + %x, 0] : {WHOLE}
        }}
      }}""",
    "a use of the tile's number": f"""
      affine.for %i = 0 to 64 step 8 {{
        affine.for %x = 0 to 8 {{
          %a = affine.load %A[%i, 0] : {WHOLE}
          affine.store %a, %B[%i + %x, 0] : {WHOLE}
        }}
      }}""",
    "nothing to do": """
      affine.for %i = 0 to 64 step 8 {
        affine.for %x = 0 to 8 {
        }
      }""",
    "a remainder of the sum": f"""
      affine.for %i = 0 to 64 step 8 {{
        affine.for %x = 0 to 8 {{
          %a = affine.load %A[(%i + %x) mod 5, 0] : {WHOLE}
          affine.store %a, %B[%i + %x, 0] : {WHOLE}
        }}
      }}""",
}


@pytest.mark.parametrize("why", STAYS)
def test_what_stays(why: str) -> None:
    module = gcg.parse(f"func.func @f({ARGUMENTS}) {{ {STAYS[why]} return }}")
    assert str(JoinTiles().apply(module)) == str(module)


ROWS = f"memref<{N + 8}x{N}xf32>"


@pytest.mark.slow
@pytest.mark.parametrize("target", ["cpu", "sim"])
def test_products_begin_where_loops_around_them_say(target: str) -> None:
    """The offset of `%g` was lost on CPUs where term loops were merged."""
    body = multiplied("%g + %x", "%y", "%k + %z").replace(
        f"%A[%g + %x, %k + %z] : {WHOLE}", f"%A[%g * 2 + %x, %k + %z] : {ROWS}"
    )
    text = f"""func.func @f(%A: {ROWS}, %B: {WHOLE}, %C: {WHOLE}) {{
      affine.for %g = 0 to 9 {{
        affine.for %x = 0 to 64 {{ affine.for %y = 0 to {N} {{
          affine.for %k = 0 to {N} step {T} {{ affine.for %z = 0 to {T} {{ {body} }} }}
        }} }}
      }}
      return
    }}"""
    rng = np.random.default_rng(7)
    a = rng.integers(-3, 4, (N + 8, N)).astype(np.float32)
    b, c = (rng.integers(-3, 4, (N, N)).astype(np.float32) for _ in range(2))
    expected = c.copy()
    for g in range(9):
        expected[g : g + 64] += a[2 * g : 2 * g + 64] @ b
    gcg.compile(text, target=target).f(a, b, c)
    np.testing.assert_array_equal(c, expected)


class Tiled:
    """A product in random tiles: extents, levels, order of the loops, a loop around."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.extents = {axis: self.rng.choice([16, 24, 32, 48]) for axis in "ijk"}
        self.shifted = self.rng.choice("ijk-")
        self.turned = self.rng.random() < 0.3

    def loops(self, axis: str) -> list[str]:
        """Each loop in the one before it, to the end of its tile or of the array."""
        count = self.rng.randrange(3)
        sizes = sorted(self.rng.sample([4, 8, 16], count), reverse=True)
        around = [f"%{axis}{level}" for level in range(count)]
        made = [(f"0 to {self.extents[axis]}", (*sizes, 1)[0])]
        for level, size in enumerate(sizes):
            dims = ", ".join(f"d{at}" for at in range(level + 1))
            rest = f"{self.extents[axis]} - ({dims.replace(', ', ' + ')})"
            bound = f"min affine_map<({dims}) -> ({size}, {rest})>"
            end = f"{bound}({', '.join(around[: level + 1])})"
            made.append((f"0 to {end}", (*sizes, 1)[level + 1]))
        return [
            f"affine.for %{axis}{level} = {range_} step {step} {{"
            for level, (range_, step) in enumerate(made)
        ]

    def shape(self, axes: str) -> tuple[int, ...]:
        return tuple(self.extents[a] + 4 * (a == self.shifted) for a in axes)

    def text(self) -> str:
        own = {axis: self.loops(axis) for axis in "ijk"}
        places = {a: " + ".join(f"%{a}{n}" for n in range(len(own[a]))) for a in own}
        moved = {a: p + " + %g * 2" * (a == self.shifted) for a, p in places.items()}
        order = ["affine.for %g = 0 to 3 {"] * (self.shifted in "ijk")
        while any(own.values()):
            axis = self.rng.choice([a for a in own if own[a]])
            order.append(own[axis].pop(0))
        left, right = self.operands
        a, b = (", ".join(moved[axis] for axis in axes) for axes in (left, right))
        c = f"{places['i']}, {places['j']}"
        types = [
            f"memref<{m}x{n}xf32>"
            for m, n in (self.shape(left), self.shape(right), self.result)
        ]
        return f"""func.func @f(%A: {types[0]}, %B: {types[1]}, %C: {types[2]}) {{
          {" ".join(order)}
            %a = affine.load %A[{a}] : {types[0]}
            %b = affine.load %B[{b}] : {types[1]}
            %c = affine.load %C[{c}] : {types[2]}
            %m = arith.mulf %a, %b : f32
            %s = arith.addf %c, %m : f32
            affine.store %s, %C[{c}] : {types[2]}
          {"}" * len(order)}
          return
        }}"""

    @property
    def operands(self) -> tuple[str, str]:
        return ("ki", "jk") if self.turned else ("ik", "kj")

    @property
    def result(self) -> tuple[int, int]:
        return self.extents["i"], self.extents["j"]

    def expected(self, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
        found = c.copy()
        for g in range(3 if self.shifted in "ijk" else 1):
            first = {axis: 2 * g * (axis == self.shifted) for axis in "ijk"}
            part = {n: slice(at, at + self.extents[n]) for n, at in first.items()}
            left, right = (
                array[tuple(part[axis] for axis in axes)]
                for array, axes in zip((a, b), self.operands, strict=True)
            )
            found += left.T @ right.T if self.turned else left @ right
        return found


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
@pytest.mark.drawn(6)
def test_random_tiles_of_products(seed: int) -> None:
    program, rng = Tiled(seed), np.random.default_rng(seed)
    text = program.text()
    shapes = *map(program.shape, program.operands), program.result
    a, b, c = (rng.integers(-3, 4, shape).astype(np.float32) for shape in shapes)
    for target in ("cpu", "sim"):
        found = c.copy()
        gcg.compile(text, target=target).f(a, b, found)
        np.testing.assert_array_equal(found, program.expected(a, b, c), target)
