"""Verifier rules of memref operations on elements, globals and metadata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from gpucodegen import errors
from gpucodegen.dialects.framework import kinds, registry
from gpucodegen.dialects.framework.constraints import (
    check_no_arguments,
    require,
    types_differ,
)
from gpucodegen.dialects.framework.definition import Trait, Types
from gpucodegen.dialects.memref.checks import check_indices
from gpucodegen.dialects.memref.layouts import strided_form
from gpucodegen.dialects.shared.combiners import OF_ATOMICS, atomic_kind
from gpucodegen.dialects.shared.control_flow import check_yield
from gpucodegen.ir.attributes import (
    Attribute,
    ElementsAttr,
    IntegerAttr,
    OpaqueAttr,
    StringAttr,
    TypeAttr,
    UnitAttr,
)
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import (
    I1,
    I32,
    INDEX,
    DialectType,
    FloatType,
    IntegerType,
    MemRefType,
    TensorType,
    Type,
    element_type,
)

# -- attributes ------------------------------------------------------------------------


def _is_power_of_two(attribute: Attribute) -> bool:
    value = attribute.value if isinstance(attribute, IntegerAttr) else 0
    return value > 0 and value.bit_count() == 1


def _is_flag(attribute: Attribute) -> bool:
    return isinstance(attribute, IntegerAttr) and attribute.type == I1


def _is_locality(attribute: Attribute) -> bool:
    return isinstance(attribute, IntegerAttr) and 0 <= attribute.value <= 3


ALIGNMENT = replace(
    kinds.integer(optional=True),
    what="a power of two, of type i64",
    accepts=_is_power_of_two,
)
REQUIRED_ALIGNMENT = replace(
    kinds.integer(I32), what="a power of two, of type i32", accepts=_is_power_of_two
)
FLAG = replace(kinds.FALSE_BY_DEFAULT, accepts=_is_flag)
LOCALITY = replace(kinds.INT32, what="an i32 from 0 to 3", accepts=_is_locality)

# -- metadata --------------------------------------------------------------------------


def metadata(types: Types, _: Mapping[str, Attribute]) -> Sequence[Type] | None:
    """Inference: a base buffer, the offset, and a size and stride per dimension."""
    source = next(iter(types.get("source", ())), None)
    if not isinstance(source, MemRefType):
        return None
    base = MemRefType((), source.element, None, source.memory_space)
    return (base, *(INDEX,) * (1 + 2 * source.rank))


def each_operand(types: Types, _: Mapping[str, Attribute]) -> Sequence[Type] | None:
    """Inference: one result per operand, of the same type."""
    return types.get("operands")


def check_distinct(o: Operation) -> None:
    """At least one operand."""
    if not o.operands:
        raise errors.WrongOperandCount.at(o, expected="at least 1", actual=0)
    if len(o.results) != len(o.operands):
        raise errors.WrongResultCount.at(
            o, expected=len(o.operands), actual=len(o.results)
        )


def check_metadata(o: Operation) -> None:
    """Only strided layouts have an offset and strides."""
    ty = o.operands[0].type
    require(
        not isinstance(ty, MemRefType) or strided_form(ty),
        o,
        f"{ty} is not strided",
        "Use a strided layout",
    )
    expected = metadata({"source": [ty]}, {})
    if expected is not None and len(o.results) != len(expected):
        raise errors.WrongResultCount.at(
            o, expected=len(expected), actual=len(o.results)
        )


# -- atomic updates --------------------------------------------------------------------


def check_atomic(o: Operation) -> None:
    """The kind suits the element type."""
    value, memref = o.operands[:2]
    check_indices(o, memref, len(o.operands) - 2)
    element = element_type(memref.type)
    _check_element(o, "the value", value, element)
    _check_kind(o, atomic_kind(o), value.type)


def _check_element(o: Operation, what: str, value: Value, element: Type) -> None:
    if value.type != element:
        raise types_differ(o, what, value.type, "the element", element)


def _check_kind(o: Operation, name: str, ty: Type) -> None:
    takes = (FloatType, IntegerType)
    if name != "assign":
        takes = (FloatType,) if OF_ATOMICS[name].is_float else (IntegerType,)
    if not isinstance(ty, (*takes, DialectType)):
        raise errors.InvalidOperandType.at(
            o,
            what=f"the value of '{name}'",
            expected=" or ".join(_NAMES[t] for t in takes),
            actual=ty,
        )


_NAMES: dict[type[Type], str] = {FloatType: "a float", IntegerType: "an integer"}


def check_generic_atomic(o: Operation) -> None:
    """The body computes the new element from the old one, without side effects."""
    memref = o.operands[0]
    check_indices(o, memref, len(o.operands) - 1)
    element = element_type(memref.type)
    _check_kind(o, "assign", element)
    _check_element(o, "the result", o.results[0], element)
    (block,) = o.regions[0].blocks
    arguments = [a.type for a in block.arguments]
    require(
        arguments == [element],
        o,
        f"the body takes ({', '.join(map(str, arguments))}), not ({element})",
        "Let the body take the old element",
    )
    for inner in block.operations[:-1]:
        definition = registry.lookup(inner.name)
        is_effect = definition is not None and not definition.has(Trait.PURE)
        require(
            not (is_effect and inner.name.startswith("memref.")),
            inner,
            "stands in an atomic update, which may have no side effects",
            "Move it out of the body",
        )
    check_yield(o, [element])


# -- globals ---------------------------------------------------------------------------


def check_global(o: Operation) -> None:
    """A static memref type, and one value per element unless it is uninitialized."""
    written = o.attributes.get("type")
    ty = written.type if isinstance(written, TypeAttr) else None
    require(
        isinstance(ty, MemRefType) and None not in ty.shape,
        o,
        f"{ty} is not a memref of static shape",
        "Use a memref with numbers for extents",
    )
    visibility = o.attributes.get("sym_visibility")
    require(
        visibility is None or visibility in _VISIBILITIES,
        o,
        f"visibility {visibility} is unknown",
        "Use public, private or nested",
    )
    value = o.attributes.get("initial_value")
    if isinstance(ty, MemRefType) and value is not None:
        _check_initial_value(o, ty, value)


_VISIBILITIES = [StringAttr(v) for v in ("public", "private", "nested")]


def _check_initial_value(o: Operation, ty: MemRefType, value: Attribute) -> None:
    expected = TensorType(ty.shape, ty.element)
    match value:
        case UnitAttr() | OpaqueAttr():
            return
        case ElementsAttr() if value.type == expected:
            return
        case _:
            require(
                None,
                o,
                f"{value} does not initialise {ty}",
                f"Write a dense literal of type {expected}",
            )


def check_prefetch(o: Operation) -> None:
    """One index per dimension."""
    check_indices(o, o.operands[0], len(o.operands) - 1)


def check_alloca_scope(o: Operation) -> None:
    """The scope's terminator yields its results."""
    check_no_arguments(o)
    check_yield(o, [v.type for v in o.results], "memref.alloca_scope.return")


def check_dma_wait(o: Operation) -> None:
    """One index per dimension of the tag."""
    check_indices(o, o.operands[0], len(o.operands) - 2)
