"""Permuted arrays: the two loops that transpose end up innermost; nothing is lost."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from lowering import apply

import gpucodegen as gcg


def permutation(shape: tuple[int, ...], order: tuple[int, ...]) -> str:
    """``y = x.transpose(order)`` in loops over the dimensions of ``x``."""
    names = [f"%d{at}" for at in range(len(shape))]
    extents = [f"{shape[at]}x" for at in order]
    given = f"memref<{''.join(f'{extent}x' for extent in shape)}f32>"
    made = f"memref<{''.join(extents)}f32>"
    lines = [
        f"affine.for {name} = 0 to {extent} {{"
        for name, extent in zip(names, shape, strict=True)
    ]
    return "\n".join(
        [
            f"func.func @f(%x: {given}, %y: {made}) {{",
            *lines,
            f"%v = affine.load %x[{', '.join(names)}] : {given}",
            f"affine.store %v, %y[{', '.join(names[at] for at in order)}] : {made}",
            *("}" for _ in lines),
            "return",
            "}",
        ]
    )


def order_of(text: str) -> list[str]:
    return [line.split()[1] for line in text.splitlines() if "affine.for" in line]


@pytest.mark.cases(
    ("order", "loops"),
    [
        ((2, 1, 0), ["%d1", "%d0", "%d2"]),
        ((1, 2, 0), ["%d0", "%d1", "%d2"]),
        ((0, 2, 1), ["%d0", "%d1", "%d2"]),
        ((1, 0, 2), ["%d0", "%d1", "%d2"]),
    ],
)
def test_loops_that_transpose_are_neighbours(order: tuple[int, ...], loops: list[str]):
    text = str(apply("improve-locality", permutation((20, 30, 40), order)))
    assert order_of(text) == loops


def test_images_stay_one_row():
    """Rows and columns of an image become one loop, which needs them side by side."""
    text = str(apply("improve-locality", permutation((2, 16, 9, 11), (0, 2, 3, 1))))
    assert order_of(text) == ["%d0", "%d1", "%d2", "%d3"]


def test_sequential_loops_stay():
    text = permutation((20, 30, 40), (2, 1, 0)).replace("%d1, %d0] :", "0, %d0] :")
    assert order_of(str(apply("improve-locality", text))) == ["%d0", "%d1", "%d2"]


@pytest.mark.parametrize("order", [*permutations(range(3)), (3, 1, 2, 0), (2, 3, 1, 0)])
@pytest.mark.sampled(12)
def test_every_permutation(order: tuple[int, ...]):
    shape = (19, 10, 35, 17)[: len(order)]
    x = np.random.default_rng(1).standard_normal(shape, np.float32)
    y = np.full([shape[at] for at in order], np.nan, np.float32)
    gcg.compile(permutation(shape, order), target="cpu", threads=2).f(x, y)
    np.testing.assert_array_equal(y, x.transpose(order))
