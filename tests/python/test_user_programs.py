"""Programs as users write them, on arrays of no, of one and of several elements."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors
from tests.python.test_numpy_programs import function_of, same

FLOATS = np.array([0.3, 1.7, -2.0, 0.9, 0.2])
HUGE = np.array([7, 2**63, 2**64 - 1], np.uint64)
PROGRAMS: list[tuple[str, tuple[Any, ...]]] = [
    (
        """
        def f(x, limit):
            s = 0
            for k in (1, 2):
                s += k * len(x)
            else:
                s += 100
            for i in range(len(x)):
                if x[i] > limit:
                    break
            else:
                s += 1000
            for k in (1, 2, 3):
                if k > len(x):
                    break
                s += 7 * k
            else:
                s = -s
            return s
        """,
        (FLOATS, 2.0),
    ),
    (
        """
        def f(x, limit):
            k = 0
            for v in x:
                for k in range(3):
                    if v + k > limit:
                        break
                else:
                    continue
                break
            i = 0
            while i < len(x):
                if x[i] < -limit:
                    return k, i
                i += 1
            else:
                i = -1
            return k, i
        """,
        (FLOATS, 3.0),
    ),
    (
        """
        def f(x, k):
            if k > 9:
                raise ValueError("k is too large")
            best = float("inf")
            for v in x:
                if v < -9:
                    raise RuntimeError(f"{v}")
                best = min(best, v)
            if k == 1:
                return best, x[:k] if k > 3 else x[k:], 1 if best > 0 else k
            else:
                raise ValueError("no such mode")
        """,
        (FLOATS, 1),
    ),
    (
        """
        def f(s):
            h = np.uint64(14695981039346656037)
            for d in s:
                h = (h ^ (d & np.uint64(255))) * np.uint64(1099511628211)
            z = (s + 0x9E3779B97F4A7C15) * 0xBF58476D1CE4E5B9
            return h, z ^ (z >> 31), s > 0x8000000000000000
        """,
        (HUGE,),
    ),
    (
        """
        def f(n, x):
            near = math.isclose(x, x + 1e-12), math.isclose(math.inf, x)
            g = math.gcd(-n, 18), math.gcd(0, n), math.factorial(n)
            return g, math.degrees(x), math.radians(n), near
        """,
        (12, 0.3),
    ),
    (
        """
        def f(n, k, huge):
            roots = math.isqrt(n), math.isqrt(n * n - 1), math.isqrt(huge)
            counts = math.comb(n, k), math.comb(k, n), math.comb(n, n)
            return roots, counts, math.lcm(n, 18), math.lcm(0, n)
        """,
        (12, 5, 2**63 - 1),
    ),
]
ONE_ELEMENT: list[tuple[str, tuple[Any, ...]]] = [
    (
        """
        def f(x):
            x.sort()
            y = np.zeros_like(x)
            y[:] = np.sort(-x)
            return y, np.repeat(x, 3), np.repeat(x[:, None], 2), np.tile(x, 2)
        """,
        (np.array([0.5]),),
    ),
    (
        """
        def f(x, k):
            z = np.zeros(())
            z += 1
            return np.bincount(x), np.sort(x + np.uint32(0xF0000000)), z[()], k**k
        """,
        (np.array([3], np.uint32), np.zeros(0, np.int64)),
    ),
]


@pytest.mark.parametrize("target", ["interp", "cpu"])
@pytest.mark.parametrize(("text", "arguments"), PROGRAMS)
def test_programs(text: str, arguments: tuple[Any, ...], target: str) -> None:
    f = function_of(text)
    with np.errstate(over="ignore"):
        expected = f(*deepcopy(arguments))
    same(gcg.jit(target=target)(f)(*deepcopy(arguments)), expected, 1e-12)


@pytest.mark.parametrize(("text", "arguments"), ONE_ELEMENT)
def test_one_element(text: str, arguments: tuple[Any, ...]) -> None:
    test_programs(text, arguments, "interp")


def test_raise_ends_the_call() -> None:
    f = gcg.jit(target="interp")(function_of(PROGRAMS[2][0]))
    with pytest.raises(errors.AssertionFailed, match="ValueError: k is too large"):
        f(FLOATS, 10)
    with pytest.raises(errors.AssertionFailed, match="ValueError: no such mode"):
        f(FLOATS, 2)


@pytest.mark.slow
def test_rank_one_updates_of_lu_on_the_emulated_device() -> None:
    """The kernel's offset k + 1 is an argument that the host computes."""

    def lu(a: Any) -> None:
        for k in range(a.shape[0] - 1):
            a[k + 1 :, k] /= a[k, k]
            a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])

    a = np.random.default_rng(0).standard_normal((5, 5)) + 5 * np.eye(5)
    expected = a.copy()
    lu(expected)
    gcg.jit(target="sim")(lu)(a)
    np.testing.assert_allclose(a, expected)


def test_assertion_that_shapes_decide_parts_no_launches() -> None:
    def solve(matrix: Any, x: Any) -> Any:
        y = np.zeros(len(x))
        for i in range(len(x)):
            y[i] = (x[i] - matrix[i, :i] @ y[:i]) / matrix[i, i]
        return y

    f = gcg.jit(target="cpu")(solve)
    matrix, x = np.tri(5) + np.eye(5), np.arange(5.0)
    assert "cf.assert" in f.mlir(matrix, x)
    assert f.source(matrix, x).count("rt.launch(") == 1
