"""Counted `scf.while` loops become `scf.for`, others stay."""

from __future__ import annotations

import pytest

import gpucodegen as gcg
from gpucodegen.passes.prepare.uplift_while import UpliftWhile


def text(
    condition: str = "slt, %i, %n", step: int = 1, ty: str = "i32", bound: str = ""
) -> str:
    limit = f"%n = arith.constant {bound} : {ty}" if bound else ""
    return f"""func.func @f(%l: {ty}, %{"m" if bound else "n"}: {ty}, %x: i64)
        -> ({ty}, {ty}, i64) {{
      %by = arith.constant {step} : {ty}
      %two = arith.constant 2 : i64
      {limit}
      %r:4 = scf.while (%i = %l, %j = %l, %y = %x, %k = %two)
          : ({ty}, {ty}, i64, i64) -> ({ty}, {ty}, i64, i64) {{
        %goes_on = arith.cmpi {condition} : {ty}
        scf.condition(%goes_on) %i, %j, %y, %k : {ty}, {ty}, i64, i64
      }} do {{
      ^bb0(%i: {ty}, %j: {ty}, %y: i64, %k: i64):
        %ni = arith.addi %i, %by : {ty}
        %nj = arith.addi %by, %j : {ty}
        %w = arith.muli %y, %k : i64
        %s = arith.extsi %j : {ty} to i64
        %z = arith.addi %w, %s : i64
        scf.yield %ni, %nj, %z, %k : {ty}, {ty}, i64, i64
      }}
      return %r#0, %r#1, %r#2 : {ty}, {ty}, i64
    }}"""


def loops(program: str) -> list[str]:
    walked = UpliftWhile().apply(gcg.parse(program)).walk()
    return [op.name for op in walked if op.name in ("scf.for", "scf.while")]


def counted(first: int, last: int, step: int, x: int) -> tuple[int, int, int]:
    while first < last:
        x = 2 * x + first
        first += step
    return first, first, x


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("program", "step"),
    [
        (text(), 1),
        (text("sgt, %n, %i"), 1),
        (text(step=3, bound="11"), 3),
        (text(ty="i8"), 1),
        (text(ty="i8", step=5, bound="123"), 5),
    ],
)
def test_counted_loops(program: str, step: int) -> None:
    assert loops(program) == ["scf.for"]
    last = {5: 123, 3: 11}.get(step, 9)
    run = gcg.compile(program, target="cpu").f
    for first in (-4, 0, last, last + 2):
        found = tuple(map(int, run(first, last, 1)))
        assert found == counted(first, last, step, 1), first


@pytest.mark.parametrize(
    "program",
    [
        text(step=2),  # the sum may wrap
        text(ty="i8", step=5, bound="124"),
        text("ne, %i, %n"),
        text("ult, %i, %n"),
        text("slt, %i, %j"),
        text("slt, %n, %i"),
        text(step=-1),
        text().replace("%i, %j, %y, %k : i32", "%j, %i, %y, %k : i32", 1),
    ],
)
def test_other_loops_stay(program: str) -> None:
    assert loops(program) == ["scf.while"]


def test_a_value_that_stays_is_not_carried() -> None:
    module = UpliftWhile().apply(gcg.parse(text(step=2)))
    (loop,) = (op for op in module.walk() if op.name == "scf.while")
    assert len(loop.operands) == 3
