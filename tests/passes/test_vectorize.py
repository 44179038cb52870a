"""Vectorised loops compute what the loops computed, bit for bit, at any width."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from vector_programs import Nest, nests
from vector_runs import CACHES, WIDTHS, kernel, run, vectorized

import gpucodegen as gcg
from gpucodegen.passes.vectorize.vectorize import Vectorize
from gpucodegen.runtime.processor import AVX2_SMALL, stated

RNG = np.random.default_rng(11)


def result(nest: Nest, module: gcg.Module, target: str, values: list[Any]) -> Any:
    """What a kernel leaves in ``z``."""
    x, y, u, z, s = (v.copy() for v in values)
    run(module, target, x, y, u, z, s[0].item(), nest.last)
    return z


@pytest.mark.sampled(10)
@settings(max_examples=12, deadline=None, phases=[Phase.generate])
@given(nests(), WIDTHS, CACHES)
def test_on_the_emulated_device(nest: Nest, bits: int, cache: int):
    values = nest.values(RNG)
    module = vectorized(kernel(nest.arguments, nest.kernel(), "sim"), bits, cache)
    got = result(nest, module, "sim", values)
    np.testing.assert_array_equal(got, nest.expected(values))


@pytest.mark.slow
@settings(max_examples=4, deadline=None, phases=[Phase.explicit, Phase.generate])
@given(nests(), WIDTHS, CACHES)
def test_on_the_processor_as_without_vectors(nest: Nest, bits: int, cache: int):
    """Scalars are the measure: the compiler contracts products and sums of both."""
    values = nest.values(RNG)
    text = kernel(nest.arguments, nest.kernel(), "cpu")
    got = result(nest, vectorized(text, bits, cache), "cpu", values)
    np.testing.assert_array_equal(got, result(nest, gcg.parse(text), "cpu", values))


COUNTING = """func.func @f(%A: memref<?x40xi32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %A, %c0 : memref<?x40xi32>
  affine.for %i = 0 to %n {
    affine.for %j = 1 to min affine_map<(d0) -> (d0 + 1, 40)>(%i) {
      %k = affine.apply affine_map<(d0) -> (2 * d0 + 3)>(%j)
      %l = arith.addi %k, %j : index
      %m = arith.index_cast %l : index to i32
      affine.store %m, %A[%i, %j - 1] : memref<?x40xi32>
    }
  }
  return
}"""


@pytest.mark.parametrize("threads", [1, 2])
def test_triangles_of_positions(threads: int):
    a = np.full((50, 40), -1, np.int32)
    program = gcg.compile(COUNTING, target="cpu", threads=threads)
    program.f(a)
    want = np.full((50, 40), -1, np.int32)
    for i in range(50):
        for j in range(1, min(i + 1, 40)):
            want[i, j - 1] = 3 * j + 3
    np.testing.assert_array_equal(a, want)
    assert "vector.create_mask" in program.stages("f")[-1][1]


LINE = """func.func @f(%A: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %A, %c0 : memref<?xf64>
  affine.parallel (%i) = (0) to (%n) {
    %a = affine.load %A[%i] : memref<?xf64>
    %r = math.sqrt %a : f64
    affine.store %r, %A[%i] : memref<?xf64>
  }
  return
}"""


@pytest.mark.slow
@pytest.mark.cases("count", [0, 1, 7, 8, 4097, 40001])
@pytest.mark.cases("specialize", [True, False])
def test_threads_take_blocks_of_a_line(count: int, specialize: bool):
    a = RNG.random(count)
    want = np.sqrt(a)
    program = gcg.compile(LINE, target="cpu", threads=2, specialize=specialize)
    program.f(a)
    np.testing.assert_array_equal(a, want)


def loop(body: str, ty: str = "memref<64xf32>", step: int = 1) -> str:
    return f"""func.func @f(%A: {ty}, %B: {ty}, %a: f32) {{
      affine.for %i = 1 to 60 step {step} {{
        {body}
      }}
      return
    }}"""


STAYING = {
    "iterations depend on each other": loop(
        """%x = affine.load %A[%i - 1] : memref<64xf32>
        affine.store %x, %A[%i] : memref<64xf32>"""
    ),
    "the store does not move": loop("affine.store %a, %A[0] : memref<64xf32>"),
    "elements are apart": loop("affine.store %a, %A[%i] : memref<64xf32>", step=2),
    "a stride of two": loop(
        """%x = affine.load %B[%i * 2] : memref<640xf32>
        affine.store %x, %A[%i] : memref<640xf32>""",
        "memref<640xf32>",
    ),
    "rows that are apart": loop(
        "affine.store %a, %A[%i, 0] : memref<64x9xf32>", "memref<64x9xf32>"
    ),
    "indices wrap around": loop(
        """%x = affine.load %B[%i mod 7] : memref<64xf32>
        affine.store %x, %A[%i] : memref<64xf32>"""
    ),
    "no processor divides integers in vectors": loop(
        """%x = affine.load %B[%i] : memref<64xi32>
        %y = arith.divsi %x, %x : i32
        affine.store %y, %A[%i] : memref<64xi32>""",
        "memref<64xi32>",
    ),
    "elements without a vector": loop(
        """%x = affine.load %B[%i] : memref<64xf8E4M3FN>
        affine.store %x, %A[%i] : memref<64xf8E4M3FN>""",
        "memref<64xf8E4M3FN>",
    ),
}


@pytest.mark.cases("reason", STAYING)
def test_what_stays(reason: str):
    text = STAYING[reason]
    assert str(vectorized(text)) == str(gcg.parse(text))


def test_columns_of_a_transposed_buffer():
    ty = "memref<37x5xf32, strided<[1, 37]>>"
    text = f"""func.func @f(%A: {ty}, %B: memref<37xf32>) {{
      affine.for %j = 0 to 5 {{
        affine.for %i = 0 to 37 {{
          %b = affine.load %B[%i] : memref<37xf32>
          affine.store %b, %A[%i, %j] : {ty}
        }}
      }}
      return
    }}"""
    assert "vector.transfer_write" in str(vectorized(text))
    a, b = np.zeros((5, 37), np.float32), RNG.random(37, np.float32)
    gcg.compile(text, target="cpu").f(a.T, b)
    np.testing.assert_array_equal(a, np.broadcast_to(b, a.shape))


def copies(source: str, target: str) -> str:
    return f"""func.func @f(%A: {source}, %B: {target}) {{
      memref.copy %A, %B : {source} to {target}
      return
    }}"""


PLAIN = "memref<1400x1031xf32>"
APART = "memref<1400x1031xf32, strided<[1033, 1]>>"


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("source", "target"), [(PLAIN, PLAIN), (APART, PLAIN)])
@stated(AVX2_SMALL)
@pytest.mark.sampled(6)
def test_large_copies_go_past_the_caches(source: str, target: str, threads: int):
    """At addresses of all kinds, and not a cell beyond."""
    program = gcg.compile(copies(source, target), target="cpu", threads=threads)
    for shift in (0, 1, 3):
        memory = np.full(1400 * 1031 + 40, -1, np.float32)
        y = memory[shift : shift + 1400 * 1031].reshape(1400, 1031)
        x = RNG.random((1400, 1033 if source == APART else 1031), np.float32)[:, :1031]
        program.f(x, y)
        np.testing.assert_array_equal(y, x)
        assert (memory[:shift] == -1).all()
        assert (memory[shift + 1400 * 1031 :] == -1).all()
    assert "vstore_streaming" in program.source("f")


@stated(AVX2_SMALL)
def test_short_runs_do_not_go_past_the_caches():
    """Half a cache line of each row: the other half would be written apart."""
    text = """func.func @f(%A: memref<3000x60x8xf32>, %B: memref<60x3000x8xf32>) {
      linalg.transpose ins(%A : memref<3000x60x8xf32>)
        outs(%B : memref<60x3000x8xf32>) permutation = [1, 0, 2]
      return
    }"""
    program = gcg.compile(text, target="cpu")
    x, y = RNG.random((3000, 60, 8), np.float32), np.zeros((60, 3000, 8), np.float32)
    program.f(x, y)
    np.testing.assert_array_equal(y, x.transpose(1, 0, 2))
    assert "vstore_streaming" not in program.source("f")


@stated(AVX2_SMALL)
def test_what_takes_no_masks_does_not_go_past_the_caches():
    """Rows of B lie in columns: a vector of its first elements would be a whole one."""
    across = "memref<1031x1400xf32, strided<[1, 1031]>>"
    text = f"""func.func @f(%A: {PLAIN}, %B: {across}, %C: {PLAIN}) {{
      affine.for %i = 0 to 1400 {{
        affine.for %j = 0 to 1031 {{
          %a = affine.load %A[%i, %j] : {PLAIN}
          %b = affine.load %B[%j, %i] : {across}
          %two = arith.addf %b, %b : f32
          %sum = arith.addf %two, %a : f32
          affine.store %sum, %B[%j, %i] : {across}
          affine.store %a, %C[%i, %j] : {PLAIN}
        }}
      }}
      return
    }}"""
    a, b = (RNG.integers(-4, 5, (1400, 1031)).astype("f4") for _ in range(2))
    c, expected = np.zeros((1400, 1031), "f4"), 2 * b + a
    gcg.compile(text, target="cpu").f(a, b.T, c)
    np.testing.assert_array_equal(b, expected)
    np.testing.assert_array_equal(c, a)


def test_what_is_read_in_its_loop_stays_in_the_caches():
    text = (
        loop(
            """%x = affine.load %A[%i] : memref<64xf32>
        affine.store %x, %A[%i] : memref<64xf32>
        affine.store %x, %B[%i] : memref<64xf32>"""
        )
        .replace("64", "640")
        .replace("to 60 ", "to 600 ")
    )
    lines = str(vectorized(text, cache=0)).splitlines()
    streaming = [line for line in lines if "nontemporal" in line]
    assert len(streaming) == 1
    assert "%B" in streaming[0]


def test_what_a_time_loop_repeats_counts_once():
    sweep = """func.func @f(%A: memref<640xf32>, %B: memref<640xf32>) {
      affine.for %t = 0 to 1000 {
        affine.for %i = 0 to 640 {
          %x = affine.load %A[%i] : memref<640xf32>
          affine.store %x, %B[%i] : memref<640xf32>
        }
      }
      return
    }"""
    assert "nontemporal" not in str(vectorized(sweep, cache=1280))
    assert "nontemporal" in str(vectorized(sweep, cache=1279))


def test_views_of_one_buffer_stay_in_order():
    """A kernel's arguments that overlap carry the first element to all others."""
    source, target = (f"memref<99xf32, strided<[1], offset: {at}>>" for at in (0, 1))
    text = f"""func.func @f(%A: memref<100xf32>) {{
      %s = memref.subview %A[0] [99] [1] : memref<100xf32> to {source}
      %t = memref.subview %A[1] [99] [1] : memref<100xf32> to {target}
      affine.for %i = 0 to 99 {{
        %x = affine.load %s[%i] : {source}
        affine.store %x, %t[%i] : {target}
      }}
      return
    }}"""
    a = np.arange(7, 107).astype("f4")
    gcg.compile(text, target="cpu").f(a)
    assert (a == 7).all()


VIEWS_INSIDE = """
func.func @f(%x: memref<40x67xf32>, %at: memref<1xindex>, %y: memref<40x67xf32>) {
  affine.for %i = 0 to 38 {
    affine.for %j = 0 to 65 {
      %a = memref.subview %x[1, 1] [38, 66] [1, 1]
        : memref<40x67xf32> to memref<38x66xf32, strided<[67, 1], offset: 68>>
      %b = memref.subview %x[%i, 0] [2, 66] [1, 1]
        : memref<40x67xf32> to memref<2x66xf32, strided<[67, 1], offset: ?>>
      %k = affine.load %at[0] : memref<1xindex>
      %c = memref.subview %y[%k, 0] [38, 66] [1, 1]
        : memref<40x67xf32> to memref<38x66xf32, strided<[67, 1], offset: ?>>
      %p = affine.load %a[%i, %j] : memref<38x66xf32, strided<[67, 1], offset: 68>>
      %q = affine.load %a[%i, %j + 1] : memref<38x66xf32, strided<[67, 1], offset: 68>>
      %r = affine.load %b[1, %j] : memref<2x66xf32, strided<[67, 1], offset: ?>>
      %s = arith.addf %p, %q : f32
      %t = arith.addf %s, %r : f32
      affine.store %t, %c[%i, %j] : memref<38x66xf32, strided<[67, 1], offset: ?>>
    }
  }
  return
}"""


def test_views_inside_of_loops_stand_before_them_or_are_made_again():
    """Time tiles of slices of NumPy programs have views in their innermost loops."""
    made = str(Vectorize(vector_bits=256).apply(gcg.parse(VIEWS_INSIDE)))
    before, inside = made.split("affine.for %j")
    assert "%a = memref.subview" in before.split("affine.for %i")[0]
    assert "%b = memref.subview" in before
    assert inside.count("%c = memref.subview") == 2
    x, y = np.random.default_rng(0).random((2, 40, 67), np.float32)
    expected = y.copy()
    expected[2:, :65] = x[1:39, 1:66] + x[1:39, 2:] + x[1:39, :65]
    gcg.compile(VIEWS_INSIDE, target="cpu").f(x, np.array([2]), y)
    assert (y == expected).all()
