"""Interprets vector: casts, shuffles, products, contractions, reductions and scans.

Values are NumPy arrays; sums run in row-major order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np

from gpucodegen import errors
from gpucodegen.dialects.gcg import packed_word_parts
from gpucodegen.dialects.memref import DYNAMIC_MARK
from gpucodegen.dialects.shared.combiners import kind_word, of_kind
from gpucodegen.dialects.vector import contraction_maps, position
from gpucodegen.interp.arith import combine
from gpucodegen.interp.casts import recast
from gpucodegen.interp.machine import Machine
from gpucodegen.interp.math import fused
from gpucodegen.interp.registry import Evaluate, evaluator
from gpucodegen.interp.values import (
    Array,
    array_of,
    bits_of,
    canonical,
    code,
    empty,
    filled,
    given,
    number,
    numbers,
)
from gpucodegen.ir.attributes import IntegerAttr
from gpucodegen.ir.literals import wrapped
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import FloatType, TupleType, Type, VectorType, element_type


def vector_type(ty: Type) -> VectorType:
    assert isinstance(ty, VectorType)
    return ty


def part(array: Array, ty: Type) -> Any:
    """A piece of a vector: a number, or a copied vector."""
    if isinstance(ty, VectorType):
        return np.array(array).reshape(ty.shape)
    return number(np.asarray(array).reshape(-1)[0], ty)


def stored(value: Any, ty: Type) -> Any:
    """A number or vector in the stored form of a larger vector."""
    return value if isinstance(value, np.ndarray) else code(value, element_type(ty))


def _broadcast(_: Machine, op: Operation, source: Any) -> Array:
    ty = vector_type(op.results[0].type)
    if isinstance(source, np.ndarray):
        return np.array(np.broadcast_to(source, ty.shape))
    return filled(source, ty.shape, ty.element)


def _from_elements(_: Machine, op: Operation, *elements: Any) -> Array:
    ty = vector_type(op.results[0].type)
    return array_of(elements, ty.shape, ty.element)


def _to_elements(_: Machine, op: Operation, source: Array) -> Any:
    ty = element_type(op.operands[0].type)
    made = tuple(number(x, ty) for x in source.reshape(-1))
    return made[0] if len(made) == 1 else made


def _at(
    op: Operation, dynamic: Sequence[int], shape: Sequence[int]
) -> tuple[int, ...] | None:
    """The position; None if it is poison. Raises IndexOutOfBounds."""
    given = iter(dynamic)
    at = tuple(next(given) if n == DYNAMIC_MARK else n for n in position(op))
    if -1 in position(op):
        return None
    if not all(0 <= i < n for i, n in zip(at, shape, strict=False)):
        raise errors.IndexOutOfBounds(index=at, buffer="the vector", shape=tuple(shape))
    return at


def _extract(_: Machine, op: Operation, source: Array, *dynamic: int) -> Any:
    at, ty = _at(op, dynamic, source.shape), op.results[0].type
    if at is None:
        at = (0,) * len(position(op))
    return part(source[at], ty)


def _insert(_: Machine, op: Operation, value: Any, dest: Array, *dynamic: int) -> Array:
    made, at = dest.copy(), _at(op, dynamic, dest.shape)
    if at is not None:
        made[at] = stored(value, op.operands[0].type)
    return made


def integers(op: Operation, name: str) -> tuple[int, ...]:
    """The numbers of an array or dense array attribute."""
    entries = (e.value for e in op.entries(name) if isinstance(e, IntegerAttr))
    return tuple(entries) or op.numbers(name)


def _cut(op: Operation, sizes: Sequence[int]) -> Any:
    """Slices of the dimensions that have a size."""
    offsets = integers(op, "offsets")
    strides = integers(op, "strides") or (1,) * len(sizes)
    return tuple(
        slice(o, o + (n - 1) * s + 1, s)
        for o, n, s in zip(offsets, sizes, strides, strict=False)
    )


def _extract_slice(_: Machine, op: Operation, source: Array) -> Array:
    return source[_cut(op, integers(op, "sizes"))].copy()


def _insert_slice(_: Machine, op: Operation, value: Array, dest: Array) -> Array:
    made = dest.copy()
    skipped = dest.ndim - value.ndim
    sizes = (*(1,) * skipped, *value.shape)
    offsets = integers(op, "offsets")
    steps = (*(1,) * skipped, *integers(op, "strides"))
    cut = tuple(
        slice(o, o + (n - 1) * s + 1, s)
        for o, n, s in zip(offsets, sizes, steps, strict=False)
    )
    made[cut] = value.reshape(sizes)
    return made


def _shuffle(_: Machine, op: Operation, first: Array, second: Array) -> Array:
    """Rows of either vector; -1 is poison."""
    rows = [*np.atleast_1d(first), *np.atleast_1d(second)]
    ty = vector_type(op.results[0].type)
    made = empty(ty.shape, ty.element)
    for i, row in enumerate(integers(op, "mask")):
        if row >= 0:
            made[i] = rows[row]
    return made


def _interleave(_: Machine, op: Operation, lhs: Array, rhs: Array) -> Array:
    shape = vector_type(op.results[0].type).shape
    return np.stack([lhs, rhs], axis=-1).reshape(shape)


def _deinterleave(_: Machine, __: Operation, source: Array) -> tuple[Array, Array]:
    return source[..., ::2].copy(), source[..., 1::2].copy()


def _scalable_insert(_: Machine, op: Operation, value: Array, dest: Array) -> Array:
    made, at = dest.copy(), op.integer("pos")
    made[at : at + len(value)] = value
    return made


def _scalable_extract(_: Machine, op: Operation, source: Array) -> Array:
    at, (count,) = op.integer("pos"), vector_type(op.results[0].type).shape
    return source[at : at + count].copy()


ELEMENT_OPERATIONS: dict[str, Evaluate] = {
    "vector.broadcast": _broadcast,
    "vector.from_elements": _from_elements,
    "vector.to_elements": _to_elements,
    "vector.extract": _extract,
    "vector.insert": _insert,
    "vector.extract_strided_slice": _extract_slice,
    "vector.insert_strided_slice": _insert_slice,
    "vector.shuffle": _shuffle,
    "vector.interleave": _interleave,
    "vector.deinterleave": _deinterleave,
    "vector.scalable.insert": _scalable_insert,
    "vector.scalable.extract": _scalable_extract,
}


VSCALE = 1
"""``vscale`` of this machine: scalable vectors have their minimum length."""


def _shape_cast(_: Machine, op: Operation, source: Any) -> Any:
    ty = op.results[0].type
    if isinstance(ty, TupleType):
        pairs = zip(source, ty.elements, strict=True)
        return tuple(v.reshape(vector_type(e).shape) for v, e in pairs)
    return source.reshape(vector_type(ty).shape)


def _bitcast(_: Machine, op: Operation, source: Array) -> Array:
    ty = vector_type(op.results[0].type)
    return recast(source, element_type(op.operands[0].type), ty.element, ty.shape)


def _transpose(_: Machine, op: Operation, source: Array) -> Array:
    return source.transpose(op.numbers("permutation")).copy()


def _ones(shape: Sequence[int], lengths: Sequence[int]) -> Array:
    """A mask that is one in a corner box of the shape."""
    made = np.zeros(shape, bool)
    if not shape:
        return np.array(lengths[0] > 0)
    made[tuple(slice(0, max(0, n)) for n in lengths)] = True
    return made


def _create_mask(_: Machine, op: Operation, *lengths: int) -> Array:
    return _ones(vector_type(op.results[0].type).shape, lengths)


def _constant_mask(_: Machine, op: Operation) -> Array:
    lengths = op.numbers("mask_dim_sizes")
    return _ones(vector_type(op.results[0].type).shape, lengths)


def _step(_: Machine, op: Operation) -> Array:
    ty = vector_type(op.results[0].type)
    return array_of(range(ty.shape[0]), ty.shape, ty.element)


SHAPE_OPERATIONS: dict[str, Evaluate] = {
    "vector.shape_cast": _shape_cast,
    "vector.bitcast": _bitcast,
    "vector.transpose": _transpose,
    "vector.create_mask": _create_mask,
    "vector.constant_mask": _constant_mask,
    "vector.vscale": lambda *_: VSCALE,
    "vector.step": _step,
}


Combine = Callable[[Any, Any], Any]


def combiner(op: Operation, ty: Type) -> Combine:
    """The operation's combining function for numbers of a type."""
    row = of_kind(kind_word(op.attributes.get("kind")), ty)
    assert row is not None
    return combine(row.operation, ty)


def multiply_numbers(lhs: Any, rhs: Any, source: Type, ty: Type) -> Any:
    """Convert operands to the accumulator type and multiply."""
    if isinstance(ty, FloatType):
        return canonical(lhs * rhs, ty)
    bits = bits_of(source)
    return canonical(wrapped(lhs, bits) * wrapped(rhs, bits), ty)


def _vector(value: Any, ty: Type) -> Array:
    """A vector; a number becomes a vector of rank 0."""
    if isinstance(value, np.ndarray):
        return value.copy()
    return array_of([value], (), element_type(ty))


def _given(made: Array, ty: Type) -> Any:
    return made if isinstance(ty, VectorType) else number(made[()], ty)


def _contract(
    _: Machine, op: Operation, lhs: Array, rhs: Array, acc: Any, *masks: Array,
    mask: Array | None = None,
) -> Any:  # fmt: skip
    """Sum over all loop points where all masks are set."""
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
        term = multiply_numbers(
            number(lhs[a], source), number(rhs[b], source), source, element
        )
        made[c] = code(add(number(made[c], element), term), element)
    return _given(made, ty)


def _outer(
    _: Machine, op: Operation, lhs: Array, rhs: Any, *acc: Array,
    mask: Array | None = None,
) -> Array:  # fmt: skip
    ty = element_type(op.results[0].type)
    parts = packed_word_parts(op)
    if parts:
        a, b = (_parts(x, part) for x, part in zip((lhs, rhs), parts, strict=True))
        sums = np.einsum("ip,jp->ij", a, b).reshape(-1).tolist()
        terms = [canonical(term, ty) for term in sums]
    else:
        a = numbers(lhs, ty)
        b = numbers(rhs, ty) if isinstance(rhs, np.ndarray) else [rhs]
        terms = [multiply_numbers(x, y, ty, ty) for x in a for y in b]
    shape = (*lhs.shape, *(rhs.shape if isinstance(rhs, np.ndarray) else ()))
    if not acc:
        return array_of(terms, shape, ty)
    add, before = combiner(op, ty), numbers(acc[0], ty)
    lets = [True] * len(terms) if mask is None else mask.reshape(-1).tolist()
    rows = zip(before, terms, lets, strict=True)
    return array_of([add(x, y) if let else x for x, y, let in rows], shape, ty)


def _parts(words: Array, part: str) -> Array:
    """The numbers packed into each word, along a new last dimension.

    >>> _parts(np.array([0x01FF]), "i8").tolist()
    [[-1, 1, 0, 0]]
    >>> _parts(np.array([0x01FF]), "ui8").tolist()
    [[255, 1, 0, 0]]
    """
    ty = part.removeprefix("u")
    kind = f"{'u' if ty != part else 'i'}{int(ty.removeprefix('i')) // 8}"
    whole = np.ascontiguousarray(words).astype("<i4").reshape(-1, 1)
    return whole.view(f"<{kind}").astype(np.int64)


def _reduction(
    _: Machine, op: Operation, vector: Array, *acc: Any, mask: Array | None = None
) -> Any:
    """Combine from the accumulator on, or from the first element."""
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
    """Prefix sums, inclusive or exclusive of each element.

    As in MLIR's lowering, an inclusive scan ignores the initial value.
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


PRODUCT_OPERATIONS: dict[str, Evaluate] = {
    "vector.fma": fused,
    "vector.contract": _contract,
    "vector.outerproduct": _outer,
    "vector.reduction": _reduction,
    "vector.multi_reduction": _multi_reduction,
    "vector.scan": _scan,
}


def _mask(m: Machine, op: Operation, mask: Array, *passed: Any) -> Any:
    """Run the operation; lanes off the mask get the pass-through value, if given."""
    *inside, end = op.body.operations
    for nested in inside:
        evaluate = evaluator(nested.name)
        assert evaluate is not None
        made = evaluate(m, nested, *m.of(nested.operands), mask=mask)
        if nested.results:
            m.values[nested.results[0]] = _merged(made, mask, passed)
    return given(m.of(end.operands))


def _merged(made: Any, mask: Array, passed: tuple[Any, ...]) -> Any:
    fits = isinstance(made, np.ndarray) and made.shape == mask.shape
    return np.where(mask, made, passed[0]) if passed and fits else made


MASK_OPERATIONS: dict[str, Evaluate] = {"vector.mask": _mask}


def _tuple(_: Machine, __: Operation, *vectors: Array) -> tuple[Array, ...]:
    return vectors


def _tuple_get(_: Machine, op: Operation, vectors: tuple[Array, ...]) -> Array:
    return vectors[op.integer("index")]


def _boxes(op: Operation, shape: tuple[int, ...]) -> list[tuple[slice, ...]]:
    """Slices in row-major order; the last ones may be smaller."""
    sizes = integers(op, "sizes")
    starts = (range(0, n, size) for n, size in zip(shape, sizes, strict=True))
    return [
        tuple(
            slice(i, min(i + size, n))
            for i, size, n in zip(at, sizes, shape, strict=True)
        )
        for at in product(*starts)
    ]


def _extract_slices(_: Machine, op: Operation, vector: Array) -> tuple[Array, ...]:
    return tuple(vector[box].copy() for box in _boxes(op, vector.shape))


def _insert_slices(_: Machine, op: Operation, vectors: tuple[Array, ...]) -> Array:
    ty = vector_type(op.results[0].type)
    made = np.empty(ty.shape, vectors[0].dtype)
    for box, vector in zip(_boxes(op, ty.shape), vectors, strict=True):
        made[box] = vector
    return made


def _flat_transpose(_: Machine, op: Operation, matrix: Array) -> Array:
    """Transpose a flat column-major matrix."""
    shape = op.integer("columns"), op.integer("rows")
    return matrix.reshape(shape).T.reshape(-1).copy()


def _multiply(_: Machine, op: Operation, lhs: Array, rhs: Array) -> Array:
    """The product of flat column-major matrices."""
    ty = element_type(op.results[0].type)
    rows, inner, columns = (
        op.integer(n) for n in ("lhs_rows", "lhs_columns", "rhs_columns")
    )
    a, b = numbers(lhs, ty), numbers(rhs, ty)
    add = combine("addf" if isinstance(ty, FloatType) else "addi", ty)
    made: list[Any] = []
    for j, i in product(range(columns), range(rows)):
        total: Any = None
        for k in range(inner):
            term = multiply_numbers(a[k * rows + i], b[j * inner + k], ty, ty)
            total = term if total is None else add(total, term)
        made.append(total)
    return array_of(made, (rows * columns,), ty)


LEGACY_OPERATIONS: dict[str, Evaluate] = {
    "vector.tuple": _tuple,
    "vector.tuple_get": _tuple_get,
    "vector.extract_slices": _extract_slices,
    "vector.insert_slices": _insert_slices,
    "vector.flat_transpose": _flat_transpose,
    "vector.matrix_multiply": _multiply,
}
