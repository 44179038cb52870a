"""tensor: slices at places that another tensor holds."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gpucodegen import errors
from gpucodegen.interp.machine import Machine
from gpucodegen.interp.memory.memref import name_of
from gpucodegen.interp.registry import Evaluate
from gpucodegen.interp.values.elements import Array, empty
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import element_type

Selected = tuple[tuple[int, ...], tuple[int | slice, ...]]


def _slices(
    op: Operation, whole: Array, indices: Array, name: str, number: int
) -> Iterator[Selected]:
    """Places in the indices, and the slice that each selects."""
    dims = op.numbers(name)
    for place in np.ndindex(*indices.shape[:-1]):
        at: list[int | slice] = [slice(None)] * whole.ndim
        for d, i in zip(dims, indices[place].tolist(), strict=True):
            if not 0 <= i < whole.shape[d]:
                raise errors.IndexOutOfBounds(
                    index=i, buffer=name_of(op.operands[number]), shape=whole.shape
                )
            at[d] = i
        yield place, tuple(at)


def _gather(_: Machine, op: Operation, source: Array, indices: Array) -> Array:
    """A slice for each place; unit extents may stand where it was selected."""
    leading = indices.shape[:-1]
    ty = op.results[0].type
    shape = getattr(ty, "shape", ())
    dims = op.numbers("gather_dims")
    kept = [1 if d in dims else n for d, n in enumerate(source.shape)]
    if len(shape) != len(leading) + source.ndim:
        kept = [n for d, n in enumerate(source.shape) if d not in dims]
    made = empty((*leading, *kept), element_type(ty))
    for place, at in _slices(op, source, indices, "gather_dims", 0):
        made[place] = source[at].reshape(kept)
    return made


def _scatter(
    _: Machine, op: Operation, source: Array, dest: Array, indices: Array
) -> Array:
    made = dest.copy()
    for place, at in _slices(op, dest, indices, "scatter_dims", 1):
        made[at] = source[place].reshape(made[at].shape)
    return made


OPERATIONS: dict[str, Evaluate] = {
    "tensor.gather": _gather,
    "tensor.scatter": _scatter,
}
