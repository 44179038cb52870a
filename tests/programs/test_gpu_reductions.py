"""Reductions and chains of a row on the emulated device, held against NumPy and CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpucodegen as gcg
from gpucodegen import errors
from gpucodegen.tiling.machine.gpu import reductions

SHAPES = [(70, 100), (33, 37), (1, 1), (3, 500), (500, 3), (64, 256), (0, 5), (5, 0)]
"""Rows and columns: odd ones, none, and such that vectors fit."""


def reduction(shape: tuple[int, ...], axes: tuple[int, ...], operation: str) -> str:
    """``linalg.reduce`` with one operation of arith on the element type behind it."""
    name, element = operation.split()
    kept = [n for axis, n in enumerate(shape) if axis not in axes]
    whole, rest = (
        f"memref<{'x'.join([*map(str, sizes), element])}>" for sizes in (shape, kept)
    )
    return f"""
func.func @f(%a: {whole}, %s: {rest}) {{
  linalg.reduce ins(%a : {whole}) outs(%s : {rest}) dimensions = {list(axes)}
    (%x: {element}, %y: {element}) {{
      %z = arith.{name} %x, %y : {element}
      linalg.yield %z : {element} }}
  return
}}"""


def launches(program: Any) -> int:
    return len(program.f.executable().kernels)


@pytest.mark.drawn(12)
@pytest.mark.slow
@pytest.mark.sampled(6)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1)])
def test_sums_of_rows_columns_and_all(
    shape: tuple[int, int], axes: tuple[int, ...]
) -> None:
    a = np.random.default_rng(0).integers(-99, 99, shape).astype(np.float32)
    start = np.ones(a.sum(axes).shape, np.float32)
    expected = 1 + a.sum(axes)
    gcg.compile(reduction(shape, axes, "addf f32"), target="sim").f(a, start)
    assert np.array_equal(start, expected)


OPEN_ROWS = """
func.func @f(%n: index, %m: index, %o: index, %k: index, %A: memref<?x?x?x?xi32>,
             %B: memref<?x?x?xi32>) {
  %zero = arith.constant 0 : i32
  affine.for %h = 0 to OUTER {
    affine.for %i = FIRST to MIDDLE step STEP {
      affine.for %j = 0 to INNER {
        %v = affine.for %l = 0 to %k iter_args(%sum = %zero) -> (i32) {
          %x = affine.load %A[%h, %i, %j, %l] : memref<?x?x?x?xi32>
          %s = arith.addi %sum, %x : i32
          affine.yield %s : i32
        }
        affine.store %v, %B[%h, %i, %j] : memref<?x?x?xi32>
      }
    }
  }
  return
}"""


@pytest.mark.slow
@pytest.mark.sampled(2)
@pytest.mark.parametrize("bounds", ["%n %m %o", "2 %m %o", "%n 5 7", "2 %m 7"])
@pytest.mark.parametrize("k", [40, 3])
def test_rows_of_loops_whose_ends_only_a_call_knows(bounds: str, k: int) -> None:
    """A block's number is never divided by an extent: the race proof succeeds."""
    text = OPEN_ROWS.replace("FIRST", "1").replace("STEP", "2")
    for name, bound in zip(("OUTER", "MIDDLE", "INNER"), bounds.split(), strict=True):
        text = text.replace(name, bound)
    a = np.random.default_rng(0).integers(-99, 99, (2, 5, 7, k), np.int32)
    found = np.zeros((2, 5, 7), np.int32)
    gcg.compile(text, target="sim").f(2, 5, 7, k, a, found)
    expected = np.zeros_like(found)
    expected[:, 1::2] = a.sum(-1)[:, 1::2]
    assert np.array_equal(found, expected)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("axes", [(0, 1, 2), (0, 2, 3), (1, 2, 3), (1, 2), (0, 3)])
@pytest.mark.parametrize("last", [20, 33])
def test_sums_over_several_axes(axes: tuple[int, ...], last: int) -> None:
    shape = (9, 3, 5, last)
    a = np.random.default_rng(0).integers(-99, 99, shape).astype(np.int32)
    sums = np.zeros(a.sum(axes).shape, np.int32)
    gcg.compile(reduction(shape, axes, "addi i32"), target="sim").f(a, sums)
    assert np.array_equal(sums, a.sum(axes))


OPERATIONS = {
    "maxsi i8": (np.int8, np.maximum),
    "muli i16": (np.int16, np.multiply),
    "addi i64": (np.int64, np.add),
    "xori i32": (np.int32, np.bitwise_xor),
    "maximumf f16": (np.float16, np.maximum),
    "minimumf f32": (np.float32, np.minimum),
    "minnumf f32": (np.float32, np.fmin),
    "maxnumf f64": (np.float64, np.fmax),
}


@pytest.mark.slow
@pytest.mark.sampled(6)
@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1)])
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.drawn(12)
def test_operations_of_all_widths(operation: str, axes: tuple[int, ...]) -> None:
    kind, combine = OPERATIONS[operation]
    a = np.random.default_rng(0).integers(1, 100, (37, 64)).astype(kind)
    if np.issubdtype(kind, np.floating):
        a[3, 5], a[7, 1], a[7, 2] = np.nan, np.inf, -np.inf
    expected = combine.reduce(a, axis=axes, dtype=kind)
    first = combine.reduce(a[:1, :1], axis=axes, dtype=kind)
    start = np.array(first * np.ones_like(expected))
    expected = combine(expected, start)
    gcg.compile(reduction(a.shape, axes, operation), target="sim").f(a, start)
    np.testing.assert_array_equal(start, expected)


@pytest.mark.slow
def test_a_full_sum_is_two_kernels() -> None:
    text = reduction((1024, 1024), (0, 1), "addf f32")
    program = gcg.compile(text, target="sim")
    a, total = np.ones((1024, 1024), np.float32), np.zeros((), np.float32)
    program.f(a, total)
    assert total == 1 << 20
    assert launches(program) == 2


@pytest.mark.slow
@pytest.mark.parametrize("axes", [(0,), (1,)])
def test_strided_reversed_and_unaligned_arguments(axes: tuple[int, ...]) -> None:
    ty = "memref<?x?xf32, strided<[?, ?], offset: ?>>"
    static = reduction((2, 2), axes, "addf f32")
    text = static.replace("memref<2x2xf32>", ty).replace(
        "memref<2xf32>", "memref<?xf32>"
    )
    whole = np.random.default_rng(0).integers(-9, 9, (40, 64)).astype(np.float32)
    program = gcg.compile(text, target="sim")
    for a in (whole[::-1, ::2], whole[1:, 3:], whole.T, whole[:, ::-1]):
        sums = np.zeros(a.sum(axes).shape, np.float32)
        program.f(a, sums)
        assert np.array_equal(sums, a.sum(axes))


SUM = """
func.func @f(%a: memref<6x4100xf32>, %s: memref<6xf32>) {
  affine.for %i = 0 to 6 {
    affine.for %j = 0 to 4100 {
      %v = affine.load %a[%i, %j] : memref<6x4100xf32>
      %s0 = affine.load %s[%i] : memref<6xf32>
      %s1 = arith.addf %s0, %v : f32
      affine.store %s1, %s[%i] : memref<6xf32>
    }
  }
  return
}"""


@pytest.mark.slow
def test_order_stays_unless_it_is_free_and_long_sums_are_told_of() -> None:
    a = np.random.default_rng(0).random((6, 4100)).astype(np.float32)
    in_order = np.zeros(6, np.float32)
    for column in a.T:
        in_order += column
    sums = np.zeros(6, np.float32)
    with pytest.warns(errors.PossiblySlow, match="reassociate=True"):
        gcg.compile(SUM, target="sim").f(a, sums)
    assert np.array_equal(sums, in_order)
    sums = np.zeros(6, np.float32)
    gcg.compile(SUM, target="sim", reassociate=True).f(a, sums)
    np.testing.assert_allclose(sums, a.sum(1, np.float64), rtol=1e-6)


def softmax(rows: int, columns: int) -> str:
    ty = f"memref<{rows}x{columns}xf32>"
    return f"""
func.func @f(%a: {ty}, %b: {ty}) {{
  linalg.softmax dimension(1) ins(%a : {ty}) outs(%b : {ty})
  return
}}"""


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(200, 100), (150, 37), (140, 1500), (3, 64), (2, 1)])
@pytest.mark.sampled(3)
def test_a_softmax_is_one_kernel_where_its_rows_fill_the_device(
    shape: tuple[int, int],
) -> None:
    a = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    b, program = np.zeros_like(a), gcg.compile(softmax(*shape), target="sim")
    program.f(a, b)
    e = np.exp(a - a.max(1, keepdims=True).astype(np.float64))
    np.testing.assert_allclose(b, e / e.sum(1, keepdims=True), rtol=1e-5)
    assert launches(program) == 1 or shape[0] < 132


LAYERNORM = """
func.func @f(%x: memref<140xLxf32>, %g: memref<Lxf32>, %y: memref<140xLxf32>) {
  %zero = arith.constant 0.0 : f32
  %n = arith.constant L.0 : f32
  %eps = arith.constant 1.0e-5 : f32
  affine.for %i = 0 to 140 {
    %s = affine.for %j = 0 to L iter_args(%p = %zero) -> (f32) {
      %v = affine.load %x[%i, %j] : memref<140xLxf32>
      %q = arith.addf %p, %v : f32
      affine.yield %q : f32
    }
    %m = arith.divf %s, %n : f32
    %t = affine.for %j = 0 to L iter_args(%p = %zero) -> (f32) {
      %v = affine.load %x[%i, %j] : memref<140xLxf32>
      %d = arith.subf %v, %m : f32
      %e = arith.mulf %d, %d : f32
      %q = arith.addf %p, %e : f32
      affine.yield %q : f32
    }
    %var = arith.divf %t, %n : f32
    %ve = arith.addf %var, %eps : f32
    %r = math.rsqrt %ve : f32
    affine.for %j = 0 to L {
      %v = affine.load %x[%i, %j] : memref<140xLxf32>
      %d = arith.subf %v, %m : f32
      %e = arith.mulf %d, %r : f32
      %w = affine.load %g[%j] : memref<Lxf32>
      %h = arith.mulf %e, %w : f32
      affine.store %h, %OUT[%i, %j] : memref<140xLxf32>
    }
  }
  return
}"""


@pytest.mark.parametrize("reassociate", [False, True])
@pytest.mark.parametrize("out", ["y", "x"])
@pytest.mark.parametrize("length", [72, 37])
@pytest.mark.sampled(9)
def test_layernorm_also_in_place(length: int, out: str, reassociate: bool) -> None:
    text = LAYERNORM.replace("xLx", f"x{length}x").replace("L.0", f"{length}.0")
    text = text.replace("<Lx", f"<{length}x").replace("to L", f"to {length}")
    program = gcg.compile(
        text.replace("%OUT", f"%{out}"), target="sim", reassociate=reassociate
    )
    rng = np.random.default_rng(0)
    x = rng.normal(size=(140, length)).astype(np.float32)
    g, y = rng.random(length).astype(np.float32), np.zeros_like(x)
    d = x - x.mean(1, keepdims=True, dtype=np.float64)
    expected = g * d / np.sqrt((d * d).mean(1, keepdims=True) + 1e-5)
    program.f(x, g, y)
    np.testing.assert_allclose({"x": x, "y": y}[out], expected, rtol=1e-3, atol=1e-5)
    assert launches(program) == 1


def argmax(rows: int, length: int, predicate: str) -> str:
    first = "0xFF800000" if "g" in predicate else "0x7F800000"
    return f"""
func.func @f(%a: memref<{rows}x{length}xf32>, %v: memref<{rows}xf32>,
             %p: memref<{rows}xi32>) {{
  %first = arith.constant {first} : f32
  %none = arith.constant -7 : i32
  affine.for %i = 0 to {rows} {{
    %best:2 = affine.for %j = 0 to {length}
        iter_args(%b = %first, %q = %none) -> (f32, i32) {{
      %x = affine.load %a[%i, %j] : memref<{rows}x{length}xf32>
      %taken = arith.cmpf {predicate}, %x, %b : f32
      %k = arith.index_cast %j : index to i32
      %n = arith.select %taken, %x, %b : f32
      %m = arith.select %taken, %k, %q : i32
      affine.yield %n, %m : f32, i32
    }}
    affine.store %best#0, %v[%i] : memref<{rows}xf32>
    affine.store %best#1, %p[%i] : memref<{rows}xi32>
  }}
  return
}}"""


@pytest.mark.drawn(8)
@pytest.mark.slow
@pytest.mark.sampled(12)
@pytest.mark.parametrize("predicate", ["ogt", "oge", "olt", "ole"])
@pytest.mark.parametrize("shape", [(5, 37), (70, 128), (3, 1), (9, 1000)])
def test_argmax_takes_the_place_that_the_loop_takes(
    shape: tuple[int, int], predicate: str
) -> None:
    a = np.random.default_rng(0).integers(0, 9, shape).astype(np.float32)
    a[0, 0], a[1, :], a[2, :] = np.nan, np.nan, -np.inf
    found = []
    for target in ("cpu", "sim"):
        best, place = np.zeros(shape[0], np.float32), np.zeros(shape[0], np.int32)
        gcg.compile(argmax(*shape, predicate), target=target).f(a, best, place)
        found.append((best, place))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


@st.composite
def chains(draw: st.DrawFn) -> tuple[str, tuple[int, int]]:
    """Passes over the rows of two arrays: sums of integers, and what these make."""
    rows, columns = draw(st.integers(1, 140)), draw(st.integers(0, 90))
    ty = f"memref<{rows}x{columns}xi32>"
    body, kept = list[str](), ["%one"]
    for number in range(draw(st.integers(1, 4))):
        source, other = (draw(st.sampled_from("ab")) for _ in "ab")
        given_ = draw(st.sampled_from(kept))
        row = f"%{source}[%i, %j] : {ty}"
        if draw(st.booleans()):
            name, start = draw(
                st.sampled_from([("addi", "%one"), ("maxsi", "%low"), ("xori", "%one")])
            )
            body.append(f"""
    %s{number} = affine.for %j = 0 to {columns} iter_args(%p = {start}) -> (i32) {{
      %v = affine.load {row}
      %w = arith.addi %v, {given_} : i32
      %q = arith.{name} %p, %w : i32
      affine.yield %q : i32
    }}""")
            kept.append(f"%s{number}")
        else:
            body.append(f"""
    affine.for %j = 0 to {columns} {{
      %v = affine.load {row}
      %w = arith.muli %v, {given_} : i32
      affine.store %w, %{other}[%i, %j] : {ty}
    }}""")
    text = f"""
func.func @f(%a: {ty}, %b: {ty}, %s: memref<{rows}xi32>) {{
  %one = arith.constant 1 : i32
  %low = arith.constant -99 : i32
  affine.for %i = 0 to {rows} {{{"".join(body)}
    affine.store {kept[-1]}, %s[%i] : memref<{rows}xi32>
  }}
  return
}}"""
    return text, (rows, columns)


@pytest.mark.sampled(6)
@settings(max_examples=3)
@given(chains())
def test_chains_of_a_row_are_as_on_the_cpu(case: tuple[str, tuple[int, int]]) -> None:
    check_chain(case)


@pytest.mark.slow
@settings(max_examples=12)
@given(chains())
def test_more_chains_of_a_row(case: tuple[str, tuple[int, int]]) -> None:
    check_chain(case)


def check_chain(case: tuple[str, tuple[int, int]]) -> None:
    text, (rows, columns) = case
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-9, 9, (rows, columns)).astype(np.int32) for _ in "ab")
    found = []
    for target in ("cpu", "sim"):
        arguments = a.copy(), b.copy(), np.zeros(rows, np.int32)
        gcg.compile(text, target=target).f(*arguments)
        found.append(arguments)
    for one, other in zip(*found, strict=True):
        assert np.array_equal(one, other)


GATHERED = """
func.func @f(%a: memref<5000xf32>, %at: memref<5000xi32>) -> f32 {
  %zero = arith.constant 0.0 : f32
  %s = affine.for %i = 0 to 5000 iter_args(%t = %zero) -> (f32) {
    %n = affine.load %at[%i] : memref<5000xi32>
    %j = arith.index_cast %n : i32 to index
    %x = memref.load %a[%j] : memref<5000xf32>
    %u = arith.addf %t, %x fastmath<reassoc> : f32
    affine.yield %u : f32
  }
  return %s : f32
}
"""


def test_a_sum_of_gathered_elements_is_no_kernel_of_one_thread() -> None:
    draws = np.random.default_rng(0)
    a = draws.integers(-9, 9, 5000).astype("f4")
    at = draws.integers(0, 5000, 5000).astype("i4")
    program = gcg.compile(GATHERED, target="sim")
    assert program.f(a, at) == a[at].sum()
    first = program.source("f").partition("rt.launch(")[2].partition("\n")[0]
    assert "(1, 1, 1), (1, 1, 1)" not in first


FILLED_AND_GATHERED = """
func.func @f(%at: memref<9xindex>, %out: memref<300xf32>) {
  %one = arith.constant 1.0 : f32
  %a = memref.alloc() : memref<300xf32>
  affine.for %i = 0 to 300 {
    affine.store %one, %a[%i] : memref<300xf32>
  }
  affine.for %i = 0 to 300 {
    affine.for %k = 0 to 9 {
      %j = affine.load %at[%k] : memref<9xindex>
      %x = memref.load %a[%j] : memref<300xf32>
      %s = affine.load %out[%i] : memref<300xf32>
      %t = arith.addf %s, %x : f32
      affine.store %t, %out[%i] : memref<300xf32>
    }
  }
  memref.dealloc %a : memref<300xf32>
  return
}
"""


def test_a_fill_stays_before_loads_at_any_place() -> None:
    at, out = np.arange(9)[::-1] * 33, np.zeros(300, "f4")
    gcg.compile(FILLED_AND_GATHERED, target="sim").f(at, out)
    assert (out == 9).all()


OPEN_LOOPS = """
func.func @f(%a: memref<?x?x?x?xf32>, %s: memref<?x?x?x?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %n = memref.dim %a, %c0 : memref<?x?x?x?xf32>
  %m = memref.dim %a, %c1 : memref<?x?x?x?xf32>
  %h = memref.dim %a, %c2 : memref<?x?x?x?xf32>
  %w = memref.dim %a, %c3 : memref<?x?x?x?xf32>
  affine.for %i = 0 to %n {
    affine.parallel (%j, %k, %l) = (0, 0, 0) to (%m, %h, %w) {
      affine.for %r = 0 to 3 {
        %x = affine.load %s[%i, %j, %k, %l] : memref<?x?x?x?xf32>
        %y = affine.load %a[%i, %j, %k, %l] : memref<?x?x?x?xf32>
        %z = arith.addf %x, %y : f32
        affine.store %z, %s[%i, %j, %k, %l] : memref<?x?x?x?xf32>
      }
    }
  }
  return
}
"""


@pytest.mark.parametrize("specialize", [True, False])
def test_four_loops_of_two_operations(*, specialize: bool) -> None:
    a = np.arange(2 * 3 * 5 * 7, dtype="f4").reshape(2, 3, 5, 7)
    s = np.zeros_like(a)
    gcg.compile(OPEN_LOOPS, target="sim", specialize=specialize).f(a, s)
    assert (s == 3 * a).all()


ODD_ROWS = """func.func @f(%x: memref<3xWxf32>, %y: memref<3xWxf32>,
    %s: memref<3xf32>) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 3 {
    affine.store %zero, %s[%i] : memref<3xf32>
    affine.for %j = 0 to W {
      %a = affine.load %x[%i, %j] : memref<3xWxf32>
      %t = affine.load %s[%i] : memref<3xf32>
      %u = arith.addf %t, %a fastmath<reassoc> : f32
      affine.store %u, %s[%i] : memref<3xf32>
    }
    affine.for %k = 0 to W {
      %a = affine.load %x[%i, %k] : memref<3xWxf32>
      %t = affine.load %s[%i] : memref<3xf32>
      %u = arith.subf %a, %t : f32
      affine.store %u, %y[%i, %k] : memref<3xWxf32>
    }
    affine.for %l = 0 to W {
      %a = affine.load %x[%i, %l] : memref<3xWxf32>
      %t = affine.load %y[%i, %l] : memref<3xWxf32>
      %u = arith.mulf %a, %t : f32
      affine.store %u, %y[%i, %l] : memref<3xWxf32>
    }
  }
  return
}"""


@pytest.mark.parametrize("width", [1025, pytest.param(5001, marks=pytest.mark.slow)])
def test_several_single_elements_of_a_member(
    width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reductions, "KEPT", 0)
    monkeypatch.setattr(reductions, "MOST_PARTS", 1)
    rng = np.random.default_rng(6)
    x = rng.integers(-4, 5, (3, width)).astype("f4")
    y, s = np.zeros_like(x), np.zeros(3, "f4")
    program = gcg.compile(ODD_ROWS.replace("W", str(width)), target="sim")
    program.f(x, y, s)
    np.testing.assert_array_equal(s, x.sum(1))
    np.testing.assert_array_equal(y, x * (x - s[:, None]))
    mapped = dict(program["f"].executable().stages)["map-gpu"]
    loops = [op for op in gcg.parse(mapped).walk() if op.name == "affine.for"]
    loads = [sum(o.name == "affine.load" for o in op.walk()) for op in loops]
    assert max(loads) >= 4
