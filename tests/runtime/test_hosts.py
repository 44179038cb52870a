"""Kernels for processors older than this one: their registers, and no calls.

Numba compiles for the processor that its environment names, so each host is a process
of its own; an older x86 runs on any newer one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from gpucodegen.runtime.processor import AVX2, SSE2, Cpu, runs_here

AVX = Cpu("sandybridge", SSE2.features | {"avx", "sse4.2", "popcnt"})
HOSTS = {
    "sse2": (SSE2, "xmm", r"\bmulps\b"),
    "avx": (AVX, "ymm", r"\bvmulps\b"),
    "avx2": (AVX2, "ymm", r"\bvfmadd\d+ps\b"),
}
"""Name: the processor, its widest registers, what multiplies."""

PROGRAM = """
import json, re, sys
import numpy as np
import gpucodegen as gcg

text = '''
func.func @matmul(%A: memref<37x29xf32>, %B: memref<29x45xf32>, %C: memref<37x45xf32>) {
  linalg.matmul ins(%A, %B : memref<37x29xf32>, memref<29x45xf32>)
               outs(%C : memref<37x45xf32>)
  return
}
func.func @halves(%A: memref<65536xf16>, %B: memref<65536xf32>, %C: memref<65536xf16>) {
  affine.for %i = 0 to 65536 {
    %a = affine.load %A[%i] : memref<65536xf16>
    %w = arith.extf %a : f16 to f32
    affine.store %w, %B[%i] : memref<65536xf32>
    %s = arith.mulf %a, %a : f16
    affine.store %s, %C[%i] : memref<65536xf16>
  }
  return
}
'''
rng = np.random.default_rng(0)
a, b = rng.random((37, 29), "f4"), rng.random((29, 45), "f4")
c = np.zeros((37, 45), "f4")
program = gcg.compile(text, target="cpu", threads=1)
program.matmul(a, b, c)
(assembly,) = program.assembly("matmul").values()
halves = np.arange(1 << 16, dtype="u2").view("f2")
wide, squares = np.zeros(1 << 16, "f4"), np.zeros(1 << 16, "f2")
program.halves(halves, wide, squares)
with np.errstate(all="ignore"):
    expected = halves.astype("f4"), halves * halves
found = zip(expected, (wide, squares))
same = [np.array_equal(*both, equal_nan=True) for both in found]
print(json.dumps({
    "error": float(abs(c - a.astype("f8") @ b.astype("f8")).max()),
    "registers": sorted(set(re.findall(r"%([xyz]mm)", assembly))),
    "multiplies": len(re.findall(sys.argv[1], assembly)),
    "libm": re.findall(r"\\bfmaf?\\b", assembly),
    "halves": same,
}))
"""


@pytest.mark.slow
@pytest.mark.parametrize("host", HOSTS)
def test_kernels_for_a_host(host: str) -> None:
    processor, widest, multiply = HOSTS[host]
    if not runs_here(processor):
        pytest.skip("needs an x86-64 processor")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, multiply],
        env=os.environ | processor.variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["error"] < 1e-5
    assert found["registers"][-1] == widest
    assert found["multiplies"] > 8
    assert not found["libm"]
    assert found["halves"] == [True, True]
