"""Made programs on tensors: buffers hold what values mean, whatever lies in place."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpucodegen as gcg
from gpucodegen.passes.framework.base import run_pipeline
from gpucodegen.passes.framework.pipeline_text import parse_pipeline
from tests.tensors.buffer_machine import BufferMachine, constants_of
from tests.tensors.tensor_programs import TensorProgram, made_program

PASSES = "elementwise-to-linalg,generalize,bufferize"


def arguments() -> tuple[np.ndarray, np.ndarray]:
    return np.arange(8, dtype="i4") * 3 - 7, np.arange(4, dtype="i4") + 20


def executed(program: TensorProgram) -> tuple[list[np.ndarray], BufferMachine]:
    module = run_pipeline(gcg.parse(program.text), parse_pipeline(PASSES))
    *globals_, function = module.operations
    machine = BufferMachine(constants_of(globals_))
    given = arguments()
    results = machine.run(function.regions[0].blocks[0], given)
    for before, after in zip(arguments(), given, strict=True):
        np.testing.assert_array_equal(before, after)
    return results, machine


def agree(program: TensorProgram) -> None:
    results, machine = executed(program)
    for result, wanted in zip(results, program.answer(*arguments()), strict=True):
        np.testing.assert_array_equal(result, wanted, program.text)
    for array, wanted in zip(
        machine.constants.values(), [np.arange(4) - 1], strict=True
    ):
        np.testing.assert_array_equal(array, wanted, program.text)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1 << 30), st.integers(1, 10))
def test_buffers_hold_the_values(seed: int, size: int):
    agree(made_program(seed, size))


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, 4000, 250))
@pytest.mark.drawn(3)
def test_many_programs_on_buffers(start: int):
    for seed in range(start, start + 250):
        agree(made_program(seed, 4 + seed % 11))


def test_the_programs_use_every_kind_of_statement():
    kinds = frozenset[str]().union(*(made_program(seed).kinds for seed in range(20)))
    assert len(kinds) == 11, kinds


@pytest.mark.drawn(20)
@pytest.mark.slow
@pytest.mark.parametrize("target", ["cpu", "sim"])
@pytest.mark.parametrize("seed", range(40))
def test_kernels_compute_the_values(seed: int, target: str):
    check(made_program(seed, 6), target)


@pytest.mark.sampled(2)
@pytest.mark.cases("seed", range(40), parts=2)
def test_the_interpreter_computes_the_values(seed: int):
    check(made_program(seed, 6), "interp")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("target", ["cpu", "sim"])
def test_a_kernel_computes_the_values(target: str):
    check(made_program(3, 5), target)


def check(program: TensorProgram, target: str) -> None:
    results = gcg.compile(program.text, target=target).f(*arguments())
    for result, wanted in zip(results, program.answer(*arguments()), strict=True):
        np.testing.assert_array_equal(result, wanted, program.text)
