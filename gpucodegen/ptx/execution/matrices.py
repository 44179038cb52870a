"""Emulation of matrix instructions: ``ldmatrix``, ``stmatrix``, ``mma``, ``wgmma``.

Products are exact, summed in f64 and rounded once; the hardware aligns the terms of a
sum and truncates them, so the last bits of a result may differ. A ``wgmma`` sum is
available at once, but its registers and operands are locked until its group has been
waited for, so that a missing wait is found. A missing ``wgmma.fence`` is found by the
registers of a sum: they must hold their contents of the last fence, or those that
products have written since.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple, Protocol

import numpy as np

from gpucodegen.ptx import faults
from gpucodegen.ptx.execution.accesses import Accesses
from gpucodegen.ptx.floats import decoded, from_bf16
from gpucodegen.ptx.integers import clamped
from gpucodegen.ptx.memory import swizzled
from gpucodegen.ptx.translation.matrix_rules import BITS, GroupProduct, MatrixProduct
from gpucodegen.ptx.translation.operands import SHARED_START, Site
from gpucodegen.ptx.types import WARP, Array, Mask, Value


@cache
def places(rows: int, depth: int, per: int) -> tuple[Array, ...]:
    """The fragment layout: positions of A and B in a warp's words, and of D per lane.

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
    """The numbers in words, as f64."""
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
    """The types of a product's sum."""

    @property
    def sum(self) -> str:
        """PTX type of the sum."""
        ...

    @property
    def saturated(self) -> bool:
        """Whether integers stay within their type."""
        ...


class Matrices:
    """The matrices held by the warps of a batch."""

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

    def visit(self, site: Site, address: Value, count: int, mask: Mask) -> None:
        """Only counts what `load` or `store` accesses."""
        self.accesses.visit(site, address, self._givers(site, count, mask))

    def store(
        self,
        site: Site,
        address: Value,
        words: Sequence[Value],
        transposed: bool,
        mask: Mask,
    ) -> None:
        """``stmatrix``: eight lanes give the addresses of a matrix's eight rows."""
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
        """``movmatrix``: the transposed matrix of each warp."""
        self.warps.whole(index, "movmatrix", mask)
        held = np.broadcast_to(words, self.batch.lanes).reshape(-1, WARP)
        matrices = np.ascontiguousarray(held).view("u2").reshape(-1, 8, 8)
        return np.ascontiguousarray(matrices.swapaxes(1, 2)).view("i4").reshape(-1)

    def _givers(self, site: Site, count: int, mask: Mask) -> Array:
        """The lanes that give row addresses; their warps must be fully active."""
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
        """``mma``: the words of D of each lane."""
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
        """The numbers in the words of each warp, a row per warp."""
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


def _whole(value: Value, lanes: int) -> Array:
    """A value with an element for each lane."""
    given: Array = np.asarray(value)
    return given if given.shape == (lanes,) else np.broadcast_to(given, lanes)


LANES = 128
_SPANS = {1: 128, 2: 64, 3: 32}


class Lock(NamedTuple):
    """A range of shared memory that a product reads until its group is complete."""

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
    """Shared addresses of an operand, in the layout of its matrix descriptor.

    The descriptor places pieces of eight lines of 16 bytes, or of the swizzle's span. A
    line has 16 bytes of a row, or of a column if the matrix is transposed.
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
    """The places of a 64-row product in each of 128 lanes, in register order."""
    lane: Array = np.arange(LANES)[:, None]
    number: Array = np.arange(int(product.shape[1]) // 2)
    row = 16 * (lane // 32) + lane % 32 // 4 + 8 * (number // 2 % 2)
    column = 2 * (lane % 4) + 8 * (number // 4) + number % 2
    return product[row, column]


class Warpgroups:
    """The warpgroups of one batch."""

    def __init__(self, accesses: Accesses) -> None:
        self.accesses, self.batch = accesses, accesses.batch
        self.group = np.zeros(self.batch.lanes, np.int64)
        self.locks: list[Lock] = []
        self.sums: dict[tuple[int, int], tuple[int, int]] = {}
        """Group and instruction of sums under way, by warpgroup and register."""
        self.fenced: dict[int, list[Any]] = {}
        """What the registers held at each warpgroup's last fence, products included."""

    def fence(self, registers: list[Any], mask: Mask) -> None:
        """``wgmma.fence``: products may use the present contents of registers."""
        live = np.ones(self.batch.lanes, bool) if mask is None else mask
        for warpgroup in np.flatnonzero(live.reshape(-1, LANES).all(1)):
            self.fenced[int(warpgroup)] = [*registers]

    def _check_fence(
        self, form: GroupProduct, registers: list[Any], warpgroup: int
    ) -> None:
        """Raises a fault if a register of the sum was written after the last fence."""
        first = warpgroup * LANES
        known = self.fenced.get(warpgroup)
        if known is not None and all(
            self._is_same(known[n], registers[n], first) for n in form.registers
        ):
            return
        text = "wgmma without a wgmma.fence behind what else used its registers"
        self.batch.fault(faults.IN_FLIGHT, text, form.index, first)

    def _is_same(self, one: Any, other: Any, lane: int) -> bool:
        """Whether two contents of a register have the same bits in a warpgroup."""
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
        """Adds a product to the registers of D, or replaces them."""
        lanes, word = self.batch.lanes, "f4" if form.sum == "f32" else "i4"
        active = self._active(form.index, mask)
        for warpgroup in active:
            self._check_fence(form, registers, int(warpgroup))
        before = [_whole(registers[number], lanes) for number in form.registers]
        sums = np.stack([held.view(word) for held in before])
        for warpgroup in active:
            first = int(warpgroup) * LANES
            own = slice(first, first + LANES)
            left = self._left(form, first, a)
            right = self._operand(form, first, b, 1)
            product = _shares(left @ right.T) * (-1 if form.negated else 1)
            kept = bool(_whole(scale, lanes)[first])
            held = np.ascontiguousarray(sums[:, own].T)
            held = held if kept else np.zeros_like(held)
            sums[:, own] = summed(product, held, form).view(word).T
            group = int(self.group[first])
            for number in form.registers:
                self.sums[int(warpgroup), number] = group, form.index
        after = [row.view(held.dtype) for row, held in zip(sums, before, strict=True)]
        self._replace(form.registers, registers, after, active.tolist())

    def _replace(
        self,
        numbers: Sequence[int],
        registers: list[Any],
        after: Sequence[Array],
        active: Sequence[int],
    ) -> None:
        """Puts the products of active warpgroups into registers.

        Their fences know of these; of another warpgroup the bits are as they were.
        """
        running = set(active)
        for warpgroup, known in self.fenced.items():
            for number, held in zip(numbers, after, strict=True):
                if warpgroup in running or known[number] is registers[number]:
                    known[number] = held
        for number, held in zip(numbers, after, strict=True):
            registers[number] = held

    def _left(self, form: GroupProduct, lane: int, a: Value) -> Array:
        """A as f64, from shared memory or from the registers of four warps."""
        if not form.held:
            return self._operand(form, lane, a, 0)
        every, own = self.batch.lanes, slice(lane, lane + LANES)
        words = np.stack([np.broadcast_to(word, every)[own] for word in a], -1)
        kind = form.factors[0]
        held = elements(words.reshape(4, -1), kind)
        where = places(16, form.depth, 32 // BITS[kind])[0]
        return held[:, where].reshape(64, form.depth)

    def _active(self, index: int, mask: Mask) -> Array:
        """The active warpgroups, each with all its lanes."""
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
        """A or B from shared memory as f64; locks it."""
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
        """A pending product that reads from a range of shared memory."""
        for lock in self.locks:
            if lock.start < stop and start < lock.stop:
                return lock
        return None

    def check_sums(self, mentioned: dict[int, int], mask: Mask) -> None:
        """Raises a fault if lanes name a register whose sum is pending."""
        for (warpgroup, register), (_, index) in self.sums.items():
            first = warpgroup * LANES
            if register in mentioned and (mask is None or mask[first]):
                line = self.batch.launch.entry.instructions[index].line
                text = f"use of a sum of line {line} that was not waited for"
                where = mentioned[register]
                self.batch.fault(faults.IN_FLIGHT, text, where, first)

    def commit(self, mask: Mask) -> None:
        """Closes the group of products that these warps have started."""
        self.group[... if mask is None else mask] += 1

    def wait(self, newest: int, mask: Mask) -> None:
        """Completes the groups of these warps except for the newest."""
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
        """Records for waiting warpgroups that their operands have been read."""
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
