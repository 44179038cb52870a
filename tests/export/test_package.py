"""Exported packages run where gpucodegen is not, and give what the program gives."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors
from gpucodegen.cli import main
from gpucodegen.export import package, support
from tests.export import alone

TEXT = """
memref.global "private" constant @weights : memref<4xf32> = dense<[1.0, 2.0, 3.0, 4.0]>
func.func @matmul(%A: memref<?x?xf32>, %B: memref<?x?xf32>, %C: memref<?x?xf32>) {
  linalg.matmul ins(%A, %B : memref<?x?xf32>, memref<?x?xf32>)
                outs(%C : memref<?x?xf32>)
  return
}
func.func @weighted(%x: tensor<4xf32>, %a: bf16) -> (tensor<4xf32>, f32) {
  %m = memref.get_global @weights : memref<4xf32>
  %w = bufferization.to_tensor %m restrict : memref<4xf32> to tensor<4xf32>
  %y = arith.mulf %x, %w : tensor<4xf32>
  %b = arith.extf %a : bf16 to f32
  return %y, %b : tensor<4xf32>, f32
}
func.func @at(%x: memref<?xi32>, %i: index, %v: i32) {
  memref.store %v, %x[%i] : memref<?xi32>
  return
}
"""
OUTSIDE = """
import numpy as np
import mine

a, b = np.ones((30, 20), "f4"), np.ones((20, 40), "f4")
for m in (30, 7):
    c = np.zeros((m, 40), "f4")
    mine.matmul(a[:m], b, c)
    assert (c == 20).all()
y, z = mine.weighted(np.ones(4, "f4"), 0.5)
assert y.tolist() == [1, 2, 3, 4] and z == 0.5
turned, c = np.arange(600, dtype="f4").reshape(20, 30).T % 7, np.zeros((30, 40), "f4")
mine.matmul(turned, b, c)
mine.matmul(turned, b, c.T.copy().T)
assert (c == turned.copy() @ b).all()
x = np.zeros(3, "i4")
mine.at(x, 1, 7)
assert x.tolist() == [0, 7, 0]
for bad in ((x, 5, 7), (x.astype("f4"), 1, 7), (x, 1)):
    try:
        mine.at(*bad)
    except Exception as problem:
        print(type(problem).__name__)
try:
    mine.matmul(a, b, a)
except Exception as problem:
    print(type(problem).__name__)
"""
REFUSED = [
    "AccessOutOfBounds",
    "WrongDtype",
    "TypeError",
    "OverlappingArguments",
]


def exported(folder: Path, target: str, threads: int | None = None) -> Path:
    program = gcg.compile(TEXT, target=target, threads=threads)
    random = np.random.default_rng(0)
    a, b, c = (random.random(s, "f4") for s in ((30, 20), (20, 40), (30, 40)))
    program.matmul(a, b, c.copy())  # a variant of its own
    examples = {
        "matmul": (a[:9], b, c[:9]),
        "weighted": (random.random(4, "f4"), 1.5),
        "at": (np.zeros(3, np.int32), 1, 7),
    }
    return program.export(folder / "mine", examples=examples)


@pytest.mark.slow
def test_a_package_for_the_cpu_needs_neither_gpucodegen_nor_isl(tmp_path: Path) -> None:
    place = exported(tmp_path, "cpu", threads=1)
    assert alone.run(place, OUTSIDE).split() == REFUSED
    variants = sorted(p.name for p in (place / "mine/functions").glob("matmul_*"))
    assert variants == ["matmul_0", "matmul_1"]
    assert "shape=(30, 20)" in (place / "mine/functions/matmul.py").read_text()


@pytest.mark.slow
def test_its_own_tests_pass_and_see_a_wrong_kernel(tmp_path: Path) -> None:
    place = exported(tmp_path, "cpu")
    assert "6 passed" in alone.run(place)
    (kernel,) = (place / "mine/functions/weighted_0").glob("*_k0.py")
    text = kernel.read_text()
    kernel.write_text(text.replace("mulf", "addf"))
    with pytest.raises(AssertionError, match="value 2"):
        alone.run(place)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::gpucodegen.errors.PossiblyOutOfBounds")
def test_a_package_for_gpus_brings_the_emulated_device(tmp_path: Path) -> None:
    place = exported(tmp_path, "sim")
    assert "6 passed" in alone.run(place, GPUCODEGEN_DEVICE="emulated")
    for kernel in place.rglob("*.ptx"):
        assert ".target sm_90" in kernel.read_text()


@pytest.mark.slow
@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", ["cpu", "cuda"])
def test_all_that_is_imported_at_once_travels_along(kind: str) -> None:
    roots = *package.ROOTS[kind], *package.COMMON
    found = support.modules(roots, package.EXCHANGED[kind], package.LEFT_OUT[kind])
    missing = {
        (name, wanted)
        for name, text in found.items()
        for node in ast.parse(text).body
        if isinstance(node, ast.ImportFrom) and node.module is not None
        for wanted in [node.module]
        if wanted.startswith("gpucodegen") and wanted not in found
    }
    assert missing == set()
    assert not [name for name in found if ".passes" in name or ".dialects" in name]


def test_functions_of_the_caller_do_not_travel(tmp_path: Path) -> None:
    text = "func.func private @f()\nfunc.func @g() { call @f() : () -> () return }"
    program = gcg.compile(text, target="cpu", externals={"f": print})
    with pytest.raises(errors.NotExportable, match="may call f, which are Python"):
        program.export(tmp_path / "mine")


@pytest.mark.parametrize(
    ("name", "reason"),
    [("no-name", "a package of Python"), ("gpucodegen", "package"), ("full", "new")],
)
def test_the_folder_names_the_package(tmp_path: Path, name: str, reason: str) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    program = gcg.compile("func.func @f() { return }", target="cpu")
    with pytest.raises(errors.InvalidOption, match=reason):
        program.export(tmp_path / name)


def test_the_interpreter_has_no_kernels_to_export(tmp_path: Path) -> None:
    program = gcg.compile("func.func @f() { return }", target="interp")
    with pytest.raises(errors.InvalidOption, match="target"):
        program.export(tmp_path / "mine")


@pytest.mark.slow
def test_the_command_exports_with_made_up_calls(tmp_path: Path) -> None:
    file = tmp_path / "text.mlir"
    file.write_text(TEXT)
    place = tmp_path / "mine"
    assert main(["export", str(file), "-o", str(place), "--entry", "matmul"]) == 0
    assert (place / "tests" / "matmul.npz").exists()
    assert "2 passed" in alone.run(place)
