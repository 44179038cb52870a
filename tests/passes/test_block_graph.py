"""Graphs of blocks made smaller compute what they computed."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lowering import apply, function, names

BLOCKS = 5
Jump = tuple[str, int, int]
"""A condition, and where to go if it holds and if not."""


@st.composite
def graphs(draw: st.DrawFn) -> list[Jump]:
    """Jumps forward from every block but the last, on conditions some are known of."""
    return [
        (
            draw(st.sampled_from(["%yes", "%no", "%p"])),
            draw(st.integers(number + 1, BLOCKS - 1)),
            draw(st.integers(number + 1, BLOCKS - 1)),
        )
        for number in range(BLOCKS - 1)
    ]


def text_of(jumps: list[Jump]) -> str:
    """Every block triples a number and adds the argument."""
    lines = ["func.func @f(%v0: i64, %p: i1) -> i64 {"]
    lines += ["%yes = arith.constant true", "%c2 = arith.constant 2 : i64"]
    lines += ["%c3 = arith.constant 3 : i64", "%no = arith.cmpi sge, %c2, %c3 : i64"]
    for n, (condition, one, other) in enumerate(jumps):
        lines += [f"^b{n}(%v{n}: i64):"] if n else []
        lines.append(f"%w{n} = arith.muli %v{n}, %c3 : i64")
        lines.append(f"%u{n} = arith.addi %w{n}, %v0 : i64")
        targets = ", ".join(f"^b{target}(%u{n} : i64)" for target in (one, other))
        lines.append(f"cf.cond_br {condition}, {targets}")
    last = len(jumps)
    return "\n".join(
        [*lines, f"^b{last}(%v{last}: i64):", f"return %v{last} : i64", "}"]
    )


def answer(jumps: list[Jump], x: int, *, p: bool) -> int:
    at, value = 0, x
    while at < len(jumps):
        condition, one, other = jumps[at]
        value = 3 * value + x
        at = one if {"%yes": True, "%no": False, "%p": p}[condition] else other
    return value


@pytest.mark.sampled(8)
@settings(max_examples=25, database=None, derandomize=True, deadline=None)
@given(graphs(), st.integers(-5, 5), st.booleans())
def test_the_answer_is_kept(jumps: list[Jump], x: int, p: bool):
    smaller = apply("canonicalize", text_of(jumps))
    assert function(smaller)(x, p) == answer(jumps, x, p=p)
    assert names(smaller).count("cf.cond_br") <= sum(c == "%p" for c, _, _ in jumps)


def test_a_decided_branch_leaves_one_block():
    text = """
    func.func @f(%x: i64) -> i64 {
      %a = arith.constant 1 : i64
      %b = arith.constant 2 : i64
      %c = arith.cmpi slt, %a, %b : i64
      cf.cond_br %c, ^then(%a : i64), ^end(%x : i64)
    ^then(%y: i64):
      %z = arith.addi %x, %y : i64
      cf.br ^end(%z : i64)
    ^end(%r: i64):
      return %r : i64
    }"""
    left = names(apply("canonicalize", text))
    assert left[2:] == ["arith.constant", "arith.addi", "func.return"]


def test_a_block_that_loops_to_itself_stays():
    text = """
    func.func @f(%x: i64) -> i64 {
      %one = arith.constant 1 : i64
      cf.br ^again(%x : i64)
    ^again(%y: i64):
      %z = arith.addi %y, %one : i64
      %c = arith.cmpi slt, %z, %one : i64
      cf.cond_br %c, ^again(%z : i64), ^end
    ^end:
      return %z : i64
    }"""
    assert function(apply("canonicalize", text))(-4) == 1
