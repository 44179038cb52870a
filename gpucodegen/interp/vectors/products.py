"""vector: products, contractions, reductions, scans; sums in row-major order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpucodegen.dialects.shared.combiners import kind_word, of_kind
from gpucodegen.dialects.vector import contraction_maps
from gpucodegen.interp.machine import Machine
from gpucodegen.interp.registry import Evaluate
from gpucodegen.interp.scalars.arith import combine
from gpucodegen.interp.scalars.math import fused
from gpucodegen.interp.values.elements import (
    Array,
    array_of,
    bits_of,
    canonical,
    code,
    number,
    numbers,
)
from gpucodegen.ir.data.packing import wrapped
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import FloatType, Type, VectorType, element_type

Combine = Callable[[Any, Any], Any]


def combiner(op: Operation, ty: Type) -> Combine:
    """The function of the operation's kind, for numbers of a type."""
    row = of_kind(kind_word(op.attributes.get("kind")), ty)
    assert row is not None
    return combine(row.operation, ty)


def product(lhs: Any, rhs: Any, source: Type, ty: Type) -> Any:
    """In the accumulator's type, which may be wider than the factors'."""
    if isinstance(ty, FloatType):
        return canonical(lhs * rhs, ty)
    bits = bits_of(source)
    return canonical(wrapped(lhs, bits) * wrapped(rhs, bits), ty)


def _vector(value: Any, ty: Type) -> Array:
    """A vector; a number as one of rank 0."""
    if isinstance(value, np.ndarray):
        return value.copy()
    return array_of([value], (), element_type(ty))


def _given(made: Array, ty: Type) -> Any:
    return made if isinstance(ty, VectorType) else number(made[()], ty)


def _contract(
    _: Machine, op: Operation, lhs: Array, rhs: Array, acc: Any, *masks: Array,
    mask: Array | None = None,
) -> Any:  # fmt: skip
    """A point of the loops counts where all masks let it."""
    maps = contraction_maps(op)
    source, ty = element_type(op.operands[0].type), op.results[0].type
    element = element_type(ty)
    add, made = combiner(op, element), _vector(acc, ty)
    extents: dict[str, int] = {}
    for map_, array in zip(maps, (lhs, rhs), strict=False):
        extents |= {str(e): n for e, n in zip(map_.results, array.shape, strict=True)}
    for point in np.ndindex(*(extents[f"d{d}"] for d in range(maps[0].num_dims))):
        a, b, c = (map_.evaluate(point) for map_ in maps)
        lets = [masked[at] for masked, at in zip(masks, (a, b), strict=False)]
        if not all(lets) or (mask is not None and not mask[point]):
            continue
        term = product(number(lhs[a], source), number(rhs[b], source), source, element)
        made[c] = code(add(number(made[c], element), term), element)
    return _given(made, ty)


def _outer(
    _: Machine, op: Operation, lhs: Array, rhs: Any, *acc: Array,
    mask: Array | None = None,
) -> Array:  # fmt: skip
    ty = element_type(op.results[0].type)
    a = numbers(lhs, ty)
    b = numbers(rhs, ty) if isinstance(rhs, np.ndarray) else [rhs]
    terms = [product(x, y, ty, ty) for x in a for y in b]
    shape = (*lhs.shape, *(rhs.shape if isinstance(rhs, np.ndarray) else ()))
    if not acc:
        return array_of(terms, shape, ty)
    add, before = combiner(op, ty), numbers(acc[0], ty)
    lets = [True] * len(terms) if mask is None else mask.reshape(-1).tolist()
    rows = zip(before, terms, lets, strict=True)
    return array_of([add(x, y) if let else x for x, y, let in rows], shape, ty)


def _reduction(
    _: Machine, op: Operation, vector: Array, *acc: Any, mask: Array | None = None
) -> Any:
    """From the accumulator on, or from the first element."""
    ty = element_type(op.operands[0].type)
    function = combiner(op, ty)
    kept = vector if mask is None else vector[mask]
    values = [*acc, *numbers(kept, ty)]
    if not values:
        return canonical(_neutral(op, ty), ty)
    made = values[0]
    for value in values[1:]:
        made = function(made, value)
    return made


def _neutral(op: Operation, ty: Type) -> Any:
    row = of_kind(kind_word(op.attributes.get("kind")), ty)
    assert row is not None
    return row.neutral_of(ty)


def _multi_reduction(
    _: Machine, op: Operation, source: Array, acc: Any, mask: Array | None = None
) -> Any:
    ty, of = op.results[0].type, element_type(op.operands[0].type)
    function, made = combiner(op, of), _vector(acc, ty)
    reduced = op.numbers("reduction_dims")
    for at in np.ndindex(*source.shape):
        if mask is not None and not mask[at]:
            continue
        kept = tuple(i for d, i in enumerate(at) if d not in reduced)
        value = function(number(made[kept], of), number(source[at], of))
        made[kept] = code(value, of)
    return _given(made, ty)


def _scan(_: Machine, op: Operation, source: Array, start: Array) -> Any:
    """All sums up to each element, with it or, exclusively, without.

    As MLIR lowers it: an inclusive scan begins with the first elements alone.
    """
    ty, d = element_type(op.operands[0].type), op.integer("reduction_dim")
    function, made, total = combiner(op, ty), source.copy(), start.copy()
    inclusive = bool(op.integer("inclusive"))
    rows, out = np.moveaxis(source, d, 0), np.moveaxis(made, d, 0)
    for i in range(len(rows)):
        for at in np.ndindex(*total.shape):
            before, value = number(total[at], ty), number(rows[i][at], ty)
            is_alone = inclusive and i == 0
            after = value if is_alone else function(before, value)
            if inclusive:
                total[at] = code(after, ty)
                out[(i, *at)] = total[at]
            else:
                out[(i, *at)] = code(before, ty)
                if i < len(rows) - 1:
                    total[at] = code(after, ty)
    return made, total


OPERATIONS: dict[str, Evaluate] = {
    "vector.fma": fused,
    "vector.contract": _contract,
    "vector.outerproduct": _outer,
    "vector.reduction": _reduction,
    "vector.multi_reduction": _multi_reduction,
    "vector.scan": _scan,
}
