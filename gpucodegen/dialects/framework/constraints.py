"""Type constraints of operands and results, and helpers to write verifier rules.

A constraint is a predicate on types with a name for messages. The helpers build errors
that point at the operand in the text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpucodegen import errors
from gpucodegen.errors.base import Focus, Note
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import (
    I1,
    INDEX,
    ComplexType,
    DialectType,
    FloatType,
    FunctionType,
    IndexType,
    IntegerType,
    MemRefType,
    Shape,
    TensorType,
    Type,
    UnrankedMemRefType,
    UnrankedTensorType,
    VectorType,
)
from gpucodegen.records import dataclass


def wrong(o: Operation, problem: str, hint: str) -> errors.VerifyError:
    """The verifier error for an operation, with the problem and a hint."""
    return errors.WrongStructure.at(o, problem=problem, hint=hint)


def require(holds: object, o: Operation, problem: str, hint: str) -> None:
    """Raise the verifier error for an operation unless a condition holds."""
    if not holds:
        raise wrong(o, problem, hint)


def types_differ(
    o: Operation, first: str, first_type: Type, second: str, second_type: Type
) -> errors.VerifyError:
    """The verifier error for two values that must agree in type."""
    return errors.TypesDiffer.at(
        o, first=first, first_type=first_type, second=second, second_type=second_type
    )


def check_dim(o: Operation) -> None:
    """The source has rank 1 or more."""
    ty = o.operands[0].type
    require(
        getattr(ty, "shape", None) != (), o, f"{ty} has no dimensions", "Remove this"
    )


def check_no_arguments(o: Operation) -> None:
    require(not o.block_arguments, o, "its body takes arguments", "Remove them")


def agree(a: int | None, b: int | None) -> bool:
    """Whether two extents may be equal; None is an unknown extent."""
    return a is None or b is None or a == b


def compatible_shapes(first: Shape, second: Shape) -> bool:
    """Same rank, and no two static extents differ."""
    return len(first) == len(second) and all(map(agree, first, second))


def shown(extent: int | None) -> str:
    """An extent as types show it."""
    return "?" if extent is None else str(extent)


def listed(extents: Shape) -> str:
    """Extents as messages show them: ``[2, ?]``."""
    return f"[{', '.join(map(shown, extents))}]"


def name_of(value: Value) -> str:
    """The value's name as messages show it."""
    return f"'%{value.name}'" if value.name else "this value"


def defined_here(value: Value) -> list[Note]:
    """A note that points at the definition of a value."""
    return [(value.location, "defined here")]


def focus(op: Operation, value: Value) -> Focus | None:
    """Where the operation names the value as an operand or branch argument."""
    passed = (v for s in op.successors for v in s.operands)
    is_used = value in op.operands or value in passed
    return Focus(value.location) if is_used else None


def first_difference(values: Sequence[Value], types: Sequence[Type]) -> Value | None:
    """The first value whose type differs from the expected one, if the counts agree."""
    if len(values) != len(types):
        return None
    pairs = zip(values, types, strict=True)
    return next((value for value, ty in pairs if value.type != ty), None)


def wrong_operand(op: Operation, types: Sequence[Type]) -> Focus | None:
    """Where the operation names the first operand of a wrong type."""
    wrong = first_difference(op.operands, types)
    return None if wrong is None else focus(op, wrong)


@dataclass(frozen=True, slots=True)
class TypeConstraint:
    """A set of types and its name in messages."""

    what: str
    accepts: Callable[[Type], bool]


def _scalar_of(ty: Type) -> Type:
    """The element of a vector or tensor, for elementwise operations."""
    is_container = isinstance(ty, VectorType | TensorType | UnrankedTensorType)
    return ty.element if is_container else ty


def _like(what: str, *kinds: type[Type]) -> TypeConstraint:
    """A constraint: signless scalars of these kinds, or vectors and tensors of them."""

    def accepts(ty: Type) -> bool:
        scalar = _scalar_of(ty)
        is_signed = isinstance(scalar, IntegerType) and bool(scalar.signedness)
        return isinstance(scalar, (*kinds, DialectType)) and not is_signed

    return TypeConstraint(f"{what}, or a vector or tensor of it", accepts)


def _is(what: str, *kinds: type[Type]) -> TypeConstraint:
    return TypeConstraint(what, lambda ty: isinstance(ty, (*kinds, DialectType)))


ANY = TypeConstraint("any type", lambda _: True)
INTEGER_LIKE = _like("a signless integer or index", IntegerType, IndexType)
PURE_INTEGER_LIKE = _like("a signless integer", IntegerType)
FLOAT_LIKE = _like("a float", FloatType)
BOOL_LIKE = TypeConstraint(
    "i1, or a vector or tensor of it", lambda ty: _scalar_of(ty) == I1
)
INDEX_TYPE = TypeConstraint("index", lambda ty: ty == INDEX)
BOOL = TypeConstraint("i1", lambda ty: ty == I1)
INTEGER = _is("an integer", IntegerType)
INTEGER_OR_INDEX = _is("an integer or index", IntegerType, IndexType)
SIGNLESS_OR_INDEX = TypeConstraint(
    "a signless integer or index",
    lambda ty: INTEGER_OR_INDEX.accepts(ty) and INTEGER_LIKE.accepts(ty),
)
MEMREF = _is("a memref", MemRefType)
ANY_MEMREF = _is("a memref", MemRefType, UnrankedMemRefType)
TENSOR = _is("a ranked tensor", TensorType)
ANY_TENSOR = _is("a tensor", TensorType, UnrankedTensorType)
VECTOR = _is("a vector", VectorType)
SHAPED = _is("a ranked memref or tensor", MemRefType, TensorType)
FUNCTION = _is("a function", FunctionType)
COMPLEX = TypeConstraint(
    "a complex number of floats",
    lambda ty: (
        isinstance(ty, DialectType)
        or (isinstance(ty, ComplexType) and isinstance(ty.element, FloatType))
    ),
)
