"""Contractions by tensor copies, a ring of stages and products by warpgroups."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors
from gpucodegen.intrinsics.cuda import assembly
from gpucodegen.ir.number_formats import to_bits
from gpucodegen.passes.checks.races import VerifyKernels
from tests.programs.test_tensor_cores import EPSILON, LAYER, product_text, text_of
from tests.programs.test_warpgroups import mutated
from tests.ptx.mutations.edits import BARRIER, TENSOR, Edit, drop, put

if TYPE_CHECKING:
    from numpy.typing import NDArray

RNG = np.random.default_rng(12)
SMALL = {"product.consumers": 1, "product.tile_columns": 64, "product.splits": 1}
LARGE = {"product.consumers": 2, "product.tile_columns": 256, "product.splits": 1}
TWICE = {**SMALL, "product.stages": 2}
RAGGED = (72, 88, 168)
CASES = [
    *((TWICE, layout, RAGGED) for layout in ("nn", "nt", "tn", "tt")),
    (SMALL, "nn", (8, 16, 40)),
    (LARGE, "tt", (136, 264, 72)),
]


def compiled(
    text: str, plan: dict[str, int] = SMALL, *, verify: bool = False
) -> gcg.Program:
    """Without the proof, which takes longer than most runs."""
    return gcg.compile(text, target="sim", plan=plan, verify=verify)


def by_warpgroups(program: gcg.Program) -> bool:
    return "nvgpu.warpgroup.mma" in text_of(program)


@pytest.mark.slow
@pytest.mark.parametrize(("plan", "layout", "shape"), CASES)
@pytest.mark.sampled(6)
def test_all_layouts_and_ragged_extents(
    plan: dict[str, int], layout: str, shape: tuple[int, int, int]
):
    m, n, k = shape
    a, b = (RNG.integers(-8, 8, size).astype("f2") for size in ((m, k), (k, n)))
    c = RNG.integers(-8, 8, (m, n)).astype("f4")
    want = c + a.astype("f8") @ b.astype("f8")
    given = [
        np.ascontiguousarray(x.T) if way == "t" else x
        for x, way in zip((a, b), layout, strict=True)
    ]
    program = compiled(product_text(shape, layout, "f16", "f32"), plan)
    program.f(*given, c)
    np.testing.assert_array_equal(c, want)
    assert by_warpgroups(program)


@pytest.mark.slow
@pytest.mark.parametrize(("plan", "shape"), [(SMALL, RAGGED), (LARGE, (4096,) * 3)])
def test_they_are_proven(plan: dict[str, int], shape: tuple[int, int, int]):
    """No warning says otherwise."""
    text = product_text(shape, "nn", "f16", "f32")
    assert by_warpgroups(compiled(text, plan, verify=True))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("factors", "sums"), [("f16", "f32"), ("f16", "f16"), ("bf16", "f32")]
)
@pytest.mark.sampled(3)
def test_sums_are_near_those_of_float64(factors: str, sums: str):
    """Products are exact; K terms are added in f32, which the device may truncate."""
    m, n, k = shape = 64, 72, 264
    a, b = (RNG.standard_normal(size).astype("f4") for size in ((m, k), (k, n)))
    if factors == "bf16":
        codes = [(x.view("u4") >> 16).astype("u2") for x in (a, b)]
        a, b = ((x.astype("u4") << 16).view("f4") for x in codes)
    else:
        codes = [x.astype("f2") for x in (a, b)]
        a, b = (x.astype("f4") for x in codes)
    c = np.zeros((m, n), "f4" if sums == "f32" else "f2")
    program = compiled(product_text(shape, "nn", factors, sums))
    program.f(*codes, c)
    assert by_warpgroups(program)
    exact, magnitude = (
        x.astype("f8") @ y.astype("f8") for x, y in ((a, b), (abs(a), abs(b)))
    )
    bound = (k + 1) * EPSILON["f32"] * magnitude
    if sums == "f16":
        bound = bound + EPSILON["f16"] * abs(exact)
    assert (abs(c - exact) <= bound).all()


@pytest.mark.slow
def test_what_follows_is_done_to_the_sums():
    a, b = (RNG.integers(-4, 4, size).astype("f2") for size in ((40, 48), (48, 56)))
    bias, d = RNG.integers(-9, 9, 56).astype("f4"), np.zeros((40, 56), "f2")
    program = compiled(LAYER)
    program.f(a, b, bias, d)
    np.testing.assert_array_equal(d, np.maximum(a.astype("f8") @ b + bias, 0))
    assert by_warpgroups(program)
    assert len(program["f"].executable().kernels) == 1


BATCH = """func.func @f(%a: memref<2x72x64xf16>, %b: memref<2x64x80xf16>,
    %c: memref<2x72x80xf32>) {
  linalg.batch_matmul ins(%a, %b : memref<2x72x64xf16>, memref<2x64x80xf16>)
                      outs(%c : memref<2x72x80xf32>)
  return
}"""


@pytest.mark.slow
def test_a_batch_has_maps_of_three_dimensions():
    a, b = (RNG.integers(-4, 4, s).astype("f2") for s in ((2, 72, 64), (2, 64, 80)))
    c = np.ones((2, 72, 80), "f4")
    program = compiled(BATCH)
    program.f(a, b, c)
    np.testing.assert_array_equal(c, 1 + a.astype("f8") @ b)
    assert by_warpgroups(program)


IMAGE = """func.func @f(%i: memref<2x6x6x64xf16>, %w: memref<1x1x64x72xf16>,
    %o: memref<2x6x6x72xf32>) {
  linalg.conv_2d_nhwc_hwcf
    ins(%i, %w : memref<2x6x6x64xf16>, memref<1x1x64x72xf16>)
    outs(%o : memref<2x6x6x72xf32>)
  return
}"""


@pytest.mark.slow
def test_pixels_are_rows():
    """A window of one pixel makes a product of matrices of views."""
    image = RNG.integers(-4, 4, (2, 6, 6, 64)).astype("f2")
    window = RNG.integers(-4, 4, (1, 1, 64, 72)).astype("f2")
    result = np.ones((2, 6, 6, 72), "f4")
    program = compiled(IMAGE)
    program.f(image, window, result)
    np.testing.assert_array_equal(result, 1 + image.astype("f8") @ window[0, 0])
    assert by_warpgroups(program)


ELEMENTS: list[tuple[str, str, str, str]] = [
    ("i8", "i32", "nn", "m64n64k32.s32.s8.s8"),
    ("i8", "i32", "tt", "m64n64k32.s32.s8.s8"),
    ("f32", "f32", "nt", "m64n64k8.f32.tf32.tf32"),
    ("f32", "f32", "tn", "m64n64k8.f32.tf32.tf32"),
    ("f8E4M3FN", "f32", "nn", "m64n64k32.f32.e4m3.e4m3"),
    ("f8E5M2", "f32", "nt", "m64n64k32.f32.e5m2.e5m2"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("factors", "sums", "layout", "instruction"), ELEMENTS)
@pytest.mark.sampled(3)
def test_bytes_and_words(factors: str, sums: str, layout: str, instruction: str):
    """Whole numbers below 8 are exact in all types; terms have to be contiguous."""
    m, n, k = shape = 72, 88, 176
    a, b = (RNG.integers(-7, 8, size) for size in ((m, k), (k, n)))
    c = RNG.integers(-8, 8, (m, n)).astype("i4" if sums == "i32" else "f4")
    want = c + a @ b
    given = [
        in_memory(np.ascontiguousarray(x.T) if way == "t" else x, factors)
        for x, way in zip((a, b), layout, strict=True)
    ]
    text = product_text(shape, layout, factors, sums)
    options: dict[str, Any] = {"precision": "tf32"} if factors == "f32" else {}
    program = gcg.compile(text, target="sim", arch="sm_90a", plan=SMALL, **options)
    program.f(*given, c)
    np.testing.assert_array_equal(c, want)
    copies = layout[0] == "t", layout[1] == "n"
    *turned, product = program.assembly("f").values()
    assert len(turned) == sum(copies)
    assert f"wgmma.mma_async.sync.aligned.{instruction}" in product


def in_memory(x: NDArray[np.integer[Any]], kind: str) -> NDArray[Any]:
    """Numbers in their type, or in the bytes of one that NumPy does not have."""
    if not kind.startswith("f8"):
        return x.astype({"i8": "i1", "f32": "f4"}[kind])
    codes = [to_bits(n, kind) for n in range(-7, 8)]
    return np.array(codes, "u1")[x + 7]


@pytest.mark.slow
def test_tensor_cores_cut_the_factors_of_tf32():
    """Of 24 bits 11 are left, so a product is off by 2^-9 at most."""
    m, n, k = shape = 64, 64, 32
    a, b = (RNG.standard_normal(size).astype("f4") for size in ((m, k), (n, k)))
    c = np.zeros((m, n), "f4")
    text = product_text(shape, "nt", "f32", "f32")
    options: dict[str, Any] = {"arch": "sm_90a", "precision": "tf32", "verify": False}
    gcg.compile(text, target="sim", plan=SMALL, **options).f(a, b, c)
    wide = [x.astype("f8") for x in (a, b.T)]
    magnitude = abs(wide[0]) @ abs(wide[1])
    assert (abs(c - wide[0] @ wide[1]) <= (2**-9 + k * 2**-23) * magnitude).all()


@pytest.mark.slow
@pytest.mark.parametrize(("factors", "arch"), [("i8", "sm_80"), ("f8E4M3FN", "sm_89")])
@pytest.mark.parametrize("layout", ["nn", "tn"])
def test_fragments_of_copied_factors(factors: str, arch: str, layout: str):
    """The first kernel's plan is that of a copy, which no model would make here."""
    m, n, k = shape = 72, 88, 176
    a, b = (RNG.integers(-7, 8, size) for size in ((m, k), (k, n)))
    sums = "i32" if factors == "i8" else "f32"
    c = np.ones((m, n), "i4" if factors == "i8" else "f4")
    want = c + a @ b
    left = np.ascontiguousarray(a.T) if layout[0] == "t" else a
    given = [in_memory(x, factors) for x in (left, b)]
    plan = {"f_k0.turned.rows": 32}
    text = product_text(shape, layout, factors, sums)
    program = gcg.compile(text, target="sim", arch=arch, plan=plan)
    program.f(*given, c)
    np.testing.assert_array_equal(c, want)
    *turned, product = program.assembly("f").values()
    assert len(turned) == (2 if layout[0] == "t" else 1)
    assert "mma.sync" in product


@pytest.mark.slow
@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("size", [256, 4096])
def test_copies_of_factors_pay_for_large_products(size: int, arch: str):
    """Tensor cores read bytes along the terms only, so one factor is copied."""
    text = product_text((size, size, size), "nn", "i8", "i32")
    program = gcg.compile(text, target="cuda", arch=arch, verify=False)
    assert len(program.assembly("f")) == (2 if size == 4096 else 1)
    assert by_warpgroups(program) == (size == 4096 and arch == "sm_90a")


@pytest.mark.slow
def test_a_schedule_says_whether_factors_are_copied():
    text = product_text((128, 128, 128), "nn", "i8", "i32")
    options: dict[str, Any] = {"target": "cuda", "arch": "sm_90a", "verify": False}
    for plan in ({}, SMALL, {"product.warp_rows": 32}):
        program = gcg.compile(text, plan=plan, **options)
        again = gcg.compile(text, schedule={"f": program.schedule("f")}, **options)
        assert again.source("f") == program.source("f")


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("shape", "factors"), [((64, 64, 60), "f16"), ((64, 64, 72), "i8")]
)
def test_what_tensor_copies_cannot_bring(shape: tuple[int, int, int], factors: str):
    """Rows that are not multiples of 16 bytes apart."""
    text = product_text(shape, "nn", factors, "i32" if factors == "i8" else "f32")
    program = gcg.compile(text, target="sim", plan=SMALL, tuned=False)
    with pytest.raises(errors.InvalidPassOption, match=r"product\.consumers=1"):
        program.stages("f")


def test_they_are_not_chosen_unasked():
    """Devices before sm_90 run what a program is compiled for, too."""
    text = product_text((4096, 4096, 4096), "nn", "f16", "f32")
    assert not by_warpgroups(gcg.compile(text, target="sim", verify=False))


TRY = r"(mbarrier\.try_wait\.parity\S+ p, \[%r\d+\], )(%r\d+)(, %r\d+;)"
FLIPPED = r".reg .b32 q; xor.b32 q, \2, 1; \1q\3"
OVER = "setp.eq.u32 p, 0, 0;"
EARLY, STUCK, HELD = "never written", "deadlock", "which is still read"
ARRIVE = r"mbarrier\.arrive\.shared[^;]*;"
MUTATIONS = [
    ("no arrival at empty", drop(r"mbarrier\.arrive\.shared", None), STUCK),
    ("no bytes expected", drop(r"mbarrier\.arrive\.expect_tx", None), STUCK),
    ("full: not waited for", put(TRY, OVER, 0), EARLY),
    ("full: phase flipped", put(TRY, FLIPPED, 0), EARLY),
    ("empty: not waited for", put(TRY, OVER, -1), "more arrivals|more than expected"),
    ("empty: phase flipped", put(TRY, FLIPPED, -1), "more arrivals"),
    ("a copy dropped", drop(TENSOR, -1), "bytes missing"),
    ("no fence of registers", drop(r"wgmma\.fence", None), "without a wgmma.fence"),
    ("products not committed", drop(r"wgmma\.commit", None), HELD),
    ("products not waited for", drop(r"wgmma\.wait", None), HELD),
    ("barrier dropped", drop(BARRIER), "behind the initialisation"),
    ("barriers of warps dropped", drop(r"bar\.warp", None), "race"),
    ("twice the arrivals", put(f"({ARRIVE})", r"\1 \1", None), "arrivals"),
]
"""What is done to the text of a kernel, and what the emulated device says of it."""


@pytest.mark.slow
@pytest.mark.sampled(12)
@pytest.mark.parametrize(
    ("edit", "told"),
    [row[1:] for row in MUTATIONS],
    ids=[row[0] for row in MUTATIONS],
)
def test_a_kernel_that_is_spoilt(
    edit: Edit, told: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    whole: Callable[..., str] = vars(assembly)["ptx"]

    def spoilt(*given: object) -> str:
        return edit(whole(*given))

    monkeypatch.setattr(assembly, "ptx", spoilt)
    monkeypatch.setenv("GPUCODEGEN_CACHE_DIR", str(tmp_path))
    a, b = (RNG.integers(-4, 4, s).astype("f2") for s in ((64, 320), (320, 64)))
    program = compiled(product_text((64, 64, 320), "nn", "f16", "f32"), TWICE)
    with pytest.raises(errors.LaunchFailed, match=told):
        program.f(a, b, np.zeros((64, 64), "f4"))


@pytest.fixture(scope="module")
def mapped() -> str:
    """The module with the kernel."""
    program = compiled(product_text((64, 64, 320), "nn", "f16", "f32"), TWICE)
    return program.stages("f")[-1][1]


REFUSED = [
    ("no arrival at empty", "nvgpu.mbarrier.arrive %empty", "", "reads sa"),
    ("full: phase flipped", "floordiv 2) mod 2)", "floordiv 2 + 1) mod 2)", "reads s"),
    ("a copy dropped", "nvgpu.tma.async.load %map_0[", "", "bytes arrive where"),
]
"""What is done to the module, and what the proof says; `test_mbarriers` has more."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "told"),
    [row[1:] for row in REFUSED],
    ids=[row[0] for row in REFUSED],
)
def test_the_proof_refuses_what_is_spoilt(mapped: str, old: str, new: str, told: str):
    with pytest.raises(errors.CompileError, match=told):
        VerifyKernels().apply(gcg.parse(mutated(mapped, old, new)))


WEIGHTED = """
func.func @f(%a: memref<1024x512x512xf16>, %b: memref<1024x512x1024xf16>,
             %c: memref<1024x512x1024xf16>) {
  %zero = arith.constant 0.0 : f32
  %t = memref.alloc() : memref<1024x512x1024xf32>
  linalg.fill ins(%zero : f32) outs(%t : memref<1024x512x1024xf32>)
  linalg.batch_matmul
      ins(%a, %b : memref<1024x512x512xf16>, memref<1024x512x1024xf16>)
      outs(%t : memref<1024x512x1024xf32>)
  affine.for %i = 0 to 1024 {
    affine.for %j = 0 to 512 {
      affine.for %k = 0 to 1024 {
        %v = affine.load %t[%i, %j, %k] : memref<1024x512x1024xf32>
        %w = arith.truncf %v : f32 to f16
        affine.store %w, %c[%i, %j, %k] : memref<1024x512x1024xf16>
      }
    }
  }
  return
}"""


def test_plans_know_what_is_stored() -> None:
    """With f16 and no old sums warpgroups pay, with f32 in both ways they would not."""
    program = gcg.compile(WEIGHTED, target="cuda", arch="sm_90a")
    assert "consumers=2" in str(program.schedule("f"))
