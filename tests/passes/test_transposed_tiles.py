"""Transpositions run in tiles: every element arrives, at any width and any extents."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from vector_runs import CACHES, WIDTHS, kernel, run, vectorized

import gpucodegen as gcg

RNG = np.random.default_rng(5)
KINDS = {"f32": np.float32, "f64": np.float64, "i32": np.int32}
EXTENTS = st.integers(1, 36)
Shape = tuple[int, int]
Order = tuple[bool, bool]
How = tuple[int, int, str]


def nest(rows: int, columns: int, ty: str, *, gathers: bool, adds: bool) -> str:
    """``z[j][i + 1] = x[i + 1][j] (+ y[j][i])``, loops in either order."""
    x = f"memref<{rows + 1}x{columns}x{ty}>"
    y, z = (f"memref<{columns}x{rows + n}x{ty}>" for n in (0, 1))
    loops = [("%i", rows), ("%j", columns)]
    (a, m), (b, n) = loops[::-1] if gathers else loops
    op = "addi" if ty == "i32" else "addf"
    other = f"%b = affine.load %y[%j, %i] : {y}\n%r = arith.{op} %a, %b : {ty}"
    return f"""affine.for {a} = 0 to {m} {{
      affine.for {b} = 0 to {n} {{
        %a = affine.load %x[%i + 1, %j] : {x}
        {other if adds else ""}
        affine.store {"%r" if adds else "%a"}, %z[%j, %i + 1] : {z}
      }}
    }}"""


def check(shape: Shape, ty: str, order: Order, how: How) -> None:
    (m, n), (gathers, adds), (bits, cache, target) = shape, order, how
    arguments = (
        f"%x: memref<{m + 1}x{n}x{ty}>, %y: memref<{n}x{m}x{ty}>,"
        f" %z: memref<{n}x{m + 1}x{ty}>"
    )
    body = nest(m, n, ty, gathers=gathers, adds=adds)
    module = vectorized(kernel(arguments, body, target), bits, cache)
    lanes = bits // (64 if ty == "f64" else 32)
    assert ("vector.transpose" in str(module)) == (min(m, n) >= lanes)
    x, y = ((100 * RNG.random(s)).astype(KINDS[ty]) for s in ((m + 1, n), (n, m)))
    z = np.full((n, m + 1), -1, KINDS[ty])
    run(module, target, x, y, z)
    np.testing.assert_array_equal(z[:, 1:], x[1:].T + y if adds else x[1:].T)
    assert (z[:, 0] == -1).all()


SHAPES = st.tuples(EXTENTS, EXTENTS)
ORDERS = st.tuples(st.booleans(), st.booleans())
TYPES = st.sampled_from(sorted(KINDS))


@pytest.mark.sampled(5)
@settings(max_examples=8, deadline=None, phases=[Phase.generate])
@given(SHAPES, TYPES, ORDERS, st.tuples(WIDTHS, CACHES, st.just("sim")))
def test_on_the_emulated_device(shape: Shape, ty: str, order: Order, how: How):
    check(shape, ty, order, how)


def test_a_single_column_whose_rows_are_consecutive():
    check((35, 1), "f32", (True, False), (512, 0, "sim"))


@pytest.mark.slow
@settings(max_examples=3, deadline=None, phases=[Phase.generate])
@given(SHAPES, TYPES, ORDERS, st.tuples(WIDTHS, CACHES, st.just("cpu")))
def test_on_the_processor(shape: Shape, ty: str, order: Order, how: How):
    check(shape, ty, order, how)


PERMUTED = """func.func @f(%x: memref<{source}xf32>, %y: memref<{target}xf32>) {{
  linalg.transpose ins(%x : memref<{source}xf32>) outs(%y : memref<{target}xf32>)
      permutation = {order}
  return
}}"""


@pytest.mark.sampled(4)
@pytest.mark.parametrize("order", [(1, 0), (2, 0, 1), (0, 2, 1), (0, 2, 3, 1)])
def test_permutations(order: tuple[int, ...]):
    shape = (33, 50, 20, 18)[: len(order)]
    target = tuple(shape[d] for d in order)
    text = PERMUTED.format(
        source="x".join(map(str, shape)),
        target="x".join(map(str, target)),
        order=list(order),
    )
    x, y = RNG.random(shape, np.float32), np.zeros(target, np.float32)
    gcg.compile(text, target="cpu", threads=2).f(x, y)
    np.testing.assert_array_equal(y, x.transpose(order))


@pytest.mark.slow
@pytest.mark.sampled(3)
@pytest.mark.parametrize(("m", "n"), [(1408, 1041), (1405, 1041), (18, 90001)])
def test_large_ones_go_past_the_caches_from_any_address(m: int, n: int):
    text = PERMUTED.format(source=f"{m}x{n}", target=f"{n}x{m}", order=[1, 0])
    program = gcg.compile(text, target="cpu", threads=2)
    x = RNG.random((m, n), np.float32)
    for shift in (0, 3):
        memory = np.full(m * n + 8, -1, np.float32)
        y = memory[shift : shift + m * n].reshape(n, m)
        program.f(x, y)
        np.testing.assert_array_equal(y, x.T)
        assert (memory[:shift] == -1).all()
        assert (memory[shift + m * n :] == -1).all()


def test_what_depends_on_itself_stays():
    text = """func.func @f(%x: memref<32x32xf32>) {
      affine.for %i = 0 to 32 {
        affine.for %j = 0 to 32 {
          %a = affine.load %x[%j, %i] : memref<32x32xf32>
          affine.store %a, %x[%i, %j] : memref<32x32xf32>
        }
      }
      return
    }"""
    assert "vector.transpose" not in str(vectorized(text))


def test_bands_stay():
    """The inner loop moves with the outer one: no rectangle of iterations."""
    text = """func.func @f(%x: memref<96x32xf32>, %y: memref<32x96xf32>) {
      affine.for %i = 0 to 32 {
        affine.for %j = affine_map<(d0) -> (d0)>(%i)
            to affine_map<(d0) -> (d0 + 64)>(%i) {
          %a = affine.load %x[%j, %i] : memref<96x32xf32>
          affine.store %a, %y[%i, %j] : memref<32x96xf32>
        }
      }
      return
    }"""
    assert "vector.transpose" not in str(vectorized(text))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("place", ["%i + 1", "%i + %p"])
def test_rows_that_begin_anywhere_in_a_line(place: str):
    body = f"""affine.for %k = 0 to 2 {{
      affine.for %j = 0 to 20 {{
        affine.for %i = 0 to 400 {{
          %a = affine.load %x[%i, %j] : memref<400x20xf32>
          %p = affine.apply affine_map<(d0) -> (d0 * 3 + 1)>(%k)
          affine.store %a, %z[%k, %j, {place}] : memref<2x20x405xf32>
        }}
      }}
    }}"""
    arguments = "%x: memref<400x20xf32>, %z: memref<2x20x405xf32>"
    module = vectorized(kernel(arguments, body, "sim"), 256, cache=0)
    assert "nontemporal" not in str(module)
    x, z = RNG.random((400, 20), np.float32), np.full((2, 20, 405), -1, np.float32)
    run(module, "sim", x, z)
    for k in range(2):
        first = 1 + 3 * k * ("%p" in place)
        np.testing.assert_array_equal(z[k, :, first : first + 400], x.T)
        assert (z[k, :, :first] == -1).all()
        assert (z[k, :, first + 400 :] == -1).all()
