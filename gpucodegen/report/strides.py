"""How far an access moves in memory when one of its loops takes a step.

0 elements: the value is reused. 1: neighbours, so that a vector or a warp is served by
one transaction. Anything else: as many transactions as lanes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from gpucodegen.ir.attributes import AffineMapAttr, StridedLayoutAttr
from gpucodegen.ir.number_formats import FORMATS
from gpucodegen.ir.operation import Value
from gpucodegen.ir.types import (
    ComplexType,
    FloatType,
    IntegerType,
    MemRefType,
    Type,
    VectorType,
    element_type,
)
from gpucodegen.report.subjects import Nest
from gpucodegen.tiling.machine.contraction import index_coefficients
from gpucodegen.tiling.model.relations import Reference
from gpucodegen.tiling.model.scop import Array

Extent = int | str | None
Factors = tuple[str, ...]
Distance = Mapping[Factors, int]
"""A sum of products: how often each product of parameters is taken."""


@dataclass(frozen=True, slots=True)
class AccessWalk:
    """One access and, per loop around it, the elements that a step moves it.

    A distance is None where the index or the layout is not linear.
    """

    reference: Reference
    distances: Mapping[str, str | None]

    @property
    def name(self) -> str:
        """The access as the program writes it: ``A[i, k]``."""
        access = self.reference.access
        indices = ("?" if index is None else index for index in access.indices)
        return f"{access.array}[{', '.join(indices)}]"


def walks(nest: Nest) -> tuple[AccessWalk, ...]:
    """Every access of single elements of memory; what loops carry is not in memory."""
    references = (
        Reference(instances, position)
        for instances in nest.statements
        for position in range(len(instances.accesses))
    )
    return tuple(
        _walk(nest, reference)
        for reference in references
        if not nest.model.array(reference.access.array).register
        and not reference.access.span
    )


def element_bytes(value: Value) -> int:
    """Bytes of one element of a buffer; ``index`` takes 8.

    >>> from gpucodegen.ir.types import BF16
    >>> element_bytes(Value(MemRefType((4,), BF16)))
    2
    """
    return max(1, _bits(element_type(value.type)) // 8)


def _bits(ty: Type) -> int:
    match ty:
        case IntegerType():
            return ty.width
        case FloatType():
            return FORMATS[ty.name].width
        case ComplexType(element):
            return 2 * _bits(element)
        case VectorType(shape, element):
            return prod(shape) * _bits(element)
        case _:
            return 64


def _walk(nest: Nest, reference: Reference) -> AccessWalk:
    instances, access = reference.instances, reference.access
    rows = index_coefficients(nest.model, instances, access)
    value = nest.arrays.get(access.array)
    steps = _strides(nest.model.array(access.array), value)
    distances = {
        loop.name: None
        if rows is None or steps is None
        else _text(_distance(rows, steps, loop.name, loop.step))
        for loop in instances.loops
    }
    return AccessWalk(reference, distances)


def _distance(
    rows: Sequence[Mapping[str, int]], steps: Sequence[Distance], loop: str, step: int
) -> Distance:
    """Sum over dimensions of coefficient times stride times step."""
    total: Counter[Factors] = Counter()
    for row, stride in zip(rows, steps, strict=True):
        for factors, count in stride.items():
            total[factors] += row.get(loop, 0) * count * step
    return {factors: count for factors, count in total.items() if count}


def _strides(array: Array, value: Value | None) -> list[Distance] | None:
    """Elements per step of each dimension; None for layouts without strides."""
    layout = value.type.layout if value and isinstance(value.type, MemRefType) else None
    match layout:
        case None:
            return _row_major(array.shape)
        case StridedLayoutAttr(strides) if None not in strides:
            return [{(): stride} for stride in strides if stride is not None]
        case AffineMapAttr(map_) if map_.is_identity:
            return _row_major(array.shape)
        case _:
            return None


def _row_major(shape: Sequence[Extent]) -> list[Distance] | None:
    found: list[Distance] = []
    number, factors = 1, ()
    for extent in reversed(shape):
        found.append({tuple(sorted(factors)): number})
        match extent:
            case int():
                number *= extent
            case str():
                factors = (*factors, extent)
            case None:
                return found if len(found) == len(shape) else None
    return found[::-1]


def _text(distance: Distance) -> str:
    """``4*N + 1``."""
    terms = (_product(factors, count) for factors, count in distance.items())
    return " + ".join(terms) or "0"


def _product(factors: Factors, count: int) -> str:
    shown = [f"({f})" if " " in f else f for f in factors]
    return "*".join([*([str(count)] if count != 1 or not shown else []), *shown])
