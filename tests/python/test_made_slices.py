"""Random slices in nested loops: the numbers of NumPy, or a refusal where it cuts."""

from __future__ import annotations

import random
import warnings
from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors
from tests.python.programs_of_numpy import function_of, same

VALUES = (
    "x[{i}, {s}].sum()",
    "len(x[{s}, 0])",
    "y[{s}].sum()",
    "x[{s}, {t}].sum()",
    "y[{s}].shape[0]",
    "np.sum(y[{s}] * y[{s}])",
)
STATEMENTS = "y[{s}] += 0.5", "x[{i}, {s}] *= 2", "y[{s}] = y[{s}] + 1"
STOPS = "n", "n - 1", "m", "x.shape[0] - 1"


class Tracked(np.ndarray):
    """An array that raises IndexError where Python cuts a slice, or counts from behind.

    Slices as they are written may count from behind.
    """

    def __getitem__(self, where: Any) -> Any:
        self._check(where)
        return super().__getitem__(where)

    def __setitem__(self, where: Any, value: Any) -> None:
        self._check(where)
        super().__setitem__(where, value)

    def _check(self, where: Any) -> None:
        entries = where if isinstance(where, tuple) else (where,)
        for entry, extent in zip(entries, self.shape, strict=False):
            if isinstance(entry, slice) and entry.step in (None, 1, 2):
                start, stop = entry.start or 0, entry.stop
                stop = extent if stop is None else stop
                if not 0 <= start <= stop <= extent:
                    raise IndexError(entry)


def program(seed: int) -> str:
    """A function of a matrix, a line and two numbers."""
    choose = random.Random(seed)
    lines = ["def f(x, y, n, m):", "    s = 0.0"]

    def end(names: str) -> str:
        found = choose.choice([*names, "1", "2", "n", "m", "x.shape[1]", "y.shape[0]"])
        if choose.random() < 0.5:
            found += f" {choose.choice('+-')} {choose.choice([*names, '1', '2'])}"
        return found

    def part(names: str) -> str:
        if choose.random() < 0.3:
            return choose.choice([":", "1:", "2:", "::2", "1::2", "::-1"])
        return ":".join(choose.choice(["", end(names), end(names)]) for _ in range(2))

    def filled(text: str, names: str) -> str:
        i = choose.choice([*names, "0", "1"])
        return text.format(i=i, s=part(names), t=part(names))

    def statement(names: str, depth: int) -> None:
        def add(text: str) -> None:
            lines.append("    " * depth + text)

        kind = choose.random()
        if len(names) < 3 and kind < 0.4:
            name = "ijk"[len(names)]
            start, stop = choose.choice(["0", "1", *names]), choose.choice(STOPS)
            add(f"for {name} in range({start}, {stop}{choose.choice(['', ', 2'])}):")
            for _ in range(choose.randint(1, 2)):
                statement(names + name, depth + 1)
        elif kind < 0.5:
            add(f"if {choose.choice([*names, 'n'])} > {choose.choice('12m')}:")
            statement(names, depth + 1)
        elif kind < 0.7:
            add(filled(choose.choice(STATEMENTS), names))
        else:
            add(f"s += {filled(choose.choice(VALUES), names)}")

    for _ in range(choose.randint(2, 3)):
        statement("", 1)
    return "\n".join([*lines, "    return s", ""])


def check(seed: int, target: str) -> bool:
    """Compare one program with NumPy; whether it ran, and was not refused."""
    function, ran = function_of(program(seed)), False
    for numbers in ((5, 3), (3, 2)):
        rng = np.random.default_rng(seed)
        x, y = rng.integers(0, 5, (7, 6)) / 2, rng.integers(0, 5, 8) / 2
        tracked, ours = [a.copy().view(Tracked) for a in (x, y)], (x.copy(), y.copy())
        try:
            function(*tracked, *numbers)
        except (IndexError, ValueError):
            is_cut = True
        else:
            is_cut = False
        try:
            expected = function(x, y, *numbers)
        except (IndexError, ValueError):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", errors.CodegenWarning)
            try:
                found = gcg.jit(target=target)(function)(*ours, *numbers)
            except errors.Error:
                assert is_cut, program(seed)
                continue
        same((found, *ours), (expected, x, y), 1e-12)
        ran = True
    return ran


def test_some_programs():
    assert sum(check(seed, "interp") for seed in range(6)) >= 3


@pytest.mark.slow
@pytest.mark.parametrize(("target", "seeds"), [("interp", 60), ("cpu", 16), ("sim", 6)])
def test_programs(target: str, seeds: int):
    assert sum(check(1000 + seed, target) for seed in range(seeds)) > seeds / 3


@pytest.mark.parametrize("target", ["interp", "cpu"])
@pytest.mark.parametrize(
    "body",
    ["y[y.shape[0] :] += 0.5", "y[m + 1 :] = y[m + 1 :] + 1", "y[8 : m + 1] = 0"],
)
def test_slices_at_the_end_are_empty(body: str, target: str):
    """Equal ends that are computed twice are equal for the proof of a kernel, too."""
    function = function_of(f"def f(y, m):\n    {body}\n    return y\n")
    found = gcg.jit(target=target)(function)(np.arange(8.0), 7)
    same(found, function(np.arange(8.0), 7), 0)


@pytest.mark.parametrize("target", ["interp", "cpu"])
@pytest.mark.parametrize("part", ["9:", "y.shape[0] + 1 : n", "i + 7 : n"])
def test_slices_outside_that_are_not_executed_are_none(part: str, target: str):
    """A call's extents make their numbers known, and nothing more."""
    function = function_of(
        "def f(y, n):\n"
        "    for i in range(n):\n"
        "        if i > 2:\n"
        f"            y[{part}] *= 2\n"
        "    return y\n"
    )
    jitted = gcg.jit(target=target)(function)
    same(jitted(np.arange(8.0), 3), function(np.arange(8.0), 3), 0)
    with pytest.raises((errors.AssertionFailed, errors.NegativeExtent)):
        jitted(np.arange(8.0), 4)
