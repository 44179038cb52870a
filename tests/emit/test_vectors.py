"""Vector operations on the CPU and on the emulated device; their CUDA text compiles."""

from __future__ import annotations

import numpy as np
import pytest
from running import loaded, one_kernel, ptx

from tests.targets import ALL

TARGETS = ALL
RNG = np.random.default_rng(3)


def run(arguments: str, body: str, target: str, *values: np.ndarray) -> None:
    loaded(one_kernel(arguments, body, target), target, "f")(*values)


TILES = """
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %pad = arith.constant -1.0 : f32
  %t = vector.transfer_read %x[%c1, %c2], %pad {{in_bounds = {flags}{order}}}
      : {ty}, vector<3x5xf32>
  vector.transfer_write %t, %y[%c1, %c2] {{in_bounds = {flags}{order}}}
      : vector<3x5xf32>, {ty}"""
TRANSPOSED = ", permutation_map = affine_map<(d0, d1) -> (d1, d0)>"
STRIDED = "memref<?x?xf32, strided<[?, ?], offset: ?>>"


@pytest.mark.sampled(2)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.cases("order", ["", TRANSPOSED])
@pytest.mark.cases("ty", ["memref<?x?xf32>", STRIDED])
def test_tiles_with_any_strides(target: str, order: str, ty: str):
    x = RNG.random((9, 9), np.float32)
    y = np.zeros_like(x)
    source, result = (x, y) if ty != STRIDED else (x.T, y.T)
    body = TILES.format(flags="[true, true]", order=order, ty=ty)
    run(f"%x: {ty}, %y: {ty}", body, target, source, result)
    want = np.zeros_like(x)
    part = (slice(1, 6), slice(2, 5)) if order else (slice(1, 4), slice(2, 7))
    (want.T if ty == STRIDED else want)[part] = source[part]
    np.testing.assert_array_equal(y, want)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.cases("shape", [(2, 4), (3, 9), (9, 5), (1, 9)])
def test_masked_tiles_stay_inside(target: str, shape: tuple[int, int]):
    x, whole = RNG.random(shape, np.float32), np.zeros((12, 12), np.float32)
    y = whole[: shape[0], : shape[1]].copy()
    ty = "memref<?x?xf32>"
    body = TILES.format(flags="[false, false]", order="", ty=ty)
    run(f"%x: {ty}, %y: {ty}", body, target, x, y)
    want = np.zeros_like(y)
    want[1:4, 2:7] = x[1:4, 2:7]
    np.testing.assert_array_equal(y, want)


@pytest.mark.parametrize("target", TARGETS)
def test_what_is_masked_reads_as_padding(target: str):
    body = """
      %c0 = arith.constant 0 : index
      %pad = arith.constant -1.0 : f32
      %v = vector.transfer_read %x[%c0], %pad {in_bounds = [false]}
          : memref<?xf32>, vector<6xf32>
      vector.store %v, %y[%c0] : memref<?xf32>, vector<6xf32>"""
    x, y = RNG.random(4, np.float32), np.zeros(6, np.float32)
    run("%x: memref<?xf32>, %y: memref<?xf32>", body, target, x, y)
    np.testing.assert_array_equal(y, [*x, -1, -1])


VALUES = """
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %half = arith.constant 0.5 : f32
  %a = vector.load %x[%c0, %c0] : memref<4x8xf32>, vector<8xf32>
  %b = vector.load %x[%c1, %c0] : memref<4x8xf32>, vector<8xf32>
  %h = vector.broadcast %half : f32 to vector<8xf32>
  %m = arith.mulf %a, %h : vector<8xf32>
  %s = arith.subf %m, %b : vector<8xf32>
  %f = vector.fma %s, %s, %a : vector<8xf32>
  %gt = arith.cmpf ogt, %f, %b : vector<8xf32>
  %r0 = arith.select %gt, %f, %b : vector<8xi1>, vector<8xf32>
  %n = arith.negf %r0 : vector<8xf32>
  %q = math.sqrt %r0 : vector<8xf32>
  %p = arith.maximumf %n, %q : vector<8xf32>
  vector.store %p, %y[%c0, %c0] : memref<4x8xf32>, vector<8xf32>
  %e = vector.extract %p[3] : f32 from vector<8xf32>
  %g = vector.from_elements %e, %half, %e, %half : vector<4xf32>
  %z = arith.constant dense<0.0> : vector<4x8xf32>
  %o = vector.outerproduct %g, %a, %z {kind = #vector.kind<add>}
      : vector<4xf32>, vector<8xf32>
  %row = vector.extract %o[2] : vector<8xf32> from vector<4x8xf32>
  %i = vector.insert %b, %o [0] : vector<8xf32> into vector<4x8xf32>
  %total = vector.reduction <add>, %row : vector<8xf32> into f32
  %w = vector.insert %total, %row [7] : f32 into vector<8xf32>
  vector.store %w, %y[%c1, %c0] : memref<4x8xf32>, vector<8xf32>
  %c2 = arith.constant 2 : index
  %top = vector.extract %i[0] : vector<8xf32> from vector<4x8xf32>
  vector.store %top, %y[%c2, %c0] : memref<4x8xf32>, vector<8xf32>"""


def expected_values(x: np.ndarray) -> np.ndarray:
    y, (a, b) = np.zeros_like(x), x[:2]
    s = a / 2 - b
    f = s * s + a
    r = np.where(f > b, f, b)
    y[0] = np.maximum(-r, np.sqrt(r))
    y[1] = y[0, 3] * a
    y[1, 7] = y[1].sum()
    y[2] = b
    return y


@pytest.mark.parametrize("target", TARGETS)
def test_values(target: str):
    x, y = RNG.random((4, 8), np.float32), np.zeros((4, 8), np.float32)
    run("%x: memref<4x8xf32>, %y: memref<4x8xf32>", VALUES, target, x, y)
    np.testing.assert_allclose(y, expected_values(x), rtol=1e-5)


SIGNED_ZEROS = """
  %c0 = arith.constant 0 : index
  %positive = arith.constant dense<0.0> : vector<4x{element}>
  %negative = arith.constant dense<-0.0> : vector<4x{element}>
  %mixed = arith.constant dense<[0.0, -0.0, -0.0, 0.0]> : vector<4x{element}>
  %changed = arith.constant dense<[-0.0, -0.0, 0.0, 0.0]> : vector<4x{element}>
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c12 = arith.constant 12 : index
  %p = arith.constant 0.0 : {element}
  %n = arith.constant -0.0 : {element}
  %c16 = arith.constant 16 : index
  %c17 = arith.constant 17 : index
  vector.store %positive, %y[%c0] : memref<18x{element}>, vector<4x{element}>
  vector.store %negative, %y[%c4] : memref<18x{element}>, vector<4x{element}>
  vector.store %mixed, %y[%c8] : memref<18x{element}>, vector<4x{element}>
  vector.store %changed, %y[%c12] : memref<18x{element}>, vector<4x{element}>
  memref.store %p, %y[%c16] : memref<18x{element}>
  memref.store %n, %y[%c17] : memref<18x{element}>"""


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.cases(("element", "dtype"), [("f32", "f4"), ("f64", "f8")])
def test_zeros_keep_their_sign(target: str, element: str, dtype: str):
    y = np.ones(18, dtype)
    run(f"%y: memref<18x{element}>", SIGNED_ZEROS.format(element=element), target, y)
    assert not y.any()
    want = [0] * 4 + [1] * 4 + [0, 1, 1, 0] + [1, 1, 0, 0] + [0, 1]
    np.testing.assert_array_equal(np.signbit(y), want)


INTEGERS = """
  %c0 = arith.constant 0 : index
  %a = vector.load %x[%c0] : memref<?xi32>, vector<4xi32>
  %k = arith.constant dense<[1, -2, 3, -4]> : vector<4xi32>
  %s = arith.muli %a, %k : vector<4xi32>
  %d = arith.divsi %s, %k : vector<4xi32>
  %u = arith.cmpi ult, %s, %k : vector<4xi32>
  %r = arith.select %u, %d, %s : vector<4xi1>, vector<4xi32>
  %w = arith.extsi %r : vector<4xi32> to vector<4xi64>
  vector.store %w, %y[%c0] : memref<?xi64>, vector<4xi64>"""


@pytest.mark.parametrize("target", TARGETS)
def test_integer_vectors(target: str):
    x, y = np.array([5, -6, -7, 8], np.int32), np.zeros(4, np.int64)
    run("%x: memref<?xi32>, %y: memref<?xi64>", INTEGERS, target, x, y)
    k = np.array([1, -2, 3, -4], np.int32)
    s = x * k
    want = np.where(s.view(np.uint32) < k.view(np.uint32), x, s)
    np.testing.assert_array_equal(y, want)


@pytest.mark.parametrize(
    ("arguments", "body"),
    [
        ("%x: memref<4x8xf32>, %y: memref<4x8xf32>", VALUES),
        ("%x: memref<?xi32>, %y: memref<?xi64>", INTEGERS),
        (
            "%x: memref<?x?xf32>, %y: memref<?x?xf32>",
            TILES.format(flags="[false, true]", order="", ty="memref<?x?xf32>"),
        ),
    ],
)
def test_cuda_text_compiles(arguments: str, body: str):
    assert all(".entry k(" in text for text in ptx(one_kernel(arguments, body, "sim")))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.cases("mask", [range(0, 48, 3), range(0, 14, 2), (1, 60, 47, 50)])
def test_lanes_in_another_order(target: str, mask: tuple[int, ...]):
    n = len(mask)
    body = f"""
      %c0 = arith.constant 0 : index
      %a = vector.load %x[%c0] : memref<64xf32>, vector<48xf32>
      %b = vector.load %x[%c0] : memref<64xf32>, vector<16xf32>
      %s = vector.shuffle %a, %b {list(mask)} : vector<48xf32>, vector<16xf32>
      vector.store %s, %y[%c0] : memref<{n}xf32>, vector<{n}xf32>"""
    x, y = RNG.random(64, np.float32), np.zeros(n, np.float32)
    run(f"%x: memref<64xf32>, %y: memref<{n}xf32>", body, target, x, y)
    np.testing.assert_array_equal(y, np.concatenate([x[:48], x[:16]])[list(mask)])
