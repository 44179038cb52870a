"""Kernels as files: their parameters, and the launches of a call."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen.cli import main
from gpucodegen.export import ptx
from gpucodegen.ptx import Memory, Module

STEPS = """
func.func @steps(%a: memref<?xf32>, %s: f32, %n: index) {
  %c0 = arith.constant 0 : index
  %m = memref.dim %a, %c0 : memref<?xf32>
  affine.for %t = 0 to %n { affine.for %i = 0 to %m {
    %v = affine.load %a[%i] : memref<?xf32>
    %w = arith.mulf %v, %s : f32
    affine.store %w, %a[%i] : memref<?xf32>
  } }
  return
}
"""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    program = gcg.compile(STEPS, target="sim")
    arguments = np.ones(1000, np.float32), 2.0, 3
    ptx.write(tmp_path, "steps", program.steps, arguments, "ptx")
    return tmp_path


def test_what_the_description_says_runs_the_program(files: Path) -> None:
    """Another runtime launches the kernels from the description alone."""
    said = json.loads((files / "steps.json").read_text())
    (kernel,) = said["kernels"]
    memory = Memory()
    place = memory.allocate(4000)
    memory.bytes(place, 4000).view(np.float32)[:] = 1
    module = Module((files / kernel["file"]).read_text())
    kinds = {"pointer": "u8", "f32": "f4", "i32": "i4"}
    for launch in said["launches"]:
        packed = bytearray(64)
        words = zip(kernel["parameters"], launch["arguments"], strict=True)
        for parameter, value in words:
            kind = kinds.get(parameter["kind"]) or kinds[parameter["type"]]
            data = np.array(place if value == "a" else value).astype(kind).tobytes()
            at = parameter["offset"]
            packed[at : at + len(data)] = data
        form = launch["grid"], launch["block"], bytes(packed)
        module.launch(kernel["entry"], *form, memory)
    result = memory.bytes(place, 4000).view(np.float32)
    np.testing.assert_array_equal(result, np.full(1000, 8, np.float32))


def test_the_command_writes_them(tmp_path: Path) -> None:
    file = tmp_path / "steps.mlir"
    file.write_text(STEPS)
    words = ["export", str(file), "-o", str(tmp_path / "out"), "--ptx", "--sizes", "8"]
    assert main(words) == 0
    names = sorted(path.suffix for path in (tmp_path / "out").iterdir())
    assert names[0] == ".json"
    assert set(names[1:]) == {".ptx"}
