"""What is written to the buffer of a ``to_tensor`` while its tensor is used.

``restrict`` says that the buffer is seen through this tensor alone, views of its memref
aside.  The tensor then needs no copy unless for some operation ``w`` that may write the
buffer, and some use ``u`` of the tensor or of what may be a view of it,

    w may run after the to_tensor,  and  u may run after w
"""

from __future__ import annotations

from collections.abc import Iterator

from gpucodegen.dialects import linalg
from gpucodegen.dialects.framework.definition import Trait
from gpucodegen.dialects.framework.registry import lookup
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import MemRefType, TensorType
from gpucodegen.passes.analysis.lifting.buffers.aliases import Aliases
from gpucodegen.passes.analysis.lifting.values.views import VIEWS
from gpucodegen.passes.prepare.tensors.analysis.order import Order

READERS = VIEWS | frozenset(
    "affine.load affine.vector_load bufferization.to_tensor func.return memref.dim "
    "memref.load memref.rank vector.load vector.transfer_read vector.print".split()
)
"""Operations that change nothing of the memrefs that they are given."""
SOURCES = frozenset({"memref.copy", "bufferization.materialize_in_destination"})
"""Operations that only read their first operand."""


def obstacle(order: Order, op: Operation) -> Operation | None:
    """What keeps a ``to_tensor`` from showing its buffer.

    It is a write, or a use that may hand the tensor on.
    """
    lives = _views(order, op.result)
    if isinstance(lives, Operation):
        return lives
    function = order.around[op][0]
    called = {str(inner.attributes.get("callee")) for inner in function.walk()}
    aliases = Aliases.of([function], {name.removeprefix("@") for name in called})
    uses = [(v, use.op) for v in lives for use in order.uses.get(v, ())]
    for write in _writes(function, op.operands[0], aliases):
        if order.may_follow(op.result, write, op) and any(
            use is write or order.may_follow(value, use, write) for value, use in uses
        ):
            return write
    return None


def _views(order: Order, tensor: Value) -> list[Value] | Operation:
    """A tensor with all that may be views of it, or what hands it on elsewhere."""
    found = [tensor]
    for value in found:
        for use in order.uses.get(value, ()):
            if use.op.dialect == "linalg":
                continue
            if _hands_on(use.op):
                return use.op
            found += (v for v in use.op.results if isinstance(v.type, TensorType))
    return found


def _hands_on(op: Operation) -> bool:
    """Whether the tensor may go on under a name that nothing here follows."""
    definition = lookup(op.name)
    ends = definition is None or definition.has(Trait.TERMINATOR)
    copies = op.name in {"func.return", "bufferization.materialize_in_destination"}
    holds = bool(op.regions) and op.name != "tensor.pad"
    return not copies and (ends or holds or op.name in _HANDING)


_HANDING = frozenset({"bufferization.to_buffer", "func.call", "func.call_indirect"})


def _writes(
    function: Operation, buffer: Value, aliases: Aliases
) -> Iterator[Operation]:
    """Operations that may change what the buffer holds."""
    for op in function.walk():
        if op.name in READERS or (op.regions and op.dialect != "linalg"):
            continue
        if any(aliases.may_overlap(v, buffer) for v in _written(op)):
            yield op


def _written(op: Operation) -> Iterator[Value]:
    """The memrefs of an operation that it may write."""
    first = 1 if op.name in SOURCES else 0
    if op.name == "linalg.generic":
        first = len(linalg.Structured(op).inputs)
    for value in op.operands[first:]:
        if isinstance(value.type, MemRefType):
            yield value
