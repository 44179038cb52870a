"""What each level tells, and what a trace holds."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors
from gpucodegen.cli import main
from gpucodegen.debugging.levels import VARIABLES, current
from gpucodegen.passes.framework.base import ModulePass, run_pipeline
from gpucodegen.passes.prepare.tosa.convert import TosaToLinalg

TWICE = """
func.func @twice(%a: memref<8xf32>) {
  affine.for %i = 0 to 8 {
    %v = affine.load %a[%i] : memref<8xf32>
    %w = arith.addf %v, %v : f32
    affine.store %w, %a[%i] : memref<8xf32>
  }
  return
}
"""


def told(capsys: pytest.CaptureFixture[str], level: int) -> str:
    with gcg.debug(level):
        gcg.compile(gcg.parse(TWICE), target="cpu").twice(np.ones(8, np.float32))
    return capsys.readouterr().err


def test_each_level_tells_more(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, 0) == ""
    one = told(capsys, 1)
    assert "twice for cpu: passes run" in one
    assert "kernel twice_k0: from disk" in one
    assert "share" not in one
    two = told(capsys, 2)
    assert "ms  share  times  what" in two
    assert "\npass canonicalize\n" not in two
    assert "\npass canonicalize\n" in told(capsys, 3)
    assert "def twice_k0(" in told(capsys, 4)
    assert "// after canonicalize\n" in told(capsys, 5)


def test_the_environment_says_it_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(VARIABLES["level"], "1")
    gcg.compile(gcg.parse(TWICE), target="cpu").source("twice")
    assert "twice for cpu" in capsys.readouterr().err
    with gcg.debug(0):
        assert current().level == 0
    monkeypatch.setenv(VARIABLES["level"], "loud")
    with pytest.raises(errors.InvalidOption, match="GPUCODEGEN_DEBUG"):
        current()
    with pytest.raises(errors.InvalidOption, match="0 to 5"), gcg.debug(6):
        pass


def test_a_trace_has_every_pass_inside_its_function(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, file = tmp_path / "text.mlir", tmp_path / "times.json"
    text.write_text(TWICE)
    assert main(["emit", str(text), "--trace", str(file)]) == 0
    events = json.loads(file.read_text())["traceEvents"]
    (whole,) = (one for one in events if one["name"] == "twice for cpu")
    passes = [one for one in events if one["cat"] == "pass"]
    stages = gcg.compile(gcg.parse(TWICE), target="cpu").stages("twice")
    assert [one["name"] for one in passes] == [name for name, _ in stages[1:]]
    for one in passes:
        assert whole["ts"] <= one["ts"]
        assert one["ts"] + one["dur"] <= whole["ts"] + whole["dur"]
    assert capsys.readouterr().err == ""


class Failing(ModulePass):
    name = "failing"

    def apply(self, module: gcg.Module) -> gcg.Module:
        assert module.functions
        raise errors.Unproven(claim="it works", reason="it is a test")


def test_what_a_pass_failed_on_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    module = gcg.parse(TWICE)
    with pytest.raises(errors.Error):
        run_pipeline(module, [Failing()])
    assert capsys.readouterr().err == ""
    with pytest.raises(errors.Error), gcg.debug(print_ir_before_failure=True):
        run_pipeline(module, [Failing()])
    shown = capsys.readouterr().err
    assert shown == f"// before failing, which failed\n{module}\n"


def test_a_pass_that_is_left_out_is_shown_by_its_name_only(
    capsys: pytest.CaptureFixture[str],
) -> None:
    module = gcg.parse(TWICE)
    passes = [TosaToLinalg()]
    with gcg.debug(print_ir_after="tosa-to-linalg"):
        run_pipeline(module, passes)
    assert capsys.readouterr().err == f"// tosa-to-linalg was left out\n{module}\n"
    with gcg.debug(print_ir_after="all"):
        run_pipeline(module, passes)
    assert capsys.readouterr().err == ""


def test_one_pass_of_opt_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = tmp_path / "text.mlir"
    text.write_text(TWICE)
    words = ["opt", str(text), "-p", "canonicalize,tile{sizes=[4]}"]
    assert main([*words, "--print-ir-after", "tile"]) == 0
    shown = capsys.readouterr().err
    assert shown.startswith("// after tile\nmodule {")
    assert "canonicalize" not in shown
