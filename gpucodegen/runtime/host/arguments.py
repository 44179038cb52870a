"""Parameters of compiled functions, as records that need no IR, and number conversion.

`parameters_of` takes the types of a function and returns `Parameter` records, which a
later process reads from disk without a parser.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from gpucodegen.ir.number_formats import NARROW, of_bits, to_bits
from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.gpu.devices import ALLOCATED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpucodegen.dialects.func import Function
    from gpucodegen.ir.affine import AffineMap
    from gpucodegen.ir.types import Type


Convert = Callable[[Any], complex]
_INTEGER = re.compile(r"([su]?)i(\d+)")
_FLOAT = re.compile(r"t?f\d+")


def scalar_conversion(kind: str) -> Convert | None:
    """The conversion of a number to a type as MLIR spells it; None for other types.

    >>> [scalar_conversion(kind)(1) for kind in ("f64", "index", "i1", "complex<f32>")]
    [1.0, 1, True, (1+0j)]
    >>> scalar_conversion("i8")(200), scalar_conversion("ui8")(200)
    (-56, 200)
    """
    if kind in NARROW:
        return lambda value: of_bits(to_bits(_real(value), kind), kind)
    if kind in _PLAIN:
        return _PLAIN[kind]
    if _FLOAT.fullmatch(kind):
        return _real
    integer = _INTEGER.fullmatch(kind)
    if integer is None:
        return None
    unsigned, width = integer[1] == "u", int(integer[2])
    return lambda value: _integer(value, width, unsigned=unsigned)


def plain(value: Any) -> Any:
    """A NumPy number as a Python number; anything else as it is.

    >>> import numpy as np
    >>> plain(np.True_), plain("no")
    (True, 'no')
    """
    return value.item() if getattr(value, "ndim", None) == 0 else value


def _truth(value: Any) -> bool:
    if type(value) is bool:
        return value
    if operator.index(plain(value)) not in {0, 1}:
        raise ValueError(value)
    return bool(value)


def _real(value: Any) -> float:
    """`float` of anything but a text."""
    if type(value) is float:
        return value
    if isinstance(value, _TEXTS):
        raise TypeError(value)
    return float(value)


def _complex(value: Any) -> complex:
    if isinstance(value, _TEXTS):
        raise TypeError(value)
    return complex(value)


_TEXTS = str, bytes, bytearray


def _index(value: Any) -> int:
    """A signed word; larger numbers would be truncated."""
    number = value if type(value) is int else operator.index(value)
    if -0x8000_0000_0000_0000 <= number <= 0x7FFF_FFFF_FFFF_FFFF:
        return number
    message = f"{number} does not fit 64 bits"
    raise OverflowError(message)


def _integer(value: Any, width: int, *, unsigned: bool) -> int:
    """The signless value; iN accepts both the signed and the unsigned range."""
    number = operator.index(value)
    low = 0 if unsigned else -(1 << (width - 1))
    if not low <= number < 1 << width:
        message = f"{number} does not fit {width} bits"
        raise OverflowError(message)
    half = 1 << (width - 1)
    return number - (1 << width) if number >= half and not unsigned else number


_PLAIN: dict[str, Convert] = {
    "complex<f32>": _complex,
    "complex<f64>": _complex,
    "index": _index,
    "i1": _truth,
}


Extents = tuple[int | None, ...]


class Known(NamedTuple):
    """Facts about the arrays of calls, beyond their type.

    Extents, and the strides where the type has some or the array is not row-major;
    ``alignment``: bytes that divide its address, 0 where irrelevant.
    """

    shape: tuple[int, ...] | None = None
    strides: tuple[int, ...] | None = None
    alignment: int = 0

    def without_shape(self) -> Known | None:
        """The facts that hold for any extents and strides."""
        return Known(alignment=self.alignment) if self.alignment else None


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument of a function.

    ``type``: as MLIR spells it.  ``dtype``: the type of the number, or of an array's
    elements.  ``shape``: None for a number; None in it is any extent.  ``strides``
    count elements; None means row-major, None in it any stride.  ``vector``: extents of
    the vectors that the array holds.  ``layout``: the layout of its elements, if that
    is neither row-major nor strided.  ``is_fixed``: calls can add no facts.
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
        """Whether it is a tensor or a vector, not memory."""
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
    """The types refined by known facts; None where there are none.

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
    """The facts about arguments if all arrays are whole allocations of a device.

    ``widest``: bytes of the widest access there; 0 where alignment is irrelevant.
    """
    return tuple(
        Known(alignment=ALLOCATED)
        if widest and p.shape is not None and p.strides is None
        else None
        for p in parameters
    )


def alignments(known: Sequence[Known | None]) -> tuple[int, ...]:
    """Bytes that divide the address of each argument; 0 if unknown or no array.

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
