"""Reads of shared outputs of ``scf.forall`` see what was there before the loop.

Iterations write in no order, and none sees what another one wrote.  The slice that an
iteration puts back stays a slice of the output, which is updated in place.  Every other
read becomes one of the tensor that the loop was given; the analysis of conflicts then
copies where that tensor would be spoilt.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

from gpucodegen.dialects.memref import Mixed, Slice
from gpucodegen.ir.operation import (
    Operation,
    Value,
    operand_segments,
    rewrite_bottom_up,
)

_Part = tuple[tuple[Mixed, ...], ...]
_INSERTION = "tensor.parallel_insert_slice"


def original_reads(function: Operation) -> Operation:
    """The function with other reads of shared outputs redirected."""
    (made,) = rewrite_bottom_up(function, _forall)
    return made


def _forall(op: Operation) -> Sequence[Operation] | None:
    if op.name != "scf.forall" or not op.results:
        return None
    given = operand_segments(op, 4)[3]
    shared = dict(zip(op.body.arguments[-len(given) :], given, strict=True))
    parts = _parts(op, shared)

    def redirected(inner: Operation) -> Sequence[Operation] | None:
        operands = tuple(
            shared[value]
            if value in shared and not _stays(inner, position, parts[value])
            else value
            for position, value in enumerate(inner.operands)
        )
        return None if operands == inner.operands else [inner.with_(operands=operands)]

    rewritten = (rewrite_bottom_up(inner, redirected) for inner in op.body.operations)
    return [op.with_body(chain.from_iterable(rewritten))]


def _parts(op: Operation, shared: Mapping[Value, Value]) -> dict[Value, set[_Part]]:
    """The slices that an iteration puts into each output."""
    found: dict[Value, set[_Part]] = {value: set() for value in shared}
    for inner in op.walk():
        if inner.name == _INSERTION and inner.operands[1] in shared:
            found[inner.operands[1]].add(_part(inner))
    return found


def _stays(op: Operation, position: int, parts: set[_Part]) -> bool:
    """Whether an operand is where a slice is put in, or that very slice."""
    if op.name == _INSERTION:
        return position == 1
    return op.name == "tensor.extract_slice" and parts == {_part(op)}


def _part(op: Operation) -> _Part:
    view = Slice(op)
    return view.offsets, view.sizes, view.strides
