"""Memref addressing: a flat pointer, sizes and strides give one linear offset."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod

from gpucodegen.errors import UnsupportedType
from gpucodegen.ir.affine import AffineExpr, AffineMap, Const, Dim, linear_form
from gpucodegen.ir.attributes import AffineMapAttr, StridedLayoutAttr
from gpucodegen.ir.locations import Location
from gpucodegen.ir.types import MemRefType, Shape
from gpucodegen.records import dataclass

ZERO = Const(0)
FAR = 8
"""Largest stride at which LLVM loads the elements in between as well."""
SHARED_ALIGNMENT = 16
"""Alignment in bytes of every array in shared memory."""
Unknown = Callable[[str, int], AffineExpr]
"""Makes the parameter of a dynamic ``("dim" | "stride", dimension)``."""


@dataclass(frozen=True, slots=True)
class Descriptor:
    """Address computation of a memref: ``pointer[offset + i . strides]``.

    ``alignment``: bytes known to divide the pointer; 0 for an element's own size.
    ``given``: strides that are also parameters of the kernel.
    """

    pointer: str
    dtype: str
    sizes: tuple[AffineExpr, ...]
    strides: tuple[AffineExpr, ...]
    offset: AffineExpr = ZERO
    alignment: int = 0
    given: tuple[AffineExpr, ...] = ()

    def at(
        self, indices: Sequence[AffineExpr], swept: AffineExpr | None = None
    ) -> AffineExpr:
        """Offset of an element from the pointer.

        Along an index that contains the ``swept`` variable with a large stride, the
        parameter is used for the stride: with a constant, LLVM would use gathers, which
        are slower than single loads.
        """
        offset = self.offset
        given = self.given or self.strides
        for index, known, number in zip(indices, self.strides, given, strict=True):
            is_far = swept is not None and swept in linear_form(index)[0]
            offset = offset + index * (number if is_far else known)
        return offset

    def viewed(
        self,
        sizes: tuple[AffineExpr, ...],
        strides: tuple[AffineExpr, ...],
        offset: AffineExpr,
    ) -> Descriptor:
        """The same memory in another shape."""
        return replace(self, sizes=sizes, strides=strides, offset=offset, given=())

    def moved(self, offset: AffineExpr) -> AffineExpr:
        """The pointer advanced by some elements."""
        return self.offset + offset


def row_major(sizes: Sequence[AffineExpr]) -> tuple[AffineExpr, ...]:
    """Strides without gaps, the last dimension fastest.

    >>> [str(s) for s in row_major([Dim(0), Dim(1), Const(4)])]
    ['d1 * 4', '4', '1']
    """
    strides: list[AffineExpr] = []
    inner: AffineExpr = Const(1)
    for size in reversed(sizes):
        strides.insert(0, inner)
        inner = size * inner if isinstance(inner, Const) else inner * size
    return tuple(strides)


def sizes_of(shape: Shape, unknown: Unknown) -> tuple[AffineExpr, ...]:
    """Extents as expressions; ``unknown`` makes the dynamic ones."""
    return tuple(
        unknown("dim", i) if extent is None else Const(extent)
        for i, extent in enumerate(shape)
    )


def strides_of(
    ty: MemRefType, sizes: Sequence[AffineExpr], unknown: Unknown, location: Location
) -> tuple[AffineExpr, ...]:
    """Strides of a memref type as expressions."""
    match ty.layout:
        case None:
            return row_major(sizes)
        case StridedLayoutAttr(strides):
            return tuple(
                unknown("stride", i) if stride is None else Const(stride)
                for i, stride in enumerate(strides)
            )
        case AffineMapAttr(layout) if layout.is_identity:
            return row_major(sizes)
        case AffineMapAttr(layout) if (found := _linear(layout)) is not None:
            return found
        case AffineMapAttr(layout) if (order := _permutation(layout)) is not None:
            physical = row_major([sizes[d] for d in order])
            return tuple(physical[order.index(d)] for d in range(len(order)))
        case _:
            raise UnsupportedType(location, type=ty, target="kernels")


def _linear(layout: AffineMap) -> tuple[AffineExpr, ...] | None:
    """Strides of a symbol-free map to one linear offset."""
    if len(layout.results) != 1 or layout.num_syms:
        return None
    terms, _ = linear_form(layout.results[0])
    if not all(isinstance(term, Dim) for term in terms):
        return None
    return tuple(Const(terms.get(Dim(i), 0)) for i in range(layout.num_dims))


def _permutation(layout: AffineMap) -> list[int] | None:
    """The dimension that each result of a permutation selects."""
    order = [r.position for r in layout.results if isinstance(r, Dim)]
    whole = len(order) == len(layout.results) and layout.num_syms == 0
    return order if whole and sorted(order) == list(range(layout.num_dims)) else None


def static_elements(ty: MemRefType, location: Location) -> int:
    """Number of elements of a buffer that a kernel allocates."""
    extents = [extent for extent in ty.shape if extent is not None]
    if len(extents) != ty.rank or ty.layout is not None:
        raise UnsupportedType(location, type=ty, target="kernels")
    return prod(extents)
