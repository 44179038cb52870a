"""The kernels in other styles: the same verdicts and the same results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polybench_styles as styles
import pytest

import gpucodegen as gcg
from examples.polybench.catalogue import KERNELS
from gpucodegen.passes.analysis.lifting import lift_function
from gpucodegen.tiling.model.relations import model
from gpucodegen.tiling.proof.dependences import dependences
from gpucodegen.tiling.proof.legality import bands
from gpucodegen.tiling.proof.liveness import loop_verdicts

# Nothing relates the extents of different arrays while they are symbols.
pytestmark = pytest.mark.filterwarnings("ignore::gpucodegen.errors.PossiblyOutOfBounds")

Style = Callable[[str], str]

SAME_VERDICTS = (
    styles.single_precision,
    styles.sizes_as_arguments,
    styles.integer_sizes,
    styles.plain_accesses,
    styles.text_of_2019,
)
ON_A_GPU = ("correlation", "symm")
"""Others take the emulated device long; its programs have tests of their own."""
SAMPLE = ("cholesky", "correlation", "durbin", "ludcmp", "nussinov", "symm")


def verdicts(name: str, text: str) -> object:
    function = gcg.parse(text).functions[KERNELS[name].entry]
    scop = lift_function(function).scop
    found = dependences(built := model(scop))
    kinds = [(v.loop.name, v.kind) for v in loop_verdicts(built, found)]
    return kinds, [band.names for band in bands(scop.body, found)]


@pytest.mark.sampled(24)
@pytest.mark.cases("style", SAME_VERDICTS, ids=lambda style: style.__name__, parts=10)
@pytest.mark.cases("name", KERNELS)
def test_verdicts(name: str, style: Style) -> None:
    text = KERNELS[name].text
    assert verdicts(name, style(text)) == verdicts(name, text)


def run(name: str, text: str, tolerance: float, **options: Any) -> None:
    kernel = KERNELS[name]
    given = kernel.arguments()
    single = "f64" not in text
    arguments = tuple(
        a.astype(np.float32)
        if single and isinstance(a, np.ndarray) and a.dtype.kind == "f"
        else a
        for a in given
    )
    answer = kernel.problem.answer(*given)
    sizes = leading_sizes(name, given) if "memref.dim" not in text else ()
    target = "sim" if name in ON_A_GPU else "cpu"
    call = gcg.compile(text, target=target, **options)[kernel.entry]
    call(*sizes, *arguments)
    for at, right in answer.items():
        scale = tolerance * max(1.0, float(abs(right).max()))
        np.testing.assert_allclose(arguments[at], right, tolerance, scale)


def leading_sizes(name: str, arguments: tuple[Any, ...]) -> tuple[int, ...]:
    """What `styles.sizes_as_arguments` wants; text of 2019 has its own ``dim``."""
    function = gcg.parse(KERNELS[name].text).functions[KERNELS[name].entry]
    formal = [value.name for value in function.regions[0].blocks[0].arguments]
    found = styles.extents(KERNELS[name].text)
    return tuple(arguments[formal.index(array)].shape[d] for array, d in found)


@pytest.mark.slow
@pytest.mark.parametrize(
    "style",
    [
        styles.sizes_as_arguments,
        styles.integer_sizes,
        styles.plain_accesses,
        styles.cells_for_carried_values,
    ],
    ids=lambda style: style.__name__,
)
@pytest.mark.parametrize("name", SAMPLE)
def test_results(name: str, style: Style) -> None:
    run(name, style(KERNELS[name].text), 1e-9)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", SAMPLE)
def test_results_in_single_precision(name: str) -> None:
    run(name, styles.single_precision(KERNELS[name].text), 1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLE)
def test_results_of_kernels_for_all_sizes(name: str) -> None:
    run(name, KERNELS[name].text, 1e-9, specialize=False)
