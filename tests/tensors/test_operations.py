"""Each operation on tensors, beside NumPy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import gpucodegen as gcg

F = "f4"
Answer = Callable[..., object]


def line(n: int) -> np.ndarray:
    return np.arange(n, dtype=F)


def square(n: int, m: int) -> np.ndarray:
    return np.arange(n * m, dtype=F).reshape(n, m)


def case(text: str, arguments: list[object], answer: Answer, name: str) -> object:
    return pytest.param(text, arguments, answer, id=name)


def padded(a: np.ndarray) -> np.ndarray:
    return np.pad(a, ((1, 2), (0, 3)), constant_values=7)


def inserted(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    result = b.copy()
    result[1:5:2, 2] = a
    return result


def scattered(s: np.ndarray, d: np.ndarray, i: np.ndarray) -> np.ndarray:
    result = d.copy()
    result[i[:, 0]] = s
    return result


CASES = [
    case(
        """func.func @f(%a: tensor<2x8xf32>) -> (tensor<16xf32>, tensor<8x2xf32>) {
  %v = arith.mulf %a, %a : tensor<2x8xf32>
  %s = tensor.extract_slice %v[0, 0] [2, 8] [1, 1]
    : tensor<2x8xf32> to tensor<2x8xf32>
  %p = arith.cmpf ult, %s, %v : tensor<2x8xf32>
  %w = arith.select %p, %v, %s : tensor<2x8xi1>, tensor<2x8xf32>
  %i = tensor.insert_slice %w into %s[0, 0] [2, 8] [1, 1]
    : tensor<2x8xf32> into tensor<2x8xf32>
  %c = tensor.collapse_shape %s [[0, 1]] : tensor<2x8xf32> into tensor<16xf32>
  %e = tensor.expand_shape %c [[0, 1]] output_shape [8, 2]
    : tensor<16xf32> into tensor<8x2xf32>
  return %c, %e : tensor<16xf32>, tensor<8x2xf32>
}""",
        [square(2, 8)],
        lambda a: ((a * a).reshape(16), (a * a).reshape(8, 2)),
        "expanded view",
    ),
    case(
        """func.func @f(%a: tensor<3x4xf32>) -> tensor<6x7xf32> {
  %v = arith.constant 7.0 : f32
  %p = tensor.pad %a low[1, 0] high[2, 3] {
  ^bb0(%i: index, %j: index):
    tensor.yield %v : f32
  } : tensor<3x4xf32> to tensor<6x7xf32>
  return %p : tensor<6x7xf32>
}""",
        [square(3, 4)],
        padded,
        "pad",
    ),
    case(
        """func.func @f(%a: tensor<?x?xf32>, %b: tensor<?xf32>) -> tensor<?x?xf32> {
  %zero = arith.constant 0 : index
  %n = tensor.dim %b, %zero : tensor<?xf32>
  %v = arith.constant 7.0 : f32
  %p = tensor.pad %a low[%n, 0] high[2, 3] {
  ^bb0(%i: index, %j: index):
    tensor.yield %v : f32
  } : tensor<?x?xf32> to tensor<?x?xf32>
  return %p : tensor<?x?xf32>
}""",
        [square(3, 4), line(1)],
        lambda a, _: padded(a),
        "pad-dynamic",
    ),
    case(
        """func.func @f(%a: tensor<3xf32>) -> tensor<6xf32> {
  %p = tensor.pad %a low[1] high[2] {
  ^bb0(%i: index):
    %k = arith.index_cast %i : index to i32
    %x = arith.sitofp %k : i32 to f32
    tensor.yield %x : f32
  } : tensor<3xf32> to tensor<6xf32>
  return %p : tensor<6xf32>
}""",
        [line(3) + 10],
        lambda _: np.array([0, 10, 11, 12, 4, 5], F),
        "pad-by-position",
    ),
    case(
        """func.func @f(%a: tensor<2x3x4xf32>) -> tensor<6x4xf32> {
  %r = tensor.collapse_shape %a [[0, 1], [2]]
      : tensor<2x3x4xf32> into tensor<6x4xf32>
  return %r : tensor<6x4xf32>
}""",
        [np.arange(24, dtype=F).reshape(2, 3, 4)],
        lambda a: a.reshape(6, 4),
        "collapse",
    ),
    case(
        """func.func @f(%a: tensor<6x8xf32>) -> tensor<8xf32> {
  %s = tensor.extract_slice %a[1, 2] [2, 4] [1, 1]
      : tensor<6x8xf32> to tensor<2x4xf32>
  %r = tensor.collapse_shape %s [[0, 1]] : tensor<2x4xf32> into tensor<8xf32>
  return %r : tensor<8xf32>
}""",
        [square(6, 8)],
        lambda a: a[1:3, 2:6].reshape(8),
        "collapse-with-gaps",
    ),
    case(
        """func.func @f(%a: tensor<6x8xf32>) -> tensor<2x2x2xf32> {
  %s = tensor.extract_slice %a[1, 2] [2, 4] [2, 1]
      : tensor<6x8xf32> to tensor<2x4xf32>
  %r = tensor.expand_shape %s [[0], [1, 2]] output_shape [2, 2, 2]
      : tensor<2x4xf32> into tensor<2x2x2xf32>
  return %r : tensor<2x2x2xf32>
}""",
        [square(6, 8)],
        lambda a: a[1:4:2, 2:6].reshape(2, 2, 2),
        "expand-of-a-slice",
    ),
    case(
        """func.func @f(%a: tensor<?x?xf32>, %i: index, %n: index) -> tensor<?xf32> {
  %r = tensor.extract_slice %a[%i, 1] [1, %n] [1, 2]
      : tensor<?x?xf32> to tensor<?xf32>
  return %r : tensor<?xf32>
}""",
        [square(6, 8), 3, 3],
        lambda a, i, n: a[i, 1 : 1 + 2 * n : 2],
        "slice-of-one-row",
    ),
    case(
        """func.func @f(%a: tensor<2xf32>, %b: tensor<6x4xf32>) -> tensor<6x4xf32> {
  %r = tensor.insert_slice %a into %b[1, 2] [2, 1] [2, 1]
      : tensor<2xf32> into tensor<6x4xf32>
  return %r : tensor<6x4xf32>
}""",
        [line(2), square(6, 4)],
        inserted,
        "insert-slice",
    ),
    case(
        """func.func @f(%a: tensor<2x3xf32>, %b: tensor<2x?xf32>) -> tensor<2x?xf32> {
  %r = tensor.concat dim(1) %a, %b, %a
      : (tensor<2x3xf32>, tensor<2x?xf32>, tensor<2x3xf32>) -> tensor<2x?xf32>
  return %r : tensor<2x?xf32>
}""",
        [square(2, 3), square(2, 4)],
        lambda a, b: np.concatenate([a, b, a], axis=1),
        "concat",
    ),
    case(
        """func.func @f(%a: tensor<?xf32>) -> tensor<?x3xf32> {
  %zero = arith.constant 0 : index
  %n = tensor.dim %a, %zero : tensor<?xf32>
  %r = tensor.generate %n {
  ^bb0(%i: index, %j: index):
    %x = tensor.extract %a[%i] : tensor<?xf32>
    %k = arith.index_cast %j : index to i32
    %y = arith.sitofp %k : i32 to f32
    %z = arith.addf %x, %y : f32
    tensor.yield %z : f32
  } : tensor<?x3xf32>
  return %r : tensor<?x3xf32>
}""",
        [line(5)],
        lambda a: a[:, None] + line(3),
        "generate",
    ),
    case(
        """func.func @f(%a: f32, %b: f32, %n: index)
    -> (tensor<2x2xf32>, tensor<?x2xf32>, index) {
  %r = tensor.from_elements %a, %b, %b, %a : tensor<2x2xf32>
  %s = tensor.splat %a[%n] : tensor<?x2xf32>
  %k = tensor.rank %s : tensor<?x2xf32>
  return %r, %s, %k : tensor<2x2xf32>, tensor<?x2xf32>, index
}""",
        [1.5, 2.5, 3],
        lambda a, b, n: (np.array([[a, b], [b, a]], F), np.full((n, 2), a, F), 2),
        "from-elements-splat-rank",
    ),
    case(
        """func.func @f(%a: tensor<6x4xf32>, %i: tensor<3x1xi32>) -> tensor<3x4xf32> {
  %r = tensor.gather %a[%i] gather_dims([0])
      : (tensor<6x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
  return %r : tensor<3x4xf32>
}""",
        [square(6, 4), np.array([[5], [0], [2]], "i4")],
        lambda a, i: a[i[:, 0]],
        "gather",
    ),
    case(
        """func.func @f(%a: tensor<6x4xf32>, %i: tensor<2x3x1xindex>)
    -> tensor<2x3x6x1xf32> {
  %r = tensor.gather %a[%i] gather_dims([1])
      : (tensor<6x4xf32>, tensor<2x3x1xindex>) -> tensor<2x3x6x1xf32>
  return %r : tensor<2x3x6x1xf32>
}""",
        [square(6, 4), np.array([[[3], [0], [2]], [[1], [1], [2]]], "i8")],
        lambda a, i: a[:, i[..., 0]].transpose(1, 2, 0)[..., None],
        "gather-full-slices",
    ),
    case(
        """func.func @f(%s: tensor<3x4xf32>, %d: tensor<6x4xf32>, %i: tensor<3x1xi32>)
    -> tensor<6x4xf32> {
  %r = tensor.scatter %s into %d[%i] scatter_dims([0]) unique
      : (tensor<3x4xf32>, tensor<6x4xf32>, tensor<3x1xi32>) -> tensor<6x4xf32>
  return %r : tensor<6x4xf32>
}""",
        [square(3, 4) + 100, square(6, 4), np.array([[5], [0], [2]], "i4")],
        scattered,
        "scatter",
    ),
    case(
        """func.func @f(%a: tensor<2x6xf32>) -> tensor<3x4xf32> {
  %s = arith.constant dense<[3, 4]> : tensor<2xi32>
  %r = tensor.reshape %a(%s) : (tensor<2x6xf32>, tensor<2xi32>) -> tensor<3x4xf32>
  return %r : tensor<3x4xf32>
}""",
        [square(2, 6)],
        lambda a: a.reshape(3, 4),
        "reshape",
    ),
    case(
        """func.func @f(%a: tensor<?x6xf32>, %s: tensor<2xindex>) -> tensor<?x?xf32> {
  %r = tensor.reshape %a(%s) : (tensor<?x6xf32>, tensor<2xindex>) -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}""",
        [square(2, 6), np.array([3, 4])],
        lambda a, _: a.reshape(3, 4),
        "reshape-to-given-extents",
    ),
    case(
        """func.func @f(%a: tensor<4xf32>) -> tensor<4xi32> {
  %r = tensor.bitcast %a : tensor<4xf32> to tensor<4xi32>
  return %r : tensor<4xi32>
}""",
        [line(4)],
        lambda a: a.view("i4"),
        "bitcast",
    ),
    case(
        """func.func @f(%a: tensor<8xf32>, %b: tensor<8xf32>, %p: i1) -> tensor<8xf32> {
  %r = arith.select %p, %a, %b : tensor<8xf32>
  return %r : tensor<8xf32>
}""",
        [line(8), -line(8), True],
        lambda a, b, p: a if p else b,
        "select",
    ),
    case(
        """func.func @f(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %zero = arith.constant 0.0 : f32
  %c2 = arith.constant 2 : index
  %v = vector.transfer_read %a[%c2, %c2], %zero : tensor<8x8xf32>, vector<4xf32>
  %w = arith.addf %v, %v : vector<4xf32>
  %r = vector.transfer_write %w, %a[%c2, %c2] : vector<4xf32>, tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}""",
        [square(8, 8)],
        lambda a: np.vstack([a[:2], [[*a[2, :2], *2 * a[2, 2:6], *a[2, 6:]]], a[3:]]),
        "transfers",
    ),
    case(
        """func.func @f(%a: tensor<4xf32>, %m: memref<4xf32>) -> tensor<4xf32> {
  %t = bufferization.to_tensor %m : memref<4xf32> to tensor<4xf32>
  %d = bufferization.alloc_tensor() copy(%t) : tensor<4xf32>
  %s = arith.addf %d, %a : tensor<4xf32>
  bufferization.materialize_in_destination %s in restrict writable %m
      : (tensor<4xf32>, memref<4xf32>) -> ()
  return %t : tensor<4xf32>
}""",
        [line(4), np.ones(4, F)],
        lambda *_: np.ones(4, F),
        "memrefs-of-tensors",
    ),
]


def run(text: str, arguments: list[object], target: str) -> object:
    given = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    return gcg.compile(text, target=target).f(*given)


@pytest.mark.sampled(28)
@pytest.mark.parametrize("target", ["cpu", "sim"])
@pytest.mark.cases(("text", "arguments", "answer"), CASES, parts=9)
def test_an_operation(
    text: str, arguments: list[object], answer: Answer, target: str
) -> None:
    results, wanted = run(text, arguments, target), answer(*arguments)
    if not isinstance(wanted, tuple):
        results, wanted = (results,), (wanted,)
    assert isinstance(results, tuple)
    for result, expected in zip(results, wanted, strict=True):
        np.testing.assert_array_equal(result, expected)
