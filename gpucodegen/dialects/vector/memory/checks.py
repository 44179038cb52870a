"""Rules of vector accesses to memory: elements, extents of masks, unit stride."""

from __future__ import annotations

from gpucodegen.dialects.framework.definition import Check
from gpucodegen.dialects.framework.rules import require
from gpucodegen.dialects.memref.checks import check_indices
from gpucodegen.dialects.memref.layouts import strided_form
from gpucodegen.dialects.vector.types import extents
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import MemRefType, Type, VectorType, element_type


def _check_alignment(o: Operation) -> None:
    alignment = o.integer("alignment", 1)
    require(
        alignment > 0 and alignment & (alignment - 1) == 0,
        o,
        f"alignment {alignment} is no power of two",
        "Write a positive power of two",
    )


def _check_elements(o: Operation, base: Type, vector: Type) -> None:
    """The memory holds the vector's elements, or vectors of its type."""
    inner = element_type(base)
    is_same = inner in (vector, element_type(vector))
    require(
        is_same,
        o,
        f"{base} does not hold elements of {vector}",
        f"Use a vector of {element_type(inner)}",
    )


# -- consecutive elements --------------------------------------------------------------


def check_load(o: Operation) -> None:
    """Elements, rank and stride of what is read."""
    _check_contiguous(o, o.operands[0], o.results[0].type, o.operands[1:])


def check_store(o: Operation) -> None:
    """Elements, rank and stride of what is written."""
    value, base, *indices = o.operands
    _check_contiguous(o, base, value.type, tuple(indices))


def _check_contiguous(
    o: Operation, base: Value, vector: Type, indices: tuple[Value, ...]
) -> None:
    check_indices(o, base, len(indices))
    ty = base.type
    if not isinstance(ty, MemRefType):
        return
    _check_alignment(o)
    _check_elements(o, ty, vector)
    is_whole = ty.element == vector
    require(
        len(extents(vector)) <= ty.rank or is_whole,
        o,
        f"{vector} has more dimensions than {ty}",
        "Use a vector of at most the rank of the memref",
    )
    is_single = all(extent == (1, False) for extent in extents(vector))
    require(
        is_single or is_whole or has_unit_stride(ty),
        o,
        f"the elements of the last dimension of {ty} are not adjacent",
        "Use a memref whose last stride is 1, or vector.gather and vector.scatter",
    )


def has_unit_stride(ty: MemRefType) -> bool:
    """Whether neighbours in the last dimension are neighbours in memory."""
    form = strided_form(ty)
    return form is not None and form.strides[-1:] in ((), (1,))


# -- masked and scattered --------------------------------------------------------------


def masked(*, gathers: bool = False, stores: bool = False) -> Check:
    """Masks, positions and values have the extents of the vector."""

    def check(o: Operation) -> None:
        base, *rest = o.operands
        *indices, mask, value = rest
        positions = [indices.pop()] if gathers else []
        vector = value.type if stores else o.results[0].type
        _check_elements(o, base.type, vector)
        for what, other in (("mask", [mask]), ("positions", positions)):
            for v in other:
                _check_extents(o, what, v.type, vector)
        require(
            stores or value.type == vector,
            o,
            f"{value.type} does not replace elements of {vector}",
            f"Use a value of type {vector}",
        )
        check_indices(o, base, len(indices))
        _check_alignment(o)
        require(
            not stores or not o.results or o.results[0].type == base.type,
            o,
            f"the result is no {base.type}",
            f"Write {base.type}",
        )

    return check


def _check_extents(o: Operation, what: str, ty: Type, vector: Type) -> None:
    require(
        isinstance(ty, VectorType) and extents(ty) == extents(vector),
        o,
        f"the {what} {ty} and {vector} differ in extent",
        "Use vectors of one shape",
    )
