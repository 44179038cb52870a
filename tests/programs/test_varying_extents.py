"""Buffers and tensors whose extents loops decide, on every target."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors
from tests.targets import ALL

pytestmark = pytest.mark.filterwarnings("ignore::gpucodegen.errors.ElementTransfers")

Array = np.ndarray[Any, Any]


def syrk(alpha: float, beta: float, c: Array, a: Array) -> None:
    n, m = a.shape
    for i in range(n):
        c[i, : i + 1] *= beta
        for k in range(m):
            c[i, : i + 1] += alpha * a[i, k] * a[: i + 1, k]


def syr2k(alpha: float, beta: float, c: Array, a: Array, b: Array) -> None:
    for i in range(a.shape[0]):
        c[i, : i + 1] *= beta
        for k in range(a.shape[1]):
            c[i, : i + 1] += a[: i + 1, k] * alpha * b[i, k]
            c[i, : i + 1] += b[: i + 1, k] * alpha * a[i, k]


def growing(x: Array, y: Array) -> None:
    for i in range(x.shape[0]):
        t = x[: i + 1] * 2.0
        u = t + x[i]
        y[i] = np.sum(u * t)


def halves(x: Array, y: Array) -> None:
    k = x.shape[0]
    while k > 1:
        t = x[:k] + x[k - 1]
        y[:k] += t * t
        k = k // 2


def shrinking(a: Array) -> None:
    n = a.shape[0]
    for k in range(n - 1):
        row = a[k, k + 1 :] / a[k, k]
        for i in range(k + 1, n):
            a[i, k + 1 :] -= a[i, k] * row


def filled(x: Array, y: Array) -> None:
    for i in range(x.shape[0]):
        t = np.zeros(i + 2)
        for j in range(i + 1):
            t[j + 1] = t[j] + x[j]
        if i > 2:
            y[i] = t[i + 1]


@pytest.mark.slow
def test_temporaries_of_jit():
    rng = np.random.default_rng(0)
    square, wide, line = rng.random((7, 7)), rng.random((7, 4)), rng.random(9)
    cases: tuple[tuple[Callable[..., Any], tuple[Any, ...]], ...] = (
        (syrk, (1.5, 0.5, square, wide)),
        (syr2k, (1.5, 0.5, square, wide, wide + 1)),
        (growing, (line, np.zeros(9))),
        (halves, (line, np.zeros(9))),
        (shrinking, (square + 7 * np.eye(7),)),
        (filled, (line, np.zeros(9))),
    )
    for function, given in cases:
        wanted = [np.copy(v) if isinstance(v, np.ndarray) else v for v in given]
        function(*wanted)
        for target in ("cpu", "sim"):
            made = [np.copy(v) if isinstance(v, np.ndarray) else v for v in given]
            gcg.jit(target=target)(function)(*made)
            for one, other in zip(made, wanted, strict=True):
                np.testing.assert_allclose(one, other, err_msg=function.__name__)


@pytest.mark.slow
def test_a_temporary_of_jit():
    x, y, wanted = np.linspace(-1, 1, 9), np.zeros(9), np.zeros(9)
    growing(x, wanted)
    gcg.jit(target="sim")(growing)(x, y)
    np.testing.assert_allclose(y, wanted)


BODY = """
    %t = {alloc}(%i) : memref<?xf64>
    scf.for %j = %c0 to %i step %c1 {{
      %v = memref.load %x[%j] : memref<?xf64>
      %w = arith.mulf %v, %v : f64
      memref.store %w, %t[%j] : memref<?xf64> }}
    %k = arith.subi %i, %c1 : index
    %q = memref.load %t[%k] : memref<?xf64>
    memref.store %q, %y[%i] : memref<?xf64>
    {end}"""
LOOPS = (
    "affine.for %i = 1 to %n",
    "affine.parallel (%i) = (1) to (%n)",
    "scf.for %i = %c1 to %n step %c1",
    "scf.parallel (%i) = (%c1) to (%n) step (%c1)",
    "scf.forall (%i) = (%c1) to (%n) step (%c1)",
)
WHILE = """scf.while (%i = %top) : (index) -> index {{
      %p = arith.cmpi sgt, %i, %c0 : index
      scf.condition(%p) %i : index
    }} do {{ ^bb0(%i: index): {body}
      scf.yield %k : index"""
FUNCTION = """func.func @f(%x: memref<?xf64>, %y: memref<?xf64>) {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %x, %c0 : memref<?xf64>
    %top = arith.subi %n, %c1 : index
    {loop}
  }}
  return
}}"""
TENSORS = """func.func @f(%x: tensor<?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %n = tensor.dim %x, %c0 : tensor<?xf64>
  %r = scf.for %i = %c1 to %n step %c1 iter_args(%sum = %zero) -> f64 {
    %e = tensor.empty(%i) : tensor<?xf64>
    %s = tensor.extract_slice %x[0] [%i] [1] : tensor<?xf64> to tensor<?xf64>
    %t = linalg.exp ins(%s : tensor<?xf64>) outs(%e : tensor<?xf64>) -> tensor<?xf64>
    %k = arith.subi %i, %c1 : index
    %last = tensor.extract %t[%k] : tensor<?xf64>
    %more = arith.addf %sum, %last : f64
    scf.yield %more : f64
  }
  return %r : f64
}"""


def text_of(loop: str, alloc: str) -> str:
    body = BODY.format(alloc=alloc, end="")
    if alloc == "memref.alloc":
        body += "memref.dealloc %t : memref<?xf64>"
    if not loop:
        return FUNCTION.format(loop="%last = " + WHILE.format(body=body))
    return FUNCTION.format(loop=f"{loop} {{{body}")


@pytest.mark.slow
@pytest.mark.parametrize("alloc", ["memref.alloc", "memref.alloca"])
def test_allocations_of_loops(alloc: str):
    for loop in (*LOOPS, ""):
        text = text_of(loop, alloc)
        for target in ALL:
            x, y = np.arange(1.0, 10.0), np.zeros(9)
            gcg.compile(text, target=target).f(x, y)
            wanted = np.concatenate([[0.0], x[:-1] ** 2])
            np.testing.assert_array_equal(y, wanted, err_msg=f"{loop} {target}")


@pytest.mark.slow
def test_tensors_of_loops():
    x = np.linspace(-1, 1, 9)
    for target in ALL:
        made = gcg.compile(TENSORS, target=target).f(x)
        np.testing.assert_allclose(made, np.exp(x[:-1]).sum())


def test_an_access_beyond_a_varying_extent_is_told():
    text = text_of(LOOPS[0], "memref.alloc").replace("%t[%j]", "%t[%i]")
    function = gcg.compile(text, target="sim").f
    with pytest.raises(errors.OutOfBounds, match="outside dimension 0 of extent"):
        function(np.ones(9), np.zeros(9))
