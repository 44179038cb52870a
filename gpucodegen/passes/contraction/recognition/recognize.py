"""Find contractions among affine nests, whatever operation they came from.

A perfect nest is a contraction when its body is ``C[..] = C[..] + f(A[..]) * g(B[..])``
with scalar functions f and g, every loop of C appears alone in one index of C, and its
loops have the `Roles` of a contraction.  Bounds of the loops of C may depend on each
other: then C is a triangle or a band.  Nothing is said here of what pays: each target
has a `paying_contraction`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpucodegen.dialects.gcg import Parts
from gpucodegen.ir.locations import Location
from gpucodegen.ir.number_formats import NARROW
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import FloatType, MemRefType, Type, element_type
from gpucodegen.passes.analysis.lifting.walk.reductions import is_reassociable
from gpucodegen.passes.contraction.fusion.pointwise import Pointwise
from gpucodegen.passes.contraction.recognition.domain import Domain, domain_of, interval
from gpucodegen.passes.contraction.recognition.image import Image
from gpucodegen.passes.contraction.recognition.multiply_add import (
    MultiplyAdd,
    multiply_add,
)
from gpucodegen.passes.contraction.recognition.operands import Operand, is_linear
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.framework.nests import Axis
from gpucodegen.tiling.machine.contraction import Moves, roles_of
from gpucodegen.tiling.proof.dependences import Dependence


@dataclass(frozen=True, slots=True)
class Contraction:
    """``result += left * right``; the vector axis indexes result and right.

    ``unpadded``: an array that the right factor is a copy of, where it has an element,
    and else zero.
    ``image``: the right factor before its columns and its steps were joined.
    ``scale``: what products are multiplied by, each before it is added.
    ``words``: elements of the factors are words of such integers.
    ``precision``: of products of f32 on tensor cores; "ieee" is f32 without them.
    ``arch``: the architecture whose own features kernels use, "" if none.

    ``rows``: axes of result and left; ``columns``: axes of result and right;
    ``batch``: axes of all three; ``reduction``: axes not in the result.
    ``guards``: expressions of positions in the result that are >= 0 where it is
    computed.
    ``reassociable``: the terms of a sum may come in another order.
    ``start``: what makes the values that the sums start from, if not what is in memory.
    ``epilogue``: what is done with the finished sums, if they are not just stored.
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
    guards: tuple[Index, ...]
    location: Location
    reassociable: bool = False
    image: Image | None = None
    unpadded: Operand | None = None
    start: Pointwise | None = None
    epilogue: Pointwise | None = None
    scale: Value | None = None
    words: Parts | None = None
    precision: str = "ieee"
    arch: str = ""

    @property
    def vector(self) -> Axis | None:
        """The axis of the columns that walks the last dimension of the result."""
        return _vector_axis(self.columns, self.result)

    @property
    def targets(self) -> tuple[Operand, ...]:
        """What is stored at last."""
        return (self.result,) if self.epilogue is None else self.epilogue.stored

    @property
    def reads_around(self) -> bool:
        """Whether more than a fill is fused with it."""
        start = self.start
        return self.epilogue is not None or (start is not None and len(start.steps) > 1)

    @property
    def sums_in_registers(self) -> bool:
        """Whether kernels may keep its sums as elements of vector registers.

        No target has vectors of narrow floats: these are computed in f32, and rounded
        after every operation, one by one.  So a sum of them (f16 += f16 * f16) is left
        to scalar loops; one of their products in f32 is not.
        """
        element = self.element
        return not (isinstance(element, FloatType) and element.name in NARROW)

    @property
    def is_plain(self) -> bool:
        """Whether factors are elements, all of them needed."""
        return not (self.left.steps or self.right.steps or self.guards)


def only_accumulates(found: Sequence[Dependence]) -> bool:
    """Whether the factors of a contraction keep their values while it runs.

    { x -> y in dependences : not both accumulate into one cell } = {}
    """
    return all(dependence.reduces is not None for dependence in found)


def recognize(op: Operation, *, parametric: bool = False) -> Contraction | None:
    """The contraction computed by the nest rooted at ``op``, if it is one.

    ``parametric``: extents may be what only a call tells.

    The right factor is the one that the vector axis moves, if only one is.
    """
    domain = domain_of(op, parametric=parametric)
    body = None if domain is None else multiply_add(domain.body, domain.axes)
    if domain is None or body is None or not _is_separable(domain, body):
        return None
    vector = _vector_axis(domain.axes, body.result)
    left, right = body.factors
    if vector is not None and left.mentions(vector):
        left, right = right, left
    if body.negative:
        left = left.negated()

    def moves(axis: Axis) -> Moves:
        places = (body.result, left, right)
        in_result, in_left, in_right = (place.mentions(axis) for place in places)
        return in_result, in_left, in_right

    roles = roles_of(domain.axes, moves)
    reduction = () if roles is None else (*roles.outer, *roles.k)
    if roles is None or not reduction:
        return None
    return Contraction(
        domain.axes,
        body.result,
        left,
        right,
        element_type(body.result.memref.type),
        roles.m,
        roles.n,
        roles.batch,
        reduction,
        domain.guards,
        body.store.location,
        is_reassociable(body.total),
        scale=body.scale,
    )


def _is_separable(domain: Domain, body: MultiplyAdd) -> bool:
    """Linear accesses, every axis of the result alone in one of its indices.

    Where corners are cut off the box, they must only be corners of the result, and the
    elements there must exist.
    """
    operands = (body.result, *(o for f in body.factors for o in f.accesses))
    if not all(is_linear(index) for operand in operands for index in operand.indices):
        return False
    ivs = {axis.iv for axis in domain.axes}
    seen: list[Value] = []
    for index in body.result.indices:
        mine = [value for value in index.values if value in ivs]
        if len(mine) > 1:
            return False
        seen += mine
    if not domain.guards:
        return len(seen) == len(set(seen))
    cut = {value for guard in domain.guards for value in guard.values}
    exist = all(_inside(operand, domain.axes) for operand in operands)
    return len(seen) == len(set(seen)) and cut <= set(seen) and exist


def _inside(operand: Operand, axes: Sequence[Axis]) -> bool:
    """Whether the whole box accesses elements of the array."""
    ty = operand.memref.type
    if not isinstance(ty, MemRefType):
        return False
    found = [interval(index, axes) for index in operand.indices]
    return all(
        ends is not None and extent is not None and 0 <= ends[0] <= ends[1] < extent
        for ends, extent in zip(found, ty.shape, strict=True)
    )


def _vector_axis(axes: Sequence[Axis], result: Operand) -> Axis | None:
    """The axis that walks the last dimension of the result that is longer than one."""
    ty = result.memref.type
    if not isinstance(ty, MemRefType) or ty.layout is not None or not ty.rank:
        return None
    longer = (d for d, extent in enumerate(ty.shape) if extent != 1)
    last = max(longer, default=ty.rank - 1)
    found = [axis for axis in axes if result.coefficient(last, axis) == 1]
    return found[0] if len(found) == 1 else None
