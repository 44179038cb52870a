"""Rules of reductions, rotations and broadcasts among threads."""

from __future__ import annotations

from gpucodegen.dialects.framework.constraints import TypeConstraint
from gpucodegen.dialects.framework.rules import require
from gpucodegen.dialects.vector.types import combines, extents, is_scalable
from gpucodegen.ir.attributes import IntegerAttr
from gpucodegen.ir.operation import Block, Operation
from gpucodegen.ir.types import FloatType, IntegerType, Type, element_type


def _is_exchanged(ty: Type) -> bool:
    is_number = isinstance(element_type(ty), IntegerType | FloatType)
    return is_number and len(extents(ty)) <= 1 and not is_scalable(ty)


EXCHANGED = TypeConstraint("an integer or float, or a vector of rank 1", _is_exchanged)


def _check_kind(o: Operation, ty: Type) -> None:
    kind = o.attributes.get("op")
    require(
        kind is None or combines(kind, ty),
        o,
        f"{kind} does not combine values of type {ty}",
        "Use an operation for this type, such as add, maxsi for integers or maximumf"
        " for floats",
    )


def check_all_reduce(o: Operation) -> None:
    """The name of an operation, or a body that combines two values."""
    value = o.operands[0]
    block = next((b for region in o.regions for b in region.blocks), Block())
    operations = block.operations
    require(
        bool(operations) != ("op" in o.attributes),
        o,
        "needs either the name of an operation or a body",
        "Write gpu.all_reduce add %x {}, or leave out the name",
    )
    _check_kind(o, element_type(value.type))
    if operations:
        expected = [value.type] * 2
        end = operations[-1]
        require(
            [a.type for a in block.arguments] == expected
            and [v.type for v in end.operands] == [value.type]
            and end.name == "gpu.yield",
            o,
            f"the body does not combine two values of type {value.type} to one",
            "Give it two arguments of this type, and yield one value of it",
        )


def _number(o: Operation, name: str, default: int = 0) -> int:
    value = o.attributes.get(name)
    return value.value if isinstance(value, IntegerAttr) else default


def _is_power(number: int) -> bool:
    return number > 0 and number & (number - 1) == 0


def check_subgroup_reduce(o: Operation) -> None:
    """Clusters of threads are a power of two, as is the stride."""
    ty = o.operands[0].type
    require(
        _is_exchanged(ty),
        o,
        f"cannot reduce {ty}",
        "Reduce an integer or float, or a vector of rank 1",
    )
    _check_kind(o, element_type(ty))
    size, stride = _number(o, "cluster_size", 1), _number(o, "cluster_stride", 1)
    require(
        _is_power(size) and _is_power(stride),
        o,
        f"cluster size {size} or stride {stride} is no power of two",
        "Use powers of two",
    )
    require(
        stride == 1 or "cluster_size" in o.attributes,
        o,
        "a stride without a cluster size",
        "Write cluster(size = .., stride = ..)",
    )


def check_rotate(o: Operation) -> None:
    """The offset is below the width, a power of two."""
    offset, width = _number(o, "offset"), _number(o, "width")
    require(
        _is_power(width) and 0 <= offset < width,
        o,
        f"cannot rotate {width} threads by {offset}",
        "Use a width that is a power of two and an offset below it",
    )


def check_broadcast(o: Operation) -> None:
    """A lane is named exactly if it is a specific one."""
    is_specific = "specific" in str(o.attributes["broadcast_type"])
    require(
        is_specific == (len(o.operands) == 2),
        o,
        "names a lane that is not asked for, or none",
        "Write specific_lane %lane, or first_active_lane",
    )
