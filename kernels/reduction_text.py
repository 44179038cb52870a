"""MLIR text of reductions over merged axes, with wide accumulators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import Protocol

from gpucodegen.kernels.elements import BOOL, I32, I64, Element
from gpucodegen.kernels.function_text import Memref, Operand, Text
from gpucodegen.kernels.merged_axes import merged
from gpucodegen.kernels.scalar_text import Value
from gpucodegen.records import dataclass


@dataclass(frozen=True, slots=True)
class Nest:
    """The operand and the result of a reduction, over merged axes.

    ``iterators``: p or r for each loop. ``x``: the operand. ``kept``: indexing
    expressions of the parallel loops. ``y``: the result.
    """

    text: Text
    iterators: str
    x: Operand
    kept: list[str]
    y: Operand

    @property
    def extents(self) -> list[str]:
        """Extents of the parallel loops."""
        return [self.text.dim(self.x.memref, int(at[1:])) for at in self.kept]

    @property
    def reduced(self) -> list[int]:
        """The reduction loops."""
        return [n for n, kind in enumerate(self.iterators) if kind == "r"]

    def temporary(self, element: Element) -> Operand:
        """A buffer of the result's extents."""
        return Operand(self.text.alloc(element, self.extents), self.kept)

    def count(self, element: Element) -> Value:
        """Number of elements that each result combines."""
        return self.text.extent(self.x.memref, self.reduced, element)

    def reduce(
        self,
        into: Operand,
        first: complex,
        body: Callable[..., Value],
        *more: Operand,
    ) -> Operand:
        """Accumulate ``body`` of an element, of ``more``, and of the accumulator."""
        text = self.text
        text.fill(into.memref, text.constant(first, into.memref.element))
        text.generic(self.iterators, [self.x, *more], [into], body)
        return into

    def finish(self, body: Callable[..., Value], *inputs: Operand) -> None:
        """Write the result, computed from the accumulators."""
        loops = {at: f"d{n}" for n, at in enumerate(self.kept)}
        moved = [
            Operand(o.memref, [loops.get(at, at) for at in o.at])
            for o in (*inputs, self.y)
        ]
        *sources, place = moved

        def without_old(*values: Value) -> Value:
            return body(*values[:-1])

        self.text.generic("p" * len(self.kept), sources, [place], without_old)


def nest(
    name: str, x: Element, y: Element, rank: int, axes: Sequence[int], *, keepdims: bool
) -> Nest:
    """The nest of a reduction of an array over axes."""
    text = Text(name=name)
    groups = merged([axis in axes for axis in range(rank)])
    iterators = "".join("r" if group[0] in axes else "p" for group in groups)
    source = text.array("x", x, rank)
    view = text.collapsed(source, groups)
    loops = [f"d{n}" for n in range(len(groups))]
    kept = [at for at, kind in zip(loops, iterators, strict=True) if kind == "p"]
    result = text.array("out", y, rank if keepdims else rank - len(axes))
    place = _place(text, result, groups, iterators, kept, keepdims=keepdims)
    return Nest(text, iterators, Operand(view, loops), kept, place)


def _place(
    text: Text,
    result: Memref,
    groups: Sequence[Sequence[int]],
    iterators: str,
    kept: list[str],
    *,
    keepdims: bool,
) -> Operand:
    """The result, whose axes are merged like the operand's."""
    together: list[list[int]] = []
    leading: list[int] = []
    start = 0
    for group, kind in zip(groups, iterators, strict=True):
        if kind == "r" and not keepdims:
            continue
        mine = [*range(start, start + len(group))]
        start += len(group)
        if kind == "p":
            together.append([*leading, *mine])
            leading = []
        elif together:  # extents of 1 go with what is before them
            together[-1] += mine
        else:
            leading += mine
    if not kept and leading:
        return Operand(text.collapsed(result, [leading]), ["0"])
    return Operand(text.collapsed(result, together), kept)


class Writer(Protocol):
    """A function that writes the text of a reduction."""

    def __call__(self, nest: Nest, **more: int) -> None: ...


def _same(value: Value) -> Value:
    return value


def _accumulator(nest: Nest, element: Element) -> Operand:
    """The result itself if it has this element, else a temporary."""
    y = nest.y
    is_result = y.memref.element.mlir == element.mlir and list(y.at) == nest.kept
    return y if is_result else nest.temporary(element)


def combined(
    nest: Nest,
    function: str,
    first: complex,
    element: Element,
    finish: Callable[[Value], Value] = _same,
    of: Callable[[Value], Value] = _same,
) -> None:
    """Combine the elements with a function in a type, then finish."""
    text = nest.text
    plain = finish is _same
    into = _accumulator(nest, element) if plain else nest.temporary(element)

    def body(x: Value, total: Value) -> Value:
        return text.binary(function, total, text.cast(of(x), element))

    nest.reduce(into, first, body)
    if into is not nest.y:
        nest.finish(finish, into)


def total(nest: Nest, function: str) -> None:
    """Sums and products, from 0 and 1."""
    element = nest.y.memref.element.computed
    combined(nest, function, function == "mul", element)


def extreme(nest: Nest, function: str) -> None:
    """Maximum and minimum; NaN if an element is NaN."""
    element = nest.x.memref.element.computed
    combined(nest, function, worst(function, element), element)


def worst(function: str, element: Element) -> float:
    """The neutral element of ``max`` or ``min``.

    >>> from gpucodegen.kernels.elements import ELEMENTS
    >>> worst("max", ELEMENTS["int8"]), worst("min", ELEMENTS["uint8"])
    (-128, 255)
    """
    least = function == "max"
    if element.kind == "f":
        return -inf if least else inf
    if element.kind == "i":
        half = 1 << (element.bits - 1)
        return -half if least else half - 1
    return 0 if least else (1 << element.bits) - 1


def truth(nest: Nest, function: str) -> None:
    """Whether all, or any, elements differ from zero."""
    text = nest.text

    def flag(x: Value) -> Value:
        return text.cast(text.cast(x, BOOL), I32)

    def answer(x: Value) -> Value:
        return text.cast(x, BOOL)

    combined(nest, function, function == "min", I32, answer, flag)


def nonzero(nest: Nest) -> None:
    """Number of nonzero elements."""
    text = nest.text
    combined(nest, "add", 0, I64, of=lambda x: text.cast(text.cast(x, BOOL), I64))


def _sums(nest: Nest, element: Element) -> Operand:
    text = nest.text

    def add(x: Value, sums: Value) -> Value:
        return text.binary("add", sums, text.cast(x, element))

    return nest.reduce(nest.temporary(element), 0, add)


def mean(nest: Nest) -> None:
    """The sum over the number of elements."""
    text, element = nest.text, nest.y.memref.element.computed
    sums = _sums(nest, element)
    count = _divisor(nest, element)
    nest.finish(lambda s: text.binary("div", s, count), sums)


def _divisor(nest: Nest, element: Element) -> Value:
    real = element.part if element.kind == "c" else element
    return nest.text.cast_once(nest.count(real), element)


def variance(nest: Nest, ddof: int, *, root: bool) -> None:
    """The mean squared distance from the mean, in two passes."""
    text, y = nest.text, nest.y.memref.element.computed
    x = nest.x.memref.element
    element = x.computed if x.kind == "c" else y
    sums, count = _sums(nest, element), nest.count(y)
    divisor = _divisor(nest, element)

    def square(value: Value, total: Value, squares: Value) -> Value:
        middle = text.binary("div", total, divisor)
        distance = text.binary("sub", text.cast(value, element), middle)
        if element.kind == "c":
            distance = text.unary("abs", distance)
        return text.binary("add", squares, text.binary("mul", distance, distance))

    def finish(squares: Value) -> Value:
        zero = text.constant(0, y)
        rest = text.binary("sub", count, text.constant(ddof, y))
        divided = text.binary("div", squares, text.binary("max", rest, zero))
        return text.unary("sqrt", divided) if root else divided

    nest.finish(finish, nest.reduce(nest.temporary(y), 0, square, sums))


def log_sum_exp(nest: Nest) -> None:
    """The logarithm of the sum of exponentials, shifted by the maximum."""
    text, element = nest.text, nest.y.memref.element.computed

    def larger(x: Value, most: Value) -> Value:
        return text.binary("max", most, text.cast(x, element))

    most = nest.reduce(nest.temporary(element), -inf, larger)

    def power(x: Value, most: Value, powers: Value) -> Value:
        exponent = text.binary("sub", text.cast(x, element), shift(most))
        return text.binary("add", powers, text.unary("exp", exponent))

    def shift(most: Value) -> Value:
        """The shift; 0 for an infinite maximum, since inf - inf would be NaN."""
        size = text.unary("abs", most)
        finite = text.compared("lt", size, text.constant(inf, element))
        return text.select(finite, most, text.constant(0, element))

    powers = nest.reduce(nest.temporary(element), 0, power, most)

    def finish(powers: Value, most: Value) -> Value:
        return text.binary("add", text.unary("log", powers), shift(most))

    nest.finish(finish, powers, most)


def place(nest: Nest, function: str) -> None:
    """The first index of the maximum or minimum; of the first NaN, if any."""
    text, element = nest.text, nest.x.memref.element.computed
    loop, limit = nest.reduced[0], worst("min", I64)
    if nest.iterators[-1] == "p":
        _place_in_one_pass(nest, function)
        return

    def better(x: Value, best: Value) -> Value:
        return text.binary(function, best, x)

    best = nest.temporary(element)
    nest.reduce(best, worst(function, element), better)

    def first(x: Value, best: Value, at: Value) -> Value:
        found = text.compared("eq", x, best)
        if element.kind == "f":
            both = text.binary("and", text.is_nan(x), text.is_nan(best))
            found = text.binary("or", found, both)
        here = text.select(found, text.position(loop, I64), text.constant(limit, I64))
        return text.binary("min", at, here)

    into = _accumulator(nest, I64)
    nest.reduce(into, limit, first, best)
    if into is not nest.y:
        nest.finish(_same, into)


def _place_in_one_pass(nest: Nest, function: str) -> None:
    """The extreme element and its first index together, for elements that lie apart."""
    text, element = nest.text, nest.x.memref.element.computed
    best, into = nest.temporary(element), _accumulator(nest, I64)
    text.fill(best.memref, text.constant(worst(function, element), element))
    text.fill(into.memref, text.constant(0, I64))

    def better(x: Value, best: Value, at: Value) -> tuple[Value, Value]:
        found = text.compared("gt" if function == "max" else "lt", x, best)
        if element.kind == "f":
            number = text.compared("eq", best, best)
            new = text.binary("and", text.is_nan(x), number)
            found = text.binary("or", found, new)
        here = text.position(nest.reduced[0], I64)
        return text.select(found, x, best), text.select(found, here, at)

    text.generic(nest.iterators, [nest.x], [best, into], better)
    if into is not nest.y:
        nest.finish(_same, into)
