"""Functions of several blocks run in the threads of parallel loops around them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lowering import apply, function, names

import gpucodegen as gcg

N, M = 200, 9

HALVE = """
func.func private @halve(%A: memref<?x?xf32>, %x: f32, %i: index) -> (f32, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %A, %c1 : memref<?x?xf32>
  cf.br ^look(%c0, %x : index, f32)
^look(%j: index, %v: f32):
  %more = arith.cmpi slt, %j, %n : index
  cf.cond_br %more, ^read, ^end(%j, %v : index, f32)
^read:
  %a = memref.load %A[%i, %j] : memref<?x?xf32>
  %large = arith.cmpf olt, %a, %v : f32
  cf.cond_br %large, ^next, ^end(%j, %a : index, f32)
^next:
  %h = arith.subf %v, %a : f32
  %k = arith.addi %j, %c1 : index
  cf.br ^look(%k, %h : index, f32)
^end(%last: index, %w: f32):
  return %w, %last : f32, index
}"""


def around(body: str) -> str:
    return f"""
    func.func @f(%A: memref<?x?xf32>, %B: memref<?xf32>, %C: memref<?xindex>) {{
      %zero = arith.constant 0 : index
      %n = memref.dim %A, %zero : memref<?x?xf32>
      affine.for %i = 0 to %n {{
        %x = affine.load %B[%i] : memref<?xf32>
        {body}
      }}
      return
    }}{HALVE}"""


CALL = """
%w, %j = func.call @halve(%A, {}, %i) : (memref<?x?xf32>, f32, index) -> (f32, index)
"""
ONCE = around(
    CALL.format("%x")
    + """affine.store %w, %B[%i] : memref<?xf32>
    affine.store %j, %C[%i] : memref<?xindex>"""
)
THRICE = around(
    """%y = affine.for %k = 0 to 3 iter_args(%c = %x) -> (f32) {"""
    + CALL.format("%c")
    + """%d = arith.addf %w, %c : f32
      affine.yield %d : f32
    }
    %z = arith.addf %y, %x : f32
    affine.store %z, %B[%i] : memref<?xf32>"""
)


def halve(row: np.ndarray, value: np.float32) -> tuple[np.float32, int]:
    for j, a in enumerate(row):
        if not a < value:
            return a, j
        value = np.float32(value - a)
    return value, len(row)


def given_arrays() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(3)
    rows = random.integers(1, 20, (N, M)).astype("f4")
    return rows, random.integers(0, 60, N).astype("f4"), np.zeros(N, "i8")


@pytest.mark.sampled(4)
@pytest.mark.parametrize("target", ["cpu", "sim"])
def test_results_leave_the_region(target: str):
    a, b, c = given_arrays()
    expected = [halve(row, x) for row, x in zip(a, b, strict=True)]
    gcg.compile(ONCE, target=target).f(a, b, c)
    assert b.tolist() == [value for value, _ in expected]
    assert c.tolist() == [count for _, count in expected]


@pytest.mark.slow
@pytest.mark.parametrize("target", ["cpu", "sim"])
def test_regions_stand_in_loops_that_carry_values(target: str):
    a, b, c = given_arrays()
    expected: list[float] = []
    for row, x in zip(a, b, strict=True):
        y = x
        for _ in range(3):
            y = np.float32(halve(row, y)[0] + y)
        expected.append(y + x)
    gcg.compile(THRICE, target=target).f(a, b, c)
    assert b.tolist() == expected


def test_the_loop_is_divided_among_threads():
    cpu, sim = (gcg.compile(ONCE, target=target) for target in ("cpu", "sim"))
    for program in (cpu, sim):
        program.f(*given_arrays())
    assert "prange(" in cpu.source("f")
    assert "cuda.blockIdx.x" in sim.source("f")


def test_calls_in_sequential_loops_stay():
    text = around(CALL.format("%x") + "affine.store %w, %B[0] : memref<?xf32>")
    found = names(apply("inline-branches", text))
    assert "func.call" in found
    assert "scf.execute_region" not in found


def test_functions_that_call_themselves_stay():
    text = """
    func.func @f(%A: memref<8xf32>) {
      affine.for %i = 0 to 8 {
        func.call @g(%i) : (index) -> ()
      }
      return
    }
    func.func private @g(%i: index) attributes {gcg.reads = []} {
      cf.br ^end
    ^end:
      func.call @g(%i) : (index) -> ()
      return
    }"""
    assert "scf.execute_region" not in names(apply("inline-branches", text))


NESTED = """
func.func private @sign(%x: f32) -> f32 {
  %zero = arith.constant 0.0 : f32
  %c = arith.cmpf olt, %x, %zero : f32
  cf.cond_br %c, ^minus, ^plus
^minus:
  %m = arith.negf %x : f32
  return %m : f32
^plus:
  return %x : f32
}
func.func private @both(%x: f32, %y: f32) -> f32 {
  %s = func.call @sign(%x) : (f32) -> f32
  %c = arith.cmpf olt, %s, %y : f32
  cf.cond_br %c, ^small, ^end(%s : f32)
^small:
  %t = func.call @sign(%y) : (f32) -> f32
  %u = arith.mulf %s, %t : f32
  cf.br ^end(%u : f32)
^end(%v: f32):
  return %v : f32
}
func.func @f(%A: memref<64xf32>, %y: f32) {
  affine.for %i = 0 to 64 {
    %x = affine.load %A[%i] : memref<64xf32>
    %z = func.call @both(%x, %y) : (f32, f32) -> f32
    %w = arith.addf %z, %x : f32
    affine.store %w, %A[%i] : memref<64xf32>
  }
  return
}"""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("target", ["cpu", "sim"])
def test_regions_stand_in_regions(target: str):
    assert names(apply("inline-branches", NESTED)).count("scf.execute_region") == 3
    given_ = np.arange(-32, 32, dtype="f4")
    size = np.abs(given_)
    expected = np.where(size < 9, size * 9, size) + given_
    gcg.compile(NESTED, target=target).f(given_, 9.0)
    assert given_.tolist() == expected.tolist()


BLOCKS = 4


@st.composite
def regions(draw: st.DrawFn) -> list[tuple[bool, int, int]]:
    """Per block, whether it asks for an even number, and where it goes."""
    return [
        (
            draw(st.booleans()),
            draw(st.integers(n + 1, BLOCKS)),
            draw(st.integers(0, BLOCKS)),
        )
        for n in range(BLOCKS)
    ]


def region_text(jumps: list[tuple[bool, int, int]]) -> str:
    """Each block counts its visits in one sum; back jumps end after 20 steps."""
    lines = ["func.func @f(%x: i64) -> i64 {", "%one = arith.constant 1 : i64"]
    lines += ["%two = arith.constant 2 : i64", "%limit = arith.constant 20 : i64"]
    lines += ["%zero = arith.constant 0 : i64"]
    lines += ["%r = scf.execute_region -> i64 {", "cf.br ^b0(%x, %zero : i64, i64)"]
    for n, (asks, one, other) in enumerate(jumps):
        lines.append(f"^b{n}(%s{n}: i64, %n{n}: i64):")
        lines.append(f"%m{n} = arith.addi %n{n}, %one : i64")
        lines.append(f"%w{n} = arith.constant {3 * n + 1} : i64")
        lines.append(f"%t{n} = arith.addi %s{n}, %w{n} : i64")
        lines.append(f"%q{n} = arith.remsi %t{n}, %two : i64")
        lines.append(f"%c{n} = arith.cmpi eq, %q{n}, %zero : i64")
        lines.append(f"%l{n} = arith.cmpi slt, %m{n}, %limit : i64")
        lines.append(f"%d{n} = arith.andi %c{n}, %l{n} : i1" if asks else "")
        condition = f"%d{n}" if asks else f"%l{n}"
        targets = [f"^b{to}(%t{n}, %m{n} : i64, i64)" for to in (other, one)]
        lines.append(f"cf.cond_br {condition}, {', '.join(targets)}")
    lines += [f"^b{BLOCKS}(%s: i64, %n: i64):", "%u = arith.muli %s, %two : i64"]
    lines += ["scf.yield %u : i64", "}", "%v = arith.addi %r, %x : i64"]
    return "\n".join([*lines, "return %v : i64", "}"])


def region_answer(jumps: list[tuple[bool, int, int]], x: int) -> int:
    at, total, steps = 0, x, 0
    while at < BLOCKS:
        asks, one, other = jumps[at]
        steps += 1
        total += 3 * at + 1
        again = steps < 20 and (not asks or total % 2 == 0)
        at = other if again else one
    return 2 * total + x


@pytest.mark.slow
@settings(max_examples=20, database=None, derandomize=True, deadline=None)
@given(regions(), st.integers(0, 9))
@example([(False, 2, 0), (False, 2, 0), (False, 3, 1), (False, 4, 0)], 0)
def test_regions_of_blocks_run(jumps: list[tuple[bool, int, int]], x: int):
    assert function(region_text(jumps))(x) == region_answer(jumps, x)
