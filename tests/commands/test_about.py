"""``passes``, ``doctor``, ``cache``, ``run`` and ``repro`` on the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gpucodegen as gcg
from examples.catalogue import FOLDER
from gpucodegen.cli import main
from gpucodegen.passes.framework.pipeline_text import PASSES

MATMUL = str(FOLDER / "matmul.mlir")


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(words) == 0
    return capsys.readouterr().out


def test_every_pass_is_listed_with_what_it_does(
    capsys: pytest.CaptureFixture[str],
) -> None:
    records = json.loads(printed(capsys, "passes", "--json"))
    assert [one["name"] for one in records] == sorted(PASSES)
    assert [one["name"] for one in records if not one["does"]] == []
    lines = printed(capsys, "passes").splitlines()
    assert "    sizes=[32,32]: tuple[int | str, ...]" in lines


def test_one_pass_is_told_in_full(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, "passes", "tile")
    assert text.startswith("tile: Tile a nest")
    assert "``separate`` gives full tiles loops of their own" in text
    assert main(["passes", "tilr"]) == 1
    assert "Did you mean 'tile'" in capsys.readouterr().err


def test_doctor_and_cache_as_records(capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(printed(capsys, "doctor", "--json"))
    assert found["packages"]["gpucodegen"] == gcg.__version__
    assert {"cpu", "sim", "interp"} <= set(found["targets"])
    cache = json.loads(printed(capsys, "cache", "--json"))
    assert cache["folder"] == found["cache"]["folder"]


def test_run_tells_which_arrays_changed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [str(tmp_path / f"{name}.npy") for name in "abc"]
    for file, value in zip(files, (2, 3, 0), strict=True):
        np.save(file, np.full((4, 4), value, np.float32))
    assert main(["run", MATMUL, *files, "--target", "interp"]) == 0
    told = capsys.readouterr().err.splitlines()
    last = "C: 16 of 16 numbers changed, by at most 24"
    assert told == ["A: unchanged", "B: unchanged", last]


def test_arguments_may_follow_options(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "f.mlir"
    file.write_text(
        "func.func @f(%a: i32, %b: i32, %c: i32) -> (i32, i32, i32) {"
        " return %a, %b, %c : i32, i32, i32 }"
    )
    words = ["run", str(file), "1", "--target", "interp", "2", "-3"]
    assert printed(capsys, *words).split() == ["1", "2", "-3"]
    with pytest.raises(SystemExit, match="2"):
        main([*words, "--sanitise"])
    assert "unrecognized arguments: 2 -3 --sanitise" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main(["emit", str(file), "another.mlir"])


@pytest.mark.slow
def test_repro_is_a_script_that_runs(tmp_path: Path) -> None:
    script = tmp_path / "repro.py"
    command = ["repro", MATMUL, "--sizes", "4", "--target", "interp"]
    assert main([*command, "-o", str(script)]) == 0
    words = [sys.executable, str(script)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("matmul on target 'interp': 48 numbers agree")
    assert f"gpucodegen {gcg.__version__}" in script.read_text()


@pytest.mark.slow
def test_repro_shows_what_does_not_parse(tmp_path: Path) -> None:
    file, script = tmp_path / "bad.mlir", tmp_path / "repro.py"
    file.write_text("func.func @f( { return }")
    assert main(["repro", str(file), "-o", str(script)]) == 0
    words = [sys.executable, str(script)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode
    assert "error: expected a type" in done.stderr


def test_a_shell_completes_commands_and_options(
    capsys: pytest.CaptureFixture[str],
) -> None:
    script = printed(capsys, "completion", "bash")
    asked = """
    COMP_WORDS=(gpucodegen ex) COMP_CWORD=1; _gpucodegen; echo "${COMPREPLY[@]}"
    COMP_WORDS=(gpucodegen emit --ta) COMP_CWORD=2; _gpucodegen; echo "${COMPREPLY[@]}"
    COMP_WORDS=(gpucodegen emit fi) COMP_CWORD=2; _gpucodegen; echo "${COMPREPLY[@]}"
    """
    words = ["bash", "-c", script + asked]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["explain export", "--target", ""]
