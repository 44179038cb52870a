"""Loads of neighbours in a row, and what of them vectors have in registers already.

A *window* is several loads of one buffer that differ by constants along its row.  Its
*centre* is the load whose vectors lie as those of the store do.  With l lanes, a vector
that begins s elements behind the centre c[i .. i + l - 1] consists of the last lanes of
one vector of centres and of the first of the next:

    s < 0:  c[i - l ..], c[i ..]        s > 0:  c[i ..], c[i + l ..]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile

from gpucodegen.ir.operation import Operation
from gpucodegen.passes.cpu.vectorize.recognize import Body, Stream
from gpucodegen.passes.framework.indexing import compact


@dataclass(frozen=True, slots=True)
class Window:
    """Loads around ``centre``, by how many elements each lies behind it."""

    centre: Stream
    shifts: dict[Operation, int]

    @property
    def first(self) -> int:
        """The shift of the foremost load."""
        return min(self.shifts.values())

    @property
    def last(self) -> int:
        """The shift of the hindmost load."""
        return max(self.shifts.values())


def stored_stream(body: Body) -> Stream | None:
    """Where the body stores first, if that is a row."""
    stores = (s for op, s in body.streams.items() if not op.results and s.is_last)
    return next(filter(body.has_place_outside, stores), None)


def windows_of(body: Body, lanes: int) -> list[Window]:
    """The windows of a body, the largest first; each reaches less than ``lanes`` away.

    Only loads in front of all stores are taken: no iteration of a parallel loop changes
    what another one loads, so they may be executed in an earlier one.
    """
    store = stored_stream(body)
    if store is None:
        return []
    groups: list[dict[Operation, Stream]] = []
    for op, stream in _loads(body):
        near = (g for g in groups if _distance(stream, _any(g)) is not None)
        group = next(near, None)
        if group is None:
            groups.append({op: stream})
        else:
            group[op] = stream
    windows = [_window(group, store, lanes) for group in groups]
    sliding = [w for w in windows if _slides(w, lanes)]
    return sorted(sliding, key=lambda window: -len(window.shifts))


def _loads(body: Body) -> Iterator[tuple[Operation, Stream]]:
    for op in takewhile(lambda op: op.name != "affine.store", body.operations):
        stream = body.streams.get(op)
        if stream and stream.is_last and body.has_place_outside(stream):
            yield op, stream


def _any(group: dict[Operation, Stream]) -> Stream:
    return next(iter(group.values()))


def _window(group: dict[Operation, Stream], store: Stream, lanes: int) -> Window:
    """The loads around that one whose place in its row is congruent to the store's."""
    middle = sorted(group.values(), key=lambda s: _distance(s, _any(group)) or 0)
    alike = [s for s in middle if _is_alike(s, store, lanes)]
    (centre, *_) = alike or middle[len(middle) // 2 :]
    shifts = {op: _distance(stream, centre) or 0 for op, stream in group.items()}
    return Window(centre, shifts)


def _is_alike(stream: Stream, store: Stream, lanes: int) -> bool:
    apart = compact(stream.indices[-1] - store.indices[-1]).constant
    return apart is not None and apart % lanes == 0


def _slides(window: Window, lanes: int) -> bool:
    return window.first < window.last and max(window.last, -window.first) < lanes


def _distance(stream: Stream, other: Stream) -> int | None:
    """Elements from ``other`` to ``stream`` if both run along the same row."""
    if stream.memref is not other.memref:
        return None
    apart = [
        compact(a - b).constant
        for a, b in zip(stream.indices, other.indices, strict=True)
    ]
    return apart[-1] if not any(apart[:-1]) and None not in apart else None
