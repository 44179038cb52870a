"""Numbers that host programs compute between launches are those of kernels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen.runtime.cpu import arithmetic
from tests.targets import ALL

PROGRAM = """
func.func @integers(%a: i32, %b: i32, %c: i8) -> (i32, i32, i32, i8, i1, i64) {
  %sum = arith.addi %a, %b : i32
  %q = arith.divsi %a, %b : i32
  %r = arith.remui %a, %b : i32
  %t = arith.muli %c, %c : i8
  %less = arith.cmpi ult, %a, %b : i32
  %wide = arith.extui %c : i8 to i64
  return %sum, %q, %r, %t, %less, %wide : i32, i32, i32, i8, i1, i64
}
func.func @floats(%x: f32, %y: f64) -> (f32, f64, f32, i32, i1) {
  %s = math.sqrt %x : f32
  %e = math.exp %y : f64
  %m = arith.maximumf %x, %s : f32
  %i = arith.fptosi %y : f64 to i32
  %o = arith.cmpf oge, %x, %s : f32
  return %s, %e, %m, %i, %o : f32, f64, f32, i32, i1
}
func.func @halves(%x: memref<2xbf16>) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = memref.load %x[%c0] : memref<2xbf16>
  %b = arith.mulf %a, %a : bf16
  memref.store %b, %x[%c1] : memref<2xbf16>
  %w = arith.extf %b : bf16 to f32
  return %w : f32
}
func.func @complexes(%z: complex<f32>) -> (f32, complex<f32>) {
  %a = complex.abs %z : complex<f32>
  %w = complex.exp %z : complex<f32>
  return %a, %w : f32, complex<f32>
}
"""


@pytest.fixture(params=ALL)
def program(request: pytest.FixtureRequest) -> gcg.Program:
    return gcg.compile(PROGRAM, target=request.param)


def test_integers(program: gcg.Program) -> None:
    given = -(2**31), -3, -56
    remainder = (2**31) % (2**32 - 3)
    wanted = (2**31 - 3, 715827882, remainder - 2**32, 64, True, 200)
    assert program.integers(*given) == wanted


def test_floats(program: gcg.Program) -> None:
    root, power, larger, whole, ordered = program.floats(2.0, -1.5)
    assert np.float32(root) == np.sqrt(np.float32(2))
    assert larger == 2
    assert math.isclose(power, math.exp(-1.5), rel_tol=1e-15)
    assert (whole, ordered) == (-1, True)


def test_halves(program: gcg.Program) -> None:
    bits = np.array([0x3F81, 0], np.uint16)  # 1.0078125, whose square lies between
    assert program.halves(bits) == 1.015625
    assert bits.tolist() == [0x3F81, 0x3F82]


def test_complexes(program: gcg.Program) -> None:
    size, power = program.complexes(3 + 4j)
    assert size == 5
    np.testing.assert_allclose(power, np.exp(3 + 4j), 1e-6)


@pytest.mark.cases(
    ("made", "given", "wanted"),
    [
        (arithmetic.int8, -129, 127),
        (arithmetic.int64, np.int32(-1), -1),
        (arithmetic.int32, 2**40 + 5, 5),
        (arithmetic.boolean, np.int8(2), True),
    ],
)
def test_constructors(made: Any, given: Any, wanted: Any) -> None:
    assert made(given) == wanted
    assert type(made(made(given))) is type(made(given))


def test_ceildivsi_rounds_up() -> None:
    pairs = [(7, 2), (-7, 2), (6, 3), (1, -2)]
    found = [arithmetic.ceildivsi(np.int64(a), np.int64(b)) for a, b in pairs]
    assert found == [4, -3, 2, 0]
    assert arithmetic.ceildivsi(np.int32(1), np.int32(0)) == 0
