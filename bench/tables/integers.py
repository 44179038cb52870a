"""Products of matrices of bytes with 32-bit sums, returned."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.case import Case
from bench.peers import torch_peer
from bench.row import Work
from bench.tables.matmul import SHAPES, Extents
from examples.problems import RESULT, Answer, Arguments, Array

if TYPE_CHECKING:
    import numpy as np


def text(extents: Extents) -> str:
    """``A B`` of i8 as a new tensor of i32.

    >>> text((1, 2, 3)).splitlines()[0]
    'func.func @matmul(%A: tensor<1x3xi8>, %B: tensor<3x2xi8>) -> tensor<1x2xi32> {'
    """
    m, n, k = extents
    a, b, c = f"tensor<{m}x{k}xi8>", f"tensor<{k}x{n}xi8>", f"tensor<{m}x{n}xi32>"
    return f"""func.func @matmul(%A: {a}, %B: {b}) -> {c} {{
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : {c}
  %start = linalg.fill ins(%zero : i32) outs(%empty : {c}) -> {c}
  %C = linalg.matmul ins(%A, %B : {a}, {b}) outs(%start : {c}) -> {c}
  return %C : {c}
}}"""


def case(extents: Extents) -> Case:
    """One product against torch's of bytes."""
    m, n, k = extents

    def arguments(rng: np.random.Generator) -> Arguments:
        return tuple(rng.integers(-128, 128, s).astype("i1") for s in ((m, k), (k, n)))

    def answer(a: Array, b: Array) -> Answer:
        return {RESULT: a.astype("f8") @ b.astype("f8")}

    return Case(
        name=f"returned i8 {m}x{n}x{k}",
        source=text(extents),
        entry="matmul",
        arguments=arguments,
        answer=answer,
        peers=(torch_peer(lambda torch: torch._int_mm),),  # noqa: SLF001 - no other
        work=Work(2 * m * n * k, m * k + k * n + 4 * m * n),
        dtype="i8",
        tolerance=0.0,
    )


LINES = tuple(case(extents) for extents in SHAPES if extents[0] > 1)
