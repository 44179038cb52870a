"""Operations between two parallel loops move into the inner one, where they may."""

from __future__ import annotations

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen.ir.operation import Operation
from gpucodegen.passes.loops.sinking import SinkIntoLoops
from gpucodegen.passes.nests.loop_ranges import chain_of

TEXT = """func.func @f(%A: memref<40xf32>, %B: memref<40x64xf32>, %C: memref<64xf32>) {{
  affine.for %i = 0 to 40 {{
    {between}
    affine.for %j = 0 to {end} {{
      %c = affine.load %C[%j] : memref<64xf32>
      %y = arith.addf %x, %c : f32
      affine.store %y, %B[%i, %j] : memref<40x64xf32>
    }}
  }}
  return
}}"""
LOAD = "%x = affine.load %A[%i] : memref<40xf32>"
VIEWS = """%row = memref.subview %B[%i, 0] [1, 64] [1, 1]
      : memref<40x64xf32> to memref<64xf32, strided<[1], offset: ?>>
    %x = affine.load %row[50] : memref<64xf32, strided<[1], offset: ?>>"""
OTHER = "%x = affine.load %B[%i, 50] : memref<40x64xf32>"
SAME = "%x = affine.load %B[%i, 5] : memref<40x64xf32>"
STORED = f"""{LOAD}
    affine.store %x, %B[%i, 63] : memref<40x64xf32>"""
CARRIED = "%x = affine.load %B[%i - 1, 50] : memref<40x64xf32>"
SLOW = "\n    ".join(
    ["%x0 = affine.load %A[%i] : memref<40xf32>"]
    + [f"%x{n + 1} = math.tanh %x{n} : f32" for n in range(3)]
    + ["%x = math.tanh %x3 : f32"]
)


def nest(between: str, end: int = 48) -> Operation:
    module = gcg.parse(TEXT.format(between=between, end=end))
    made = SinkIntoLoops().apply(module)
    return made.functions["f"].body.operations[0]


@pytest.mark.parametrize(
    ("between", "depth"),
    [(LOAD, 2), (VIEWS, 2), (OTHER, 2), (SAME, 1), (STORED, 1), (SLOW, 1)],
)
def test_what_may_be_repeated_moves(between: str, depth: int) -> None:
    assert len(chain_of(nest(between))) == depth


def test_a_loop_that_carries_a_dependence_stays() -> None:
    text = TEXT.format(between=CARRIED, end=64).replace("%i = 0", "%i = 1")
    made = SinkIntoLoops().apply(gcg.parse(text))
    assert len(chain_of(made.functions["f"].body.operations[0])) == 1


def test_through_three_loops() -> None:
    text = """
    func.func @f(%A: memref<4xf32>, %B: memref<4x5xf32>, %C: memref<4x5x6xf32>) {
      affine.for %i = 0 to 4 {
        %x = affine.load %A[%i] : memref<4xf32>
        affine.for %j = 0 to 5 {
          %y = affine.load %B[%i, %j] : memref<4x5xf32>
          %z = arith.mulf %x, %y : f32
          affine.for %k = 0 to 6 {
            affine.store %z, %C[%i, %j, %k] : memref<4x5x6xf32>
          }
        }
      }
      return
    }"""
    made = SinkIntoLoops().apply(gcg.parse(text)).functions["f"].body.operations[0]
    assert len(chain_of(made)) == 3
    a, b = np.arange(4, dtype="f4"), np.arange(20, dtype="f4").reshape(4, 5)
    c = np.zeros((4, 5, 6), "f4")
    gcg.compile(text, target="sim").f(a, b, c)
    np.testing.assert_array_equal(c, (a[:, None] * b)[..., None] + np.zeros(6))


@pytest.mark.slow
@pytest.mark.cases("between", [LOAD, VIEWS, OTHER, SAME, STORED, SLOW])
def test_engines_agree(between: str) -> None:
    text = TEXT.format(between=between, end=48)
    rng = np.random.default_rng(0)
    given = [rng.random(s, np.float32) for s in ((40,), (40, 64), (64,))]
    found = []
    for target in ("interp", "cpu", "sim"):
        arrays = [array.copy() for array in given]
        gcg.compile(text, target=target).f(*arrays)
        found.append(arrays[1])
    for result in found[1:]:
        np.testing.assert_allclose(result, found[0], rtol=1e-5)


ROWS = """func.func @f(%a: memref<64x32xf32>, %b: memref<64x32xf32>) {
  affine.for %i = 0 to 64 {
    %k = affine.apply affine_map<(i) -> (63 - i)>(%i)
    %s = memref.subview %a[%k, 0] [1, 32] [1, 1]
      : memref<64x32xf32> to memref<32xf32, strided<[1], offset: ?>>
    %d = memref.subview %b[%i, 0] [1, 32] [1, 1]
      : memref<64x32xf32> to memref<32xf32, strided<[1], offset: ?>>
    memref.copy %s, %d : memref<32xf32, strided<[1], offset: ?>>
      to memref<32xf32, strided<[1], offset: ?>>
  }
  return
}"""


@pytest.mark.cases("target", ["interp", "cpu", "sim"])
def test_copies_of_rows_are_a_nest(target: str) -> None:
    a = np.random.default_rng(0).random((64, 32), np.float32)
    b = np.zeros_like(a)
    f = gcg.compile(ROWS, target=target).f
    f(a, b)
    np.testing.assert_array_equal(b, a[::-1])
    if target == "sim":
        (kernel,) = f.executable(target).kernels
        assert "while" not in kernel.source  # a thread copies one number
