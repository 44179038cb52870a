"""Types, results, calls and arguments of jitted functions are those of Python."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen.python.results import is_tuple

FACTOR, PAIR = 3, (2, 0.5)
jit = gcg.jit(target="interp")


@jit
def clamp(x: Any, low: Any = 0, high: Any = 10):
    return min(max(x, low), high)


@jit
def halve(a: Any):
    for i in range(len(a)):
        a[i] = a[i] / 2
    return a


def several(x: Any):
    return x + 1, (x / 2, x > 0)


def frozen(x: Any):
    return x * FACTOR + PAIR[0] * PAIR[1]


def nothing(x: Any):
    x[0] = 1


def itself(x: Any):
    x[0] += 1
    return x, len(x)


def called(x: Any):
    halve(x)
    return clamp(int(x[0]), high=3), clamp(-5), halve(x[1:])[0]


def early(x: Any):
    if x < 0:
        return -1
    if x == 0:
        return 0
    for i in range(x):
        if i * i > x:
            break
        if i % 2:
            continue
        x += 1
    else_ = 7
    return x + else_


def backwards(x: Any):
    count = 0
    for i in range(x, -x, -3):
        count = count * 2 + i
    step = -2 if x > 3 else 2
    for i in range(0, 3 * step, step):
        count -= i
    return count


def division(x: Any):
    return x // 4, x % 4, x // -4, x % -4, (0.5 * x) // 0.75, (0.5 * x) % -0.75


def rounding(x: Any):
    return (
        math.floor(x * 0.7),
        math.ceil(x * 0.7),
        int(x * -0.7),
        round(x * 0.5),
        abs(x),
    )


def products(a: Any, b: Any):
    return (
        a @ b,
        np.dot(a[0], b[:, 0]),
        (a.T @ a).sum(axis=1),
        a.mean(),
        np.max(b, axis=0),
    )


def broadcast(a: Any, b: Any):
    c = a[:, None] * b[0] + b.shape[0]
    c[1:] -= c[:-1].copy()
    c *= 2
    return c, np.where(c > 0, c, -1), np.clip(a, 0.25, 0.75), (a > 0.5).any()


def views(a: Any, b: Any):
    row = b[1]
    row[:] = a[0]
    b[2:, 1:] = b[:-2, :-1]
    last = b[-1]
    return last[-1] + row.size, b.T


INTEGERS = [several, frozen, early, backwards, division, rounding]
ARRAYS = [products, broadcast, views]


def same(actual: Any, expected: Any) -> None:
    """The same types, and the same numbers."""
    if is_tuple(expected):
        assert is_tuple(actual)
        for one, other in zip(actual, expected, strict=True):
            same(one, other)
        return
    kinds: set[type[object]] = {type(actual), type(expected)}
    assert len(kinds) == 1 or kinds == {bool, np.bool_}
    np.testing.assert_allclose(actual, expected, rtol=1e-6)
    assert np.asarray(actual).dtype == np.asarray(expected).dtype


@pytest.mark.cases("value", [7, -7, 0, 4])
@pytest.mark.cases("function", INTEGERS, ids=lambda f: f.__name__)
def test_integers(function: Callable[..., Any], value: int):
    same(jit(function)(value), function(value))


@pytest.mark.cases("dtype", ["f8", "f4"])
@pytest.mark.cases("function", ARRAYS, ids=lambda f: f.__name__)
def test_arrays(function: Callable[..., Any], dtype: str):
    rng = np.random.default_rng(2)
    if function is products:
        given = [rng.random((3, 4)).astype(dtype), rng.random((4, 2)).astype(dtype)]
    else:
        given = [rng.random(4).astype(dtype), rng.random((4, 4)).astype(dtype)]
    ours = [a.copy() for a in given]
    same(jit(function)(*ours), function(*given))
    for one, other in zip(ours, given, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def mixed(a: Any, b: Any):
    return (a[0] + b[0], a[0] * 2.5, a[0] / b[0], np.sqrt(a[0]), np.sum(a), -b[0])


KINDS = ["i1", "u1", "i2", "i4", "u4", "i8", "f4", "f8"]


@pytest.mark.sampled(3)
@pytest.mark.cases("first", KINDS)
@pytest.mark.cases("second", ["u1", "i4", "f4"])
def test_promotion_is_numpys(first: str, second: str):
    a, b = np.array([3, 100], first), np.array([7, 2], second)
    with np.errstate(all="ignore"):
        same(jit(mixed)(a, b), mixed(a, b))


def test_strides_and_kinds_of_calls():
    function = jit(products)
    a, b = np.random.default_rng(0).random((8, 6))[::2, ::2], np.ones((2, 3)).T
    same(function(a, b), products(a, b))
    same(
        function(np.ones((1, 3)), np.ones((3, 1))),
        products(np.ones((1, 3)), np.ones((3, 1))),
    )


def test_argument_that_is_returned_is_itself():
    array = np.zeros(3)
    result, length = jit(itself)(array)
    assert result is array
    assert (array[0], length) == (1, 3)
    assert jit(nothing)(array) is None


def test_calls_of_other_functions():
    array = np.arange(8.0, 16.0)
    theirs = array.copy()
    function = jit(called)
    actual = function(array)
    for each in (halve, clamp):  # the oracle calls plain functions
        globals()[each.__name__] = each.py_func
    try:
        same(actual, called(theirs))
    finally:
        globals().update(halve=halve, clamp=clamp)
    assert (clamp(5, 0), clamp(50), clamp(50, high=20), clamp(x=-1)) == (5, 10, 20, 0)


def test_report_has_the_lines_of_python():
    def double(a: Any):
        for i in range(len(a)):
            a[i] *= 2

    text = str(gcg.jit(double).report(np.zeros(4096, np.float32)))
    assert "a[i] *= 2" in text
    assert "grid 32 x 1 x 1" in text
