"""Transfers in loops of which no iteration count is known."""

from __future__ import annotations

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors
from tests.targets import ALL

HEAD = """func.func @f(%src: memref<64xf32>, %dst: memref<64xf32>, %end: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 16 : index
  %fast = memref.alloc() : memref<16xf32, 2>
  %tag = memref.alloc() : memref<1xi32>
"""
START = """memref.dma_start %src[%o], %fast[%c0], %n, %tag[%c0]
      : memref<64xf32>, memref<16xf32, 2>, memref<1xi32>"""
WAIT = "memref.dma_wait %tag[%c0], %n : memref<1xi32>"
USE = """scf.for %i = %c0 to %n step %c1 {
      %v = memref.load %fast[%i] : memref<16xf32, 2>
      %p = arith.addi %o, %i : index
      %w = arith.addf %v, %v : f32
      memref.store %w, %dst[%p] : memref<64xf32>
    }"""
FOR = """scf.for %o = %c0 to %end step %n {{
    {body}
  }}
  return
}}"""
WHILE = """%last = scf.while (%at = %c0) : (index) -> index {{
    %more = arith.cmpi slt, %at, %end : index
    scf.condition(%more) %at : index
  }} do {{
  ^bb0(%o: index):
    {body}
    %next = arith.addi %o, %n : index
    scf.yield %next : index
  }}
  return
}}"""
BODY = f"{START}\n    {WAIT}\n    {USE}"


def run(loop: str, body: str, target: str, end: int) -> None:
    src, dst = np.arange(64, dtype="f4"), np.zeros(64, "f4")
    text = HEAD + "  " + loop.format(body=body)
    gcg.compile(text, target=target).f(src, dst, end)
    assert np.array_equal(dst, np.where(np.arange(64) < end, 2 * src, 0))


@pytest.mark.parametrize("end", [0, 16, 64])
@pytest.mark.parametrize("target", ALL)
@pytest.mark.sampled(3)
def test_for(target: str, end: int) -> None:
    run(FOR, BODY, target, end)


@pytest.mark.slow
@pytest.mark.parametrize(("target", "missed"), [("cpu", "at all"), ("sim", "by all")])
def test_a_wait_in_while_is_refused(target: str, missed: str) -> None:
    with pytest.raises(errors.RaceFound, match=f"may not be reached {missed}"):
        run(WHILE, BODY, target, 64)


UNDER_IF = f"""%some = arith.cmpi slt, %o, %n : index
    scf.if %some {{
      {WAIT}
    }}"""


@pytest.mark.sampled(4)
@pytest.mark.cases("loop", [FOR, WHILE], ids=["for", "while"], parts=2)
@pytest.mark.parametrize("target", ALL)
@pytest.mark.cases(
    "body",
    [(START, USE), (START, USE, WAIT), (START, UNDER_IF, USE), (WAIT, START, USE)],
    ids=["no wait", "late", "under if", "early"],
)
def test_cells_are_not_used_before_a_wait(
    body: tuple[str, ...], target: str, loop: str
) -> None:
    with pytest.raises(gcg.CompileError) as caught:
        run(loop, "\n    ".join(body), target, 64)
    assert not isinstance(caught.value, errors.InternalError)


TRIPLE = """func.func @f(%src: memref<64xf32>, %dst: memref<64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %n = arith.constant 10 : index
  %w = arith.constant 4 : index
  %fast = memref.alloc() : memref<3x4xf32, 2>
  %tag = memref.alloc() : memref<3xi32>
  scf.for %i = %c0 to %n step %c1 {
    %slot = arith.remui %i, %c3 : index
    %from = arith.muli %i, %w : index
    memref.dma_start %src[%from], %fast[%slot, %c0], %w, %tag[%slot]
        : memref<64xf32>, memref<3x4xf32, 2>, memref<3xi32>
    %full = arith.cmpi uge, %i, %c2 : index
    scf.if %full {
      %k = arith.subi %i, %c2 : index
      %old = arith.remui %k, %c3 : index
      memref.dma_wait %tag[%old], %w : memref<3xi32>
      %to = arith.muli %k, %w : index
      scf.for %j = %c0 to %w step %c1 {
        %v = memref.load %fast[%old, %j] : memref<3x4xf32, 2>
        %p = arith.addi %to, %j : index
        memref.store %v, %dst[%p] : memref<64xf32>
      }
    }
  }
  memref.dma_wait %tag[%c2], %w : memref<3xi32>
  memref.dma_wait %tag[%c0], %w : memref<3xi32>
  return
}"""


@pytest.mark.parametrize("target", ALL)
def test_a_slot_by_remainder_under_an_unsigned_condition(target: str) -> None:
    """The slot (i - 2) rem 3 is affine where the condition i >= 2 holds."""
    src, dst = np.arange(64, dtype="f4"), np.zeros(64, "f4")
    gcg.compile(TRIPLE, target=target).f(src, dst)
    assert np.array_equal(dst, np.where(np.arange(64) < 32, src, 0))
