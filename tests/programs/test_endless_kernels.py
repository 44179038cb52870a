"""Kernels that never end on the emulated device: a limit of steps, and Ctrl-C."""

from __future__ import annotations

import signal
from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors
from gpucodegen.ptx.execution.batch import Batch

TEXT = """
func.func @f(%m: memref<1xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  gpu.launch blocks(%b0, %b1, %b2) in (%g0 = %c1, %g1 = %c1, %g2 = %c1)
      threads(%t0, %t1, %t2) in (%s0 = %c1, %s1 = %c1, %s2 = %c1) {
    scf.while : () -> () {
      %x = memref.load %m[%c0] : memref<1xi32>
      %y = arith.subi %x, %x : i32
      %goes_on = arith.cmpi eq, %y, %zero : i32
      scf.condition(%goes_on)
    } do {
      memref.store %zero, %m[%c0] : memref<1xi32>
      scf.yield
    }
    gpu.terminator
  }
  return
}
func.func @ends(%m: memref<1xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c600 = arith.constant 600 : index
  gpu.launch blocks(%b0, %b1, %b2) in (%g0 = %c1, %g1 = %c1, %g2 = %c1)
      threads(%t0, %t1, %t2) in (%s0 = %c1, %s1 = %c1, %s2 = %c1) {
    scf.for %i = %c0 to %c600 step %c1 {
      %x = memref.load %m[%c0] : memref<1xi32>
      %i32 = arith.index_cast %i : index to i32
      %y = arith.xori %x, %i32 : i32
      memref.store %y, %m[%c0] : memref<1xi32>
    }
    gpu.terminator
  }
  return
}
"""
STEPS = "GPUCODEGEN_EMULATED_STEPS"


def test_a_kernel_has_so_many_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    program = gcg.compile(TEXT, target="sim")
    monkeypatch.setenv(STEPS, "20")
    refused = pytest.raises(errors.KernelEndless, match="not ended after 20 steps")
    for name in ("f", "ends"):
        with refused as info:
            program[name](np.zeros(1, "i4"))
        assert STEPS in str(info.value)
        assert info.value.location is not None
    for enough in ("100000", "0", ""):
        monkeypatch.setenv(STEPS, enough)
        program.ends(np.zeros(1, "i4"))
    monkeypatch.setenv(STEPS, "many")
    with pytest.raises(errors.InvalidOption, match=STEPS):
        program.ends(np.zeros(1, "i4"))


def test_interrupts_end_a_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """The signal comes while the kernel runs; no step follows it.

    A shell that starts pytest in the background makes it ignore SIGINT.
    """
    program = gcg.compile(TEXT, target="sim")
    visit, seen = Batch._visit, [0]

    def interrupted(self: Batch, *arguments: Any) -> None:
        seen[0] += 1
        visit(self, *arguments)
        if seen[0] == 100:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Batch, "_visit", interrupted)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            program.f(np.zeros(1, "i4"))
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen == [100]
    monkeypatch.undo()
    program.ends(np.zeros(1, "i4"))
