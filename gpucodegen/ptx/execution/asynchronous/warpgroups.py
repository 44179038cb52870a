"""``wgmma``: products of matrices that four warps take from shared memory.

The sum is there at once, in f64 and rounded once; what a missing wait would spoil, its
registers and the operands, are locked until the group of products has been waited for.
What a missing fence would spoil is told by the registers of a sum: they hold what they
held at the last ``wgmma.fence``, or what products have put there since.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gpucodegen.ptx import faults
from gpucodegen.ptx.execution.matrices import elements, places, summed
from gpucodegen.ptx.execution.spaces.accesses import Accesses
from gpucodegen.ptx.tensor_maps import swizzled
from gpucodegen.ptx.translation.rules.matrices import BITS
from gpucodegen.ptx.translation.rules.warpgroups import GroupProduct
from gpucodegen.ptx.translation.sites import SHARED_START
from gpucodegen.ptx.types import WARP, Array, Mask, Value

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
    offsets: Array


def operand_addresses(
    descriptor: int, rows: int, depth: int, size: int, transposed: bool = False
) -> Array:
    """Shared addresses of a matrix of so many rows, as its descriptor lays it out.

    The descriptor places pieces of eight lines of 16 bytes, or of the swizzle's span.
    A line has 16 bytes of a row, or of a column if the matrix is transposed.
    """
    start = (descriptor & 0x3FFF) << 4
    leading = (descriptor >> 16 & 0x3FFF) << 4
    stride = (descriptor >> 32 & 0x3FFF) << 4
    mode = descriptor >> 62 & 3
    row, column = np.arange(rows)[:, None], np.arange(depth)[None]
    along, across = (row, column) if transposed else (column, row)
    place, eighth = along * size, across // 8
    if mode == 0:
        steps = (stride, leading) if transposed else (leading, stride)
        first = start + place // 16 * steps[0] + eighth * steps[1]
        return first + across % 8 * 16 + place % 16
    span = _SPANS[mode]
    line = start + eighth * stride + across % 8 * span
    return swizzled(line + place // span * leading + place % span, span)


def _shares(product: Array) -> Array:
    """What each of 128 lanes holds of a product of 64 rows, in its order."""
    lane: Array = np.arange(LANES)[:, None]
    number: Array = np.arange(int(product.shape[1]) // 2)
    row = 16 * (lane // 32) + lane % 32 // 4 + 8 * (number // 2 % 2)
    column = 2 * (lane % 4) + 8 * (number // 4) + number % 2
    return product[row, column]


class Warpgroups:
    """The groups of four warps of one batch."""

    def __init__(self, accesses: Accesses) -> None:
        self.accesses, self.batch = accesses, accesses.batch
        self.group = np.zeros(self.batch.lanes, np.int64)
        self.locks: list[Lock] = []
        self.sums: dict[tuple[int, int], tuple[int, int]] = {}
        """Group and instruction of sums under way, by warpgroup and register."""
        self.fenced: dict[int, list[Any]] = {}
        """What the registers held at each warpgroup's last fence, products included."""

    def fence(self, registers: list[Any], mask: Mask) -> None:
        """Products of these warps may use what their registers hold now."""
        live = np.ones(self.batch.lanes, bool) if mask is None else mask
        for warpgroup in np.flatnonzero(live.reshape(-1, LANES).all(1)):
            self.fenced[int(warpgroup)] = [*registers]

    def _check_fence(
        self, form: GroupProduct, registers: list[Any], warpgroup: int
    ) -> None:
        """Fault if a register of the sum was written behind the last fence."""
        first = warpgroup * LANES
        known = self.fenced.get(warpgroup)
        if known is not None and all(
            self._is_same(known[n], registers[n], first) for n in form.registers
        ):
            return
        text = "wgmma without a wgmma.fence behind what else used its registers"
        self.batch.fault(faults.IN_FLIGHT, text, form.index, first)

    def _is_same(self, one: Any, other: Any, lane: int) -> bool:
        """Whether two contents of a register are the same bits in a warpgroup."""
        if one is other:
            return True
        every, own = self.batch.lanes, slice(lane, lane + LANES)
        before, now = (np.broadcast_to(x, every)[own] for x in (one, other))
        return before.tobytes() == now.tobytes()

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
        lanes, word = self.batch.lanes, "f4" if form.sum == "f32" else "i4"
        active = self._active(form.index, mask)
        for warpgroup in active:
            self._check_fence(form, registers, int(warpgroup))
        for number in form.registers:
            registers[number] = np.broadcast_to(registers[number], lanes)
        for warpgroup in active:
            first = int(warpgroup) * LANES
            own = slice(first, first + LANES)
            left = self._left(form, first, a)
            right = self._operand(form, first, b, 1)
            product = _shares(left @ right.T) * (-1 if form.negated else 1)
            held = np.stack([registers[n][own].view(word) for n in form.registers], -1)
            kept = bool(np.broadcast_to(scale, lanes)[first])
            total = summed(product, held if kept else np.zeros_like(held), form)
            for number, part in zip(form.registers, total.T, strict=True):
                self.sums[int(warpgroup), number] = int(self.group[first]), form.index
                registers[number] = registers[number].copy()
                registers[number][own] = part.view(registers[number].dtype)
                self.fenced[int(warpgroup)][number] = registers[number]

    def _left(self, form: GroupProduct, lane: int, a: Value) -> Array:
        """A from shared memory, or from the registers of four warps, as f64."""
        if not form.held:
            return self._operand(form, lane, a, 0)
        every, own = self.batch.lanes, slice(lane, lane + LANES)
        words = np.stack([np.broadcast_to(word, every)[own] for word in a], -1)
        kind = form.factors[0]
        held = elements(words.reshape(4, -1), kind)
        where = places(16, form.depth, 32 // BITS[kind])[0]
        return held[:, where].reshape(64, form.depth)

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
        self, form: GroupProduct, lane: int, descriptor: Value, which: int
    ) -> Array:
        """A or B from shared memory as f64; it is locked from now on."""
        batch, accesses = self.batch, self.accesses
        word = int(np.broadcast_to(descriptor, batch.lanes)[lane])
        rows, flip = (64, form.columns)[which], form.transposed[which]
        addresses = operand_addresses(word, rows, form.depth, form.size, flip)
        low, high = int(addresses.min()), int(addresses.max()) + form.size
        if low < SHARED_START or high > accesses.shared_end:
            text = "wgmma operand outside shared memory"
            batch.fault(faults.OUT_OF_BOUNDS, text, form.index, lane)
        offsets = addresses + int(accesses.shared_start[lane])
        marks = accesses.marks.get("shared")
        if marks is not None:
            clash = marks.read_by_engine(batch.clocks, offsets, lane)
            if clash is not None:
                batch.fault(clash.kind, f"wgmma: {clash.message}", form.index, lane)
        start, stop = int(offsets.min()), int(offsets.max()) + form.size
        group = int(self.group[lane])
        warpgroup = lane // LANES
        lock = Lock(start, stop, warpgroup, group, form.index, offsets)
        self.locks.append(lock)
        raw = accesses.units["shared"][form.size][offsets // form.size]
        return elements(raw.view(f"i{form.size}"), form.factors[which])

    def locked(self, start: int, stop: int) -> Lock | None:
        """A product that still reads from a stretch of shared memory."""
        for lock in self.locks:
            if lock.start < stop and start < lock.stop:
                return lock
        return None

    def check_sums(self, mentioned: dict[int, int], mask: Mask) -> None:
        """Fault if lanes name a register whose sum is still under way."""
        for (warpgroup, register), (_, index) in self.sums.items():
            first = warpgroup * LANES
            if register in mentioned and (mask is None or mask[first]):
                line = self.batch.launch.entry.instructions[index].line
                text = f"use of a sum of line {line} that was not waited for"
                where = mentioned[register]
                self.batch.fault(faults.IN_FLIGHT, text, where, first)

    def commit(self, mask: Mask) -> None:
        """Close the group of products that these warps have started."""
        self.group[... if mask is None else mask] += 1

    def wait(self, newest: int, mask: Mask) -> None:
        """End the groups of these warps but for the newest."""
        live = np.ones(self.batch.lanes, bool) if mask is None else mask
        kept: list[Lock] = []
        over: list[Lock] = []
        for lock in self.locks:
            first = lock.warpgroup * LANES
            open_still = lock.group >= self.group[first] - newest
            (kept if open_still or not live[first] else over).append(lock)
        self.locks = kept
        self.sums = {
            key: (group, index)
            for key, (group, index) in self.sums.items()
            if not live[key[0] * LANES] or group >= self.group[key[0] * LANES] - newest
        }
        if over and self.accesses.marks:
            self._tell_end(over)

    def _tell_end(self, over: list[Lock]) -> None:
        """Warpgroups that have waited know that their operands have been read."""
        clocks, marks = self.batch.clocks, self.accesses.marks["shared"]
        for lock in over:
            first = lock.warpgroup * LANES
            number = first % self.batch.threads // LANES
            column = clocks.warps * WARP + number
            row = int(self.batch.row[first])
            marks.note_engine(lock.offsets, row, column, clocks.now)
            known = np.zeros((2, clocks.columns), np.int32)
            known[:, column] = clocks.now
            clocks.acquire(np.arange(first, first + LANES), known)
        clocks.tick()
