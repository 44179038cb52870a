"""``--json``: one document on standard output, with the keys that docs/settings.md has.

Whatever else there is to say goes to standard error.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from examples.catalogue import FOLDER
from gpucodegen.cli import main, parsers
from tests.house.readme import ROOT

MATMUL = str(FOLDER / "matmul.mlir")
DMA = str(FOLDER / "dma_matmul.mlir")
PAGE = (ROOT / "docs" / "settings.md").read_text("utf-8")
SAYS = """
func.func @says(%A: memref<4xf32>, %n: index) -> (f32, i64, tensor<3xf64>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %nan = arith.divf %zero, %zero : f32
  %big = arith.constant 9223372036854775807 : i64
  %t = arith.constant dense<[1.0, 0x7FF0000000000000, -0.5]> : tensor<3xf64>
  %x = memref.load %A[%c0] : memref<4xf32>
  vector.print %x : f32
  memref.store %nan, %A[%c0] : memref<4xf32>
  return %nan, %big, %t : f32, i64, tensor<3xf64>
}
"""


def strict(text: str) -> Any:
    """JSON as its standard has it, without NaN and infinities."""

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    return json.loads(text, parse_constant=refuse)


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    for name in "abc":
        np.save(tmp_path / f"{name}.npy", np.ones((4, 4), np.float32))
    return [str(tmp_path / f"{name}.npy") for name in "abc"]


def documented() -> dict[str, list[str]]:
    rows = re.findall(r"^\| `(\w[\w ]*) --json` \| (.*?) \|", PAGE, re.MULTILINE)
    return {command: re.findall(r"`(\w+)`", keys) for command, keys in rows}


def commands(folder: Path, files: list[str]) -> dict[str, list[str]]:
    return {
        "run": ["run", MATMUL, *files, "--target", "interp"],
        "explain": ["explain", MATMUL, "--target", "cpu"],
        "report": ["report", MATMUL, "--sizes", "32"],
        "check": ["check", MATMUL, "--sizes", "3"],
        "emit": ["emit", MATMUL],
        "export": ["export", MATMUL, "-o", str(folder / "made"), "--sizes", "4"],
        "tune": ["tune", MATMUL, "--sizes", "16", "--trials", "1"],
        "tune show": ["tune", "show"],
        "cache": ["cache"],
        "cache clear": ["cache", "clear"],
        "passes": ["passes"],
        "doctor": ["doctor"],
    }


def test_the_page_lists_the_commands_that_have_the_option() -> None:
    with_option = {
        name
        for name, parser in parsers().items()
        if "--json" in parser.format_help() and name != "bench"
    }
    assert {command.split()[0] for command in documented()} == with_option


@pytest.mark.sampled(3)
@pytest.mark.parametrize("command", [*commands(Path(), [])])
def test_the_keys_are_those_of_the_page(
    command: str, files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*commands(tmp_path, files)[command], "--json"]) == 0
    found = strict(capsys.readouterr().out)
    record = found[0] if isinstance(found, list) else found
    assert list(record) == documented()[command]


def test_results_and_changes_of_a_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "says.mlir").write_text(SAYS)
    np.save(tmp_path / "a.npy", np.full(4, 2.5, np.float32))
    words = ["run", f"{tmp_path}/says.mlir", f"{tmp_path}/a.npy", "3", "--json"]
    assert main([*words, "--target", "interp"]) == 0
    out, err = capsys.readouterr()
    assert strict(out) == {
        "function": "says",
        "target": "interp",
        "arguments": {"A": {"changed": 1, "of": 4, "by": "NaN"}, "n": None},
        "results": ["NaN", 9223372036854775807, [1.0, "Infinity", -0.5]],
    }
    assert err.splitlines() == ["2.5", "A: 1 of 4 numbers changed, by at most nan"]


@pytest.mark.slow
def test_a_loop_says_why_it_is_not_parallel(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["explain", MATMUL, "--json", "--target", "cuda"]) == 0
    record = strict(capsys.readouterr().out)
    (function,) = record["functions"]
    (nest,) = function["nests"]
    assert [loop["kind"] for loop in nest["loops"]] == ["parallel"] * 2 + ["reduction"]
    why = nest["loops"][2]["because"]
    assert why["array"] == "C"
    assert why["distance"] == [[0, 0], [0, 0], [1, None]]
    assert why["source"]["file"] == MATMUL
    assert nest["contractions"][0]["loops"]["k"] == ["k"]
    (mapping,) = function["mappings"]
    (kernel,) = mapping["kernels"]
    assert kernel["free_of_races"]


@pytest.mark.slow
def test_text_and_record_agree(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["explain", MATMUL, "--target", "cpu", "--sizes", "64"]
    assert main([*words, "--json"]) == 0
    (function,) = strict(capsys.readouterr().out)["functions"]
    assert main(words) == 0
    text = capsys.readouterr().out
    (nest,) = function["nests"]
    for loop in nest["loops"]:
        assert f"{loop['name']}: {loop['kind']}" in text
    assert nest["loops"][2]["because"]["witness"] in text
    for found in nest["footprint"]:
        assert " x ".join(map(str, found["extents"])) in text


@pytest.mark.slow
def test_transfers_are_in_the_record_of_emit(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["emit", DMA, "--target", "sim", "--json"]) == 0
    (function,) = strict(capsys.readouterr().out)["functions"]
    assert function["transfers"][0]["mechanism"] == "cp.async"
    assert main(["emit", DMA, "--target", "sim"]) == 0
    text = capsys.readouterr().out
    assert text.startswith(function["source"])
    assert [row["how"] for row in function["transfers"] if row["how"] not in text] == []


def test_a_split_input_is_one_list(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "both.mlir"
    good = Path(MATMUL).read_text("utf-8")
    file.write_text(f"{good}\n// -----\nfunc @\n// -----\n{good}", "utf-8")
    assert main(["emit", str(file), "--split-input-file", "--json"]) == 1
    out, err = capsys.readouterr()
    assert [record["target"] for record in strict(out)] == ["cpu", "cpu"]
    assert "error" in err


def test_what_fails_prints_no_record(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "bad.mlir"
    file.write_text("func.func @f( { return }")
    for command in ("emit", "explain", "report", "run"):
        assert main([command, str(file), "--json"]) == 1
        assert capsys.readouterr().out == ""


@pytest.mark.slow
def test_files_that_were_exported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["export", MATMUL, "--ptx", "--sizes", "4", "-o", str(tmp_path / "made")]
    assert main([*words, "--json"]) == 0
    record = strict(capsys.readouterr().out)
    assert (record["form"], record["target"]) == ("ptx", "cuda")
    there = {path.name for path in (tmp_path / "made").iterdir()}
    assert {*record["files"]} == there
    assert "matmul.json" in there
