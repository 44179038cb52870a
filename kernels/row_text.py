"""MLIR text of functions along one axis: softmax, norms, prefix sums."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf

from gpucodegen.kernels.elements import Element
from gpucodegen.kernels.function_text import Memref, Operand, Text
from gpucodegen.kernels.merged_axes import around
from gpucodegen.kernels.scalar_text import Value
from gpucodegen.records import dataclass

OLD = -1
"""Position of the old result among a body's arguments, which it does not read."""


@dataclass(frozen=True, slots=True)
class Rows:
    """An operand as (leading axes, the axis, trailing axes), without empty groups.

    ``along``: the loop of the axis. ``element``: the type of operations. ``also``:
    other loops whose elements belong to a row.
    """

    text: Text
    x: Memref
    along: int
    element: Element
    also: tuple[int, ...] = ()

    @classmethod
    def of(cls, text: Text, x: Element, shape: Sequence[int], axis: int) -> Rows:
        """The rows of the argument x."""
        groups = around(tuple(shape), axis)
        view = text.collapsed(text.array("x", x, len(shape)), groups)
        return cls(text, view, groups.index([axis]), x.computed)

    @property
    def loops(self) -> list[str]:
        """The indexing expressions of all loops."""
        return [f"d{n}" for n in range(self.x.rank)]

    @property
    def kept(self) -> list[str]:
        """Indexing expressions of the loops around the axis."""
        return [at for n, at in enumerate(self.loops) if n not in self.reduced]

    @property
    def reduced(self) -> tuple[int, ...]:
        """The loops of the elements of a row."""
        return (self.along, *self.also)

    def whole(self, memref: Memref) -> Operand:
        """A buffer of the operand's extents."""
        return Operand(memref, self.loops)

    def per_row(self) -> Operand:
        """A buffer with one element per row."""
        extents = [self.text.dim(self.x, int(at[1:])) for at in self.kept]
        return Operand(self.text.alloc(self.element, extents), self.kept)

    def result(self, element: Element, shape: Sequence[int], axis: int) -> Operand:
        """The argument out, of the same extents."""
        out = self.text.array("out", element, len(shape))
        return self.whole(self.text.collapsed(out, around(tuple(shape), axis)))

    def reduce(
        self, first: float, body: Callable[..., Value], *more: Operand
    ) -> Operand:
        """Reduce each row: ``body`` of an element, of ``more`` and the accumulator."""
        into, text = self.per_row(), self.text
        text.fill(into.memref, text.constant(first, self.element))
        loops = range(self.x.rank)
        iterators = "".join("r" if n in self.reduced else "p" for n in loops)
        text.generic(iterators, [self.whole(self.x), *more], [into], body)
        return into

    def each(self, body: Callable[..., Value], out: Operand, *more: Operand) -> None:
        """Write ``body`` of each element and of ``more`` to ``out``."""
        inputs = [self.whole(self.x), *more]
        self.text.generic("p" * self.x.rank, inputs, [out], body)

    def largest(self) -> Operand:
        return self.reduce(-inf, lambda x, most: self.text.binary("max", most, x))


def softmax(rows: Rows, out: Operand) -> None:
    """Exponentials over their sum, by ``linalg.softmax`` in f32 or wider."""
    text, x, y = rows.text, rows.x, out.memref
    is_narrow = x.element.mlir != rows.element.mlir
    if is_narrow:
        x = y = text.alloc(rows.element, text.dims(rows.x))
        rows.each(lambda value, _: value, rows.whole(x))
        y = text.alloc(rows.element, text.dims(rows.x))
    inner = f"ins({x.name} : {x.type}) outs({y.name} : {y.type})"
    text.line(f"linalg.softmax dimension({rows.along}) {inner}")
    if is_narrow:
        text.generic("p" * x.rank, [rows.whole(y)], [out], lambda value, _: value)


def log_softmax(rows: Rows, out: Operand) -> None:
    """Each element, less the logarithm of the sum of exponentials of its row."""
    text = rows.text
    most, sums = log_sums(rows)

    def body(x: Value, most: Value, total: Value, _: Value) -> Value:
        less = text.binary("sub", x, _finite(text, most))
        return text.binary("sub", less, text.unary("log", total))

    rows.each(body, out, most, sums)


def log_sums(rows: Rows) -> tuple[Operand, Operand]:
    """The maximum of each row, and the sum of exponentials less it.

    It is subtracted if it is finite, as in SciPy.
    """
    text, most = rows.text, rows.largest()

    def power(x: Value, most: Value, total: Value) -> Value:
        less = text.binary("sub", x, _finite(text, most))
        return text.binary("add", total, text.unary("exp", less))

    return most, rows.reduce(0, power, most)


def log_sum(text: Text, most: Value, total: Value) -> Value:
    """The logarithm of the sum of exponentials, from those of `log_sums`."""
    return text.binary("add", _finite(text, most), text.unary("log", total))


def _finite(text: Text, most: Value) -> Value:
    """The maximum, or 0 where it is infinite."""
    zero = text.constant(0, most.element)
    is_finite = text.compared("eq", text.binary("sub", most, most), zero)
    return text.select(is_finite, most, zero)


def power_sum(text: Text, total: Value, x: Value, p: float) -> Value:
    """The sum of ``abs(x)**p``, or the largest of ``abs(x)`` for an infinite p."""
    size = text.unary("abs", x)
    if p == inf:
        return text.binary("max", total, size)
    if p == 2:
        size = text.binary("mul", x, x)
    elif p != 1:
        size = text.binary("pow", size, text.constant(p, x.element))
    return text.binary("add", total, size)


def root(text: Text, total: Value, p: float) -> Value:
    """The p-norm of what `power_sum` made."""
    if p in {1, inf}:
        return total
    if p == 2:
        return text.unary("sqrt", total)
    return text.binary("pow", total, text.constant(1 / p, total.element))


def normalize(rows: Rows, out: Operand, p: float, least: float) -> None:
    """Each element over the p-norm of its row, which is ``least`` at least."""
    text = rows.text
    sums = rows.reduce(0, lambda x, total: power_sum(text, total, x, p))

    def body(x: Value, total: Value, _: Value) -> Value:
        norm = root(text, total, p)
        return text.binary(
            "div", x, text.binary("max", norm, text.constant(least, x.element))
        )

    rows.each(body, out, sums)


@dataclass(frozen=True, slots=True)
class Norm:
    """Normalized rows; ``centred``: layer_norm, which subtracts the mean.

    ``scale`` and ``shift`` are per position in a row or per row, if present.
    """

    rows: Rows
    epsilon: float
    centred: bool
    scale: Operand | None
    shift: Operand | None

    def write(self, out: Operand) -> None:
        """Write the means, the mean squares, and the result."""
        rows, text = self.rows, self.rows.text
        length = text.extent(rows.x, rows.reduced, rows.element)
        given = [o for o in (self.scale, self.shift) if o is not None]
        means: list[Operand] = []
        if self.centred:
            means.append(rows.reduce(0, lambda x, s: text.binary("add", s, x)))

        def distance(x: Value, totals: Sequence[Value]) -> Value:
            for total in totals:
                x = text.binary("sub", x, text.binary("div", total, length))
            return x

        def square(x: Value, *others: Value) -> Value:
            *totals, sums = others
            far = distance(x, totals)
            return text.binary("add", sums, text.binary("mul", far, far))

        squares = rows.reduce(0, square, *means)

        def body(x: Value, *others: Value) -> Value:
            totals, (sums, *more) = others[: len(means)], others[len(means) : OLD]
            mean = text.binary("div", sums, length)
            positive = text.binary("add", mean, text.constant(self.epsilon, x.element))
            root = text.unary("rsqrt", positive)
            value = text.binary("mul", distance(x, totals), root)
            if self.scale is not None:
                value = text.binary("mul", value, more.pop(0))
            return text.binary("add", value, more.pop(0)) if more else value

        rows.each(body, out, *means, squares, *given)


def running(rows: Rows, out: Operand, function: str, element: Element) -> None:
    """Prefix sums or products; terms of floats may be combined in groups."""
    text, places = rows.text, ["" for _ in range(rows.x.rank)]
    first = text.constant(function == "mul", element)

    def nest(loop: int) -> None:
        if loop == rows.x.rank:
            inner()
        elif loop == rows.along:
            nest(loop + 1)
        else:
            with text.loop(0, text.dim(rows.x, loop)) as index:
                places[loop] = index
                nest(loop + 1)

    def inner() -> None:
        text.carried(0, text.dim(rows.x, rows.along), [first], step)

    def step(index: str, total: Value) -> list[Value]:
        places[rows.along] = index
        value = text.cast(text.load(rows.x, *places), element)
        made = text.binary(function, total, value, free=True)
        text.store(made, out.memref, *places)
        return [made]

    nest(0)
