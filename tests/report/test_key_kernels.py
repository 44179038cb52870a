"""Figures of key kernels may only get better, and the text agrees with the counters."""

from __future__ import annotations

import math

import pytest

from gpucodegen.report.gpu.model import KernelReport
from gpucodegen.tiling.machine.gpu.product_plan import DEFAULT
from gpucodegen.tiling.machine.gpu.product_tiles import SharedTiles
from tests.report.key_kernels import PROGRAMS, Figures, reported

FIGURES = {
    "f32 128 x 128": Figures(18260, 144, 64, 128, 0.91),
    "f32 64 x 64": Figures(10107, 117, 64, 93, 0.83),
    "f32 32 x 32": Figures(847, 56, 32, 69, 0.68),
    "f32 ragged": Figures(2739, 84, 101, 79, 0.719),
    "f32 split": Figures(20667, 119, 64, 93, 0.83),
    "f64": Figures(3649, 576, 768, 252, 0.34),
    "f64 64 x 128": Figures(19752, 304, 192, 252, 0.849),
    "f64 32 x 32": Figures(929, 112, 64, 94, 0.62),
    "batched": Figures(36380, 144, 64, 128, 0.91),
    "naive": Figures(18260, 144, 64, 128, 0.91),
    "matvec": Figures(70.5, 3, 65.5, 29, 0.25),
    "convolution": Figures(7202, 56, 32, 71, 0.67),
    "channels last": Figures(41669, 152, 96, 128, 0.90),
    "channels first": Figures(43124, 189, 140, 127, 0.88),
    "1x1": Figures(4764, 144, 64, 128, 0.91),
    "bias and relu": Figures(36365, 144, 64, 128, 0.91),
    "small layer": Figures(1433, 84, 80, 80, 0.80),
    "f16": Figures(301, 192, 256, 96, 0.12),
    "i8": Figures(187, 96, 176, 44, 0),
    "relu": Figures(23, 0, 64, 18, 0),
    "relu f16": Figures(63, 0, 64, 26, 0),
    "f32 to f16": Figures(28, 0, 96, 26, 0),
    "transpose": Figures(166, 128, 512, 85, 0),
    "transpose f16": Figures(327, 64, 256, 64, 0),
    "copy": Figures(15, 0, 64, 18, 0),
    "axpy": Figures(26, 0, 96, 26, 0.2),
    "chain": Figures(39, 0, 96, 26, 0.16),
    "row sum": Figures(1360, 0, 256, 30, 0.36),
    "column sum": Figures(1420, 0, 32, 32, 0.43),
    "free row sum": Figures(155, 0, 64, 31, 0.64),
    "free column sum": Figures(527, 0, 64, 40, 0.61),
    "free full sum": Figures(504.5, 0, 64, 32, 0.5),
    "softmax": Figures(1113, 10, 256, 54, 0.47),
    "argmax": Figures(228, 0, 32, 45, 0),
    "jacobi": Figures(96, 0, 236.5, 32, 0.3),
    "jacobi, many steps": Figures(4030, 1092, 237, 64, 0.55),
}
"""Raise a figure when a kernel gets better.

Wavefronts and sectors are those of one trip of a loop, which may do the work of two.
"""
GUARDED = {
    *("f32 ragged", "f16", "i8", "f64", "matvec"),
    *("f32 64 x 64", "f32 32 x 32", "f32 split", "small layer"),
}
"""Kernels in which lanes are idle, or copies end before the last terms."""
SAMPLED = {"channels first", "channels last"}
"""Kernels of which blocks that are not executed access memory in another way."""
UNTOLD = {"jacobi, many steps"}
"""Kernels whose text does not tell what accesses cost."""
ARITHMETIC = ("FFMA", "DFMA", "HFMA2", "MMA")


STREAMED = {
    "relu": 16,
    "relu f16": 16,
    "f32 to f16": 8,
    "transpose": 16,
    "transpose f16": 16,
    "copy": 16,
    "axpy": 16,
    "chain": 16,
}
"""Kernels that memory limits, and bytes of their narrowest access to it."""


def warps(kernel: KernelReport) -> int:
    return math.prod(kernel.launch.grid) * math.ceil(
        math.prod(kernel.launch.block) / 32
    )


def test_every_key_kernel_has_figures() -> None:
    assert set(FIGURES) == set(PROGRAMS)


@pytest.mark.drawn(7, alike=True)
@pytest.mark.slow
@pytest.mark.figures
@pytest.mark.parametrize("name", PROGRAMS)
def test_executed_figures(name: str) -> None:
    kernel, figures = reported(name), FIGURES[name]
    assert kernel.execution.instructions / warps(kernel) <= figures.instructions
    assert kernel.outer_loop.wavefronts <= figures.wavefronts
    assert kernel.outer_loop.sectors <= figures.sectors


@pytest.mark.parametrize("name", STREAMED)
@pytest.mark.sampled(9)
def test_what_memory_limits_moves_at_the_rate_of_a_copy(name: str) -> None:
    """Wide accesses of whole sectors, enough under way, and blocks for all."""
    kernel = reported(name)
    rows = [row for row in kernel.accesses if row.space == "global"]
    assert min(row.width for row in rows) == STREAMED[name]
    assert min(row.used for row in rows) >= 0.99
    assert kernel.limits.in_flight >= 16 << 10
    assert math.prod(kernel.launch.grid) >= 2 * 132
    assert kernel.limits.binding == "device memory"
    assert kernel.limits.share_of_peak >= 0.9


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["free row sum", "free column sum", "free full sum", "softmax"]
)
@pytest.mark.sampled(6)
def test_reductions_are_limited_by_memory_alone(name: str) -> None:
    """512 threads for each multiprocessor, whole sectors, accesses of 16 bytes."""
    kernel = reported(name)
    launch = kernel.launch
    assert math.prod(launch.grid) >= 132
    assert math.prod((*launch.grid, *launch.block)) >= 512 * 132
    assert kernel.limits.binding == "device memory"
    streams = [row for row in kernel.accesses if row.array in ("a", "b")]
    assert all(row.used >= 0.99 and row.width == 16 for row in streams)


@pytest.mark.sass
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.sampled(24)
@pytest.mark.drawn(16, alike=True)
def test_figures_of_machine_code(name: str) -> None:
    kernel, figures = reported(name), FIGURES[name]
    assert kernel.launch.registers is not None
    assert kernel.launch.registers <= figures.registers
    assert kernel.launch.spill_stores == kernel.launch.spill_loads == 0
    loop = kernel.machine_loop
    assert loop is not None
    share = sum(loop.kinds.get(kind, 0) for kind in ARITHMETIC) / loop.stated
    assert share >= figures.arithmetic


@pytest.mark.drawn(4, alike=True)
@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(PROGRAMS) - GUARDED - SAMPLED - UNTOLD))
def test_the_text_says_what_is_executed(name: str) -> None:
    kernel = reported(name)
    assert kernel.loop.stated == kernel.loop.executed
    known = [row for row in kernel.accesses if row.stated is not None]
    assert known
    for row in known:
        assert row.stated is not None
        least, most = row.stated
        assert least - 1e-9 <= row.executed <= most + 1e-9, row


@pytest.mark.drawn(4, alike=True)
@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(GUARDED))
def test_guards_leave_no_more_to_do(name: str) -> None:
    kernel = reported(name)
    assert kernel.loop.executed <= kernel.loop.stated
    known = [row for row in kernel.accesses if row.stated is not None]
    assert known
    for row in known:
        assert row.stated is not None
        assert row.executed <= row.stated[1] + 1e-9


LARGE = ("f32 128 x 128", "naive", "batched")


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE)
def test_large_products_use_what_the_device_has(name: str) -> None:
    """8 wavefronts a term, 16 bytes an access, one barrier, stores at their ideal."""
    kernel = reported(name)
    plan = SharedTiles(128, 128, 16, 8, 8)
    rows = {(row.space, row.direction, row.array): row for row in kernel.accesses}
    for (space, direction, _), row in rows.items():
        assert row.width == 16 or (space, direction) == ("shared", "store")
        assert space == "shared" or row.used == 1.0
    turned = [row for row in rows.values() if row.width == 4]
    assert [row.executed for row in turned] == [1.0]
    assert kernel.outer_loop.kinds["barrier"] == 1
    stores = 8 + 2 * 4
    assert kernel.outer_loop.wavefronts == plan.depth * 8 + stores
    assert kernel.limits.binding == "instruction issue"


@pytest.mark.sass
@pytest.mark.parametrize("name", LARGE)
@pytest.mark.sampled(3)
def test_two_blocks_of_large_products_share_a_multiprocessor(name: str) -> None:
    launch = reported(name).launch
    assert launch.resident_blocks == 2
    assert launch.spill_stores == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["f32 64 x 64", "f32 ragged", "f32 split", "batched"])
@pytest.mark.drawn(2, alike=True)
def test_products_fill_the_device(name: str) -> None:
    """Or nearly so: tiles of more reuse may be worth some multiprocessors."""
    assert math.prod(reported(name).launch.grid) >= 0.95 * DEFAULT.processors


@pytest.mark.slow
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
