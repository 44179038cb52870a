"""Operations that others express give on every target what the interpreter says."""

from __future__ import annotations

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors

TARGETS = ("cpu", "sim")
BITS = {
    "to i64": ("complex<f32>", "i64"),
    "from i64": ("i64", "complex<f32>"),
    "to f64": ("complex<f32>", "f64"),
}
BITCAST = """func.func @f(%A: memref<4x{old}>, %B: memref<4x{new}>) {{
  affine.for %i = 0 to 4 {{
    %x = affine.load %A[%i] : memref<4x{old}>
    %y = complex.bitcast %x : {old} to {new}
    affine.store %y, %B[%i] : memref<4x{new}>
  }}
  return
}}"""
DTYPES = {"complex<f32>": "c8", "i64": "i8", "f64": "f8"}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.cases("name", list(BITS), parts=2)
def test_bits_of_complex_numbers(name: str, target: str):
    old, new = BITS[name]
    given = np.array([1 + 2j, -3.5, -0.0 + 1j, 7j], "c8").view(DTYPES[old])
    found = np.zeros(4, DTYPES[new])
    gcg.compile(BITCAST.format(old=old, new=new), target=target).f(given, found)
    assert found.tobytes() == given.tobytes()


FLUSHED = """func.func @f(%A: memref<8x{ty}>) {{
  affine.for %i = 0 to 8 {{
    %x = affine.load %A[%i] : memref<8x{ty}>
    %y = arith.flush_denormals %x : {ty}
    affine.store %y, %A[%i] : memref<8x{ty}>
  }}
  return
}}"""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("target", ["interp", *TARGETS])
@pytest.mark.cases("ty", ["f32", "f64", "f16"], parts=2)
def test_denormals_are_zeros_of_their_sign(ty: str, target: str):
    kind = np.dtype(f"f{int(ty[1:]) // 8}")
    tiny = np.finfo(kind).tiny
    below = np.nextafter(tiny, kind.type(0))
    kept = [tiny, -tiny, np.inf, np.nan, 1.5]
    array = np.array([below, -below, -0.0, *kept], kind)
    gcg.compile(FLUSHED.format(ty=ty), target=target).f(array)
    np.testing.assert_array_equal(array, np.array([0, 0, 0, *kept], kind))
    assert np.signbit(array[:3]).tolist() == [False, True, True]


POISONED = """func.func @f(%A: memref<4xf32>, %n: index) {
  %p = ub.poison : vector<4xf32>
  %c0 = arith.constant 0 : index
  %x = vector.load %A[%c0] : memref<4xf32>, vector<4xf32>
  %v = vector.shuffle %x, %p [3, 2, 1, 0] : vector<4xf32>, vector<4xf32>
  vector.store %v, %A[%c0] : memref<4xf32>, vector<4xf32>
  return
}"""


@pytest.mark.parametrize("target", TARGETS)
def test_a_vector_of_poison_that_nothing_reads(target: str):
    array = np.arange(4, dtype="f4")
    gcg.compile(POISONED, target=target).f(array, 1)
    assert array.tolist() == [3, 2, 1, 0]


UNREACHABLE = """func.func @f(%c: i1, %x: f32) -> (f32, i32) {
  cf.cond_br %c, ^end, ^never
^never:
  ub.unreachable
^end:
  %one = arith.constant 1 : i32
  return %x, %one : f32, i32
}"""


@pytest.mark.parametrize("target", TARGETS)
def test_what_is_not_to_be_reached_is_an_error_when_it_is(target: str):
    function = gcg.compile(UNREACHABLE, target=target).f
    assert function(True, 2.5) == (2.5, 1)
    with pytest.raises(errors.AssertionFailed, match=r"ub\.unreachable was reached"):
        function(False, 2.5)


CLONED = """func.func @f(%A: memref<?x4xf32, strided<[?, 1], offset: ?>>, %B: memref<?x4xf32>) {
  %m, %n = memref.distinct_objects %A, %B
      : memref<?x4xf32, strided<[?, 1], offset: ?>>, memref<?x4xf32>
  %c = bufferization.clone %m : memref<?x4xf32, strided<[?, 1], offset: ?>> to memref<?x4xf32>
  %d = bufferization.clone %c : memref<?x4xf32> to memref<?x4xf32, strided<[?, ?], offset: ?>>
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%m : memref<?x4xf32, strided<[?, 1], offset: ?>>)
  memref.copy %d, %n : memref<?x4xf32, strided<[?, ?], offset: ?>> to memref<?x4xf32>
  memref.dealloc %c : memref<?x4xf32>
  return
}"""  # noqa: E501


@pytest.mark.parametrize("target", TARGETS)
def test_a_clone_keeps_what_its_source_held(target: str):
    whole, copied = np.arange(40, dtype="f4").reshape(5, 8), np.zeros((3, 4), "f4")
    expected = whole[1:4, 2:6].copy()
    gcg.compile(CLONED, target=target).f(whole[1:4, 2:6], copied)
    np.testing.assert_array_equal(copied, expected)
    assert not whole[1:4, 2:6].any()


FREED = """func.func @f(%A: memref<4xi32>, %B: memref<4xi32>, %c: i1) -> (i1, i1) {
  %m = memref.alloc() : memref<4xi32>
  memref.copy %A, %m : memref<4xi32> to memref<4xi32>
  %v = memref.subview %m[0] [2] [1] : memref<4xi32> to memref<2xi32>
  %w = memref.alloc() : memref<2xi32>
  memref.copy %v, %w : memref<2xi32> to memref<2xi32>
  %yes = arith.constant true
  %owned:2 = bufferization.dealloc (%m, %w : memref<4xi32>, memref<2xi32>)
      if (%c, %yes) retain (%v, %A : memref<2xi32>, memref<4xi32>)
  %two = memref.subview %B[0] [2] [1] : memref<4xi32> to memref<2xi32>
  memref.copy %v, %two : memref<2xi32> to memref<2xi32>
  return %owned#0, %owned#1 : i1, i1
}"""


@pytest.mark.parametrize("target", ["interp", *TARGETS])
@pytest.mark.cases("owned", [False, True])
def test_what_is_retained_is_not_freed(owned: bool, target: str):
    given, found = np.arange(1, 5, dtype="i4"), np.zeros(4, "i4")
    results = gcg.compile(FREED, target=target).f(given, found, owned)
    assert tuple(map(bool, results)) == (owned, False)
    assert found.tolist() == [1, 2, 0, 0]


IN_A_BRANCH = """func.func @f(%A: memref<4xi32>, %B: memref<4xi32>, %c: i1) {
  %m = memref.alloc() : memref<4xi32>
  memref.copy %A, %m : memref<4xi32> to memref<4xi32>
  memref.copy %m, %B : memref<4xi32> to memref<4xi32>
  scf.if %c {
    memref.dealloc %m : memref<4xi32>
  }
  return
}"""


def test_a_kernel_does_not_free_what_the_host_allocated():
    program = gcg.compile(IN_A_BRANCH, target="cpu")
    found = np.zeros(4, "i4")
    program.f(np.arange(4, dtype="i4"), found, True)
    assert found.tolist() == [0, 1, 2, 3]
    assert "heap_free" not in program.source("f")


# -- updates of any kind ---------------------------------------------------------------

UPDATED = """func.func @f(%A: memref<64x{ty}>, %S: memref<4x{ty}>) {{
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %lanes = arith.constant 32 : index
  %four = arith.constant 4 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %two, %gy = %one, %gz = %one)
      threads(%tx, %ty, %tz) in (%ex = %lanes, %ey = %one, %ez = %one) {{
    %base = arith.muli %bx, %lanes : index
    %at = arith.addi %base, %tx : index
    %k = arith.remui %at, %four : index
    %x = memref.load %A[%at] : memref<64x{ty}>
    memref.generic_atomic_rmw %S[%k] : memref<4x{ty}> {{
    ^bb0(%now: {ty}):
      %square = arith.mul{f} %x, %x : {ty}
      %sum = arith.add{f} %now, %square : {ty}
      %more = arith.add{f} %sum, %x : {ty}
      memref.atomic_yield %more : {ty}
    }}
    gpu.terminator
  }}
  return
}}"""
ELEMENTS = {"f32": "f4", "f64": "f8", "f16": "f2", "i8": "i1", "i16": "i2", "i64": "i8"}


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.cases("ty", list(ELEMENTS), parts=4)
def test_no_update_of_a_launch_gets_lost(ty: str, target: str):
    given = np.random.default_rng(0).integers(-2, 3, 64).astype(ELEMENTS[ty])
    sums = np.zeros(4, ELEMENTS[ty])
    kind = "f" if ty[0] == "f" else "i"
    gcg.compile(UPDATED.format(ty=ty, f=kind), target=target).f(given, sums)
    terms = given.astype("i8") ** 2 + given
    assert sums.tolist() == terms.reshape(16, 4).sum(0).tolist()


PARALLEL = """func.func @f(%A: memref<8xi32>, %S: memref<1xi32>) -> i32 {
  %zero = arith.constant 0 : index
  %total = affine.parallel (%i) = (0) to (8) reduce ("addi") -> i32 {
    %x = affine.load %A[%i] : memref<8xi32>
    %old = memref.generic_atomic_rmw %S[%zero] : memref<1xi32> {
    ^bb0(%now: i32):
      %double = arith.addi %now, %now : i32
      %next = arith.addi %double, %x : i32
      memref.atomic_yield %next : i32
    }
    affine.yield %old : i32
  }
  return %total : i32
}"""


@pytest.mark.parametrize("target", ["interp", *TARGETS])
def test_a_parallel_loop_of_updates_takes_its_turns(target: str):
    array, state = np.arange(8, dtype="i4"), np.ones(1, "i4")
    total = gcg.compile(PARALLEL, target=target).f(array, state)
    seen = [1]
    for x in range(8):
        seen.append(2 * seen[-1] + x)
    assert (total, state[0]) == (sum(seen[:-1]), seen[-1])
