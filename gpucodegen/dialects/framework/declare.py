"""Shorthand to write the entries of operation tables and their type inference."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from gpucodegen.dialects.framework import constraints
from gpucodegen.dialects.framework.assembly import Assembly
from gpucodegen.dialects.framework.assembly_elements import FormatElement
from gpucodegen.dialects.framework.constraints import TypeConstraint
from gpucodegen.dialects.framework.definition import (
    Check,
    Infer,
    Op,
    Trait,
    Types,
    slots,
)
from gpucodegen.dialects.framework.kinds import AttributeKind
from gpucodegen.dialects.framework.syntax import ParseOp, PrintOp, State
from gpucodegen.ir.attributes import Attribute
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import (
    I1,
    INDEX,
    MemRefType,
    TensorType,
    Type,
    UnrankedTensorType,
    VectorType,
    element_type,
    print_results,
)


def op(
    name: str,
    signature: str = "",
    syntax: str | tuple[ParseOp | None, PrintOp | None] | None = "attr-dict",
    *,
    attributes: Mapping[str, AttributeKind] | None = None,
    same: str = "",
    infer: Mapping[str, Infer] | None = None,
    implied: Mapping[str, Infer] | None = None,
    types: Mapping[str, TypeConstraint] | None = None,
    traits: Trait = Trait.NONE,
    checks: Sequence[Check] = (),
    regions: int | None = 0,
    successors: str | None = "",
    terminators: Sequence[str] = (),
    parents: Sequence[str] = (),
    adapt: Callable[[State], None] | None = None,
    flatten: Callable[[Operation], Operation] | None = None,
    custom: Mapping[str, FormatElement] | None = None,
) -> Op:
    """A table entry; ``signature`` may name kinds of slots (`KINDS`, or ``index``).

    ``same`` holds groups of slots of one type, divided by ``;``. ``infer`` computes
    types from the types of other slots; ``implied`` does so for types that ``checks``
    compare. ``successors`` names the branch targets; None allows any number. ``custom``
    holds elements that the format names as ``custom<Name>``.
    """
    targets = tuple((successors or "").split())
    operands, results = map(slots, signature.partition("->")[::2])
    every = (*operands, *results)
    types = {s.name: KINDS[s.kind] for s in every if s.kind in KINDS} | dict(
        types or {}
    )
    infer = dict(infer or {}) | {s.name: indices for s in every if s.kind == "index"}
    groups = tuple(frozenset(group.split()) for group in same.split(";") if group)
    if isinstance(syntax, str):
        assembly = Assembly(
            syntax,
            operands,
            results,
            attributes or {},
            groups,
            {**infer, **(implied or {})},
            targets,
            custom or {},
        )
        syntax = assembly.parse, assembly.print
    parse, print_ = syntax or (None, None)
    return Op(
        name,
        operands,
        results,
        parse,
        print_,
        attributes or {},
        groups,
        infer,
        types,
        traits,
        tuple(checks),
        regions,
        None if successors is None else len(targets),
        tuple(terminators),
        tuple(parents),
        adapt,
        flatten,
    )


pure = partial(op, traits=Trait.PURE)
"""A table entry of an operation without effects."""
terminator = partial(op, traits=Trait.TERMINATOR)
"""A table entry of an operation that ends a block."""
KINDS = {
    "any_memref": constraints.ANY_MEMREF,
    "any_tensor": constraints.ANY_TENSOR,
    "bool": constraints.BOOL,
    "complex": constraints.COMPLEX,
    "float": constraints.FLOAT_LIKE,
    "integer": constraints.INTEGER_LIKE,
    "memref": constraints.MEMREF,
    "shaped": constraints.SHAPED,
    "tensor": constraints.TENSOR,
    "vector": constraints.VECTOR,
}
"""Constraints by the words of signatures; ``index`` is inferred."""


# -- type inference --------------------------------------------------------------------


def always(*types: Type) -> Infer:
    """Inference of fixed types."""
    return lambda _, __: types


def indices(_: Types, __: Mapping[str, Attribute]) -> Sequence[Type]:
    """Inference of ``index`` for every value of a variadic slot."""
    return (INDEX,)


def element_of(slot: str) -> Infer:
    """Inference of the element type of another slot."""

    def infer(types: Types, _: Mapping[str, Attribute]) -> Sequence[Type] | None:
        known = types.get(slot)
        return (element_type(known[0]),) if known else None

    return infer


def like(slot: str) -> Infer:
    """Inference of the type of another slot."""

    def infer(types: Types, _: Mapping[str, Attribute]) -> Sequence[Type] | None:
        known = types.get(slot)
        return tuple(known[:1]) if known else None

    return infer


def each_of(slot: str) -> Infer:
    """Inference of the types of another slot, one for each value."""
    return lambda types, _: types.get(slot)


def bool_like(slot: str) -> Infer:
    """Inference of ``i1`` in the shape of another slot."""

    def infer(types: Types, _: Mapping[str, Attribute]) -> Sequence[Type] | None:
        known = types.get(slot)
        return (with_element(known[0], I1),) if known else None

    return infer


def with_element(ty: Type, element: Type) -> Type:
    """The same shape with another element; the element itself for a scalar."""
    match ty:
        case VectorType(shape, _, scalable):
            return VectorType(shape, element, scalable)
        case TensorType(shape, _, encoding):
            return TensorType(shape, element, encoding)
        case UnrankedTensorType():
            return UnrankedTensorType(element)
        case MemRefType():
            return replace(ty, element=element)
        case _:
            return element


def result_list(results: Sequence[Value]) -> str:
    """``type``, or ``(type, type)`` unless there is exactly one."""
    return print_results(tuple(v.type for v in results))
