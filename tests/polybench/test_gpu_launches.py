"""What the host launches at LARGE size, counted without running it.

No thread is alone with more than 10,000 operations, and no loop of the host launches
more than 300 kernels; what does is listed with the dependence that forces it.  The page
of the documentation has a line for each program; ``--update-golden`` writes it anew.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from typing import cast

import pytest

import gpucodegen as gcg
from examples.polybench.catalogue import DATASET, KERNELS
from examples.polybench.kernel import Loops
from gpucodegen.compiling.lowering import Stages, map_module
from gpucodegen.ir.types import MemRefType
from gpucodegen.options import Options
from gpucodegen.passes.analysis.work import KernelLaunches, host_program
from gpucodegen.passes.framework.functions import reachable
from tests.house.readme import ROOT

PAGE = ROOT / "docs" / "how-a-nest-becomes-a-grid.md"
ALONE = {
    "ludcmp": "the sum of each `x[i]` keeps its order, and `x[i + 1]` is its first"
}
"""Programs with a thread that is alone with more, and why."""
MOST_ALONE, MOST_LAUNCHES = 10_000, 300


@cache
def launches(name: str) -> tuple[KernelLaunches, ...]:
    kernel, size = KERNELS[name], DATASET[name]
    module = gcg.parse(kernel.text)
    formal = module.functions[kernel.entry].regions[0].blocks[0].arguments
    shapes = cast("Loops", kernel.problem).shapes(size)
    types = tuple(
        replace(value.type, shape=shape)
        if shape is not None and isinstance(value.type, MemRefType)
        else None
        for value, shape in zip(formal, shapes, strict=True)
    )
    stages: Stages = []
    options = Options(target="cuda", verify=False)
    source = reachable(module, kernel.entry)
    key = "cuda", types, ()
    mapped = map_module(source, kernel.entry, key, options, stages)
    return host_program(mapped, kernel.entry, size)


def line_of(name: str) -> str:
    """What the page says of a program."""
    found = launches(name)
    repeated = sum(launch.launches or 0 for launch in found if launch.loops)
    total = sum(launch.launches or 0 for launch in found)
    widest = max(launch.threads or 0 for launch in found)
    return f"| {name} | {total} | {repeated} | {widest:,} | {ALONE.get(name, '')} |"


@pytest.mark.slow
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.drawn(14)
def test_the_host_launches_few_kernels(
    name: str, request: pytest.FixtureRequest
) -> None:
    repeated = [launch for launch in launches(name) if launch.loops]
    assert all(launch.launches is not None for launch in repeated)
    assert sum(launch.launches or 0 for launch in repeated) <= MOST_LAUNCHES
    text, line = PAGE.read_text(encoding="utf-8"), line_of(name)
    if request.config.getoption("--update-golden", default=False):
        text = re.sub(rf"^\| {name} \|.*$", line, text, flags=re.MULTILINE)
        PAGE.write_text(text, encoding="utf-8")
    assert line in text.splitlines()


@pytest.mark.drawn(16)
@pytest.mark.sampled(9)
@pytest.mark.parametrize("name", KERNELS)
def test_no_thread_is_alone_with_much(name: str) -> None:
    alone = [launch.operations for launch in launches(name) if launch.is_alone]
    is_much = any(amount is None or amount > MOST_ALONE for amount in alone)
    assert is_much == (name in ALONE)
