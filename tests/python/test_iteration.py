"""Nested functions, `zip` and its like, comprehensions, and results of loops."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from tests.python.test_numpy_programs import function_of, same

FLOATS = np.arange(5.0)
PROGRAMS: list[tuple[str, tuple[Any, ...]]] = [
    (
        """
        def f(x, n):
            k = 2
            def g(y, by=1.5):
                return y * k + by
            h = lambda a: g(a) + n
            for i in range(n):
                k = k + 1
                x[i] = h(x[i])
            k = 10
            return x, g(1), h(1), (lambda: x[0])()
        """,
        (FLOATS, 3),
    ),
    (
        """
        def f(x, y):
            t = 0.0
            for a, b in zip(x, y):
                t += a * b
            for i, (a, b) in enumerate(zip(x, reversed(y))):
                t += i * a - b
            for i in reversed(range(2, 9, 3)):
                t = t * 2 + i
            for i, a in enumerate(x, start=3):
                t += i * a
            for a, n in zip(range(3, 9), y):
                t += a * n
            for n in x.shape:
                t += n
            for a, b in zip((1, 2, 3), (4, 5)):
                t += a * b
            for r in reversed((1, 2)):
                t = 2 * t + r
            for a, b in zip(x, x[::-1], strict=True):
                if a > b:
                    break
                t += a
            return t
        """,
        (FLOATS, np.arange(4.0)),
    ),
    (
        """
        def f(x, y):
            for i in range(len(x)):
                for j in range(len(y)):
                    if x[i] == y[j]:
                        return i, j, x[i:], (x[i], 1)
            return -1, -1, x, (0.0, 0)
        """,
        (FLOATS, np.array([7.0, 3.0, 2.0])),
    ),
    (
        """
        def f(x, y):
            while True:
                x = x + 1
                if x > 10:
                    return x, y[:2] * x
            return 0, y
        """,
        (3, FLOATS),
    ),
    (
        """
        def f(x):
            rows = [x[i] for i in range(3)]
            most = max(v for v in rows)
            return rows[1], sum([r * 2 for r in rows]), most, tuple(r for r in rows)
        """,
        (FLOATS,),
    ),
    (
        """
        def f(x, axis=None, how="sum"):
            def helper(a, dtype=np.float32):
                if a.ndim == 1:
                    return a.astype(dtype)
                return a.sum(axis=0).astype(dtype)
            if axis is not None or how != "sum":
                return x
            zeros = np.zeros(list(x.shape), x.dtype)
            return helper(x), helper(x[0], np.int64), zeros, helper(a=x, dtype=x.dtype)
        """,
        (FLOATS[:4].reshape(2, 2),),
    ),
    (
        """
        def f(x):
            def apply(function, values, shape):
                return function(*values) + np.ones(shape)
            def power(n):
                if n == 0:
                    return 1
                return x * power(n - 1)
            return apply(lambda a, b: a * b, (x, 2), (*x.shape,)), power(3)
        """,
        (FLOATS,),
    ),
    (
        """
        def f(x, m):
            if (n := len(x)) > 3 and n < 10:
                x[0] = n
            i, t = 0, 0.0
            while (v := x[i]) < 4:
                i += 1
                if v == 2:
                    continue
                t += v
            for k in range((first := 1), first + 3):
                t += k
            if t > 100:
                z = 1.0
            elif (q := 2 * t) > 1:
                z = q
            else:
                z = 0.0
            a, *b = x, m, 3
            for p, *r in ((1, 2, 3), (4, 5, 6)):
                t += p * r[1]
            for e in m.flat:
                t += e
            m.flat[2] = 50
            m.flat[-2:] *= 2
            return t, z, (u := t + 1) * u, b[1], a.sum(), m.flat[4]
        """,
        (FLOATS, np.arange(6.0).reshape(2, 3)),
    ),
    (
        """
        def f(x):
            y, z = x.copy(), np.arange(4)
            y[1:-1] = x[:-2] + x[2:]
            parts = z[1:9], z[3:1], z[-9:2], z[2:-9:-1], z[9::-3]
            return y, x[2:1], x[:5], x[5:], parts
        """,
        (FLOATS[3:4],),
    ),
    (
        """
        def f(n):
            while True:
                n += 1
                for i in range(n):
                    if i * n > 40:
                        return i, n
        """,
        (3,),
    ),
]


@pytest.mark.filterwarnings(
    "ignore::gpucodegen.errors.warnings.ElementTransfers",
)
@pytest.mark.sampled(20)
@pytest.mark.cases("target", ["cpu", "sim"])
@pytest.mark.cases("program", PROGRAMS)
def test_programs(program: tuple[str, tuple[Any, ...]], target: str):
    text, arguments = program
    function = function_of(text)
    expected = function(*deepcopy(arguments))
    same(gcg.jit(target=target)(function)(*deepcopy(arguments)), expected, 1e-12)


def test_print_takes_formats(capsys: pytest.CaptureFixture[str]):
    text = "def f(x, n):\n    print(f'{x} and {n:3d} {x[0]:.2f} {n!r}', f'{\"a\":>3}')"
    function = function_of(text)
    function(FLOATS, 7)
    gcg.jit(target="cpu")(function)(FLOATS, 7)
    ours, theirs = capsys.readouterr().out.splitlines()
    assert ours == theirs


def test_a_function_and_a_tuple_are_passed_to_a_jit_function():
    function = function_of(
        """
        @gcg.jit
        def apply(function, values):
            return function(*values)

        def f(x):
            return apply(lambda a, b: a * b, (x, 2))
        """
    )
    same(gcg.jit(target="cpu")(function)(FLOATS), 2 * FLOATS, 0)
