"""Idioms of NumPy programs: loops' last values, shrinking arrays, comprehensions."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors
from tests.python.test_numpy_programs import function_of, same

FLOATS = np.arange(6.0)
PROGRAMS: list[tuple[str, tuple[Any, ...]]] = [
    (
        """
        def f(x):
            for i in range(3, len(x) + 3, 2):
                y = x * i
                t = y[0] + 4
            for j in range(4, 0, -2):
                z = y + j
            while True:
                v = x[1:] + t
                t -= 1.0
                if v[0] < 20:
                    break
            return i, j, y, z, t, v
        """,
        (FLOATS,),
    ),
    (
        """
        def f(x):
            y = np.zeros(3)
            for i in range(3):
                z = y
                z[i] = i
                y = x[:3] + z
                v = x[i:]
            z[0] = 9
            v[1] = -1
            return z, y, v, x
        """,
        (FLOATS,),
    ),
    (
        """
        def f(n):
            sieve = np.ones(n, dtype=bool)
            for i in range(2, int(n**0.5) + 1):
                if sieve[i]:
                    sieve[i * i :: i] = False
            rest = np.arange(2, n)
            count = 0
            while rest.size:
                rest = rest[rest % rest[0] != 0]
                count += 1
            return np.nonzero(sieve)[0], count
        """,
        (30,),
    ),
    (
        """
        def f(x, y):
            w = x
            place, z = np.arange(len(x)), x * 2
            for k in range(4):
                x = x[x > k]
                if not len(z):
                    break
                np.add(z, 1, z)
                small = z < 5
                y[place[small]] = k
                z, place = z[~small], place[~small]
            x[0] = 9
            return w, x, y, z, place
        """,
        (FLOATS, FLOATS + 0.5),
    ),
    (
        """
        def f(n):
            x = np.arange(n) % 3 > 0
            y = np.arange(n) * 1.0
            kept = y
            for k in range(2):
                x = x[x]
                y[1] = -5.0
                y = y[::-1][y > k]
            return x, y, kept
        """,
        (8,),
    ),
    (
        """
        def f(x, n):
            a, b, c = x[:3]
            rows = np.zeros((2, 2))
            rows[1] = a, c
            pairs = np.stack([x[i : i + 2] for i in range(2) for j in range(2)])
            total = sum(i * j * n for i in range(3) if i > 1 for j in range(i))
            return b, rows, pairs, total
        """,
        (FLOATS, 3),
    ),
    (
        """
        def f(x, n):
            d = np.zeros(4)
            for k in range(1, 4):
                d[k] = np.dot(x[k:], x[:-k]) + x[-k]
            return d, x[:-n], x[-n:], x[-n], x[:: n + 1], np.mgrid[0 : 1 : n * 1j]
        """,
        (FLOATS, 2),
    ),
    (
        """
        def f(n):
            ends = np.hanning(1), np.bartlett(4)
            return np.hanning(n), np.hamming(5), np.blackman(n), ends
        """,
        (6,),
    ),
]


@pytest.mark.cases("program", PROGRAMS, parts=4)
def test_programs(program: tuple[str, tuple[Any, ...]]):
    _compare("interp", program)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::gpucodegen.errors.warnings.PossiblyOutOfBounds")
@pytest.mark.cases("target", ["cpu", "sim"])
@pytest.mark.cases("program", PROGRAMS, parts=2)
def test_programs_on(program: tuple[str, tuple[Any, ...]], target: str):
    _compare(target, program)


def _compare(target: str, program: tuple[str, tuple[Any, ...]]):
    text, arguments = program
    function = function_of(text)
    given, expected = deepcopy(arguments), deepcopy(arguments)
    result, wanted = gcg.jit(target=target)(function)(*given), function(*expected)
    same(result, wanted, 1e-12)
    same(given, expected, 1e-12)


@pytest.mark.cases(
    "program",
    [
        ("def f(n):\n    for i in range(n):\n        y = i\n    return y", (0,)),
        ("def f(n):\n    for i in range(n):\n        pass\n    return i", (0,)),
        (
            "def f(n):\n    while n > 5:\n        n = y = n - 1\n    return y",
            (3,),
        ),
        ("def f(x):\n    a, b = x\n    return a", (FLOATS,)),
        ("def f(x, n):\n    return x[::n]", (FLOATS, -1)),
        ("def f(x, m):\n    return x[m]", (FLOATS, np.array([True, False]))),
        ("def f(x, m):\n    return x[m].size", (FLOATS, np.array([True, False]))),
    ],
)
def test_calls_that_end(program: tuple[str, tuple[Any, ...]]):
    text, arguments = program
    with pytest.raises(errors.AssertionFailed):
        gcg.jit(target="interp")(function_of(text))(*arguments)


@pytest.mark.slow
def test_a_loop_that_shrinks_arrays_is_compiled():
    function = function_of(
        """
        def f(z, c, rounds):
            z, place = z * 1, np.arange(len(z))
            found = np.zeros(len(z), np.int64)
            for k in range(rounds):
                z = z * z + c
                far = np.abs(z) > 2
                found[place[far]] = k
                z, place = z[~far], place[~far]
            return found
        """
    )
    z = np.linspace(-1.5, 1.5, 20)
    compiled = gcg.jit(target="cpu")(function)
    same(compiled(z, -0.8, 20), function(z, -0.8, 20), 0.0)
    host = compiled.source(z, -0.8, 20).partition("\n\n\n")[0]
    assert "rt.launch(" in host
    assert "while " not in host
