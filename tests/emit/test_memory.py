"""Element types in memory, views, private buffers, jumps and reductions in kernels."""

from __future__ import annotations

import numpy as np
import pytest
from running import buffer, loaded, one_kernel, ptx

from tests.targets import ALL

TARGETS = ALL


def run(arguments: str, body: str, target: str, *values: np.ndarray) -> None:
    loaded(one_kernel(arguments, body, target), target, "f")(*values)


@pytest.mark.parametrize("target", TARGETS)
def test_bools_and_bytes(target: str):
    body = """
      affine.for %i = 0 to 4 {
        %a = affine.load %x[%i] : memref<4xi8>
        %zero = arith.constant 0 : i8
        %neg = arith.cmpi slt, %a, %zero : i8
        %old = affine.load %y[%i] : memref<4xi1>
        %new = arith.xori %neg, %old : i1
        affine.store %new, %y[%i] : memref<4xi1>
      }"""
    x, y = np.array([-1, 2, -3, 4], np.int8), np.array([0, 1, 1, 0], bool)
    run("%x: memref<4xi8>, %y: memref<4xi1>", body, target, x, y)
    assert y.tolist() == [True, True, False, False]


@pytest.mark.parametrize("target", TARGETS)
def test_indices_in_memory(target: str):
    body = """
      affine.for %i = 0 to 4 {
        %p = affine.load %x[%i] : memref<4xindex>
        %v = memref.load %y[%p] : memref<?xf64>
        %w = arith.index_cast %p : index to i64
        %f = arith.sitofp %w : i64 to f64
        %s = arith.addf %v, %f : f64
        memref.store %s, %y[%p] : memref<?xf64>
      }"""
    x, y = np.array([3, 1, 0, 3]), np.arange(4.0)
    arguments = "%x: memref<4xindex>, %y: memref<?xf64>"
    run(arguments, body, target, x, y)
    assert y.tolist() == [0, 2, 2, 9]


def to_bf16(x: np.ndarray) -> np.ndarray:
    bits = x.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def from_bf16(x: np.ndarray) -> np.ndarray:
    return (x.astype(np.uint32) << 16).view(np.float32)


@pytest.mark.parametrize("target", TARGETS)
def test_bf16_is_rounded_after_every_operation(target: str):
    body = """
      %third = arith.constant 0.3333 : bf16
      affine.for %i = 0 to 64 {
        %a = affine.load %x[%i] : memref<64xbf16>
        %m = arith.mulf %a, %third : bf16
        %s = arith.addf %m, %a : bf16
        %w = arith.extf %s : bf16 to f32
        %q = arith.mulf %w, %w : f32
        %t = arith.truncf %q : f32 to bf16
        affine.store %t, %y[%i] : memref<64xbf16>
      }"""
    x = to_bf16(np.random.default_rng(1).standard_normal(64))
    y = np.zeros(64, np.uint16)
    run("%x: memref<64xbf16>, %y: memref<64xbf16>", body, target, x, y)
    third = from_bf16(to_bf16(np.array([0.3333])))
    a = from_bf16(x)
    m = from_bf16(to_bf16(a * third))
    s = from_bf16(to_bf16(m + a))
    np.testing.assert_array_equal(y, to_bf16(s * s))


VIEWS = """
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c1 : memref<6x?xf32>
  %p = memref.subview %x[1, %c1] [4, 2] [1, 2]
      : memref<6x?xf32> to memref<4x2xf32, strided<[?, 2], offset: ?>>
  %t = memref.transpose %p (i, j) -> (j, i)
      : memref<4x2xf32, strided<[?, 2], offset: ?>>
        to memref<2x4xf32, strided<[2, ?], offset: ?>>
  %row = memref.subview %x[5, 0] [1, %n] [1, 1]
      : memref<6x?xf32> to memref<?xf32, strided<[1], offset: ?>>
  %flat = memref.collapse_shape %y [[0, 1]] : memref<2x4xf32> into memref<8xf32>
  %wide = memref.cast %flat : memref<8xf32> to memref<?xf32>
  %again = memref.reinterpret_cast %wide to offset: [4], sizes: [4], strides: [1]
      : memref<?xf32> to memref<4xf32, strided<[1], offset: 4>>
  affine.for %i = 0 to 2 {
    affine.for %j = 0 to 4 {
      %a = affine.load %t[%i, %j] : memref<2x4xf32, strided<[2, ?], offset: ?>>
      %b = affine.load %row[%i] : memref<?xf32, strided<[1], offset: ?>>
      %s = arith.addf %a, %b : f32
      affine.store %s, %y[%i, %j] : memref<2x4xf32>
    }
  }
  affine.for %k = 0 to 4 {
    %v = affine.load %again[%k] : memref<4xf32, strided<[1], offset: 4>>
    %d = arith.addf %v, %v : f32
    affine.store %d, %again[%k] : memref<4xf32, strided<[1], offset: 4>>
  }"""


@pytest.mark.parametrize("target", TARGETS)
def test_views_cost_nothing_but_arithmetic(target: str):
    x = np.arange(30, dtype=np.float32).reshape(6, 5)
    y = np.zeros((2, 4), np.float32)
    run("%x: memref<6x?xf32>, %y: memref<2x4xf32>", VIEWS, target, x, y)
    want = x[1:5, 1:5:2].T + x[5, :2, None]
    want[1] *= 2
    np.testing.assert_array_equal(y, want)


@pytest.mark.parametrize("target", TARGETS)
def test_private_buffers_and_copies(target: str):
    body = """
      %b = memref.alloca() : memref<2x3xf64>
      memref.copy %x, %b : memref<2x3xf64> to memref<2x3xf64>
      affine.for %i = 0 to 2 {
        affine.for %j = 0 to 3 {
          %v = affine.load %b[1 - %i, 2 - %j] : memref<2x3xf64>
          affine.store %v, %x[%i, %j] : memref<2x3xf64>
        }
      }"""
    x = np.arange(6.0).reshape(2, 3)
    want = x[::-1, ::-1].copy()
    run("%x: memref<2x3xf64>", body, target, x)
    np.testing.assert_array_equal(x, want)


@pytest.mark.parametrize("target", TARGETS)
def test_jumps_between_blocks(target: str):
    body = """
      %c0 = arith.constant 0 : index
      %one = arith.constant 1 : i32
      %two = arith.constant 2 : i32
      %three = arith.constant 3 : i32
      %n = memref.load %x[%c0] : memref<2xi32>
      cf.br ^head(%n, %c0 : i32, index)
    ^head(%v: i32, %steps: index):
      %done = arith.cmpi eq, %v, %one : i32
      %c1 = arith.constant 1 : index
      %next = arith.addi %steps, %c1 : index
      cf.cond_br %done, ^exit(%steps : index), ^body
    ^body:
      %half = arith.divsi %v, %two : i32
      %rest = arith.remsi %v, %two : i32
      %odd = arith.cmpi eq, %rest, %one : i32
      %m = arith.muli %v, %three : i32
      %up = arith.addi %m, %one : i32
      cf.cond_br %odd, ^head(%up, %next : i32, index), ^head(%half, %next : i32, index)
    ^exit(%count: index):
      %r = arith.index_cast %count : index to i32
      memref.store %r, %x[%c0] : memref<2xi32>"""
    x = np.array([27, 0], np.int32)
    run("%x: memref<2xi32>", body, target, x)
    assert x[0] == 111


@pytest.mark.parametrize("target", TARGETS)
def test_reductions_of_parallel_loops(target: str):
    body = """
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %s:2 = affine.parallel (%i) = (0) to (8)
          reduce ("addf", "maximumf") -> (f32, f32) {
        %v = affine.load %x[%i] : memref<8xf32>
        affine.yield %v, %v : f32, f32
      }
      memref.store %s#0, %y[%c0] : memref<2xf32>
      memref.store %s#1, %y[%c1] : memref<2xf32>"""
    x, y = -np.arange(1, 9, dtype=np.float32), np.zeros(2, np.float32)
    run("%x: memref<8xf32>, %y: memref<2xf32>", body, target, x, y)
    assert y.tolist() == [-36, -1]


@pytest.mark.parametrize("target", TARGETS)
def test_unrolled_loops_and_digits(target: str):
    body = """
      affine.for %i = 0 to 3 {
        %q:2 = affine.delinearize_index %i into (2, 2) : index, index
        %l = affine.linearize_index [%q#1, %q#0] by (2, 2) : index
        affine.for %j = 0 to 1 {
          %v = affine.load %x[%i] : memref<4xf32>
          affine.for %k = 0 to 1 {
            %w = arith.addf %v, %v : f32
            memref.store %w, %y[%l] : memref<4xf32>
          }
        }
      } {gcg.unroll}"""
    x, y = np.arange(1, 5, dtype=np.float32), np.zeros(4, np.float32)
    run("%x: memref<4xf32>, %y: memref<4xf32>", body, target, x, y)
    assert y.tolist() == [2, 6, 4, 0]


@pytest.mark.parametrize("target", TARGETS)
def test_switches(target: str):
    body = """
      affine.for %i = 0 to 4 {
        %r = scf.index_switch %i -> i32
        case 1 {
          %a = arith.constant 10 : i32
          scf.yield %a : i32
        }
        case 3 {
          %a = arith.constant 30 : i32
          scf.yield %a : i32
        }
        default {
          %a = arith.constant 7 : i32
          scf.yield %a : i32
        }
        affine.store %r, %x[%i] : memref<4xi32>
      }"""
    x = np.zeros(4, np.int32)
    run("%x: memref<4xi32>", body, target, x)
    assert x.tolist() == [7, 10, 7, 30]


def test_cuda_text_of_views_compiles():
    arguments = "%x: memref<6x?xf32>, %y: memref<2x4xf32>"
    (text,) = ptx(one_kernel(arguments, VIEWS, "sim"))
    assert ".entry k(" in text


@pytest.mark.parametrize("order", ["source", "target"])
def test_transfers_on_the_host(order: str):
    space = {"source": ("", ", 2"), "target": (", 2", "")}[order]
    text = f"""
    func.func @f(%x: memref<4x8xf32{space[0]}>, %y: memref<4x8xf32{space[1]}>) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %run = arith.constant 4 : index
      %stride = arith.constant 8 : index
      %count = arith.constant 8 : index
      %tag = memref.alloc() : memref<1xi32>
      affine.dma_start %x[%c1, %c0], %y[%c0, %c0], %tag[%c0], %count, %stride, %run
        : memref<4x8xf32{space[0]}>, memref<4x8xf32{space[1]}>, memref<1xi32>
      affine.dma_wait %tag[%c0], %count : memref<1xi32>
      return
    }}"""
    x = np.arange(32, dtype=np.float32).reshape(4, 8)
    y = np.zeros_like(x)
    loaded(text, "cpu", "f")(x, y)
    want = np.zeros_like(x)
    if order == "source":
        want[0] = [*x[1, :4], *x[2, :4]]
    else:
        want[:2, :4] = x[1].reshape(2, 4)
    np.testing.assert_array_equal(y, want)


def test_host_views_and_atomics():
    text = """
    func.func @f(%x: memref<?x?xf32>) -> memref<?x?xf32, strided<[1, ?], offset: ?>> {
      %c0 = arith.constant 0 : index
      %one = arith.constant 1.0 : f32
      %r = memref.rank %x : memref<?x?xf32>
      %p = memref.subview %x[1, 0] [2, %r] [1, 1]
        : memref<?x?xf32> to memref<2x?xf32, strided<[?, 1], offset: ?>>
      %t = memref.transpose %p (i, j) -> (j, i)
        : memref<2x?xf32, strided<[?, 1], offset: ?>>
          to memref<?x2xf32, strided<[1, ?], offset: ?>>
      %d = memref.cast %t : memref<?x2xf32, strided<[1, ?], offset: ?>>
        to memref<?x?xf32, strided<[1, ?], offset: ?>>
      %old = memref.atomic_rmw addf %one, %d[%c0, %c0]
        : (f32, memref<?x?xf32, strided<[1, ?], offset: ?>>) -> f32
      return %d : memref<?x?xf32, strided<[1, ?], offset: ?>>
    }"""
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    result = loaded(text, "cpu", "f")(x)
    np.testing.assert_array_equal(result.array, x[1:, :2].T)
    assert x[1, 0] == 5
    assert buffer(x).shape == (3, 4)


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(0, 0), (1, 5), (4, 6)])
def test_parallel_loops_may_be_empty(shape: tuple[int, int]):
    body = """
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %m = memref.dim %x, %c0 : memref<?x?xf32>
      %n = memref.dim %x, %c1 : memref<?x?xf32>
      affine.parallel (%i, %j) = (1, 1) to (symbol(%m) - 1, symbol(%n) - 1) {
        %one = arith.constant 1.0 : f32
        affine.store %one, %x[%i, %j] : memref<?x?xf32>
      }"""
    whole = np.zeros((10, 10), np.float32)
    x = whole.reshape(-1)[: shape[0] * shape[1]].reshape(shape)
    want = np.zeros(shape, np.float32)
    want[1:-1, 1:-1] = 1
    run("%x: memref<?x?xf32>", body, "cpu", x)
    np.testing.assert_array_equal(x, want)
    assert whole.sum() == want.sum()
