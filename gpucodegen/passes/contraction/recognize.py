"""Find contractions among affine nests, whatever operation they came from.

A perfect nest is a contraction when its body is ``C[..] = C[..] + A[..] * B[..]``,
every loop of C appears alone in one index of C, and its loops split into batch (in all
three), M (in C and A), N (in C and B) and K (not in C).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from gpucodegen.ir.affine import Dim, linear_form
from gpucodegen.ir.attributes import AffineMapAttr
from gpucodegen.ir.float_formats import NARROW
from gpucodegen.ir.locations import Location
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import FloatType, MemRefType, Type, element_type
from gpucodegen.passes.indexing import Index, from_map, replace_values
from gpucodegen.passes.lifting.reductions import is_reassociable
from gpucodegen.passes.nests import Axis, Nest, perfect_nest
from gpucodegen.tiling.dependences import Dependence

MULTIPLY_ADD = {"arith.addf": "arith.mulf", "arith.addi": "arith.muli"}


@dataclass(frozen=True, slots=True)
class Operand:
    """An array and its index expressions over the axes' normalised positions."""

    memref: Value
    indices: tuple[Index, ...]

    def coefficient(self, dimension: int, axis: Axis) -> int:
        """Coefficient of an axis in one index."""
        return coefficients(self.indices[dimension]).get(axis.iv, 0)

    def mentions(self, axis: Axis) -> bool:
        """Whether any index depends on the axis."""
        return any(axis.iv in index.values for index in self.indices)

    def dimensions_of(self, axis: Axis) -> list[int]:
        """Dimensions whose index depends on the axis."""
        return [d for d, index in enumerate(self.indices) if axis.iv in index.values]

    def at(self, positions: Mapping[Value, Index]) -> list[Index]:
        """Index expressions with positions put in for the axes."""
        return [replace_values(index, dict(positions)) for index in self.indices]


def coefficients(index: Index) -> dict[Value, int]:
    """Coefficient per value of a linear index; quasi-affine terms have none."""
    terms, _ = linear_form(index.expr)
    return {index.values[t.position]: c for t, c in terms.items() if isinstance(t, Dim)}


def _is_linear(index: Index) -> bool:
    return all(isinstance(t, Dim) for t in linear_form(index.expr)[0])


@dataclass(frozen=True, slots=True)
class Gather:
    """The right factor before axes were joined.

    ``columns`` are the vector axis, ``steps`` the reduction, slowest first.  Panels are
    copied ``lanes`` columns at a time.
    """

    operand: Operand
    columns: tuple[Axis, Axis]
    steps: tuple[Axis, ...]
    lanes: int

    @property
    def period(self) -> int:
        """Steps that stay together in a block: all but the slowest axis."""
        return prod(axis.extent for axis in self.steps[1:])


@dataclass(frozen=True, slots=True)
class Contraction:
    """``result += left * right``; the vector axis indexes result and right.

    ``rows``: axes of result and left; ``columns``: axes of result and right;
    ``batch``: axes of all three; ``reduction``: axes not in the result.
    ``reassociable``: the terms of a sum may come in another order.
    """

    axes: tuple[Axis, ...]
    result: Operand
    left: Operand
    right: Operand
    element: Type
    rows: tuple[Axis, ...]
    columns: tuple[Axis, ...]
    batch: tuple[Axis, ...]
    reduction: tuple[Axis, ...]
    location: Location
    reassociable: bool = False
    gather: Gather | None = None

    @property
    def vector(self) -> Axis | None:
        """The axis of the columns that walks the last dimension of the result."""
        return _vector_axis(self.columns, self.result)


def only_accumulates(found: Sequence[Dependence]) -> bool:
    """Whether the factors of a contraction keep their values while it runs.

    { x -> y in dependences : not both accumulate into one cell } = {}
    """
    return all(dependence.reduces is not None for dependence in found)


def recognize(op: Operation, *, lanes: bool = True) -> Contraction | None:
    """The contraction computed by the nest rooted at ``op``, if it is one.

    ``lanes``: only one with a vector axis.
    """
    nest = perfect_nest(op)
    body = None if nest is None else _multiply_accumulate(nest)
    if nest is None or body is None:
        return None
    store, result, first, second = body
    operands = (result, first, second)
    if not _separable(nest.axes, *operands):
        return None
    vector_axis = _vector_axis(nest.axes, result)
    left, right = first, second
    if vector_axis is not None and first.mentions(vector_axis):
        left, right = second, first
    if vector_axis is None or left.mentions(vector_axis):
        if lanes:
            return None
        vector_axis = None

    def having(in_result: bool, in_left: bool, in_right: bool) -> tuple[Axis, ...]:
        wanted = (in_result, in_left, in_right)
        return tuple(
            axis
            for axis in nest.axes
            if tuple(o.mentions(axis) for o in (result, left, right)) == wanted
        )

    reduction = tuple(axis for axis in nest.axes if not result.mentions(axis))
    contraction = Contraction(
        nest.axes,
        result,
        left,
        right,
        element_type(result.memref.type),
        having(True, True, False),
        having(True, False, True),
        having(True, True, True),
        reduction,
        store.location,
        is_reassociable(_total(nest, store)),
    )
    covered = [*contraction.rows, *contraction.columns, *contraction.batch, *reduction]
    is_whole = len(covered) == len(nest.axes) and bool(reduction)
    return contraction if is_whole and _has_vectors(contraction.element) else None


def _total(nest: Nest, store: Operation) -> Operation:
    return next(op for op in nest.body if store.operands[0] in op.results)


def _has_vectors(element: Type) -> bool:
    """Narrow floats are rounded after every operation, one by one."""
    return not (isinstance(element, FloatType) and element.name in NARROW)


def _multiply_accumulate(
    nest: Nest,
) -> tuple[Operation, Operand, Operand, Operand] | None:
    """Store, result and factors of a body that is exactly one multiply-accumulate."""
    effects = [op for op in nest.body if op.name in {"affine.load", "affine.store"}]
    if len(effects) != 4 or len(nest.body) != 6 or effects[-1].name != "affine.store":
        return None
    store = effects[-1]
    made_by = {op.results[0]: op for op in nest.body if op.results}
    loads = {op.results[0]: op for op in effects[:-1] if op.results}
    total = made_by.get(store.operands[0])
    if total is None or total.name not in MULTIPLY_ADD:
        return None
    for accumulator, product_value in _both_orders(total.operands):
        product = made_by.get(product_value)
        if accumulator not in loads or product is None:
            continue
        if product.name != MULTIPLY_ADD[total.name]:
            continue
        if not all(v in loads and v is not accumulator for v in product.operands):
            continue
        if product.operands[0] is product.operands[1]:
            continue
        operands = [
            _operand(loads[v], nest.axes, 0) for v in (accumulator, *product.operands)
        ]
        target = _operand(store, nest.axes, 1)
        if operands[0] == target and _distinct(target, operands[1:]):
            return store, target, operands[1], operands[2]
    return None


def _both_orders(pair: Sequence[Value]) -> list[tuple[Value, Value]]:
    return [(pair[0], pair[1]), (pair[1], pair[0])]


def _operand(op: Operation, axes: Sequence[Axis], memref: int) -> Operand:
    """Access of a load (``memref=0``) or store (1) over normalised positions."""
    attribute = op.attributes["map"]
    assert isinstance(attribute, AffineMapAttr)
    positions = {axis.iv: axis.at(axis.iv) for axis in axes}
    indices = from_map(attribute.map, op.operands[memref + 1 :])
    return Operand(
        op.operands[memref],
        tuple(replace_values(index, positions) for index in indices),
    )


def _distinct(result: Operand, factors: Sequence[Operand]) -> bool:
    """Whether no factor reads the buffer that is written."""
    return all(factor.memref is not result.memref for factor in factors)


def _separable(axes: Sequence[Axis], result: Operand, *factors: Operand) -> bool:
    """Linear accesses, and every axis of the result alone in one of its indices."""
    operands = (result, *factors)
    if not all(_is_linear(index) for operand in operands for index in operand.indices):
        return False
    ivs = {axis.iv for axis in axes}
    seen: list[Value] = []
    for index in result.indices:
        mine = [value for value in index.values if value in ivs]
        if len(mine) > 1:
            return False
        seen += mine
    return len(seen) == len(set(seen))


def _vector_axis(axes: Sequence[Axis], result: Operand) -> Axis | None:
    """The axis that walks the contiguous dimension of the result."""
    layout = getattr(result.memref.type, "layout", None)
    if not result.indices or layout is not None:
        return None
    if not isinstance(result.memref.type, MemRefType):
        return None
    last = len(result.indices) - 1
    found = [axis for axis in axes if result.coefficient(last, axis) == 1]
    return found[0] if len(found) == 1 else None
