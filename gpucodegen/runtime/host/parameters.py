"""What a function says of its arguments: enough to take them from Python, without IR.

Comes in: the types of a function.  Goes out: records that a later process reads from
disk, where it needs no parser.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from gpucodegen.tiling.machine.gpu.limits import ALLOCATED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpucodegen.dialects.func import Function
    from gpucodegen.ir.affine import AffineMap
    from gpucodegen.ir.types import Type

Extents = tuple[int | None, ...]


class Known(NamedTuple):
    """What is known of an array of calls, beyond its type.

    Extents, and the strides where its type has some or the array is not row-major;
    ``alignment``: bytes that divide its address, 0 where that does not matter.
    """

    shape: tuple[int, ...] | None = None
    strides: tuple[int, ...] | None = None
    alignment: int = 0

    def without_shape(self) -> Known | None:
        """What is known of arrays of any extents and strides."""
        return Known(alignment=self.alignment) if self.alignment else None


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument of a function.

    ``type``: as MLIR spells it.  ``dtype``: the type of the number, or of an array's
    elements.  ``shape``: None for a number; None in it is any extent.  ``strides``
    count elements; None means row-major, None in it is any stride.  ``vector``: extents
    of the vectors that the array holds.  ``layout``: where in memory its elements lie,
    if that is neither row-major nor strided.  ``is_fixed``: calls can tell no more.
    ``is_unranked``: an array of any rank and strides; its ``shape`` is empty.
    """

    name: str
    type: str
    dtype: str
    shape: Extents | None = None
    strides: Extents | None = None
    vector: tuple[int, ...] = ()
    layout: AffineMap | None = None
    is_fixed: bool = True
    is_unranked: bool = False

    @property
    def is_value(self) -> bool:
        """Whether it is a tensor or a vector, and not memory."""
        return not self.type.startswith("memref")


def parameters_of(function: Function) -> tuple[Parameter, ...]:
    """The arguments of a function.

    >>> import gpucodegen as gcg
    >>> from gpucodegen.dialects.func import Function
    >>> text = "func.func @f(%a: memref<?x4xf32>, %n: index) { return }"
    >>> a, n = parameters_of(Function(gcg.parse(text).functions["f"]))
    >>> a.shape, a.dtype, a.is_fixed, n.shape, n.dtype
    ((None, 4), 'f32', False, None, 'index')
    """
    return tuple(
        _parameter(argument.name or f"arg{n}", argument.type)
        for n, argument in enumerate(function.arguments)
    )


def results_of(function: Function) -> tuple[Parameter, ...]:
    """The results of a function, as if they were arguments.

    >>> import gpucodegen as gcg
    >>> from gpucodegen.dialects.func import Function
    >>> text = "func.func @f(%a: f32) -> f32 { return %a : f32 }"
    >>> [r.dtype for r in results_of(Function(gcg.parse(text).functions["f"]))]
    ['f32']
    """
    types = enumerate(function.type.results)
    return tuple(_parameter(f"result{n}", ty) for n, ty in types)


def _parameter(name: str, ty: Type) -> Parameter:
    from gpucodegen.dialects.arith import held
    from gpucodegen.dialects.memref.layouts import open_layout
    from gpucodegen.dialects.shared.memory import stored_by_map, vector_in
    from gpucodegen.ir.types import (
        MemRefType,
        TensorType,
        UnrankedMemRefType,
        VectorType,
        element_type,
    )

    if isinstance(ty, UnrankedMemRefType):
        element = str(element_type(ty.element))
        return Parameter(name, str(ty), element, (), (), is_unranked=True)
    if isinstance(ty, VectorType) and not any(ty.scalable):
        return Parameter(name, str(ty), str(ty.element), ty.shape)
    if not isinstance(ty, MemRefType | TensorType):
        return Parameter(name, str(ty), str(ty))
    vector = vector_in(ty)
    strided = open_layout(ty) if isinstance(ty, MemRefType) else None
    by_map = isinstance(ty, MemRefType) and strided is None
    wanted = (*ty.shape, *(strided.strides if strided else ()))
    return Parameter(
        name,
        str(ty),
        str(held(element_type(ty.element))),
        ty.shape,
        strided.strides if strided else None,
        () if vector is None else vector.shape,
        stored_by_map(ty) if by_map else None,
        None not in (*wanted, strided.offset if strided else 0),
    )


def specialized(
    types: Sequence[Type], known: Sequence[Known | None]
) -> tuple[Type | None, ...]:
    """The types with what is known of each; None where nothing is.

    >>> from gpucodegen.ir.types import F32, INDEX, MemRefType
    >>> print(*specialized([MemRefType((None,), F32), INDEX], [Known((8,)), None]))
    memref<8xf32> None
    """
    from dataclasses import replace

    from gpucodegen.dialects.memref.layouts import open_layout
    from gpucodegen.ir.attributes import StridedLayoutAttr
    from gpucodegen.ir.types import MemRefType, TensorType

    def one(ty: Type, at: Known | None) -> Type | None:
        if at is None or not isinstance(ty, MemRefType | TensorType):
            return None
        shape, strides, _ = at
        if shape is None:
            return None
        if strides is None or not isinstance(ty, MemRefType):
            return replace(ty, shape=shape)
        layout = open_layout(ty)
        offset = (layout.offset or 0) if layout else 0
        return replace(ty, shape=shape, layout=StridedLayoutAttr(strides, offset))

    return tuple(map(one, types, known))


def allocated(parameters: Sequence[Parameter], widest: int) -> tuple[Known | None, ...]:
    """What is known of arguments if all arrays are whole allocations of a device.

    ``widest``: bytes of the widest access there; 0 where alignment does not matter.
    """
    return tuple(
        Known(alignment=ALLOCATED)
        if widest and p.shape is not None and p.strides is None
        else None
        for p in parameters
    )


def alignments(known: Sequence[Known | None]) -> tuple[int, ...]:
    """Bytes that divide the address of each argument; 0 of what is none or not known.

    >>> alignments([Known((8,), None, 16), None])
    (16, 0)
    """
    return tuple(0 if at is None else at.alignment for at in known)


def alignment_of(address: int, most: int) -> int:
    """The largest power of two that divides an address, up to ``most`` of them.

    >>> [alignment_of(n, 16) for n in (0, 4, 24, 256)]
    [16, 4, 8, 16]
    """
    known = address | most
    return known & -known
