"""StableHLO window reductions that are prefix scans: ``cumsum``, ``cummax`` and others.

A window as long as a dimension, padded on one side by all but one element, reduces each
element with all elements before it, or with all elements behind it.  A scan does this
in linear work.  Long scans are split into chunks that run in parallel (Blelloch, Prefix
Sums and Their Applications, 1.3): scan each chunk, scan the totals of the chunks, and
combine each element with the total of all chunks before its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isqrt, prod

from gpucodegen.dialects.linalg.named_definitions import numbers
from gpucodegen.ir.affine import Const, Dim
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import element_type
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.prepare.stablehlo.forms import (
    empty,
    extract,
    mapped,
    nest,
    shape,
    tensor,
    with_elements,
)

Combine = Callable[[Builder, Sequence[Value], Sequence[Value]], Sequence[Value]]
"""The combination of the elements of the left operands with those of the right ones."""

SHORT = 256
"""Scans up to this length are not split."""
ENOUGH = 4096
"""Independent scans that occupy a GPU without being split."""


@dataclass(frozen=True, slots=True)
class Scan:
    """Along ``dimension``, from its end to its start if ``is_reversed``."""

    dimension: int
    is_reversed: bool


def scan_of(op: Operation) -> Scan | None:
    """The prefix scan that a ``reduce_window`` computes, if it is one."""
    extents = shape(op.operands[0])
    windows = numbers(op, "window_dimensions")
    wide = [d for d, n in enumerate(windows) if n != 1]
    names = ("window_strides", "window_dilations", "base_dilations")
    steps = [n for name in names for n in numbers(op, name)]
    if len(wide) != 1 or any(n != 1 for n in steps):
        return None
    (d,) = wide
    padding = [*(numbers(op, "padding") or (0,) * (2 * len(windows)))]
    low, high = padding[2 * d : 2 * d + 2]
    padding[2 * d : 2 * d + 2] = 0, 0
    if any(padding) or windows[d] < extents[d] or not all(extents):
        return None
    ends = {(windows[d] - 1, 0): False, (0, windows[d] - 1): True}
    return Scan(d, ends[low, high]) if (low, high) in ends else None


def scanned(
    b: Builder,
    inputs: Sequence[Value],
    starts: Sequence[Value],
    scan: Scan,
    combine: Combine,
) -> Sequence[Value]:
    """The running totals of the inputs; ``starts`` are neutral scalars."""
    extents, d = shape(inputs[0]), scan.dimension
    n, others = extents[d], [*extents[:d], *extents[d + 1 :]]
    chunk = _chunk(n, prod(others))
    count = -(-n // chunk)

    def at(b: Builder, outer: Sequence[Value], place: Index) -> list[Value]:
        if scan.is_reversed:
            place = Index.of(n - 1) - place
        return [*outer[:d], b.index(place), *outer[d:]]

    def totals(
        b: Builder, before: Sequence[Value], elements: Sequence[Value]
    ) -> Sequence[Value]:
        # The left operand of the combination precedes the right one in memory.
        pair = (elements, before) if scan.is_reversed else (before, elements)
        return combine(b, *pair)

    def chunk_scan(
        b: Builder, indices: Sequence[Value], held: Sequence[Value]
    ) -> Sequence[Value]:
        outer, begin = indices[: len(others)], Index.of(0)
        if count > 1:
            begin = Index.of(indices[-1]) * chunk
        first = at(b, outer, begin)
        made = totals(b, starts, [extract(b, x, first) for x in inputs])
        held = with_elements(b, made, held, first)

        def step(b: Builder, j: Value, held: Sequence[Value]) -> Sequence[Value]:
            place = begin + j
            here, last = at(b, outer, place), at(b, outer, place - 1)
            before = [extract(b, v, last) for v in held]
            made = totals(b, before, [extract(b, x, here) for x in inputs])
            return with_elements(b, made, held, here)

        return b.carried_loop(1, _within(begin, chunk, n), held, step)

    results = [empty(b, x.type) for x in inputs]
    chunks = [count] if count > 1 else []
    results = nest(b, [*others, *chunks], results, chunk_scan)
    if count == 1:
        return results
    sums = [_chunk_totals(b, x, scan, chunk, count - 1) for x in results]
    forward = Scan(d, is_reversed=False)
    # The totals lie in the order of the scan, so only operands are exchanged.
    offsets = scanned(b, sums, starts, forward, totals)

    def chunk_offset(
        b: Builder, indices: Sequence[Value], held: Sequence[Value]
    ) -> Sequence[Value]:
        *outer, k = indices
        begin = (Index.of(k) + 1) * chunk
        own = [*outer[:d], k, *outer[d:]]
        before = [extract(b, v, own) for v in offsets]

        def step(b: Builder, j: Value, held: Sequence[Value]) -> Sequence[Value]:
            here = at(b, outer, begin + j)
            made = totals(b, before, [extract(b, v, here) for v in held])
            return with_elements(b, made, held, here)

        return b.carried_loop(0, _within(begin, chunk, n), held, step)

    return nest(b, [*others, count - 1], results, chunk_offset)


def _chunk(n: int, others: int) -> int:
    """The length of a chunk: about the square root, where a scan is split."""
    if n <= SHORT or others >= ENOUGH:
        return n
    return min(128, 1 << (isqrt(n).bit_length() - 1))


def _within(begin: Index, chunk: int, n: int) -> list[int | Index]:
    """Bounds of positions in a chunk; the last chunk may be shorter."""
    if begin.constant is not None or n % chunk == 0:
        return [chunk]
    return [chunk, Index.of(n) - begin]


def _chunk_totals(b: Builder, x: Value, scan: Scan, chunk: int, count: int) -> Value:
    """The last element of each of the first chunks."""
    extents, d = shape(x), scan.dimension
    ty = tensor([*extents[:d], count, *extents[d + 1 :]], element_type(x.type))
    last = Dim(d) * chunk + (chunk - 1)
    if scan.is_reversed:
        last = Const(extents[d] - 1) + last * -1
    places = [last if e == d else Dim(e) for e in range(len(extents))]
    return mapped(b, [x], [places], ty)
