"""One fused kernel for an elementwise expression with NumPy's broadcasting."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Unpack

import numpy as np

from gpucodegen import errors
from gpucodegen.kernels.arrays import Memory
from gpucodegen.kernels.calls import How, Kernel, Recipe
from gpucodegen.kernels.elements import (
    BOOL,
    ELEMENTS,
    F64,
    I64,
    Element,
    element_of,
)
from gpucodegen.kernels.elementwise.expressions import (
    Typed,
    Writer,
    holds,
    names_of,
    parsed,
)
from gpucodegen.kernels.function_text import Memref, Operand, Text
from gpucodegen.kernels.merged_axes import Shape, merged
from gpucodegen.kernels.scalar_text import Value
from gpucodegen.schedule.steps import Schedule

WIDE = "wide int"
NUMBERS: dict[str, tuple[Element, complex]] = {
    "bool": (BOOL, True),
    "int": (I64, 1),
    "float": (F64, 1.0),
    "complex": (ELEMENTS["complex128"], 1j),
    WIDE: (I64, 1),
}
"""Kinds of Python numbers, which are weakly typed, with an example of each."""


def elementwise(
    expression: str,
    *,
    out: Any = None,
    target: str = "auto",
    tune: bool = False,
    schedule: Schedule | str | None = None,
    **operands: Any,
) -> Any:
    """The value of an expression for every element, in one pass over memory.

    The operands are arrays and numbers, by their names in the expression. Arrays are
    broadcast, and element types promoted, as NumPy does it; Python numbers take the
    type of the other operand, and integers that it does not hold are refused. Floats of
    16 bits and less are computed in f32 and rounded once, at the end. The expression is
    written in Python's grammar: names, numbers, ``+ - * / // % ** & | ^ ~``,
    comparisons, ``x if c else y``, calls such as ``exp(x)``, ``where(c, x, y)`` and
    ``maximum(x, y)``. Anything else is refused by its name (InvalidOption), and so are
    operands that do not broadcast.

    >>> import numpy as np
    >>> x, y = np.arange(3, dtype="f4"), np.ones(3, "f4")
    >>> elementwise("a*x + y", a=2.0, x=x, y=y)
    array([1., 3., 5.], dtype=float32)
    """
    names = names_of(expression)
    _require_names(expression, names, operands)
    how: How = {"tune": tune, "schedule": schedule}
    return _evaluated(ELEMENTWISE, expression, names, operands, out, target, how)


CLIPS = {
    (True, True): "minimum(maximum(x, low), high)",
    (True, False): "maximum(x, low)",
    (False, True): "minimum(x, high)",
}
"""The expression by which bounds are given."""


def clip(
    x: Any,
    min: Any = None,  # noqa: A002 - the names that NumPy has
    max: Any = None,  # noqa: A002
    *,
    out: Any = None,
    target: str = "auto",
    **how: Unpack[How],
) -> Any:
    """Elements between two bounds, arrays or numbers, as ``np.clip``.

    >>> import numpy as np
    >>> clip(np.array([-2.0, 0.5, 3.0]), 0, 1)
    array([0. , 0.5, 1. ])
    """
    bounds = {"low": min, "high": max}
    given = {name: bound for name, bound in bounds.items() if bound is not None}
    expression = CLIPS.get((min is not None, max is not None))
    if expression is None:
        hint = "Pass min, max, or both"
        raise errors.InvalidOption(name="min", value=None, hint=hint)
    operands = {"x": x, **given}
    return _evaluated(CLIP, expression, [*operands], operands, out, target, how)


def _evaluated(
    kernel: Kernel,
    expression: str,
    names: Sequence[str],
    operands: dict[str, Any],
    out: Any,
    target: str,
    how: How,
) -> Any:
    """The value of an expression, whose Python numbers are arguments of the text."""
    arrays = [n for n in names if type(operands[n]).__name__ not in NUMBERS]
    numbers = [n for n in names if type(operands[n]).__name__ in NUMBERS]
    if not arrays:
        hint = "Give an array for one of its names"
        raise errors.InvalidOption(name="expression", value=expression, hint=hint)
    kinds = tuple((n, _kind(operands, n, arrays)) for n in numbers)
    if any(kind == WIDE for _, kind in kinds):
        _require_held(expression, operands)
    return kernel(
        tuple(operands[n] for n in arrays),
        out,
        target,
        expression,
        tuple(arrays),
        kinds,
        numbers=[operands[n] for n in numbers],
        **how,
    )


def _kind(operands: dict[str, Any], name: str, arrays: Sequence[str]) -> str:
    """The kind of a number; integers of Python that an array does not hold are wide."""
    kind = type(operands[name]).__name__
    if kind != "int":
        return kind
    elements = [_element(operands[a]) for a in arrays]
    whole = [e.numpy for e in elements if e is not None and e.kind in "iu"]
    return kind if all(holds(t, operands[name]) for t in whole) else WIDE


def _require_held(expression: str, operands: dict[str, Any]) -> None:
    """Refuse integers where NumPy raises OverflowError.  Raises InvalidOption."""
    known: dict[str, Typed] = {}
    for name, given in operands.items():
        kind = NUMBERS.get(type(given).__name__)
        element = _element(given) if kind is None else kind[0]
        if element is None:
            return  # a type that the kernel refuses
        example = np.empty(0, element.numpy) if kind is None else given
        known[name] = Typed(Value("%x", element), example, type(given) is int)
    Writer(Text(), expression, known).value(parsed(expression))


def _element(array: Any) -> Element | None:
    return ELEMENTS.get(str(getattr(array, "dtype", "")).removeprefix("torch."))


def _require_names(
    expression: str, names: Sequence[str], operands: dict[str, Any]
) -> None:
    for name in (*names, *operands):
        if (name in names) == (name in operands):
            continue
        missing = name in names
        hint = f"Pass {name}=" if missing else f"Leave out {name}, which is not in it"
        raise errors.InvalidOption(name="expression", value=expression, hint=hint)


def broadcast(shapes: Sequence[Shape]) -> Shape:
    """The broadcast shape, or a refusal.

    >>> broadcast([(3, 1), (4,)])
    (3, 4)
    """
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        listed = " and ".join(map(str, shapes))
        hint = "Pass arrays that NumPy broadcasts"
        raise errors.InvalidOption(name="shapes", value=listed, hint=hint) from None


def broadcast_operands(
    text: Text,
    names: Sequence[str],
    elements: Sequence[Element],
    shapes: Sequence[Shape],
) -> tuple[list[Operand], list[list[int]]]:
    """Arguments as operands of a nest over the merged axes of their result."""
    shape = np.broadcast_shapes(*shapes)
    rank = len(shape)
    whole = [_whole(each, shape) for each in shapes]
    groups = merged([tuple(each[axis] for each in whole) for axis in range(rank)])
    operands: list[Operand] = []
    for name, element, own, is_whole in zip(
        names, elements, shapes, whole, strict=True
    ):
        skipped = rank - len(own)
        there = [[axis - skipped for axis in g if axis >= skipped] for g in groups]
        at = [
            f"d{n}" if is_whole[group[0]] else "0"
            for n, (group, mine) in enumerate(zip(groups, there, strict=True))
            if mine
        ]
        memref = text.array(name, element, len(own))
        view = text.collapsed(memref, [mine for mine in there if mine])
        operands.append(Operand(view, at))
    return operands, groups


def _whole(shape: Shape, full: Shape) -> list[bool]:
    """Per axis of the full shape: whether the operand is not broadcast along it."""
    padded = (None,) * (len(full) - len(shape)) + shape
    return [have == want for have, want in zip(padded, full, strict=True)]


def _prepare(
    arrays: tuple[Memory, ...],
    expression: str,
    names: tuple[str, ...],
    numbers: tuple[tuple[str, str], ...],
    *,
    name: str,
) -> Recipe:
    text = Text(name=name)
    shapes = [a.shape for a in arrays]
    shape = broadcast(shapes)
    elements = [
        element_of(a.dtype, function=name, argument=n)
        for a, n in zip(arrays, names, strict=True)
    ]
    argument_names = [f"{n}_" for n in names]
    operands, groups = broadcast_operands(text, argument_names, elements, shapes)
    scalars = {
        name: Typed(
            text.number(f"{name}_", NUMBERS[kind][0]),
            NUMBERS[kind][1],
            kind == WIDE,
        )
        for name, kind in numbers
    }
    examples = [np.empty(0, element.numpy) for element in elements]
    dtype = _dtype_of(expression, names, examples, scalars)
    result = text.array("out", element_of(dtype), len(shape))
    _write(text, expression, operands, groups, result, names, examples, scalars)
    return Recipe(text, shape, dtype)


def _write(
    text: Text,
    expression: str,
    operands: Sequence[Operand],
    groups: Sequence[Sequence[int]],
    result: Memref,
    names: Sequence[str],
    examples: Sequence[Any],
    scalars: dict[str, Typed],
) -> None:
    def body(*values: Value) -> Value:
        pairs = zip(names, values[:-1], examples, strict=True)
        known = {name: Typed(value, example) for name, value, example in pairs}
        made = Writer(text, expression, known | scalars).value(parsed(expression))
        assert made.value is not None
        return made.value

    at = [f"d{n}" for n in range(len(groups))]
    place = Operand(text.collapsed(result, groups), at)
    text.generic("p" * len(groups), operands, [place], body)


def _dtype_of(
    expression: str,
    names: Sequence[str],
    examples: Sequence[Any],
    scalars: dict[str, Typed],
) -> Any:
    """NumPy's element type of the result, from a translation that is discarded."""
    known = {
        name: Typed(Value("%x", element_of(example.dtype)), example)
        for name, example in zip(names, examples, strict=True)
    }
    found = Writer(Text(), expression, known | scalars).value(parsed(expression))
    return found.example.dtype


ELEMENTWISE, CLIP = (
    Kernel(name, names, partial(_prepare, name=name))
    for name, names in (("elementwise", ()), ("clip", ("x", "min or max", "max")))
)
