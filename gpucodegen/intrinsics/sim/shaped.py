"""Tiles in the emulator: the Python twin of every shaped intrinsic."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpucodegen.intrinsics.sim.accesses import Shape, dtype_of, load_strided
from gpucodegen.intrinsics.sim.casts import from_storage, to_storage
from gpucodegen.intrinsics.sim.machine import Pointer, plain
from gpucodegen.intrinsics.sim.narrow import rounded
from gpucodegen.intrinsics.sim.twins import Twin
from gpucodegen.intrinsics.sim.values import TWINS
from gpucodegen.ir.data.float_formats import NARROW


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


def outerproduct_words(m: int, n: int, left: str, right: str) -> Twin:
    """``outerproduct_words(a, b, acc)``."""
    del m, n

    def parts(words: np.ndarray, kind: str) -> np.ndarray:
        name = kind.replace("i", "int")
        return words[:, None].astype(np.int32).view(name).astype(np.int32)

    def call(a: np.ndarray, b: np.ndarray, acc: np.ndarray) -> np.ndarray:
        return acc + parts(a, left) @ parts(b, right).T

    return call


def bitcast(source: int, before: str, target: int, after: str) -> Twin:
    """``bitcast(v)``."""
    del source, target
    return lambda v: v.astype(dtype_of(before)).view(dtype_of(after))


def reduce(n: int, name: str, operation: str) -> Twin:
    """``reduce(v, init)``."""
    combine = TWINS[operation]

    def call(v: np.ndarray, total: Any) -> Any:
        for i in range(n):
            total = combine(total, plain(v[i]))
            total = rounded(total, name) if name in NARROW else total
        return total

    return call


def reduce_freely(n: int, name: str, operation: str) -> Twin:
    """``reduce_freely(v, init)``; here from the first to the last as well."""
    return reduce(n, name, operation)


def reduce_rows(m: int, n: int, name: str, operation: str) -> Twin:
    """``reduce_rows(v, init)``."""
    row = reduce(n, name, operation)

    def call(v: np.ndarray, totals: np.ndarray) -> np.ndarray:
        sums = [row(v[i], plain(totals[i])) for i in range(m)]
        return np.array(sums, dtype_of(name))

    return call


def _taken_over(_old: Any, new: Any) -> Any:
    """``assign``."""
    return new


def atomic(operation: str, name: str) -> Twin:
    """``atomic(p, i, x)``."""
    combine = TWINS.get(operation, _taken_over)

    def call(p: Pointer, i: int, x: Any) -> Any:
        p.memory.note_write(i, atomic=True)
        old = from_storage(p.memory.cells[i], name)
        p.memory.cells[i] = to_storage(combine(old, x), name)
        return old

    return call
