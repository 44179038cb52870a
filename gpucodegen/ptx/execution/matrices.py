"""Matrices held by the lanes of a warp: ``ldmatrix`` and ``mma.sync``.

Products are exact and summed in f64, then rounded once; the hardware aligns the terms
of a sum and truncates them, so the last bits of a result may differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from gpucodegen.ptx.execution.accesses import Accesses
from gpucodegen.ptx.numerics.floats import from_bf16
from gpucodegen.ptx.translation.rules.matrices import MatrixProduct
from gpucodegen.ptx.translation.sites import Site
from gpucodegen.ptx.types import Array, Mask, Value

WARP = 32


_PER_WORD = {"f16": 2, "bf16": 2, "tf32": 1, "s8": 4, "u8": 4}


@cache
def places(depth: int, per: int, words_a: int, words_b: int) -> tuple[Array, ...]:
    """Where a warp holds A and B, and where each lane finds its four results in D.

    A and B are given as places in the warp's words, D as places in a 16 by 8 matrix.
    """
    lane = np.arange(WARP)
    group, turn = lane >> 2, lane & 3
    a, b = np.empty((16, depth), int), np.empty((depth, 8), int)
    for e in range(per):
        for word in range(words_a):
            row, column = group + 8 * (word & 1), per * turn + e + 4 * per * (word >> 1)
            a[row, column] = (lane * words_a + word) * per + e
        for word in range(words_b):
            b[per * turn + e + 4 * per * word, group] = (
                lane * words_b + word
            ) * per + e
    d = (group[:, None] + [0, 0, 8, 8]) * 8 + 2 * turn[:, None] + [0, 1, 0, 1]
    return a.ravel(), b.ravel(), d.ravel()


def elements(words: Array, kind: str) -> Array:
    """The numbers that 32-bit words hold, as f64."""
    match kind:
        case "f16":
            return words.view("f2").astype("f8")
        case "bf16":
            return from_bf16(words.view("i2")).astype("f8")
        case "tf32":
            return (words & np.int32(-8192)).view("f4").astype("f8")
        case _:
            return words.view({"s8": "i1", "u8": "u1"}[kind]).astype("f8")


class Matrices:
    """The warps of a batch as holders of matrices."""

    def __init__(self, accesses: Accesses) -> None:
        self.accesses, self.warps = accesses, accesses.warps
        self.batch = accesses.batch

    def load(
        self, site: Site, address: Value, count: int, transposed: bool, mask: Mask
    ) -> Sequence[Array]:
        """``ldmatrix``: eight lanes give the addresses of a matrix's eight rows."""
        batch, warps = self.batch, self.warps
        warps.whole(site.index, "ldmatrix", mask)
        rows = warps.lane < 8 * count
        live = rows if mask is None else rows & mask
        words = np.stack(self.accesses.load(site, address, live), -1)[live]
        matrices = words.view("u2").reshape(-1, count, 8, 8)
        if transposed:
            matrices = matrices.swapaxes(2, 3)
        held = np.ascontiguousarray(matrices).view("i4").reshape(-1, count, WARP)
        result = np.zeros((count, batch.lanes // WARP, WARP), "i4")
        active = slice(None) if mask is None else mask.reshape(-1, WARP)[:, 0]
        result[:, active] = held.swapaxes(0, 1)
        return list(result.reshape(count, batch.lanes))

    def multiply(
        self,
        form: MatrixProduct,
        a: Sequence[Value],
        b: Sequence[Value],
        c: Sequence[Value],
        mask: Mask,
    ) -> Sequence[Array]:
        """``mma``: the words of D that each lane holds."""
        self.warps.whole(form.index, "mma", mask)
        lanes = self.batch.lanes
        warps = lanes // WARP
        in_a, in_b, in_d = places(form.depth, _PER_WORD[form.factor], len(a), len(b))
        left = self._held(a, form.factor)[:, in_a].reshape(warps, 16, form.depth)
        right = self._held(b, form.factor)[:, in_b].reshape(warps, form.depth, 8)
        product = (left @ right).reshape(warps, 128)[:, in_d].reshape(lanes, 4)
        addend = np.stack([np.broadcast_to(word, lanes) for word in c], -1)
        if form.sum == "f16":
            halves = (addend.view("f2").astype("f8") + product).astype("f2")
            return list(np.ascontiguousarray(halves).view("i4").T)
        if form.sum == "s32":
            return list((addend.astype("i8") + product.astype("i8")).astype("i4").T)
        return list((addend.astype("f8") + product).astype("f4").T)

    def _held(self, words: Sequence[Value], kind: str) -> Array:
        """What the words of each warp hold, a row for each warp."""
        lanes = self.batch.lanes
        held = np.stack([np.broadcast_to(word, lanes) for word in words], -1)
        return elements(held.reshape(lanes // WARP, -1), kind)
