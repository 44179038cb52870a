"""Verifier rules of the affine dialect.

Maps must match operands, results and memref ranks, and yields the loop's results. Which
values may be dimensions and symbols depends on where they are defined, so
``gpucodegen.dialects.verifier.affine_values`` checks that.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen import errors
from gpucodegen.dialects import affine as view
from gpucodegen.dialects.framework.constraints import TypeConstraint, types_differ
from gpucodegen.dialects.framework.definition import Check
from gpucodegen.dialects.memref import DYNAMIC_MARK
from gpucodegen.dialects.shared.combiners import OF_ATOMICS
from gpucodegen.dialects.shared.control_flow import check_else, check_yield
from gpucodegen.ir.affine import AffineMap
from gpucodegen.ir.attributes import AffineMapAttr, IntegerAttr, IntegerSetAttr
from gpucodegen.ir.operation import Operation, Value, operand_segments
from gpucodegen.ir.types import (
    INDEX,
    DialectType,
    MemRefType,
    Type,
    VectorType,
    element_type,
)


def _is_index_like(ty: Type) -> bool:
    return (ty.element if isinstance(ty, VectorType) else ty) == INDEX


INDEX_LIKE = TypeConstraint("index, or a vector of it", _is_index_like)


# -- the basis -------------------------------------------------------------------------


def _check_basis(o: Operation, dynamic: int, indices: int) -> None:
    """One entry per index, except perhaps the first."""
    entries = o.numbers("static_basis")
    marks = entries.count(DYNAMIC_MARK)
    if marks != dynamic:
        raise errors.WrongAttribute.at(
            o,
            problem=f"{marks} unknown entries of the basis for {dynamic} values",
            hint="Give one value per unknown entry",
        )
    if indices not in (len(entries), len(entries) + 1):
        raise errors.WrongAttribute.at(
            o,
            problem=f"{indices} indices for a basis of {len(entries)}",
            hint="Give one entry per index, or leave out the first",
        )


# -- delinearize -----------------------------------------------------------------------


def check_delinearize(o: Operation) -> None:
    """Results have the operand's type, one per positive extent or one more."""
    if not o.results:
        raise errors.WrongResultCount.at(o, expected="at least 1", actual=0)
    _check_basis(o, len(o.operands) - 1, len(o.results))
    if any(entry < 1 and entry != DYNAMIC_MARK for entry in o.numbers("static_basis")):
        raise errors.WrongAttribute.at(
            o,
            problem="an entry of the basis is not positive",
            hint="Use extents of at least 1",
        )
    _check_same_type(o, (o.operands[0], *o.results))


def _check_same_type(o: Operation, values: tuple[Value, ...]) -> None:
    first, *rest = values
    for value in rest:
        if value.type != first.type:
            raise types_differ(
                o, "the linear index", first.type, "an index", value.type
            )


# -- linearize -------------------------------------------------------------------------


def check_linearize(o: Operation) -> None:
    """Indices have the result's type; there is one per basis entry, or one more."""
    indices, basis = operand_segments(o, 2)
    _check_basis(o, len(basis), len(indices))
    _check_same_type(o, (o.results[0], *indices))


def _arity(o: Operation, what: str, expected: int, actual: int) -> None:
    if expected != actual:
        raise errors.WrongMapArity(
            o.location, what=what, expected=expected, actual=actual
        )


def _map(o: Operation, name: str) -> AffineMap:
    attribute = o.attributes.get(name)
    if not isinstance(attribute, AffineMapAttr):
        raise errors.MissingAttribute.at(o, name=name)
    return attribute.map


def check_map(o: Operation) -> None:
    """The map takes all operands."""
    _arity(o, "the map", _map(o, "map").num_inputs, len(o.operands))


def check_results(o: Operation) -> None:
    """``affine.apply`` takes a map with one result, ``min`` and ``max`` any number."""
    count = len(_map(o, "map").results)
    if count != 1 and (o.name == "affine.apply" or not count):
        raise errors.WrongResultCount.at(o, expected=1, actual=count)


def check_access(position: int) -> Check:
    """The map gives one index per dimension of the memref at ``position``."""

    def check(o: Operation) -> None:
        map_ = _map(o, "map")
        _arity(o, "the map", map_.num_inputs, len(o.operands) - position - 1)
        _check_rank(o, o.operands[position], map_)
        _check_element(o, position)

    return check


def _check_rank(o: Operation, memref: Value, map_: AffineMap) -> None:
    ty = memref.type
    if isinstance(ty, MemRefType) and ty.rank != len(map_.results):
        raise errors.WrongRank(
            o.location, type=ty, rank=ty.rank, actual=len(map_.results)
        )


def _check_element(o: Operation, position: int) -> None:
    values = o.operands[:position] or o.results
    ty = o.operands[position].type
    for value in values[:1]:
        is_vector = isinstance(value.type, VectorType) and "vector" in o.name
        actual = element_type(value.type) if is_vector else value.type
        if actual != element_type(ty):
            raise types_differ(
                o,
                "the element",
                element_type(ty),
                "the value's element" if is_vector else "the value",
                actual,
            )


def check_locality(o: Operation) -> None:
    """The hint of a prefetch is between 0 (none) and 3 (keep)."""
    hint = o.attributes.get("localityHint")
    if isinstance(hint, IntegerAttr) and not 0 <= hint.value <= 3:
        raise errors.OutOfRange.at(o, what="locality", value=hint.value, limit=4)


def check_for(o: Operation) -> None:
    """Bounds, step, arguments and yielded values fit."""
    lower, upper, inits = operand_segments(o, 3)
    _arity(o, "the lower bound", _map(o, "lowerBoundMap").num_inputs, len(lower))
    _arity(o, "the upper bound", _map(o, "upperBoundMap").num_inputs, len(upper))
    _nonempty(o, ("lowerBoundMap", "upperBoundMap"))
    loop = view.For(o)
    if loop.step < 1:
        raise errors.WrongAttribute.at(
            o,
            problem=f"the step must be positive, found {loop.step}",
            hint="Count upwards",
        )
    _check_arguments(o, [INDEX, *(v.type for v in inits)])
    check_yield(o, [v.type for v in inits])


def _nonempty(o: Operation, names: Sequence[str]) -> None:
    for name in names:
        if not _map(o, name).results:
            raise errors.WrongAttribute.at(
                o,
                problem="a bound's map has no result",
                hint="Give the map at least one result",
            )


def _check_arguments(o: Operation, expected: Sequence[object]) -> None:
    actual = [v.type for v in o.body.arguments]
    if actual != list(expected) or [v.type for v in o.results] != list(expected)[1:]:
        raise errors.WrongStructure.at(
            o,
            problem="body arguments, initial values and results differ in type",
            hint="Give them the same types in the same order",
        )


def check_if(o: Operation) -> None:
    """The condition fits its operands; both branches yield the results."""
    condition = o.attributes.get("condition")
    if isinstance(condition, IntegerSetAttr):
        _arity(o, "the set", condition.set.num_inputs, len(o.operands))
    check_else(o)
    check_yield(o, [v.type for v in o.results])


def check_parallel(o: Operation) -> None:
    """One bound, step and reduction for each variable and result."""
    lower, upper = _map(o, "lowerBoundsMap"), _map(o, "upperBoundsMap")
    _arity(o, "the bounds", lower.num_inputs + upper.num_inputs, len(o.operands))
    loop = view.Parallel(o)
    count = len(loop.ivs)
    for what, actual in (
        ("lower bounds", len(loop.lower_maps)),
        ("upper bounds", len(loop.upper_maps)),
        ("steps", len(loop.steps)),
    ):
        if actual != count:
            raise errors.WrongStructure.at(
                o,
                problem=f"{actual} {what} for {count} variables",
                hint="Write one per variable",
            )
    if any(step < 1 for step in loop.steps):
        raise errors.WrongAttribute.at(
            o, problem="every step must be positive", hint="Count upwards"
        )
    if len(loop.reductions) != len(o.results):
        raise errors.WrongStructure.at(
            o,
            problem=f"{len(loop.reductions)} reductions for {len(o.results)} results",
            hint="Name one reduction per result",
        )
    for kind, result in zip(loop.reductions, o.results, strict=True):
        _check_reduction(o, kind, result.type)
    check_yield(o, [v.type for v in o.results])


def _check_reduction(o: Operation, kind: str, ty: Type) -> None:
    if kind == "assign" or isinstance(ty, DialectType):
        return
    if not OF_ATOMICS[kind].takes(ty):
        raise errors.WrongAttribute.at(
            o,
            problem=f"{kind} reduces no {ty}",
            hint="Use a reduction of numbers of this type",
        )


def check_dma_start(o: Operation) -> None:
    """Each map fits its memref; one count, and either two stride operands or none."""
    position = 0
    for name in ("src_map", "dst_map", "tag_map"):
        position = _check_end(o, name, position)
    if len(o.operands) - position not in (1, 3):
        raise errors.WrongOperandCount.at(
            o, expected=f"{position + 1} or {position + 3}", actual=len(o.operands)
        )


def _check_end(o: Operation, name: str, position: int) -> int:
    map_ = _map(o, name)
    if position >= len(o.operands):
        raise errors.WrongOperandCount.at(
            o, expected="source, destination and tag as", actual=len(o.operands)
        )
    ty = o.operands[position].type
    if not isinstance(ty, MemRefType):
        raise errors.InvalidOperandType.at(
            o, what=f"operand {position}", expected="a memref", actual=ty
        )
    _check_rank(o, o.operands[position], map_)
    return position + 1 + map_.num_inputs


def check_dma_wait(o: Operation) -> None:
    """The tag's map fits, and one count follows."""
    position = _check_end(o, "tag_map", 0)
    if len(o.operands) != position + 1:
        raise errors.WrongOperandCount.at(
            o, expected=position + 1, actual=len(o.operands)
        )
