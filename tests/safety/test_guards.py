"""Accesses that leave their buffers: refused at launch, or left out of a loop."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors
from gpucodegen.passes.checks.bounds import CheckBounds
from gpucodegen.passes.framework.base import run_pipeline
from gpucodegen.passes.prepare.canonicalize import Canonicalize
from gpucodegen.passes.prepare.raise_to_affine import RaiseToAffine

pytestmark = pytest.mark.filterwarnings("ignore::gpucodegen.errors.PossiblyOutOfBounds")

LINE = """
func.func @f(%a: memref<?xf32>, %n: index, %x: f32) {
  affine.for %i = 0 to %n {
    affine.store %x, %a[%i] : memref<?xf32>
  }
  return
}"""
GATHER = """
func.func @f(%a: memref<?xf32>, %at: memref<?xi64>, %b: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %at, %c0 : memref<?xi64>
  affine.for %i = 0 to %n {
    %k = affine.load %at[%i] : memref<?xi64>
    %j = arith.index_cast %k : i64 to index
    %v = memref.load %a[%j] : memref<?xf32>
    affine.store %v, %b[%i] : memref<?xf32>
  }
  return
}"""


def numbers(count: int) -> np.ndarray:
    return np.arange(count, dtype=np.float32)


# -- at launch -------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("specialize", [True, False])
def test_a_loop_past_the_array_is_refused_before_it_runs(specialize: bool):
    program = gcg.compile(LINE, target="cpu", specialize=specialize)
    whole = np.zeros(11, np.float32)
    program.f(whole[:10], 10, 1.0)
    for count in (11, 2**40, 2**63 - 1):
        with pytest.raises(errors.IndexOutOfBounds) as caught:
            program.f(whole[:10], count, 2.0)
        assert caught.value.place is not None
        assert caught.value.place.line == 4
        assert f"n = {count}" in str(caught.value)
    assert whole.tolist() == [1.0] * 10 + [0.0]


def test_a_bound_call_is_refused_each_time():
    launch = gcg.compile(LINE, target="cpu").f.bind(numbers(10), 11, 1.0)
    for _ in range(2):
        with pytest.raises(errors.AccessOutOfBounds):
            launch()


REVERSED = """
func.func @f(%a: memref<?xf32>, %b: memref<?xf32>, %first: index, %n: index) {
  %r = memref.subview %a[%first] [%n] [-1]
    : memref<?xf32> to memref<?xf32, strided<[-1], offset: ?>>
  affine.for %i = 0 to %n {
    %v = affine.load %r[%i] : memref<?xf32, strided<[-1], offset: ?>>
    affine.store %v, %b[%i] : memref<?xf32>
  }
  return
}"""
STRIDED = """
func.func @f(%a: memref<?xf32, strided<[?], offset: ?>>, %b: memref<?xf32>,
    %n: index) {
  %base, %offset, %size, %stride = memref.extract_strided_metadata %a
    : memref<?xf32, strided<[?], offset: ?>> -> memref<f32>, index, index, index
  %r = memref.reinterpret_cast %a to offset: [%offset], sizes: [%n],
    strides: [%stride] : memref<?xf32, strided<[?], offset: ?>>
    to memref<?xf32, strided<[?], offset: ?>>
  affine.for %i = 0 to %n {
    %v = affine.load %r[%i] : memref<?xf32, strided<[?], offset: ?>>
    affine.store %v, %b[%i] : memref<?xf32>
  }
  return
}"""


@pytest.mark.cases("target", ["cpu", "interp"])
def test_reversed_views_are_refused_where_they_leave_their_array(target: str):
    f = gcg.compile(REVERSED, target=target).f
    for first, count in ((7, 8), (4, 3), (0, 1), (-1, 0)):
        result = numbers(8)
        f(numbers(8), result, first, count)
        expected = [float(first - i) for i in range(count)]
        assert result.tolist() == [*expected, *range(count, 8)]
    for first, count in ((8, 8), (3, 5)):
        with pytest.raises((errors.AccessOutOfBounds, errors.IndexOutOfBounds)):
            f(numbers(8), numbers(8), first, count)


@pytest.mark.slow
@pytest.mark.cases("stride", [1, 3, -1, -2])
def test_reinterpreted_views_reach_as_far_as_their_array(stride: int):
    f = gcg.compile(STRIDED, target="cpu").f
    given, result = numbers(24)[::stride][:8], np.zeros(9, np.float32)
    f(given, result, 8)
    assert result.tolist() == [*given.tolist(), 0]
    with pytest.raises(errors.AccessOutOfBounds):
        f(given, result, 9)


def test_what_shapes_prove_has_no_checks():
    program = gcg.compile(GATHER.replace("memref.load %a[%j]", "affine.load %a[%i]"))
    program.f(numbers(8), np.zeros(8, np.int64), numbers(8))
    assert "rt.refuse" not in program.source("f")
    assert "rt.check" not in program.source("f")


@pytest.mark.slow
def test_extents_of_a_product_that_disagree_are_refused():
    text = """
func.func @f(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %c: memref<?x?xf32>) {
  linalg.matmul ins(%a, %b : memref<?x?xf32>, memref<?x?xf32>)
    outs(%c : memref<?x?xf32>)
  return
}"""
    program = gcg.compile(text, target="cpu", specialize=False)

    def array(*shape: int) -> np.ndarray:
        return np.ones(shape, np.float32)

    program.f(array(3, 4), array(4, 5), array(3, 5))
    for b, c in (((5, 5), (3, 5)), ((3, 5), (3, 5)), ((4, 5), (3, 4))):
        with pytest.raises(errors.ShapesDisagree):
            program.f(array(3, 4), array(*b), array(*c))


@pytest.mark.slow
def test_a_check_is_about_buffers_that_are_there_already():
    """All buffers have the extents of x; the last one is made after the check."""
    program = gcg.compile(
        """func.func @f(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
          %a = arith.mulf %x, %x : tensor<?xf32>
          %b = arith.mulf %y, %y : tensor<?xf32>
          %c = arith.addf %a, %b : tensor<?xf32>
          %d = math.sqrt %c : tensor<?xf32>
          return %d : tensor<?xf32>
        }""",
        target="cpu",
        specialize=False,
    )
    x, y = np.full(8, 3, np.float32), np.full(8, 4, np.float32)
    np.testing.assert_array_equal(program.f(x, y), np.full(8, 5, np.float32))
    told = r"outside dimension 0 of y, where y.shape\[0\] = 3, x.shape\[0\] = 8"
    with pytest.raises(errors.Error, match=told):
        program.f(x, y[:3])


def test_a_cast_to_another_extent_is_refused():
    text = LINE.replace(
        "  affine.for", "  %b = memref.cast %a : memref<?xf32> to memref<8xf32>\n"
        "  affine.for", 1
    ).replace("%a[%i] : memref<?xf32>", "%b[%i] : memref<8xf32>")  # fmt: skip
    program = gcg.compile(text, target="cpu", specialize=False)
    program.f(numbers(8), 8, 1.0)
    with pytest.raises(errors.ShapesDisagree):
        program.f(numbers(9), 8, 1.0)


@pytest.mark.slow
@pytest.mark.parametrize(("offset", "size"), [(8, 3), (-1, 3), (0, 11), (11, 1)])
def test_a_subview_outside_its_source_is_refused(offset: int, size: int):
    text = """
func.func @f(%a: memref<?xf32>, %o: index, %n: index, %x: f32) {
  %v = memref.subview %a[%o] [%n] [1]
    : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
  affine.for %i = 0 to %n {
    affine.store %x, %v[%i] : memref<?xf32, strided<[1], offset: ?>>
  }
  return
}"""
    program = gcg.compile(text, target="cpu")
    whole = np.zeros(30, np.float32)
    program.f(whole[10:20], 2, 8, 1.0)
    expected = whole.copy()
    with pytest.raises(errors.AccessOutOfBounds):
        program.f(whole[10:20], offset, size, 2.0)
    np.testing.assert_array_equal(whole, expected)


# -- in the loop -----------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [-1, 9, 10**12, -(2**63)])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.sampled(3)
def test_a_gather_leaves_out_what_is_outside(wrong: int, threads: int):
    program = gcg.compile(GATHER, target="cpu", threads=threads)
    at, b = np.array([8, 0, wrong, 3]), np.full(4, -1, np.float32)
    for _ in range(3):
        with pytest.raises(errors.AccessOutOfBounds, match=f"k = {wrong}\\b"):
            program.f(numbers(9), at, b)
        assert b[[0, 1, 3]].tolist() == [8.0, 0.0, 3.0]
    at[2] = 5
    program.f(numbers(9), at, b)
    assert b.tolist() == [8.0, 0.0, 5.0, 3.0]


def test_repeated_calls_that_return_are_checked():
    text = """
func.func @f(%a: memref<9xf32>, %at: memref<4xi64>) -> memref<4xf32> {
  %b = memref.alloc() : memref<4xf32>
  affine.for %i = 0 to 4 {
    %k = affine.load %at[%i] : memref<4xi64>
    %j = arith.index_cast %k : i64 to index
    %v = memref.load %a[%j] : memref<9xf32>
    affine.store %v, %b[%i] : memref<4xf32>
  }
  return %b : memref<4xf32>
}"""
    program = gcg.compile(text, target="cpu")
    at = np.array([8, 0, 1, 3])
    for _ in range(4):
        assert program.f(numbers(9), at).tolist() == [8.0, 0.0, 1.0, 3.0]
    at[1] = 9
    for _ in range(2):
        with pytest.raises(errors.AccessOutOfBounds):
            program.f(numbers(9), at)
    at[1] = 2
    assert program.f(numbers(9), at).tolist() == [8.0, 2.0, 1.0, 3.0]


@pytest.mark.slow
def test_a_later_process_checks_too():
    code = f"""
import numpy as np, gpucodegen as gcg
program = gcg.compile({GATHER!r}, target="cpu")
at, b = np.array([1, 0]), np.zeros(2, np.float32)
program.f(np.ones(3, np.float32), at, b)
at[1] = 3
try:
    program.f(np.ones(3, np.float32), at, b)
except gcg.errors.AccessOutOfBounds as error:
    print(error.place.line)
"""
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env=dict(os.environ),
        )
        assert done.stdout == "8\n"


def test_a_carried_index_is_checked():
    text = """
func.func @f(%next: memref<?xi64>, %seen: memref<?xi64>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1 : i64
  %end = scf.for %i = %c0 to %n step %c1 iter_args(%at = %c0) -> index {
    memref.store %one, %seen[%at] : memref<?xi64>
    %k = memref.load %next[%at] : memref<?xi64>
    %to = arith.index_cast %k : i64 to index
    scf.yield %to : index
  }
  return
}"""
    program = gcg.compile(text, target="cpu")
    following, seen = np.array([2, 0, 1, 7]), np.zeros(4, np.int64)
    program.f(following, seen, 9)
    assert seen.tolist() == [1, 1, 1, 0]
    following[2] = 3
    with pytest.raises(errors.AccessOutOfBounds):
        program.f(following, seen, 9)


# -- without checks --------------------------------------------------------------------


@pytest.mark.slow
def test_unchecked_programs_have_no_checks():
    for text, arguments in (
        (LINE, (numbers(10), 10, 1.0)),
        (GATHER, (numbers(9), np.array([1, 2]), numbers(2))),
    ):
        checked = gcg.compile(text, target="cpu")
        unchecked = gcg.compile(text, target="cpu", unchecked=True)
        checked.f(*arguments)
        unchecked.f(*arguments)
        assert "rt.refuse" in checked.source("f") or "rt.check" in checked.source("f")
        assert "rt.refuse" not in unchecked.source("f")
        assert "rt.check" not in unchecked.source("f")


# -- transfers and large buffers -------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("target", ["cpu", "sim"])
@pytest.mark.cases("flag", ["", " {in_bounds = [false]}"])
def test_a_transfer_pads_its_tail(target: str, flag: str):
    text = f"""
func.func @f(%a: memref<5x7xf32>, %b: memref<5x9xf32>) {{
  %pad = arith.constant -1.0 : f32
  affine.for %i = 0 to 5 {{
    affine.for %j = 0 to 9 step 4 {{
      %v = vector.transfer_read %a[%i, %j], %pad{flag}
        : memref<5x7xf32>, vector<4xf32>
      vector.transfer_write %v, %b[%i, %j]{flag} : vector<4xf32>, memref<5x9xf32>
    }}
  }}
  return
}}"""
    a, b = numbers(35).reshape(5, 7), np.zeros((5, 9), np.float32)
    gcg.compile(text, target=target).f(a, b)
    expected = np.full((5, 9), -1, np.float32)
    expected[:, :7] = a
    np.testing.assert_array_equal(b, expected)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_large_buffer_of_a_loop_lies_on_the_heap(threads: int):
    text = """
func.func @f(%a: memref<4xf32>) {
  affine.for %r = 0 to 4 {
    %t = memref.alloca() : memref<3000000xf32>
    %s = memref.alloca() : memref<8xf32>
    affine.for %i = 0 to 3000000 step 1000 {
      %v = affine.load %a[%r] : memref<4xf32>
      affine.store %v, %t[%i] : memref<3000000xf32>
    }
    %w = affine.load %t[%r * 1000] : memref<3000000xf32>
    affine.store %w, %s[%r] : memref<8xf32>
    %x = affine.load %s[%r] : memref<8xf32>
    %y = arith.addf %x, %w : f32
    affine.store %y, %a[%r] : memref<4xf32>
  }
  return
}"""
    a = numbers(4)
    program = gcg.compile(text, target="cpu", threads=threads)
    for _ in range(2):
        program.f(a)
    assert a.tolist() == [0.0, 4.0, 8.0, 12.0]
    assert program.source("f").count("= heap_f32(") == 1
    assert program.source("f").count("heap_free_f32(") == 1


@pytest.mark.parametrize("wrong", [6, -1, -19])
def test_an_index_beside_a_collapsed_view_is_checked(wrong: int):
    text = """
func.func @f(%a: memref<4x6xf32>, %at: memref<2xi64>, %b: memref<24xf32>) {
  %c3 = arith.constant 3 : index
  %c = memref.collapse_shape %a [[0, 1]] : memref<4x6xf32> into memref<24xf32>
  affine.for %i = 0 to 24 {
    %v = affine.load %c[%i] : memref<24xf32>
    affine.store %v, %b[%i] : memref<24xf32>
  }
  affine.for %i = 0 to 2 {
    %k = affine.load %at[%i] : memref<2xi64>
    %j = arith.index_cast %k : i64 to index
    %v = memref.load %a[%c3, %j] : memref<4x6xf32>
    affine.store %v, %b[%i] : memref<24xf32>
  }
  return
}"""
    program = gcg.compile(text, target="cpu")
    a, b = numbers(24).reshape(4, 6), numbers(24)
    program.f(a, np.array([5, 0]), b)
    assert b[:2].tolist() == [23.0, 18.0]
    with pytest.raises(errors.AccessOutOfBounds):
        program.f(a, np.array([5, wrong]), b)


# -- what never runs, and what the host checks for kernels ---------------------------

STORES = {
    "affine.if": "affine.if affine_set<()[n] : (n - 8 >= 0)>()[%n] "
    "{ affine.store %v, %a[8] : memref<4xi32> }",
    "scf.if": "%ok = arith.cmpi sge, %n, %c8 : index "
    "scf.if %ok { memref.store %v, %a[%c8] : memref<4xi32> }",
    "affine.for": "affine.for %i = 8 to %n { affine.store %v, %a[%i] : memref<4xi32> }",
    "scf.for": "scf.for %i = %c8 to %n step %c1 "
    "{ memref.store %v, %a[%i] : memref<4xi32> }",
    "else": "%few = arith.cmpi slt, %n, %c8 : index scf.if %few {} else "
    "{ affine.for %i = 0 to 9 { affine.store %v, %a[%i] : memref<4xi32> } }",
    "whole": "%ok = arith.cmpi sge, %n, %c8 : index scf.if %ok "
    "{ %w = vector.broadcast %v : i32 to vector<8xi32> "
    "vector.store %w, %a[%c0] : memref<4xi32>, vector<8xi32> }",
}
"""What leaves %a where %n is 9, and does not run where it is 4."""
CONSTANTS = """
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %v = arith.constant 7 : i32
"""


def test_accesses_that_only_some_calls_run_are_checked_at_launch():
    """By the passes alone: the host compares, and nobody is warned."""
    head = "func.func @f(%a: memref<4xi32>, %n: index) {" + CONSTANTS
    for name, text in STORES.items():
        module = gcg.parse(f"{head}{text} return }}")
        passes = [RaiseToAffine(), Canonicalize(), CheckBounds(guard=True)]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            made = str(run_pipeline(module, passes))
            passes[-1] = CheckBounds(guard=True, kernels=False)
            assert "gcg.refuse" in str(run_pipeline(module, passes)), name
        assert "gcg.refuse" in made
        with pytest.warns(errors.PossiblyOutOfBounds):
            run_pipeline(module, [*passes[:-1], CheckBounds()])


@pytest.mark.slow
def test_accesses_that_never_run_are_neither_refused_nor_warned_of():
    """The number that decides is an argument, then a constant of the program."""
    head = "func.func @f(%a: memref<4xi32>, %n: index) {" + CONSTANTS
    known = "func.func @f(%a: memref<4xi32>) {\n%n = arith.constant 4 : index"
    for target in ("interp", "cpu", "sim"):
        for name, text in STORES.items():
            if target == "sim" and name == "whole":
                continue
            a = np.zeros(4, np.int32)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                program = gcg.compile(f"{head}{text} return }}", target=target)
                program.f(a, 4)
                text_of_known = f"{known}{CONSTANTS}{text} return }}"
                gcg.compile(text_of_known, target=target).f(a)
            with pytest.raises(errors.IndexOutOfBounds):
                program.f(a, 9)
            if target != "interp":  # which has done what comes before
                assert not a.any(), name
    run = f"{known}{CONSTANTS}affine.store %v, %a[%n] : memref<4xi32> return }}"
    for target in ("cpu", "sim"):
        with pytest.raises(errors.OutOfBounds):
            gcg.compile(run, target=target).f(np.zeros(4, np.int32))


@pytest.mark.slow
def test_the_host_checks_what_arguments_decide_for_kernels_of_gpus():
    text = LINE.replace("%n: index", "%m: i32").replace(
        "  affine.for", "  %n = arith.index_cast %m : i32 to index\n  affine.for"
    )
    product = """
func.func @f(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %c: memref<?x?xf32>) {
  linalg.matmul ins(%a, %b : memref<?x?xf32>, memref<?x?xf32>)
    outs(%c : memref<?x?xf32>)
  return
}"""
    one = np.ones((4, 4), np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error", errors.PossiblyOutOfBounds)
        for specialize in (True, False):
            for source in (LINE, text):
                program = gcg.compile(source, target="sim", specialize=specialize)
                a = numbers(8)
                with pytest.raises(errors.AccessOutOfBounds, match="= 9"):
                    program.f(a, 9, 1.0)
                assert a.tolist() == numbers(8).tolist()
                program.f(a, 8, 1.0)
                assert a.tolist() == [1] * 8
        gcg.compile(product, target="cuda", arch="sm_80").assembly("f")
    with pytest.raises(errors.ShapesDisagree):
        gcg.compile(product, target="sim", specialize=False).f(
            one, one[:3].copy(), one.copy()
        )
    program = gcg.compile(GATHER, target="sim")
    with pytest.raises(errors.KernelOutOfBounds):  # data decide: in the kernel
        program.f(numbers(4), np.array([0, 9], np.int64), numbers(2))
    unchecked = gcg.compile(LINE, target="sim", unchecked=True)
    with pytest.warns(errors.PossiblyOutOfBounds):
        unchecked.f(numbers(8), 8, 1.0)


@pytest.mark.slow
def test_a_transfer_to_a_buffer_that_is_also_collapsed_has_no_check():
    """Its elements stay in row-major order, so the transfer is as exact as without."""
    text = """func.func @f(%a: memref<2x16xf64>, %d: memref<2x16xf64>) {
      %count = arith.constant 8 : index
      %stride = arith.constant 16 : index
      %width = arith.constant 4 : index
      %fast = memref.alloc() : memref<2x4xf64, 2>
      %tag = memref.alloc() : memref<1xi32>
      affine.for %t = 0 to 4 step 2 {
        affine.for %b = affine_map<(d0) -> (d0)>(%t)
            to affine_map<(d0) -> (d0 + 2)>(%t) {
          affine.dma_start %a[0, %b * 4], %fast[0, 0], %tag[0], %count, %stride, %width
              : memref<2x16xf64>, memref<2x4xf64, 2>, memref<1xi32>
          affine.dma_wait %tag[0], %count : memref<1xi32>
          %z = memref.collapse_shape %fast [[0, 1]]
              : memref<2x4xf64, 2> into memref<8xf64, 2>
          affine.for %r = 0 to 8 {
            %v = affine.load %z[%r] : memref<8xf64, 2>
            affine.store %v, %d[%r floordiv 4, %b * 4 + %r mod 4] : memref<2x16xf64>
          }
        }
      }
      return
    }"""
    guarded = run_pipeline(gcg.parse(text), [CheckBounds(guard=True)])
    assert "gcg.re" not in str(guarded)
    a, d = np.random.default_rng(5).random((2, 16)), np.zeros((2, 16))
    gcg.compile(text, target="cpu").f(a, d)
    np.testing.assert_array_equal(d, a)


@pytest.mark.parametrize("column", [14, -3])
def test_a_transfer_of_the_host_stays_in_its_buffers(column: int):
    """NumPy would take a negative position from the end."""
    text = """func.func @f(%a: memref<2x16xf64>, %d: memref<2x4xf64>, %column: index) {
      %count = arith.constant 8 : index
      %stride = arith.constant 16 : index
      %width = arith.constant 4 : index
      %zero = arith.constant 0 : index
      %tag = memref.alloc() : memref<1xi32>
      memref.dma_start %a[%zero, %column], %d[%zero, %zero], %count, %tag[%zero],
          %stride, %width : memref<2x16xf64>, memref<2x4xf64>, memref<1xi32>
      memref.dma_wait %tag[%zero], %count : memref<1xi32>
      return
    }"""
    a, d = np.random.default_rng(5).random((2, 16)), np.zeros((2, 4))
    program = gcg.compile(text, target="sim")
    program.f(a, d, 4)
    np.testing.assert_array_equal(d, a[:, 4:8])
    with pytest.raises(errors.IndexOutOfBounds):
        program.f(a, d, column)
