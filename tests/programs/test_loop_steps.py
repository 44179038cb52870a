"""Loops of every integer type, signed or not, and steps that only a run knows.

The reference is `range` of Python, on numbers as the loop compares them.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors
from gpucodegen.passes.framework.base import run_pipeline
from gpucodegen.passes.framework.pipeline_text import parse_pipeline

TARGETS = ("interp", "cpu", "sim")
STEP = "step"

HEAD = """
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %three = arith.constant 3 : i64
"""


def _loop(ty: str, word: str) -> str:
    """``a = 3 a + i + 1`` in each iteration, which tells the variables in order."""
    suffix = "" if ty == "index" else f" : {ty}"
    wide = {
        "index": "arith.index_cast %i : index to i64",
        "i64": "arith.addi %i, %z : i64",
    }.get(ty, f"arith.extsi %i : {ty} to i64")
    return f"""
    %r = scf.for{word} %i = %lo to %hi step %st iter_args(%a = %z) -> (i64){suffix} {{
      %w = {wide}
      %m3 = arith.muli %a, %three : i64
      %b = arith.addi %m3, %w : i64
      %next = arith.addi %b, %one : i64
      scf.yield %next : i64
    }}"""


def _host(ty: str, word: str) -> str:
    return f"""func.func @f(%lo: {ty}, %hi: {ty}, %st: {ty}) -> i64 {{
  {HEAD} {_loop(ty, word)}
    return %r : i64
    }}"""


def _kernel(ty: str, word: str) -> str:
    return f"""func.func @f(%m: memref<8xi64>, %lo: {ty}, %hi: {ty}, %st: {ty}) {{
  {HEAD}
  affine.for %k = 0 to 8 {{
    {_loop(ty, word)}
    affine.store %r, %m[%k] : memref<8xi64>
  }}
  return
}}"""


def _wrapped(number: int, bits: int, word: str = "") -> int:
    half = 0 if word else 1 << (bits - 1)
    return (number + half) % (1 << bits) - half


def _expected(ty: str, word: str, bounds: tuple[int, int, int]) -> int | str:
    bits = 64 if ty == "index" else int(ty[1:])
    lower, upper, step = (_wrapped(n, bits, word) for n in bounds)
    if step <= 0:
        return STEP
    total = 0
    for i in range(lower, upper, step):
        total = total * 3 + _wrapped(i, bits) + 1
    return _wrapped(total, 64)


def _run(function: Any, *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except errors.InvalidLoopStep:
        return STEP


def _cases(ty: str) -> list[tuple[int, int, int]]:
    top = (1 << ((64 if ty == "index" else int(ty[1:])) - 1)) - 1
    near = [(top - 7, top, 5), (-top - 1, top, top), (0, -2, top), (0, top, top // 2)]
    return [*near, (0, 7, 2), (-1, 3, 1), (3, 9, 0), (9, -1, -3), (5, 0, 0)]


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
def test_variables_neither_wrap_nor_change_sign(target: str) -> None:
    for ty in ("i5", "i8", "i16", "i32", "i64", "index"):
        for word in ("", " unsigned"):
            f = gcg.compile(_host(ty, word), target=target).f
            for bounds in _cases(ty):
                assert _run(f, *bounds) == _expected(ty, word, bounds), (
                    ty,
                    word,
                    bounds,
                )


@pytest.mark.parametrize("target", TARGETS)
def test_narrow_variables(target: str) -> None:
    text = _host("i8", " unsigned") + _host("i8", "").replace("@f", "@g")
    program = gcg.compile(text, target=target)
    assert program.f(120, -1, 5) == _expected("i8", " unsigned", (120, -1, 5))
    assert program.g(120, 127, 5) == _expected("i8", "", (120, 127, 5))
    with pytest.raises(errors.InvalidLoopStep, match="a loop has step -1") as info:
        program.g(5, 0, -1)
    assert "scf.for" in str(info.value)


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
def test_the_same_in_kernels(target: str) -> None:
    for ty in ("i8", "i32", "index"):
        for word in ("", " unsigned"):
            f = gcg.compile(_kernel(ty, word), target=target).f
            for bounds in _cases(ty):
                m = np.full(8, 77)
                found = _run(f, m, *bounds)
                expected = _expected(ty, word, bounds)
                if found == STEP:
                    assert expected == STEP
                    assert (m == 77).all()
                else:
                    assert (m == expected).all(), (ty, word, bounds)


PLACES = """
func.func @parallel(%m: memref<8x8xi32>, %lo: index, %hi: index, %st: index) {
  %one = arith.constant 1 : i32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i, %j) = (%c0, %lo) to (%hi, %hi) step (%c1, %st) {
    memref.store %one, %m[%i, %j] : memref<8x8xi32>
    scf.reduce
  }
  return
}
func.func @forall(%m: memref<8x8xi32>, %lo: index, %hi: index, %st: index) {
  %one = arith.constant 1 : i32
  scf.forall (%i, %j) = (%lo, 0) to (%hi, %hi) step (%st, 2) {
    memref.store %one, %m[%i, %j] : memref<8x8xi32>
  }
  return
}
func.func private @callee(
    %m: memref<8x8xi32>, %x: index, %hi: index, %st: index) {
  %one = arith.constant 1 : i32
  %c0 = arith.constant 0 : index
  scf.for %y = %c0 to %hi step %st {
    memref.store %one, %m[%x, %y] : memref<8x8xi32>
  }
  return
}
func.func @called(%m: memref<8x8xi32>, %lo: index, %hi: index, %st: index) {
  affine.for %x = 0 to 8 {
    func.call @callee(%m, %x, %hi, %st)
      : (memref<8x8xi32>, index, index, index) -> ()
  }
  return
}
func.func @branches(%m: memref<8x8xi32>, %lo: index, %hi: index, %st: index) {
  %one = arith.constant 1 : i32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c = arith.cmpi sgt, %lo, %c0 : index
  scf.for %x = %c0 to %hi step %c1 {
    scf.if %c {
      scf.for %y = %c0 to %hi step %st {
        memref.store %one, %m[%x, %y] : memref<8x8xi32>
      }
    } else {
      memref.store %one, %m[%x, %c0] : memref<8x8xi32>
    }
  }
  return
}
func.func @launched(%m: memref<8x8xi32>, %lo: index, %hi: index, %st: index) {
  %one = arith.constant 1 : i32
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  gpu.launch blocks(%b0, %b1, %b2) in (%g0 = %c1, %g1 = %c1, %g2 = %c1)
      threads(%k, %t1, %t2) in (%s0 = %c8, %s1 = %c1, %s2 = %c1) {
    scf.for %y = %lo to %hi step %st {
      memref.store %one, %m[%k, %y] : memref<8x8xi32>
    }
    gpu.terminator
  }
  return
}
func.func @data(%m: memref<8x8xi32>, %lo: index, %hi: index, %st: index) {
  %one = arith.constant 1 : i32
  %c0 = arith.constant 0 : index
  affine.for %x = 1 to 8 {
    %s32 = affine.load %m[0, %x] : memref<8x8xi32>
    %s0 = arith.index_cast %s32 : i32 to index
    %s = arith.addi %s0, %st : index
    scf.for %y = %c0 to %hi step %s {
      memref.store %one, %m[%x, %y] : memref<8x8xi32>
    }
  }
  return
}
func.func @tensors(
    %t: tensor<8x8xi32>, %lo: index, %hi: index, %st: index) -> tensor<8x8xi32> {
  %one = arith.constant 1 : i32
  %r = scf.for %i = %lo to %hi step %st iter_args(%a = %t) -> (tensor<8x8xi32>) {
    %b = tensor.insert %one into %a[%i, %lo] : tensor<8x8xi32>
    scf.yield %b : tensor<8x8xi32>
  }
  return %r : tensor<8x8xi32>
}
"""
BOUNDS = [(0, 5, 2), (2, 8, 3), (0, 5, 0), (0, 5, -1), (3, 0, 0), (5, 0, -1), (0, 0, 0)]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("target", ["cpu", "sim"])
@pytest.mark.filterwarnings("ignore::gpucodegen.errors.PossiblyOutOfBounds")
@pytest.mark.parametrize("name", re.findall(r"func.func @(\w+)", PLACES))
def test_bad_steps_are_refused_wherever_the_loop_is(name: str, target: str) -> None:
    ours, reference = (
        getattr(gcg.compile(PLACES, target=t), name) for t in (target, "interp")
    )
    for bounds in BOUNDS:
        m, expected = np.zeros((2, 8, 8), "i4")
        found = [_run(f, x, *bounds) for f, x in ((ours, m), (reference, expected))]
        assert (found[0] is STEP) == (found[1] is STEP), bounds
        if found[0] is not STEP:
            assert np.array_equal(*found) or found[0] is None
            assert np.array_equal(m, expected), bounds
        elif name != "data":
            assert not m.any(), "nothing is half-written"


@pytest.mark.parametrize("target", TARGETS)
def test_a_loop_that_is_built_counts_upwards(target: str) -> None:
    f = gcg.build("f", x="i64[:]")
    with f.loop(9, -1, -3) as i:
        f["x"][i] = 1
    x = np.zeros(10, "i8")
    assert _run(f.compile(target=target).f, x) == STEP
    assert not x.any()


def test_only_signed_loops_become_affine() -> None:
    text = _host("index", " unsigned").replace("step %st", "step %c1")
    text = text.replace("%z = ", "%c1 = arith.constant 1 : index\n  %z = ", 1)
    for source, is_raised in ((text, False), (text.replace(" unsigned", ""), True)):
        raised = run_pipeline(gcg.parse(source), parse_pipeline("raise-to-affine"))
        assert ("affine.for" in str(raised)) == is_raised


def stepping(a: Any, start: Any, stop: Any, step: Any) -> None:
    for i in range(start, stop, step):
        a[i] += i + 1


@pytest.mark.sampled(2)
@pytest.mark.parametrize("target", ["cpu", "sim"])
def test_ranges_of_python_count_down_and_refuse_zero(target: str) -> None:
    f = gcg.jit(target=target)(stepping)
    for bounds in ((0, 5, 2), (7, -1, -3), (3, 3, 1), (0, 5, -1)):
        a, expected = np.zeros((2, 8), "i8")
        f(a, *bounds)
        stepping(expected, *bounds)
        assert np.array_equal(a, expected), bounds
    a = np.zeros(8, "i8")
    assert _run(f, a, 0, 5, 0) == STEP
    assert not a.any()
