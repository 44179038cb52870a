"""Verifier rules of conversions: shapes agree, widths grow or shrink as named."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from gpucodegen import errors
from gpucodegen.dialects.arith import bit_width
from gpucodegen.dialects.framework.declare import with_element
from gpucodegen.dialects.framework.definition import Check
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import (
    I1,
    INDEX,
    DialectType,
    IntegerType,
    MemRefType,
    Type,
    UnrankedMemRefType,
    element_type,
)

# -- shapes ----------------------------------------------------------------------------


def shape_of(ty: Type) -> Type:
    """The type with element ``i1``, to compare shapes only.

    >>> print(shape_of(INDEX))
    i1
    """
    if isinstance(ty, MemRefType | UnrankedMemRefType):
        return replace(ty, element=I1)
    return with_element(ty, I1)


def check_same_shape(o: Operation) -> None:
    """Operands and results are all scalars, or all of one shape."""
    types = [v.type for v in (*o.operands, *o.results)]
    known = [ty for ty in types if not isinstance(ty, DialectType)]
    for ty in known:
        if shape_of(ty) != shape_of(known[0]):
            raise errors.InvalidCast.at(
                o,
                source=known[0],
                target=ty,
                hint="Use one shape for all operands and results",
            )


# -- elements --------------------------------------------------------------------------

Fits = Callable[[Type, Type], bool]


def _cast(fits: Fits, hint: str) -> Check:
    def check(o: Operation) -> None:
        check_same_shape(o)
        _require(o, o.operands[0].type, o.results[0].type, fits, hint)

    return check


def _require(o: Operation, source: Type, target: Type, fits: Fits, hint: str) -> None:
    elements = element_type(source), element_type(target)
    is_opaque = any(isinstance(ty, DialectType) for ty in elements)
    if not is_opaque and not fits(*elements):
        raise errors.InvalidCast.at(o, source=source, target=target, hint=hint)


def _is_wider(source: Type, target: Type) -> bool:
    return bit_width(source) < bit_width(target)


def _is_narrower(source: Type, target: Type) -> bool:
    return bit_width(source) > bit_width(target)


def _is_as_wide(source: Type, target: Type) -> bool:
    return bit_width(source) == bit_width(target) > 0


def _is_other(source: Type, target: Type) -> bool:
    return source != target and _is_as_wide(source, target)


def _is_index_cast(source: Type, target: Type) -> bool:
    others: Sequence[Type] = [ty for ty in (source, target) if ty != INDEX]
    return len(others) == 1 and _is_signless(others[0])


def _is_signless(ty: Type) -> bool:
    return isinstance(ty, IntegerType) and not ty.signedness


check_wider = _cast(_is_wider, "The result must be wider; use trunci or truncf")
check_narrower = _cast(_is_narrower, "The result must be narrower; use an extension")
check_index_cast = _cast(_is_index_cast, "Convert between index and an integer")
check_converts = _cast(_is_other, "Use extf or truncf for another width")
check_bitcast = _cast(_is_as_wide, "Use a type of as many bits")
