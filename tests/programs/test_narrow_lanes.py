"""Halves in vectors: loops, rows and tiles compute what single elements do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen.ir.number_formats import of_bits, to_bits
from tests.targets import ALL

Array = np.ndarray[Any, Any]
HALVES = pytest.mark.parametrize("name", ["bf16", "f16"])
COUNT = 77
STEPS = {
    "arithmetic": """%a = arith.addf %x, %y : T
        %b = arith.mulf %a, %x : T
        %c = arith.divf %b, %y : T
        %r = arith.subf %c, %x : T""",
    "fma": "%r = math.fma %x, %y, %x : T",
    "choice": """%a = arith.maximumf %x, %y : T
        %b = arith.minnumf %x, %y : T
        %c = arith.cmpf olt, %x, %y : T
        %r = arith.select %c, %a, %b : T""",
    "signs": """%a = arith.negf %x : T
        %b = math.copysign %a, %y : T
        %r = math.floor %b : T""",
    "roots": """%a = math.absf %x : T
        %b = math.sqrt %a : T
        %r = math.rsqrt %b : T""",
    "f32": """%a = arith.extf %x : T to f32
        %b = arith.extf %y : T to f32
        %c = arith.divf %a, %b : f32
        %r = arith.truncf %c : f32 to T""",
    "f64": """%a = arith.extf %x : T to f64
        %b = arith.extf %y : T to f64
        %c = arith.divf %a, %b : f64
        %r = arith.truncf %c : f64 to T""",
    "integers": """%a = arith.fptosi %x : T to i32
        %b = arith.fptosi %y : T to i8
        %c = arith.extsi %b : i8 to i32
        %d = arith.subi %a, %c : i32
        %r = arith.sitofp %d : i32 to T""",
    "bits": """%a = arith.bitcast %x : T to i16
        %k = arith.constant 3 : i16
        %b = arith.xori %a, %k : i16
        %r = arith.bitcast %b : i16 to T""",
    "constant": """%k = arith.constant 0.1 : T
        %r = arith.mulf %x, %k : T""",
}
ELEMENTWISE = """
func.func @f(%A: memref<{count}xT>, %B: memref<{count}xT>, %C: memref<{count}xT>) {{
  affine.for %i = 0 to {count} {{
    %x = affine.load %A[%i] : memref<{count}xT>
    %y = affine.load %B[%i] : memref<{count}xT>
    {steps}
    affine.store %r, %C[%i] : memref<{count}xT>
  }}
  return
}}"""
ROWS = """
func.func @rows(%A: memref<?x?xT>, %sums: memref<?xf32>, %largest: memref<?xT>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%sums : memref<?xf32>)
  linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>,
                       affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]
    } ins(%A : memref<?x?xT>) outs(%sums, %largest : memref<?xf32>, memref<?xT>) {
    ^bb0(%a: T, %s: f32, %m: T):
      %w = arith.extf %a : T to f32
      %t = arith.addf %s, %w : f32
      %n = arith.maximumf %m, %a : T
      linalg.yield %t, %n : f32, T
  }
  return
}"""
DENSE = """
func.func @dense(%X: memref<37x64xT>, %W: memref<64x50xT>, %bias: memref<50xf32>,
                 %Y: memref<37x50xT>) {
  %zero = arith.constant 0.0 : f32
  %sums = memref.alloc() : memref<37x50xf32>
  linalg.fill ins(%zero : f32) outs(%sums : memref<37x50xf32>)
  linalg.matmul ins(%X, %W : memref<37x64xT>, memref<64x50xT>)
    outs(%sums : memref<37x50xf32>)
  linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>,
                       affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]
    } ins(%sums, %bias : memref<37x50xf32>, memref<50xf32>)
      outs(%Y : memref<37x50xT>) {
    ^bb0(%s: f32, %b: f32, %y: T):
      %t = arith.addf %s, %b : f32
      %u = arith.maximumf %t, %zero : f32
      %v = arith.truncf %u : f32 to T
      linalg.yield %v : T
  }
  memref.dealloc %sums : memref<37x50xf32>
  return
}"""
TILES = """
func.func @tiles(%A: memref<64xT>, %B: memref<64xT>, %total: memref<1xT>) {
  %c0 = arith.constant 0 : index
  %c21 = arith.constant 21 : index
  %c32 = arith.constant 32 : index
  %zeros = arith.constant dense<0.0> : vector<32xT>
  %mask = vector.create_mask %c21 : vector<32xi1>
  %a = vector.load %A[%c0] : memref<64xT>, vector<32xT>
  %b = vector.maskedload %A[%c32], %mask, %zeros
    : memref<64xT>, vector<32xi1>, vector<32xT> into vector<32xT>
  %c = vector.fma %a, %b, %a : vector<32xT>
  vector.store %c, %B[%c0] {nontemporal = true} : memref<64xT>, vector<32xT>
  vector.maskedstore %B[%c32], %mask, %c
    : memref<64xT>, vector<32xi1>, vector<32xT>
  %s = vector.reduction <add>, %a : vector<32xT> into T
  memref.store %s, %total[%c0] : memref<1xT>
  return
}"""


def bits_of(x: Array, name: str) -> Array:
    """Codes of the nearest halves."""
    return np.array([to_bits(float(v), name) for v in x.flat], "u2").reshape(x.shape)


def values_of(codes: Array, name: str) -> Array:
    """Numbers of codes, exactly."""
    values = [of_bits(int(code), name) for code in codes.flat]
    return np.array(values, "f8").reshape(codes.shape)


def stored(codes: Array, name: str) -> Array:
    """The same memory with the dtype that programs ask for."""
    return codes.view("f2") if name == "f16" else codes


def same(found: Array, wanted: Array, name: str) -> bool:
    """Whether codes are equal, or both of something that is not a number."""
    is_nan = [np.isnan(values_of(codes, name)) for codes in (found, wanted)]
    return bool(np.all((found == wanted) | (is_nan[0] & is_nan[1])))


def random_halves(shape: tuple[int, ...], name: str) -> Array:
    """Codes of normal numbers."""
    return bits_of(np.random.default_rng(3).standard_normal(shape), name)


@HALVES
@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.sampled(27)
def test_lanes_compute_what_elements_do(steps: str, name: str):
    text = ELEMENTWISE.format(count=COUNT, steps=STEPS[steps]).replace("xT", f"x{name}")
    text = text.replace(": T", f": {name}").replace("to T", f"to {name}")
    rng = np.random.default_rng(5)
    a, b = (rng.integers(0, 1 << 16, COUNT, "u2") for _ in range(2))
    a[:7] = bits_of(np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 0.5, 2.5]), name)
    found: dict[str, Array] = {}
    for target in ("cpu", "sim"):
        program = gcg.compile(text, target=target)
        found[target] = np.zeros(COUNT, "u2")
        with np.errstate(all="ignore"):
            program.f(*(stored(x, name) for x in (a, b, found[target])))
        if target == "cpu":
            assert f"x{name}>" in dict(program.stages("f"))["vectorize"]
    assert same(found["cpu"], found["sim"], name)


@pytest.mark.sampled(2)
@HALVES
def test_rows_are_reduced_in_lanes(name: str):
    program = gcg.compile(ROWS.replace("T", name), target="cpu")
    a = random_halves((13, 301), name)
    sums, largest = np.zeros(13, "f4"), bits_of(np.full(13, -np.inf), name)
    program.rows(stored(a, name), sums, stored(largest, name))
    x = values_of(a, name)
    np.testing.assert_allclose(sums, x.sum(1), rtol=1e-5, atol=1e-4)
    assert np.array_equal(values_of(largest, name), x.max(1))


@pytest.mark.slow
@HALVES
def test_tiles_of_a_product_are_rounded_in_registers(name: str):
    program = gcg.compile(DENSE.replace("T", name), target="cpu")
    assert "37x50xf32>" not in dict(program.stages("dense"))["map-cpu"]
    x, w = random_halves((37, 64), name), random_halves((64, 50), name)
    bias = np.linspace(-1, 1, 50, dtype="f4")
    y = np.zeros((37, 50), "u2")
    program.dense(stored(x, name), stored(w, name), bias, stored(y, name))
    exact = np.maximum(values_of(x, name) @ values_of(w, name) + bias, 0)
    step = {"bf16": 2.0**-8, "f16": 2.0**-11}[name]
    np.testing.assert_allclose(values_of(y, name), exact, rtol=1.01 * step, atol=1e-4)


@HALVES
@pytest.mark.parametrize("target", ALL)
@pytest.mark.sampled(3)
def test_vectors_of_the_program(name: str, target: str):
    program = gcg.compile(TILES.replace("T", name), target=target)
    a, b, total = random_halves((64,), name), np.zeros(64, "u2"), np.zeros(1, "u2")
    program.tiles(*(stored(x, name) for x in (a, b, total)))
    x = values_of(a, name)
    other = np.where(np.arange(32) < 21, x[32:], 0)
    fused = bits_of(x[:32] * other + x[:32], name)
    assert np.array_equal(b[:32], fused)
    assert np.array_equal(b[32:53], fused[:21])
    assert not b[53:].any()
    running = np.array(0.0)
    for value in x[:32]:
        running = values_of(bits_of(running + value, name), name)
    assert values_of(total, name)[0] == running
