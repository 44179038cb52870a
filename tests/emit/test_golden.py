"""Generated source is a public artefact: every sample has its text kept in a file.

``pytest tests/emit --update-golden`` rewrites the files.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from gpucodegen.emit import CPU, CUDA, EmittedProgram, emit_program
from gpucodegen.parser import parse_module

HERE = Path(__file__).parent
SAMPLES = sorted(path.stem for path in (HERE / "samples").glob("*.mlir"))


def emitted(name: str) -> EmittedProgram:
    path = HERE / "samples" / f"{name}.mlir"
    module = parse_module(path.read_text("utf-8"), path.name)
    return emit_program(module, CUDA if name.startswith("cuda") else CPU)


def whole_text(program: EmittedProgram) -> str:
    return "\n\n".join([program.host_source, *(k.source for k in program.kernels)])


@pytest.mark.parametrize("name", SAMPLES)
def test_text_is_as_agreed(name: str, request: pytest.FixtureRequest):
    text = whole_text(emitted(name))
    golden = HERE / "golden" / f"{name}.py.txt"
    if request.config.getoption("--update-golden", default=False):
        golden.write_text(text, "utf-8")
    assert text == golden.read_text("utf-8")


@pytest.mark.sampled(2)
@pytest.mark.cases("name", SAMPLES)
def test_every_text_is_python_of_plain_names(name: str):
    program = emitted(name)
    for text in (program.host_source, *(k.source for k in program.kernels)):
        tree = ast.parse(text)
        assert text.isascii()
        names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
        assert all(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", n) for n in names)


@pytest.mark.cases("name", SAMPLES)
def test_kernels_describe_their_parameters(name: str):
    for kernel in emitted(name).kernels:
        function = ast.parse(kernel.source).body[-1]
        assert isinstance(function, ast.FunctionDef)
        assert function.name == kernel.name
        assert [a.arg for a in function.args.args] == [p.name for p in kernel.params]


def test_source_of_a_function_is_its_host_text_and_its_kernels():
    program = emitted("host_program")
    text = program.source_of("smooth")
    assert "def smooth(rt" in text
    assert "def smooth_k0(" in text
    assert "def scale" not in text
