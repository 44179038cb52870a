"""Programs that print what they computed: standard output is what MLIR prints.

In `printing/`, a line ``// > ...`` is one of output; addresses are left out.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import gpucodegen as gcg

pytestmark = pytest.mark.filterwarnings("ignore::gpucodegen.errors.ElementTransfers")

FILES = sorted((Path(__file__).parent / "printing").glob("*.mlir"))
TARGETS = ("interp", "cpu", "sim")
TEXTS = [text for file in FILES for text in file.read_text().split("// -----\n")]
NEEDS_THREADS = "gpu.all_reduce"
"""The CPU refuses launches whose threads wait for one another."""
ADDRESS = re.compile(r"0x[0-9a-f]+")


def name_of(text: str) -> str:
    return re.findall(r"// name: (.*)", text)[0].replace(" ", "-")


CASES = [
    pytest.param(text, target, id=f"{name_of(text)}-{target}")
    for text in TEXTS
    for target in TARGETS
    if not (target == "cpu" and NEEDS_THREADS in text)
]


@pytest.mark.sampled(42)
@pytest.mark.cases(("text", "target"), CASES, parts=5)
def test_a_program(text: str, target: str, capsys: pytest.CaptureFixture[str]):
    program = gcg.compile(text, target=target)
    program["main" if "main" in program.names else "entry"]()
    printed = ADDRESS.sub("0x", capsys.readouterr().out).splitlines()
    wanted = re.findall(r"// > ?(.*)", text)
    assert [line.rstrip() for line in printed] == [line.rstrip() for line in wanted]
