"""Figures of key kernels may only get better, and the text agrees with the counters."""

from __future__ import annotations

import math

import pytest

from gpucodegen.report.gpu.model import KernelReport
from tests.report.key_kernels import PROGRAMS, Figures, reported

FIGURES = {
    "f32 128 x 128": Figures(5179, 456, 64, 128, 0.91),
    "f32 64 x 64": Figures(1519, 164, 32, 63, 0.86),
    "f32 32 x 32": Figures(869, 148, 32, 56, 0.64),
    "f32 ragged": Figures(853.5, 224.1, 82.4, 64, 0.57),
    "f64 128 x 128": Figures(5435, 1424, 128, 212, 0.86),
    "batched": Figures(879, 148, 32, 56, 0.64),
    "matvec": Figures(2833, 0, 148, 20, 0.15),
    "convolution": Figures(9021, 148, 32, 56, 0.52),
    "relu": Figures(19, 0, 8, 10, 0),
    "transpose": Figures(22, 0, 36, 10, 0),
    "row sum": Figures(1871, 0, 288, 24, 0.26),
    "column sum": Figures(1931, 0, 64, 26, 0.30),
    "jacobi": Figures(26, 0, 29.5, 13, 0.1),
    "jacobi, many steps": Figures(4030, 1092, 237, 64, 0.55),
}
"""Raise a figure when a kernel gets better."""
GUARDED = {"f32 ragged"}
"""Kernels in which lanes at the edges are idle."""
UNTOLD = {"jacobi, many steps"}
"""Kernels whose text does not tell what accesses cost."""
ARITHMETIC = ("FFMA", "DFMA", "HFMA2", "MMA")


def warps(kernel: KernelReport) -> int:
    return math.prod(kernel.launch.grid) * math.ceil(
        math.prod(kernel.launch.block) / 32
    )


def test_every_key_kernel_has_figures() -> None:
    assert set(FIGURES) == set(PROGRAMS)


@pytest.mark.parametrize("name", PROGRAMS)
def test_executed_figures(name: str) -> None:
    kernel, figures = reported(name), FIGURES[name]
    assert kernel.execution.instructions / warps(kernel) <= figures.instructions
    assert kernel.outer_loop.wavefronts <= figures.wavefronts
    assert kernel.outer_loop.sectors <= figures.sectors


@pytest.mark.sass
@pytest.mark.parametrize("name", PROGRAMS)
def test_figures_of_machine_code(name: str) -> None:
    kernel, figures = reported(name), FIGURES[name]
    assert kernel.launch.registers is not None
    assert kernel.launch.registers <= figures.registers
    assert kernel.launch.spill_stores == kernel.launch.spill_loads == 0
    loop = kernel.machine_loop
    assert loop is not None
    share = sum(loop.kinds.get(kind, 0) for kind in ARITHMETIC) / loop.stated
    assert share >= figures.arithmetic


@pytest.mark.parametrize("name", sorted(set(PROGRAMS) - GUARDED - UNTOLD))
def test_the_text_says_what_is_executed(name: str) -> None:
    kernel = reported(name)
    assert kernel.loop.stated == kernel.loop.executed
    assert kernel.accesses
    for row in kernel.accesses:
        assert row.stated is not None
        least, most = row.stated
        assert least - 1e-9 <= row.executed <= most + 1e-9, row


@pytest.mark.parametrize("name", sorted(GUARDED))
def test_guards_leave_less_to_do(name: str) -> None:
    kernel = reported(name)
    assert kernel.loop.executed < kernel.loop.stated
    known = [row for row in kernel.accesses if row.stated is not None]
    assert known
    for row in known:
        assert row.stated is not None
        assert row.executed <= row.stated[1] + 1e-9


def test_the_tile_of_128_has_its_known_conflicts() -> None:
    """456 wavefronts for 256 clocks of arithmetic, 16-way stores, 12.5 % of sectors."""
    kernel = reported("f32 128 x 128")
    rows = {(row.space, row.direction, row.array): row for row in kernel.accesses}
    assert rows["shared", "store", "shared+0 (A)"].executed == 16
    assert rows["global", "store", "C"].used == 0.125
    assert kernel.outer_loop.kinds["fma"] / 4 == 256
    assert kernel.limits.binding == "shared memory"
    assert kernel.limits.clocks["f32 arithmetic"] * 456 == pytest.approx(
        kernel.limits.clocks["shared memory"] * 256
    )


def test_a_launch_makes_several_time_steps() -> None:
    """Eight sweeps each; the estimate of a step is below half of plain launches'."""
    steps = 96
    kernel, plain = reported("jacobi, many steps"), reported("jacobi")
    launches = kernel.launch.launches
    assert launches * 4 == steps
    cells = (1022 / 512) ** 2
    traffic = max(
        clocks * cells
        for unit, clocks in plain.limits.clocks.items()
        if unit != "starting the kernel"
    )
    one = max(traffic, plain.limits.clocks["starting the kernel"])
    assert max(kernel.limits.clocks.values()) * launches < 2 * steps * one / 2
