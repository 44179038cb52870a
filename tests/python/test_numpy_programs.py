"""Programs of NumPy, compiled as they are written, against NumPy itself."""

from __future__ import annotations

import linecache
import textwrap
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors
from gpucodegen.python.results import is_tuple

RNG = np.random.default_rng(7)
HEAD = "import math\nimport numpy as np\nimport gpucodegen as gcg\n"


def function_of(text: str) -> Callable[..., Any]:
    """The function `f` of a text, whose lines can be read."""
    filename = f"<program {abs(hash(text))}>"
    source = HEAD + textwrap.dedent(text)
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    names: dict[str, Any] = {}
    exec(compile(source, filename, "exec"), names)
    return names["f"]


def same(actual: Any, expected: Any, tolerance: float) -> None:
    """The same types and shapes, and the same numbers up to rounding."""
    if is_tuple(expected):
        assert is_tuple(actual)
        for one, other in zip(actual, expected, strict=True):
            same(one, other, tolerance)
        return
    one, other = np.asarray(actual), np.asarray(expected)
    assert (one.dtype, one.shape) == (other.dtype, other.shape)
    np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


def numbers(*shape: int, dtype: str = "f8") -> np.ndarray:
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


def checked(program: Program, target: str) -> None:
    text, given = program
    function = function_of(text)
    ours, theirs = (
        [np.copy(v) if isinstance(v, np.ndarray) else v for v in given]
        for _ in range(2)
    )
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


@pytest.mark.cases("target", ["cpu", "sim"])
@pytest.mark.cases("program", REDUCTIONS, ids=named)
def test_reductions(program: Program, target: str):
    checked(program, target)


def test_extremes_of_nothing_are_refused():
    function = gcg.jit(target="cpu")(function_of("def f(x):\n    return x.max(axis=0)"))
    with pytest.raises(errors.AssertionFailed, match="of no elements"):
        function(np.zeros((0, 3)))
