"""Einstein summation: sums of products of several arrays over labelled axes.

Several operands are contracted pairwise. Up to `EXACT` operands the optimal order is
found by dynamic programming over subsets; for more, the cheapest pair is taken each
time.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import combinations, count, filterfalse
from math import prod
from typing import Any, Unpack

from gpucodegen import errors
from gpucodegen.kernels.arrays import Memory
from gpucodegen.kernels.calls import How, Kernel, Recipe
from gpucodegen.kernels.elements import Element
from gpucodegen.kernels.function_text import Text
from gpucodegen.kernels.merged_axes import axis_of
from gpucodegen.kernels.products.matmul import disagree, one_element
from gpucodegen.kernels.products.texts import Contraction, Factor, Labels
from gpucodegen.options import Precision
from gpucodegen.records import dataclass

Axes = frozenset[str]
Path = tuple[tuple[int, int], ...]
EXACT = 8
"""Operands up to which every order is compared: 3 ** 8 pairs of subsets."""


def contraction_path(
    factors: Sequence[Axes], result: Axes, sizes: Mapping[str, int]
) -> Path:
    """Pairs of positions; each product is appended to the remaining operands.

    The cost of a pair is its number of multiplications: the product of the extents of
    all axes of the two.

    >>> axes = [frozenset(word) for word in ("ab", "bc", "cd")]
    >>> contraction_path(axes, frozenset("ad"), {"a": 9, "b": 2, "c": 9, "d": 1})
    ((1, 2), (0, 1))
    """
    if len(factors) <= EXACT:
        return _exact(tuple(factors), result, sizes)
    return _greedy(factors, result, sizes)


def _left(mine: Axes, others: Sequence[Axes], result: Axes) -> Axes:
    """The axes of a product that later products or the result need."""
    return mine & result.union(*others)


def _cost(axes: Axes, sizes: Mapping[str, int]) -> int:
    return prod(max(sizes[axis], 1) for axis in axes)


def _greedy(factors: Sequence[Axes], result: Axes, sizes: Mapping[str, int]) -> Path:
    left, path = [*factors], list[tuple[int, int]]()
    while len(left) > 1:
        pairs = combinations(range(len(left)), 2)
        i, j = min(pairs, key=lambda p: (_cost(left[p[0]] | left[p[1]], sizes), p))
        pair = left[i] | left[j]
        left = [axes for n, axes in enumerate(left) if n not in {i, j}]
        left.append(_left(pair, left, result))
        path.append((i, j))
    return tuple(path)


def _exact(factors: tuple[Axes, ...], result: Axes, sizes: Mapping[str, int]) -> Path:
    """The cheapest tree over subsets, as pairs in the order of its nodes."""
    count = len(factors)
    every = (1 << count) - 1

    def axes_of(members: int) -> Axes:
        inner = [f for n, f in enumerate(factors) if members >> n & 1]
        outer = [f for n, f in enumerate(factors) if not members >> n & 1]
        return _left(frozenset[str]().union(*inner), outer, result)

    @cache
    def best(members: int) -> tuple[int, int]:
        """The minimum cost of a subset's product, and the split that attains it."""
        if members & (members - 1) == 0:
            return 0, 0
        options: list[tuple[int, int]] = []
        half = (members - 1) & members
        while half:
            other = members ^ half
            if half > other:
                axes = axes_of(half) | axes_of(other)
                here = _cost(axes, sizes)
                options.append((best(half)[0] + best(other)[0] + here, half))
            half = (half - 1) & members
        return min(options)

    path, left = list[tuple[int, int]](), [1 << n for n in range(count)]

    def visit(members: int) -> None:
        half = best(members)[1]
        if not half:
            return
        visit(half)
        visit(members ^ half)
        i, j = sorted((left.index(half), left.index(members ^ half)))
        path.append((i, j))
        del left[j], left[i]
        left.append(members)

    visit(every)
    return tuple(path)


DOTS = "..."


def einsum(
    subscripts: str,
    *operands: Any,
    out: Any = None,
    target: str = "auto",
    precision: Precision = "ieee",
    **how: Unpack[How],
) -> Any:
    """Sums of products over axes named by letters, as ``np.einsum`` writes them.

    Every expression of NumPy's with letters is accepted: diagonals (``"ii->i"``), an
    ellipsis, an implicit result (the letters that occur once, in alphabetical order).
    For more than two operands, the order with the fewest multiplications is found,
    exactly for up to eight; intermediate products use temporary memory. Operands have
    one dtype; sums of floats of 16 bits and less are kept in f32 and rounded once, at
    the end. ``precision`` is as for `matmul`. Errors: InvalidOption for the text,
    ShapesDisagree, WrongDtype.

    >>> import numpy as np
    >>> a, b = np.arange(6.0).reshape(2, 3), np.ones((3, 2))
    >>> einsum("ij,jk->ki", a, b)
    array([[ 3., 12.],
           [ 3., 12.]])
    """
    if not operands:
        hint = "Pass an array for each of its operands"
        raise errors.InvalidOption(name="subscripts", value=subscripts, hint=hint)
    return EINSUM(operands, out, target, subscripts, precision=precision, **how)


def tensordot(
    a: Any,
    b: Any,
    axes: int | tuple[Any, Any] = 2,
    *,
    out: Any = None,
    target: str = "auto",
    precision: Precision = "ieee",
    **how: Unpack[How],
) -> Any:
    """Sums of products over the last axes of ``a`` and the first of ``b``, or others.

    ``axes`` is their number, or the axes of ``a`` and those of ``b``, as in NumPy.
    Types are those of `einsum`.

    >>> import numpy as np
    >>> tensordot(np.ones((2, 3, 4)), np.ones((4, 3)), ([1, 2], [1, 0]))
    array([12., 12.])
    """
    return TENSORDOT((a, b), out, target, axes, precision=precision, **how)


def _refused(subscripts: str, hint: str) -> errors.InvalidOption:
    return errors.InvalidOption(name="subscripts", value=subscripts, hint=hint)


@dataclass(frozen=True, slots=True)
class Notation:
    """The names of the axes of each operand, and of the result."""

    operands: tuple[Labels, ...]
    result: Labels

    @classmethod
    def of(cls, subscripts: str, ranks: Sequence[int]) -> Notation:
        """The notation of a text for operands of these ranks.

        >>> Notation.of("...i,i", [3, 1]).result
        ('.2', '.1')
        """
        words, arrow, result = subscripts.replace(" ", "").partition("->")
        parts = words.split(",")
        if len(parts) != len(ranks):
            hint = f"Pass {len(parts)} arrays, or {len(ranks)} words between commas"
            raise _refused(subscripts, hint)
        every = [
            _labels(part, rank, subscripts)
            for part, rank in zip(parts, ranks, strict=True)
        ]
        most = max([0, *(int(x[1:]) for each in every for x in each if x[0] == ".")])
        before = tuple(f".{n}" for n in range(most, 0, -1))
        if not arrow:
            times = Counter(x for each in every for x in each if x[0] != ".")
            once = sorted(x for x, number in times.items() if number == 1)
            return cls(tuple(every), (*before, *once))
        return cls(tuple(every), _result(result, before, every, subscripts))


def _labels(part: str, rank: int, subscripts: str) -> Labels:
    """The names of an operand's axes; those of an ellipsis count from its end."""
    head, dots, tail = part.partition(DOTS)
    letters = head + tail
    if not all(letter.isascii() and letter.isalpha() for letter in letters):
        raise _refused(subscripts, "Write letters, commas, '...' and '->'")
    missing = rank - len(letters)
    if missing < 0 or (missing and not dots):
        hint = f"Write {rank} letters for the array of rank {rank} instead of {part!r}"
        raise _refused(subscripts, hint)
    return (*head, *(f".{n}" for n in range(missing, 0, -1)), *tail)


def _result(
    word: str, before: Labels, operands: Sequence[Labels], subscripts: str
) -> Labels:
    head, dots, tail = word.partition(DOTS)
    known = {label for each in operands for label in each}
    letters = head + tail
    if set(letters) - known or len(set(letters)) < len(letters):
        hint = "Write letters of the operands behind '->', each once"
        raise _refused(subscripts, hint)
    if before and not dots:
        raise _refused(subscripts, "Write '...' behind '->', too")
    return (*head, *before, *tail)


def _extents(
    name: str, notation: Notation, shapes: Sequence[tuple[int, ...]]
) -> dict[str, int]:
    """Extents by axis name; extents of 1 are broadcast."""
    sizes: dict[str, int] = {}
    for labels, shape in zip(notation.operands, shapes, strict=True):
        own: dict[str, int] = {}
        for label, extent in zip(labels, shape, strict=True):
            old = sizes.get(label, 1)
            is_diagonal = own.setdefault(label, extent) == extent
            if not is_diagonal or (old != extent and 1 not in {old, extent}):
                names = [f"operand {n}" for n in range(len(shapes))]
                raise disagree(name, names, shapes, label)
            sizes[label] = extent if old == 1 else old
    return sizes


def _recipe(arrays: Sequence[Memory], notation: Notation, name: str) -> Recipe:
    shapes = [array.shape for array in arrays]
    names = [f"operand {n}" for n in range(len(arrays))]
    element = one_element(arrays, names, name)
    sizes = _extents(name, notation, shapes)
    text = Text(name=name)
    made = Contraction(text)
    factors = [
        made.factor(f"x{n}", element, _named(labels, shape, sizes))
        for n, (labels, shape) in enumerate(zip(notation.operands, shapes, strict=True))
    ]
    out = Factor(text.array("out", element, len(notation.result)), notation.result)
    _write(made, factors, out, sizes, element.summed)
    shape = tuple(sizes[label] for label in notation.result)
    return Recipe(text, shape, element.numpy)


def _named(labels: Labels, shape: Sequence[int], sizes: dict[str, int]) -> Labels:
    pairs = zip(labels, shape, strict=True)
    return tuple(label if extent == sizes[label] else "" for label, extent in pairs)


def _write(
    made: Contraction,
    factors: list[Factor],
    out: Factor,
    sizes: dict[str, int],
    summed: Element,
) -> None:
    """Write the pairwise products in order; the last one is the result."""
    wanted = frozenset(out.labels)
    path = contraction_path([_axes(f) for f in factors], wanted, sizes)
    left = [*factors]
    for i, j in path[:-1]:
        pair = [left[i], left[j]]
        left = [f for n, f in enumerate(left) if n not in {i, j}]
        needed = wanted.union(*map(_axes, left))
        labels = dict.fromkeys(x for f in pair for x in f.labels if x in needed)
        into = made.temporary(summed, tuple(labels))
        made.contract(_alone(made, pair, needed, summed), into)
        left.append(into)
    direct = out.memref.element.mlir == summed.mlir
    sums = out if direct else made.temporary(summed, out.labels)
    made.contract(_alone(made, left, wanted, summed), sums)
    if not direct:
        made.finish(sums, (), out, lambda value: value)


def _axes(factor: Factor) -> frozenset[str]:
    return frozenset(label for label in factor.labels if label)


def _alone(
    made: Contraction, pair: Sequence[Factor], needed: frozenset[str], summed: Element
) -> list[Factor]:
    """The operands of a product, reduced first over axes that only one of them has."""
    if len(pair) < 2:
        return [*pair]
    left, right = pair
    return [
        _reduced(made, left, needed | _axes(right), summed),
        _reduced(made, right, needed | _axes(left), summed),
    ]


def _reduced(
    made: Contraction, factor: Factor, needed: frozenset[str], summed: Element
) -> Factor:
    labels = tuple(dict.fromkeys(x for x in factor.labels if x in needed))
    if set(labels) == _axes(factor):
        return factor
    into = made.temporary(summed, labels)
    made.contract([factor], into)
    return into


def _prepare(arrays: tuple[Memory, ...], subscripts: str) -> Recipe:
    notation = Notation.of(subscripts, [array.ndim for array in arrays])
    return _recipe(arrays, notation, "einsum")


def _prepare_tensordot(arrays: tuple[Memory, ...], axes: Any) -> Recipe:
    a, b = arrays
    left, right = _pairs(axes, a.ndim, b.ndim)
    names = (f"x{n}" for n in count())
    first = tuple(next(names) for _ in range(a.ndim))
    joined = {there: first[here] for here, there in zip(left, right, strict=True)}
    second = tuple(joined.get(axis) or next(names) for axis in range(b.ndim))
    for here, there in zip(left, right, strict=True):
        if a.shape[here] != b.shape[there]:
            shapes = [a.shape, b.shape]
            raise disagree("tensordot", ["a", "b"], shapes, str(here))
    shared = {first[axis] for axis in left}
    kept = (*filterfalse(shared.__contains__, (*first, *second)),)
    return _recipe(arrays, Notation((first, second), kept), "tensordot")


def _pairs(axes: Any, left: int, right: int) -> tuple[list[int], list[int]]:
    """The axes of both operands that are summed over."""
    hint = "Pass how many axes, or as many of a as of b"
    refused = errors.InvalidOption(name="axes", value=axes, hint=hint)
    try:
        number = operator.index(axes)
    except TypeError:
        try:
            first, second = (
                [each] if isinstance(each, int) else [*each] for each in axes
            )
        except (TypeError, ValueError):
            raise refused from None
    else:
        if not 0 <= number <= min(left, right):
            raise refused
        first, second = [*range(left - number, left)], [*range(number)]
    if len(first) != len(second):
        raise refused
    of_a = [axis_of(axis, left, name="axes") for axis in first]
    of_b = [axis_of(axis, right, name="axes") for axis in second]
    if len(set(of_a)) < len(of_a) or len(set(of_b)) < len(of_b):
        raise refused
    return of_a, of_b


EINSUM = Kernel("einsum", (), _prepare)
TENSORDOT = Kernel("tensordot", ("a", "b"), _prepare_tensordot)
