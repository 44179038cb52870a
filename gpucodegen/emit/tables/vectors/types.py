"""What emission asks of vector types: shape, dtype and constants."""

from __future__ import annotations

from gpucodegen.emit.kernel.context import Emitter
from gpucodegen.emit.kernel.kinds import COMPLEX, dtype, in_range, is_float
from gpucodegen.emit.text.fragments import Text, call
from gpucodegen.errors import UnsupportedType
from gpucodegen.ir.attributes import DenseElementsAttr
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import Type, VectorType

ZEROS = frozenset({"0", "0.0"})
"""Texts of the number zero, which -0.0 equals and is not."""


def shape_of(ty: Type) -> tuple[int, ...]:
    """Shape of a vector type; empty for a scalar."""
    return ty.shape if isinstance(ty, VectorType) else ()


def vector_type(e: Emitter, op: Operation, value: Value) -> VectorType:
    """The type of a value that is a vector."""
    if not isinstance(value.type, VectorType):
        raise e.broken(op, "a vector was expected")
    return value.type


def vector_dtype(e: Emitter, op: Operation, ty: VectorType) -> str:
    """The dtype of a vector's elements; complex numbers have none."""
    kind = dtype(ty.element, op.location, e.spelling.name)
    if kind.startswith(COMPLEX) or any(ty.scalable) or len(ty.shape) not in {1, 2}:
        raise UnsupportedType(op.location, type=ty, target=e.spelling.name)
    return e.spelling.index_dtype if kind == "index" else kind


def suffix(shape: tuple[int, ...], kind: str) -> str:
    """``12x32xf32``, for the name of an intrinsic."""
    return "x".join([*map(str, shape), kind])


def numbers_in(value: DenseElementsAttr) -> tuple[complex, ...]:
    """The elements of a dense attribute that are numbers."""
    return tuple(v for v in value.values if isinstance(v, int | float | complex))


def vector_constant(e: Emitter, op: Operation, value: DenseElementsAttr) -> Text:
    """A call of the intrinsic that makes a dense constant."""
    ty = value.type
    assert isinstance(ty, VectorType)
    kind = vector_dtype(e, op, ty)
    make = float if is_float(kind) else int
    given = (v for v in value.values if isinstance(v, int | float))
    numbers = tuple(in_range(make(v), kind) for v in given)
    shape = suffix(ty.shape, kind)
    content = numbers[0] if value.is_splat else numbers
    hint = f"{'zeros' if repr(content) in ZEROS else 'constant'}_{shape}"
    return call(e.make(hint, "constant", ty.shape, kind, content))
