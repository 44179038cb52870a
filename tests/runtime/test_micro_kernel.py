"""The machine code of innermost loops, for this and other processors.

One step of a product's reduction is one multiply-add for each register of the tile, one
load and at most one prefetch for each vector of the panel, one broadcast for each row,
and nothing on the stack.  A select is no branch: nobody predicts conditions on data.
Nothing is run, so that any x86-64 machine can look at the code for any other.
"""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
from typing import Any

import pytest

from gpucodegen.runtime.processor import AVX2, AVX512
from gpucodegen.tiling.machine.register_tiles import (
    VectorUnit,
    choose_register_tile,
)

HOSTS = {"this": {}, "avx2": AVX2.variables, "avx512": AVX512.variables}
EXTENT = 480

PROGRAM = f"""
import json
import numpy as np
import gpucodegen as gcg
from gpucodegen.runtime.processor import cpu

found = {{}}
for element, dtype in (("f32", "f4"), ("f64", "f8")):
    ty = "memref<{EXTENT}x{EXTENT}x" + element + ">"
    program = gcg.compile(
        "func.func @f(%A: " + ty + ", %B: " + ty + ", %C: " + ty + ") {{"
        " linalg.matmul ins(%A, %B : " + ty + ", " + ty + ") outs(%C : " + ty + ")"
        " return }}",
        target="cpu",
        threads=1,
    )
    program.f.bind(*(np.zeros(({EXTENT}, {EXTENT}), dtype) for _ in range(3)))
    (found[element],) = program.assembly("f").values()
unit = cpu().vector_bits, cpu().vector_registers
print(json.dumps([unit, found]))
"""

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="needs an x86-64 processor"
)


def compiled(host: dict[str, str]) -> tuple[tuple[int, int], dict[str, str]]:
    """(bits and number of registers, assembly of each element type)."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=os.environ | host,
        capture_output=True,
        text=True,
        check=True,
    )
    unit, found = json.loads(done.stdout)
    return tuple(unit), found


def innermost_loop(assembly: str) -> list[str]:
    """The instructions of the loop with the most multiply-adds."""
    loops = re.findall(
        r"^(\.L\w+):\n((?:\t.*\n)*?\tj\w+\t\1\n)", assembly, re.MULTILINE
    )
    return max((body.splitlines() for _, body in loops), key=multiply_adds)


def multiply_adds(instructions: list[str]) -> int:
    return sum("vfmadd" in line for line in instructions)


@pytest.mark.slow
@pytest.mark.figures
@pytest.mark.parametrize("name", HOSTS)
def test_a_step_is_multiply_adds_loads_and_broadcasts(name: str) -> None:
    (bits, registers), assemblies = compiled(HOSTS[name])
    if bits < 256:
        pytest.skip("no fused multiply-add")
    letter = {256: "y", 512: "z"}[bits]
    for element, assembly in assemblies.items():
        width = int(element[1:])
        unit = VectorUnit(bits, registers)
        tile = choose_register_tile(EXTENT, EXTENT, width, unit)
        vectors = tile.columns * width // bits
        body = innermost_loop(assembly)
        count = multiply_adds(body)
        steps, odd = divmod(count, tile.rows * vectors)
        assert steps >= 1, element
        assert not odd, element
        assert set(re.findall(r"%([xyz])mm", "\n".join(body))) == {letter}
        fetched = [line for line in body if "prefetch" in line]
        assert len(fetched) <= steps * vectors
        in_memory = [line for line in body if "(" in line and line not in fetched]
        assert not [line for line in in_memory if "(%rsp" in line]
        assert len(in_memory) == steps * (tile.rows + vectors)
        assert len(body) - count - len(in_memory) - len(fetched) <= 4


@pytest.mark.slow
@pytest.mark.figures
def test_a_select_is_no_branch() -> None:
    import numpy as np

    import gpucodegen as gcg

    @gcg.jit(target="cpu", threads=1)
    def checksum(data: Any, polynomial: int) -> int:
        crc = 65535
        for byte in data:
            for _ in range(8):
                if (crc & 1) ^ (byte & 1):
                    crc = (crc >> 1) ^ polynomial
                else:
                    crc >>= 1
                byte >>= 1  # noqa: PLW2901
        return crc

    data = np.zeros(8, "u1")
    checksum(data, 33_800)
    program = checksum.program(data, 33_800)
    (assembly,) = program.assembly("checksum").values()
    (first, *_) = assembly.split(".Lfunc_end0")
    jumps = re.findall(r"^\tj\w+", first, re.MULTILINE)
    assert len(jumps) <= 6, first
