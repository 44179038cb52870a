"""Loops that rebind arrays: the types of variables reach a fixpoint."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors
from gpucodegen.python import loops


def halved(x: Any, y: Any, n: int):
    for _i in range(n):
        x = x * 0.5
    return x, y


def counted(x: Any, y: Any, n: int):
    while n > 0:
        x = x * 0.5
        n -= 1
    return x, y


def exchanged(x: Any, y: Any, n: int):
    for _i in range(n):
        x, y = y + 1, x
    return x, y


def rotated(x: Any, y: Any, n: int):
    z = x - y
    for i in range(n):
        x, y, z = y, z, x * i
    return x + z, y


def nested(x: Any, y: Any, n: int):
    for i in range(n):
        for j in range(i):
            x, y = x + y * j, x
        y = y - x
    return x, y


def branched(x: Any, y: Any, n: int):
    for i in range(n):
        if i % 2 == 1:
            x = y + x
        else:
            y = x
    return x, y


def in_place(x: Any, y: Any, n: int):
    for i in range(n):
        z = x
        x = y * 2
        z[1:] = x[:-1] + i
        y[:-1] = z[1:]
    return x, y


def aliases(x: Any, y: Any, n: int):
    old = x
    for i in range(n):
        x = x + i
        old[1:] = x[:-1]
        old = x
        x[1:] = old[:-1] - y[1:]
    return x, old


def chosen(x: Any, y: Any, n: int):
    for i in range(n):
        z = y
        if i == 1:
            z = x
        z[1:] = x[:-1] + y[1:]
        x, y = y, x
    return x, y


def extents(x: Any, y: Any, n: int):
    for i in range(n):
        z = np.zeros(len(x) + i)
        z[: len(x)] = x
        x = z
    return x, y


def layouts(x: Any, y: Any, n: int):
    z = y
    if n > 1:
        z = x[1:]
    z[0] = 7
    for i in range(n - 2):
        x, z = z * i, x[1::2]
        z = z + 1
    while n > 2:
        z = z[1:]
        n -= 2
    return x, z


FUNCTIONS = [
    layouts,
    halved,
    counted,
    exchanged,
    rotated,
    nested,
    branched,
    in_place,
    aliases,
    chosen,
    extents,
]


def agrees(function: Callable[..., Any], target: str, n: int) -> None:
    """Results and arguments are those of the function itself."""
    given = [np.arange(1.0, 6.0), np.arange(5.0) ** 2]
    ours = [a.copy() for a in given]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.CodegenWarning)
        made = gcg.jit(target=target)(function)(*ours, n)
    wanted = function(*given, n)
    for one, other in zip((*made, *ours), (*wanted, *given), strict=True):
        np.testing.assert_array_equal(one, other, function.__name__)


@pytest.mark.slow
def test_rebinding():
    for function in FUNCTIONS:
        for n in (0, 1, 4):
            agrees(function, "interp", n)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["cpu", "sim"])
def test_rebinding_compiled(target: str):
    for function in FUNCTIONS:
        agrees(function, target, 4)


def test_fixpoint_has_a_bound(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Roots that grow without end are refused after some translations."""

    def unchanged(value: Any, *_: Any) -> Any:
        return value

    monkeypatch.setenv("GPUCODEGEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(loops, "_of_earlier_iterations", unchanged)
    monkeypatch.setattr(loops, "ROUNDS", 5)
    monkeypatch.setattr(loops.private_arrays, "candidates", lambda *_: [])
    for function in (halved, counted):
        with pytest.raises(errors.UnsupportedPython, match="in each iteration"):
            agrees(function, "interp", 2)
