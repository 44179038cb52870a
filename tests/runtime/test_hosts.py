"""Kernels for processors older than this one: their registers, and no calls.

Numba compiles for the processor that its environment names, so each host is a process
of its own; an older x86 runs on any newer one.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys

import pytest

HOSTS = {
    "sse2": ("x86-64", "+sse2,+sse,+cx8,+fxsr,+mmx,+x87", "xmm", r"\bmulps\b"),
    "avx": ("sandybridge", "+avx,+sse4.2,+popcnt,+sse2", "ymm", r"\bvmulps\b"),
    "avx2": (
        "haswell",
        "+avx,+avx2,+fma,+bmi,+bmi2,+f16c,+sse4.2,+popcnt,+lzcnt,+movbe",
        "ymm",
        r"\bvfmadd\d+ps\b",
    ),
}
"""Name: LLVM's processor and features, widest registers, what multiplies."""

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
'''
rng = np.random.default_rng(0)
a, b = rng.random((37, 29), "f4"), rng.random((29, 45), "f4")
c = np.zeros((37, 45), "f4")
program = gcg.compile(text, target="cpu", threads=1)
program.matmul(a, b, c)
(assembly,) = program.assembly("matmul").values()
print(json.dumps({
    "error": float(abs(c - a.astype("f8") @ b.astype("f8")).max()),
    "registers": sorted(set(re.findall(r"%([xyz]mm)", assembly))),
    "multiplies": len(re.findall(sys.argv[1], assembly)),
    "libm": re.findall(r"\\bfmaf?\\b", assembly),
}))
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="needs an x86-64 processor")
@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.sampled(2)
def test_matmul_for_a_host(host: str) -> None:
    processor, features, widest, multiply = HOSTS[host]
    named = {"NUMBA_CPU_NAME": processor, "NUMBA_CPU_FEATURES": features}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, multiply],
        env=os.environ | named,
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout)
    assert found["error"] < 1e-5
    assert found["registers"][-1] == widest
    assert found["multiplies"] > 8
    assert not found["libm"]
