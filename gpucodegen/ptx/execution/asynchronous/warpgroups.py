"""``wgmma``: products of matrices that four warps take from shared memory.

The sum is there at once, in f64 and rounded once; what a missing wait would spoil are
the operands, so they are locked until the group of products has been waited for.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gpucodegen.ptx import faults
from gpucodegen.ptx.execution.accesses import Accesses
from gpucodegen.ptx.execution.matrices import elements
from gpucodegen.ptx.tensor_maps import swizzled
from gpucodegen.ptx.translation.rules.warpgroups import GroupProduct
from gpucodegen.ptx.translation.sites import SHARED_START
from gpucodegen.ptx.types import Array, Mask, Value

LANES = 128
_SPANS = {1: 128, 2: 64, 3: 32}


class Lock(NamedTuple):
    """A stretch of shared memory that a product reads until its group is over."""

    start: int
    stop: int
    warpgroup: int
    group: int
    site: int
    """Number of the instruction."""


def operand_addresses(descriptor: int, rows: int, depth: int, size: int) -> Array:
    """Shared addresses of a matrix of so many rows, as its descriptor lays it out."""
    start = (descriptor & 0x3FFF) << 4
    leading = (descriptor >> 16 & 0x3FFF) << 4
    stride = (descriptor >> 32 & 0x3FFF) << 4
    mode = descriptor >> 62 & 3
    row, column = np.arange(rows)[:, None], np.arange(depth) * size
    if mode == 0:
        return (
            start
            + row // 8 * stride
            + column // 16 * leading
            + row % 8 * 16
            + column % 16
        )
    span = _SPANS[mode]
    return swizzled(start + row // 8 * stride + row % 8 * span + column, span)


class Warpgroups:
    """The groups of four warps of one batch."""

    def __init__(self, accesses: Accesses) -> None:
        self.accesses, self.batch = accesses, accesses.batch
        self.group = np.zeros(self.batch.lanes, np.int64)
        self.locks: list[Lock] = []

    def multiply(
        self,
        form: GroupProduct,
        registers: list[Any],
        a: Value,
        b: Value,
        scale: Value,
        mask: Mask,
    ) -> None:
        """Add a product to the registers that hold D, or put it there."""
        lanes = self.batch.lanes
        for number in form.registers:
            old = registers[number]
            fresh = (
                np.zeros(lanes, "f4") if old is None else np.broadcast_to(old, lanes)
            )
            registers[number] = fresh.copy()
        lane = np.arange(LANES)
        row, column = 16 * (lane // 32) + lane % 32 // 4, 2 * (lane % 4)
        for warpgroup in self._active(form.index, mask):
            first = int(warpgroup) * LANES
            left = self._operand(form, first, a, 64)
            right = self._operand(form, first, b, form.columns)
            product = left @ right.T
            kept = bool(np.broadcast_to(scale, lanes)[first])
            for i, number in enumerate(form.registers):
                part = registers[number][first : first + LANES]
                below, beside = 8 * (i // 2 % 2), 8 * (i // 4) + i % 2
                addend = part.astype("f8") if kept else np.float64(0)
                part[:] = addend + product[row + below, column + beside]

    def _active(self, index: int, mask: Mask) -> Array:
        """The warpgroups that take part, each with all its lanes."""
        if self.batch.threads % LANES:
            text = f"wgmma in blocks of {self.batch.threads} threads"
            self.batch.fault(faults.INCOMPLETE_WARP, text, index, 0)
        if mask is None:
            return np.arange(self.batch.lanes // LANES)
        rows = mask.reshape(-1, LANES)
        partial = rows.any(1) & ~rows.all(1)
        if partial.any():
            lane = int(np.argmax(partial)) * LANES
            text = "wgmma by a part of a warpgroup"
            self.batch.fault(faults.INCOMPLETE_WARP, text, index, lane)
        return np.flatnonzero(rows.all(1))

    def _operand(
        self, form: GroupProduct, lane: int, descriptor: Value, rows: int
    ) -> Array:
        """A matrix from shared memory as f64; it is locked from now on."""
        batch, accesses = self.batch, self.accesses
        word = int(np.broadcast_to(descriptor, batch.lanes)[lane])
        addresses = operand_addresses(word, rows, form.depth, form.size)
        low, high = int(addresses.min()), int(addresses.max()) + form.size
        if low < SHARED_START or high > accesses.shared_end:
            text = "wgmma operand outside shared memory"
            batch.fault(faults.OUT_OF_BOUNDS, text, form.index, lane)
        offsets = addresses + int(accesses.shared_start[lane])
        marks = accesses.marks.get("shared")
        if marks is not None:
            clash = marks.unready(offsets.reshape(-1))
            if clash is not None:
                batch.fault(clash.kind, f"wgmma: {clash.message}", form.index, lane)
        start, stop = int(offsets.min()), int(offsets.max()) + form.size
        group = int(self.group[lane])
        self.locks.append(Lock(start, stop, lane // LANES, group, form.index))
        raw = accesses.units["shared"][form.size][offsets // form.size]
        return elements(raw.view(f"i{form.size}"), form.factor)

    def locked(self, start: int, stop: int) -> Lock | None:
        """A product that still reads from a stretch of shared memory."""
        for lock in self.locks:
            if lock.start < stop and start < lock.stop:
                return lock
        return None

    def commit(self, mask: Mask) -> None:
        """Close the group of products that these warps have started."""
        self.group[... if mask is None else mask] += 1

    def wait(self, newest: int, mask: Mask) -> None:
        """End the groups of these warps but for the newest."""
        live = np.ones(self.batch.lanes, bool) if mask is None else mask
        self.locks = [
            lock
            for lock in self.locks
            if not live[lock.warpgroup * LANES]
            or lock.group >= self.group[lock.warpgroup * LANES] - newest
        ]
