"""Comparisons and bools of NumPy have its rules, and bools of Python have Python's."""

from __future__ import annotations

import linecache
import warnings
from itertools import cycle
from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors
from tests.python.test_semantics import same

ARRAYS = """
~(a > 3)
-(a > 3)
+(a > 3)
(a > 3) + (a > 5)
(a > 3) - (a > 5)
(a > 3) * (a > 5)
(a > 3) / (b + True)
(a > 3) // (a > 5)
(a > 3) % (a > 5)
(a > 3) ** (a > 5)
(a > 3) << (a > 5)
(a > 3) >> (a > 5)
(a > 3) & (a > 5), (a > 3) | m, (a > 3) ^ m
(a > 3) & True, m + True, m * 3, m - 1, m + 0.5
(a > 3) < m, m == True, m != (b < 1), m <= m, m >= (a > 1)
abs(a > 3), np.sign(m + 0), np.square(m), np.sqrt(m), np.floor(m)
np.negative(m)
np.sum(~(a > 3)), np.prod(m), np.min(m), np.max(~m), np.mean(m)
np.any(~m), np.all(m | ~m), np.any(m, axis=0)
np.where(~(a > 3), a, -a), np.where(m, True, False), np.where(m, 1, 2) * f
np.where(m, b > 2, True), np.where(m, 1.0, 0.0) * f
~np.isnan(b), ~np.isfinite(b), np.isinf(b) | m, np.isnan(a), np.isfinite(m)
(a > 3).astype(np.int8), (a > 3).astype(float), a.astype(bool), (b > 1).sum()
np.logical_not(a > 3), np.logical_and(a, b), np.logical_or(m, 0), np.logical_xor(a, m)
np.minimum(m, a > 3), np.maximum(m, 2), np.clip(m, False, True)
np.add(True, True), np.multiply(True, False), np.sqrt(2) * f[0], np.maximum(1, 2)
(~(a > 3))[2], (~m)[1:3], (a > 3)[0] + (a > 3)[7]
~(a[5] > 3), (a[5] > 3) + (a[6] > 3), (a[5] > 3) + True, (a[5] > 3) + 1
(a[5] > 3) - (a[6] > 3)
-(a[5] > 3)
(a[5] > 3) & (a[1] > 3), (a[5] > 3) | False, (a[5] > 3) ^ True
(a[5] > 3) * (a[5] > 3), (a[5] > 3) / (a[5] > 3), (a[5] > 3) ** (a[5] > 3)
(a[5] > 3) // (a[5] > 3), (a[5] > 3) << (a[5] > 3), (a[5] > 3) % (a[5] > 3)
not a[5] > 3, not m[0], not (a[5] > 3 and n > 1)
a[0] > 3 and a[5] > 3, a[5] > 3 or n > 9, n and n - 3, n or 4, 0 or n
0 < a[5] < 9, 3 < n < 9 < a[5], 1 < n <= 4
n > 3, (n > 3) + (n > 2), (n > 3) * 2, -(n > 3), (n > 3) - (n > 2), n > 3 and True
k + k, -k, k & k, k | True, k + 1, k * 0.5, k == True, not k
q + q, q & True, ~q, q | q, q ^ q, q * q, q + 1, not q
q - q
-q
bool(a[5] > 3) + bool(a[6] > 3), np.bool_(n) + np.bool_(n), ~np.bool_(n > 3)
min(n > 3, n > 2), max(a[5], a[6]) > 3, (n > 3) if a[5] > 3 else (n > 2)
f[0] > 3 and f[1] < 2, np.isnan(f[0]) + np.isnan(f[1]), ~np.isnan(f[0])
"""
STATEMENTS = """
m &= a > 3; return m
m |= a > 3; m ^= True; return m
m += a > 3; m *= a < 7; return m
m -= a > 3; return m
m /= a > 3; return m
m //= a > 3; return m
m <<= 1; return m
m[:] = ~(a > 3); return m
m[2] = ~(a[5] > 3); m[3] = a[4]; return m
a[:] = ~(a > 3); return a
b[1:] = (a > 3)[1:]; return b
a += a > 3; b *= ~m; return a, b
x = np.zeros(8, bool); x[:] = a; return ~x
x = 0;|for i in range(8):|    if ~(a[i] > 3):|        x += 1|return x
x = False;|for i in range(8):|    x = x | (a[i] > 6)|return x
x = a[0] > 3;|for i in range(8):|    x = x | (a[i] > 6)|return ~x
x = a[0] > 3;|while not x:|    n += 1|    x = a[n % 8] > 3|return n
x = True;|for i in range(8):|    x = a[i] > 3 and x|return 1 if x else 2
"""


def functions() -> list[tuple[str, Any]]:
    """Each expression and each statement as a function."""
    bodies = [f"return {line}" for line in ARRAYS.strip().splitlines()]
    bodies += [
        line.replace("|    ", "\n        ")
        .replace("|return", "\n    return")
        .replace("|for", "\n    for")
        .replace("|while", "\n    while")
        for line in STATEMENTS.strip().splitlines()
    ]
    made: list[tuple[str, Any]] = []
    for body in bodies:
        text = f"import numpy as np\ndef f(a, b, m, f, n, k, q):\n    {body}\n"
        filename = f"<bools {len(made)}>"
        linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
        names: dict[str, Any] = {}
        exec(compile(text, filename, "exec"), names)
        made.append((body, names["f"]))
    return made


def arguments() -> list[Any]:
    a, b = np.arange(8), np.linspace(-1, 4, 8)
    return [a, b, a % 3 == 1, b.astype("f4"), 4, True, np.bool_(True)]


def check(*targets: str) -> None:
    """The results of NumPy, or a refusal where NumPy refuses; targets take turns."""
    for (body, function), target in zip(functions(), cycle(targets), strict=False):
        given = arguments()
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                wanted = function(*given)
        except TypeError:
            wanted = None
        ours = arguments()
        if wanted is None:
            with pytest.raises(errors.WrongOperand):
                gcg.jit(target=target)(function)(*ours)
            continue
        try:
            same(gcg.jit(target=target)(function)(*ours), wanted)
            same(tuple(ours), tuple(given))
        except AssertionError as problem:
            raise AssertionError(f"{body} on {target}") from problem


@pytest.mark.slow
def test_bools():
    check("interp")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::gpucodegen.errors.CodegenWarning")
def test_bools_compiled():
    check("cpu", "sim")


def test_bools_of_two_kinds_have_no_arithmetic():
    """A variable that is Python's bool on one path and NumPy's on another."""

    def inverted(a: Any, n: int):
        x = n > 1
        if n > 2:
            x = a[0] > 3
        return -x

    with pytest.raises(errors.WrongOperand, match="bool of Python or NumPy"):
        gcg.jit(target="interp")(inverted)(np.arange(3), 3)


def test_integers_that_a_type_does_not_hold_are_refused():
    """NumPy refuses Python's integers that do not fit, and compares them by value."""

    def added(a: Any):
        return a + 300

    def stored(a: Any):
        a[0] = -1

    def filled(a: Any):
        a[:] = 256

    def compared(a: Any):
        return a < 300, a > -1, a == 256, a[0] != -1

    a = np.arange(4, dtype="u1")
    for function in (added, stored, filled):
        with pytest.raises(errors.WrongOperand):
            gcg.jit(target="interp")(function)(a)
    same(gcg.jit(target="interp")(compared)(a), compared(a))
