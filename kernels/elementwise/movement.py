"""Transposes, copies and triangles of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Unpack

from gpucodegen import errors
from gpucodegen.kernels.arrays import Memory, require_rank
from gpucodegen.kernels.calls import How, Kernel, Recipe, described
from gpucodegen.kernels.elements import element_of
from gpucodegen.kernels.function_text import Memref, Operand, Text
from gpucodegen.kernels.merged_axes import axis_of
from gpucodegen.kernels.scalar_text import Value


def transpose(
    x: Any,
    axes: Sequence[int] | None = None,
    *,
    out: Any = None,
    target: str = "auto",
    **how: Unpack[How],
) -> Any:
    """An array with permuted axes, contiguous in new memory.

    Without ``axes`` their order is reversed, as in NumPy. Any element type of the table
    is supported. Errors: WrongDtype, InvalidOption.

    >>> import numpy as np
    >>> transpose(np.arange(6).reshape(2, 3))
    array([[0, 3],
           [1, 4],
           [2, 5]])
    """
    return TRANSPOSE((x,), out, target, axes, **how)


def copy(x: Any, *, out: Any = None, target: str = "auto", **how: Unpack[How]) -> Any:
    """A contiguous copy of an array with any strides.

    >>> import numpy as np
    >>> copy(np.arange(6)[::-2])
    array([5, 3, 1])
    """
    return COPY((x,), out, target, **how)


def _triangle(kernel: Kernel):  # noqa: ANN202 - it infers what would say the signature twice
    def call(
        x: Any, k: int = 0, *, out: Any = None, target: str = "auto", **how: Unpack[How]
    ) -> Any:
        return kernel((x,), out, target, int(k), **how)

    return described(call)


def _prepare_triangle(arrays: tuple[Memory, ...], k: int, *, name: str) -> Recipe:
    (x,) = arrays
    element = element_of(x.dtype, function=name, argument="x")
    require_rank(x, range(2, 33), function=name, argument="x")
    text, rank = Text(name=name), x.ndim
    groups = [[*range(rank - 2)], [rank - 2], [rank - 1]][rank == 2 :]
    source, out = (
        text.collapsed(text.array(n, element, rank), groups) for n in ("x", "out")
    )
    loops = [f"d{n}" for n in range(len(groups))]
    zero = text.constant(0, element)

    def body(x: Value, _: Value) -> Value:
        side, rank = {"triu": "upper", "tril": "lower"}[name], len(groups)
        return text.select(text.in_triangle(side, rank - 2, rank - 1, k), x, zero)

    operands = [Operand(source, loops)], [Operand(out, loops)]
    text.generic("p" * len(groups), *operands, body, as_stored=True)
    return Recipe(text, x.shape, element.numpy)


TRIU, TRIL = (
    Kernel(name, ("x",), partial(_prepare_triangle, name=name))
    for name in ("triu", "tril")
)


@_triangle(TRIU)
def triu() -> None:
    """Matrices with zeros below the k-th diagonal, as ``np.triu``.

    >>> import numpy as np
    >>> triu(np.ones((2, 3)), 1)
    array([[0., 1., 1.],
           [0., 0., 1.]])
    """


@_triangle(TRIL)
def tril() -> None:
    """Matrices with zeros above the k-th diagonal, as ``np.tril``.

    >>> import numpy as np
    >>> tril(np.ones((2, 3)))
    array([[1., 0., 0.],
           [1., 1., 0.]])
    """


def _order(wish: Sequence[int] | None, rank: int) -> list[int]:
    """The permutation of axes, or a refusal."""
    if wish is None:
        return [*range(rank)][::-1]
    order = [axis_of(axis, rank, name="axes") for axis in wish]
    if sorted(order) != [*range(rank)]:
        hint = f"Name each of {rank} axes once"
        raise errors.InvalidOption(name="axes", value=wish, hint=hint)
    return order


def _together(order: Sequence[int]) -> list[list[int]]:
    """Runs of axes that stay adjacent in the new order.

    >>> _together([2, 0, 1])
    [[2], [0, 1]]
    """
    runs: list[list[int]] = []
    for axis in order:
        if runs and runs[-1][-1] + 1 == axis:
            runs[-1].append(axis)
        else:
            runs.append([axis])
    return runs


def _prepare(arrays: tuple[Memory, ...], axes: Sequence[int] | None) -> Recipe:
    (x,) = arrays
    element = element_of(x.dtype, function="transpose", argument="x")
    order, text = _order(axes, x.ndim), Text(name="transpose")
    runs = _together(order)
    sources = sorted(runs)
    source = text.collapsed(text.array("x", element, x.ndim), sources)
    out = text.array("out", element, x.ndim)
    ends, groups = 0, list[list[int]]()
    for run in runs:
        groups.append([*range(ends, ends + len(run))])
        ends += len(run)
    at = [f"d{runs.index(run)}" for run in sources]
    _copied(text, source, text.collapsed(out, groups), at)
    return Recipe(text, tuple(x.shape[axis] for axis in order), element.numpy)


def _prepare_copy(arrays: tuple[Memory, ...]) -> Recipe:
    (x,) = arrays
    element = element_of(x.dtype, function="copy", argument="x")
    text = Text(name="copy")
    marks = ", ".join("?" * x.ndim)
    layout = f", strided<[{marks}], offset: ?>" if x.ndim else ""
    source = text.array("x", element, x.ndim, layout)
    out = text.array("out", element, x.ndim)
    _copied(text, source, out, [f"d{n}" for n in range(x.ndim)])
    return Recipe(text, x.shape, element.numpy, handed=True)


def _copied(text: Text, source: Memref, out: Memref, at: list[str]) -> None:
    """Copy the elements bit by bit, without rounding."""
    loops = [f"d{n}" for n in range(out.rank)]

    def body(x: Value, _: Value) -> Value:
        return x

    places = [Operand(source, at)], [Operand(out, loops)]
    text.generic("p" * out.rank, *places, body, as_stored=True)


TRANSPOSE = Kernel("transpose", ("x",), _prepare)
COPY = Kernel("copy", ("x",), _prepare_copy)
