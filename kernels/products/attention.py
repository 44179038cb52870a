"""Scaled dot-product attention: two matrix products with a softmax between them.

Up to 256 MiB of scores are kept in memory; more are streamed with a running maximum and
sum per row (online softmax).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, prod, sqrt
from typing import Any, Unpack

from gpucodegen import errors
from gpucodegen.kernels.arrays import Memory, require_rank
from gpucodegen.kernels.calls import How, Kernel, Recipe
from gpucodegen.kernels.elements import BOOL, INDEX, Element, element_of
from gpucodegen.kernels.function_text import Memref, Text
from gpucodegen.kernels.products.matmul import one_element, spread
from gpucodegen.kernels.products.texts import Contraction, Factor, Labels
from gpucodegen.kernels.scalar_text import Value
from gpucodegen.options import Precision

NAME = "scaled_dot_product_attention"
MOST_SCORES = 1 << 28
"""Bytes of scores that are kept in memory; beyond that, rows are streamed."""


def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
    out: Any = None,
    target: str = "auto",
    precision: Precision = "ieee",
    **how: Unpack[How],
) -> Any:
    """``softmax(query @ key.T * scale + mask) @ value``, as torch's, without dropout.

    ``query`` is (..., L, E), ``key`` (..., S, E) and ``value`` (..., S, V), with equal
    leading axes. ``attn_mask`` broadcasts to (..., L, S): True keeps a score, and
    floats are added; a row without any score is zero. ``is_causal``: position i of L
    attends to positions up to i of S. ``scale`` is by default one over the root of E.
    All arrays but a mask of bools have one dtype, a float; scores and sums of types of
    16 bits and less are f32, and rounded once; ``precision`` is as for `matmul`. Up to
    256 MiB of scores are kept in memory, as two products and a softmax. More are
    streamed, which is slower and takes no memory for them: each row keeps its largest
    score and its sum, and processes one key and one value at a time. Errors:
    WrongDtype, ShapesDisagree.

    >>> import numpy as np
    >>> q, k, v = np.zeros((1, 2)), np.ones((2, 2)), np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> scaled_dot_product_attention(q, k, v)
    array([[2., 3.]])
    """
    factor = None if scale is None else float(scale)
    operands = (query, key, value) + (() if attn_mask is None else (attn_mask,))
    return ATTENTION(
        operands, out, target, bool(is_causal), factor, precision=precision, **how
    )


def _prepare(
    arrays: tuple[Memory, ...], is_causal: bool, scale: float | None
) -> Recipe:
    query, key, value, *rest = arrays
    element = _checked(arrays)
    before = query.shape[:-2]
    length, width = query.shape[-2:]
    factor = 1 / sqrt(max(width, 1)) if scale is None else scale
    text = Text(name=NAME)
    made = Contraction(text)
    batch: Labels = ("b",) if before else ()
    factors = [
        _seen(made, name, element, array, (*batch, *ends))
        for name, array, ends in zip(
            ("query", "key", "value"), arrays, ("le", "se", "sv"), strict=False
        )
    ]
    full = (*before, length, key.shape[-2])
    mask = [_mask(made, array, full) for array in rest]
    rank = query.ndim
    out = text.collapsed(text.array("out", element, rank), _groups(rank))
    work = Attention(made, factors, mask, factor, is_causal, batch)
    if prod(full) * element.computed.bits // 8 <= MOST_SCORES:
        work.whole(Factor(out, (*batch, "l", "v")))
    else:
        work.streamed(out)
    shape = (*before, length, value.shape[-1])
    return Recipe(text, shape, element.numpy)


def _groups(rank: int) -> list[list[int]]:
    before = [[*range(rank - 2)]] if rank > 2 else []
    return [*before, [rank - 2], [rank - 1]]


def _checked(arrays: tuple[Memory, ...]) -> Element:
    query, key, value, *rest = arrays
    names = ("query", "key", "value")
    for array, name in zip(arrays, names, strict=False):
        require_rank(array, range(2, 33), function=NAME, argument=name)
    element = one_element(arrays[:3], names, NAME)
    element_of(query.dtype, function=NAME, argument="query", kinds="f")
    fits = (
        query.shape[:-2] == key.shape[:-2] == value.shape[:-2]
        and query.shape[-1] == key.shape[-1]
        and key.shape[-2] == value.shape[-2]
    )
    if not fits:
        shapes = ", ".join(str(array.shape) for array in arrays[:3])
        problem = f"{NAME}: query, key and value of shapes {shapes}"
        raise errors.ShapesDisagree(problem=problem)
    for array in rest:
        if array.dtype not in {BOOL.numpy, query.dtype}:
            raise errors.WrongDtype(
                function=NAME,
                argument="attn_mask",
                expected=f"bool or {query.dtype}",
                actual=array.dtype,
            )
    return element


def _seen(
    made: Contraction, name: str, element: Element, array: Memory, labels: Labels
) -> Factor:
    """An argument whose leading axes are merged to one batch axis."""
    text = made.text
    memref = text.array(name, element, array.ndim)
    view = text.collapsed(memref, _groups(array.ndim))
    for axis, label in enumerate(labels):
        made.extents.setdefault(label, text.dim(view, axis))
    return Factor(view, labels)


def _mask(made: Contraction, array: Memory, full: tuple[int, ...]) -> Factor:
    """The mask, whose leading axes are those of the batch, or none."""
    names = [*(f"b{n}" for n in range(len(full) - 2)), "l", "s"]
    labels = spread(array.shape, full, names, NAME, "attn_mask")
    text = made.text
    element = element_of(array.dtype, function=NAME, argument="attn_mask")
    memref = text.array("mask", element, array.ndim)
    before, ends = labels[:-2], labels[-2:]
    if not any(before):
        groups = [*([[*range(len(before))]] if before else []), *_last(array.ndim)]
        view = text.collapsed(memref, groups)
        return Factor(view, (*([""] if before else []), *ends))
    if all(before) and len(before) == len(full) - 2:
        view = text.collapsed(memref, _groups(array.ndim))
        return Factor(view, ("b", *ends))
    shape = (*full[:-2], *array.shape[-2:])
    problem = (
        f"{NAME}: attn_mask of shape {array.shape} has some of the axes before the last"
        f" two; broadcast it to {shape}"
    )
    raise errors.ShapesDisagree(problem=problem)


def _last(rank: int) -> list[list[int]]:
    return [[axis] for axis in range(max(rank - 2, 0), rank)]


@dataclass(frozen=True, slots=True)
class Attention:
    """The operands of attention, and the options that change scores."""

    made: Contraction
    factors: list[Factor]
    mask: list[Factor]
    scale: float
    is_causal: bool
    batch: Labels

    @property
    def element(self) -> Element:
        """The type in which scores are computed."""
        return self.factors[0].memref.element.computed

    def _changed(self, score: Value, mask: list[Value], row: str, column: str) -> Value:
        text, element = self.made.text, self.element
        score = text.binary("mul", score, text.constant(self.scale, element))
        least = text.constant(-inf, element)
        for each in mask:
            if each.element.kind == "b":
                score = text.select(each, score, least)
            else:
                score = text.binary("add", score, text.cast(each, element))
        if self.is_causal:
            places = Value(row, INDEX), Value(column, INDEX)
            score = text.select(text.compared("ge", *places), score, least)
        return score

    def whole(self, out: Factor) -> None:
        """The version that keeps all scores in memory between two matrix products."""
        made, text, element = self.made, self.made.text, self.element
        query, key, value = self.factors
        labels: Labels = (*self.batch, "l", "s")
        scores = made.temporary(element, labels)
        made.contract([query, key], scores)
        changed = made.temporary(element, labels)

        def body(score: Value, *mask: Value) -> Value:
            row, column = (
                text.index_of(labels.index(label)) if self.is_causal else ""
                for label in "ls"
            )
            return self._changed(score, [*mask], row, column)

        made.finish(scores, self.mask, changed, body)
        powers = made.temporary(element, labels)
        names = [changed.memref, powers.memref]
        ends = [f"{m.name} : {m.type}" for m in names]
        axis = len(labels) - 1
        text.line(f"linalg.softmax dimension({axis}) ins({ends[0]}) outs({ends[1]})")
        if self.mask:
            powers = self._without_empty_rows(changed, powers)
        is_wide = out.memref.element.mlir == element.mlir
        sums = out if is_wide else made.temporary(element, out.labels)
        made.contract([powers, value], sums)
        if not is_wide:
            made.finish(sums, (), out, lambda number: number)

    def _without_empty_rows(self, changed: Factor, powers: Factor) -> Factor:
        """Zeros for fully masked rows, whose softmax is NaN."""
        made, text, element = self.made, self.made.text, self.element
        kept = made.temporary(element, powers.labels)

        def body(power: Value, score: Value) -> Value:
            is_masked = text.compared("eq", score, text.constant(-inf, element))
            return text.select(is_masked, text.constant(0, element), power)

        made.finish(powers, [changed], kept, body)
        return kept

    def streamed(self, out: Memref) -> None:
        """The streaming version: one row at a time, with running maximum and sums."""
        made, text, element = self.made, self.made.text, self.element
        loops = (*self.batch, "l", "v")
        sums = made.temporary(element, loops)
        text.fill(sums.memref, text.constant(0, element))

        def row(*at: str) -> None:
            first = [text.constant(-inf, element), text.constant(0, element)]

            def key(index: str, most: Value, total: Value) -> list[Value]:
                return self._key(sums.memref, at, index, most, total)

            most, total = text.carried(0, made.extents["s"], first, key)
            zero = text.constant(0, element)
            is_empty = text.compared("eq", most, text.constant(-inf, element))
            with text.loop(0, made.extents["v"]) as place:
                number = text.load(sums.memref, *at, place)
                mean = text.binary("div", number, total)
                mean = text.select(is_empty, zero, mean) if self.mask else mean
                text.store(mean, out, *at, place)

        self._rows(row, ())

    def _rows(self, row: Any, at: tuple[str, ...]) -> None:
        loops = (*self.batch, "l")
        if len(at) == len(loops):
            row(*at)
            return
        with self.made.text.loop(0, self.made.extents[loops[len(at)]]) as index:
            self._rows(row, (*at, index))

    def _key(
        self, sums: Memref, at: tuple[str, ...], key: str, most: Value, total: Value
    ) -> list[Value]:
        """Add one key and its value to a row's running sums."""
        made, text, element = self.made, self.made.text, self.element
        query, keys, values = (factor.memref for factor in self.factors)
        before = at[:-1]

        def term(index: str, dot: Value) -> list[Value]:
            x, y = text.load(query, *at, index), text.load(keys, *before, key, index)
            return [text.binary("add", dot, text.binary("mul", x, y), free=True)]

        zero = [text.constant(0, element)]
        (dot,) = text.carried(0, made.extents["e"], zero, term)
        places = dict(zip((*self.batch, "l", "s"), (*at, key), strict=True))
        mask = [
            text.load(f.memref, *(places[x] if x else "0" for x in f.labels))
            for f in self.mask
        ]
        score = self._changed(dot, mask, at[-1], key)
        larger = text.binary("max", most, score)
        # before the first score that counts, -inf - -inf would be NaN
        shift = text.select(
            text.compared("eq", larger, text.constant(-inf, element)), *zero, larger
        )
        less, power = (
            text.unary("exp", text.binary("sub", value, shift))
            for value in (most, score)
        )
        with text.loop(0, made.extents["v"]) as place:
            old = text.binary("mul", text.load(sums, *at, place), less)
            new = text.binary("mul", text.load(values, *before, key, place), power)
            text.store(text.binary("add", old, new), sums, *at, place)
        return [larger, text.binary("add", text.binary("mul", total, less), power)]


ATTENTION = Kernel(NAME, ("query", "key", "value", "attn_mask"), _prepare)
