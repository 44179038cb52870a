"""A matrix product's innermost loop on ARM, from the LLVM IR of an x86-64 machine.

Kernels for 32 registers of 128 bits with multiply-adds are what ARM gets; their IR has
nothing of x86 but its name, and LLVM makes code of it for any processor.
"""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
from pathlib import Path

import llvmlite.binding as llvm
import pytest

from gpucodegen.tiling.machine.register_tiles import (
    VectorUnit,
    choose_register_tile,
)

EXTENT = 480
PROGRAM = f"""
import json
import numpy as np
import gpucodegen as gcg
from gpucodegen.runtime.cpu import kernels as stored_kernels

made = []
stored_kernels.keep = lambda _, code: made.append(code.library.get_llvm_str())
for element, dtype in (("f32", "f4"), ("f64", "f8")):
    ty = "memref<{EXTENT}x{EXTENT}x" + element + ">"
    text = (
        "func.func @f(%A: " + ty + ", %B: " + ty + ", %C: " + ty + ") {{"
        " linalg.matmul ins(%A, %B : " + ty + ", " + ty + ") outs(%C : " + ty + ")"
        " return }}"
    )
    program = gcg.compile(text, target="cpu", threads=1)
    program.f(*(np.zeros(({EXTENT}, {EXTENT}), dtype) for _ in range(3)))
print(json.dumps(made))
"""
HOST = {"NUMBA_CPU_NAME": "x86-64", "NUMBA_CPU_FEATURES": "+neon,+sse2,+sse,+cx8"}
OF_X86 = r'target (?:triple|datalayout) = .*\n|"target-(?:cpu|features)"="[^"]*"'
LOOP = re.compile(r"^(\.LBB\w+):.*\n((?:\t.*\n)*?\tb\.\w+\t\1\n)", re.MULTILINE)


def for_arm(ir: str) -> str:
    """The assembly of LLVM IR for a processor with NEON."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    module = llvm.parse_assembly(re.sub(OF_X86, "", ir))
    module.triple = "aarch64-linux-gnu"
    target = llvm.Target.from_triple(module.triple)
    machine = target.create_target_machine(cpu="neoverse-n1", opt=3)
    return str(machine.emit_assembly(module))


@pytest.mark.slow
@pytest.mark.skipif(platform.machine() != "x86_64", reason="needs an x86-64 processor")
def test_a_step_on_arm_is_multiply_adds_without_spills(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=os.environ | HOST | {"GPUCODEGEN_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    made = json.loads(done.stdout)
    for width, shape, ir in zip((32, 64), ("4s", "2d"), made, strict=True):
        assembly = for_arm(ir)
        loops = [body for _, body in LOOP.findall(assembly)]
        body = max(loops, key=lambda text: text.count("\tfmla\t"))
        tile = choose_register_tile(EXTENT, EXTENT, width, VectorUnit(128, 32))
        products = tile.rows * tile.columns * width // 128
        steps, odd = divmod(len(re.findall(rf"\tfmla\tv\d+\.{shape},", body)), products)
        assert steps >= 1, body
        assert not odd, body
        assert "[sp" not in body
        assert not re.findall(r"\tmov\tv", body)
        assert not re.findall(r"\tbl\tfmaf?\n", assembly)
