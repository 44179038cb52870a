"""The arguments of a function: checked, converted, and specialised types from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any

from gpucodegen import errors
from gpucodegen.calls.scalars import scalar_conversion
from gpucodegen.dialects.shared.flat_elements import elements_of, steps_of, vector_in
from gpucodegen.dialects.shared.storage import box, stored_by_map
from gpucodegen.ir.affine.expressions import Const
from gpucodegen.ir.attributes import StridedLayoutAttr
from gpucodegen.ir.types import (
    ComplexType,
    FloatType,
    IndexType,
    MemRefType,
    Shape,
    TensorType,
    Type,
    VectorType,
    element_type,
)

if TYPE_CHECKING:
    from gpucodegen.dialects.func import Function

Strides = tuple[int | None, ...] | None


@dataclass(frozen=True, slots=True)
class Signature:
    """Names and types of a function's arguments."""

    function: str
    names: tuple[str, ...]
    types: tuple[Type, ...]

    @staticmethod
    def of(view: Function) -> Signature:
        """The signature of a function."""
        arguments = view.arguments
        names = tuple(a.name or f"arg{i}" for i, a in enumerate(arguments))
        return Signature(view.name, names, tuple(a.type for a in arguments))

    def __str__(self) -> str:
        pairs = zip(self.names, self.types, strict=True)
        return f"{self.function}({', '.join(f'{n}: {t}' for n, t in pairs)})"

    def convert(
        self, arguments: Sequence[Any], written: Sequence[bool] = ()
    ) -> list[Any]:
        """Buffers and Python numbers; catalogued errors for what does not fit."""
        if len(arguments) != len(self.types):
            raise errors.WrongArgumentCount(
                function=self.function,
                expected=len(self.types),
                actual=len(arguments),
                signature=str(self),
            )
        flags = written or (False,) * len(self.types)
        return [
            self._one(*each)
            for each in zip(arguments, self.names, self.types, flags, strict=True)
        ]

    def _one(self, value: Any, name: str, ty: Type, written: bool) -> Any:
        if isinstance(ty, MemRefType | TensorType):
            return self._buffer(value, name, ty, written=written)
        convert = scalar_conversion(str(ty))
        if convert is None:
            raise errors.UnsupportedType(type=ty, target="a call from Python")
        try:
            return convert(value)
        except Exception as problem:  # whatever the methods of an object raise
            raise errors.WrongArgumentType(
                function=self.function,
                argument=name,
                expected=_description(ty),
                actual=_shown(value),
            ) from problem

    def _buffer(
        self, value: Any, name: str, ty: MemRefType | TensorType, *, written: bool
    ) -> Any:
        from gpucodegen.runtime.host.buffers import (
            NUMPY_NAMES,
            Buffer,
            Expected,
            to_buffer,
        )

        kind = element_type(ty.element)
        if str(kind) not in NUMPY_NAMES:
            raise errors.UnsupportedType(type=ty, target="a call from Python")
        rank, vector = len(ty.shape), vector_in(ty)
        given = tuple(getattr(value, "shape", ()))
        shape, memory = _accepted(ty, given if vector is None else given[:rank])
        strides = strides_of(ty)
        if vector is not None:
            shape = (*shape, *vector.shape)
            strides = _in_numbers(strides, vector)
        expected = Expected(name, str(kind), shape, strides, written)
        buffer = to_buffer(value, expected, self.function)
        if memory != shape and vector is None:
            return Buffer.of(buffer.array.reshape(memory), buffer.dtype)
        if vector is not None:
            self._check_whole(name, buffer, rank, elements_of(vector))
        return buffer

    def _check_whole(self, name: str, buffer: Any, rank: int, size: int) -> None:
        """Refuse vectors that begin at a fraction of their size."""
        for stride in buffer.strides[:rank]:
            if stride % size:
                raise errors.WrongStride(
                    function=self.function,
                    argument=name,
                    expected=f"that are multiples of {size}",
                    actual=buffer.strides,
                    otherwise="",
                )

    def specialized(self, values: Sequence[Any]) -> tuple[Type | None, ...]:
        """The types with the extents and strides of these buffers.

        None for scalars, and where the type says all that already.
        """
        return tuple(map(_specialized, self.types, values))


def _accepted(ty: MemRefType | TensorType, shape: Shape) -> tuple[Shape, Shape]:
    """The shape a buffer must have, and that of its memory, if the layout is a map.

    The logical shape will do if the memory has as many elements.
    """
    layout = stored_by_map(ty) if isinstance(ty, MemRefType) else None
    logical = shape if _fits(shape, ty.shape) else ty.shape
    if layout is None or layout.num_syms or None in logical:
        return ty.shape, ty.shape
    extents = [Const(n or 0) for n in logical]
    memory = tuple(e.value for e in box(layout, extents) if isinstance(e, Const))
    is_full = prod(memory) == prod(e.value for e in extents)
    return logical if shape == logical and is_full else memory, memory


def _fits(shape: Shape, pattern: Shape) -> bool:
    return len(shape) == len(pattern) and all(
        n in (None, m) for m, n in zip(shape, pattern, strict=True)
    )


def _in_numbers(strides: Strides, vector: VectorType) -> Strides:
    """Strides between vectors, and then within one."""
    if strides is None:
        return None
    size = elements_of(vector)
    scaled = (None if stride is None else stride * size for stride in strides)
    return (*scaled, *steps_of(vector))


def strides_of(ty: MemRefType | TensorType) -> Strides:
    """Strides a buffer must have; None for row-major."""
    layout = getattr(ty, "layout", None)
    return layout.strides if isinstance(layout, StridedLayoutAttr) else None


def _specialized(ty: Type, value: Any) -> Type | None:
    if not isinstance(ty, MemRefType | TensorType):
        return None
    static = _static(ty, value)
    return None if static == ty else static


def _static(ty: MemRefType | TensorType, buffer: Any) -> Type:
    rank = len(ty.shape)
    shape = tuple(int(extent) for extent in buffer.shape[:rank])
    if isinstance(ty, MemRefType) and stored_by_map(ty) and None not in ty.shape:
        return ty
    if isinstance(ty, TensorType) or not isinstance(ty.layout, StridedLayoutAttr):
        return replace(ty, shape=shape)
    size = elements_of(vector_in(ty))
    strides = tuple(int(stride) // size for stride in buffer.strides[:rank])
    layout = StridedLayoutAttr(strides, ty.layout.offset or 0)
    return replace(ty, shape=shape, layout=layout)


def _description(ty: Type) -> str:
    match ty:
        case FloatType() | ComplexType():
            return f"a number ({ty})"
        case IndexType():
            return "an integer of 64 bits (index)"
        case _:
            return f"an integer ({ty})"


def _shown(value: object) -> str:
    """The beginning of a value, behind its type.

    >>> _shown("2"), _shown(10**99)[:24]
    ("str '2'", 'int 10000000000000000000')
    """
    try:
        text = f"{value!r:.40}"
    except Exception:  # noqa: BLE001 - as far as the object tells it
        text = ""
    return f"{type(value).__name__} {text}".rstrip()
