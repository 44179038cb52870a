"""A bug in a pass is named by `gcg.check(..., each_pass=True)`, whatever pass it is in.

Each case puts a bug back, or switches a legality check off, and has a program that the
pass then changes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors
from gpucodegen.ir.operation import Operation, rewrite_bottom_up
from gpucodegen.passes.prepare.inline import _Inliner
from gpucodegen.passes.prepare.raise_to_affine import _INDICES, _sum
from tests.interp.test_check import EPILOGUE
from tests.made.mutations import MUTATIONS, Mutation

LINE = "memref<16xf32>"
SOFTMAX = """func.func @f(%a: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  %s = linalg.softmax dimension(1) ins(%a : tensor<4x8xf32>)
                                   outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %s : tensor<4x8xf32>
}"""
TURNED = """func.func @f(%a: tensor<4x4xi32>) -> tensor<4x4xi32> {
  %e = tensor.empty() : tensor<4x4xi32>
  %x = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} outs(%e : tensor<4x4xi32>) {
    ^bb0(%old: i32):
      %i = linalg.index 0 : index
      %n = arith.index_cast %i : index to i32
      linalg.yield %n : i32
  } -> tensor<4x4xi32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>,
        affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x, %a : tensor<4x4xi32>, tensor<4x4xi32>) outs(%e : tensor<4x4xi32>) {
    ^bb0(%p: i32, %q: i32, %old: i32):
      %r = arith.addi %p, %q : i32
      linalg.yield %r : i32
  } -> tensor<4x4xi32>
  return %y : tensor<4x4xi32>
}"""
DIAGONAL = """func.func @f(%A: memref<40x40xf32>) {
  affine.for %j = 0 to 39 { affine.for %i = 1 to 40 {
    %x = affine.load %A[%i - 1, %j + 1] : memref<40x40xf32>
    affine.store %x, %A[%i, %j] : memref<40x40xf32>
  } }
  return
}"""
BACKWARDS = """func.func @f(%A: memref<16xf32>, %B: memref<16xf32>, %last: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %n = arith.constant 16 : index
  %end = arith.constant 15 : index
  scf.for %i = %zero to %n step %one {
    %k = arith.subi %end, %i : index
    %x = memref.load %A[%k] : memref<16xf32>
    memref.store %x, %B[%i] : memref<16xf32>
  }
  return
}"""
NUMBERED = """func.func @f(%A: memref<4x8xindex>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>],
                  iterator_types = ["parallel", "parallel"]}
      outs(%A : memref<4x8xindex>) {
    ^bb0(%old: index):
      %j = linalg.index 1 : index
      linalg.yield %j : index
  }
  return
}"""
LOCAL = """func.func @f(%A: memref<8xf32>) {
  affine.for %i = 0 to 3 {
    %t = memref.alloc() : memref<8xf32>
    affine.for %j = 0 to 8 {
      %x = affine.load %A[%j] : memref<8xf32>
      affine.store %x, %t[7 - %j] : memref<8xf32>
    }
    affine.for %j = 0 to 8 {
      %x = affine.load %t[%j] : memref<8xf32>
      affine.store %x, %A[%j] : memref<8xf32>
    }
  }
  return
}"""
TWICE = """func.func @f(%a: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %c = arith.constant 3.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %x = linalg.fill ins(%c : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %y = linalg.add ins(%x, %a : tensor<8xf32>, tensor<8xf32>)
                  outs(%x : tensor<8xf32>) -> tensor<8xf32>
  return %x, %y : tensor<8xf32>, tensor<8xf32>
}"""
CALLED = """func.func private @g(%a: f32, %b: f32) -> f32 {
  %d = arith.subf %a, %b : f32
  return %d : f32
}
func.func @f(%A: memref<8xf32>) {
  affine.for %i = 0 to 7 {
    %x = affine.load %A[%i] : memref<8xf32>
    %y = affine.load %A[%i + 1] : memref<8xf32>
    %z = func.call @g(%x, %y) : (f32, f32) -> f32
    affine.store %z, %A[%i] : memref<8xf32>
  }
  return
}"""


def freed_at_once(kernel: Operation) -> Operation:
    """Every buffer of a kernel is freed where it is made."""
    from gpucodegen.dialects import memref

    def freed(op: Operation) -> list[Operation] | None:
        return [op, memref.dealloc(op.result)] if op.name == "memref.alloc" else None

    return rewrite_bottom_up(kernel, freed)[0]


def line(count: int = 16) -> Any:
    return np.arange(1, count + 1, dtype="f4")


def product() -> list[Any]:
    rng = np.random.default_rng(0)
    shapes = (8, 16), (16, 32), (8, 32)
    return [rng.integers(1, 4, shape).astype("f4") for shape in shapes]


def put(path: str, new: Any) -> Mutation:
    return Mutation({f"passes.{path}": new}, "", "")


def legality(path: str) -> Mutation:
    """A check that finds nothing against anything."""
    return put(path, lambda *_, **__: None)


def swapped(self: Any, call: Operation) -> list[Operation] | None:
    """A call is inlined with its operands in the other order."""
    return INLINED(self, call.with_(operands=call.operands[::-1]))


INLINED = _Inliner._body
SUMS = MUTATIONS["sums under the place they grow in"]
CASES: list[tuple[str, str, Mutation, str, Any]] = [
    (
        "inline",
        "cpu",
        put("prepare.inline._Inliner._body", swapped),
        CALLED,
        lambda: [line(8)],
    ),
    ("map-cpu", "cpu", SUMS, EPILOGUE, product),
    ("map-gpu", "sim", SUMS, EPILOGUE, product),
    (
        "decompose-softmax",
        "cpu",
        put("prepare.decompose_linalg._Softmax.dimension", 0),
        SOFTMAX,
        lambda: [line(32).reshape(4, 8) / 8],
    ),
    (
        "fuse-tensors",
        "cpu",
        put(
            "prepare.linalg_on_tensors._position",
            lambda op, _: op.with_(results=(op.result.renewed(),)),
        ),
        TURNED,
        lambda: [np.zeros((4, 4), "i4")],
    ),
    (
        "improve-locality",
        "cpu",
        legality("loops.interchange.check_interchange"),
        DIAGONAL,
        lambda: [line(1600).reshape(40, 40)],
    ),
    (
        "bufferize",
        "cpu",
        legality("prepare.tensors.conflicts.Conflicts.of_write"),
        TWICE,
        lambda: [line(8)],
    ),
    (
        "raise-to-affine",
        "cpu",
        put(
            "prepare.raise_to_affine._INDICES",
            _INDICES | {"arith.subi": _sum(1)},
        ),
        BACKWARDS,
        lambda: [line(), line(), 15],
    ),
    (
        "outline-cpu",
        "cpu",
        put("outlining.cpu_outliner._with_own_memory", freed_at_once),
        LOCAL,
        lambda: [line(8)],
    ),
    (
        "linalg-to-affine",
        "cpu",
        put("prepare.linalg_to_affine._index_dimension", lambda _: 0),
        NUMBERED,
        lambda: [np.zeros((4, 8), "i8")],
    ),
]


@pytest.mark.sampled(10)
@pytest.mark.cases(
    ("guilty", "target", "mutation", "text", "arguments"),
    CASES,
    ids=[f"{guilty} {n}" for n, (guilty, *_) in enumerate(CASES)],
)
def test_the_guilty_pass_is_named(
    guilty: str, target: str, mutation: Mutation, text: str, arguments: Any
):
    gcg.compile(text, target="interp")["f"](*arguments())
    with mutation.applied(), pytest.raises(errors.PassChangesResults) as caught:
        gcg.check(text, *arguments(), target=target, function="f", each_pass=True)
    assert caught.value.details["stage"] == guilty
