"""Branches, switches, loops of blocks, recursion and functions as values, in loops."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors
from tests.targets import ALL

# Loops around calls and prints stay on the host of a GPU.
pytestmark = pytest.mark.filterwarnings("ignore::gpucodegen.errors.ElementTransfers")

TARGETS = pytest.mark.parametrize("target", ALL)
SECTIONS = (Path(__file__).parent / "control_flow.mlir").read_text("utf-8")
PROGRAMS = dict(part.split("\n", 1) for part in SECTIONS.split("// ---- ")[1:])


def collatz(x: int) -> int:
    steps = 0
    while x != 1:
        x, steps = (3 * x + 1 if x % 2 else x // 2), steps + 1
    return steps


def fibonacci(n: int) -> int:
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a if n > 0 else n


def two_entries(x: int) -> int:
    """Blocks p and q jump to each other, and both are entered from outside."""
    at_p = x < 3
    while True:
        x += 3 if at_p else 1
        if x > 20:
            return x
        at_p = not at_p


def by_value(f: Callable[[int], int]) -> Callable[[int, int], int]:
    return lambda _, value: f(value)


WANTED: dict[str, Callable[[int, int], int]] = {
    "switch_in_a_function": by_value(lambda v: {0: -1, 5: 20}.get(v, 2 * v)),
    "switch_in_a_region": by_value(lambda v: {-3: -1, 5: 20}.get(v, 2 * v)),
    "index_switch": by_value(lambda v: {0: 10, 5: 50}.get(v, v)),
    "index_switch_without_results": lambda i, v: 7 if i == 2 else v,
    "region_of_blocks": by_value(lambda v: 3 * v if v > 3 else v - 3),
    "region_with_a_loop": by_value(lambda v: collatz(v + 1) if v >= 0 else 0),
    "while": by_value(lambda v: (v + 1).bit_length() - 1),
    "early_return": by_value(lambda v: v if v < 3 else 3 * v),
    "irreducible_blocks": by_value(two_entries),
    "recursion": by_value(fibonacci),
    "mutual_recursion": by_value(lambda v: int(max(v, 0) % 2 == 0)),
    "selected_function": by_value(lambda v: 2 * v if v > 3 else v),
    "passed_function": by_value(lambda v: 2 * v if v > 3 else v),
}
NATURAL = {"region_with_a_loop", "while"}


@TARGETS
@pytest.mark.cases("name", PROGRAMS, parts=3)
@pytest.mark.sampled(18)
def test_programs(name: str, target: str):
    a = np.array([0, 5, 1, 2, 3, 9, 7, -3, 12, 4, 6, 8, 10, 11, 13, 14], np.int32)
    a = abs(a) if name in NATURAL else a
    o = np.zeros(16, np.int32)
    gcg.compile(PROGRAMS[name], target=target).f(a, o)
    assert o.tolist() == [WANTED[name](i, v) for i, v in enumerate(a.tolist())]


DOWN = """
func.func @f(%v: i32) -> i32 {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c = arith.cmpi sle, %v, %c0 : i32
  cf.cond_br %c, ^end, ^deeper
^end:
  return %c0 : i32
^deeper:
  %w = arith.subi %v, %c1 : i32
  %r = func.call @f(%w) : (i32) -> i32
  %s = arith.addi %r, %c1 : i32
  return %s : i32
}"""


@TARGETS
def test_the_limit_of_recursion(target: str):
    program = gcg.compile(DOWN, target=target)
    assert program.f(200) == 200
    with pytest.raises(errors.CallsTooDeep, match=r"nest more than \d+ deep"):
        program.f(10 * sys.getrecursionlimit())


ON_THE_HOST = """
func.func @f(%v: {ty}) -> i32 {{
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  cf.switch %v : {ty}, [default: ^end(%one : i32), {case}: ^end(%two : i32)]
^end(%r: i32):
  return %r : i32
}}"""


@pytest.mark.parametrize(
    ("ty", "case", "value"), [("i32", -3, -3), ("i8", 255, -1), ("i1", 1, True)]
)
def test_switches_on_numbers_of_any_width(ty: str, case: int, value: int):
    program = gcg.compile(ON_THE_HOST.format(ty=ty, case=case), target="cpu")
    assert (program.f(value), program.f(0)) == (2, 1)


def test_asynchronous_regions_are_refused_by_name():
    text = "func.func @f() {\n  %t = async.execute { async.yield }\n  return\n}"
    with pytest.raises(errors.UnknownOperation, match=r"'async\.execute'") as caught:
        gcg.parse(text)
    assert "in its place, without tokens" in str(caught.value)
