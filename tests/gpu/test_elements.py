"""Narrow floats, complex numbers and vectors as elements of arrays of a device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen.ir.number_formats import decode_table
from tests.programs.narrow_programs import (
    ARITHMETIC,
    CONVERT,
    NAMES,
    awkward,
    nearest,
    program,
    same,
    values_of,
)
from tests.programs.test_complex import kernel, numbers
from tests.programs.test_vector_elements import PROGRAM


def on_device(xp: Any, call: Any, *arguments: Any) -> tuple[Any, ...]:
    """The arrays after the call."""
    moved = [xp.asarray(a) if isinstance(a, np.ndarray) else a for a in arguments]
    call(*moved)
    return tuple(xp.asnumpy(a) if hasattr(a, "shape") else a for a in moved)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", NAMES)
def test_narrow_floats(name: str, xp: Any) -> None:
    codes = np.arange(len(decode_table(name)), dtype="u1")
    convert = program(CONVERT, name, "cuda")
    _, values = on_device(xp, convert.convert, codes, np.zeros(len(codes), "f4"))
    assert same(values, np.array(decode_table(name)))
    x = awkward(name)
    r = np.zeros(len(x), "u1")
    with np.errstate(all="ignore"):
        *_, found = on_device(xp, convert.round, x.astype("f4"), x, r, r.copy())
    assert same(values_of(found, name), nearest(x, name))


@pytest.mark.drawn(14)
@pytest.mark.sampled(24)
@pytest.mark.parametrize("name", NAMES)
def test_arithmetic_like_on_the_cpu(name: str, xp: Any) -> None:
    rng = np.random.default_rng(2)
    codes = rng.integers(0, len(decode_table(name)), (3, 5000), dtype="u1")
    out = np.zeros((5, 5000), "u1")
    *_, there = on_device(xp, program(ARITHMETIC, name, "cuda").arithmetic, *codes, out)
    program(ARITHMETIC, name, "cpu").arithmetic(*codes, out)
    assert same(values_of(there, name), values_of(out, name))


@pytest.mark.slow
def test_complex_numbers_like_on_the_cpu(xp: Any) -> None:
    x, y, n = numbers("c8", 500), numbers("c8", 500, seed=4), np.full(500, 3)
    results = (
        np.zeros((20, 500), "c8"),
        np.zeros((4, 500), "f4"),
        np.zeros((2, 500), "?"),
    )
    there = on_device(
        xp, gcg.compile(kernel("f32"), target="cuda").f, x, y, n, *results
    )
    gcg.compile(kernel("f32"), target="cpu").f(x, y, n, *results)
    for device, host in zip(there[3:], results, strict=True):
        np.testing.assert_allclose(device, host, 1e-4, 1e-4)


def test_vectors(xp: Any) -> None:
    x, y = np.ones((9, 8), "f4"), np.arange(72, dtype="f4").reshape(9, 8)
    call = gcg.compile(PROGRAM, target="cuda").axpy
    assert on_device(xp, call, x, y, 2.5)[1].tolist() == (y + 2.5 * x).tolist()
