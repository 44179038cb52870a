"""Loops that carry values along columns run along rows: same results, same order."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from lowering import apply

import gpucodegen as gcg
from gpucodegen.tiling.machine import locality

A, B, C = 3, 40, 37
TYPE = f"memref<{A}x{B}x{C}xf32>"
HEAD = f"""func.func @f(%x: {TYPE}, %y: {TYPE}) {{
  %zero = arith.constant 0.0 : f32
  %least = arith.constant 0xFF800000 : f32
  affine.for %i = 0 to {A} {{
    affine.for %k = 0 to {C} {{"""
END = "} } return }"


def carried(result: str, start: str, body: str) -> str:
    """A loop over the columns whose ``body`` makes ``%r`` of ``%v`` and ``%t``."""
    return f"""%{result} = affine.for %j = 0 to {B} iter_args(%t = %{start}) -> (f32) {{
        %v = affine.load %x[%i, %j, %k] : {TYPE}
        {body}
        affine.yield %r : f32
      }}"""


def stored(body: str) -> str:
    """A loop over the columns that stores ``%q``, made of ``%v``."""
    return f"""affine.for %j = 0 to {B} {{
        %v = affine.load %x[%i, %j, %k] : {TYPE}
        {body}
        affine.store %q, %y[%i, %j, %k] : {TYPE}
      }}"""


MOST = carried("most", "least", "%r = arith.maximumf %t, %v : f32")
SUM = carried("sum", "zero", "%r = arith.addf %t, %v : f32")
LESS = "%q = arith.subf %v, %{} : f32"
PROGRAMS = {
    "less the largest": MOST + stored(LESS.format("most")),
    "less the mean": SUM
    + f"%n = arith.constant {B}.0 : f32\n %mean = arith.divf %sum, %n : f32\n"
    + stored(LESS.format("mean")),
    "a constant between": SUM
    + "%two = arith.constant 2.0 : f32\n"
    + stored("%d = arith.mulf %v, %two : f32\n %q = arith.subf %d, %sum : f32"),
    "sum of differences": MOST
    + carried(
        "sum",
        "zero",
        "%d = arith.subf %v, %most : f32\n" + "%r = arith.addf %t, %d : f32",
    )
    + "%both = arith.addf %sum, %most : f32\n"
    + stored(LESS.format("both")),
    "one element, then all": SUM
    + f"%e = affine.load %x[%i, 5, %k] : {TYPE}\n"
    + "%w = arith.addf %e, %sum : f32\n"
    + stored("%u = arith.addf %w, %e : f32\n %q = arith.subf %v, %u : f32"),
}


def answer(name: str, x: np.ndarray) -> np.ndarray:
    most = x.max(1, keepdims=True)
    match name:
        case "less the largest":
            return x - most
        case "less the mean":
            return x - x.mean(1, keepdims=True)
        case "a constant between":
            return 2 * x - x.sum(1, keepdims=True)
        case "sum of differences":
            return x - ((x - most).sum(1, keepdims=True) + most)
        case _:
            return x - (x.sum(1, keepdims=True) + 2 * x[:, 5:6])


def innermost(text: str) -> set[str]:
    """The variables of loops without others in them."""
    lines = [line.split() for line in text.splitlines()]
    loops = [at for at, words in enumerate(lines) if "affine.for" in words]
    last = [
        at
        for at, after in zip(loops, [*loops[1:], len(lines)], strict=True)
        if any("}" in words for words in lines[at + 1 : after])
    ]
    return {lines[at][lines[at].index("affine.for") + 1] for at in last}


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", PROGRAMS)
def test_columns_run_along_rows(name: str, threads: int):
    text = HEAD + PROGRAMS[name] + END
    with patch.object(locality, "TALL", 8):
        changed = str(apply(f"improve-locality{{threads={threads}}}", text))
    assert "iter_args" not in changed
    assert innermost(changed) == {"%k"}
    x = np.random.default_rng(2).standard_normal((A, B, C), np.float32)
    y = np.full_like(x, np.nan)
    gcg.compile(changed, target="cpu", threads=threads).f(x, y)
    np.testing.assert_allclose(y, answer(name, x.astype("f8")), rtol=1e-4, atol=2e-5)


COLUMN_SUMS = """func.func @f(%x: memref<{m}x{n}xf32>, %s: memref<{n}xf32>) {{
  %zero = arith.constant 0.0 : f32
  affine.for %j = 0 to {n} {{
    %q = affine.for %i = 0 to {m} iter_args(%t = %zero) -> (f32) {{
      %v = affine.load %x[%i, %j] : memref<{m}x{n}xf32>
      %r = arith.addf %t, %v : f32
      affine.yield %r : f32
    }}
    affine.store %q, %s[%j] : memref<{n}xf32>
  }}
  return
}}"""


@pytest.mark.parametrize("threads", [1, 2])
def test_sums_of_columns_keep_their_order(threads: int):
    x = np.random.default_rng(3).standard_normal((301, 530), np.float32)
    expected, got = np.zeros(530, "f4"), np.full(530, np.nan, "f4")
    for row in x:
        expected += row
    text = COLUMN_SUMS.format(m=301, n=530)
    gcg.compile(text, target="cpu", threads=threads).f(x, got)
    np.testing.assert_array_equal(got, expected)


def test_short_columns_and_several_values_stay():
    short = COLUMN_SUMS.format(m=20, n=530)
    assert "iter_args" in str(apply("improve-locality", short))
    pairs = COLUMN_SUMS.format(m=301, n=530)
    pairs = pairs.replace("%q =", "%q:2 =").replace("%q,", "%q#0,")
    pairs = pairs.replace(
        "(%t = %zero) -> (f32)", "(%t = %zero, %u = %zero) -> (f32, f32)"
    )
    pairs = pairs.replace("yield %r : f32", "yield %r, %v : f32, f32")
    assert "iter_args" in str(apply("improve-locality", pairs))


def test_columns_that_need_each_other_stay():
    text = (
        HEAD.replace("%k = 0", "%k = 1")
        + SUM
        + f"""
      affine.store %sum, %x[%i, 0, %k - 1] : {TYPE}
      affine.store %sum, %x[%i, 1, %k] : {TYPE}"""
        + END
    )
    text = text.replace("%x[%i, %j, %k]", "%x[%i, %j, %k - 1]", 1)
    with patch.object(locality, "TALL", 8):
        assert "iter_args" in str(apply("improve-locality", text))
