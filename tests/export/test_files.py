"""Kernels as files: their parameters, and the launches of a call."""

from __future__ import annotations

import ctypes
import json
import shutil
import subprocess
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen.cli import main
from gpucodegen.export import files as kernel_files
from gpucodegen.ptx import Memory, Module
from gpucodegen.runtime.cpu import object_file
from gpucodegen.runtime.storage.machine_code import machine

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
    kernel_files.write(tmp_path, "steps", program.steps, arguments, "ptx")
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


C = """
#include <stdio.h>
#include "scaled.h"
int main(void) {
  float a[10];
  for (int i = 0; i < 10; ++i) a[i] = (float)i;
  int32_t status = scaled_k0(a, 2.5f, 10);
  for (int i = 0; i < 10; ++i) printf("%g ", a[i]);
  return status;
}
"""
SCALED = """
func.func @scaled(%a: memref<?xf32>, %s: f32) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %a, %c0 : memref<?xf32>
  affine.for %i = 0 to %n {
    %v = affine.load %a[%i] : memref<?xf32>
    %w = arith.mulf %v, %s : f32
    affine.store %w, %a[%i] : memref<?xf32>
  }
  return
}
"""


def test_objects_are_called_without_python(tmp_path: Path) -> None:
    program = gcg.compile(SCALED, target="cpu", specialize=False)
    arguments = np.ones(8, np.float32), 3.0
    kernel_files.write(tmp_path, "scaled", program.scaled, arguments, "o")
    header = (tmp_path / "scaled.h").read_text()
    assert "int32_t scaled_k0(float *a," in header
    assert arguments[0].tolist() == [3.0] * 8  # its launches are those of a call
    declared = "int32_t scaled_k0(float *a, float s, int64_t a_dim0);"
    assert declared in header
    assert called(tmp_path / "scaled_k0.o") == [2.5 * n for n in range(10)]
    if shutil.which("cc"):
        (tmp_path / "main.c").write_text(C)
        words = ["cc", "main.c", "scaled_k0.o", "-o", "main", "-lm"]
        subprocess.run(words, cwd=tmp_path, check=True)
        done = subprocess.run(["./main"], cwd=tmp_path, capture_output=True, check=True)
        assert done.stdout.split() == [f"{2.5 * n:g}".encode() for n in range(10)]


def called(file: Path) -> list[float]:
    """The numbers 0 to 9 after a call that LLVM's linker makes possible."""
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine())
    engine.add_object_file(str(file))
    engine.finalize_object()
    kinds = ctypes.c_void_p, ctypes.c_float, ctypes.c_int64
    place = engine.get_function_address("scaled_k0")
    array = np.arange(10, dtype=np.float32)
    status = ctypes.CFUNCTYPE(ctypes.c_int32, *kinds)(place)(array.ctypes.data, 2.5, 10)
    assert status == 0
    return array.tolist()


def test_what_c_lacks_is_found() -> None:
    text = "declare float @expf(float)\ndeclare void @NRT_incref(ptr)"
    assert object_file._unknown(llvm.parse_assembly(text)) == ["NRT_incref"]


@pytest.mark.slow
def test_complex_numbers_are_two_arguments(tmp_path: Path) -> None:
    text = SCALED.replace("f32", "complex<f32>").replace("arith.mulf", "complex.mul")
    program = gcg.compile(text, target="cpu", specialize=False)
    arguments = np.ones(8, np.complex64), 3.0
    kernel_files.write(tmp_path, "scaled", program.scaled, arguments, "o")
    declared = "(float *a, float s_real, float s_imag, int64_t a_dim0)"
    assert declared in (tmp_path / "scaled.h").read_text()


def test_the_command_writes_them(tmp_path: Path) -> None:
    file = tmp_path / "steps.mlir"
    file.write_text(STEPS)
    words = ["export", str(file), "-o", str(tmp_path / "out"), "--ptx", "--sizes", "8"]
    assert main(words) == 0
    names = sorted(path.suffix for path in (tmp_path / "out").iterdir())
    assert names[0] == ".json"
    assert set(names[1:]) == {".ptx"}
