"""Values of Python that are iterated over: ranges, and arrays side by side."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np

from gpucodegen.python import indexing
from gpucodegen.python.arrays import Lazy, View, in_place
from gpucodegen.python.context import Bound, Context
from gpucodegen.python.elementwise import apply
from gpucodegen.python.functions.arguments import flag_given, integer_given
from gpucodegen.python.functions.shapes import reversed_along
from gpucodegen.python.masks import required
from gpucodegen.python.results import is_tuple
from gpucodegen.python.scalars import Scalar, integers, known
from gpucodegen.records import dataclass

Rule = Callable[..., Bound]
HINT = "Iterate over a range, an array, a tuple, or `zip` and `enumerate` of them"


@dataclass(frozen=True, slots=True)
class Range:
    """``start + n * step`` for ``n`` below ``count``; None: without an end."""

    start: Scalar
    step: Scalar
    count: Scalar | None


@dataclass(frozen=True, slots=True)
class Zipped:
    """A tuple of the items of each part, as far as all parts have some."""

    parts: tuple[Any, ...]


def length(c: Context, node: ast.AST, value: Bound) -> Scalar:
    """The number of items.  Raises WrongOperand."""
    if is_tuple(value):
        return known(len(value))
    if isinstance(value, Range) and value.count is not None:
        return value.count
    if isinstance(value, Zipped):
        ends = [
            length(c, node, part)
            for part in value.parts
            if not isinstance(part, Range) or part.count is not None
        ]
        found, *others = {end.mixed(): end for end in ends}.values()
        for other in others:
            found = apply(c.b, np.minimum, [found, other])
        return found
    if isinstance(value, View | Lazy) and value.extents:
        return value.extents[0]
    hint = "Ask an array of at least one dimension, a range or a tuple"
    raise c.wrong(node, "`len`", [value], hint)


def _length(c: Context, node: ast.AST, value: Bound) -> Bound:
    """``len``; the number of a range may be negative in a loop."""
    found = length(c, node, value)
    is_range = isinstance(value, Range)
    return apply(c.b, np.maximum, [found, known(0)]) if is_range else found


def item(c: Context, node: ast.AST, value: Bound, index: Scalar) -> Bound:
    """The item at an index, which is a constant for a tuple."""
    if isinstance(value, Range):
        passed = integers(c.b, "mul", index, value.step)
        return integers(c.b, "add", value.start, passed)
    if isinstance(value, Zipped):
        return tuple([item(c, node, part, index) for part in value.parts])
    if is_tuple(value):
        if index.value is not None or not -len(value) <= index.constant < len(value):
            hint = "Use a number, or an array instead of the tuple"
            raise c.refuse(node, "an index of a tuple that is no number of it", hint)
        return value[index.constant]
    return indexing.item(c, value, index)


def known_items(c: Context, node: ast.AST, value: Bound) -> tuple[Bound, ...] | None:
    """All items, if their number is known."""
    if is_tuple(value):
        return value
    if not isinstance(value, Range | Zipped | View | Lazy):
        return None
    count = length(c, node, value)
    if count.value is not None:
        return None
    return tuple([item(c, node, value, known(n)) for n in range(count.constant)])


def _part(c: Context, node: ast.AST, value: Bound) -> Bound:
    if isinstance(value, View | Lazy) and value.extents:
        return in_place(c.b, value)
    if isinstance(value, Range | Zipped) or is_tuple(value):
        return value
    raise c.wrong(node, "an iteration", [value], HINT)


def _range(c: Context, node: ast.AST, *ends: Bound) -> Bound:
    """``range`` with one to three ends, of which the step is no variable 0."""
    given = [integer_given(c, node, end, "`range`") for end in ends]
    if not 1 <= len(given) <= 3:
        raise c.refuse(node, "these arguments of `range`", "Pass one to three")
    start, stop = (known(0), given[0]) if len(given) == 1 else (given[0], given[1])
    step = given[2] if len(given) == 3 else known(1)
    if step.value is not None or not step.constant:
        raise c.refuse(node, "a range with this step", "Use a number other than 0")
    first, last = (start, stop) if step.constant > 0 else (stop, start)
    rest = integers(c.b, "sub", last, first)
    size = known(abs(step.constant))
    more = integers(c.b, "add", rest, known(size.constant - 1))
    count = integers(c.b, "floordiv", more, size)
    return Range(start, step, count)


def _zipped(c: Context, node: ast.AST, *values: Bound, strict: Bound = None) -> Bound:
    """``zip``; of parts whose numbers of items are known, a tuple of tuples."""
    parts = tuple([_part(c, node, value) for value in values])
    if strict is not None and flag_given(c, node, strict, "strict="):
        ends = [length(c, node, part) for part in parts]
        for end in ends[1:]:
            if end.mixed() != ends[0].mixed():
                required(c.b, end, "eq", ends[0], "zip(strict=True) of equal lengths")
    if not any(map(is_tuple, parts)):
        return Zipped(parts)
    columns = [known_items(c, node, part) for part in parts]
    if any(column is None for column in columns):
        hint = "Write numpy.array of the tuple, or index it by numbers"
        raise c.refuse(node, "`zip` of a tuple and of parts of any length", hint)
    count = min(len(column) for column in columns if column is not None)
    rows = [[column[n] for column in columns if column] for n in range(count)]
    return tuple(map(tuple, rows))


def _enumerated(c: Context, node: ast.AST, values: Bound, start: Bound = None) -> Bound:
    first = known(0) if start is None else integer_given(c, node, start, "start=")
    part = _part(c, node, values)
    if is_tuple(part):
        numbers = [integers(c.b, "add", first, known(n)) for n in range(len(part))]
        return tuple(zip(numbers, part, strict=True))
    return Zipped((Range(first, known(1), None), part))


def _reversed(c: Context, node: ast.AST, value: Bound) -> Bound:
    part = _part(c, node, value)
    if is_tuple(part):
        return part[::-1]
    if isinstance(part, View | Lazy):
        return reversed_along(c, part, [0])
    if not isinstance(part, Range) or part.count is None:
        raise c.wrong(node, "`reversed`", [value], "Reverse a range, array or tuple")
    last = integers(c.b, "sub", part.count, known(1))
    passed = integers(c.b, "mul", last, part.step)
    back = integers(c.b, "sub", known(0), part.step)
    return Range(integers(c.b, "add", part.start, passed), back, part.count)


def _as_tuple(c: Context, node: ast.AST, value: Bound = ()) -> Bound:
    """``tuple`` and ``list`` of items whose number is known."""
    found = known_items(c, node, value)
    if found is None:
        raise c.wrong(node, "`tuple`", [value], "Give parts whose number is known")
    return found


FUNCTIONS: dict[Any, Rule] = {
    len: _length,
    length: length,
    range: _range,
    zip: _zipped,
    enumerate: _enumerated,
    reversed: _reversed,
    tuple: _as_tuple,
    list: _as_tuple,
}
