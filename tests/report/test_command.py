"""``gpucodegen explain`` on the command line."""

from __future__ import annotations

import io
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from examples.catalogue import FOLDER
from gpucodegen.cli import main
from tests.report.report_nests import DIAGONAL, SEIDEL, SWEEP

MATMUL = str(FOLDER / "matmul.mlir")


@pytest.mark.slow
def test_text_of_one_target(capsys: pytest.CaptureFixture[str]):
    assert main(["explain", MATMUL, "--target", "cuda", "--sizes", "64"]) == 0
    out, err = capsys.readouterr()
    assert f"{MATMUL}:10:3: affine.for %i = 0 to %M" in out
    assert "on cuda" in out
    assert "on cpu" not in out
    assert err == ""


def test_standard_input_to_a_picture(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr("sys.stdin", io.StringIO(DIAGONAL))
    assert main(["explain", "-", "--svg", "--sizes", "N=5", "--tiles", "2,2"]) == 0
    root = ET.fromstring(capsys.readouterr().out)
    assert root.tag.endswith("svg")


def test_nests_after_passes(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = tmp_path / "relax.mlir"
    file.write_text(SEIDEL, encoding="utf-8")
    command = ["explain", str(file), "--target", "cpu"]
    assert main(command) == 0
    before = capsys.readouterr().out
    assert main([*command, "-p", "skew"]) == 0
    after = capsys.readouterr().out
    assert "ends there: a dependence points backward along loop i" in before
    assert "(t, i) permutable" in after
    assert main([*command, "-p", "tile{sizes=[4,4]}"]) == 1
    assert "tiling the loops (t, i) is not legal" in capsys.readouterr().err


@pytest.mark.slow
def test_a_page_in_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    target = tmp_path / "page.html"
    assert main(["explain", MATMUL, "--html", "-o", str(target)]) == 0
    assert capsys.readouterr().out == ""
    assert target.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_chunks_stand_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = tmp_path / "both.mlir"
    file.write_text(
        f"{DIAGONAL}\n// -----\nfunc @\n// -----\n{SWEEP}", encoding="utf-8"
    )
    status = main(["explain", str(file), "--split-input-file", "--target", "cpu"])
    out, err = capsys.readouterr()
    assert status == 1
    assert out.index("@diagonal") < out.index("// -----") < out.index("@sweep")
    assert ": error: " in err


def test_one_refused_function_does_not_cost_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    file = tmp_path / "two.mlir"
    freed = """func.func @freed(%x: f32) {
  %m = memref.alloc() : memref<f32>
  memref.dealloc %m : memref<f32>
  memref.store %x, %m[] : memref<f32>
  return
}
"""
    file.write_text(freed + SWEEP, encoding="utf-8")
    assert main(["explain", str(file), "--target", "cpu"]) == 1
    out, err = capsys.readouterr()
    assert "@sweep\n  nest 0" in out
    assert "@freed\n  refused: 'memref.store' uses" in out
    assert f"{file}:4:" in err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--function", "lu"], "no function 'lu'. Known functions: matmul"),
        (["--sizes", "Q=3"], "option sizes='Q=3' is not valid"),
        (["--svg", "--nest", "4"], "there is no picture of nest 4"),
        (["--svg", "--loops", "a,b"], "Choose one of: j,k, i,k, i,j"),
        (["--svg", "--tiles", "x"], "option tiles=(-1,) is not valid"),
        pytest.param(
            ["-o", "/no/such/folder/x"],
            "/no/such/folder/x: error: No such file",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_refusals(options: list[str], message: str, capsys: pytest.CaptureFixture[str]):
    assert main(["explain", MATMUL, "--target", "cuda", *options]) == 1
    assert message in capsys.readouterr().err
