"""Products of tiles that a text brings to fast memory itself, as in 2019."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

import gpucodegen as gcg
from gpucodegen.ir.number_formats import decode_table, to_bits

NUMPY = {"f16": "f2", "f32": "f4", "f64": "f8", "i8": "i1", "i32": "i4"}
BITS = {"bf16": "u2", "f8E4M3FN": "u1"}
WIDER = {"f": "arith.extf", "b": "arith.extf", "i": "arith.extsi"}
LOOPS = {
    "i": ("%ii", "0 to {}", "#same(%i) to #down(%i)"),
    "j": ("%jj", "0 to {}", "#same(%j) to #across(%j)"),
    "k": ("%kk", "0 to {}", "#same(%k) to #tile_end(%k)"),
}
"""Of the tile: its variables, and how they count elements of the tile or of arrays."""


@dataclass(frozen=True)
class OwnTiles:
    """``C += A B`` in tiles of m x n x k, in ``slots`` that are filled in turn.

    ``turned``: B is held as n x k.  ``points``: the inner loops count elements of the
    arrays, not of the tile.  ``order``: of these loops.  ``flags``: of the additions.
    """

    tile: tuple[int, int, int]
    kind: str = "f16"
    sums: str = "f32"
    slots: int = 2
    turned: bool = False
    points: bool = False
    order: str = "ijk"
    flags: str = ""

    @property
    def text(self) -> str:
        """The MLIR text."""
        m, n, k = self.tile
        of_b, b = ((n, k), "%j, {}") if self.turned else ((k, n), "{}, %j")
        array, out = f"memref<?x?x{self.kind}>", f"memref<?x?x{self.sums}>"
        a_tile = f"memref<{self.slots}x{m}x{k}x{self.kind}, 2>"
        b_tile = f"memref<{self.slots}x{of_b[0]}x{of_b[1]}x{self.kind}, 2>"
        tag = f"memref<{self.slots}xi32>"

        def starts(first: str, slot: str) -> str:
            return f"""memref.dma_start %A[%i, {first}], %a[{slot}, %c0, %c0], %size_a,
            %a_tag[{slot}], %K, %run_a : {array}, {a_tile}, {tag}
        memref.dma_start %B[{b.format(first)}], %b[{slot}, %c0, %c0], %size_b,
            %b_tag[{slot}], %row_b, %run_b : {array}, {b_tile}, {tag}"""

        place = "%ii - %i, %kk - %k, %jj - %j" if self.points else "%ii, %kk, %jj"
        row, term, column = place.split(", ")
        cell = "%ii, %jj" if self.points else "%i + %ii, %j + %jj"
        of_pair = f"{column}, {term}" if self.turned else f"{term}, {column}"
        slot = f"(%k floordiv {k}) mod {self.slots}"
        return f"""
#same = affine_map<(d0) -> (d0)>
#down = affine_map<(d0) -> (d0 + {m})>
#across = affine_map<(d0) -> (d0 + {n})>
#tile_end = affine_map<(d0) -> (d0 + {k})>
#slot = affine_map<(d0) -> ((d0 floordiv {k}) mod {self.slots})>
#other_slot = affine_map<(d0) -> ((d0 floordiv {k} + 1) mod {self.slots})>
#has_any = affine_set<()[s0] : (s0 - 1 >= 0)>
#has_next = affine_set<(d0)[s0] : (s0 - d0 - {k + 1} >= 0)>
func.func @f(%A: {array}, %B: {array}, %C: {out}) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %size_a = arith.constant {m * k} : index
  %size_b = arith.constant {n * k} : index
  %run_a = arith.constant {k} : index
  %run_b = arith.constant {of_b[1]} : index
  %M = memref.dim %A, %c0 : {array}
  %K = memref.dim %A, %c1 : {array}
  %N = memref.dim %C, %c1 : {out}
  %row_b = memref.dim %B, %c1 : {array}
  affine.for %i = 0 to %M step {m} {{
    affine.for %j = 0 to %N step {n} {{
      %a = memref.alloc() : {a_tile}
      %b = memref.alloc() : {b_tile}
      %a_tag = memref.alloc() : {tag}
      %b_tag = memref.alloc() : {tag}
      affine.if #has_any()[%K] {{
        {starts("%c0", "%c0")}
      }}
      affine.for %k = 0 to %K step {k} {{
        %slot = affine.apply #slot(%k)
        memref.dma_wait %a_tag[%slot], %size_a : {tag}
        memref.dma_wait %b_tag[%slot], %size_b : {tag}
        affine.if #has_next(%k)[%K] {{
          %other = affine.apply #other_slot(%k)
          %next = affine.apply #tile_end(%k)
          {starts("%next", "%other")}
        }}
        {self._loops}
              %x = affine.load %a[{slot}, {row}, {term}] : {a_tile}
              %y = affine.load %b[{slot}, {of_pair}] : {b_tile}
              %z = affine.load %C[{cell}] : {out}
              {self._body}
              affine.store %s, %C[{cell}] : {out}
            }}
          }}
        }}
      }}
      memref.dealloc %a : {a_tile}
      memref.dealloc %b : {b_tile}
      memref.dealloc %a_tag : {tag}
      memref.dealloc %b_tag : {tag}
    }}
  }}
  return
}}"""

    @property
    def _loops(self) -> str:
        """The heads of the inner loops."""
        extents = dict(zip("ijk", self.tile, strict=True))
        heads = [(*LOOPS[axis], extents[axis]) for axis in self.order]
        return " ".join(
            f"affine.for {iv} = {points if self.points else tile.format(extent)} {{"
            for iv, tile, points, extent in heads
        )

    @property
    def _body(self) -> str:
        """The sum of %z and the product of %x and %y, in the type of sums."""
        end = "i" if self.sums[0] == "i" else "f"
        names, lines = ("%x", "%y"), list[str]()
        if self.kind != self.sums:
            widen = f"{WIDER[self.kind[0]]} {{0}} : {self.kind} to {self.sums}"
            lines = [f"{n}_wide = {widen.format(n)}" for n in names]
            names = "%x_wide", "%y_wide"
        lines.append(f"%p = arith.mul{end} {names[0]}, {names[1]} : {self.sums}")
        lines.append(f"%s = arith.add{end} %z, %p {self.flags} : {self.sums}")
        return "\n              ".join(lines)

    def arguments(self, tiles: Sequence[int]) -> list[np.ndarray]:
        """Arrays of so many tiles down, across and along the terms.

        Small integers, so that no order of sums rounds.
        """
        rng = np.random.default_rng(prod(tiles))
        m, n, k = (tile * count for tile, count in zip(self.tile, tiles, strict=True))
        of_b = (n, k) if self.turned else (k, n)
        values = [rng.integers(-4, 5, shape) for shape in ((m, k), of_b, (m, n))]
        kinds = self.kind, self.kind, self.sums
        return [held(value, kind) for value, kind in zip(values, kinds, strict=True)]

    def answer(self, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
        """What C becomes, in f64."""
        left, right = (numbers(x, self.kind) for x in (a, b))
        right = right.T if self.turned else right
        return numbers(c, self.sums) + left @ right

    def check(self, tiles: Sequence[int], **options: Any) -> gcg.Program:
        """Run it on the emulated device and compare with NumPy; the program."""
        program = gcg.compile(self.text, **{"target": "sim", **options})
        arguments = self.arguments(tiles)
        right = self.answer(*arguments)
        program["f"](*arguments)
        found = numbers(arguments[-1], self.sums)
        np.testing.assert_array_equal(found, right)
        return program


def held(values: np.ndarray, kind: str) -> np.ndarray:
    """Small integers in a type of MLIR, those that NumPy lacks as their bits."""
    if kind in NUMPY:
        return values.astype(NUMPY[kind])
    codes = {number: to_bits(float(number), kind) for number in np.unique(values)}
    return np.vectorize(codes.__getitem__)(values).astype(BITS[kind])


def numbers(array: np.ndarray, kind: str) -> np.ndarray:
    """The numbers of such an array, in f64."""
    return array.astype("f8") if kind in NUMPY else np.array(decode_table(kind))[array]
