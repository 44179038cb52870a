"""Loads and stores of elements, vectors and tiles, as the emulator runs them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpucodegen.intrinsics.framework.elements import element
from gpucodegen.intrinsics.sim.casts import from_storage, to_storage
from gpucodegen.intrinsics.sim.machine import Pointer
from gpucodegen.intrinsics.sim.twins import Twin

Shape = tuple[int, ...]


def dtype_of(name: str) -> np.dtype:
    """NumPy's type of a carried value."""
    return np.dtype(element(name).carrier.replace("boolean", "bool"))


def load(name: str) -> Twin:
    """``load(p, i)``."""

    def call(p: Pointer, i: int) -> Any:
        p.memory.note_read(i)
        return from_storage(p.memory.cells[i], name)

    return call


def store(name: str) -> Twin:
    """``store(p, i, x)``."""

    def call(p: Pointer, i: int, x: Any) -> None:
        p.memory.note_write(i)
        p.memory.cells[i] = to_storage(x, name)

    return call


def _grid(off: int, shape: Shape, strides: Sequence[int]) -> list[int]:
    """Offsets of all elements, row-major."""
    steps = [np.arange(n) * s for n, s in zip(shape, strides, strict=True)]
    total = steps[0] if len(steps) == 1 else np.add.outer(*steps)
    return (off + total.ravel()).tolist()


def read_cells(p: Pointer, where: list[int], shape: Shape, name: str) -> np.ndarray:
    """Values of cells in memory, in a shape."""
    values = np.asarray(from_storage(p.read(where), name)).astype(dtype_of(name))
    return values.reshape(shape)


def write_cells(p: Pointer, where: list[int], v: np.ndarray, name: str) -> None:
    """Store values, row-major, to cells in memory."""
    p.write(where, to_storage(v.ravel(), name))


def _widest(n: int, name: str, align: int) -> int:
    """Bytes of the widest access that the CUDA face makes of a row."""
    size = element(name).size
    fits = [b for b in (16, 8, 4, 2) if align % b == 0 and size < b <= n * size]
    return fits[0] if align and fits else 0


def vload(n: int, name: str, align: int = 0) -> Twin:
    """``vload(p, off)``."""

    def call(p: Pointer, off: int) -> Any:
        p.check_aligned(off, _widest(n, name, align))
        return read_cells(p, list(range(off, off + n)), (n,), name)

    return call


def vstore(n: int, name: str, align: int = 0) -> Twin:
    """``vstore(p, off, v)``."""

    def call(p: Pointer, off: int, v: Any) -> None:
        p.check_aligned(off, _widest(n, name, align))
        write_cells(p, list(range(off, off + n)), v, name)

    return call


def load_strided(n: int, name: str) -> Twin:
    """``load_strided(p, off, stride)``."""
    return lambda p, off, stride: read_cells(p, _grid(off, (n,), (stride,)), (n,), name)


def store_strided(n: int, name: str) -> Twin:
    """``store_strided(p, off, stride, v)``."""
    return lambda p, off, stride, v: write_cells(
        p, _grid(off, (n,), (stride,)), v, name
    )


def load_tile(
    m: int, n: int, name: str, contiguous: bool = True, align: int = 0
) -> Twin:
    """``load_tile(p, off, row_stride[, col_stride])``."""

    def call(p: Pointer, off: int, *strides: int) -> Any:
        full = (*strides, 1) if contiguous else strides
        for row in range(m if contiguous else 0):
            p.check_aligned(off + row * strides[0], _widest(n, name, align))
        return read_cells(p, _grid(off, (m, n), full), (m, n), name)

    return call


def store_tile(
    m: int, n: int, name: str, contiguous: bool = True, align: int = 0
) -> Twin:
    """``store_tile(p, off, row_stride[, col_stride], v)``."""

    def call(p: Pointer, off: int, *rest: Any) -> None:
        *strides, v = rest
        full = (*strides, 1) if contiguous else strides
        for row in range(m if contiguous else 0):
            p.check_aligned(off + row * strides[0], _widest(n, name, align))
        write_cells(p, _grid(off, (m, n), full), v, name)

    return call


def _masked_read(
    p: Pointer, off: int, shape: Shape, strides: Any, left: Any, pad: Any, name: str
) -> np.ndarray:
    values = np.full(shape, pad, dtype_of(name))
    inside = tuple(max(0, min(n, int(k))) for n, k in zip(shape, left, strict=True))
    if 0 not in inside:
        where = _grid(off, inside, strides)
        values[tuple(map(slice, inside))] = read_cells(p, where, inside, name)
    return values


def _masked_write(
    p: Pointer, off: int, shape: Shape, strides: Any, left: Any, v: Any, name: str
) -> None:
    inside = tuple(max(0, min(n, int(k))) for n, k in zip(shape, left, strict=True))
    if 0 not in inside:
        where = _grid(off, inside, strides)
        write_cells(p, where, v[tuple(map(slice, inside))], name)


def vload_masked(n: int, name: str) -> Twin:
    """``vload_masked(p, off, left, pad)``."""
    return lambda p, off, left, pad: _masked_read(
        p, off, (n,), (1,), (left,), pad, name
    )


def vstore_masked(n: int, name: str) -> Twin:
    """``vstore_masked(p, off, left, v)``."""
    return lambda p, off, left, v: _masked_write(p, off, (n,), (1,), (left,), v, name)


def load_strided_masked(n: int, name: str) -> Twin:
    """``load_strided_masked(p, off, stride, left, pad)``."""
    return lambda p, off, stride, left, pad: _masked_read(
        p, off, (n,), (stride,), (left,), pad, name
    )


def store_strided_masked(n: int, name: str) -> Twin:
    """``store_strided_masked(p, off, stride, left, v)``."""
    return lambda p, off, stride, left, v: _masked_write(
        p, off, (n,), (stride,), (left,), v, name
    )


def load_tile_masked(m: int, n: int, name: str, contiguous: bool = True) -> Twin:
    """``load_tile_masked(p, off, row_stride[, col_stride], rows, columns, pad)``."""

    def call(p: Pointer, off: int, *rest: Any) -> Any:
        *strides, rows, columns, pad = rest
        full = (*strides, 1) if contiguous else strides
        return _masked_read(p, off, (m, n), full, (rows, columns), pad, name)

    return call


def store_tile_masked(m: int, n: int, name: str, contiguous: bool = True) -> Twin:
    """``store_tile_masked(p, off, row_stride[, col_stride], rows, columns, v)``."""

    def call(p: Pointer, off: int, *rest: Any) -> None:
        *strides, rows, columns, v = rest
        full = (*strides, 1) if contiguous else strides
        _masked_write(p, off, (m, n), full, (rows, columns), v, name)

    return call
