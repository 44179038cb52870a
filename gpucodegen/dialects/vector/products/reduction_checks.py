"""Rules of vector reductions and scans."""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen import errors
from gpucodegen.dialects.framework.rules import require
from gpucodegen.dialects.vector.types import (
    combines,
    extents,
    integers,
    vector_of,
    vector_or_scalar,
)
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import DialectType, Type, element_type


def check_kind(o: Operation, ty: Type) -> None:
    """Elements of this type can be combined in this way."""
    kind = o.attributes.get("kind")
    require(
        isinstance(ty, DialectType) or combines(kind, ty),
        o,
        f"{kind} does not combine elements of type {ty}",
        "Use a kind for this type, such as add, or maximumf for floats and maxsi"
        " for integers",
    )


def check_reduction(o: Operation) -> None:
    """A vector of rank 0 or 1 gives an element."""
    source, result = o.operands[0].type, o.results[0].type
    require(
        len(extents(source)) <= 1,
        o,
        f"{source} has more than one dimension",
        "Use vector.multi_reduction, which names the dimensions",
    )
    _require_result(o, element_type(source), result)
    check_kind(o, element_type(source))


def check_multi_reduction(o: Operation) -> None:
    """The result has the dimensions that are not reduced."""
    source, result = o.operands[0].type, o.results[0].type
    dims = extents(source)
    reduced = integers(o, "reduction_dims")
    check_positions(o, reduced, len(dims))
    kept = [dim for i, dim in enumerate(dims) if i not in reduced]
    _require_result(o, vector_or_scalar(kept, element_type(source)), result)


def check_positions(o: Operation, positions: Sequence[int], rank: int) -> None:
    """Different dimensions, each below the rank."""
    for position in positions:
        if not 0 <= position < rank:
            raise errors.OutOfRange(
                o.location,
                operation=o.name,
                what="dimension",
                value=position,
                limit=rank,
            )
    require(
        len(set(positions)) == len(positions),
        o,
        f"a dimension occurs twice in {list(positions)}",
        "Name each dimension once",
    )


def check_scan(o: Operation) -> None:
    """The start has the dimensions of the source without the scanned one."""
    source, start = (v.type for v in o.operands)
    dims = extents(source)
    position = getattr(o.attributes["reduction_dim"], "value", 0)
    check_positions(o, [position], len(dims))
    kept = [dim for i, dim in enumerate(dims) if i != position]
    _require_result(o, vector_of(kept, element_type(source)), start)
    check_kind(o, element_type(source))


def _require_result(o: Operation, expected: Type, actual: Type) -> None:
    if expected != actual:
        raise errors.TypesDiffer(
            o.location,
            operation=o.name,
            first="the reduced vector",
            first_type=expected,
            second="the accumulator or result",
            second_type=actual,
        )
