"""Every command and every snippet of README and the documentation runs, or parses.

Doctests run what has a prompt (`test_doctests`). What has none runs here, where
arrays and files are given that a reader has.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from examples.catalogue import FOLDER
from gpucodegen import cli
from tests.house.blocks import PLAIN, SHELLS, Block, blocks, inline_commands

ELSEWHERE = {
    "CONTRIBUTING.md": "README's command, and `test_site` for the site",
    "README.md": "`test_readme`",
    "how-a-nest-becomes-a-grid.md": "tests/report/test_guides.py",
    "offload-to-a-gpu.md": "tests/report/test_guides.py",
    "performance.md": "takes hours or a GPU; `test_bench` and `test_bench_gpu`",
    "transformations.md": "tests/passes/test_pages.py",
    "tuning.md": "tests/report/test_guides.py",
}
"""Who runs the commands of pages that are not run here."""
COMMANDS = [b for b in blocks() if b.kind in SHELLS and b.page not in ELSEWHERE]
SNIPPETS = [b for b in blocks() if b.kind in PLAIN]
MATMUL = FOLDER / "matmul.mlir"
PROGRAM = f"""
import gpucodegen as gcg, numpy as np
a, b, c = (np.ones((4, 4), "f4") for _ in range(3))
gcg.compile(open({str(MATMUL)!r}).read(), target="cpu").matmul(a, b, c)
"""
DENSE = """func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  %y = arith.addf %x, %x : tensor<8xf32>
  return %y : tensor<8xf32>
}
"""

COPY = """func.func @copy(%a: memref<4x4xf32>, %b: memref<4x4xf32>) {
  memref.copy %a, %b : memref<4x4xf32> to memref<4x4xf32>
  return
}
"""
SUMS = """func.func @f(%x: memref<?x?xf32>, %y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %N = memref.dim %x, %c0 : memref<?x?xf32>
  %M = memref.dim %x, %c1 : memref<?x?xf32>
  affine.for %i = 0 to %N {
    affine.for %j = 0 to %M {
      %v = affine.load %x[%i, %j] : memref<?x?xf32>
      %s = affine.load %y[%i] : memref<?xf32>
      %t = arith.addf %s, %v : f32
      affine.store %t, %y[%i] : memref<?xf32>
    }
  }
  return
}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What a reader has there: programs, and arrays in files."""
    (tmp_path / "examples").symlink_to(FOLDER)
    (tmp_path / "matmul.mlir").write_text(MATMUL.read_text("utf-8"))
    (tmp_path / "kernel.mlir").write_text(DENSE)
    (tmp_path / "program.mlir").write_text(SUMS)
    (tmp_path / "copy.mlir").write_text(COPY)
    (tmp_path / "program.py").write_text(PROGRAM)
    for name in "ABCabc":
        np.save(tmp_path / f"{name}.npy", np.ones((4, 4), "f4"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("block", COMMANDS, ids=str)
def test_commands_run(block: Block, folder: Path) -> None:
    script = block.body.replace("$ ", "").replace("FILE ", "copy.mlir ")
    bin_folder = str(Path(sys.executable).parent)
    done = subprocess.run(
        ["bash", "-euc", script],
        cwd=folder,
        env=os.environ | {"PATH": os.pathsep.join([bin_folder, os.environ["PATH"]])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_an_array_that_the_guide_runs_on_is_changed(folder: Path) -> None:
    """The first command of the page on the emulated device, and what it promises."""
    first = next(b for b in COMMANDS if b.page == "cuda-without-a-gpu.md")
    assert cli.main(shlex.split(first.body)[1:]) == 0
    changed = np.load(folder / "after" / "arg2.npy")
    np.testing.assert_array_equal(changed, np.full((4, 4), 5, "f4"))


def arrays() -> dict[str, Any]:
    a, b, c = (np.ones((4, 4), "f4") for _ in range(3))
    return {"gcg": gcg, "np": np, "Path": Path, "a": a, "b": b, "c": c}


def of_readme() -> dict[str, Any]:
    return {"gcg": gcg}


def of_settings() -> dict[str, Any]:
    return arrays() | {"program": gcg.compile(MATMUL, target="cpu")}


def of_export() -> dict[str, Any]:
    small = {f"small_{name}": np.ones((4, 4), "f4") for name in "abc"}
    return arrays() | small


def of_frameworks() -> dict[str, Any]:
    torch = pytest.importorskip("torch")

    def backward(given: Any, result: Any, gradient: Any) -> Any:
        del result
        a, b = given
        return gradient @ b.T, a.T @ gradient

    text = """func.func @matmul(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>,
        %c: tensor<?x?xf32>) -> tensor<?x?xf32> {
      %d = linalg.matmul ins(%a, %b : tensor<?x?xf32>, tensor<?x?xf32>)
                         outs(%c : tensor<?x?xf32>) -> tensor<?x?xf32>
      return %d : tensor<?x?xf32>
    }"""
    program = gcg.compile(text, target="cpu")
    return arrays() | {"torch": torch, "program": program, "backward": backward}


def of_text_of_others() -> dict[str, Any]:
    pytest.importorskip("jax")
    return {}


GIVEN: Mapping[str, Callable[[], dict[str, Any]]] = {
    "README.md": of_readme,
    "export.md": of_export,
    "frameworks.md": of_frameworks,
    "settings.md": of_settings,
    "text-of-others.md": of_text_of_others,
}


def snippet(block: Block) -> Any:
    marks = [pytest.mark.frameworks] * (block.page == "frameworks.md")
    marks += [pytest.mark.slow] * (block.page == "export.md")
    return pytest.param(block, marks=marks, id=str(block))


@pytest.mark.parametrize("block", [snippet(block) for block in SNIPPETS])
@pytest.mark.usefixtures("folder")
def test_snippets_run(block: Block) -> None:
    names = GIVEN[block.page]()
    file = Path("snippet.py")  # where `gcg.jit` finds the source
    file.write_text(block.body, "utf-8")
    exec(compile(block.body, str(file.absolute()), "exec"), names)
    CHECKS.get(block.page, lambda _: None)(names)


def check_export(names: dict[str, Any]) -> None:
    np.testing.assert_array_equal(names["c"], np.full((4, 4), 5, "f4"))
    assert Path("my_kernels", "my_kernels", "__init__.py").exists()


def check_readme(names: dict[str, Any]) -> None:
    if "scale" in names:
        x = np.arange(4.0)
        names["scale"](x, 10)
        np.testing.assert_array_equal(x, np.arange(4.0) * 10)


def check_text_of_others(names: dict[str, Any]) -> None:
    np.testing.assert_array_equal(names["y"], np.full((64, 16), 33, "f4"))


CHECKS: Mapping[str, Callable[[dict[str, Any]], None]] = {
    "README.md": check_readme,
    "export.md": check_export,
    "text-of-others.md": check_text_of_others,
}


def test_someone_runs_every_block() -> None:
    shown = {block.page for block in blocks() if block.kind in SHELLS}
    assert {*ELSEWHERE} <= shown
    assert {block.page for block in SNIPPETS} == {*GIVEN}


@pytest.mark.cases(
    ("page", "command"), [(p.name, c) for p, c in dict.fromkeys(inline_commands())]
)
def test_commands_in_the_prose_have_such_options(
    page: str, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """They may leave out what a reader knows, such as the file."""
    words = [word for word in shlex.split(command, comments=True)[1:] if word != "..."]
    parsers = cli.parsers()
    assert words[0] in parsers, page
    problem = ""
    try:
        parsers[words[0]].parse_args(words[1:])
    except SystemExit as end:
        problem = capsys.readouterr().err if end.code else ""
    is_short = "are required" in problem or "expected one argument" in problem
    assert not problem or is_short, problem
