"""linalg: an operation's body at every point of its loops, in row-major order.

Maps, loops and bodies of named operations are those of the dialect's tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpucodegen import errors
from gpucodegen.dialects.framework.registry import operations
from gpucodegen.dialects.linalg import Structured
from gpucodegen.dialects.linalg.named.definitions import generalized, is_structured
from gpucodegen.interp.handlers import called
from gpucodegen.interp.machine import Machine, tell_where
from gpucodegen.interp.memory.memref import name_of
from gpucodegen.interp.registry import Evaluate
from gpucodegen.interp.values.buffers import MemRef
from gpucodegen.interp.values.elements import Array, number
from gpucodegen.interp.values.indices import given
from gpucodegen.interp.values.written import copied, fresh
from gpucodegen.ir.affine.expressions import Dim
from gpucodegen.ir.affine.maps import AffineMap
from gpucodegen.ir.operation import Operation, Region
from gpucodegen.ir.types import Type, element_type

POINT = object()
"""Where the point stands, among the globals of a run."""


def _generic_of(op: Operation) -> Structured:
    return Structured(op if op.name == "linalg.generic" else generalized(op))


class View:
    """An operand: elements by index, of a buffer, a tensor or a number."""

    __slots__ = ("buffer", "name", "number")

    def __init__(self, value: Any, ty: Type, name: str) -> None:
        self.number, self.buffer, self.name = value, None, name
        if isinstance(value, MemRef):
            self.buffer: MemRef | None = value
        elif isinstance(value, np.ndarray) and not _is_vector(ty):
            self.buffer = MemRef.of(value, element_type(ty))

    @property
    def shape(self) -> tuple[int, ...]:
        """Its extents; none of a number."""
        return self.buffer.shape if self.buffer is not None else ()

    def at(self, index: Sequence[int], *, is_read: bool) -> Any:
        """The element; whatever memory holds where the body does not read it."""
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
    """The extent of each loop: that of the operands it indexes alone.

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
    """The new values of the tensors among the outputs."""
    of_tensors = [v.buffer for v in targets if not isinstance(v.number, MemRef)]
    return tuple(_tensor(b) for b in of_tensors[:count] if b is not None)


def _tensor(buffer: MemRef) -> Array:
    """It remembers what of it no point has written."""
    flags, made = buffer.flags(), buffer.elements()
    return made if flags is None or flags.all() else fresh(made, flags)


def _read(body: Region) -> list[bool]:
    """Which of its arguments a body uses; what a call does with them is not known."""
    block = body.blocks[0]
    inside = (o for op in block.operations for o in op.walk())
    used = {v for o in inside if o.name != "func.call" for v in o.used}
    return [argument in used for argument in block.arguments]


def _index(m: Machine, op: Operation) -> int:
    return m.shared.globals[POINT][op.integer("dim")]


def _table() -> dict[str, Evaluate]:
    """Everything that the dialect knows as structured."""
    names = operations("linalg")
    return {n: structured for n in names if is_structured(Operation(n))}


OPERATIONS: dict[str, Evaluate] = {**_table(), "linalg.index": _index}
