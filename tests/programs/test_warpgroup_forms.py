"""Kernels of warpgroups whose results tensor copies store, and blocks of many tiles."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors
from gpucodegen.intrinsics.cuda import assembly
from gpucodegen.passes.checks.races import VerifyKernels
from tests.programs.test_device_products import windows
from tests.programs.test_tensor_cores import LAYER, product_text, text_of
from tests.programs.test_warpgroup_convolutions import CASES as IMAGES
from tests.programs.test_warpgroup_convolutions import NHWC, convolution, integers
from tests.programs.test_warpgroup_products import BATCH, compiled
from tests.programs.test_warpgroups import mutated
from tests.ptx.mutations.edits import Edit, drop, put

RNG = np.random.default_rng(22)
SMALL = {"product.consumers": 1, "product.tile_columns": 64, "product.splits": 1}
TALL = {**SMALL, "product.consumers": 2}
WIDE = {**TALL, "product.tile_columns": 256}
STORES, SLICES = {"product.tensor_stores": 2}, {"product.tensor_stores": 1}


def turns(count: int) -> dict[str, int]:
    return {"product.turns": count}


def stages(count: int) -> dict[str, int]:
    return {"product.stages": count}


RAGGED = (72, 88, 168)
CASES: list[tuple[dict[str, int], str, tuple[int, int, int], str]] = [
    *(
        ({**SMALL, **STORES, **turns(4), **stages(2)}, way, RAGGED, "f32")
        for way in ("nn", "nt", "tn", "tt")
    ),
    *(
        ({**SMALL, **STORES, **turns(4), **stages(n)}, "nn", (136, 200, 136), "f16")
        for n in range(3, 8)
    ),
    ({**SMALL, **SLICES, **turns(2)}, "nn", RAGGED, "f32"),
    ({**SMALL, **STORES, **turns(1)}, "nn", (8, 16, 40), "f32"),
    ({**SMALL, **STORES, **turns(1)}, "nt", RAGGED, "f16"),
    ({**TALL, **STORES, **turns(2), **stages(3)}, "tn", (200, 136, 72), "f16"),
    ({**WIDE, **STORES, **turns(2)}, "nn", (136, 264, 72), "f32"),
    ({**WIDE, **STORES, **turns(2)}, "tt", (136, 264, 72), "f16"),
    ({**SMALL, **STORES, **turns(2), "product.splits": 2}, "nn", (64, 64, 2048), "f32"),
    ({**SMALL, **SLICES, **turns(4), "product.splits": 2}, "nn", (64, 72, 2048), "f16"),
]


def has_form(program: gcg.Program, plan: dict[str, int]) -> bool:
    text = text_of(program)
    stores = "nvgpu.tma.async.store" in text
    several = "affine.for %turn" in text
    return (stores, several) == (
        plan["product.tensor_stores"] == 2,
        plan["product.turns"] > 1,
    )


@pytest.mark.drawn(5)
@pytest.mark.slow
@pytest.mark.parametrize(("plan", "layout", "shape", "sums"), CASES)
@pytest.mark.sampled(4)
def test_all_layouts_and_ragged_extents(
    plan: dict[str, int], layout: str, shape: tuple[int, int, int], sums: str
) -> None:
    m, n, k = shape
    a, b = (RNG.integers(-2, 3, size).astype("f2") for size in ((m, k), (k, n)))
    c = RNG.integers(-8, 8, (m, n)).astype("f4" if sums == "f32" else "f2")
    want = c + a.astype("f8") @ b.astype("f8")
    given = [
        np.ascontiguousarray(x.T) if way == "t" else x
        for x, way in zip((a, b), layout, strict=True)
    ]
    program = compiled(product_text(shape, layout, "f16", sums), plan)
    program.f(*given, c)
    np.testing.assert_array_equal(c, want)
    assert has_form(program, plan)


@pytest.mark.parametrize(("several", "high"), [(4, 2), (1, 2), (1, 8)])
@pytest.mark.slow
def test_tiles_in_bands_that_are_asked_for(several: int, high: int) -> None:
    """Four tiles one below the other: the last band of eight has blocks without one."""
    m, n, k = shape = 256, 192, 72
    a, b = (RNG.integers(-2, 3, size).astype("f2") for size in ((m, k), (k, n)))
    c = np.zeros((m, n), "f4")
    plan = {**SMALL, **STORES, **turns(several), "product.group": high}
    program = compiled(product_text(shape, "nn", "f16", "f32"), plan, verify=True)
    program.f(a, b, c)
    np.testing.assert_array_equal(c, a.astype("f8") @ b)
    assert has_form(program, plan)
    assert f"floordiv {3 * high}" in text_of(program)


@pytest.mark.slow
@pytest.mark.parametrize("high", [1, 4, 16])
def test_bands_go_together_with_stages(high: int) -> None:
    """Also where the estimate would not have them."""
    asked = {"product.consumers": 2, "product.tile_columns": 256, **stages(3)}
    text = product_text((4096, 4096, 4096), "nn", "f16", "f16")
    plan = {**asked, **turns(1), "product.group": high}
    program = gcg.compile(text, target="sim", plan=plan, verify=False)
    assert (f"floordiv {16 * high})" in text_of(program)) == (high > 1)


@pytest.mark.parametrize("several", [1, 2])
@pytest.mark.slow
def test_what_follows_is_done_to_the_sums(several: int) -> None:
    """Only elements that exist are read of the bias."""
    text = LAYER.replace("40", "136") if several > 1 else LAYER
    rows = 136 if several > 1 else 40
    a, b = (RNG.integers(-4, 4, size).astype("f2") for size in ((rows, 48), (48, 56)))
    bias, d = RNG.integers(-9, 9, 56).astype("f4"), np.zeros((rows, 56), "f2")
    plan = {**SMALL, **STORES, **turns(several)}
    program = compiled(text, plan)
    program.f(a, b, bias, d)
    np.testing.assert_array_equal(d, np.maximum(a.astype("f8") @ b + bias, 0))
    assert has_form(program, plan)


@pytest.mark.slow
def test_turns_go_through_a_batch() -> None:
    a, b = (RNG.integers(-4, 4, s).astype("f2") for s in ((2, 72, 64), (2, 64, 80)))
    c = np.ones((2, 72, 80), "f4")
    plan = {**SMALL, **STORES, **turns(4)}
    program = compiled(BATCH, plan)
    program.f(a, b, c)
    np.testing.assert_array_equal(c, 1 + a.astype("f8") @ b)
    assert has_form(program, plan)


@pytest.mark.parametrize("name", ["pixels that are not there", "strides"])
@pytest.mark.slow
def test_boxes_of_pixels(name: str) -> None:
    form, case = IMAGES[name]
    narrow = {"product.tile_columns": 64}
    plan = {**form, **narrow, **STORES, **turns(2)}
    x, w = integers(*case[0]), integers(*case[1])
    want = windows(NHWC, x, w, *case[2:]) + 1
    program = compiled(convolution(case), plan)
    found: Any = np.ones(want.shape, "f4")
    program.f(x, w, found)
    np.testing.assert_array_equal(found, want)
    assert has_form(program, plan)


@pytest.mark.slow
def test_results_that_no_tensor_copy_stores() -> None:
    """Rows of 66 elements are not multiples of 16 bytes apart."""
    text = product_text((64, 66, 64), "nt", "f16", "f32")
    program = gcg.compile(text, target="sim", plan={**SMALL, **STORES}, tuned=False)
    with pytest.raises(errors.InvalidPassOption, match=r"product\.tensor_stores': 2"):
        program.stages("f")


@pytest.mark.slow
@pytest.mark.parametrize("sums", ["f16", "f32"])
@pytest.mark.parametrize(
    ("side", "form"),
    [(4096, {**SLICES, **turns(4)}), (2048, {**STORES, **turns(1)})],
)
def test_the_model_chooses(side: int, form: dict[str, int], sums: str) -> None:
    """Several tiles a block where there are several for each multiprocessor.

    Of a block of one tile, tensor copies store the result.  On an H100 it was so
    (`tests/tiling/test_measured_plans`).
    """
    text = product_text((side, side, side), "nn", "f16", sums)
    program = gcg.compile(text, target="sim", arch="sm_90a", verify=False)
    assert has_form(program, form)


@pytest.mark.filterwarnings("ignore::gpucodegen.errors.PossiblyOutOfBounds")
def test_extents_of_a_call_leave_one_tile_to_a_block() -> None:
    text = product_text((4000, 4096, 4096), "nn", "f16", "f32").replace("4000x", "?x")
    program = gcg.compile(text, target="sim", arch="sm_90a", verify=False)
    found = text_of(program)
    assert "nvgpu.warpgroup.mma" in found
    assert "affine.for %turn" not in found


@pytest.mark.parametrize("form", [{**STORES, **turns(1)}, {**STORES, **turns(4)}])
@pytest.mark.parametrize(("plan", "shape"), [(SMALL, RAGGED), (WIDE, (4096,) * 3)])
@pytest.mark.slow
def test_they_are_proven(
    plan: dict[str, int], shape: tuple[int, int, int], form: dict[str, int]
) -> None:
    """No warning says otherwise."""
    text = product_text(shape, "nn", "f16", "f16")
    assert has_form(compiled(text, {**plan, **form}, verify=True), form)


SPOILT = {**SMALL, **STORES, **turns(2), **stages(2)}
SIDES = (128, 64, 192)
"""Two tiles of three blocks of terms: the ring stands elsewhere at the second."""
WAIT = r"cp\.async\.bulk\.wait_group"
TRY = r"(mbarrier\.try_wait\.parity\S+ p, \[%r\d+\], )(%r\d+)(, %r\d+;)"
FLIPPED = r".reg .b32 q; xor.b32 q, \2, 1; \1q\3"
EARLY = "never written|not waited for|was overwritten|more arrivals"
MUTATIONS = [
    ("no fence", drop(r"fence\.proxy\.async\.shared", None), "no fence.proxy.async"),
    ("boxes written too early", drop(WAIT, 0), "overwritten before|not waited for"),
    ("stores not waited for", drop(WAIT, None), "not waited for|overwritten before"),
    ("no group", drop(r"cp\.async\.bulk\.commit_group", None), "not waited for"),
    ("no arrival at empty", drop(r"mbarrier\.arrive\.shared", None), "deadlock"),
    ("full: phase flipped", put(TRY, FLIPPED, 0), EARLY),
    ("lanes do not meet", drop(r"bar\.warp", None), "race|never written"),
]
"""What is done to the text of a kernel, and what the emulated device says of it."""


@pytest.mark.slow
@pytest.mark.sampled(7)
@pytest.mark.parametrize(
    ("edit", "told"),
    [row[1:] for row in MUTATIONS],
    ids=[row[0] for row in MUTATIONS],
)
def test_a_kernel_that_is_spoilt(
    edit: Edit, told: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    whole: Callable[..., str] = vars(assembly)["ptx"]

    def spoilt(*given: object) -> str:
        return edit(whole(*given))

    monkeypatch.setattr(assembly, "ptx", spoilt)
    monkeypatch.setenv("GPUCODEGEN_CACHE_DIR", str(tmp_path))
    m, n, k = SIDES
    a, b = (RNG.integers(-4, 4, s).astype("f2") for s in ((m, k), (k, n)))
    program = compiled(product_text(SIDES, "nn", "f16", "f32"), SPOILT)
    with pytest.raises(errors.LaunchFailed, match=told):
        program.f(a, b, np.zeros((m, n), "f4"))


@cache
def mapped() -> str:
    """The module with the kernel."""
    program = compiled(product_text(SIDES, "nn", "f16", "f32"), SPOILT)
    return program.stages("f")[-1][1]


REFUSED = [
    ("no fence", "nvvm.fence.proxy", "", "no proxy fence"),
    ("boxes written too early", "nvvm.cp.async.bulk.wait_group", "", "boxes"),
    ("no group", "nvvm.cp.async.bulk.commit.group", "", "boxes"),
    ("no arrival at empty", "nvgpu.mbarrier.arrive %empty", "", "reads sa"),
    ("a phase flipped", "floordiv 2) mod 2)", "floordiv 2 + 1) mod 2)", "reads s"),
    (
        "the ring begins anew",
        "(d0, d1) -> ((d0 * 3 + d1)",
        "(d0, d1) -> ((d1)",
        "take turns",
    ),
]
ROW = "(d0, d1) -> (d0 * 64 + (d1 floordiv 32) * 16)>(%tile, %t)"
REFUSED += [
    ("tiles at one place", ROW, ROW.replace("d0 * 64 + ", ""), "c"),
    ("tiles that overlap", ROW, ROW.replace("d0 * 64", "d0 * 32"), "c"),
]
"""What is done to the module, and what the proof says.

It knows that the map of the result describes what the kernel reads, too.
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "told"),
    [row[1:] for row in REFUSED],
    ids=[row[0] for row in REFUSED],
)
def test_the_proof_refuses_what_is_spoilt(old: str, new: str, told: str) -> None:
    """Or warns that it does not know the order."""
    expected: Any = (errors.CompileError, errors.KernelUnproven)
    with pytest.raises(expected, match=told):
        VerifyKernels().apply(gcg.parse(mutated(mapped(), old, new)))
