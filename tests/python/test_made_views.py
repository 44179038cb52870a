"""Random programs of NumPy whose variables are views of one another, bound anew."""

from __future__ import annotations

import random
import warnings
from copy import deepcopy
from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors
from tests.python.programs_of_numpy import function_of, same

VALUES = (
    "{a}[::-1]",
    "{a}[1:5]",
    "{a}[:4] + {b}[-4:]",
    "{a} * 2",
    "{a}[n : n + 3]",
    "np.where({a} > 1, {a}, 0.5)",
    "{a}.copy()",
    "np.concatenate(({a}, {b}))[:6]",
    "{a}[::2]",
    "{a}",
)


def program(seed: int) -> str:
    """A function of two arrays and a number; ``z`` is a third array."""
    choose = random.Random(seed)
    lines = ["def f(x, y, n):"]

    def value(names: str) -> str:
        a, b = (choose.choice(names) for _ in range(2))
        return choose.choice(VALUES).format(a=a, b=b)

    def statement(depth: int, left: int) -> None:
        def add(text: str) -> None:
            lines.append("    " * depth + text)

        kind = choose.random() if left else 0.5 + choose.random() / 2
        name = choose.choice("xyz")
        if kind < 0.25:
            add(f"for i{depth} in range({choose.choice(['n', '2', '3'])}):")
            for _ in range(choose.randint(1, 2)):
                statement(depth + 1, left - 1)
        elif kind < 0.5:
            add(f"if {choose.choice(['n > 1', 'x[0] > 1', 'n % 2 == 0'])}:")
            statement(depth + 1, left - 1)
            if choose.random() < 0.5:
                add("else:")
                statement(depth + 1, left - 1)
        elif kind < 0.7:
            add(f"{name} = {value('xyz')}")
        elif kind < 0.85:
            add(f"{name}[{choose.choice(['0', '-1', '1'])}] += n")
        else:
            add(f"for j in range(len({name})): {name}[j] = {name}[j] * 0.5 + j")

    lines.append(f"    z = {value('xy')}")
    for _ in range(choose.randint(2, 4)):
        statement(1, 2)
    return "\n".join([*lines, "    return x * 1, y * 1, z * 1", ""])


def check(seed: int, target: str) -> bool:
    """Compare one program with NumPy; whether it ran, and was not refused."""
    function = function_of(program(seed))
    ran = False
    for count in range(4):
        arguments: tuple[Any, ...] = np.arange(8.0) - 2, np.linspace(0.5, 3, 8), count
        ours = deepcopy(arguments)
        try:
            expected = function(*arguments)
        except (IndexError, ValueError):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", errors.CodegenWarning)
            try:
                found = gcg.jit(target=target)(function)(*ours)
            except errors.Error:
                continue
        same(found, expected, 1e-12)
        same(ours, arguments, 1e-12)
        ran = True
    return ran


def test_some_programs():
    assert sum(check(seed, "interp") for seed in (3, 10, 31, 55)) >= 2


@pytest.mark.slow
@pytest.mark.parametrize(("target", "seeds"), [("interp", 50), ("cpu", 12), ("sim", 6)])
def test_programs(target: str, seeds: int):
    assert sum(check(1000 + seed, target) for seed in range(seeds)) > seeds / 2


@pytest.mark.parametrize(
    "body",
    [
        "z = x\n    for i in range(n):\n        z[0] += 1\n        x = x.copy()",
        "z = x\n    for i in range(n):\n        x = x + 1\n    z[1] = 9",
        "z = x[:4]\n    for i in range(n):\n        x = x + z[0]\n        z[0] = 3",
    ],
)
@pytest.mark.parametrize("count", [0, 2])
def test_the_array_before_the_loop_has_another_name(body: str, count: int):
    """Its elements are read in the first iteration, and behind a loop without any."""
    function = function_of(f"def f(x, n):\n    {body}\n    return x * 1, z * 1\n")
    expected = function(np.arange(6.0), count)
    same(gcg.jit(target="interp")(function)(np.arange(6.0), count), expected, 0)


@pytest.mark.parametrize("part", ["y[1:5]", "y[n:]", "y[:-4]", "y[5::-1]"])
def test_a_slice_of_a_part_that_ends_outside_of_it_is_refused(part: str):
    """Python would cut it; the elements behind the part are those of another one."""
    function = function_of(
        f"def f(x, n):\n    y = x[: n - 1]\n    return {part} * 1, len({part})\n"
    )
    jitted = gcg.jit(target="cpu")(function)
    with pytest.raises(errors.AssertionFailed, match="ends outside of its array"):
        jitted(np.arange(12.0), 4)
    if part != "y[n:]":
        same(jitted(np.arange(12.0), 8), function(np.arange(12.0), 8), 0)
