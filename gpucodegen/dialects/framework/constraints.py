"""What operand and result types an operation takes: named predicates on types."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

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
    TensorType,
    Type,
    UnrankedMemRefType,
    UnrankedTensorType,
    VectorType,
)


@dataclass(frozen=True, slots=True)
class TypeConstraint:
    """A set of types and its name in messages."""

    what: str
    accepts: Callable[[Type], bool]


def _scalar_of(ty: Type) -> Type:
    """Element of a vector or tensor, for operations that work on each element."""
    is_container = isinstance(ty, VectorType | TensorType | UnrankedTensorType)
    return ty.element if is_container else ty


def _like(what: str, *kinds: type[Type]) -> TypeConstraint:
    """Numbers of these kinds; integers have no sign."""

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
