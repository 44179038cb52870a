"""Declared effects of a function as the accesses of a call, on the call's operands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpucodegen.dialects.shared.effects import Effect, is_number
from gpucodegen.ir.attributes import AffineMapAttr, IntegerSetAttr
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import MemRefType
from gpucodegen.passes.analysis.lifting.environment import Environment, Text
from gpucodegen.passes.analysis.lifting.values.accesses import Accesses, whole
from gpucodegen.passes.analysis.lifting.values.expressions import (
    constraint_texts,
    map_texts,
)
from gpucodegen.tiling.model.scop import Access, AccessKind


def declared_accesses(
    effects: Sequence[Effect],
    operands: Sequence[Value],
    op: Operation,
    env: Environment,
) -> Accesses:
    """What a function with these effects touches when it gets the operands."""
    numbers = [env.text(value) for value in operands if is_number(value.type)]
    return [
        access
        for effect in effects
        for access in _accesses(effect, operands[effect.argument], numbers, op, env)
    ]


def _accesses(
    effect: Effect,
    memref: Value,
    numbers: Sequence[Text],
    op: Operation,
    env: Environment,
) -> Accesses:
    kind = AccessKind.WRITE if effect.writes else AccessKind.READ
    cells = _cells(effect, memref, numbers, env)
    if cells is None:
        return whole(env, op, memref, (kind,), must=effect.certain)
    array, indices = env.resolve(memref, cells.indices)
    return [
        Access(
            array.name,
            kind,
            indices,
            span=tuple((name, None) for name in cells.free),
            where=cells.where,
            must=effect.certain,
            listed=False,
            loc=op.location,
        )
    ]


@dataclass(frozen=True, slots=True)
class _Cells:
    """Indices into the buffer, over free iterators for which ``where`` holds."""

    indices: tuple[Text, ...]
    free: tuple[str, ...] = ()
    where: tuple[str, ...] = ()


def _cells(
    effect: Effect, memref: Value, numbers: Sequence[Text], env: Environment
) -> _Cells | None:
    """The relation; None stands for every cell."""
    ty, relation = memref.type, effect.relation
    if not isinstance(ty, MemRefType):
        return None
    extents = [_extent(memref, ty, dimension, env) for dimension in range(ty.rank)]
    if isinstance(relation, AffineMapAttr):
        free = _fresh(env, "any", relation.map.num_dims - len(numbers))
        texts = map_texts(relation.map, (*numbers, *free, *extents))
        return _Cells(texts, free, _inside(texts, extents) if free else ())
    if isinstance(relation, IntegerSetAttr):
        free = _fresh(env, "cell", ty.rank)
        found = (
            constraint_texts([constraint], (*numbers, *free), extents)
            for constraint in relation.set.constraints
        )
        known = [text for texts in found if texts is not None for text in texts]
        return _Cells(free, free, (*known, *_inside(free, extents)))
    return None


def _fresh(env: Environment, hint: str, count: int) -> tuple[str, ...]:
    return tuple(env.names.fresh(hint) for _ in range(count))


def _inside(indices: Sequence[Text], extents: Sequence[Text]) -> tuple[str, ...]:
    """The cells lie in the buffer."""
    pairs = zip(indices, extents, strict=True)
    return tuple(
        f"{index} >= 0" if extent is None else f"0 <= {index} < {extent}"
        for index, extent in pairs
        if index is not None
    )


def _extent(memref: Value, ty: MemRefType, dimension: int, env: Environment) -> Text:
    extent = ty.shape[dimension]
    if extent is not None:
        return str(extent)
    return None if memref in env.views else env.extent(memref, dimension)
