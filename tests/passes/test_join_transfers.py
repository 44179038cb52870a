"""Groups of transfers that start together, and waits that follow each other."""

from __future__ import annotations

import numpy as np
import pytest
from lowering import apply

import gpucodegen as gcg
from gpucodegen import errors
from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.shared.dma import (
    JOINED,
    TRANSFERS,
    is_joined,
    left_open,
    tag_of,
)
from gpucodegen.ir.attributes import UnitAttr
from gpucodegen.ir.operation import Operation, rewrite_bottom_up

pytestmark = pytest.mark.filterwarnings("ignore::gpucodegen.errors.PossiblyOutOfBounds")
START = """affine.dma_start %{x}[%b * 16], %{x}_fast[0], %{x}_tag[0], %n
        : memref<64xf32>, memref<16xf32, 2>, memref<1xi32>"""
ADD = """affine.for %i = 0 to 16 {{
      %v = affine.load %{x}_fast[%i] : memref<16xf32, 2>
      %o = affine.load %y[%b * 16 + %i] : memref<64xf32>
      %s = arith.addf %v, %o : f32
      affine.store %s, %y[%b * 16 + %i] : memref<64xf32>
    }}"""
WAIT = "affine.dma_wait %{x}_tag[0], %n : memref<1xi32>"
BUFFERS = """%{x}_fast = memref.alloc() : memref<16xf32, 2>
    %{x}_tag = memref.alloc() : memref<1xi32>"""
START_A, START_B = (START.format(x=x) for x in "ac")
WAIT_A, WAIT_B = (WAIT.format(x=x) for x in "ac")
ADD_A, ADD_B = (ADD.format(x=x) for x in "ac")


def program(*parts: str) -> str:
    """``y += a + c``, a tile of 16 elements in each block."""
    buffers = [BUFFERS.format(x=x) for x in "ac"]
    body = "\n    ".join((*buffers, *parts))
    return f"""func.func @f(
    %a: memref<64xf32>, %c: memref<64xf32>, %y: memref<64xf32>) {{
  %n = arith.constant 16 : index
  affine.for %b = 0 to 4 {{
    {body}
  }}
  return
}}"""


TOGETHER = program(START_A, START_B, WAIT_A, WAIT_B, ADD_A, ADD_B)
IN_TURN = program(START_A, START_B, WAIT_A, ADD_A, WAIT_B, ADD_B)
APART = program(START_A, WAIT_A, ADD_A, START_B, WAIT_B, ADD_B)
CASES = {
    "together": (TOGETHER, ["a joined", "c", "a joined", "c"], 1),
    "waited for in turn": (IN_TURN, ["a", "c", "a open 1", "c"], 2),
    "one after the other": (APART, ["a", "a", "c", "c"], 2),
}
PASSES = "normalize-transfers,canonicalize,map-gpu,join-transfers,assign-wait-groups"


def marks(module: Module) -> list[str]:
    """Of each start and wait its buffer, and what it leaves to others."""

    def told(op: Operation) -> str:
        name = tag_of(op).memref.name.partition("_")[0]
        rest = f" open {left_open(op)}" * bool(left_open(op))
        return name + " joined" * is_joined(op) + rest

    return [told(op) for op in module.walk() if op.name in TRANSFERS]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", CASES)
def test_what_shares_a_group_or_a_barrier(name: str) -> None:
    text, expected, meetings = CASES[name]
    assert marks(apply(PASSES, text)) == expected
    program = gcg.compile(text, target="sim")
    a, c, y = np.arange(192, dtype=np.float32).reshape(3, 64)
    want = y + a + c
    program.f(a, c, y)
    np.testing.assert_array_equal(y, want)
    assert program.source("f").count("syncthreads") == meetings


def test_a_group_that_is_closed_too_late_is_refused() -> None:
    """As if the start before a wait left its group to one behind it."""
    module = apply(PASSES, APART)
    first = next(op for op in module.walk() if op.name in TRANSFERS)

    def spoilt(op: Operation) -> list[Operation] | None:
        return [op.with_attribute(JOINED, UnitAttr())] if op is first else None

    (root,) = rewrite_bottom_up(module.operation, spoilt)
    with pytest.raises(errors.Error, match=r"a_fast\[0\]|no wait ends a copy"):
        apply("verify-kernels", str(Module(root)))


def test_a_wait_that_no_other_makes_is_refused() -> None:
    """As if the last wait left itself to one that does not come."""
    module = apply(PASSES, TOGETHER)
    last = [op for op in module.walk() if op.name in TRANSFERS][-1]

    def spoilt(op: Operation) -> list[Operation] | None:
        return [op.with_attribute(JOINED, UnitAttr())] if op is last else None

    (root,) = rewrite_bottom_up(module.operation, spoilt)
    with pytest.raises(errors.Error, match=r"_fast\[0\]|no wait ends a copy"):
        apply("verify-kernels", str(Module(root)))


ROWS = """func.func @f(%x: memref<6x4x16xf32>, %y: memref<4x16xf32>) {
  %n = arith.constant 16 : index
  affine.for %k = 0 to 6 {
    %fast = memref.alloc() : memref<4x16xf32, 2>
    %tag = memref.alloc() : memref<4xi32>
    affine.for %r = 0 to 4 {
      affine.dma_start %x[%k, %r, 0], %fast[%r, 0], %tag[%r], %n
          : memref<6x4x16xf32>, memref<4x16xf32, 2>, memref<4xi32>
    }
    affine.for %r = 0 to 4 {
      affine.dma_wait %tag[%r], %n : memref<4xi32>
    }
    affine.for %i = 0 to 4 {
      affine.for %j = 0 to 16 {
        %v = affine.load %fast[%i, %j] : memref<4x16xf32, 2>
        %o = affine.load %y[%i, %j] : memref<4x16xf32>
        %s = arith.addf %v, %o : f32
        affine.store %s, %y[%i, %j] : memref<4x16xf32>
      }
    }
  }
  return
}"""


@pytest.mark.slow
def test_a_barrier_that_orders_nothing_is_left_out() -> None:
    """Waits in a loop may be missed, as far as mapping sees; the proof sees more."""
    program = gcg.compile(ROWS, target="sim")
    x, y = np.arange(384.0).reshape(6, 4, 16).astype("f4"), np.ones((4, 16), "f4")
    program.f(x, y)
    np.testing.assert_array_equal(y, 1 + x.sum(0))
    assert program.source("f").count("dma_wait_f32(") == 1
    stages = dict(program.stages("f"))
    before, after = (
        stages[name].count("gpu.barrier")
        for name in ("assign-wait-groups", "eliminate-barriers")
    )
    assert after < before
