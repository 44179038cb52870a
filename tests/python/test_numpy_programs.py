"""Programs of NumPy, compiled as they are written, against NumPy itself."""

from __future__ import annotations

import warnings
from copy import deepcopy
from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors
from tests.python.programs_of_numpy import function_of, same

RNG = np.random.default_rng(7)


def numbers(*shape: int, dtype: str = "f8") -> Any:
    """Random numbers of both signs."""
    kind = np.dtype(dtype).kind
    if kind in "iu":
        return RNG.integers(0 if kind == "u" else -50, 50, shape).astype(dtype)
    if kind == "b":
        return RNG.random(shape) < 0.5
    found = RNG.standard_normal(shape)
    if kind == "c":
        found = found + 1j * RNG.standard_normal(shape)
    return found.astype(dtype)


Program = tuple[str, tuple[Any, ...]]
REDUCTIONS: list[Program] = [
    (
        """
        def f(x, y):
            d = x - y
            e = np.abs(d)
            return np.sqrt((d * d).sum()), e.max(), d
        """,
        (numbers(67), numbers(67)),
    ),
    (
        """
        def f(x, y):
            d = x - y
            return (d * d).sum(axis=1), (d * d).sum(axis=0), (d * d).mean()
        """,
        (numbers(6, 37), numbers(6, 37)),
    ),
    (
        """
        def f(x, y):
            p = 1 / (1 + np.exp(-x))
            loss = y * np.log(p) + (1 - y) * np.log(1 - p)
            slope = (p - y) * x
            return -loss.mean(), slope.mean(axis=0)
        """,
        (numbers(7, 5), abs(numbers(7, 5))),
    ),
    (
        """
        def f(x):
            t = x * 2
            s = t.sum()
            t[0] = s
            u = t + x
            return u.sum(), t
        """,
        (numbers(41),),
    ),
    (
        """
        def f(x):
            t = np.exp(x - np.max(x, axis=-1, keepdims=True))
            return t / np.sum(t, axis=-1, keepdims=True)
        """,
        (numbers(3, 5, 4),),
    ),
    (
        """
        def f(x):
            centre = x.mean(axis=(0, 2), keepdims=True)
            return (x - centre) / np.sqrt(x.var(axis=(0, 2), keepdims=True) + 1e-5)
        """,
        (numbers(2, 3, 5, dtype="f4"),),
    ),
    (
        "def f(x):\n    return x.std(axis=0, ddof=1), x.mean(), np.ptp(x)",
        (numbers(4, 3, dtype="i2"),),
    ),
    (
        "def f(x):\n    return x.mean(axis=1), x.sum(), np.var(x)",
        (numbers(4, 700, dtype="f2"),),
    ),
    (
        "def f(x):\n    return x.argmin(), x.argmax(axis=1), np.cumsum(x, axis=1)",
        (numbers(5, 6, dtype="u1"),),
    ),
    (
        "def f(x):\n    return x.argmax(), x.argmin(axis=0), np.count_nonzero(x > 0)",
        (np.array([[1.0, np.nan, 3.0], [2.0, np.nan, -0.0]]),),
    ),
    (
        "def f(x):\n    return np.sum(x, axis=0, dtype=np.float32), np.max(x, axis=1)",
        (np.zeros((0, 3)),),
    ),
]


MASK, PLACES = np.array([True, False, True, True, False]), np.array([4, -1, 0, 0, 2])
SELECTIONS: list[Program] = [
    (
        """
        def f(x, y, m):
            x[x > 3] = 1
            y[m] = x[m] * 2
            x[m] += y[m]
            return x[m].sum(), x[m].max(), y[m].mean(), len(x[m]), x[m]
        """,
        (numbers(5, dtype="i4"), numbers(5, dtype="i4"), MASK),
    ),
    (
        """
        def f(limit, rounds, c):
            z = np.zeros_like(c)
            count = np.zeros(c.shape, np.int64)
            for k in range(rounds):
                inside = z * z < limit
                count[inside] = k
                z[inside] = z[inside] * z[inside] + c[inside]
            count[count == rounds - 1] = 0
            return z, count
        """,
        (4.0, 5, numbers(3, 4)),
    ),
    (
        """
        def f(z, n):
            total = 0.0
            for k in range(n):
                z = z[z > 0.2 * k]
                total += z.sum()
            return z, total
        """,
        (numbers(20, dtype="f4"), 3),
    ),
    (
        "def f(x, m, v):\n    x[m] = v\n    return x[~m]",
        (numbers(5, 3), MASK, numbers(3, 3)),
    ),
    (
        "def f(x):\n    i, j = np.where(x > 0)\n    return i, x[i, j]",
        (numbers(3, 4),),
    ),
    (
        "def f(x, i):\n    return x[i], x[:, i], x[i, 1], x[i[:, None], i], x[1:, i]",
        (numbers(5, 6), PLACES),
    ),
    (
        "def f(x, i):\n    return x[i, :, i], x[0, :, i], x[i[:2], 1:, 0]",
        (numbers(5, 2, 6, dtype="f4"), PLACES),
    ),
    (
        "def f(x, i):\n    x[i] = i * 1.5\n    x[i] += x[:5]\n    return x",
        (numbers(6), PLACES),
    ),
]


SHAPES: list[Program] = [
    (
        """
        def f(x):
            y = x.reshape(x.shape[0], -1)
            y[0, 1] = 7
            part = x[2].reshape(-1, 2)
            part += 1
            return np.reshape(x, [2, x.size // 2]), x.T.reshape(-1), x.flatten()
        """,
        (numbers(3, 4, 5),),
    ),
    (
        """
        def f(x):
            x[::-1] = x[1] * 2
            y = x[::-1]
            y[0, 0] = 5
            return x[:, ::-1], x[-2:0:-1], x[::-2], np.flip(x, axis=1), x[4:1:-1, 1:3]
        """,
        (numbers(6, 4, dtype="f4"),),
    ),
    ("def f(x):\n    return x[::-1], x.squeeze(), x.ravel()", (np.zeros((0, 3)),)),
    (
        "def f(x):\n    return x.transpose(2, 0, 1), np.transpose(x, axes=[0, 2, 1])",
        (numbers(3, 4, 5),),
    ),
    (
        "def f(x):\n    return np.moveaxis(x, 0, -1), x.swapaxes(0, 2), x[:, None]",
        (numbers(3, 4, 5),),
    ),
    (
        """
        def f(x):
            y = np.roll(x, (1, -2), axis=(0, 1))
            return y, np.repeat(x, 2), np.tile(x, (2, 1, 3))
        """,
        (numbers(3, 4, dtype="i4"),),
    ),
    (
        """
        def f(x, y):
            z = np.concatenate([x, y.T * 2], axis=1)
            w = np.hstack((0, x[0], 1.5))
            return z, w, np.stack((x, x), axis=-1), np.append(x, y)
        """,
        (numbers(3, 4, dtype="i4"), numbers(2, 3, dtype="f4")),
    ),
    (
        """
        def f(x):
            y = np.pad(x, ((1, 2), (0, 1)))
            return y, np.vstack([x, x]), np.column_stack((x[0], x[1]))
        """,
        (numbers(3, 4),),
    ),
    ("def f(a, b):\n    return np.array([[a, b], [1, 2.5]]) * 2", (2.0, 3)),
]


POSITIVE = numbers(4, 4) + 6 * np.eye(4)
COMPLEX: list[Program] = [
    (
        """
        def f(low, high, n, rounds, limit):
            line = np.linspace(low, high, n)
            c = line + line[:, None] * 1j
            count = np.zeros(c.shape, dtype=np.int64)
            z = np.zeros(c.shape, dtype=np.complex128)
            for k in range(rounds):
                inside = np.less(abs(z), limit)
                count[inside] = k
                z[inside] = z[inside] ** 2 + c[inside]
            count[count == rounds - 1] = 0
            return z, count
        """,
        (-1.5, 1.0, 9, 5, 2.0),
    ),
    (
        """
        def f(x, y):
            x[0] += 1j * y[0]
            parts = x.real, x.imag, abs(x), np.angle(x), x.conj(), x == y
            return parts, x * y, x / y, np.exp(x), np.sqrt(x), x ** 2, x ** y
        """,
        (numbers(3, 4, dtype="c16"), numbers(3, 4, dtype="c16")),
    ),
    (
        """
        def f(x, y):
            total = np.zeros((x.shape[0], y.shape[1]), dtype=np.complex64)
            for k in range(x.shape[1]):
                total += x[:, k].reshape(-1, 1) * y[k].reshape(1, -1)
            return total, x @ y, x.mean(axis=0), x.std(), np.cumsum(y, axis=1)
        """,
        (numbers(3, 2, dtype="c8"), numbers(2, 4, dtype="c8")),
    ),
    (
        """
        def f(a, b, n):
            z = a + 2j * b
            for k in range(n):
                z = z * z + 0.5j
                if abs(z) > 2:
                    break
            return z, z.real, z.conjugate(), complex(a, b), z == 0
        """,
        (0.3, 0.2, 4),
    ),
    (
        """
        def f(a, n):
            total = np.zeros(a.shape, np.complex128)
            for k in range(n):
                z = np.exp(2j * np.pi * (k + 0.5) / n)
                total += np.linalg.inv(a - z * np.eye(a.shape[0])) * z
            return total / n
        """,
        (np.array([[0.3, 1j], [0.2, 0.1]]), 5),
    ),
    (
        """
        def f(a, b):
            x = np.linalg.solve(a, b)
            lower = np.linalg.cholesky(a @ a.T)
            return x, np.linalg.det(a), lower, np.linalg.norm(b, axis=0)
        """,
        (POSITIVE, numbers(4, 2)),
    ),
]
CREATION: list[Program] = [
    (
        """
        def f(n):
            a = np.arange(n), np.arange(n, 0, -2), np.arange(0.0, n, 0.5)
            return a, np.arange(n, dtype=np.float32), np.arange(n, 2)
        """,
        (7,),
    ),
    (
        """
        def f(n, a):
            line = np.linspace(a, 2, n, endpoint=False)
            return line, np.linspace(a, 9, 1), np.linspace(0, 10, 4, dtype=np.int64)
        """,
        (7, np.float32(0.5)),
    ),
    (
        """
        def f(x, n):
            y = np.ndarray((n, 3), dtype=np.float32)
            y[:] = np.eye(n, 3, 1)
            return y, np.triu(x, 1), np.tril(x), np.trace(x), np.tri(n)
        """,
        (numbers(4, 4), 4),
    ),
    ("def f(x):\n    return np.diag(x, k=-2), np.diag(x[0])", (numbers(4, 4),)),
    (
        """
        def f(x, y, n):
            rows, columns = np.mgrid[0:n, 0:n + 1]
            across, down = np.meshgrid(x, y)
            return rows * 1.5 + columns, across, down, np.mgrid[0:1:5j]
        """,
        (numbers(4), numbers(3), 3),
    ),
    (
        """
        def f(x, i):
            count = np.zeros(8, np.int64)
            np.add.at(count, i, 1)
            return count, np.outer(x, x), np.subtract.outer(x, i), np.full_like(x, 7)
        """,
        (numbers(3), PLACES),
    ),
]
STATEMENTS: list[Program] = [
    (
        """
        def smallest(x, axis=0):
            return x.min(axis=axis)
        def f(x, n):
            y = x + 1 if n > 2 else x[::-1] * 2
            z = smallest(y) if n > 5 else smallest(y, axis=0) - smallest(x)
            return y - z if n else y + z
        """,
        (numbers(3, 4), 3),
    ),
    (
        """
        def f(n):
            x, y = np.mgrid[0:n, 0:3]
            total = x + 2.5 * y
            x.shape = y.shape = total.shape = n * 3
            for k in range(2):
                x[k] += y[k + 1]
            total.shape = (3, n)
            return x, y, total
        """,
        (4,),
    ),
    (
        """
        def f(z, x, i):
            m = x > 0
            x[m] = x[m] ** -1.5
            z[m] = z[m] ** 2 + 1j * x[m]
            i[i > 3] = i[i > 3] ** 3
            i[i < 3] **= 2
            return z, x, i
        """,
        (numbers(3, 5, dtype="c16"), numbers(3, 5), numbers(9, dtype="i8")),
    ),
    (
        """
        def f(x, t):
            for i in range(x.shape[0]):
                for j in range(x.shape[1]):
                    if x[i, j] > t:
                        return x[i, j] * i + j
                t -= 0.1
            return 0.5
        """,
        (np.arange(12.0).reshape(3, 4), 6.5),
    ),
    (
        """
        def f(x):
            total = 0.0
            for v in x:
                total = total * 0.5 + v
            for row in x.reshape(2, -1):
                row[0] = total
                total += row.sum()
            for i, v in enumerate(x):
                total += i * v
            for k in (1, 2, 5):
                total += k
            return total
        """,
        (np.arange(6.0),),
    ),
    (
        """
        @gcg.jit
        def zeros(n, dtype):
            return np.zeros(n, dtype=dtype)

        def f(x, n):
            assert n > 0
            assert x.shape[0] == n, "sizes"
            return zeros(n, x.dtype) + x, zeros(n, np.float32)
        """,
        (np.arange(3.0), 3),
    ),
]
PROGRAMS = [*REDUCTIONS, *SELECTIONS, *SHAPES, *COMPLEX, *CREATION, *STATEMENTS]


def checked(program: Program, target: str) -> None:
    text, given = program
    function = function_of(text)
    ours: list[Any] = deepcopy(list(given))
    theirs: list[Any] = deepcopy(list(given))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        expected = function(*theirs)
    actual = gcg.jit(target=target)(function)(*ours)
    is_narrow = any(str(getattr(v, "dtype", "")) == "float16" for v in given)
    tolerance = 2e-3 if is_narrow else 1e-5
    same(actual, expected, tolerance)
    same(tuple(ours), tuple(theirs), tolerance)


def named(program: Program) -> str:
    return program[0].strip().partition("\n")[2].strip().replace("\n", ";")[:50]


@pytest.mark.slow
@pytest.mark.filterwarnings(
    # no shape of a routine's result is known before the call
    "ignore::gpucodegen.errors.PossiblyOutOfBounds"
)
@pytest.mark.drawn(3)
@pytest.mark.cases("target", ["cpu", "sim"])
@pytest.mark.cases("program", PROGRAMS, ids=named, parts=6)
def test_programs(program: Program, target: str):
    checked(program, target)


@pytest.mark.slow
def test_wrong_selections_end_the_call():
    stored = gcg.jit(function_of("def f(x, m, v):\n    x[m] = v"))
    with pytest.raises(errors.AssertionFailed, match="as many elements"):
        stored(np.zeros(5), MASK, np.zeros(2))
    largest = gcg.jit(function_of("def f(x, m):\n    return x[m].max()"))
    with pytest.raises(errors.AssertionFailed, match="of no elements"):
        largest(np.zeros(5), np.zeros(5, bool))
    gathered = gcg.jit(target="cpu")(function_of("def f(x, i):\n    return x[i]"))
    with pytest.raises(errors.Error, match="outside"):
        gathered(np.zeros(4), PLACES)


def test_what_a_routine_cannot_invert_ends_the_call():
    inverse = gcg.jit(function_of("def f(a):\n    return np.linalg.inv(a)"))
    with pytest.raises(errors.AssertionFailed, match="Singular matrix"):
        inverse(np.zeros((2, 2)))


def test_an_assertion_ends_the_call():
    positive = gcg.jit(function_of("def f(n):\n    assert n > 0, 'none'\n    return n"))
    assert positive(1) == 1
    with pytest.raises(errors.AssertionFailed, match="none"):
        positive(0)


def test_print_writes_what_python_writes(capsys: pytest.CaptureFixture[str]):
    text = "def f(x, n):\n    print('x', x, n, x[0], sep='; ')"
    given = np.arange(3, dtype="u1") + 250, 0.1
    function_of(text)(*given)
    expected = capsys.readouterr().out
    gcg.jit(function_of(text))(*given)
    assert capsys.readouterr().out == expected


def test_shapes_of_other_sizes_are_refused():
    reshaped = gcg.jit(function_of("def f(x):\n    return x.reshape(7, -1)"))
    with pytest.raises(errors.AssertionFailed, match="keeps its size"):
        reshaped(np.zeros((3, 4)))


def test_extremes_of_nothing_are_refused():
    function = gcg.jit(target="cpu")(function_of("def f(x):\n    return x.max(axis=0)"))
    with pytest.raises(errors.AssertionFailed, match="of no elements"):
        function(np.zeros((0, 3)))
