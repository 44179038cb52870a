"""Figures of products on tensor cores: what the text and the machine code show."""

from __future__ import annotations

import pytest

from gpucodegen.report.gpu.model import KernelReport
from gpucodegen.report.gpu.report import report
from gpucodegen.tiling.machine.gpu.devices import DEVICES
from gpucodegen.tiling.machine.gpu.products.candidates import FRAGMENTS, WarpTiles
from gpucodegen.tiling.machine.gpu.products.copies import fragment_copy, read_turns
from gpucodegen.tiling.machine.gpu.products.plan import clocks_of, plan_contraction
from gpucodegen.tiling.machine.gpu.products.product_work import Product
from tests.report.key_kernels import product

SIDE = 4096


def of_halves(side: int) -> Product:
    fragments = Product(
        *(side, side, side), element=2, widths=(8, 8), direct=(True, True)
    )
    return Product(side, side, side, widths=(8, 8), fragments=fragments)


@pytest.mark.parametrize("element", [1, 2, 4])
@pytest.mark.parametrize("along_depth", [False, True])
@pytest.mark.parametrize("plan", FRAGMENTS)
def test_no_bank_conflicts(plan: WarpTiles, along_depth: bool, element: int) -> None:
    """Copies of 16 bytes and tiles of fragments take as few turns as there can be.

    Rows of less than 128 bytes that lie by term are those of small tiles only.
    """
    depth, width = plan.depth * 2 // element, 16 // element
    for size in (plan.tile_rows, plan.tile_columns):
        copy = fragment_copy(size, depth, plan.threads, along_depth, width, element)
        assert read_turns(copy, element) == 1
        if not copy.is_turned and (along_depth or size * element >= 128):
            assert copy.turns(element) == min(32, copy.chunks) * 16 // 128


def test_large_products_are_bound_by_tensor_cores() -> None:
    """Estimates, on an H100: 0.6 of what its library was measured to reach."""
    device, wanted = DEVICES["H100"], of_halves(SIDE)
    plan = plan_contraction(wanted)
    assert isinstance(plan, WarpTiles)
    assert plan.direct == (True, True)
    assert plan.stages >= 3
    seconds = clocks_of(plan, wanted, device) / (device.clock * 1e9)
    peak = 2 * 2048 * device.processors * device.clock * 1e9
    assert 2 * SIDE**3 / seconds / peak > 0.6 * device.library["f16"]


@pytest.mark.sass
@pytest.mark.parametrize("architecture", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("kind", ["f16", "bf16"])
@pytest.mark.slow
def test_machine_code_of_large_products(kind: str, architecture: str) -> None:
    """A few terms of each sum, for the loop is the same for many."""
    text = product(SIDE, SIDE, 128, kind, "f32")
    (function,) = report(text, arch=architecture).functions
    (kernel,) = function.kernels
    check(kernel)


def check(kernel: KernelReport) -> None:
    """4 products a load, copies of 16 bytes, one barrier, no spills, no conflicts."""
    code = kernel.machine_loop
    assert code is not None
    assert code.kinds["MMA"] >= 4 * code.kinds["LDS"]
    assert code.kinds["LDGSTS"] > 0
    assert kernel.launch.spill_stores == 0
    for row in kernel.accesses:
        assert row.executed <= row.ideal
        assert row.width == 16 or (row.space, row.direction) == ("shared", "store")
