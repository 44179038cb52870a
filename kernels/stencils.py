"""Stencils over many steps: weighted sums of neighbours in one to three dimensions."""

from __future__ import annotations

import operator
from itertools import product
from typing import Any, Unpack

import numpy as np

from gpucodegen import errors
from gpucodegen.kernels.arrays import Memory, require_rank
from gpucodegen.kernels.calls import How, Kernel, Recipe
from gpucodegen.kernels.elements import INDEX, element_of
from gpucodegen.kernels.function_text import Memref, Text

MOST_TAPS = 343
"""Largest number of weights: a cube of seven."""


def stencil(
    x: Any,
    weights: Any,
    steps: int = 1,
    *,
    out: Any = None,
    target: str = "auto",
    **how: Unpack[How],
) -> Any:
    """A grid after ``steps``; each makes every inner element a sum of neighbours.

    ``weights`` are numbers, of as many axes as the grid (one, two or three) and of odd
    extents: the middle one belongs to the element itself, as for
    ``scipy.ndimage.correlate``. Elements whose neighbours would lie outside keep their
    value in every step. Steps are tiled together where that pays. The grid holds floats
    or complex numbers; those of 16 bits are computed in f32, and rounded after each
    step. Weights are constants of the kernel, and ``steps`` is an argument. Errors:
    WrongDtype, WrongArgumentRank, InvalidOption.

    >>> import numpy as np
    >>> grid = np.zeros((5, 5))
    >>> grid[2, 2] = 1
    >>> stencil(grid, [[0, 1, 0], [1, 0, 1], [0, 1, 0]], steps=2)[1:4, 1:4]
    array([[2., 0., 2.],
           [0., 4., 0.],
           [2., 0., 2.]])
    """
    count = _count(steps)
    taps = np.asarray(weights.get() if hasattr(weights, "get") else weights)
    options = taps.shape, tuple(taps.ravel().tolist()), count > 0, count % 2
    numbers = [(count - 1) // 2] if count else []
    return STENCIL((x,), out, target, *options, numbers=numbers, **how)


def _count(wish: object) -> int:
    try:
        count = operator.index(wish)  # type: ignore[arg-type]
    except TypeError:
        count = -1
    if count < 0:
        hint = "Pass an integer >= 0"
        raise errors.InvalidOption(name="steps", value=wish, hint=hint)
    return count


def _prepare(
    arrays: tuple[Memory, ...],
    shape: tuple[int, ...],
    weights: tuple[complex, ...],
    moves: bool,
    odd: int,
) -> Recipe:
    (x,) = arrays
    element = element_of(x.dtype, function="stencil", argument="x", kinds="fc")
    require_rank(x, (1, 2, 3), function="stencil", argument="x")
    if len(shape) != x.ndim or not all(n % 2 for n in shape) or _many(weights):
        hint = f"Pass up to {MOST_TAPS} numbers of {x.ndim} axes and odd extents"
        raise errors.InvalidOption(name="weights", value=shape, hint=hint)
    text = Text(name="stencil")
    source = text.array("x", element, x.ndim)
    pairs = text.number("pairs", INDEX) if moves else None
    out = text.array("out", element, x.ndim)
    taps = dict(zip(product(*map(range, shape)), weights, strict=True))
    taps = {at: weight for at, weight in taps.items() if weight}
    if pairs is None:
        _copy(text, source, out)
        return Recipe(text, x.shape, element.numpy)
    other = text.alloc(element, text.dims(source))
    _copy(text, source, out)
    _copy(text, source, other)
    # an odd count is pairs of steps and one; an even one, two more after its pairs
    with text.loop(0, pairs.name):
        _step(text, out, other, taps, shape)
        _step(text, other, out, taps, shape)
    _step(text, out, other, taps, shape)
    if odd:
        _copy(text, other, out)
    else:
        _step(text, other, out, taps, shape)
    return Recipe(text, x.shape, element.numpy)


def _many(weights: tuple[complex, ...]) -> bool:
    numbers = all(isinstance(w, int | float | complex) for w in weights)
    return not 0 < len(weights) <= MOST_TAPS or not numbers


def _copy(text: Text, source: Memref, out: Memref) -> None:
    inner = f"ins({source.name} : {source.type}) outs({out.name} : {out.type})"
    text.line(f"linalg.copy {inner}")


def _step(
    text: Text,
    source: Memref,
    out: Memref,
    taps: dict[tuple[int, ...], complex],
    shape: tuple[int, ...],
    places: tuple[str, ...] = (),
) -> None:
    """One step from a grid to another, which keeps the first one's border."""
    axis = len(places)
    if axis < source.rank:
        half, extent = shape[axis] // 2, text.dim(source, axis)
        high = f"affine_map<()[s0] -> (s0 - {half})>()[{extent}]"
        with text.loop(half, high) as index:
            _step(text, source, out, taps, shape, (*places, index))
        return
    element = source.element.computed
    total = None
    for at, weight in taps.items():
        moved = [
            f"{place} + {tap - n // 2}"
            for place, tap, n in zip(places, at, shape, strict=True)
        ]
        value = text.load(source, *moved)
        if weight != 1:
            value = text.binary("mul", value, text.constant(weight, element))
        total = value if total is None else text.binary("add", total, value)
    text.store(total or text.constant(0, element), out, *places)


STENCIL = Kernel("stencil", ("x",), _prepare)
