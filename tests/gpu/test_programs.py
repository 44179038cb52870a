"""Every example program on a CUDA device, real or emulated; one call checks all."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from examples.catalogue import PROGRAMS, Program


@pytest.fixture(params=PROGRAMS)
def program(request: pytest.FixtureRequest) -> Program:
    return PROGRAMS[request.param]


def run_on_device(xp: Any, program: Program, size: Any) -> None:
    host = program.arguments(size)
    answer = program.problem.answer(*host)
    device = tuple(xp.asarray(a) if hasattr(a, "shape") else a for a in host)
    call = gcg.compile(program.path, target="cuda")[program.entry]
    result = call(*device)
    back = tuple(xp.asnumpy(a) if hasattr(a, "shape") else a for a in device)
    program.check(answer, back, None if result is None else xp.asnumpy(result))


@pytest.mark.slow
@pytest.mark.drawn(19)
def test_small_arrays(program: Program, xp: Any) -> None:
    run_on_device(xp, program, program.small)


@pytest.mark.gpu
def test_large_arrays(program: Program) -> None:
    run_on_device(import_module("cupy"), program, program.large)


@pytest.mark.gpu
def test_numpy_arrays_are_sent_and_brought_back(program: Program) -> None:
    program.run(gcg.compile(program.path, target="cuda")[program.entry])


def test_auto_chooses_cuda_for_arrays_of_a_device(xp: Any) -> None:
    a, b = xp.asarray(np.ones((64, 32), "f4")), xp.asarray(np.ones((32, 48), "f4"))
    c = xp.zeros((64, 48), "f4")
    gcg.compile(PROGRAMS["matmul"].path).matmul(a, b, c)
    assert np.all(xp.asnumpy(c) == 32)


@pytest.mark.gpu
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
