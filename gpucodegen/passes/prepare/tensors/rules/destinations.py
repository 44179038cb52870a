"""Where a value without a place of its own is needed: it is made there at once.

The output of an operation may be a tensor without contents.  If what becomes of it is
put into another tensor, or carried on by a loop, its memory is that place, as far as
nobody reads there in between.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gpucodegen.dialects import linalg
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import TensorType
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.prepare.tensors.analysis.conflicts import INSERTIONS, Write
from gpucodegen.passes.prepare.tensors.analysis.effects import UNDEFINED
from gpucodegen.passes.prepare.tensors.analysis.extents import origin
from gpucodegen.passes.prepare.tensors.analysis.order import Use
from gpucodegen.passes.prepare.tensors.analysis.places import Buffer, Part
from gpucodegen.passes.prepare.tensors.rewriter import Rewriter
from gpucodegen.passes.prepare.tensors.views import part_of, shape_of

Place = tuple[Value, Part | None]
"""A tensor, and a part of it."""


def destination(
    r: Rewriter, b: Builder, op: Operation, position: int, result: Value
) -> Buffer | None:
    """Where an operation can make a result for the one that needs it."""
    order = r.conflicts.order
    made = order.made.get(op.operands[position])
    uses = order.uses.get(result, ())
    if made is None or made.name not in UNDEFINED or len(uses) != 1:
        return None
    if op.operands[position] not in r.conflicts.undefined:
        return None
    rule = _PLACES.get(uses[0].op.name)
    place = None if rule is None else rule(r, op, uses[0])
    if place is None or place[0] not in r.buffers:
        return None
    tensor, part = place
    into = r.buffers[tensor]
    write = Write(op, position, part, into=into)
    if not into.storage.writable or r.conflicts.of_write(write) is not None:
        return None
    if part is None:
        return into
    return part_of(b, into, part, shape_of(result.type))


def _inserted(r: Rewriter, op: Operation, use: Use) -> Place | None:
    """A part of the tensor that it is put into, which is made by then."""
    order, part = r.conflicts.order, r.conflicts.part(use.op)
    parallel = use.op.name == "tensor.parallel_insert_slice"
    home = order.block[order.around[use.op][-1] if parallel else use.op]
    entries = (*part.offsets, *part.sizes, *part.strides)
    known = all(order.precedes(e, op) for e in entries if isinstance(e, Value))
    fits = use.position == 0 and home is order.block[op] and known
    return (use.op.operands[1], part) if fits else None


def _carried(r: Rewriter, op: Operation, use: Use) -> Place | None:
    """The tensor that a loop carries on, of the same extents."""
    order = r.conflicts.order
    loop, value = order.around[use.op][-1], use.op.operands[use.position]
    skipped = _VARIABLES.get(loop.name)
    if skipped is None or loop.regions[-1].blocks[0] is not order.block[op]:
        return None
    argument = loop.regions[0].blocks[0].arguments[skipped + use.position]
    if argument in r.conflicts.undefined:
        return None
    dimensions = range(len(shape_of(value.type)))
    same = all(
        origin(r.conflicts, value, d) == origin(r.conflicts, argument, d)
        for d in dimensions
    )
    return (argument, None) if same else None


_VARIABLES = {"scf.for": 1, "affine.for": 1, "scf.while": 0}
"""How many arguments of a loop's first block come before those that it carries."""


def _passed_on(r: Rewriter, op: Operation, use: Use) -> Place | None:
    """The place of what the next operation makes of it."""
    order, first = r.conflicts.order, len(linalg.Structured(use.op).inputs)
    if use.position < first or order.block[use.op] is not order.block[op]:
        return None
    outputs = use.op.operands[first : use.position]
    number = sum(isinstance(v.type, TensorType) for v in outputs)
    uses = order.uses.get(use.op.results[number], [])
    if len(uses) != 1:
        return None
    (last,) = uses
    rule = _PLACES.get(last.op.name)
    return None if rule is None else rule(r, op, last)


_PLACES: Mapping[str, Callable[[Rewriter, Operation, Use], Place | None]] = {
    **dict.fromkeys(INSERTIONS, _inserted),
    "scf.yield": _carried,
    "affine.yield": _carried,
    "linalg.generic": _passed_on,
}
