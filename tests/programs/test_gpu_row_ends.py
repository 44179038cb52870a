"""Rows of which a block has several: their ends are stored together."""

from __future__ import annotations

import numpy as np
import pytest

import gpucodegen as gcg
from tests.programs.test_gpu_reductions import reduction


def scaled_sums(shape: tuple[int, ...], element: str) -> str:
    """``s[..] = (s[..] + the sum of a row) * w[last]``, and the sum itself in ``t``."""
    rows = shape[:-1]
    kind = "f" if element[0] in "fb" else "i"
    ivs = [f"%i{n}" for n in range(len(rows))]
    at = ", ".join(ivs)
    whole = f"memref<{'x'.join(map(str, shape))}x{element}>"
    sums = f"memref<{'x'.join(map(str, rows))}x{element}>"
    scales = f"memref<{rows[-1]}x{element}>"
    free = "fastmath<reassoc>" if kind == "f" else ""
    loops = "\n".join(
        f"affine.for {iv} = 0 to {n} {{" for iv, n in zip(ivs, rows, strict=True)
    )
    return f"""func.func @f(%a: {whole}, %w: {scales}, %s: {sums}, %t: {sums}) {{
  {loops}
    %first = affine.load %s[{at}] : {sums}
    %sum = affine.for %j = 0 to {shape[-1]} iter_args(%p = %first) -> ({element}) {{
      %v = affine.load %a[{at}, %j] : {whole}
      %q = arith.add{kind} %p, %v {free} : {element}
      affine.yield %q : {element}
    }}
    affine.store %sum, %t[{at}] : {sums}
    %x = affine.load %w[{ivs[-1]}] : {scales}
    %y = arith.mul{kind} %sum, %x : {element}
    affine.store %y, %s[{at}] : {sums}
  {"}" * len(rows)}
  return
}}"""


SHAPES = [(64, 40), (61, 33), (3, 16, 24), (3, 7, 24), (1, 40), (9, 1), (0, 5), (9, 0)]
TYPES = {"f32": "f4", "f16": "f2", "f64": "f8", "i8": "i1", "i64": "i8"}


@pytest.mark.sampled(42)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("element", TYPES)
def test_ends_of_rows_are_done_together(shape: tuple[int, ...], element: str) -> None:
    rng, kind = np.random.default_rng(0), TYPES[element]
    a = rng.integers(-2, 3, shape).astype(kind)
    w = rng.integers(-2, 3, shape[-2]).astype(kind)
    s = rng.integers(-2, 3, shape[:-1]).astype(kind)
    t = np.zeros_like(s)
    sums = s + a.sum(-1, dtype=kind)
    gcg.compile(scaled_sums(shape, element), target="sim").f(a, w, s, t)
    np.testing.assert_array_equal(t, sums)
    np.testing.assert_array_equal(s, sums * w)


def test_a_sum_of_each_row_reads_and_writes_sixteen_bytes_of_results() -> None:
    a, s = np.ones((2048, 64), "f4"), np.ones(2048, "f4")
    program = gcg.compile(reduction(a.shape, (1,), "addf f32"), target="sim")
    program.f(a, s)
    assert np.array_equal(s, np.full(2048, 65, "f4"))
    mapped = dict(program.f.executable().stages)["map-gpu"]
    (store,) = [x for x in mapped.splitlines() if ".store" in x and "2048" in x]
    assert "vector<4xf32>" in store


@pytest.mark.sampled(3)
@pytest.mark.parametrize("start", [0, 1, 3])
def test_ends_of_rows_at_any_address(start: int) -> None:
    text = reduction((70, 33), (1,), "addf f32")
    a = np.random.default_rng(0).integers(-9, 9, (70, 33)).astype("f4")
    s = np.zeros(80, "f4")[start : start + 70]
    gcg.compile(text, target="sim").f(a, s)
    assert np.array_equal(s, a.sum(1))


def normalised(rows: int, columns: int, result: str) -> str:
    """Rows over their means, times a weight, plus a shift; to ``result``."""
    row, whole = f"memref<{columns}xf32>", f"memref<{rows}x{columns}xf32>"
    return f"""func.func @f(%x: {whole}, %w: {row}, %s: {row}, %y: {whole}) {{
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to {rows} {{
    %sum = affine.for %j = 0 to {columns} iter_args(%t = %zero) -> (f32) {{
      %v = affine.load %x[%i, %j] : {whole}
      %r = arith.addf %t, %v fastmath<reassoc> : f32
      affine.yield %r : f32
    }}
    affine.for %j = 0 to {columns} {{
      %v = affine.load %x[%i, %j] : {whole}
      %w0 = affine.load %w[%j] : {row}
      %s0 = affine.load %s[%j] : {row}
      %d = arith.subf %v, %sum : f32
      %e = arith.mulf %d, %w0 : f32
      %r = arith.addf %e, %s0 : f32
      affine.store %r, {result}[%i, %j] : {whole}
    }}
  }}
  return
}}"""


@pytest.mark.slow
@pytest.mark.parametrize("result", ["%x", "%y"])
@pytest.mark.parametrize("columns", [1024, 200, 1000])
@pytest.mark.sampled(3)
def test_what_is_not_written_is_read_before_the_stores(
    columns: int, result: str
) -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(-2, 3, (132, columns)).astype("f4")
    w, s = rng.integers(-2, 3, (2, columns)).astype("f4")
    y = np.zeros_like(x)
    want = (x - x.sum(1)[:, None]) * w + s
    program = gcg.compile(normalised(132, columns, result), target="sim")
    program.f(x, w, s, y)
    np.testing.assert_array_equal(x if result == "%x" else y, want)
    mapped = dict(program.f.executable().stages)["map-gpu"].splitlines()
    stores = [n for n, line in enumerate(mapped) if ".store" in line]
    loads = [n for n, line in enumerate(mapped) if ".load %w" in line]
    assert max(loads) < min(stores)
