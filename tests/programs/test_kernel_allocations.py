"""Loops whose buffers have a size of their own in each iteration are CPU kernels."""

from __future__ import annotations

import resource

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors
from tests.python.programs_of_numpy import function_of

TRIANGLE = """
func.func @triangle(%A: memref<?x?xf64>, %r: memref<?xf64>, %more: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %n = memref.dim %A, %c0 : memref<?x?xf64>
  scf.for %i = %c0 to %n step %c1 {
    %size = arith.addi %i, %more : index
    %t = memref.alloc(%size) : memref<?xf64>
    scf.for %j = %c0 to %size step %c1 {
      %a = memref.load %A[%i, %j] : memref<?x?xf64>
      %b = math.sqrt %a : f64
      memref.store %b, %t[%j] : memref<?xf64>
    }
    %sum = scf.for %j = %c0 to %size step %c1 iter_args(%s = %zero) -> (f64) {
      %k = arith.subi %size, %j : index
      %l = arith.subi %k, %c1 : index
      %x = memref.load %t[%l] : memref<?xf64>
      %y = arith.divf %s, %x : f64
      %z = arith.addf %x, %y : f64
      scf.yield %z : f64
    }
    memref.store %sum, %r[%i] : memref<?xf64>
  }
  return
}
"""


def expected(matrix: np.ndarray, more: int) -> list[float]:
    found: list[float] = []
    for i in range(len(matrix)):
        total = 0.0
        for x in np.sqrt(matrix[i, : i + more])[::-1]:
            total = x + total / x
        found.append(total)
    return found


@pytest.mark.slow
@pytest.mark.cases("threads", [1, 2])
def test_each_iteration_has_its_own_buffer(threads: int):
    program = gcg.compile(TRIANGLE, target="cpu", threads=threads)
    matrix = np.random.default_rng(1).uniform(1, 2, (40, 40))
    result = np.zeros(40)
    program.triangle(matrix, result, 1)
    np.testing.assert_allclose(result, expected(matrix, 1), rtol=1e-12)
    source = program.triangle.compiled_for((matrix, result, 1))[0].source
    assert "rt.alloc" not in source
    assert source.count("rt.launch") == 1


def test_a_negative_extent_ends_the_call():
    program = gcg.compile(TRIANGLE, target="cpu")
    with pytest.raises(errors.NegativeExtent) as failed:
        program.triangle(np.ones((4, 4)), np.zeros(4), -1)
    assert "(-1,)" in failed.value.message
    assert failed.value.place is not None
    assert failed.value.place.line == 9


GRID = """
func.func @grid(%n: index, %sizes: memref<?xindex>, %r: memref<?xf32>) {
  affine.for %i = 0 to %n {
    %m = affine.load %sizes[%i] : memref<?xindex>
    %t = memref.alloc(%m, %m) : memref<?x?x8xf32>
    %one = arith.constant 1.0 : f32
    affine.store %one, %t[0, 0, 7] : memref<?x?x8xf32>
    %x = affine.load %t[0, 0, 7] : memref<?x?x8xf32>
    affine.store %x, %r[%i] : memref<?xf32>
    memref.dealloc %t : memref<?x?x8xf32>
  }
  return
}
"""


@pytest.mark.cases("size", [1 << 20, 1 << 30, 1 << 62])
def test_memory_that_is_not_there_ends_the_call(size: int):
    """Also where the size in bytes leaves 64 bits, and on threads."""
    program = gcg.compile(GRID, target="cpu")
    sizes, result = np.full(300, 2), np.zeros(300, "f4")
    program.grid(300, sizes, result)
    assert result.all()
    sizes[200] = size
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (1 << 42, before[1]))
    try:
        with pytest.raises(errors.OutOfMemory) as failed:
            program.grid(300, sizes, result)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
    assert str(size * size * 32) in failed.value.message


PARTS = """
def f(x, n):
    total = 0.0
    for i in range(1, n):
        part = np.flip(x[:i]) * x[:i]
        if part[0] > 0.5:
            other = part[: i // 2] + 1.0
            total += other.sum()
        total += part.sum()
    return total
"""


@pytest.mark.slow
def test_memory_stays_flat():
    """Buffers of kernels are freed, also in branches."""
    steps = gcg.jit(target="cpu")(function_of(PARTS))
    x = np.random.default_rng(2).random(4000)
    steps(x, 4000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(20):
        steps(x, 4000)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert after - before < 40 << 10, "one call allocates 128 MB"


CHECKED = """
func.func @checked(%A: memref<?xi32>, %r: memref<?xi32>, %limit: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %A, %c0 : memref<?xi32>
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %A[%i] : memref<?xi32>
    %fits = arith.cmpi slt, %a, %limit : i32
    cf.assert %fits, "a number is too large"
    %b = arith.addi %a, %a : i32
    memref.store %b, %r[%i] : memref<?xi32>
  }
  return
}
"""


@pytest.mark.cases("target", ["cpu", "interp", "sim"])
def test_nothing_runs_behind_an_assertion_that_fails(target: str):
    program = gcg.compile(CHECKED, target=target)
    numbers, result = np.arange(10, dtype="i4"), np.zeros(10, "i4")
    program.checked(numbers, result, 10)
    np.testing.assert_array_equal(result, 2 * numbers)
    result[:] = 0
    with pytest.raises(errors.AssertionFailed, match="a number is too large") as failed:
        program.checked(numbers, result, 4)
    if target != "sim":  # which copies no results back behind an error
        np.testing.assert_array_equal(result, [0, 2, 4, 6, *[0] * 6])
    assert failed.value.place is not None
    assert failed.value.place.line == 9


def test_assertions_in_loops_run_in_kernels():
    program = gcg.compile(CHECKED, target="cpu")
    arguments = np.zeros(3, "i4"), np.zeros(3, "i4"), 1
    source = program.checked.compiled_for(arguments)[0].source
    assert source.count("rt.launch") == 1
    assert "rt.load" not in source


def test_a_handler_of_assertions_still_gets_them():
    seen: list[bool] = []

    def note(fits: bool, msg: str) -> None:
        assert msg == "a number is too large"
        seen.append(fits)

    program = gcg.compile(CHECKED, target="cpu", externals={"cf.assert": note})
    program.checked(np.arange(4, dtype="i4"), np.zeros(4, "i4"), 2)
    assert seen == [True, True, False, False]


ONE_NAME = """
func.func @f(%x: memref<4xf32>, %y: memref<4xf32>) {
  affine.for %t = 0 to 4 {
    %p = memref.alloc() : memref<40000xf32>
    affine.for %i = 0 to 40000 {
      %v = affine.load %x[%t] : memref<4xf32>
      affine.store %v, %p[%i] : memref<40000xf32>
    }
    %a = affine.load %p[%t * 7] : memref<40000xf32>
    affine.store %a, %y[%t] : memref<4xf32>
    memref.dealloc %p : memref<40000xf32>
  }
  affine.for %t = 0 to 4 {
    %p = memref.alloc() : memref<8xf32>
    affine.for %i = 0 to 8 {
      %v = affine.load %y[3 - %t] : memref<4xf32>
      affine.store %v, %p[%i] : memref<8xf32>
    }
    %a = affine.load %p[%t + 2] : memref<8xf32>
    %b = arith.addf %a, %a : f32
    affine.store %b, %y[%t] : memref<4xf32>
    memref.dealloc %p : memref<8xf32>
  }
  return
}
"""


def test_a_buffer_on_the_stack_takes_the_name_of_one_on_the_heap():
    program = gcg.compile(ONE_NAME, target="cpu")
    given, result = np.arange(1, 5, dtype=np.float32), np.zeros(4, np.float32)
    source = program.f.compiled_for((given, result))[0].source
    assert source.count(" = heap_f32(") == source.count(" heap_free_f32(") == 1
    program.f(given, result)
    np.testing.assert_array_equal(result, [8, 6, 12, 16])
