"""Masks in the emulator: arrays of booleans, and the cells that they select."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpucodegen.intrinsics.sim.accesses import read_cells, write_cells
from gpucodegen.intrinsics.sim.machine import Pointer
from gpucodegen.intrinsics.sim.twins import Twin


def first_lanes(n: int) -> Twin:
    """``first_lanes(count)``."""
    return lambda count: np.arange(n) < count


def vload_selected(n: int, name: str) -> Twin:
    """``vload_selected(p, off, mask, otherwise)``."""
    del n

    def call(p: Pointer, off: int, mask: np.ndarray, otherwise: np.ndarray) -> Any:
        values = otherwise.copy()
        where = (off + np.flatnonzero(mask)).tolist()
        if where:
            values[mask] = read_cells(p, where, (len(where),), name)
        return values

    return call


def vstore_selected(n: int, name: str) -> Twin:
    """``vstore_selected(p, off, mask, v)``."""
    del n

    def call(p: Pointer, off: int, mask: np.ndarray, v: np.ndarray) -> None:
        where = (off + np.flatnonzero(mask)).tolist()
        if where:
            write_cells(p, where, v[mask], name)

    return call
