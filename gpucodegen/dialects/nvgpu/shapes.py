"""Which products of fragments devices from sm_80 on have, by their elements.

PTX ISA, "Warp-level matrix instructions": `mma`.  Shapes are rows, columns and terms.
"""

from __future__ import annotations

from collections.abc import Mapping

Shape = tuple[int, int, int]

_HALVES = (16, 8, 8), (16, 8, 16)
SHAPES: Mapping[tuple[str, str], tuple[Shape, ...]] = {
    ("f16", "f16"): _HALVES,
    ("f16", "f32"): _HALVES,
    ("bf16", "f32"): _HALVES,
    ("f32", "f32"): ((16, 8, 4), (16, 8, 8)),
    ("f64", "f64"): ((8, 8, 4), (16, 8, 4)),
    ("f8E4M3FN", "f32"): ((16, 8, 32),),
    ("f8E5M2", "f32"): ((16, 8, 32),),
    ("i8", "i32"): ((8, 8, 16), (16, 8, 16), (16, 8, 32)),
}
"""By the elements of the factors and of the sums.  Of an f32 factor a tf32 is read.

Devices before sm_90 multiply 16 rows of f64 in two halves.  Floats of 8 bits are there
from sm_89 on.
"""
