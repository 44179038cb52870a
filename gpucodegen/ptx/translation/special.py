"""Special registers: what a thread can ask about itself and its launch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from gpucodegen.ptx.types import Array, Value

Extents = tuple[int, int, int]


class Asked(Protocol):
    """What the registers are made of: the numbers of the lanes, the launch's sizes."""

    thread: Array
    """Number of each lane in its block."""
    block: Array
    """Number of each lane's block in the grid."""
    extents: Extents
    """Threads of a block along x, y, z."""
    grid: Extents
    shared_bytes: int
    dynamic_bytes: int


@dataclass(frozen=True, slots=True)
class Special:
    """The type of a register and its value for the lanes of a batch."""

    dtype: str
    value: Callable[[Asked], Value]


def place(number: Value, extents: Extents, axis: int) -> Value:
    """A coordinate of the thread or block with a number; x runs fastest."""
    for extent in extents[:axis]:
        number = number // extent
    return number % extents[axis]


def _axis(name: str, axis: int) -> Special:
    def value(s: Asked) -> Value:
        if name == "ntid":
            return np.int32(s.extents[axis])
        if name == "nctaid":
            return np.int32(s.grid[axis])
        of = (s.thread, s.extents) if name == "tid" else (s.block, s.grid)
        found = place(*of, axis).astype("i4")
        return found[0] if (found == found[0]).all() else found

    return Special("i4", value)


def _lanes(form: Callable[[Array], Value]) -> Special:
    """A mask of lanes around one's own bit."""
    return Special(
        "i4",
        lambda s: (
            form(np.uint64(1) << (s.thread % 32).astype("u8")).astype("u4").view("i4")
        ),
    )


_ONE = np.uint64(1)

_FIXED: dict[str, Special] = {
    "%laneid": Special("i4", lambda s: (s.thread % 32).astype("i4")),
    "%warpid": Special("i4", lambda s: (s.thread // 32).astype("i4")),
    "%nwarpid": Special("i4", lambda s: np.int32(s.thread.max() // 32 + 1)),
    "%dynamic_smem_size": Special("i4", lambda s: np.int32(s.dynamic_bytes)),
    "%total_smem_size": Special("i4", lambda s: np.int32(s.shared_bytes)),
    "%clock": Special("i4", lambda _: np.int32(0)),
    "%clock64": Special("i8", lambda _: np.int64(0)),
    "%globaltimer": Special("i8", lambda _: np.int64(0)),
    "%smid": Special("i4", lambda _: np.int32(0)),
    "WARP_SZ": Special("i4", lambda _: np.int32(32)),
    "%lanemask_eq": _lanes(lambda one: one),
    "%lanemask_lt": _lanes(lambda one: one - _ONE),
    "%lanemask_le": _lanes(lambda one: one + one - _ONE),
    "%lanemask_gt": _lanes(lambda one: ~(one + one - _ONE)),
    "%lanemask_ge": _lanes(lambda one: ~(one - _ONE)),
}
SPECIAL = _FIXED | {
    f"%{name}.{letter}": _axis(name, axis)
    for name in ("tid", "ntid", "ctaid", "nctaid")
    for axis, letter in enumerate("xyz")
}
