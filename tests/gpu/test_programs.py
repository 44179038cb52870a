"""Every example program on a CUDA device; one call checks all."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

import gpucodegen as gcg
from examples.catalogue import PROGRAMS, Program

pytestmark = pytest.mark.gpu


@pytest.fixture(params=PROGRAMS)
def program(request: pytest.FixtureRequest) -> Program:
    return PROGRAMS[request.param]


def run_on_device(program: Program, size: Any) -> None:
    cupy: Any = import_module("cupy")
    host = program.arguments(size)
    answer = program.problem.answer(*host)
    device = tuple(cupy.asarray(a) if hasattr(a, "shape") else a for a in host)
    call = gcg.compile(program.path, target="cuda")[program.entry]
    result = call(*device)
    back = tuple(cupy.asnumpy(a) if hasattr(a, "shape") else a for a in device)
    program.check(answer, back, None if result is None else cupy.asnumpy(result))


def test_small_cupy_arrays(program: Program) -> None:
    run_on_device(program, program.small)


def test_large_cupy_arrays(program: Program) -> None:
    run_on_device(program, program.large)


def test_numpy_arrays_are_sent_and_brought_back(program: Program) -> None:
    program.run(gcg.compile(program.path, target="cuda")[program.entry])


def test_auto_chooses_cuda_for_cupy_arrays() -> None:
    cupy: Any = import_module("cupy")
    a, b = cupy.ones((64, 32), "f4"), cupy.ones((32, 48), "f4")
    c = cupy.zeros((64, 48), "f4")
    gcg.compile(PROGRAMS["matmul"].path).matmul(a, b, c)
    assert float(c.min()) == float(c.max()) == 32.0


def test_launches_on_the_current_stream() -> None:
    cupy: Any = import_module("cupy")
    a, b = cupy.ones((512, 512), "f4"), cupy.ones((512, 512), "f4")
    c = cupy.zeros((512, 512), "f4")
    call = gcg.compile(PROGRAMS["matmul"].path, target="cuda").matmul
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        a *= 2
        call(a, b, c)
        c += 1
    stream.synchronize()
    assert float(c.min()) == float(c.max()) == 1025.0
