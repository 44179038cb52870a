"""Names that text uses again: one for each value; the values are those of Python."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

import numba
import pytest
from numba.core import compiler, ir

from gpucodegen.intrinsics.framework.pipeline import KernelCompiler, ValueNames


def in_a_row(n: int) -> float:
    x = n + 1
    y = x * 2
    x = x * 0.5
    y = y + x
    x = y
    return x * 1.0


def in_loops(n: int) -> float:
    total = 0.0
    for i in range(n):
        v = i * 3
        total = total + v
        v = total * 0.25
        total = total - v
    for i in range(n):
        v = i / 2
        v = v + v
        total = total + v
    return total


def in_branches(n: int) -> float:
    v = n
    if n > 2:
        v = v * 2
        w = v + 0.5
        w = w * w
    else:
        v = v - 1
        w = v * 1.0
    return v + w


def before_a_loop(n: int) -> float:
    last = 1.5
    for i in range(n):
        kept = last
        last = i * 2.0
        last = last + kept
    return last


def of_two_types(n: int) -> float:
    v = n + 1
    if n > 2:
        v = v * 2
    whole = v // 2
    v = 0.5
    if n > 1:
        v = v + whole
    return v


FUNCTIONS = (of_two_types, in_a_row, in_loops, in_branches, before_a_loop)


@pytest.mark.sampled(2)
@pytest.mark.cases("function", FUNCTIONS)
def test_values_are_those_of_python(function: Any) -> None:
    compiled = numba.njit(pipeline_class=KernelCompiler)(function)
    for n in (0, 1, 2, 3, 7):
        assert compiled(n) == function(n)


def assigned(function: Any) -> Counter[str]:
    """How often the pass leaves each variable assigned."""
    read: Any = vars(compiler)["run_frontend"](function)
    ValueNames().run_pass(SimpleNamespace(func_ir=read))
    return Counter(
        each.target.name
        for block in read.blocks.values()
        for each in block.body
        if isinstance(each, ir.Assign)
    )


def test_each_value_of_one_block_has_a_name() -> None:
    counts = assigned(in_a_row)
    assert max(counts.values()) == 1
    assert {"x", "x.1", "x.2", "y", "y.1"} <= set(counts)


def test_what_blocks_hand_on_keeps_its_name() -> None:
    counts = assigned(in_loops)
    assert counts["total"] == 3
    assert counts["total.1"] == 1
    assert counts["v"] == 1
    assert assigned(before_a_loop)["last"] == 2


def test_values_that_never_meet_have_names_of_their_own() -> None:
    counts = assigned(of_two_types)
    assert counts["v"] == counts["v.1"] == 2
