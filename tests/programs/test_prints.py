"""What programs print, check and call outside, on every target and in their order."""

from __future__ import annotations

import re
import sys

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors
from tests.targets import ALL as COMPILED

# Loops around calls and prints stay on the host of a GPU.
pytestmark = pytest.mark.filterwarnings("ignore::gpucodegen.errors.ElementTransfers")

ALL = (*COMPILED, "interp")
EVERYWHERE = [("cpu", 1), ("cpu", 2), ("sim", 1), ("interp", 1)]


def compiled(text: str, target: str = "cpu", threads: int = 1, **options: object):
    return gcg.compile(text, target=target, threads=threads, **options)


def seen(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()


NUMBERS = """
func.func @f(%a: i8, %u: ui8, %b: i1, %x: f32, %d: f64, %i: index, %h: f16, %w: bf16) {
  vector.print %a : i8
  vector.print %u : ui8
  vector.print %b : i1
  vector.print %x : f32
  vector.print %d : f64
  vector.print %i : index
  vector.print %h : f16
  vector.print %w : bf16
  vector.print str "a string"
  vector.print %a : i8 punctuation <comma>
  vector.print %a : i8 punctuation <no_punctuation>
  vector.print punctuation <open>
  vector.print punctuation <close>
  vector.print punctuation <newline>
  return
}"""


@pytest.mark.parametrize("target", ALL)
def test_numbers_of_all_types(target: str, capsys: pytest.CaptureFixture[str]):
    f = compiled(NUMBERS, target).f
    f(-3, 253, True, 0.1, 1 / 3, -1, 0.333, 1.0)
    expected = "-3 253 1 0.1 0.333333 18446744073709551615 0.333008 1".split()
    assert seen(capsys) == [*expected, "a string-3, -3(  )"]
    f(-3, 0, False, float("nan"), -np.inf, 1, 1e5, 2.5)
    assert seen(capsys)[:8] == "-3 0 0 nan -inf 1 inf 2.5".split()


VECTORS = """
func.func @f(%x: f32, %y: f32) {
  %v = vector.broadcast %x : f32 to vector<2x3xf32>
  %w = vector.insert %y, %v [1, 2] : f32 into vector<2x3xf32>
  vector.print %w : vector<2x3xf32>
  %z = vector.broadcast %y : f32 to vector<f32>
  vector.print %z : vector<f32>
  %s = vector.step : vector<4xindex>
  vector.print %s : vector<4xindex>
  %m = vector.constant_mask [2] : vector<3xi1>
  vector.print %m : vector<3xi1>
  %c = arith.constant dense<[[[-1, 2]], [[3, 100]]]> : vector<2x1x2xi8>
  vector.print %c : vector<2x1x2xi8>
  %b = arith.constant dense<[1.5, -0.25]> : vector<2xbf16>
  vector.print %b : vector<2xbf16>
  return
}"""


@pytest.mark.slow
@pytest.mark.parametrize("target", ALL)
def test_vectors_of_any_rank(target: str, capsys: pytest.CaptureFixture[str]):
    compiled(VECTORS, target).f(1.0, 2.5)
    assert seen(capsys) == [
        "( ( 1, 1, 1 ), ( 1, 1, 2.5 ) )",
        "( 2.5 )",
        "( 0, 1, 2, 3 )",
        "( 1, 1, 0 )",
        "( ( ( -1, 2 ) ), ( ( 3, 100 ) ) )",
        "( 1.5, -0.25 )",
    ]


def test_the_output_of_the_moment_is_written_to(monkeypatch: pytest.MonkeyPatch):
    import io

    program = compiled("func.func @f(%n: i32) { vector.print %n : i32 return }")
    for n in (1, 2):
        caught = io.StringIO()
        monkeypatch.setattr(sys, "stdout", caught)
        program.f(n)
        assert caught.getvalue() == f"{n}\n"


ORDER = """
func.func private @note(index, index)
func.func @f(%A: memref<5x4xf32>, %B: memref<5x4xf32>) {
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 5 {
      %v = affine.load %A[%j, %i] : memref<5x4xf32>
      %w = arith.addf %v, %v : f32
      affine.store %w, %B[%j, %i] : memref<5x4xf32>
      vector.print %w : f32
    }
    func.call @note(%i, %i) : (index, index) -> ()
  }
  affine.for %i = 0 to 5 {
    affine.for %j = 0 to 4 {
      %v = affine.load %B[%i, %j] : memref<5x4xf32>
      %w = arith.addf %v, %v : f32
      affine.store %w, %A[%i, %j] : memref<5x4xf32>
    }
    %v = affine.load %A[%i, 0] : memref<5x4xf32>
    vector.print %v : f32
  }
  return
}"""


@pytest.mark.slow
@pytest.mark.cases(("target", "threads"), EVERYWHERE)
def test_prints_and_calls_in_loops_keep_their_order(
    target: str, threads: int, capsys: pytest.CaptureFixture[str]
):
    a = np.arange(20, dtype=np.float32).reshape(5, 4)
    b, expected = np.zeros_like(a), list[str]()
    for i in range(4):
        expected += [f"{2 * a[j, i]:g}" for j in range(5)] + [f"note {i}"]
    expected += [f"{4 * a[i, 0]:g}" for i in range(5)]
    before = a.copy()
    note = {"note": lambda i, j: sys.stdout.write(f"note {i if i == j else j}\n")}
    compiled(ORDER, target, threads, externals=note).f(a, b)
    assert seen(capsys) == expected
    assert (a == 4 * before).all()
    assert (b == 2 * before).all()


CARRIED = """
func.func @f(%A: memref<3x3xf32>, %n: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %z = arith.constant dense<0.0> : vector<3xf32>
  %o = arith.constant dense<1.0> : vector<3xf32>
  %r:2 = scf.for %i = %c0 to %c3 step %c1
      iter_args(%x = %z, %y = %o) -> (vector<3xf32>, vector<3xf32>) {
    %v = vector.load %A[%i, %c0] : memref<3x3xf32>, vector<3xf32>
    %w = arith.addf %v, %x : vector<3xf32>
    vector.print %w : vector<3xf32>
    scf.yield %y, %w : vector<3xf32>, vector<3xf32>
  }
  %c = arith.cmpi slt, %n, %c3 : index
  %s = scf.if %c -> vector<3xf32> {
    vector.print %r#0 : vector<3xf32>
    scf.yield %r#0 : vector<3xf32>
  } else {
    scf.yield %r#1 : vector<3xf32>
  }
  %e = vector.reduction <add>, %s : vector<3xf32> into f32
  return %e : f32
}"""


@pytest.mark.slow
@pytest.mark.parametrize("target", ALL)
def test_vectors_live_across_prints(target: str, capsys: pytest.CaptureFixture[str]):
    a = np.arange(9, dtype=np.float32).reshape(3, 3)
    f = compiled(CARRIED, target).f
    for n in (1, 5):
        x, y, lines = np.zeros(3, "f4"), np.ones(3, "f4"), list[str]()
        for row in a:
            w = row + x
            lines.append(f"( {', '.join(f'{e:g}' for e in w)} )")
            x, y = y, w
        lines += [f"( {', '.join(f'{e:g}' for e in x)} )"] if n < 3 else []
        assert f(a, n) == (x if n < 3 else y).sum()
        assert seen(capsys) == lines


MEMREFS = """
func.func private @printMemrefF32(memref<*xf32>)
func.func private @_mlir_ciface_print_memref_2d_f32(memref<?x?xf32>)
func.func private @printMemrefShapeF32(memref<*xf32>)
func.func private @printMemrefC32(memref<*xcomplex<f32>>)
func.func private @printMemrefBF16(memref<*xbf16>)
func.func private @printI64(i64)
func.func private @printComma()
func.func private @printNewline()
func.func private @rtclock() -> f64
func.func @f(%a: memref<4x6xf32>, %c: memref<2xcomplex<f32>>, %b: memref<2xbf16>) {
  %t0 = call @rtclock() : () -> f64
  %s = memref.subview %a[1, 2] [2, 3] [1, 1]
      : memref<4x6xf32> to memref<2x3xf32, strided<[6, 1], offset: 8>>
  %u = memref.cast %s : memref<2x3xf32, strided<[6, 1], offset: 8>> to memref<*xf32>
  call @printMemrefF32(%u) : (memref<*xf32>) -> ()
  call @printMemrefShapeF32(%u) : (memref<*xf32>) -> ()
  %d = memref.cast %a : memref<4x6xf32> to memref<?x?xf32>
  call @_mlir_ciface_print_memref_2d_f32(%d) : (memref<?x?xf32>) -> ()
  %cu = memref.cast %c : memref<2xcomplex<f32>> to memref<*xcomplex<f32>>
  call @printMemrefC32(%cu) : (memref<*xcomplex<f32>>) -> ()
  %bu = memref.cast %b : memref<2xbf16> to memref<*xbf16>
  call @printMemrefBF16(%bu) : (memref<*xbf16>) -> ()
  %n = arith.constant 7 : i64
  call @printI64(%n) : (i64) -> ()
  call @printComma() : () -> ()
  call @printNewline() : () -> ()
  %t1 = call @rtclock() : () -> f64
  %passed = arith.cmpf oge, %t1, %t0 : f64
  cf.assert %passed, "time goes on"
  return
}"""
LINES = """\
Unranked Memref base@ = 0x rank = 2 offset = 8 sizes = [2, 3] strides = [6, 1] data =
[[8,   9,   10],
 [14,   15,   16]]
Unranked Memref base@ = 0x rank = 2 offset = 8 sizes = [2, 3] strides = [6, 1]
Memref base@ = 0x rank = 2 offset = 0 sizes = [4, 6] strides = [6, 1] data =
[[0,   1,   2,   3,   4,   5],
 [6,   7,   8,   9,   10,   11],
 [12,   13,   14,   15,   16,   17],
 [18,   19,   20,   21,   22,   23]]
Unranked Memref base@ = 0x rank = 1 offset = 0 sizes = [2] strides = [1] data =
[(1,2),  (3,-1)]
Unranked Memref base@ = 0x rank = 1 offset = 0 sizes = [2] strides = [1] data =
[1,  -2.5]
7,
"""


@pytest.mark.parametrize("target", ALL)
def test_buffers_in_the_format_of_the_runner(
    target: str, capsys: pytest.CaptureFixture[str]
):
    a = np.arange(24, dtype=np.float32).reshape(4, 6)
    a.flags.writeable = False  # printing writes nothing
    c = np.array([1 + 2j, 3 - 1j], np.complex64)
    b = np.array([0x3F80, 0xC020], np.uint16)
    compiled(MEMREFS, target).f(a, c, b)
    found = re.sub(r"0x[0-9a-f]+", "0x", capsys.readouterr().out)
    assert [line.rstrip() for line in found.splitlines()] == LINES.splitlines()


CHECKS = """
func.func @f(%a: tensor<4xf32>, %n: i32) {
  check.expect_true(%n) : i32
  %two = arith.constant dense<2.0> : tensor<4xf32>
  %b = arith.mulf %a, %two : tensor<4xf32>
  check.expect_eq_const(%b, dense<[0.0, 2.0, 4.0, 6.0]> : tensor<4xf32>) : tensor<4xf32>
  check.expect_almost_eq_const %b, dense<[0.0, 2.00001, 4.0, 6.0]> : tensor<4xf32>
  check.expect_eq(%b, %b) : tensor<4xf32>
  check.expect_almost_eq(%a, %b, atol 4.0) : tensor<4xf32>
  return
}"""


@pytest.mark.parametrize("target", ALL)
def test_expectations(target: str):
    f = compiled(CHECKS, target).f
    a = np.arange(4, dtype=np.float32)
    f(a, 1)
    with pytest.raises(errors.ExpectationFailed, match=r"3:3: error: .*is 0, not 1"):
        f(a, 0)
    wrong = r"6:3: error: .*eq_const' fails for 1 of 4 .* at \[2\] is 2, not 4"
    with pytest.raises(errors.ExpectationFailed, match=wrong):
        f(np.array([0, 1, 1, 3], np.float32), 1)


ASSERTED = """
func.func @f(%a: memref<4xf32>, %limit: f32) -> f32 {
  %z = arith.constant 0.0 : f32
  %s = affine.for %i = 0 to 4 iter_args(%t = %z) -> f32 {
    %v = affine.load %a[%i] : memref<4xf32>
    %ok = arith.cmpf olt, %v, %limit : f32
    cf.assert %ok, "too large"
    %w = arith.addf %t, %v : f32
    affine.yield %w : f32
  }
  return %s : f32
}"""


@pytest.mark.parametrize("target", ALL)
def test_an_assertion_that_fails_is_an_error_with_its_place(target: str):
    f = compiled(ASSERTED, target).f
    a = np.arange(4, dtype=np.float32)
    assert f(a, 9.0) == 6
    with pytest.raises(errors.AssertionFailed, match=r"7:5: error: .*: too large"):
        f(a, 2.5)


EXTERNALS = """
func.func private @scaled(tensor<?xf32>, f32) -> tensor<?xf32>
func.func private @total(vector<3xf32>) -> f64
func.func private @double(memref<*xf32>)
func.func private @split(i32) -> (i32, i8, index)
func.func @f(%t: tensor<?xf32>, %m: memref<3xf32>, %n: i32)
    -> (tensor<?xf32>, f64, i32, i8, index) {
  %c0 = arith.constant 0 : index
  %k = arith.constant 3.0 : f32
  %r = call @scaled(%t, %k) : (tensor<?xf32>, f32) -> tensor<?xf32>
  %u = memref.cast %m : memref<3xf32> to memref<*xf32>
  call @double(%u) : (memref<*xf32>) -> ()
  %v = vector.load %m[%c0] : memref<3xf32>, vector<3xf32>
  %s = call @total(%v) : (vector<3xf32>) -> f64
  %p:3 = call @split(%n) : (i32) -> (i32, i8, index)
  return %r, %s, %p#0, %p#1, %p#2 : tensor<?xf32>, f64, i32, i8, index
}"""


def double(a: np.ndarray) -> None:
    a *= 2


@pytest.mark.parametrize("target", ALL)
def test_functions_without_a_body_are_those_of_the_caller(target: str):
    externals = {
        "scaled": lambda t, k: t * k,
        "total": lambda v: float(v.sum()),
        "double": double,
        "split": lambda n: (n // 10, n, n % 10),
    }
    program = compiled(EXTERNALS, target, externals=externals)
    t, m = np.arange(5, dtype=np.float32), np.ones(3, np.float32)
    r, s, tens, low, ones = program.f(t, m, 300)
    assert r.tolist() == (t * 3).tolist()
    assert t.tolist() == [0, 1, 2, 3, 4]
    assert m.tolist() == [2, 2, 2]
    assert (s, tens, low, ones) == (6.0, 30, 44, 0)


def test_a_result_of_another_shape_is_refused():
    text = """
    func.func private @g(tensor<4xf32>) -> tensor<4xf32>
    func.func @f(%t: tensor<4xf32>) -> tensor<4xf32> {
      %r = call @g(%t) : (tensor<4xf32>) -> tensor<4xf32>
      return %r : tensor<4xf32>
    }"""
    program = compiled(text, externals={"g": lambda t: t[:2]})
    with pytest.raises(errors.HandlerShape, match=r"shape \[2\], not \[4\]"):
        program.f(np.zeros(4, np.float32))


def test_functions_that_nobody_gives_are_named():
    text = """
    func.func private @unheardOf(f32)
    func.func @f(%x: f32) { call @unheardOf(%x) : (f32) -> () return }"""
    with pytest.raises(errors.ExternalFunction, match=r"externals=\{'unheardOf': "):
        compiled(text).f(1.0)


def test_strings_of_llvm_are_refused_with_what_prints_them():
    text = """
    llvm.mlir.global internal constant @text("hello")
    func.func private @printString(!llvm.ptr)
    func.func @f() {
      %text = llvm.mlir.addressof @text : !llvm.ptr
      call @printString(%text) : (!llvm.ptr) -> ()
      return
    }"""
    advice = r"'vector\.print str'.*externals="
    with pytest.raises(errors.UnknownOperation, match=advice):
        gcg.parse(text)


@pytest.mark.slow
def test_a_handler_takes_the_place_of_printing(capsys: pytest.CaptureFixture[str]):
    got = []
    handlers = {"vector.print": lambda value, **_: got.append(np.asarray(value).sum())}
    compiled(VECTORS, handlers=handlers).f(1.0, 2.5)
    codes = 0x3FC0 + 0xBE80  # of 1.5 and -0.25: bf16 comes as its bits
    assert got == [7.5, 2.5, 6, 2, 104, codes]
    assert seen(capsys) == []


# -- from kernels ----------------------------------------------------------------------

LAUNCH = """
func.func @f(%a: memref<4xf32>) {
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %two, %gy = %one, %gz = %one)
             threads(%tx, %ty, %tz) in (%sx = %two, %sy = %two, %sz = %one) {
    %v = memref.load %a[%tx] : memref<4xf32>
    %w = arith.addf %v, %v : f32
    memref.store %w, %a[%tx] : memref<4xf32>
    BODY
    gpu.terminator
  }
  return
}"""
THREADS = [(bx, ty, tx) for bx in range(2) for ty in range(2) for tx in range(2)]


@pytest.mark.parametrize("target", ALL)
def test_threads_that_print_follow_one_another(
    target: str, capsys: pytest.CaptureFixture[str]
):
    printf = """gpu.printf "%lld %lld %lld: %.1f|%5.1e%%|%u\\0A", %bx, %ty, %tx,
      %w, %w, %n : index, index, index, f32, f32, i32"""
    body = f"%n = arith.constant -1 : i32\n{printf}\nvector.print %v : f32"
    a = np.ones(4, np.float32)
    compiled(LAUNCH.replace("BODY", body), target).f(a)
    old, expected = np.ones(4), list[str]()
    for bx, ty, tx in THREADS:
        new = old[tx] * 2
        expected.append(f"{bx} {ty} {tx}: {new:.1f}|{new:5.1e}%|4294967295")
        expected.append(f"{old[tx]:g}")
        old[tx] = new
    assert seen(capsys) == expected
    assert a.tolist() == old.tolist()


@pytest.mark.parametrize(
    "operation", ['gpu.printf "%f", %v : f32', "vector.print %v : f32"]
)
def test_threads_that_meet_do_not_print(operation: str):
    text = LAUNCH.replace("BODY", f"gpu.barrier\n{operation}")
    with pytest.raises(
        errors.UnsupportedOperation, match=r":11:.*gpu\.barrier.*memref"
    ):
        compiled(text, "sim").f(np.ones(4, np.float32))
