"""Loops that pass values on along rows: a row in each lane, every bit as in order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from recurrence_programs import Recurrences, recurrences, same_bits
from vector_runs import CACHES, WIDTHS, kernel, run, vectorized

import gpucodegen as gcg

RNG = np.random.default_rng(23)


def check(program: Recurrences, module: gcg.Module, target: str) -> None:
    values = program.values(RNG)
    want = {name: array.copy() for name, array in values.items()}
    program.run(want)
    run(module, target, *values.values(), program.rows, program.columns)
    for name, array in values.items():
        assert same_bits(array, want[name]), name


@pytest.mark.slow
@settings(max_examples=12, deadline=None, phases=[Phase.generate])
@given(recurrences(), WIDTHS, CACHES)
def test_on_the_emulated_device(program: Recurrences, bits: int, cache: int):
    text = kernel(program.arguments, program.kernel, "sim")
    check(program, vectorized(text, bits, cache), "sim")


@pytest.mark.sampled(4)
@settings(max_examples=4, deadline=None, phases=[Phase.explicit, Phase.generate])
@given(recurrences(), WIDTHS, CACHES)
def test_on_the_processor(program: Recurrences, bits: int, cache: int):
    text = kernel(program.arguments, program.kernel, "cpu")
    check(program, vectorized(text, bits, cache), "cpu")
