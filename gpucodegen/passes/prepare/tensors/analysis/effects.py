"""What operations read of the tensors that they are given.

A read is a use after which a change of the old contents would show.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gpucodegen.dialects import linalg
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import TensorType
from gpucodegen.passes.prepare.tensors.analysis.order import Use

UNREAD = frozenset(
    {"tensor.dim", "tensor.rank", "shape.shape_of", "bufferization.dealloc_tensor"}
)
"""Operations that look at extents only."""

UNDEFINED = frozenset({"tensor.empty", "bufferization.alloc_tensor"})
"""Operations that make tensors without contents."""


def is_undefined(op: Operation) -> bool:
    """Whether the result has no contents: nobody may read it."""
    copies = any(isinstance(v.type, TensorType) for v in op.operands)
    return op.name in UNDEFINED and not copies


def reads(use: Use) -> bool:
    """Whether the operation reads the elements of its operand.

    >>> reads(Use(Operation("tensor.dim"), 0)), reads(Use(Operation("test.x"), 0))
    (False, True)
    """
    if use.op.name in UNREAD:
        return False
    rule = _READS.get(use.op.name)
    return rule is None or rule(use)


def _generic(use: Use) -> bool:
    """An output is read where the body uses its element."""
    structured = linalg.Structured(use.op)
    if use.position < len(structured.inputs):
        return True
    argument = structured.body.arguments[use.position]
    return argument in used_inside(use.op)


def used_inside(op: Operation) -> set[Value]:
    """Values that the operation's regions use."""
    return {v for inner in op.walk() if inner is not op for v in inner.operands}


def _but(position: int) -> Callable[[Use], bool]:
    return lambda use: use.position != position


_READS: Mapping[str, Callable[[Use], bool]] = {
    "linalg.generic": _generic,
    "linalg.pack": _but(1),
    "linalg.unpack": _but(1),
    "bufferization.materialize_in_destination": _but(1),
}
"""Operations that overwrite all of an operand."""


def is_elementwise(op: Operation, source: int, target: int) -> bool:
    """Whether each element of an output depends on that of one input at its place.

    No loop is a reduction, and both are accessed through one permutation.
    """
    if op.name != "linalg.generic":
        return False
    structured = linalg.Structured(op)
    maps, kinds = structured.indexing_maps, structured.iterator_types
    if source >= len(structured.inputs):
        return False
    map_ = maps[target]
    is_permutation = len(set(map_.results)) == len(map_.results) == map_.num_dims
    parallel = all(kind == "parallel" for kind in kinds)
    return parallel and is_permutation and maps[source] == map_
