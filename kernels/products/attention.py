"""Scaled dot-product attention: two matrix products with a softmax between them.

At most 256 MiB of scores are in memory at a time, 1 GiB on a GPU: batches, or rows of
one, come one after the other. On a GPU, attention of 16-bit floats with heads of up to
256 elements is one kernel, which keeps none.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf, prod, sqrt
from typing import Any, Unpack

from gpucodegen import errors
from gpucodegen.kernels.arrays import Memory, memory_module, require_rank
from gpucodegen.kernels.calls import How, Kernel, Recipe
from gpucodegen.kernels.elements import BOOL, INDEX, Element, element_of
from gpucodegen.kernels.function_text import Memref, Text
from gpucodegen.kernels.products.matmul import one_element, spread
from gpucodegen.kernels.products.texts import Contraction, Factor, Labels
from gpucodegen.kernels.scalar_text import Value
from gpucodegen.options import Precision
from gpucodegen.records import dataclass

NAME = "scaled_dot_product_attention"
MOST_SCORES = 1 << 28
"""Bytes of scores that are kept in memory at a time."""
MORE_ON_GPU = 4
"""Times that on a GPU, where each part is launched anew and has to fill the device."""


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
    16 bits and less are f32, rounded once; the weights of values are rounded, too.
    ``precision`` is as for `matmul`. At most 256 MiB of scores are in memory at a time,
    1 GiB on a GPU; attention of f16 and bf16 on a GPU is one kernel without any, if E
    and V are multiples of 8 up to 256. Errors: WrongDtype, ShapesDisagree.

    >>> import numpy as np
    >>> q, k, v = np.zeros((1, 2)), np.ones((2, 2)), np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> scaled_dot_product_attention(q, k, v)
    array([[2., 3.]])
    """
    factor = None if scale is None else float(scale)
    operands = (query, key, value) + (() if attn_mask is None else (attn_mask,))
    return ATTENTION(
        *(operands, out, target, bool(is_causal), factor, target in ("cuda", "sim")),
        precision=precision,
        **how,
    )


def _prepare(
    arrays: tuple[Memory, ...],
    is_causal: bool,
    scale: float | None,
    fuses: bool = False,
) -> Recipe:
    """``fuses``: it runs on a GPU, where 16-bit scores are never in memory."""
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
    sizes = {"b": prod(before), "l": length, "s": key.shape[-2]}
    place = Factor(out, (*batch, "l", "v"))
    work = Attention(made, factors, mask, place, factor, is_causal, sizes)
    bits = element.computed.bits
    fuses = fuses or memory_module(query).__name__ != "numpy"
    is_kept = fuses and element.numpy.itemsize == 2 and _in_pieces(query, value)
    most = MOST_SCORES * (MORE_ON_GPU if fuses else 1)
    work.run(prod(sizes.values()) if is_kept else most * 8 // bits)
    shape = (*before, length, value.shape[-1])
    return Recipe(text, shape, element.numpy)


def _in_pieces(query: Memory, value: Memory) -> bool:
    """Whether rows are pieces of 16 bytes, and not too wide for the fused kernel."""
    widths = query.shape[-1], value.shape[-1]
    return all(width % 8 == 0 and width <= 256 for width in widths)


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
    """The operands of attention, and the options that change scores.

    ``sizes``: the extents of batch, rows and keys.  ``first``: the row of the problem
    that is the first one here.
    """

    made: Contraction
    factors: list[Factor]
    mask: list[Factor]
    out: Factor
    scale: float
    is_causal: bool
    sizes: dict[str, int]
    first: str = ""

    @property
    def element(self) -> Element:
        """The type in which scores are computed."""
        return self.factors[0].memref.element.computed

    @property
    def batch(self) -> Labels:
        return self.out.labels[:-2]

    def run(self, most: int) -> None:
        """Attention with at most so many scores in memory, as far as a row has less.

        Otherwise some batches, or some rows of one, come after the others.
        """
        rows = most // max(1, self.sizes["s"])
        if prod(self.sizes.values()) <= most:
            self.whole()
        elif self.sizes["b"] > 1:
            self._in_parts("b", max(1, rows // self.sizes["l"]), most)
        elif self.sizes["l"] > 1:
            self._in_parts("l", max(1, rows), most)
        else:
            self.whole()

    def _in_parts(self, label: str, step: int, most: int) -> None:
        """Parts of nearly ``step`` indices of an axis, one after the other."""
        text, size = self.made.text, self.sizes[label]
        step = -(-size // -(-size // step))
        with text.loop(0, size // step) as number:
            first = text.fresh()
            where = f"affine_map<(d0) -> (d0 * {step})>({number})"
            text.line(f"{first} = affine.apply {where}")
            self._part(label, first, step).run(most)
        if size % step:
            first = text.constant(size - size % step, INDEX).name
            self._part(label, first, size % step).run(most)

    def _part(self, label: str, first: str, size: int) -> Attention:
        """The same for a range of an axis."""
        text = self.made.text
        extent = text.constant(size, INDEX).name
        extents = {**self.made.extents, label: extent}

        def part(x: Factor) -> Factor:
            return self._sliced(x, label, first, extent)

        start = self.first
        if label == "l":
            start = text.fresh()
            before = self.first or text.constant(0, INDEX).name
            text.line(f"{start} = arith.addi {before}, {first} : index")
        return replace(
            self,
            made=Contraction(text, extents),
            factors=[*map(part, self.factors)],
            mask=[*map(part, self.mask)],
            out=part(self.out),
            sizes={**self.sizes, label: size},
            first=start,
        )

    def _sliced(self, x: Factor, label: str, first: str, extent: str) -> Factor:
        """A view of a range of an axis, if the operand has it."""
        if label not in x.labels:
            return x
        text, old = self.made.text, x.memref
        one = text.constant(1, INDEX).name
        starts, sizes = ["0"] * old.rank, [one] * old.rank
        for axis, name in enumerate(x.labels):
            if name == label:
                starts[axis], sizes[axis] = first, extent
            elif name:
                sizes[axis] = self.made.extents[name]
        layout = f", strided<[{'?, ' * (old.rank - 1)}1], offset: ?>"
        made = Memref(text.fresh(), old.element, old.rank, layout)
        lists = (starts, sizes, ["1"] * old.rank)
        where = " ".join(f"[{', '.join(numbers)}]" for numbers in lists)
        line = f"{made.name} = memref.subview {old.name}{where}"
        text.line(f"{line} : {old.type} to {made.type}")
        return Factor(made, x.labels)

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

    def whole(self) -> None:
        """Two matrix products with all scores in memory between them."""
        made, text, element, out = self.made, self.made.text, self.element, self.out
        query, key, value = self.factors
        labels: Labels = (*self.batch, "l", "s")
        scores = made.temporary(element, labels)
        made.contract([query, key], scores)
        changed = made.temporary(element, labels)

        def body(score: Value, *mask: Value) -> Value:
            if not self.is_causal:
                return self._changed(score, [*mask], "", "")
            row, column = (text.index_of(labels.index(label)) for label in "ls")
            if self.first:
                inside, row = row, text.fresh()
                text.line(f"{row} = arith.addi {inside}, {self.first} : index")
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
        if not is_wide:
            powers = self._rounded(powers, out.memref.element)
        sums = out if is_wide else made.temporary(element, out.labels)
        made.contract([powers, value], sums)
        if not is_wide:
            made.finish(sums, (), out, _same)

    def _rounded(self, powers: Factor, element: Element) -> Factor:
        """The weights in the type of the values, which tensor cores multiply."""
        narrow = self.made.temporary(element, powers.labels)
        self.made.finish(powers, (), narrow, _same)
        return narrow

    def _without_empty_rows(self, changed: Factor, powers: Factor) -> Factor:
        """Zeros for fully masked rows, whose softmax is NaN."""
        made, text, element = self.made, self.made.text, self.element
        kept = made.temporary(element, powers.labels)

        def body(power: Value, score: Value) -> Value:
            is_masked = text.compared("eq", score, text.constant(-inf, element))
            return text.select(is_masked, text.constant(0, element), power)

        made.finish(powers, [changed], kept, body)
        return kept


def _same(number: Value) -> Value:
    return number


ATTENTION = Kernel(NAME, ("query", "key", "value", "attn_mask"), _prepare)
