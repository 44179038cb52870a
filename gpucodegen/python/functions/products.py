"""Sums of products over labelled axes: ``einsum``, ``matmul``, ``tensordot``."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpucodegen.python import reductions
from gpucodegen.python.arrays import Lazy, lazy
from gpucodegen.python.context import Bound, Context
from gpucodegen.python.functions.arguments import (
    array_given,
    axes_given,
    constant_given,
)
from gpucodegen.python.functions.shapes import raveled
from gpucodegen.python.operators import elementwise
from gpucodegen.python.range_checks import convert
from gpucodegen.python.reductions import Label
from gpucodegen.python.results import is_tuple
from gpucodegen.python.scalars import Scalar
from gpucodegen.python.types import dtype_of

Rule = Callable[..., Bound]
Labels = tuple[Label, ...]


def _einsum(
    c: Context,
    node: ast.AST,
    subscripts: Bound,
    *operands: Bound,
    optimize: Bound = None,
) -> Bound:
    """``einsum``; of several operands the first two are contracted first."""
    del optimize
    if not isinstance(subscripts, str):
        raise c.wrong(node, "`einsum`", [subscripts], "Give the subscripts as a text")
    factors = [lazy(array_given(c, node, a)) for a in operands]
    text, arrow, result = subscripts.replace(" ", "").partition("->")
    terms = text.split(",")
    if len(terms) != len(factors):
        hint = f"Give {len(terms)} arrays"
        raise c.refuse(node, f"`{subscripts}` of {len(factors)} arrays", hint)
    labels = [
        _labels(c, node, term, len(factor.extents))
        for term, factor in zip(terms, factors, strict=True)
    ]
    wide = max((len(own) for own in map(_numbers, labels)), default=0)
    every = Counter(label for own in labels for label in own)
    if arrow:
        found = _expanded(result, wide)
    else:
        once = sorted(x for x, n in every.items() if n == 1 and isinstance(x, str))
        found = (*range(-wide, 0), *once)
    if len({*found}) < len(found) or not {*found} <= {*every}:
        hint = "Name each axis of the result once, and in an operand"
        raise c.refuse(node, f"the result `{result}` of `einsum`", hint)
    return _contracted(c, factors, labels, found)


def _expanded(term: str, wide: int) -> Labels:
    """The labels of a term; those of its ellipsis are the numbers up to -1."""
    before, dots, after = term.partition("...")
    return (*before, *(range(-wide, 0) if dots else ()), *after)


def _labels(c: Context, node: ast.AST, term: str, rank: int) -> Labels:
    found = _expanded(term, rank - len(term.replace("...", "")))
    if len(found) != rank or not all(str(x).strip("-").isalnum() for x in found):
        hint = f"Give a letter for each of the {rank} dimensions"
        raise c.refuse(node, f"the subscripts `{term}` of `einsum`", hint)
    return found


def _numbers(labels: Labels) -> list[Label]:
    return [label for label in labels if isinstance(label, int)]


def _contracted(
    c: Context, factors: Sequence[Lazy], labels: Sequence[Labels], result: Labels
) -> Bound:
    """Pairwise contraction from the left; each pair keeps the labels needed later."""
    given, names = list(factors), list(labels)
    while len(given) > 2:
        needed = {*result}.union(*names[2:])
        kept = tuple(x for x in dict.fromkeys((*names[0], *names[1])) if x in needed)
        pair = reductions.contraction(c.b, given[:2], names[:2], kept)
        given[:2], names[:2] = [lazy(pair)], [kept]
    return reductions.contraction(c.b, given, names, result)


def _dot(c: Context, node: ast.AST, a: Bound, b: Bound) -> Bound:
    """``dot``: the last axis of one with the last but one of the other."""
    if isinstance(a, Scalar) or isinstance(b, Scalar):
        pair = [
            convert(c.b, v, dtype_of(v.kind)) if isinstance(v, Scalar) else v
            for v in (a, b)
        ]
        return elementwise(c, node, np.multiply, pair, "`dot`")
    one, other = (lazy(array_given(c, node, v)) for v in (a, b))
    return _along(c, node, one, other, [-1], [-2 if len(other.extents) > 1 else -1])


def _inner(c: Context, node: ast.AST, a: Bound, b: Bound) -> Bound:
    if isinstance(a, Scalar) or isinstance(b, Scalar):
        return _dot(c, node, a, b)
    one, other = (lazy(array_given(c, node, v)) for v in (a, b))
    return _along(c, node, one, other, [-1], [-1])


def _vdot(c: Context, node: ast.AST, a: Bound, b: Bound) -> Bound:
    """``vdot``: of all elements; the first operand is conjugated."""
    flat = [lazy(raveled(c, node, v)) for v in (a, b)]
    if flat[0].dtype.kind == "c":
        flat[0] = lazy(elementwise(c, node, np.conjugate, [flat[0]], "`vdot`"))
    return reductions.contraction(c.b, flat, ["i", "i"], ())


def _tensordot(
    c: Context, node: ast.AST, a: Bound, b: Bound, axes: Bound = None
) -> Bound:
    one, other = (lazy(array_given(c, node, v)) for v in (a, b))
    if is_tuple(axes) and len(axes) == 2:
        pair = zip((one, other), axes, strict=True)
        first, second = (axes_given(c, node, len(f.extents), n) for f, n in pair)
    else:
        count = 2 if axes is None else constant_given(c, node, axes, "axes=")
        first, second = range(-count, 0), range(count)
    if len(first) != len(second):
        raise c.refuse(node, "these axes of `tensordot`", "Name as many of each array")
    return _along(c, node, one, other, first, second)


def _along(
    c: Context,
    node: ast.AST,
    one: Lazy,
    other: Lazy,
    first: Sequence[int],
    second: Sequence[int],
) -> Bound:
    """The sum of products over pairs of axes, behind them the other axes in order."""
    rank = len(one.extents)
    if max(len(first), *(-d for d in (*first, 0))) > rank:
        raise c.wrong(node, "a product", [one, other], "Give arrays of more dimensions")
    left: Labels = tuple(range(rank))
    pairs = {
        d % len(other.extents): left[n] for n, d in zip(first, second, strict=True)
    }
    right = tuple(pairs.get(d, rank + d) for d in range(len(other.extents)))
    summed = {*pairs.values()}
    kept = tuple(x for x in (*left, *right) if x not in summed)
    return reductions.contraction(c.b, [one, other], [left, right], kept)


def _matmul(c: Context, node: ast.AST, x1: Bound, x2: Bound) -> Bound:
    return reductions.product(c.b, array_given(c, node, x1), array_given(c, node, x2))


FUNCTIONS: dict[Any, Rule] = {
    np.dot: _dot,
    np.inner: _inner,
    np.vdot: _vdot,
    np.tensordot: _tensordot,
    np.einsum: _einsum,
    np.matmul: _matmul,
}
