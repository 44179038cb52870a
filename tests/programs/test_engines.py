"""Every example program against its float64 answer, on every engine without a GPU."""

from __future__ import annotations

import pytest

import gpucodegen as gcg
from examples.catalogue import PROGRAMS, Program


@pytest.fixture(params=PROGRAMS)
def program(request: pytest.FixtureRequest) -> Program:
    return PROGRAMS[request.param]


@pytest.mark.slow
def test_cpu(program: Program) -> None:
    program.run(gcg.compile(program.path, target="cpu")[program.entry])


@pytest.mark.slow
@pytest.mark.drawn(6)
def test_cpu_at_the_measured_size(program: Program) -> None:
    call = gcg.compile(program.path, target="cpu")[program.entry]
    program.run(call, program.large)


@pytest.mark.slow
@pytest.mark.drawn(8)
def test_emulated_device(program: Program) -> None:
    program.run(gcg.compile(program.path, target="sim")[program.entry])


@pytest.mark.slow
def test_one_program_serves_many_shapes() -> None:
    matmul = PROGRAMS["matmul"]
    call = gcg.compile(matmul.path, target="cpu")["matmul"]
    for m, n, k in ((1, 1, 1), (7, 5, 3), (64, 64, 64), (33, 1, 100), (3, 0, 4)):
        matmul.run(call, {"M": m, "N": n, "K": k})


@pytest.mark.slow
def test_every_stage_is_mlir_that_parses_back(program: Program) -> None:
    compiled = gcg.compile(program.path, target="cpu")
    program.run(compiled[program.entry])
    for name, text in compiled.stages(program.entry):
        assert str(gcg.parse(text)) == text, name
