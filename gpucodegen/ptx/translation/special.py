"""Special registers: what a thread can ask about itself and its launch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from gpucodegen.ptx.translation.sites import SHARED_START
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
    cluster: Extents
    """Blocks of a cluster."""
    ticks: int
    """What clocks count."""


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


def _uniform(value: Value) -> Value:
    """One scalar, if all lanes have the same value."""
    found = value.astype("i4")
    return found[0] if (found == found[0]).all() else found


def _block(s: Asked, axis: int) -> Value:
    return place(s.block, s.grid, axis)


def _rank(s: Asked) -> Value:
    """The number of each lane's block in its cluster."""
    (i, j, k), x = s.cluster, [_block(s, axis) for axis in range(3)]
    return x[0] % i + i * (x[1] % j + j * (x[2] % k))


COORDINATES: dict[str, Callable[[Asked, int], Value]] = {
    "tid": lambda s, axis: _uniform(place(s.thread, s.extents, axis)),
    "ntid": lambda s, axis: np.int32(s.extents[axis]),
    "ctaid": lambda s, axis: _uniform(_block(s, axis)),
    "nctaid": lambda s, axis: np.int32(s.grid[axis]),
    "clusterid": lambda s, axis: _uniform(_block(s, axis) // s.cluster[axis]),
    "nclusterid": lambda s, axis: np.int32(s.grid[axis] // s.cluster[axis]),
    "cluster_ctaid": lambda s, axis: _uniform(_block(s, axis) % s.cluster[axis]),
    "cluster_nctaid": lambda s, axis: np.int32(s.cluster[axis]),
}
"""Registers with a value for each of x, y, z."""


def _lanes(form: Callable[[Array], Value]) -> Special:
    """A mask of lanes around one's own bit."""
    return Special(
        "i4",
        lambda s: (
            form(np.uint64(1) << (s.thread % 32).astype("u8")).astype("u4").view("i4")
        ),
    )


_ONE = np.uint64(1)


def _along(form: Callable[[Asked, int], Value], axis: int) -> Callable[[Asked], Value]:
    return lambda s: form(s, axis)


_FIXED: dict[str, Special] = {
    "%laneid": Special("i4", lambda s: (s.thread % 32).astype("i4")),
    "%warpid": Special("i4", lambda s: (s.thread // 32).astype("i4")),
    "%nwarpid": Special("i4", lambda s: np.int32(s.thread.max() // 32 + 1)),
    "%dynamic_smem_size": Special("i4", lambda s: np.int32(s.dynamic_bytes)),
    "%total_smem_size": Special("i4", lambda s: np.int32(s.shared_bytes)),
    "%clock": Special("i4", lambda s: np.int32(s.ticks & 0x7FFFFFFF)),
    "%clock_hi": Special("i4", lambda s: np.int32(s.ticks >> 32)),
    "%clock64": Special("i8", lambda s: np.int64(s.ticks)),
    "%globaltimer": Special("i8", lambda s: np.int64(s.ticks)),
    "%globaltimer_lo": Special("i4", lambda s: np.int32(s.ticks & 0x7FFFFFFF)),
    "%globaltimer_hi": Special("i4", lambda s: np.int32(s.ticks >> 32)),
    "%smid": Special("i4", lambda s: _uniform(s.block % PROCESSORS)),
    "%nsmid": Special("i4", lambda _: np.int32(PROCESSORS)),
    "%gridid": Special("i8", lambda _: np.int64(0)),
    "%aggr_smem_size": Special("i4", lambda s: np.int32(s.shared_bytes)),
    "%reserved_smem_offset_begin": Special("i4", lambda _: np.int32(0)),
    "%reserved_smem_offset_end": Special("i4", lambda _: np.int32(SHARED_START)),
    "%cluster_ctarank": Special("i4", lambda s: _uniform(_rank(s))),
    "%cluster_nctarank": Special(
        "i4", lambda s: np.int32(s.cluster[0] * s.cluster[1] * s.cluster[2])
    ),
    "%is_explicit_cluster": Special("?", lambda s: np.bool_(s.cluster != (1, 1, 1))),
    "WARP_SZ": Special("i4", lambda _: np.int32(32)),
    "%lanemask_eq": _lanes(lambda one: one),
    "%lanemask_lt": _lanes(lambda one: one - _ONE),
    "%lanemask_le": _lanes(lambda one: one + one - _ONE),
    "%lanemask_gt": _lanes(lambda one: ~(one + one - _ONE)),
    "%lanemask_ge": _lanes(lambda one: ~(one - _ONE)),
}
SPECIAL = _FIXED | {
    f"%{name}.{letter}": Special("i4", _along(form, axis))
    for name, form in COORDINATES.items()
    for axis, letter in enumerate("xyz")
}
CLOCKS = frozenset(name for name in SPECIAL if "clock" in name or "timer" in name)
"""Registers that change while a kernel runs."""
PROCESSORS = 132
"""Multiprocessors of the device: those of an H100."""
