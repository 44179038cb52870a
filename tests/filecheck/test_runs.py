"""What carries out RUN lines fails where a shell and FileCheck would."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

from tests.filecheck import runs

TEXT = """func.func @f() -> i32 {
  %c = arith.constant 2 : i32
  return %c : i32
}
"""


@pytest.mark.parametrize(
    ("line", "check", "told"),
    [
        (
            "gpucodegen opt %s | filecheck %s",
            "CHECK: arith.constant 3",
            "Couldn't match",
        ),
        ("gpucodegen opt %s | filecheck %s", "CHECK-NOT: return", "excluded string"),
        ("gpucodegen opt %s | filecheck %s", "", "No check strings"),
        ("gpucodegen opt %s -p tilr | filecheck %s", "CHECK: f", "unknown pass 'tilr'"),
        ("not gpucodegen opt %s | filecheck %s", "CHECK: f", "ended with 0"),
        ("mlir-opt %s", "", "no command 'mlir-opt'"),
    ],
)
def test_what_does_not_hold_fails(
    line: str, check: str, told: str, tmp_path: Path
) -> None:
    path = tmp_path / "f.mlir"
    path.write_text(f"// RUN: {line}\n// {check}\n{TEXT}")
    (found,) = runs.lines(path.read_text())
    assert found == line
    with pytest.raises(runs.RunFailed, match=told):
        runs.carry_out(found, path)


def test_what_holds_passes(tmp_path: Path) -> None:
    path = tmp_path / "a|b.mlir"
    path.write_text(f"// CHECK: arith.constant 2 : i32\n{TEXT}")
    runs.carry_out("gpucodegen opt '%s' -p 'canonicalize' | filecheck %s", path)


def test_every_file_is_a_test() -> None:
    files = sorted(Path(__file__).parent.glob("*.mlir"))
    assert len(files) > 12
    assert [f.name for f in files if not runs.lines(f.read_text("utf-8"))] == []


def test_the_example_of_the_docstring() -> None:
    assert doctest.testmod(runs).failed == 0
