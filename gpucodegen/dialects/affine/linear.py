"""Rules of affine.delinearize_index and affine.linearize_index."""

from __future__ import annotations

from gpucodegen import errors
from gpucodegen.dialects.framework.constraints import TypeConstraint
from gpucodegen.dialects.memref import DYNAMIC_MARK
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.segments import operand_segments
from gpucodegen.ir.types import INDEX, Type, VectorType


def _is_index_like(ty: Type) -> bool:
    return (ty.element if isinstance(ty, VectorType) else ty) == INDEX


INDEX_LIKE = TypeConstraint("index, or a vector of it", _is_index_like)


# -- the basis -------------------------------------------------------------------------


def _check_basis(o: Operation, dynamic: int, indices: int) -> None:
    """One entry per index, except perhaps the first."""
    entries = o.numbers("static_basis")
    marks = entries.count(DYNAMIC_MARK)
    if marks != dynamic:
        raise errors.WrongAttribute(
            o.location,
            operation=o.name,
            problem=f"{marks} unknown entries of the basis for {dynamic} values",
            hint="Give one value per unknown entry",
        )
    if indices not in (len(entries), len(entries) + 1):
        raise errors.WrongAttribute(
            o.location,
            operation=o.name,
            problem=f"{indices} indices for a basis of {len(entries)}",
            hint="Give one entry per index, or leave out the first",
        )


# -- delinearize -----------------------------------------------------------------------


def check_delinearize(o: Operation) -> None:
    """Results like the operand, one per positive extent, perhaps one more."""
    if not o.results:
        raise errors.WrongResultCount(
            o.location, operation=o.name, expected="at least 1", actual=0
        )
    _check_basis(o, len(o.operands) - 1, len(o.results))
    if any(entry < 1 and entry != DYNAMIC_MARK for entry in o.numbers("static_basis")):
        raise errors.WrongAttribute(
            o.location,
            operation=o.name,
            problem="an entry of the basis is not positive",
            hint="Use extents of at least 1",
        )
    _check_same_type(o, (o.operands[0], *o.results))


def _check_same_type(o: Operation, values: tuple[Value, ...]) -> None:
    first, *rest = values
    for value in rest:
        if value.type != first.type:
            raise errors.TypesDiffer(
                o.location,
                operation=o.name,
                first="the linear index",
                first_type=first.type,
                second="an index",
                second_type=value.type,
            )


# -- linearize -------------------------------------------------------------------------


def check_linearize(o: Operation) -> None:
    """Indices like the result, one per entry of the basis, perhaps one more."""
    indices, basis = operand_segments(o, 2)
    _check_basis(o, len(basis), len(indices))
    _check_same_type(o, (o.results[0], *indices))
