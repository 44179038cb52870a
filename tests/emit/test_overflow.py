"""Integers of 64 bits wrap around; no compiler may take that for impossible."""

from __future__ import annotations

import numpy as np
import pytest
from running import loaded, one_kernel

from tests.targets import ALL

BODY = """
affine.for %i = 0 to 4 {
  %a = affine.load %x[%i] : memref<4xTYPE>
  %b = affine.load %y[%i] : memref<4xTYPE>
  %made = OPERATION %a, %b : TYPE
  %less = arith.cmpi slt, %made, %a : TYPE
  %one = arith.extui %less : i1 to i64
  affine.store %one, %out[%i] : memref<4xi64>
}
"""
ARGUMENTS = "%x: memref<4xTYPE>, %y: memref<4xTYPE>, %out: memref<4xi64>"
LARGEST = np.iinfo(np.int64).max
X = np.array([LARGEST, -LARGEST, LARGEST // 2 + 1, 5])
Y = np.array([1, -2, 2, 3])


@pytest.mark.parametrize("target", ALL)
@pytest.mark.cases("ty", ["i64", "index"])
@pytest.mark.cases("name", ["addi", "subi", "muli"])
def test_a_result_that_wraps_around_is_less(name: str, ty: str, target: str) -> None:
    """LLVM folds ``a + b < a`` to ``b < 0`` where sums cannot overflow."""
    body = BODY.replace("OPERATION", f"arith.{name}")
    text = one_kernel(ARGUMENTS, body, target).replace("TYPE", ty)
    out = np.zeros(4, np.int64)
    loaded(text, target, "f")(X, Y, out)
    with np.errstate(over="ignore"):
        made = {"addi": X + Y, "subi": X - Y, "muli": X * Y}[name]
    assert out.tolist() == (made < X).tolist()


def test_numbers_of_threads_meet_indices_that_are_data() -> None:
    """A thread's number has 32 bits, an index from memory 64."""
    body = """
    %t = gpu.thread_id x
    %v = memref.load %x[%t] : memref<1xindex>
    %s = arith.addi %t, %v : index
    %m = arith.maxsi %s, %t : index
    memref.store %m, %x[%t] : memref<1xindex>
    """
    x = np.array([2**40])
    loaded(one_kernel("%x: memref<1xindex>", body, "sim"), "sim", "f")(x)
    assert x.tolist() == [2**40]
