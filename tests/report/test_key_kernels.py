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
    "matvec": Figures(70.5, 3, 65.5, 29, 0.25),
    "convolution": Figures(9021, 148, 32, 56, 0.52),
    "relu": Figures(23, 0, 64, 18, 0),
    "relu f16": Figures(63, 0, 64, 26, 0),
    "f32 to f16": Figures(28, 0, 96, 26, 0),
    "transpose": Figures(147, 128, 256, 38, 0),
    "transpose f16": Figures(371, 256, 256, 40, 0),
    "copy": Figures(15, 0, 64, 18, 0),
    "axpy": Figures(26, 0, 96, 26, 0.2),
    "bias and relu": Figures(39, 0, 96, 26, 0.16),
    "row sum": Figures(1360, 0, 256, 30, 0.36),
    "column sum": Figures(1420, 0, 32, 32, 0.43),
    "free row sum": Figures(148, 0, 64, 34, 0.64),
    "free column sum": Figures(527, 0, 64, 36, 0.62),
    "free full sum": Figures(504.5, 0, 64, 32, 0.64),
    "softmax": Figures(1113, 10, 256, 54, 0.47),
    "argmax": Figures(228, 0, 32, 45, 0),
    "jacobi": Figures(96, 0, 236.5, 32, 0.3),
}
"""Raise a figure when a kernel gets better."""
GUARDED = {"f32 ragged", "matvec"}
"""Kernels in which lanes at the edges are idle."""
ARITHMETIC = ("FFMA", "DFMA", "HFMA2", "MMA")


STREAMED = {
    "relu": 16,
    "relu f16": 16,
    "f32 to f16": 8,
    "transpose": 16,
    "transpose f16": 16,
    "copy": 16,
    "axpy": 16,
    "bias and relu": 16,
}
"""Kernels that memory limits, and bytes of their narrowest access to it."""


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


@pytest.mark.parametrize("name", STREAMED)
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


@pytest.mark.parametrize(
    "name", ["free row sum", "free column sum", "free full sum", "softmax"]
)
def test_reductions_are_limited_by_memory_alone(name: str) -> None:
    """Two blocks for each of 132 multiprocessors, whole sectors, 16 bytes an access."""
    kernel = reported(name)
    assert math.prod(kernel.launch.grid) >= 2 * 132
    assert kernel.limits.binding == "device memory"
    streams = [row for row in kernel.accesses if row.array in ("a", "b")]
    assert all(row.used >= 0.99 and row.width == 16 for row in streams)


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


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in GUARDED])
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
