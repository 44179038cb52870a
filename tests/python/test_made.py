"""Made programs of the subset compute what Python does, step by step."""

from __future__ import annotations

import linecache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import gpucodegen as gcg
from tests.python.made import programs


def check(text: str, target: str) -> None:
    """Run a program on a target and as Python."""
    filename = f"<made {abs(hash(text))}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    names: dict[str, Any] = {}
    exec(compile(text, filename, "exec"), names)
    function = gcg.jit(target=target)(names["f"])

    def arguments() -> list[Any]:
        rng = np.random.default_rng(3)
        arrays = rng.random(5), rng.random(5, np.float32), rng.integers(0, 9, 5, "i4")
        return [5, -3, 0.5, -1.5, *arrays]

    ours, theirs = arguments(), arguments()
    actual, expected = function(*ours), names["f"](*theirs)
    for one, other in zip((*actual, *ours), (*expected, *theirs), strict=True):
        bound = 2e-5 if getattr(other, "dtype", None) == np.float32 else 1e-9
        np.testing.assert_allclose(one, other, rtol=bound, atol=bound)


@pytest.mark.sampled(4)
@given(programs())
@settings(max_examples=25, deadline=None)
def test_interpreter_runs_what_python_says(text: str):
    check(text, "interp")


@pytest.mark.slow
@given(programs())
@settings(max_examples=12, deadline=None)
@pytest.mark.filterwarnings("ignore::gpucodegen.errors.CodegenWarning")
def test_processor_computes_what_python_says(text: str):
    check(text, "cpu")
