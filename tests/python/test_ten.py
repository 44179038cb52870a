"""The ten functions of the examples compute what they do as plain Python."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import gpucodegen as gcg
from examples.python_functions import FUNCTIONS
from tests.targets import ALL

TOLERANCE = {"f4": 2e-5, "f8": 1e-12}


@pytest.mark.sampled(12)
@pytest.mark.parametrize("target", ALL)
@pytest.mark.parametrize("name", [*FUNCTIONS])
def test_function_is_what_python_says(name: str, target: str):
    problem = FUNCTIONS[name]
    function = gcg.jit(target=target)(problem.function)
    ours = problem.arguments(np.random.default_rng(7), problem.small)
    theirs = copy.deepcopy(ours)
    results = [*ours, function(*ours)], [*theirs, function.py_func(*theirs)]
    for actual, expected in zip(*results, strict=True):
        assert type(actual) is type(expected)
        if expected is not None:
            kind = getattr(expected, "dtype", np.dtype(int)).str[1:]
            bound = TOLERANCE.get(kind, 0)
            np.testing.assert_allclose(actual, expected, rtol=bound, atol=bound)
