"""Operations of other dialects, run by functions of the caller."""

from __future__ import annotations

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors
from tests.targets import ALL

SCALE = """
func.func @f(%x: tensor<?xf32>, %n: i32) -> (tensor<?xf32>, i32) {
  %y, %m = "my.scale"(%x, %n) {by = 2.5 : f32, tag = "t"}
      : (tensor<?xf32>, i32) -> (tensor<?xf32>, i32)
  return %y, %m : tensor<?xf32>, i32
}
"""


@pytest.mark.parametrize("target", ALL)
def test_results_of_a_handler_enter_the_program(target: str):
    seen = []

    def scale(x: np.ndarray, n: int, by: float, tag: str):
        seen.append(tag)
        return x * by, n + 1

    program = gcg.compile(SCALE, target=target, handlers={"my.scale": scale})
    x = np.arange(5, dtype=np.float32)
    y, m = program.f(x, 3)
    assert (y.tolist(), m, seen) == ((x * 2.5).tolist(), 4, ["t"])
    assert x.tolist() == [0, 1, 2, 3, 4]


def test_a_handler_between_nests():
    text = """
    func.func @f(%a: memref<8xf32>) {
      %one = arith.constant 1.0 : f32
      affine.for %i = 0 to 8 { affine.store %one, %a[%i] : memref<8xf32> }
      "my.double"(%a) : (memref<8xf32>) -> ()
      affine.for %i = 0 to 8 {
        %v = affine.load %a[%i] : memref<8xf32>
        %s = arith.addf %v, %one : f32
        affine.store %s, %a[%i] : memref<8xf32>
      }
      return
    }"""

    def double(a: np.ndarray) -> None:
        a *= 2

    a = np.zeros(8, np.float32)
    gcg.compile(text, target="cpu", handlers={"my.double": double}).f(a)
    assert a.tolist() == [3.0] * 8


def test_without_a_handler_it_is_refused():
    program = gcg.compile(SCALE, target="cpu", allow_unregistered=True)
    with pytest.raises(errors.UnregisteredOperation, match=r"handlers=\{'my\.scale'"):
        program.f(np.zeros(3, np.float32), 1)


def test_too_few_results_are_named():
    handlers = {"my.scale": lambda *operands, **_attributes: operands[0]}
    program = gcg.compile(SCALE, target="cpu", handlers=handlers)
    with pytest.raises(errors.HandlerResult, match=r"returned 1 value\(s\), not 2"):
        program.f(np.zeros(3, np.float32), 1)
