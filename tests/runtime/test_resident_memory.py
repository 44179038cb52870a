"""Resident memory stays the same from call to call, whatever temporaries a call makes.

Every program allocates at least 256 KiB a call in a place of its own: loops, branches,
nested loops, called functions, results, tensors, packed panels, failed calls.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg

N = 1 << 15
SIDE = 180
LINE, SQUARE = f"memref<{N}xf64>", f"memref<{SIDE}x{SIDE}xf64>"
TENSOR = f"tensor<{SIDE}x{SIDE}xf32>"

linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/self/statm")


def temporary(a: Any, b: Any, n: Any):
    for _ in range(n):
        t = a + 1.0
        t[0] = 2.0
        b[:] = t + t[0]


def nested(a: Any, b: Any, n: Any):
    for i in range(n):
        u = a * 2.0
        for j in range(3):
            v = u + j
            v[1:] = v[:-1] * u[1:] + i
            b[:] = v + v[0]


def branched(a: Any, b: Any, n: Any):
    for i in range(n):
        if i % 2 == 0:
            t = np.zeros(len(a))
            t[1:] = a[1:] - a[:-1]
            b += t
        else:
            t = np.empty(len(a))
            t[:] = b
            b[:] = t + t[0]


def waiting(a: Any, b: Any, n: Any):
    k = n
    while k > 0:
        t = np.sqrt(a * a + b * b)
        b[:] = t + t[0]
        k -= 1


def paths(square: Any, n: Any):
    for k in range(n):
        square[:] = np.minimum(square, square[:, k, None] + square[k, :])


def flow(square: Any, n: Any):
    for _ in range(n):
        old = square.copy()
        square[1:-1, 1:-1] = 0.25 * (
            old[:-2, 1:-1] + old[2:, 1:-1] + old[1:-1, :-2] + old[1:-1, 2:]
        )


def powers(square: Any, n: Any):
    for _ in range(n):
        product = square @ square
        square[:] = product / np.max(product)


def shrinking(a: Any, b: Any, n: Any):
    for k in range(1, n):
        part = a[k:] * 2.0
        b[: len(a) - k] += part


def asserted(a: Any, n: Any):
    t = a * 2.0
    for i in range(n):
        t = t + np.concatenate((t[1:], t[:1]))
        assert i < 2
    return t


def asserted_within(a: Any, b: Any, n: Any):
    for i in range(n):
        t = a + i
        t[1:] = t[:-1] * a[1:]
        for j in range(3):
            u = np.sqrt(t[: len(a) - j])
            u[0] = t[j]
            assert i + j < 3
            b[: len(u)] += u + u[0]


def fresh(a: Any, b: Any):
    return a + b, a - b


def rows(square: Any, n: Any):
    for i in range(n):
        row = np.exp(square[i] - np.max(square[i]))
        wide = square * row
        square[:] = wide / np.sum(wide)


def line() -> np.ndarray:
    return np.linspace(0.0, 1.0, N)


def square(dtype: Any = np.float64) -> np.ndarray:
    return np.linspace(0.1, 1.0, SIDE * SIDE, dtype=dtype).reshape(SIDE, SIDE)


IN_A_LOOP = f"""func.func @f(%a: {LINE}, %b: {LINE}) {{
  %two = arith.constant 2.0 : f64
  affine.for %k = 0 to 3 {{
    %t = memref.alloc() : {LINE}
    affine.for %i = 0 to {N} {{
      %x = affine.load %a[%i] : {LINE}
      %y = arith.mulf %x, %two : f64
      affine.store %y, %t[%i] : {LINE}
    }}
    affine.for %i = 0 to {N} {{
      %x = affine.load %t[{N - 1} - %i] : {LINE}
      affine.store %x, %b[%i] : {LINE}
    }}
  }}
  return
}}"""
IN_A_BRANCH = f"""func.func @f(%a: {LINE}, %b: {LINE}, %c: i1) {{
  scf.if %c {{
    %t = memref.alloc() : {LINE}
    memref.copy %a, %t : {LINE} to {LINE}
    affine.for %i = 0 to {N} {{
      %x = affine.load %t[{N - 1} - %i] : {LINE}
      affine.store %x, %b[%i] : {LINE}
    }}
  }}
  return
}}"""
CALLED = f"""func.func private @g(%a: {LINE}) -> {LINE} {{
  %t = memref.alloc() : {LINE}
  memref.copy %a, %t : {LINE} to {LINE}
  return %t : {LINE}
}}
func.func @f(%a: {LINE}, %b: {LINE}) {{
  affine.for %k = 0 to 3 {{
    %t = func.call @g(%a) : ({LINE}) -> {LINE}
    affine.for %i = 0 to {N} {{
      %x = affine.load %t[{N - 1} - %i] : {LINE}
      affine.store %x, %b[%i] : {LINE}
    }}
  }}
  return
}}"""
IN_PARALLEL = f"""func.func @f(%a: {SQUARE}, %b: {SQUARE}) {{
  affine.parallel (%i) = (0) to ({SIDE}) {{
    %t = memref.alloc() : {SQUARE}
    affine.for %j = 0 to {SIDE} {{
      %x = affine.load %a[%i, %j] : {SQUARE}
      affine.store %x, %t[%j, %i] : {SQUARE}
    }}
    affine.for %j = 0 to {SIDE} {{
      %x = affine.load %t[{SIDE - 1} - %j, %i] : {SQUARE}
      affine.store %x, %b[%i, %j] : {SQUARE}
    }}
  }}
  return
}}"""
CARRIED = f"""func.func @f(%a: {TENSOR}, %n: index) -> {TENSOR} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a) -> ({TENSOR}) {{
    %e = tensor.empty() : {TENSOR}
    %z = linalg.fill ins(%zero : f32) outs(%e : {TENSOR}) -> {TENSOR}
    %p = linalg.matmul ins(%x, %a : {TENSOR}, {TENSOR}) outs(%z : {TENSOR}) -> {TENSOR}
    %t = linalg.transpose ins(%p : {TENSOR}) outs(%e : {TENSOR}) permutation = [1, 0]
    scf.yield %t : {TENSOR}
  }}
  return %r : {TENSOR}
}}"""
WHILE = f"""func.func @f(%a: {TENSOR}) -> {TENSOR} {{
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %most = stablehlo.constant dense<3> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %x = %a) : tensor<i32>, {TENSOR}
  cond {{
    %c = stablehlo.compare LT, %i, %most : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }} do {{
    %n = stablehlo.add %i, %one : tensor<i32>
    %t = stablehlo.transpose %x, dims = [1, 0] : ({TENSOR}) -> {TENSOR}
    %s = stablehlo.add %t, %a : {TENSOR}
    stablehlo.return %n, %s : tensor<i32>, {TENSOR}
  }}
  return %r#1 : {TENSOR}
}}"""
CHECKED = f"""func.func @f(%a: {LINE}, %b: {LINE}, %n: index) {{
  affine.for %k = 0 to 2 {{
    %t = memref.alloc() : {LINE}
    affine.for %i = 0 to {N} {{
      %x = affine.load %a[%i] : {LINE}
      affine.store %x, %t[{N - 1} - %i] : {LINE}
    }}
    %x = memref.load %t[%n] : {LINE}
    memref.store %x, %b[%n] : {LINE}
  }}
  return
}}"""

NO_MEMORY = f"""func.func @f(%a: {SQUARE}, %b: {SQUARE}, %n: index, %m: index) {{
  affine.parallel (%i) = (0) to ({SIDE}) {{
    %t = memref.alloc(%n, %n) : memref<?x?xf64>
    affine.for %j = 0 to {SIDE} {{
      %x = affine.load %a[%i, %j] : {SQUARE}
      affine.store %x, %t[%j, %i] : memref<?x?xf64>
    }}
    %u = memref.alloc(%m) : memref<?xf64>
    affine.for %j = 0 to {SIDE} {{
      %x = affine.load %t[{SIDE - 1} - %j, %i] : memref<?x?xf64>
      affine.store %x, %u[%j] : memref<?xf64>
    }}
    affine.for %j = 0 to {SIDE} {{
      %x = affine.load %u[{SIDE - 1} - %j] : memref<?xf64>
      affine.store %x, %b[%i, %j] : {SQUARE}
    }}
  }}
  return
}}"""

Call = Callable[[], Any]


def jitted(function: Callable[..., Any], *arguments: Any, **options: Any) -> Call:
    compiled = gcg.jit(target="cpu", **options)(function)
    return lambda: compiled(*arguments)


def text(source: str, *arguments: Any, target: str = "cpu") -> Call:
    function = gcg.compile(source, target=target)["f"]
    return lambda: function(*arguments)


def refused(call: Call) -> Call:
    def attempt() -> None:
        with suppress(gcg.Error):
            call()

    return attempt


def programs() -> dict[str, Call]:
    """Calls by name; compiled when they run first."""
    small = square(np.float32) / SIDE
    return {
        "temporary in a loop": jitted(temporary, line(), line(), 3),
        "nested loops": jitted(nested, line(), line(), 2),
        "branches": jitted(branched, line(), line(), 4),
        "while": jitted(waiting, line(), line(), 3),
        "shortest paths": jitted(paths, square(), 4),
        "stencil": jitted(flow, square(), 3),
        "products": jitted(powers, square(), 2),
        "extents that vary": jitted(shrinking, line(), line(), 4),
        "results": jitted(fresh, line(), line()),
        "rows": jitted(rows, square(), 2),
        "one thread": jitted(nested, line(), line(), 2, threads=1),
        "memref in a loop": text(IN_A_LOOP, line(), line()),
        "memref in a branch": text(IN_A_BRANCH, line(), line(), True),
        "memref of a callee": text(CALLED, line(), line()),
        "memref in a parallel loop": text(IN_PARALLEL, square(), square()),
        "tensor carried by a loop": text(CARRIED, small, 2),
        "while of StableHLO": text(WHILE, small),
        "check in a loop": text(CHECKED, line(), line(), 5),
        "failed check in a loop": refused(text(CHECKED, line(), line(), N + 5)),
        "failed assertion in a loop": refused(jitted(asserted, line(), 6)),
        "failed assertion in nested loops": refused(
            jitted(asserted_within, line(), line(), 6)
        ),
        "failed assertion on one thread": refused(
            jitted(asserted, line(), 6, threads=1)
        ),
        "failed allocation in a parallel loop": refused(
            text(NO_MEMORY, square(), square(), SIDE, 1 << 50)
        ),
    }


def resident() -> float:
    """MiB of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def grown(call: Call, calls: int) -> float:
    """MiB that the process grew by; the first calls may fill pools."""
    for _ in range(3):
        call()
    gc.collect()
    before = resident()
    for _ in range(calls):
        call()
    gc.collect()
    return resident() - before


@pytest.mark.slow
@linux
def test_a_temporary_in_a_loop_is_freed():
    """200 calls that leak would leave 150 MiB."""
    assert grown(jitted(temporary, line(), line(), 3), 200) < 30


@linux
@pytest.mark.slow
def test_memory_is_flat_over_hundreds_of_calls():
    """A leak of one temporary a call would leave 25 MiB at least."""
    gc.freeze()  # what other tests left in this process is not collected 50 times
    try:
        found = {name: grown(call, 100) for name, call in programs().items()}
    finally:
        gc.unfreeze()
    assert {name: size for name, size in found.items() if size > 16} == {}


EXPORTED = """
import gc, os, pathlib, sys
import numpy as np
sys.path.insert(0, sys.argv[1])
import resident_package

def resident():
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20

a, b = np.ones(int(sys.argv[2])), np.ones(int(sys.argv[2]))
for _ in range(3):
    resident_package.f(a, b)
before = resident()
for _ in range(1000):
    resident_package.f(a, b)
gc.collect()
print(resident() - before)
"""


@linux
@pytest.mark.slow
def test_an_exported_package_frees_its_temporaries(tmp_path: Path):
    program = gcg.compile(IN_A_LOOP, target="cpu")
    program.f(line(), line())
    program.export(tmp_path / "resident_package")
    words = [sys.executable, "-c", EXPORTED, str(tmp_path / "resident_package"), str(N)]
    ended = subprocess.run(words, check=True, capture_output=True, text=True)
    assert float(ended.stdout) < 16
