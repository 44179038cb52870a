"""A process that finds a function's translation on disk does not translate it."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen.python.results import ArrayResult, Given, Made
from gpucodegen.python.stored_translations import keep, key_of, recalled, translated
from gpucodegen.python.types import Truth

PROGRAM = """
import sys
import numpy as np
import gpucodegen as gcg

SCALE = float(sys.argv[1])

@gcg.jit
def half(x):
    return x / 2

@gcg.jit(target=sys.argv[2])
def scaled(a, n):
    b = np.zeros(len(a))
    for i in range(n):
        b[i] = half(a[i]) * SCALE
    return b, n, (a, n > 3)

a = np.arange(6.0)
b, n, (same, is_large) = scaled(a, 5)
print(b.tolist(), n, same is a, is_large, type(is_large).__name__)
heavy = {"islpy", "gpucodegen.passes.framework.base", "gpucodegen.python.units"}
print(*sorted(heavy & set(sys.modules)), *sorted({"numba"} & set(sys.modules)))
try:
    scaled(a, 9)
except gcg.errors.Error as error:
    print(error)
"""


def run(path: Path, scale: float, target: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, str(path), str(scale), target],
        env=os.environ | {"GPUCODEGEN_CACHE_DIR": str(path.parent / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.slow
@pytest.mark.parametrize("target", ["cpu", "sim"])
def test_a_second_process_translates_nothing_and_says_the_same(
    tmp_path: Path, target: str
) -> None:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    first, second = (run(path, 3.0, target) for _ in range(2))
    assert first[0] == "[0.0, 1.5, 3.0, 4.5, 6.0, 0.0] 5 True True bool"
    assert first[1].startswith("gpucodegen.passes.framework.base gpucodegen.python")
    assert second[1] == ""
    assert second[:1] + second[2:] == first[:1] + first[2:]
    assert any("b[i] = half(a[i]) * SCALE" in line for line in second)
    other = run(path, 5.0, target)
    assert other[0].startswith("[0.0, 2.5, 5.0")


N = 3
TABLE = np.arange(3)
SETTINGS = SimpleNamespace(n=3)


def plain(x: Any) -> Any:
    return x + N


@gcg.jit
def compiled(x: Any) -> Any:
    return x + N


def reads_a_number(x: Any) -> Any:
    return np.float32(x) * N + len((x, x)) + np.pi


def calls_compiled(x: Any) -> Any:
    return compiled(x)


def reads_an_array(x: Any) -> Any:
    return x + TABLE[0]


def reads_an_object(x: Any) -> Any:
    return x + SETTINGS.n


def calls_plain(x: Any) -> Any:
    return plain(x)


@functools.wraps(plain)
def wrapper(x: Any) -> Any:
    return plain(x) + 1


def calls_wrapper(x: Any) -> Any:
    return wrapper(x)


def enclosed(n: Any) -> Callable[..., Any]:
    return lambda x: x + n


def default(x: Any, n: Any = N) -> Any:
    return x + n


def key(function: Callable[..., Any], *types: Any) -> str | None:
    return key_of(function, types or (float,))


@pytest.mark.parametrize("function", [reads_a_number, calls_compiled, calls_plain])
def test_a_number_belongs_to_the_key(
    function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = key(function)
    assert before is not None
    assert before == key(function)
    assert before != key(function, int)
    monkeypatch.setitem(globals(), "N", 3.0)
    assert key(function) not in (None, before)
    monkeypatch.setitem(globals(), "N", 4)
    assert key(function) not in (None, before)


@pytest.mark.parametrize("function", [reads_an_array, reads_an_object, calls_wrapper])
def test_what_may_change_without_a_trace_has_no_key(
    function: Callable[..., Any],
) -> None:
    assert key(function) is None


def test_closures_and_defaults_belong_to_the_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert key(enclosed(1)) != key(enclosed(2))
    assert key(enclosed(1)) == key(enclosed(1))
    before = key(default)
    monkeypatch.setattr(default, "__defaults__", (4,))
    assert key(default) != before


def test_results_of_all_kinds_come_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPUCODEGEN_CACHE_DIR", str(tmp_path))
    kinds = bool, int, float, Truth, np.dtype("f2"), np.dtype("u8"), None, Given(2)
    results = (*kinds, ArrayResult(np.dtype("i4"), 3), (ArrayResult(float, 1), ()))
    source = translated(gcg.parse("func.func @f() { return }"))
    keep("key", source, Made("f", results, ()))
    found = recalled("key")
    assert found is not None
    assert found[1] == Made("f", results, ())
    assert all(a is b for a, b in zip(found[1].results[:4], kinds[:4], strict=True))
    assert (found[0].text, found[0].defined) == (source.text, source.defined)
    assert recalled("another") is None
