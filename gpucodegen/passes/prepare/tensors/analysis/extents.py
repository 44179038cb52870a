"""Where an extent comes from: a number, a value, or a dimension of another tensor."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gpucodegen.dialects import linalg
from gpucodegen.dialects.memref import Slice
from gpucodegen.ir.operation import Operation, Value, operand_segments
from gpucodegen.ir.types import TensorType
from gpucodegen.passes.prepare.tensors.analysis.conflicts import Conflicts
from gpucodegen.passes.prepare.tensors.analysis.effects import UNDEFINED
from gpucodegen.passes.prepare.tensors.kept import kept_dimensions

Origin = int | Value | tuple[Value, int]
CARRYING = frozenset({"scf.for", "affine.for", "scf.forall"})
"""Operations whose results have the extents of what they were given."""


def origin(known: Conflicts, tensor: Value, dimension: int) -> Origin:
    """Where an extent of a tensor comes from."""
    ty = tensor.type
    static = ty.shape[dimension] if isinstance(ty, TensorType) else None
    if static is not None:
        return static
    op = known.order.made.get(tensor)
    given = _carried(known, tensor) if op is None else _kept(op, tensor)
    if given is not None:
        return origin(known, given, dimension)
    size = None if op is None else _size(op, dimension)
    return (tensor, dimension) if size is None else _of_index(known, size)


def _carried(known: Conflicts, argument: Value) -> Value | None:
    """What a loop gives to an argument of its body at first."""
    loop = known.order.scope[argument]
    if loop.name in CARRYING:
        count = len(loop.results)
        arguments = loop.body.arguments[len(loop.body.arguments) - count :]
        inits = loop.operands[len(loop.operands) - count :]
        return dict(zip(arguments, inits, strict=True)).get(argument)
    return None


def _kept(op: Operation, tensor: Value) -> Value | None:
    """The operand whose extents a result has."""
    if op.name in CARRYING:
        inits = op.operands[len(op.operands) - len(op.results) :]
        return dict(zip(op.results, inits, strict=True))[tensor]
    if op.name == "linalg.generic":
        outputs = (
            v for v in linalg.Structured(op).outputs if isinstance(v.type, TensorType)
        )
        return dict(zip(op.results, outputs, strict=False))[tensor]
    position = _UPDATED.get(op.name)
    return None if position is None else op.operands[position]


_UPDATED: Mapping[str, int] = {
    "tensor.insert": 1,
    "tensor.insert_slice": 1,
    "tensor.scatter": 1,
    "tensor.cast": 0,
    "vector.transfer_write": 1,
    "linalg.pack": 1,
    "linalg.unpack": 1,
}


def _size(op: Operation, dimension: int) -> Value | int | None:
    """The operand that says how large a result is."""
    rule = _SIZES.get(op.name)
    return None if rule is None else rule(op, dimension)


def _sizes_from(first: int) -> Callable[[Operation, int], Value | int | None]:
    def size(op: Operation, dimension: int) -> Value | int | None:
        ty = op.result.type
        shape = ty.shape if isinstance(ty, TensorType) else ()
        return op.operands[first + shape[:dimension].count(None)]

    return size


def _alloc_tensor(op: Operation, dimension: int) -> Value | int | None:
    copied = operand_segments(op, 3)[1]
    return None if copied else _sizes_from(0)(op, dimension)


def _slice(op: Operation, dimension: int) -> Value | int | None:
    ty = op.result.type
    sizes = Slice(op).sizes
    shape = ty.shape if isinstance(ty, TensorType) else ()
    return sizes[kept_dimensions(sizes, shape)[dimension]]


_SIZES: Mapping[str, Callable[[Operation, int], Value | int | None]] = {
    **dict.fromkeys(UNDEFINED, _alloc_tensor),
    "tensor.empty": _sizes_from(0),
    "tensor.generate": _sizes_from(0),
    "tensor.splat": _sizes_from(1),
    "tensor.extract_slice": _slice,
}


def _of_index(known: Conflicts, size: Value | int) -> Origin:
    """A size that is itself an extent comes from there."""
    if isinstance(size, int):
        return size
    if size in known.constants:
        return known.constants[size]
    op = known.order.made.get(size)
    position = known.constants.get(op.operands[1]) if op and _is_dim(op) else None
    if op is None or position is None:
        return size
    return origin(known, op.operands[0], position)


def _is_dim(op: Operation) -> bool:
    return op.name == "tensor.dim"
