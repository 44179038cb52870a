"""Figures of products on tensor cores: what the text and the machine code show."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

import gpucodegen as gcg
from gpucodegen.report.gpu.model import KernelReport
from gpucodegen.report.gpu.report import report
from gpucodegen.runtime.cuda.compilation import compile_cubin, compile_ptx, disassemble
from gpucodegen.runtime.host.spec import KernelSpec
from gpucodegen.sass.listing import listings, main_loop, mix
from gpucodegen.tiling.machine.gpu.devices import DEVICES, GpuDevice
from gpucodegen.tiling.machine.gpu.product_plan import clocks_of, plan_contraction
from gpucodegen.tiling.machine.gpu.product_tiles import (
    DOUBLES,
    FRAGMENTS,
    WarpgroupTiles,
    WarpTiles,
)
from gpucodegen.tiling.machine.gpu.product_work import Product
from gpucodegen.tiling.machine.gpu.shared_copies import fragment_copy, read_turns
from tests.programs.products import product as oriented
from tests.report.key_kernels import product

SIDE = 4096


def of_halves(side: int) -> Product:
    sides = side, side, side
    halves: dict[str, Any] = {"element": 2, "widths": (8, 8), "result": 2}
    direct = (True, True)
    fragments = Product(*sides, **halves, direct=direct, boxes=True, stores=True)
    return Product(side, side, side, widths=(8, 8), fragments=fragments)


TILES = [
    *(pytest.param(plan, size) for size in (1, 2, 4) for plan in FRAGMENTS),
    *(pytest.param(plan, 8) for plan in DOUBLES),
]


@pytest.mark.cases("along_depth", [False, True])
@pytest.mark.cases(("plan", "element"), TILES)
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


def teraflops(clocks: float, device: GpuDevice) -> float:
    """What a product of ``SIDE`` makes a second, at the boost clock."""
    return 2 * SIDE**3 / clocks * device.clock / 1000


def test_large_products_go_to_tensor_cores_past_the_registers() -> None:
    """Estimates, on an H100: at least 0.42 of the library; 0.5 was measured."""
    device, wanted = DEVICES["H100"], of_halves(SIDE)
    plan = plan_contraction(wanted)
    assert isinstance(plan, WarpTiles)
    assert plan.direct == (True, True)
    clocks = clocks_of(plan, wanted, device)
    assert teraflops(clocks, device) > 0.42 * device.library["f16"]


def test_warpgroups_come_near_the_library() -> None:
    """Estimates, on an H100: 0.9 of its library; 0.93 was measured."""
    device, wanted = DEVICES["H100"], of_halves(SIDE)
    plan = plan_contraction(wanted, warpgroups=True)
    assert isinstance(plan, WarpgroupTiles)
    assert (plan.tile_columns, plan.consumers) == (256, 2)
    assert plan.stages >= 4
    clocks = clocks_of(plan, wanted, device)
    assert teraflops(clocks, device) > 0.9 * device.library["f16"]
    assert clocks < clocks_of(plan_contraction(wanted), wanted, device)


@pytest.mark.parametrize("name", ["A100", "RTX 4090", "B200"])
def test_only_sm_90_has_warpgroups(name: str) -> None:
    wanted, device = of_halves(SIDE), DEVICES[name]
    plan = plan_contraction(wanted, device=device, warpgroups=True)
    assert not isinstance(plan, WarpgroupTiles)


@pytest.mark.sass
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_machine_code_of_warpgroups(kind: str) -> None:
    """Products of the widest shape, whose sums nothing moves, from tensor copies.

    Between two tiles of a block a few numbers may wait in memory.
    """
    text = product(SIDE, SIDE, SIDE, kind, "f32")
    program = gcg.compile(text, target="sim", plan={"product.consumers": 2})
    (kernel,) = program["f"].executable().kernels
    cubin = compile_cubin(kernel, (9, 0))
    code = disassemble(cubin.code)
    assert not re.search("C75(10|11|15)|warning", cubin.log)
    assert cubin.registers == 168
    assert cubin.spills <= 24
    products = re.findall(r"HGMMA\.(\S+) (R\d+), gdesc\S+ (R\d+)", code)
    assert {shape for shape, *_ in products} == {
        "64x256x16.F32" + (".BF16" if kind == "bf16" else "")
    }
    assert len({register for _, *both in products for register in both}) == 1
    assert "UTMALDG.2D" in code
    assert not re.search(r"\bLDGSTS\b", code)
    multiplied = code[: code.rindex("HGMMA")]
    assert not re.search(r"\b(LDL|STL)\b", multiplied)
    assert {"USETMAXREG.DEALLOC.CTAPOOL", "USETMAXREG.TRY_ALLOC.CTAPOOL"} <= set(
        re.findall(r"USETMAXREG[.\w]+", code)
    )
    stages = kernel.shared_bytes // ((128 + 256) * 128)
    assert stages >= 4


@pytest.mark.sass
@pytest.mark.slow
@pytest.mark.parametrize("turns", [1, 4])
@pytest.mark.parametrize("result", ["f16", "f32"])
@pytest.mark.drawn(2)
def test_machine_code_of_tensor_stores(result: str, turns: int) -> None:
    """Tensor copies store all of the result; nothing spills, no stage is lost.

    A box has 128 bytes of 16 rows: four or eight are as wide as the tile.
    """
    text = product(SIDE, SIDE, SIDE, "f16", result)
    asked = {"consumers": 2, "tile_columns": 256, "tensor_stores": 2, "turns": turns}
    plan = {f"product.{name}": number for name, number in asked.items()}
    program = gcg.compile(text, target="sim", plan=plan, verify=False)
    (kernel,) = program["f"].executable().kernels
    cubin = compile_cubin(kernel, (9, 0))
    code = disassemble(cubin.code)
    assert not re.search("C75(10|11|15)|warning", cubin.log)
    assert (cubin.spills, cubin.registers) == (0, 168)
    assert set(re.findall(r"HGMMA\.(\S+)", code)) == {"64x256x16.F32"}
    size = {"f16": 2, "f32": 4}[result]
    assert code.count("UTMASTG.2D") == 256 * size // 128
    assert not re.search(r"\b(LDL|STL|STG|LDS|LDGSTS)\b", code)
    assert "UTMALDG.2D" in code
    ring = kernel.shared_bytes - 8 * 16 * 512
    assert ring // ((128 + 256) * 128) == 3


THREE_STAGES = {
    "product.tile_rows": 128,
    "product.tile_columns": 128,
    "product.depth": 32,
    "product.warp_rows": 64,
    "product.stages": 3,
}
"""Of the tiles by `mma.sync` that an H100 timed, with 128 columns, the fastest."""


@pytest.mark.sass
@pytest.mark.parametrize("architecture", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("kind", ["f16", "bf16"])
@pytest.mark.slow
@pytest.mark.drawn(2)
def test_machine_code_of_large_products(kind: str, architecture: str) -> None:
    """A few terms of each sum, with a plan for many: the loop is the same."""
    text = product(SIDE, SIDE, 512, kind, "f32")
    options = {"arch": architecture.removesuffix("a"), "plan": THREE_STAGES}
    (function,) = report(text, arch=architecture, options=options).functions
    (kernel,) = function.kernels
    check(kernel)


NARROW = [
    ("i8", "i32", "sm_80", "IMMA.16832.S8.S8", 64),
    ("i8", "i32", "sm_90", "IMMA.16832.S8.S8", 64),
    ("f32", "f32", "sm_80", "HMMA.1688.F32.TF32", 16),
    ("f32", "f32", "sm_90", "HMMA.1688.F32.TF32", 16),
    ("f8E4M3FN", "f32", "sm_90", "HMMA.16816.F32", 64),
    ("f8E5M2", "f32", "sm_90", "HMMA.16816.F32", 64),
    ("f8E4M3FN", "f32", "sm_89", "QMMA.16832.F32.E4M3.E4M3", 64),
    ("f8E5M2", "f32", "sm_89", "QMMA.16832.F32.E5M2.E5M2", 64),
]
"""Elements of factors and sums, the widest products of an architecture, and a depth.

sm_90 has no product of floats of 8 bits for one warp: they become f16 in registers.
"""


@pytest.mark.sass
@pytest.mark.parametrize(("kind", "sums", "arch", "shape", "depth"), NARROW)
@pytest.mark.slow
@pytest.mark.drawn(4)
def test_machine_code_of_other_elements(
    kind: str, sums: str, arch: str, shape: str, depth: int
) -> None:
    """As those of f16, where both factors lie along the terms."""
    result = f"{SIDE}x{SIDE}x{kind}>", f"{SIDE}x{SIDE}x{sums}>"
    text = oriented(SIDE, SIDE, SIDE, kind, right="jk")
    for start in ("%C: memref<", "%C : memref<"):
        text = text.replace(start + result[0], start + result[1])
    plan = {**THREE_STAGES, "product.depth": depth}
    program = gcg.compile(text, target="sim", arch=arch, precision="tf32", plan=plan)
    (kernel,) = program["f"].executable().kernels
    names = main_names(kernel, arch, may_spill=arch == "sm_89")
    kinds = {n for n in names if re.match("[HIQ]MMA", n)}
    assert kinds == {shape}
    assert names["LDSM.16.M88.4"] * (1 if kind == "f32" else 4) <= names[shape]
    pending = re.findall(r"cp\.async\.wait_group (\d+)", compile_ptx(kernel, (9, 0)))
    assert set(pending) == {"1"}


WINDOWS = [
    (64, 58, 64, 3, "hwcf"),
    (128, 30, 128, 3, "fhwc"),
    (256, 16, 256, 3, "fhwc"),
    (512, 9, 512, 3, "fhwc"),
    (1024, 14, 256, 1, "fhwc"),
]
"""Channels, pixels of a side with a border, filters, and their side and layout."""


@pytest.mark.sass
@pytest.mark.parametrize(("channels", "side", "filters", "window", "layout"), WINDOWS)
@pytest.mark.slow
@pytest.mark.drawn(2)
def test_machine_code_of_convolutions(
    channels: int, side: int, filters: int, window: int, layout: str
) -> None:
    """The loop of a product: one instruction in seven computes integers at most."""
    extents = {"f": filters, "h": window, "w": window, "c": channels}
    shapes = (
        f"32x{side}x{side}x{channels}",
        "x".join(str(extents[axis]) for axis in layout),
        f"32x{side - window + 1}x{side - window + 1}x{filters}",
    )
    image, kernels, result = (
        f"memref<{shape}x{kind}>"
        for shape, kind in zip(shapes, ("f16", "f16", "f32"), strict=True)
    )
    text = f"""func.func @f(%I: {image}, %F: {kernels}, %O: {result}) {{
      linalg.conv_2d_nhwc_{layout} ins(%I, %F : {image}, {kernels}) outs(%O : {result})
      return
    }}"""
    program = gcg.compile(text, target="sim", arch="sm_90")
    (kernel,) = program["f"].executable().kernels
    names = main_names(kernel, "sm_90")
    products = names["HMMA.16816.F32"]
    loads = sum(n for name, n in names.items() if name.startswith("LDSM"))
    assert products >= 2 * loads > 0
    assert names["LDGSTS.E.BYPASS.128"] > 0


def main_names(
    kernel: KernelSpec, arch: str, *, may_spill: bool = False
) -> Counter[str]:
    """Instructions of the loop; nothing goes through registers on its way.

    ``may_spill``: sums of f32 beside those of sm_89's instructions have no room.
    """
    number = int(arch.removeprefix("sm_"))
    cubin = compile_cubin(kernel, divmod(number, 10))
    loop = main_loop(listings(disassemble(cubin.code))[cubin.name])
    names = Counter(x.name for x in loop)
    kinds = mix(loop)
    assert may_spill or cubin.spills == 0
    assert not {"LDG", "STS", "STG"} & set(kinds)
    assert {name for name in names if name.startswith("LDGSTS")} == {
        "LDGSTS.E.BYPASS.128"
    }
    if not may_spill and not any("TF32" in name for name in names):
        assert kinds["integer"] / kinds.total() <= 0.15
    return names


DOUBLE_LAYOUTS = {"nn": ("ik", "kj"), "tt": ("ki", "jk")}


@pytest.mark.slow
@pytest.mark.sass
@pytest.mark.parametrize(
    ("architecture", "shape"), [((8, 0), "884"), ((9, 0), "16x8x4")]
)
@pytest.mark.parametrize("layout", DOUBLE_LAYOUTS)
@pytest.mark.drawn(2)
def test_machine_code_of_f64(
    layout: str, architecture: tuple[int, int], shape: str
) -> None:
    """Products of one shape, no more loads than 3 for 4, copies of 16 bytes."""
    left, right = DOUBLE_LAYOUTS[layout]
    text = oriented(SIDE, SIDE, 128, "f64", left=left, right=right)
    program = gcg.compile(text, target="sim", plan={"product.warp_rows": 64})
    (kernel,) = program["f"].executable().kernels
    cubin = compile_cubin(kernel, architecture)
    listing = listings(disassemble(cubin.code))[cubin.name]
    assert cubin.spills == 0
    names = Counter(x.name for x in main_loop(listing))
    products = {name: n for name, n in names.items() if name.startswith("DMMA")}
    assert set(products) == {f"DMMA.{shape}"}
    assert 0 < names["LDS.64"] <= 3 / 4 * sum(products.values())
    assert any(name.startswith("LDGSTS") and "128" in name for name in names)
    assert not {"LDL", "STL", "LDG", "DFMA"} & {name.split(".")[0] for name in names}


@pytest.mark.parametrize(("name", "is_offered"), [("A100", True), ("B200", False)])
def test_f64_is_on_tensor_cores_where_these_are_faster(
    name: str, is_offered: bool
) -> None:
    wide = Product(SIDE, SIDE, SIDE, element=8, widths=(2, 2), result=8)
    fragments = replace(wide, direct=(True, True))
    wanted, device = replace(wide, fragments=fragments), DEVICES[name]
    plan = plan_contraction(wanted, device=device)
    assert isinstance(plan, WarpTiles) == is_offered
    double = 2 * SIDE**3 / clocks_of(plan, wanted, device) / device.processors
    assert not is_offered or double > 1.1 * 2 * device.multiprocessor.double


def check(kernel: KernelReport) -> None:
    """4 products a load, copies of 16 bytes, one barrier, no spills, no conflicts."""
    code = kernel.machine_loop
    assert code is not None
    assert code.kinds["MMA"] >= 4 * code.kinds["LDS"]
    assert code.kinds["LDGSTS"] > 0
    assert kernel.launch.spill_stores == 0
    assert code.kinds["integer"] <= 0.15 * sum(code.kinds.values())
    for row in kernel.accesses:
        assert row.executed <= row.ideal
        assert row.width == 16 or (row.space, row.direction) == ("shared", "store")
