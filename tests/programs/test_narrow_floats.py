"""Floats of less than 32 bits, run: every code, every rounding, all pairs of codes."""

from __future__ import annotations

import importlib
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpucodegen as gcg
from gpucodegen.ir.number_formats import FORMATS, decode_table, of_bits
from tests.programs.narrow_programs import (
    ARITHMETIC,
    CONVERT,
    NAMES,
    awkward,
    nearest,
    program,
    same,
    values_of,
)
from tests.targets import ALL

Array = np.ndarray[Any, Any]
TARGETS = pytest.mark.parametrize("target", ALL)
KINDS = ["f4E2M1FN", "f8E4M3", "f8E4M3FN", "f8E5M2FNUZ", "f8E8M0FNU"]
"""One type for each way of having infinities, NaN, zeros and signs."""
CASES = [(name, "cpu") for name in NAMES] + [(name, "sim") for name in KINDS]
EVERYWHERE = pytest.mark.parametrize(("name", "target"), CASES)


def all_codes(name: str) -> Array:
    return np.arange(1 << FORMATS[name].width, dtype="u1")


@pytest.mark.drawn(11)
@pytest.mark.slow
@EVERYWHERE
@pytest.mark.sampled(3)
def test_every_code_decodes(name: str, target: str):
    codes = all_codes(name)
    values = np.zeros(len(codes), "f4")
    program(CONVERT, name, target).convert(codes, values)
    assert same(values, np.array(decode_table(name)))


def rounded(x: Array, name: str, target: str) -> tuple[Array, Array]:
    """What f32 and f64 are rounded to."""
    r, s = np.zeros(len(x), "u1"), np.zeros(len(x), "u1")
    with np.errstate(all="ignore"):
        program(CONVERT, name, target).round(x.astype("f4"), x, r, s)
    return values_of(r, name), values_of(s, name)


@pytest.mark.slow
@EVERYWHERE
@pytest.mark.sampled(3)
def test_decisions_of_rounding(name: str, target: str):
    x = awkward(name)
    x = x if target == "cpu" else x[:: max(1, len(x) // 300)].copy()
    from_f32, from_f64 = rounded(x, name, target)
    with np.errstate(all="ignore"):
        assert same(from_f32, nearest(x.astype("f4").astype("f8"), name))
    assert same(from_f64, nearest(x, name))


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(), min_size=1, max_size=20), st.sampled_from(NAMES))
def test_any_number_rounds_to_the_nearest(numbers: list[float], name: str):
    x = np.array(numbers)
    _, found = rounded(x, name, "cpu")
    assert same(found, nearest(x, name))


def computed(x: Array, y: Array, z: Array, name: str, target: str) -> Array:
    out = np.zeros((5, len(x)), "u1")
    program(ARITHMETIC, name, target).arithmetic(x, y, z, out)
    return values_of(out, name)


@pytest.mark.drawn(11)
@pytest.mark.slow
@EVERYWHERE
@pytest.mark.sampled(9)
def test_arithmetic_of_all_pairs_is_correctly_rounded(name: str, target: str):
    codes = all_codes(name)
    pairs = np.array(np.meshgrid(codes, codes)).reshape(2, -1)
    if target != "cpu":
        pairs = pairs[:, :: max(1, pairs.shape[1] // 300)].copy()
    x, y = pairs
    found = computed(x, y, x, name, target)[:4]
    # float64 holds sums, differences and products of them, or more digits than decide.
    a, b = values_of(x, name), values_of(y, name)
    with np.errstate(all="ignore"):
        wanted = [a + b, a - b, a * b, a / b]
    for row, exact in zip(found, wanted, strict=True):
        assert same(row, nearest(exact, name))


def exact_fma(codes: Array, name: str) -> Array:
    """Rounded once, from fractions."""
    numbers = [of_bits(int(code), name) for code in codes]
    if not np.isfinite(numbers).all():
        return nearest(np.array(numbers[0] * numbers[1] + numbers[2]), name)
    a, b, c = map(Fraction, numbers)
    total = a * b + c
    if not total:
        return nearest(np.array(numbers[0] * numbers[1] + numbers[2]), name)
    return np.array(of_bits(FORMATS[name].encode(total), name))


@pytest.mark.drawn(11)
@pytest.mark.slow
@EVERYWHERE
@pytest.mark.sampled(9)
def test_fma_rounds_once(name: str, target: str):
    rng = np.random.default_rng(7)
    codes = rng.choice(all_codes(name), (3, 4000 if target == "cpu" else 200))
    x, y, z = codes
    found = computed(x, y, z, name, target)[4]
    wanted = np.array([exact_fma(triple, name) for triple in codes.T])
    assert same(found, wanted)


@pytest.mark.slow
@TARGETS
def test_fma_sees_what_float32_and_float64_lose(target: str):
    # 1.5 * 1.5 * 2**14 lies in the middle; an addend 31 bits below decides.
    product = FORMATS["f8E5M2"].encode(1.5), FORMATS["f8E5M2"].encode(1.5 * 2.0**14)
    tiny = FORMATS["f8E5M2"].encode(2.0**-16)
    columns = np.array([[*product, tiny], [*product, tiny | 0x80]], "u1").T.copy()
    found = computed(columns[0], columns[1], columns[2], "f8E5M2", target)[4]
    assert found.tolist() == [40960.0, 32768.0]
    rows = np.array([[2.0**100, 1 + 2.0**-7, 2.0**-100]] * 2) * [[1, 1, 1], [1, 1, -1]]
    rows[:, 0] *= 1 + 2.0**-1
    half = program(FMA, "bf16", target)
    codes = (rows.astype("f4").view("u4") >> 16).astype("u2").T.copy()
    out = np.zeros(2, "u2")
    half.f(*codes, out)
    below = np.float32(1.5 * 2.0**100 * (1 + 2.0**-7)).view("u4") >> 16
    assert out.tolist() == [below + 1, below]


FMA = """
func.func @f(%x: memref<2x!T>, %y: memref<2x!T>, %z: memref<2x!T>, %out: memref<2x!T>) {
  affine.for %i = 0 to 2 {
    %a = affine.load %x[%i] : memref<2x!T>
    %b = affine.load %y[%i] : memref<2x!T>
    %c = affine.load %z[%i] : memref<2x!T>
    %0 = math.fma %a, %b, %c : !T
    affine.store %0, %out[%i] : memref<2x!T>
  }
  return
}
"""

INTEGERS = """
func.func @f(%x: memref<?xi64>, %s: memref<?x!T>, %u: memref<?x!T>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xi64>
  affine.for %i = 0 to %n {
    %a = affine.load %x[%i] : memref<?xi64>
    %0 = arith.sitofp %a : i64 to !T
    %1 = arith.uitofp %a : i64 to !T
    affine.store %0, %s[%i] : memref<?x!T>
    affine.store %1, %u[%i] : memref<?x!T>
  }
  return
}
"""


@pytest.mark.slow
@TARGETS
@pytest.mark.parametrize("name", ["bf16", "f16", "f8E4M3FN", "f8E8M0FNU"])
@pytest.mark.sampled(3)
def test_integers_are_rounded_once(name: str, target: str):
    edges = [3 << k for k in range(1, 62, 5)] + [257 << k for k in range(1, 54, 5)]
    numbers = [e + d for e in edges for d in (-1, 0, 1)] + [0, -1, 7, -(1 << 63)]
    x = np.array(numbers + [-n for n in numbers[:-1]])
    stored = "u2" if name in {"bf16", "f16"} else "u1"
    s, u = np.zeros(len(x), stored), np.zeros(len(x), stored)
    view = "f2" if name == "f16" else stored
    program(INTEGERS, name, target).f(x, s.view(view), u.view(view))
    encode = FORMATS[name].encode
    assert s.tolist() == [encode(Fraction(int(n))) for n in x]
    assert u.tolist() == [encode(Fraction(int(n) % 2**64)) for n in x]


BITS = """
func.func @f(%x: memref<?x!I>, %y: memref<?x!I>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?x!I>
  affine.for %i = 0 to %n {
    %0 = affine.load %x[%i] : memref<?x!I>
    %1 = arith.bitcast %0 : !I to !T
    %2 = arith.bitcast %1 : !T to !I
    affine.store %2, %y[%i] : memref<?x!I>
  }
  return
}
"""


@TARGETS
@pytest.mark.cases("name", [n for n in NAMES if n.startswith("f8")], parts=2)
@pytest.mark.sampled(12)
def test_bits_survive_the_way_through_a_float(name: str, target: str):
    codes = np.arange(-128, 128, dtype="i1")
    found = np.zeros_like(codes)
    program(BITS.replace("!I", "i8"), name, target).f(codes, found)
    assert found.tolist() == codes.tolist()


@TARGETS
def test_bits_of_halves(target: str):
    codes = np.array([0, 0x3C01, 0x7C00, -1024, 0x7E01, 0x7FFF, -0x8000, 1], "i2")
    for name in ("f16", "bf16"):
        found = np.zeros_like(codes)
        program(BITS.replace("!I", "i16"), name, target).f(codes, found)
        assert found.tolist() == codes.tolist()


SIGNS = """
func.func @f(%x: memref<?x!T>, %out: memref<4x?x!T>) {
  %one = arith.constant 1.0 : !T
  %minus = arith.negf %one : !T
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?x!T>
  affine.for %i = 0 to %n {
    %a = affine.load %x[%i] : memref<?x!T>
    %0 = arith.negf %a : !T
    %1 = math.copysign %a, %minus : !T
    %2 = math.ceil %a : !T
    %3 = arith.maximumf %a, %0 : !T
    affine.store %0, %out[0, %i] : memref<4x?x!T>
    affine.store %1, %out[1, %i] : memref<4x?x!T>
    affine.store %2, %out[2, %i] : memref<4x?x!T>
    affine.store %3, %out[3, %i] : memref<4x?x!T>
  }
  return
}
"""


@pytest.mark.slow
@pytest.mark.parametrize(("name", "target"), [c for c in CASES if c[0] in KINDS])
@pytest.mark.sampled(3)
def test_results_are_numbers_of_the_type(name: str, target: str):
    codes = all_codes(name)
    found = np.zeros((4, len(codes)), "u1")
    program(SIGNS, name, target).f(codes, found)
    x = values_of(codes, name)
    minus = nearest(-x, name)
    wanted = [minus, nearest(-np.abs(x), name), nearest(np.ceil(x), name)]
    for row, exact in zip(values_of(found, name), wanted, strict=False):
        assert same(row, exact)
    largest = np.where(np.isnan(x), np.nan, np.maximum(x, minus))
    np.testing.assert_array_equal(values_of(found[3], name), nearest(largest, name))


STORAGE = """
func.func @add(%a: tensor<4x!T>) -> tensor<4x!T> {
  %c = arith.constant dense<[1.0, 0.5, 2.0, 4.0]> : tensor<4x!T>
  %0 = arith.addf %a, %c : tensor<4x!T>
  return %0 : tensor<4x!T>
}
func.func @matmul(%A: memref<4x6x!T>, %B: memref<6x5x!T>, %C: memref<4x5xf32>) {
  linalg.matmul ins(%A, %B : memref<4x6x!T>, memref<6x5x!T>) outs(%C : memref<4x5xf32>)
  return
}
func.func @same(%A: memref<4x6x!T>, %B: memref<6x5x!T>, %C: memref<4x5x!T>) {
  linalg.matmul ins(%A, %B : memref<4x6x!T>, memref<6x5x!T>) outs(%C : memref<4x5x!T>)
  return
}
func.func @scalar(%a: !T) -> !T {
  return %a : !T
}
func.func @count(%x: memref<7x!T>) {
  %one = arith.constant 1.0 : !T
  affine.for %i = 0 to 70 {
    %at = affine.apply affine_map<(d0) -> (d0 mod 7)>(%i)
    %old = memref.atomic_rmw addf %one, %x[%at] : (!T, memref<7x!T>) -> !T
  }
  return
}
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "target"),
    [(name, "cpu") for name in (*KINDS, "f16", "bf16")]
    + [("f8E4M3FN", "sim"), ("bf16", "sim")],
)
@pytest.mark.sampled(12)
def test_storage_and_constants(name: str, target: str):
    encode, run = FORMATS[name].encode, program(STORAGE, name, target)
    stored = {"f16": "f2", "bf16": "u2"}.get(name, "u1")

    def coded(x: Array) -> Array:
        codes = np.array([encode(float(v)) for v in x.flat])
        return codes.astype("u2" if name in {"f16", "bf16"} else "u1").view(stored)

    added = run.add(coded(np.ones(4)))
    wanted = np.array([2.0, 1.5, 3.0, 5.0])
    assert added.dtype == np.dtype(stored)
    assert coded(wanted).tobytes() == added.tobytes()
    a, b = (np.resize([1.0, 2.0, 0.5, 1.0, 4.0], n) for n in (24, 30))
    found = np.zeros((4, 5), "f4")
    run.matmul(coded(a).reshape(4, 6), coded(b).reshape(6, 5), found)
    assert found.tolist() == (a.reshape(4, 6) @ b.reshape(6, 5)).tolist()
    total = np.zeros((4, 5), stored)
    run.same(coded(a).reshape(4, 6), coded(b).reshape(6, 5), total)
    assert total.any()
    assert run.scalar(1.1) == of_bits(encode(1.1), name)


@pytest.mark.sampled(4)
@TARGETS
@pytest.mark.cases("name", ["f16", "bf16", "f8E4M3FN", "f8E5M2FNUZ"], parts=2)
def test_atomics_leave_the_neighbours_alone(name: str, target: str):
    bits = "u2" if name in {"f16", "bf16"} else "u1"
    x = np.zeros(9, bits)
    stored = x.view("f2") if name == "f16" else x
    x[0] = x[8] = 77
    program(STORAGE, name, target).count(stored[1:8])
    eight = 8.0 if FORMATS[name].fraction < 3 else 10.0
    assert x.tolist() == [77, *[FORMATS[name].encode(eight)] * 7, 77]


SCALED = """
func.func @up(%x: memref<?xf4E2M1FN>, %s: memref<?xf8E8M0FNU>, %out: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf4E2M1FN>
  affine.for %i = 0 to %n {
    %a = affine.load %x[%i] : memref<?xf4E2M1FN>
    %b = affine.load %s[%i] : memref<?xf8E8M0FNU>
    %0 = arith.scaling_extf %a, %b : f4E2M1FN, f8E8M0FNU to f32
    affine.store %0, %out[%i] : memref<?xf32>
  }
  return
}
func.func @down(%x: memref<?xf32>, %s: memref<?xf32>, %out: memref<?xf4E2M1FN>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  affine.for %i = 0 to %n {
    %a = affine.load %x[%i] : memref<?xf32>
    %b = affine.load %s[%i] : memref<?xf32>
    %0 = arith.scaling_truncf %a, %b : f32, f32 to f4E2M1FN
    affine.store %0, %out[%i] : memref<?xf4E2M1FN>
  }
  return
}
"""


@pytest.mark.slow
@TARGETS
def test_scaled_conversions(target: str):
    run = gcg.compile(SCALED, target=target)
    codes, powers = (
        a.ravel() for a in np.meshgrid(all_codes("f4E2M1FN"), [100, 127, 140, 255])
    )
    scales = powers.astype("u1")
    numbers, back = np.zeros(len(codes), "f4"), np.zeros(len(codes), "u1")
    run.up(codes.copy(), scales, numbers)
    factors = values_of(scales, "f8E8M0FNU")
    assert same(numbers, values_of(codes, "f4E2M1FN") * factors)
    inexact = (factors * 1.2).astype("f4")
    run.down(numbers, inexact, back)
    is_number = ~np.isnan(numbers)
    assert back[is_number].tolist() == codes[is_number].tolist()


def test_other_rounding_modes_are_refused():
    text = """
    func.func @f(%x: f32) -> f16 {
      %0 = arith.truncf %x upward : f32 to f16
      return %0 : f16
    }"""
    with pytest.raises(gcg.CompileError) as caught:
        gcg.compile(text, target="cpu").f(1.0)
    assert "ties go to even" in str(caught.value)


@pytest.mark.cases("name", [*NAMES, "bf16"], parts=3)
def test_arrays_of_ml_dtypes(name: str):
    peers = pytest.importorskip("ml_dtypes")
    known = "bfloat16" if name == "bf16" else f"float{name[1]}_{name[2:].lower()}"
    x = np.array([1.0, 2.0, 0.5, 4.0]).astype(getattr(peers, known))
    bits = x.view("u2" if name == "bf16" else "u1")
    run = program(STORAGE, name, "cpu")
    made = run.add(x)
    assert made.dtype == x.dtype
    assert made.view(bits.dtype).tolist() == run.add(bits).tolist()


def test_other_elements_are_refused_by_name():
    run = program(STORAGE, "f8E4M3FN", "cpu")
    with pytest.raises(gcg.LaunchError) as caught:
        run.add(np.zeros(4, "f4"))
    assert "argument a must hold float8_e4m3fn or uint8, got float32" in str(
        caught.value
    )


@pytest.mark.slow
@pytest.mark.cases("name", [n for n in NAMES if n != "f8E8M0FNU"], parts=3)
def test_ml_dtypes_rounds_alike(name: str):
    pytest.importorskip("ml_dtypes")
    peers = importlib.import_module("ml_dtypes")
    kind = getattr(peers, f"float{name[1]}_{name[2:].lower()}")
    x = awkward(name)
    with np.errstate(all="ignore"):
        x = x.astype("f4")
    x = x[np.isfinite(x)]
    r, s = np.zeros(len(x), "u1"), np.zeros(len(x), "u1")
    program(CONVERT, name, "cpu").round(x, x.astype("f8"), r, s)
    with np.errstate(all="ignore"):
        wanted = x.astype(kind).astype("f8")
    assert same(values_of(r, name), wanted)
    assert same(values_of(s, name), wanted)


@pytest.mark.ptxas
@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", KINDS)
def test_kernels_compile_to_ptx(name: str):
    from gpucodegen.runtime.cuda.compilation import compile_cubin

    codes = all_codes(name)
    numbers = np.zeros(len(codes), "f4")
    calls = [(CONVERT, "convert", (codes, numbers))]
    calls += [(CONVERT, "round", (numbers, numbers.astype("f8"), codes, codes.copy()))]
    results = np.zeros((5, len(codes)), "u1")
    calls += [(ARITHMETIC, "arithmetic", (codes, codes, codes, results))]
    for text, entry, arguments in calls:
        compiled = program(text, name, "sim")[entry]
        compiled(*arguments)
        for spec in compiled.executable().kernels:
            assert compile_cubin(spec, (9, 0)).spills == 0
