"""Conversions between element types, and between values and their storage."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gpucodegen.intrinsics.framework.elements import element
from gpucodegen.intrinsics.sim import narrow
from gpucodegen.intrinsics.sim.integers import unsigned, width_of
from gpucodegen.intrinsics.sim.machine import plain
from gpucodegen.intrinsics.sim.twins import Twin, typed
from gpucodegen.ir.data.float_formats import NARROW


def from_storage(value: Any, name: str) -> Any:
    """Stored elements as kernels carry them."""
    if name in NARROW:
        return narrow.from_bits(value, name)
    carried = np.dtype(element(name).carrier.replace("boolean", "bool"))
    array = np.asarray(value)
    array = array.view(carried) if array.dtype.itemsize == carried.itemsize else array
    return array if array.ndim else plain(array[()])


def to_storage(value: Any, name: str) -> Any:
    """Carried values as they are stored."""
    return narrow.to_bits(value, name) if name in NARROW else value


def wrap(value: Any, name: str) -> Any:
    """An integer cut to a width: a plain ``int`` for i32, NumPy's for others."""
    if isinstance(value, (float, np.floating)) and not math.isfinite(value):
        value = 0
    dtype = np.dtype(name)
    bits = 8 * dtype.itemsize
    cut = (int(value) + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))
    return cut if name == "int32" else dtype.type(cut)


def cast(op: str, name: str) -> Twin:
    """The arith conversion ``op`` to an element type."""
    target = np.dtype(element(name).carrier.replace("boolean", "bool"))
    if name in NARROW:
        return lambda x: _narrowed(op, typed(x), name)

    def call(x: Any) -> Any:
        return plain(np.asarray(_cast(op, np.asarray(typed(x)), target))[()])

    def call_tile(x: Any) -> Any:
        return _cast(op, x, target) if isinstance(x, np.ndarray) else call(x)

    return call_tile


def _narrowed(op: str, x: Any, name: str) -> Any:
    """A number of any type rounded to a narrow float."""
    if x.dtype.kind == "f":
        return narrow.rounded(x, name)
    value = int(x) % (1 << width_of(x))
    is_negative = op == "sitofp" and value >> (width_of(x) - 1)
    return narrow.of_integer(value - (is_negative << width_of(x)), name)


def _cast(op: str, x: np.ndarray, target: np.dtype) -> np.ndarray:
    if op == "bitcast":
        return x.view(target)
    if op in {"fptosi", "fptoui"}:
        return _saturated(x, target, signed=op == "fptosi")
    if op in {"extui", "uitofp", "index_castui"} and x.dtype.kind == "i":
        x = unsigned(x)
    if op in {"extsi", "sitofp", "index_cast"} and x.dtype.kind == "b":
        x = -x.astype(np.int8)
    if op == "trunci" and target.kind == "b":
        x = x & 1
    return x.astype(target)


def _saturated(x: np.ndarray, target: np.dtype, *, signed: bool) -> np.ndarray:
    bounds = np.iinfo(target if signed else np.dtype(f"u{target}"))
    clean = np.where(np.isnan(x), 0, np.trunc(x)).astype(np.float64)
    cells = [
        min(max(int(v), bounds.min), bounds.max)
        if math.isfinite(v)
        else (bounds.max if v > 0 else bounds.min)
        for v in clean.flat
    ]
    return np.array(cells, bounds.dtype).reshape(x.shape).view(target)
