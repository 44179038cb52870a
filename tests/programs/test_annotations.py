"""Operations of unknown dialects: those that only annotate are ignored."""

from __future__ import annotations

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors

NOTED = """func.func @f(%A: memref<8xf32>) {
  %z = arith.constant 3.0 : f32
  "my.begin"() {name = "init"} : () -> ()
  affine.for %i = 0 to 8 {
    "my.note"(%i) {unroll = 4 : i64} : (index) -> ()
    affine.store %z, %A[%i] : memref<8xf32>
  }
  return
}"""
WRITES = """func.func @f(%A: memref<8xf32>) {
  "my.fill"(%A) : (memref<8xf32>) -> ()
  return
}"""
GIVES = """func.func @f(%A: memref<8xf32>) {
  %z = "my.number"() : () -> f32
  affine.for %i = 0 to 8 {
    affine.store %z, %A[%i] : memref<8xf32>
  }
  return
}"""
TARGETS = ["interp", "cpu", "sim"]


@pytest.mark.cases("target", TARGETS)
def test_annotations_are_ignored(target: str) -> None:
    a = np.zeros(8, "f4")
    with pytest.warns(errors.OperationIgnored) as told:
        gcg.compile(NOTED, target=target, allow_unregistered=True).f(a)
    np.testing.assert_array_equal(a, 3)
    assert {str(w.message).split("'")[1] for w in told} == {"my.begin", "my.note"}


@pytest.mark.cases("target", TARGETS)
@pytest.mark.parametrize(("text", "name"), [(WRITES, "my.fill"), (GIVES, "my.number")])
def test_others_are_refused(text: str, name: str, target: str) -> None:
    with pytest.raises(errors.UnregisteredOperation, match=f"'{name}'.*handlers"):
        gcg.compile(text, target=target, allow_unregistered=True).f(np.zeros(8, "f4"))


def test_handlers_run_them() -> None:
    seen: list[int] = []
    handlers = {
        "my.begin": lambda **_: None,
        "my.note": lambda i, **_: seen.append(i),
    }
    gcg.compile(NOTED, target="cpu", handlers=handlers).f(np.zeros(8, "f4"))
    assert seen == list(range(8))
