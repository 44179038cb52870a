"""vector.outerproduct: rows times columns, or a vector times a scalar."""

from __future__ import annotations

from gpucodegen import errors
from gpucodegen.dialects.framework.rules import require
from gpucodegen.dialects.framework.syntax import Reader, State, Writer
from gpucodegen.dialects.vector.products.contract import modern_kind
from gpucodegen.dialects.vector.products.reduction_checks import check_kind
from gpucodegen.dialects.vector.types import extents, vector_of
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import Type, VectorType, element_type

_ADD = "#vector.kind<add>"


def parse_outerproduct(r: Reader, state: State) -> None:
    """``%a, %b, %acc {kind} : vector, vector``."""
    start = r.start
    uses = r.separated(r.use)
    state.attributes |= r.attr_dict()
    r.expect(":")
    types = r.types()
    if len(uses) not in (2, 3) or len(types) != 2:
        raise errors.TypeCountMismatch(
            r.location(start), operands=len(uses), types=len(types)
        )
    result = outer_type(*types)
    modern_kind(state)
    if str(state.attributes.get("kind")) == _ADD:
        del state.attributes["kind"]
    all_types = [*types, result][: len(uses)]
    state.operands = r.resolve_all(uses, all_types, start)
    state.result_types = [result]


def outer_type(lhs: Type, rhs: Type) -> Type:
    """The product's type: the extents of both."""
    if not isinstance(lhs, VectorType):
        return rhs
    return vector_of(extents(lhs) + extents(rhs), lhs.element)


def print_outerproduct(w: Writer, o: Operation) -> None:
    """``%a, %b, %acc {kind} : vector, vector``."""
    w.write(f" {w.names(o.operands)}")
    is_add = str(o.attributes.get("kind")) == _ADD
    w.attr_dict(o, ("kind",) if is_add else ())
    w.write(f" : {o.operands[0].type}, {o.operands[1].type}")


def check_outerproduct(o: Operation) -> None:
    """Vectors of rank 1, or a vector and a scalar; the result has both shapes."""
    lhs, rhs = (v.type for v in o.operands[:2])
    require(
        len(extents(lhs)) == 1
        and (len(extents(rhs)) == 1 or not isinstance(rhs, VectorType))
        and element_type(lhs) == element_type(rhs),
        o,
        f"cannot multiply {lhs} and {rhs}",
        "Use vectors of rank 1, or a vector and a scalar, of one element type",
    )
    check_kind(o, element_type(lhs))
    expected = outer_type(lhs, rhs)
    for value in (*o.operands[2:], *o.results):
        if value.type != expected:
            raise errors.TypesDiffer(
                o.location,
                operation=o.name,
                first="the product",
                first_type=expected,
                second="the accumulator or result",
                second_type=value.type,
            )
