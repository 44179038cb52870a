"""What is proven of each kernel, against an enumeration of its executions."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from tiling_oracle import (
    Touch,
    execute,
    expected_bands,
    expected_kinds,
    expected_rows,
)

import gpucodegen as gcg
from examples.polybench.catalogue import KERNELS
from gpucodegen.ir.operation import Operation
from gpucodegen.passes.analysis.lifting import lift_function
from gpucodegen.tiling.model.isl import UNLIMITED
from gpucodegen.tiling.model.relations import model
from gpucodegen.tiling.model.scop import Scop, statements
from gpucodegen.tiling.proof.dependences import dependences, rows
from gpucodegen.tiling.proof.legality import bands
from gpucodegen.tiling.proof.liveness import loop_verdicts

SIZES = {"T": 2, "N": 5, "NP": 3, "NQ": 2, "NR": 3}
OTHERS = 4


@cache
def function(name: str) -> Operation:
    return gcg.parse(KERNELS[name].text).functions[KERNELS[name].entry]


@cache
def lifted(name: str) -> Scop:
    return lift_function(function(name)).scop


@cache
def parameters(name: str) -> dict[str, int]:
    """Values at which every loop runs at least twice, and their names in the model."""
    size = {extent: SIZES.get(extent, OTHERS) for extent in KERNELS[name].small}
    found = dict(size)  # extents are called what the program calls them
    formal = function(name).regions[0].blocks[0].arguments
    for value, actual in zip(formal, KERNELS[name].arguments(size), strict=True):
        shape = np.shape(actual)
        found |= {f"{value.name}_size{d}": extent for d, extent in enumerate(shape)}
        if isinstance(actual, int):
            found[value.name] = actual
    return {parameter: found[parameter] for parameter in lifted(name).parameters}


@cache
def touches(name: str) -> list[Touch]:
    return execute(lifted(name), as_written=False, **parameters(name))


@pytest.mark.cases("name", KERNELS)
@pytest.mark.sampled(6)
def test_loop_kinds_equal_enumeration(name: str) -> None:
    verdicts = loop_verdicts(model(lifted(name)))
    found = {verdict.loop.name: verdict.kind for verdict in verdicts}
    assert found == expected_kinds(lifted(name), touches(name))


@pytest.mark.sampled(2)
@pytest.mark.cases("name", KERNELS, parts=2)
def test_permutable_bands_equal_enumeration(name: str) -> None:
    scop = lifted(name)
    found = [band.names for band in bands(scop.body, dependences(model(scop)))]
    assert found == expected_bands(scop, touches(name))


@pytest.mark.cases("name", KERNELS)
@pytest.mark.sampled(6)
def test_rows_at_one_size_equal_enumeration(name: str) -> None:
    fixed = [f"{p} = {value}" for p, value in parameters(name).items()]
    scop = replace(lifted(name), context=(*lifted(name).context, *fixed))
    accesses = [a for s in statements(scop.body) for a in s.accesses]
    listed = [number for number, access in enumerate(accesses) if access.listed]
    found = {
        (listed[source], listed[sink], depth): result
        for source, sink, depth, result in rows(scop, UNLIMITED)
        if result != "false"
    }
    expected = {
        key: result
        for key, result in expected_rows(scop, **parameters(name)).items()
        if {key[0], key[1]} <= set(listed)
    }
    assert found == expected


@pytest.mark.slow
@pytest.mark.cases("name", KERNELS)
def test_every_dependence_is_decided(name: str) -> None:
    found = dependences(model(lifted(name)))
    assert not any(dependence.assumed for dependence in found)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::gpucodegen.errors.PossiblyOutOfBounds")
def test_analysis_stays_within_its_budget() -> None:
    """Calls are counted, also those of isl, because seconds depend on the machine."""
    counts = sorted(_calls(name) for name in KERNELS)
    assert counts[len(counts) // 2] < 40_000
    assert counts[-1] < 160_000


def _calls(name: str) -> int:
    module, calls = gcg.parse(KERNELS[name].text), Counter[str]()
    sys.setprofile(lambda _, event, __: calls.update([event]))
    try:
        gcg.analyze(module)
    finally:
        sys.setprofile(None)
    return calls["call"] + calls["c_call"]
