"""Rules of bufferization operations."""

from __future__ import annotations

from gpucodegen import errors
from gpucodegen.dialects.framework.rules import compatible_shapes, require
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.segments import operand_segments
from gpucodegen.ir.types import MemRefType, TensorType, Type, element_type


def _shape(ty: Type) -> object:
    return ty.shape if isinstance(ty, MemRefType | TensorType) else None


def check_same_array(o: Operation) -> None:
    """The tensor and the buffer have one shape and element type."""
    source, result = o.operands[0].type, o.results[0].type
    if _shape(source) != _shape(result) or element_type(source) != element_type(result):
        raise errors.InvalidCast(
            o.location,
            operation=o.name,
            source=source,
            target=result,
            hint="Keep the shape and the element type",
        )


def check_alloc_tensor(o: Operation) -> None:
    """One size per ``?``, or the tensor whose sizes and elements are copied."""
    sizes, copied, _ = operand_segments(o, 3)
    ty = o.results[0].type
    dynamic = ty.shape.count(None) if isinstance(ty, TensorType) else 0
    expected = 0 if copied else dynamic
    if len(sizes) != expected:
        raise errors.WrongOperandCount(
            o.location,
            operation=o.name,
            expected="no sizes beside copy(..)"
            if copied
            else f"{dynamic} sizes (one per '?')",
            actual=len(sizes),
        )
    for value in copied:
        if value.type != ty:
            raise errors.TypesDiffer(
                o.location,
                operation=o.name,
                first="the copied tensor",
                first_type=value.type,
                second="the result",
                second_type=ty,
            )


def check_dealloc(o: Operation) -> None:
    """One condition per buffer, one result per buffer that is kept."""
    memrefs, conditions, retained = operand_segments(o, 3)
    if len(memrefs) != len(conditions):
        raise errors.WrongOperandCount(
            o.location,
            operation=o.name,
            expected=f"{len(memrefs)} conditions (one per buffer)",
            actual=len(conditions),
        )
    if len(retained) != len(o.results):
        raise errors.WrongResultCount(
            o.location,
            operation=o.name,
            expected=len(retained),
            actual=len(o.results),
        )


def check_materialize(o: Operation) -> None:
    """Shapes agree; a tensor comes back as a result, a buffer is writable."""
    source, dest = (v.type for v in o.operands)
    is_tensor = isinstance(dest, TensorType)
    require(
        element_type(source) == element_type(dest) and _compatible(source, dest),
        o,
        f"cannot put {source} into {dest}",
        "Use one shape and element type",
    )
    require(
        is_tensor != ("writable" in o.attributes),
        o,
        "the word 'writable' belongs to buffers, and to all of them",
        "Remove it" if is_tensor else "Add 'writable' before the buffer",
    )
    require(
        not is_tensor or "restrict" not in o.attributes,
        o,
        "the word 'restrict' belongs to buffers",
        "Remove it",
    )
    if len(o.results) != int(is_tensor):
        raise errors.WrongResultCount(
            o.location,
            operation=o.name,
            expected=int(is_tensor),
            actual=len(o.results),
        )


def _compatible(source: Type, dest: Type) -> bool:
    if not isinstance(source, TensorType):
        return True
    return isinstance(dest, TensorType | MemRefType) and compatible_shapes(
        source.shape, dest.shape
    )
