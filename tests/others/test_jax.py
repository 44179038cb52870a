"""Functions that JAX lowers now, against what JAX computes; needs JAX."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg

if find_spec("jax") is None:
    pytest.skip("JAX is not installed", allow_module_level=True)

import jax

from tests.others.jax_functions import CASES

pytestmark = pytest.mark.filterwarnings(
    "ignore::gpucodegen.errors.warnings.PossiblyOutOfBounds"
)
"""The proof of bounds does not see that a place is clamped."""


def check(name: str, target: str) -> None:
    function, arguments = CASES[name]
    function = jax.jit(function, keep_unused=True)
    text = function.lower(*arguments).as_text()
    leaves: list[Any] = jax.tree.leaves(arguments)
    got = gcg.compile(text, target=target).main(*map(np.asarray, leaves))
    want: list[Any] = jax.tree.leaves(function(*arguments))
    found = got if isinstance(got, tuple) else (got,)
    for ours, theirs in zip(found, want, strict=True):
        array = np.asarray(ours)
        assert (array.dtype, array.shape) == (theirs.dtype, theirs.shape)
        bound = {"bfloat16": 1e-2, "float16": 1e-3}.get(str(array.dtype), 3e-5)
        np.testing.assert_allclose(
            array.astype(complex), np.asarray(theirs).astype(complex), bound, bound
        )


@pytest.mark.sampled(80)
@pytest.mark.parametrize("name", list(CASES))
@pytest.mark.drawn(15)
def test_functions_of_jax(name: str):
    check(name, "cpu")


@pytest.mark.drawn(2)
@pytest.mark.sampled(40)
@pytest.mark.cases("name", list(CASES), parts=3)
def test_functions_of_jax_in_the_interpreter(name: str):
    check(name, "interp")


@pytest.mark.slow
@pytest.mark.parametrize("name", list(CASES))
@pytest.mark.drawn(22)
def test_functions_of_jax_on_a_gpu(name: str):
    check(name, "sim")
