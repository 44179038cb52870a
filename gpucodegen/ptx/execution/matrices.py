"""Matrices held by the lanes of a warp: moved, transposed, multiplied.

Products are exact and summed in f64, then rounded once; the hardware aligns the terms
of a sum and truncates them, so the last bits of a result may differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Protocol

import numpy as np

from gpucodegen.ptx.execution.spaces.accesses import Accesses
from gpucodegen.ptx.numerics.codes import decoded
from gpucodegen.ptx.numerics.floats import from_bf16
from gpucodegen.ptx.numerics.integers import clamped
from gpucodegen.ptx.translation.rules.matrices import BITS, MatrixProduct
from gpucodegen.ptx.translation.sites import Site
from gpucodegen.ptx.types import WARP, Array, Mask, Value


@cache
def places(rows: int, depth: int, per: int) -> tuple[Array, ...]:
    """Where a warp holds A and B, and where each lane finds its results in D.

    A and B are given as places among the elements of the warp's words, ``per`` of them
    in each; D as places in a matrix of 8 columns.
    """
    lane = np.arange(WARP)
    group, turn = lane >> 2, lane & 3
    tall = rows // 8
    words_b = depth // (4 * per)
    a, b = np.empty((rows, depth), int), np.empty((depth, 8), int)
    for e in range(per):
        for word in range(tall * words_b):
            row = group + 8 * (word % tall)
            column = per * turn + e + 4 * per * (word // tall)
            a[row, column] = (lane * tall * words_b + word) * per + e
        for word in range(words_b):
            row = per * turn + e + 4 * per * word
            b[row, group] = (lane * words_b + word) * per + e
    below = np.repeat([0, 8][:tall], 2)
    beside = np.tile([0, 1], tall)
    d = (group[:, None] + below) * 8 + 2 * turn[:, None] + beside
    return a.ravel(), b.ravel(), d.ravel()


def elements(words: Array, kind: str) -> Array:
    """The numbers that words hold, as f64."""
    match kind:
        case "f64":
            return words
        case "f16":
            return words.view("f2").astype("f8")
        case "bf16":
            return from_bf16(words.view("i2")).astype("f8")
        case "tf32":
            return (words & np.int32(-8192)).view("f4").astype("f8")
        case "s8" | "u8":
            return words.view({"s8": "i1", "u8": "u1"}[kind]).astype("f8")
        case "s4" | "u4":
            octets = words.view("u1")
            nibbles = np.stack([octets & 15, octets >> 4], -1).astype("f8")
            numbers = nibbles.reshape(*octets.shape[:-1], -1)
            return np.where((numbers > 7) & (kind == "s4"), numbers - 16, numbers)
        case "b1":
            bits = np.unpackbits(words.view("u1"), axis=-1, bitorder="little")
            return bits.astype("f8")
        case _:
            return decoded(words.view("u1"), kind)


class SummedProduct(Protocol):
    """What a sum of products needs to know."""

    @property
    def sum(self) -> str:
        """PTX type of the sum."""
        ...

    @property
    def saturated(self) -> bool:
        """Whether integers stay within their type."""
        ...


class Matrices:
    """The warps of a batch as holders of matrices."""

    def __init__(self, accesses: Accesses) -> None:
        self.accesses, self.warps = accesses, accesses.warps
        self.batch = accesses.batch

    def load(
        self, site: Site, address: Value, count: int, transposed: bool, mask: Mask
    ) -> Sequence[Array]:
        """``ldmatrix``: eight lanes give the addresses of a matrix's eight rows."""
        live = self._givers(site, count, mask)
        words = np.stack(self.accesses.load(site, address, live), -1)[live]
        matrices = words.view("u2").reshape(-1, count, 8, 8)
        if transposed:
            matrices = matrices.swapaxes(2, 3)
        held = np.ascontiguousarray(matrices).view("i4").reshape(-1, count, WARP)
        result = np.zeros((count, self.batch.lanes // WARP, WARP), "i4")
        result[:, self._active(mask)] = held.swapaxes(0, 1)
        return list(result.reshape(count, self.batch.lanes))

    def store(
        self,
        site: Site,
        address: Value,
        words: Sequence[Value],
        transposed: bool,
        mask: Mask,
    ) -> None:
        """``stmatrix``: eight lanes say where a matrix's eight rows go."""
        lanes, count = self.batch.lanes, len(words)
        live = self._givers(site, count, mask)
        held = np.stack([np.broadcast_to(word, lanes) for word in words])
        warps = held.reshape(count, -1, WARP)[:, self._active(mask)].swapaxes(0, 1)
        matrices = np.ascontiguousarray(warps).view("u2").reshape(-1, count, 8, 8)
        if transposed:
            matrices = matrices.swapaxes(2, 3)
        rows = np.ascontiguousarray(matrices).view("u4").reshape(-1, 4)
        given = np.zeros((4, lanes), "u4")
        given[:, live] = rows.T
        self.accesses.store(site, address, list(given), live)

    def transposed(self, index: int, words: Value, mask: Mask) -> Array:
        """``movmatrix``: the matrix that each warp holds, transposed."""
        self.warps.whole(index, "movmatrix", mask)
        held = np.broadcast_to(words, self.batch.lanes).reshape(-1, WARP)
        matrices = np.ascontiguousarray(held).view("u2").reshape(-1, 8, 8)
        return np.ascontiguousarray(matrices.swapaxes(1, 2)).view("i4").reshape(-1)

    def _givers(self, site: Site, count: int, mask: Mask) -> Array:
        """The lanes that give addresses of rows; their warps must be whole."""
        x = self.batch.launch.entry.instructions[site.index]
        self.warps.whole(site.index, x.opcode, mask)
        rows = self.warps.lane < 8 * count
        return rows if mask is None else rows & mask

    def _active(self, mask: Mask) -> slice | Array:
        return slice(None) if mask is None else mask.reshape(-1, WARP)[:, 0]

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
        warps, word = lanes // WARP, 64 if form.sum == "f64" else 32
        in_a, in_b, in_d = places(form.rows, form.depth, word // BITS[form.factors[0]])
        left = self._held(a, form.factors[0])[:, in_a]
        right = self._held(b, form.factors[1])[:, in_b]
        left = left.reshape(warps, form.rows, form.depth)
        right = right.reshape(warps, form.depth, 8)
        product = left @ right
        if form.differences:
            product = left.sum(2)[:, :, None] + right.sum(1)[:, None] - 2 * product
        each = form.rows // 4
        found = product.reshape(warps, -1)[:, in_d].reshape(lanes, each)
        addend = np.stack([np.broadcast_to(word, lanes) for word in c], -1)
        return list(np.ascontiguousarray(summed(found, addend, form)).T)

    def _held(self, words: Sequence[Value], kind: str) -> Array:
        """What the words of each warp hold, a row for each warp."""
        lanes = self.batch.lanes
        held = np.stack([np.broadcast_to(word, lanes) for word in words], -1)
        return elements(held.reshape(lanes // WARP, -1), kind)


def summed(product: Array, addend: Array, form: SummedProduct) -> Array:
    """A row of words of ``product + addend`` for each lane."""
    match form.sum:
        case "f16":
            total = addend.view("f2").astype("f8") + product
            return total.astype("f2").view("i4")
        case "s32":
            total = addend.astype("i8") + product.astype("i8")
            return clamped(total, "i4") if form.saturated else total.astype("i4")
        case "f64":
            return addend + product
        case _:
            return (addend.astype("f8") + product).astype("f4")
