"""Boxes of cells dealt out to threads in chunks of neighbouring ones.

Neighbouring threads take neighbouring chunks along the last dimension.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from gpucodegen.ir.operation import Value
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index

Place = Sequence[Index]
"""A cell, counted from the corner of its box."""
AtPlace = Callable[[Builder, Place], None]


def deal(
    b: Builder,
    extents: Sequence[int],
    chunk: Sequence[int],
    thread: Value,
    threads: int,
    body: AtPlace,
) -> None:
    """``body`` at the first cell of each chunk of a box.

    Extents are multiples of those of the chunk.
    """
    counts = [e // c for e, c in zip(extents, chunk, strict=True)]

    def at(inner: Builder, number: Value) -> None:
        places: list[Index] = []
        size = 1
        for dimension in reversed(range(len(counts))):
            here = Index.of(number) // size if size > 1 else Index.of(number)
            size *= counts[dimension]
            inside = here % counts[dimension] if dimension else here
            first = inner.index(inside * chunk[dimension], "c")
            places.insert(0, Index.of(first))
        body(inner, places)

    total = prod(counts)
    if total == threads:
        at(b, thread)
    elif total < threads:
        b.guard([Index.of(total - 1) - thread], lambda i: at(i, thread))
    else:
        b.loop(thread, total, at, step=threads, hint="e")


def cells(b: Builder, first: Place, chunk: Sequence[int], body: AtPlace) -> None:
    """``body`` at every cell of a chunk."""

    def along(inner: Builder, place: list[Index]) -> None:
        dimension = len(place)
        if dimension == len(chunk):
            body(inner, place)
        elif chunk[dimension] == 1:
            along(inner, [*place, first[dimension]])
        else:
            inner.loop(
                0,
                chunk[dimension],
                lambda i, n: along(i, [*place, first[dimension] + n]),
                hint="n",
            )

    along(b, [])
