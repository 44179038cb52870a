"""Loops over parts of a row: what one writes, the others find, and nothing is lost."""

from __future__ import annotations

import numpy as np
import pytest

import gpucodegen as gcg
from tests.targets import ALL

Part = tuple[int, int, str, str, int]
"""From, to, the array that is read, the one that is written, and a factor."""
ROWS, COLUMNS = 12, 40


def program(parts: list[Part], *, with_sum: bool) -> str:
    """Loops over parts of each row, and a sum along it that a row kernel needs."""
    ty = f"memref<{ROWS}x{COLUMNS}xf32>"
    lines = [
        f"func.func @f(%A: {ty}, %B: {ty}, %C: {ty}, %s: memref<{ROWS}xf32>) {{",
        f"affine.for %i = 0 to {ROWS} {{",
    ]
    for n, (first, last, source, target, factor) in enumerate(parts):
        lines += [
            f"affine.for %j{n} = {first} to {last} {{",
            f"%c{n} = arith.constant {factor}.0 : f32",
            f"%x{n} = affine.load %{source}[%i, %j{n}] : {ty}",
            f"%y{n} = arith.addf %x{n}, %c{n} : f32",
            f"affine.store %y{n}, %{target}[%i, %j{n}] : {ty}",
            "}",
        ]
    if with_sum:
        lines += [
            f"affine.for %k = 0 to {COLUMNS} {{",
            f"%v = affine.load %A[%i, %k] : {ty}",
            f"%t = affine.load %s[%i] : memref<{ROWS}xf32>",
            "%u = arith.addf %t, %v fastmath<reassoc> : f32",
            f"affine.store %u, %s[%i] : memref<{ROWS}xf32>",
            "}",
        ]
    return "\n".join([*lines, "}", "return", "}"])


def check(parts: list[Part], *, with_sum: bool) -> None:
    text = program(parts, with_sum=with_sum)
    shape = (ROWS, COLUMNS)
    found: dict[str, list[np.ndarray]] = {}
    for target in ("interp", *ALL):
        draws = np.random.default_rng(5)
        arrays = [draws.integers(-9, 9, shape).astype(np.float32) for _ in range(3)]
        found[target] = [*arrays, np.zeros(ROWS, np.float32)]
        gcg.compile(text, target=target).f(*found[target])
    for target in ALL:
        same = map(np.array_equal, found["interp"], found[target])
        assert all(same), f"{target}: {parts}"


CASES: dict[str, list[Part]] = {
    "peeled": [(0, 2, "A", "B", 1), (2, 38, "A", "B", 1), (38, 40, "A", "B", 1)],
    "the second writes less": [(0, 40, "A", "B", 1), (0, 10, "A", "B", 2)],
    "the second reads more": [(0, 10, "A", "B", 1), (0, 40, "B", "C", 2)],
    "the second reads later": [(0, 30, "A", "B", 1), (8, 40, "B", "C", 2)],
    "written again from another start": [(2, 40, "A", "B", 1), (0, 38, "A", "B", 2)],
    "one range": [(4, 36, "A", "B", 1), (4, 36, "B", "B", 2), (4, 36, "B", "C", 3)],
}


@pytest.mark.slow
@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", CASES)
def test_parts_of_a_row(name: str) -> None:
    for with_sum in (False, True):
        check(CASES[name], with_sum=with_sum)
