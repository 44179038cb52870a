"""linalg: views, convolutions and poolings of 2019 to 2022, and tiled loops."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

from gpucodegen import errors
from gpucodegen.dialects.linalg import scalar_of
from gpucodegen.dialects.linalg.named.definitions import numbers
from gpucodegen.interp.machine import Machine
from gpucodegen.interp.memory.accesses import load, store, written
from gpucodegen.interp.memory.memref import name_of
from gpucodegen.interp.registry import Evaluate
from gpucodegen.interp.scalars.arith import combine
from gpucodegen.interp.values.buffers import MemRef, contiguous
from gpucodegen.interp.values.indices import given, steps
from gpucodegen.ir.attributes import ArrayAttr, DenseElementsAttr
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import FloatType

# -- views -----------------------------------------------------------------------------


def _range(_: Machine, __: Operation, low: int, high: int, step: int) -> range:
    return steps(low, high, step)


def _slice(_: Machine, __: Operation, source: MemRef, *entries: int | range) -> MemRef:
    """A range keeps its dimension, an index takes it away."""
    offset = 0
    shape: list[int] = []
    strides: list[int] = []
    for entry, stride in zip(entries, source.strided().strides, strict=True):
        if isinstance(entry, range):
            offset += entry.start * stride
            shape.append(len(entry))
            strides.append(entry.step * stride)
        else:
            offset += entry * stride
    return source.viewed(offset, shape, strides)


def _view(_: Machine, __: Operation, source: MemRef, *entries: range) -> MemRef:
    """Rows of a buffer."""
    shape = [len(entry) for entry in entries]
    return source.viewed(0, shape, contiguous(shape))


def _subview(_: Machine, __: Operation, source: MemRef, *entries: int) -> MemRef:
    """Begin, end and step of each dimension."""
    ranges = [steps(*entries[n : n + 3]) for n in range(0, len(entries), 3)]
    return _slice(_, __, source, *ranges)


def _buffer_alloc(_: Machine, op: Operation, *size: int) -> MemRef:
    text = str(op.results[0].type)
    static = text.partition("<")[2].partition("x")[0]
    return MemRef.allocated(size or (int(static),), scalar_of(op.results[0].type))


def _buffer_size(_: Machine, __: Operation, source: MemRef) -> int:
    return source.shape[0]


def _nothing(*_: Any) -> None:
    """Memory lives as long as something sees it."""


# -- windows ---------------------------------------------------------------------------


def _factors(op: Operation, name: str, count: int) -> tuple[int, ...]:
    return numbers(op, name) if name in op.attributes else (1,) * count


def _padding(op: Operation, count: int) -> list[int]:
    """Of each window, before its first element."""
    value = op.attributes.get("padding")
    if isinstance(value, DenseElementsAttr):
        flat = [int(str(v)) for v in value.values]
        flat = flat * 2 * count if value.is_splat else flat
        return flat[::2]
    if isinstance(value, ArrayAttr):
        raise errors.UnsupportedOperation(
            operation=f"{op.name} {value}", target="interp"
        )
    return [0] * count


def _inside(buffer: MemRef, index: tuple[int, ...]) -> bool:
    return all(0 <= i < n for i, n in zip(index, buffer.shape, strict=True))


def _conv(
    _: Machine, op: Operation, kernel: MemRef, image: MemRef, out: MemRef
) -> None:
    """``out[b, x.., k] += sum image[b, x*s + z*d - p.., q] * kernel[z.., q, k]``."""
    count = out.rank - 2
    strides, dilations = (_factors(op, n, count) for n in ("strides", "dilations"))
    pads = _padding(op, count)
    is_float = isinstance(out.type, FloatType)
    multiply = combine("mulf" if is_float else "muli", out.type)
    add = combine("addf" if is_float else "addi", out.type)
    for b, *x, k in np.ndindex(*out.shape):
        total = out.load((b, *x, k), name_of(op.operands[2]))
        for *z, q in np.ndindex(*kernel.shape[:-1]):
            rows = zip(x, strides, z, dilations, pads, strict=True)
            at = (b, *(i * s + j * d - p for i, s, j, d, p in rows), q)
            if _inside(image, at):
                total = add(total, multiply(image.load(at), kernel.load((*z, q, k))))
        out.store((b, *x, k), total)


def _pooling(names: tuple[str, str]) -> Evaluate:
    def evaluate(
        _: Machine, op: Operation, image: MemRef, window: MemRef, out: MemRef
    ) -> None:
        """What lies outside is left out."""
        strides, dilations = (
            _factors(op, n, out.rank) for n in ("strides", "dilations")
        )
        pads = _padding(op, out.rank)
        is_float = isinstance(out.type, FloatType)
        function: Callable[[Any, Any], Any] = combine(names[not is_float], out.type)
        for x in np.ndindex(*out.shape):
            total = out.load(x)
            for z in np.ndindex(*window.shape):
                rows = zip(x, strides, z, dilations, pads, strict=True)
                at = tuple(i * s + j * d - p for i, s, j, d, p in rows)
                if _inside(image, at):
                    total = function(total, image.load(at))
            out.store(x, total)

    return evaluate


# -- loops -----------------------------------------------------------------------------


def _tiled_loop(m: Machine, op: Operation, *_: Any) -> Any:
    """Points in row-major order; tensors among the outputs are carried."""
    groups = m.groups(op)
    bounds = [groups[n] for n in ("lower", "upper", "step")]
    inputs, outputs = groups["inputs"], list(groups["outputs"])
    renames = len(op.body.arguments) > len(bounds[0])
    carried: tuple[Any, ...] = tuple(v for v in outputs if isinstance(v, np.ndarray))
    for point in product(*map(steps, *bounds)):
        given_tensors = iter(carried)
        now = [next(given_tensors) if isinstance(v, np.ndarray) else v for v in outputs]
        names = (*inputs, *now) if renames else ()
        made = m.results(op.regions[0], (*point, *names))
        carried = made or carried
    return given(carried[: len(op.results)])


OPERATIONS: dict[str, Evaluate] = {
    "linalg.range": _range,
    "linalg.slice": _slice,
    "linalg.view": _view,
    "linalg.base_view": _view,
    "linalg.subview": _subview,
    "linalg.buffer_alloc": _buffer_alloc,
    "linalg.buffer_dealloc": _nothing,
    "linalg.buffer_size": _buffer_size,
    "linalg.load": load(written),
    "linalg.store": store(written),
    "linalg.conv": _conv,
    "linalg.pooling_max": _pooling(("maximumf", "maxsi")),
    "linalg.pooling_min": _pooling(("minimumf", "minsi")),
    "linalg.pooling_sum": _pooling(("addf", "addi")),
    "linalg.tiled_loop": _tiled_loop,
}
