"""Interprets linalg: runs an operation's body at every point of its loop nest.

Points are visited in row-major order. Maps, loops and bodies of named operations are
those of the dialect's tables. Views, convolutions, poolings and tiled loops of 2019 to
2022 are included.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np

from gpucodegen import errors
from gpucodegen.dialects.framework.registry import operations
from gpucodegen.dialects.linalg import Structured, scalar_of
from gpucodegen.dialects.linalg.named_definitions import (
    generalized,
    is_structured,
    numbers,
)
from gpucodegen.interp.arith import combine
from gpucodegen.interp.buffers import MemRef, contiguous, copied, fresh
from gpucodegen.interp.machine import Machine, called, tell_where
from gpucodegen.interp.memref import load, name_of, store, written
from gpucodegen.interp.registry import Evaluate
from gpucodegen.interp.values import Array, given, number, steps
from gpucodegen.ir.affine import AffineMap, Dim
from gpucodegen.ir.attributes import ArrayAttr, DenseElementsAttr
from gpucodegen.ir.operation import Operation, Region
from gpucodegen.ir.types import FloatType, Type, element_type

# -- views -----------------------------------------------------------------------------


def _range(_: Machine, __: Operation, low: int, high: int, step: int) -> range:
    return steps(low, high, step)


def _slice(_: Machine, __: Operation, source: MemRef, *entries: int | range) -> MemRef:
    """A range keeps its dimension, an index drops it."""
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
    """A byte buffer as a row-major buffer of elements."""
    shape = [len(entry) for entry in entries]
    return source.viewed(0, shape, contiguous(shape))


def _subview(_: Machine, __: Operation, source: MemRef, *entries: int) -> MemRef:
    """Start, end and step of each dimension."""
    ranges = [steps(*entries[n : n + 3]) for n in range(0, len(entries), 3)]
    return _slice(_, __, source, *ranges)


def _buffer_alloc(_: Machine, op: Operation, *size: int) -> MemRef:
    text = str(op.results[0].type)
    static = text.partition("<")[2].partition("x")[0]
    return MemRef.allocated(size or (int(static),), scalar_of(op.results[0].type))


def _buffer_size(_: Machine, __: Operation, source: MemRef) -> int:
    return source.shape[0]


def _nothing(*_: Any) -> None:
    """No effect: memory is garbage-collected."""


# -- windows ---------------------------------------------------------------------------


def _factors(op: Operation, name: str, count: int) -> tuple[int, ...]:
    return numbers(op, name) if name in op.attributes else (1,) * count


def _padding(op: Operation, count: int) -> list[int]:
    """Padding of each window before its first element."""
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
        """Pool over the window; elements outside of the image are skipped."""
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
    """Visit tiles in row-major order; output tensors are carried between them."""
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


LEGACY_OPERATIONS: dict[str, Evaluate] = {
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


POINT = object()
"""Key of the current loop point among the globals of a run."""


def _generic_of(op: Operation) -> Structured:
    return Structured(op if op.name == "linalg.generic" else generalized(op))


class View:
    """An operand of a structured operation: a buffer, tensor or scalar."""

    __slots__ = ("buffer", "name", "number")

    def __init__(self, value: Any, ty: Type, name: str) -> None:
        self.number, self.buffer, self.name = value, None, name
        if isinstance(value, MemRef):
            self.buffer: MemRef | None = value
        elif isinstance(value, np.ndarray) and not _is_vector(ty):
            self.buffer = MemRef.of(value, element_type(ty))

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents; empty for a scalar."""
        return self.buffer.shape if self.buffer is not None else ()

    def at(self, index: Sequence[int], *, is_read: bool) -> Any:
        """The element; unwritten memory is allowed if the body does not read it."""
        if self.buffer is None:
            return self.number
        if is_read:
            return self.buffer.load(index, self.name)
        line = self.buffer.memory.view(np.ndarray)
        return number(line[self.buffer.place(index, self.name)], self.buffer.type)


def _is_vector(ty: Type) -> bool:
    from gpucodegen.ir.types import VectorType

    return isinstance(ty, VectorType)


def extents(
    op: Operation, maps: Sequence[AffineMap], shapes: Sequence[Sequence[int]]
) -> tuple[int, ...]:
    """Extent of each loop, from the operands that it indexes alone.

    Raises ShapesDisagree.
    """
    found: dict[int, int] = {}
    for map_, shape in zip(maps, shapes, strict=True):
        for expr, extent in zip(map_.results, shape, strict=False):
            if not isinstance(expr, Dim):
                continue
            known = found.setdefault(expr.position, extent)
            if known != extent:
                raise errors.ShapesDisagree(
                    problem=f"'{op.name}' has extents {known} and {extent}"
                    f" for loop d{expr.position}"
                )
    return tuple(found[d] for d in range(maps[0].num_dims if maps else 0))


def structured(m: Machine, op: Operation, *values: Any) -> Any:
    """Run any operation whose maps, loops and body are known."""
    callee = m.shared.handlers.get(op.string("library_call"))
    if callee is not None and not op.results:
        return called(op.string("library_call"), callee, values, {}, ())
    generic: Structured = m.once(op, _generic_of)
    body, maps = generic.operation.regions[0], generic.indexing_maps
    made = [copied(v) if isinstance(v, np.ndarray) else v for v in values]
    read = m.once(body.blocks[0].operations[-1], lambda _: _read(body))
    views = [
        View(value, operand.type, name_of(operand))
        for value, operand in zip(made, op.operands, strict=True)
    ]
    targets = views[len(views) - len(generic.outputs) :]
    bounds = extents(op, maps, [view.shape for view in views])
    outer = m.shared.globals.get(POINT)
    for point in np.ndindex(*bounds):
        places = [map_.evaluate(point) for map_ in maps]
        m.shared.globals[POINT] = point
        elements = [
            view.at(i, is_read=r)
            for view, i, r in zip(views, places, read, strict=True)
        ]
        try:
            results = m.results(body, elements)
        except errors.Error as error:
            tell_where(error, f"the point of '{op.name}' is {point}")
            raise
        for view, i, value in zip(
            targets, places[-len(targets) :], results, strict=True
        ):
            assert view.buffer is not None
            view.buffer.store(i, value, view.name)
    m.shared.globals[POINT] = outer
    return given(_tensors(targets, len(op.results)))


def _tensors(targets: Sequence[View], count: int) -> tuple[Array, ...]:
    of_tensors = [v.buffer for v in targets if not isinstance(v.number, MemRef)]
    return tuple(_tensor(b) for b in of_tensors[:count] if b is not None)


def _tensor(buffer: MemRef) -> Array:
    """The tensor; elements that no point has written stay unwritten."""
    flags, made = buffer.flags(), buffer.elements()
    return made if flags is None or flags.all() else fresh(made, flags)


def _read(body: Region) -> list[bool]:
    """Which arguments a body uses; a call counts as using its operands."""
    block = body.blocks[0]
    inside = (o for op in block.operations for o in op.walk())
    used = {v for o in inside if o.name != "func.call" for v in o.used}
    return [argument in used for argument in block.arguments]


def _index(m: Machine, op: Operation) -> int:
    return m.shared.globals[POINT][op.integer("dim")]


def _table() -> dict[str, Evaluate]:
    """Evaluators of all structured operations of the dialect."""
    names = operations("linalg")
    return {n: structured for n in names if is_structured(Operation(n))}


STRUCTURED_OPERATIONS: dict[str, Evaluate] = {**_table(), "linalg.index": _index}
