"""Tiles in the emulator: the Python twin of every shaped intrinsic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpucodegen import errors
from gpucodegen.intrinsics.elements import element
from gpucodegen.intrinsics.sim import machine as machine_module
from gpucodegen.intrinsics.sim.machine import (
    Pointer,
    plain,
    private_memory,
    shared_memory,
)
from gpucodegen.intrinsics.sim.transfers import Transfer
from gpucodegen.intrinsics.sim.values import TWINS, from_storage, to_storage

Twin = Callable[..., Any]
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


def constant(shape: Shape, name: str, value: Any) -> Twin:
    """``constant()``."""
    numbers = np.broadcast_to(np.asarray(value, dtype_of(name)).ravel(), np.prod(shape))
    return lambda: numbers.reshape(shape)


def splat(shape: Shape, name: str) -> Twin:
    """``splat(x)``."""
    return lambda x: np.full(shape, x, dtype_of(name))


def broadcast_rows(m: int, n: int, name: str) -> Twin:
    """``broadcast_rows(v)``."""
    return lambda v: np.broadcast_to(v, (m, n)).astype(dtype_of(name))


def broadcast_columns(m: int, n: int, name: str) -> Twin:
    """``broadcast_columns(v)``."""
    return lambda v: np.broadcast_to(v, (m, n)).astype(dtype_of(name))


def shape_cast(source: Shape, target: Shape, name: str) -> Twin:
    """``shape_cast(v)``."""
    del source, name
    return lambda v: v.reshape(target)


def transpose(m: int, n: int, name: str) -> Twin:
    """``transpose(v)``."""
    del m, n, name
    return lambda v: v.T.copy()


def from_elements(shape: Shape, name: str) -> Twin:
    """``from_elements(x0, x1, ...)``."""
    return lambda *xs: np.array(xs, dtype_of(name)).reshape(shape)


def extract(shape: Shape, name: str, position: Shape) -> Twin:
    """``extract(v)``."""
    del shape, name

    def call(v: np.ndarray) -> Any:
        part = v[position]
        return part.copy() if isinstance(part, np.ndarray) else plain(part)

    return call


def insert(shape: Shape, name: str, position: Shape) -> Twin:
    """``insert(x, v)``."""
    del shape, name

    def call(x: Any, v: np.ndarray) -> np.ndarray:
        changed = v.copy()
        changed[position] = x
        return changed

    return call


def shuffle(n: int, m: int, name: str, mask: Shape) -> Twin:
    """``shuffle(v, w)``."""
    del n, m, name

    def call(v: np.ndarray, w: np.ndarray) -> np.ndarray:
        return np.concatenate([v, w])[list(mask)]

    return call


def outerproduct(m: int, n: int, name: str, fused: bool = True) -> Twin:
    """``outerproduct(a, b, acc)``."""
    del m
    dtype = dtype_of(name)
    wide = np.float64 if fused and dtype == np.float32 else dtype

    def call(a: np.ndarray, b: Any, acc: np.ndarray) -> np.ndarray:
        left = a.astype(wide)
        products = np.multiply.outer(left, b.astype(wide)) if n else left * wide(b)
        return (acc + products).astype(dtype)

    return call


def outerproduct_column(m: int, n: int, name: str, fused: bool = True) -> Twin:
    """``outerproduct_column(p, off, stride, b, acc)``."""
    column, product = load_strided(m, name), outerproduct(m, n, name, fused)
    return lambda p, off, stride, b, acc: product(column(p, off, stride), b, acc)


COMBINE = {
    "add": ("addi", "addf"),
    "mul": ("muli", "mulf"),
    "and": ("andi", ""),
    "or": ("ori", ""),
    "xor": ("xori", ""),
}


def reduce(n: int, name: str, kind: str) -> Twin:
    """``reduce(v, init)``."""
    is_float = dtype_of(name).kind == "f"
    combine = TWINS[COMBINE.get(kind, (kind, kind))[is_float]]

    def call(v: np.ndarray, total: Any) -> Any:
        for i in range(n):
            total = combine(total, plain(v[i]))
        return total

    return call


def reduce_freely(n: int, name: str, kind: str) -> Twin:
    """``reduce_freely(v, init)``; here from the first to the last as well."""
    return reduce(n, name, kind)


def reduce_rows(m: int, n: int, name: str, kind: str) -> Twin:
    """``reduce_rows(v, init)``."""
    row = reduce(n, name, kind)

    def call(v: np.ndarray, totals: np.ndarray) -> np.ndarray:
        sums = [row(v[i], plain(totals[i])) for i in range(m)]
        return np.array(sums, dtype_of(name))

    return call


ATOMIC = {
    "assign": lambda _, x: x,
    "maxs": TWINS["maxsi"],
    "mins": TWINS["minsi"],
    "maxu": TWINS["maxui"],
    "minu": TWINS["minui"],
}


def atomic(kind: str, name: str) -> Twin:
    """``atomic(p, i, x)``."""
    combine = ATOMIC.get(kind) or TWINS[kind]

    def call(p: Pointer, i: int, x: Any) -> Any:
        p.memory.note_write(i, atomic=True)
        old = from_storage(p.memory.cells[i], name)
        p.memory.cells[i] = to_storage(combine(old, x), name)
        return old

    return call


def _storage(name: str) -> np.dtype:
    return np.dtype(element(name).storage)


def shared(n: int, name: str) -> Twin:
    """``shared()``."""
    return lambda: shared_memory(n, _storage(name), "shared")


def local(n: int, name: str) -> Twin:
    """``local()``; the tags of transfers are the block's, which executes these once."""
    if name == "tag":
        return lambda: shared_memory(n, _storage(name), name)
    return lambda: private_memory(n, _storage(name))


def heap(name: str) -> Twin:
    """A GPU kernel allocates no memory while it runs."""
    del name
    raise errors.UnsupportedOperation(operation="memref.alloc", target="sim")


heap_free = heap


def _sides(count: int, off: int, stride: int, run: int) -> list[int]:
    return [off + e // run * stride + e % run for e in range(count)]


def dma_start(
    name: str,
    source_space: str = "global",
    target_space: str = "shared",
    width: int = 0,
) -> Twin:
    """Start a transfer, or join the one that other threads started.

    ``dma_start(src, src_off, dst, dst_off, tag, tag_idx, count, src_stride, src_run,
    dst_stride, dst_run)``.
    """
    del source_space, target_space
    size = element(name).size

    def call(
        src: Pointer,
        src_off: int,
        dst: Pointer,
        dst_off: int,
        tag: Pointer,
        tag_idx: int,
        count: int,
        *sides: int,
    ) -> None:
        source = _sides(count, src_off, *sides[:2])
        target = _sides(count, dst_off, *sides[2:])
        step = max(1, width // size)
        for i in range(0, count, step):
            src.check_aligned(source[i], width)
            dst.check_aligned(target[i], width)
        running = machine_module.machine
        transfer = Transfer(
            src.memory, dst.memory, source, target, _tag(tag, tag_idx), running.phase
        )
        running.transfers.start(tag.memory.key(tag_idx), transfer, running.thread)

    return call


def dma_wait(name: str, pending: int = 0) -> Twin:
    """``dma_wait(tag, tag_idx, count)``."""
    del name, pending

    def call(tag: Pointer, tag_idx: int, count: int) -> None:
        running = machine_module.machine
        running.transfers.wait(
            tag.memory.key(tag_idx),
            _tag(tag, tag_idx),
            count,
            running.thread,
            running.threads,
        )

    return call


def _tag(tag: Pointer, index: int) -> str:
    return f"{tag.memory.name}[{index}]"
