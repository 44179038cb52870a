"""Convolutions by warpgroups: rows of a tile are a rectangle of pixels."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors
from gpucodegen.passes.checks.races import VerifyKernels
from tests.programs.test_device_products import typed, windows
from tests.programs.test_tensor_cores import EPSILON, text_of
from tests.programs.test_warpgroup_products import (
    LARGE,
    SMALL,
    TWICE,
    by_warpgroups,
    compiled,
)
from tests.programs.test_warpgroups import mutated

RNG = np.random.default_rng(13)
NHWC = "conv_2d_nhwc_hwcf"
Case = tuple[tuple[int, ...], tuple[int, ...], int, int]
"""The shapes of an image and of a filter, the stride and the distance of taps."""
CASES: dict[str, tuple[dict[str, int], Case]] = {
    "one block": (SMALL, ((1, 10, 10, 64), (3, 3, 64, 64), 1, 1)),
    "pixels that are not there": (TWICE, ((2, 7, 9, 64), (3, 3, 64, 64), 1, 1)),
    "many columns": (LARGE, ((3, 6, 11, 64), (3, 3, 64, 136), 1, 1)),
    "few channels": (SMALL, ((2, 7, 7, 24), (3, 3, 24, 64), 1, 1)),
    "channels of two lines": (TWICE, ((1, 6, 6, 72), (3, 3, 72, 8), 1, 1)),
    "one tap": (SMALL, ((3, 9, 9, 64), (1, 1, 64, 72), 2, 1)),
    "strides": (LARGE, ((2, 9, 11, 64), (3, 3, 64, 72), 2, 1)),
    "taps apart": (SMALL, ((1, 10, 10, 64), (3, 3, 64, 64), 1, 2)),
    "a window that is no square": (SMALL, ((2, 6, 9, 16), (2, 5, 16, 64), 1, 1)),
}


def convolution(case: Case, sums: str = "f32", factors: str = "f16") -> str:
    image, weights, step, apart = case
    types = [typed(image, factors), typed(weights, factors)]
    high, wide = (
        (image[d] - (weights[d - 1] - 1) * apart - 1) // step + 1 for d in (1, 2)
    )
    result = typed((image[0], high, wide, weights[3]), sums)
    return f"""func.func @f(%I: {types[0]}, %W: {types[1]}, %O: {result}) {{
      linalg.{NHWC} {{strides = dense<{step}> : tensor<2xi64>,
                      dilations = dense<{apart}> : tensor<2xi64>}}
        ins(%I, %W : {types[0]}, {types[1]}) outs(%O : {result})
      return
    }}"""


def integers(*shape: int) -> Any:
    return RNG.integers(-4, 4, shape).astype("f2")


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
@pytest.mark.sampled(9)
@pytest.mark.drawn(5)
def test_images_and_windows(name: str):
    plan, case = CASES[name]
    x, w = integers(*case[0]), integers(*case[1])
    want = windows(NHWC, x, w, *case[2:]) + 1
    program = compiled(convolution(case), plan)
    found = np.ones(want.shape, "f4")
    program.f(x, w, found)
    np.testing.assert_array_equal(found, want)
    assert by_warpgroups(program)


LAYOUTS = {
    "filters first": (
        "2d_nhwc_fhwc",
        (2, 7, 9, 64),
        (72, 3, 3, 64),
        "nyxchw,fhwc->nyxf",
    ),
    "in groups": (
        *("2d_nhwgc_gfhwc", (2, 6, 6, 2, 64), (2, 64, 3, 3, 64)),
        "nyxgchw,gfhwc->nyxgf",
    ),
    "lines": ("1d_nwc_wcf", (3, 70, 64), (5, 64, 64), "nxcw,wcf->nxf"),
    "volumes": (
        *("3d_ndhwc_dhwcf", (2, 4, 5, 6, 64), (2, 2, 2, 64, 64)),
        "nzyxcdhw,dhwcf->nzyxf",
    ),
}
"""Operations, the shapes of images and filters, and sums over windows of the image."""


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.slow
def test_images_of_other_forms(name: str):
    operation, image, weights, sums = LAYOUTS[name]
    seen, taps = sums.split("->")[0].split(",")
    spatial = len([d for d in seen if d in "xyz"])
    extents = tuple(weights[taps.index(d)] for d in seen[-spatial:])
    x, w = integers(*image), integers(*weights)
    around = np.lib.stride_tricks.sliding_window_view(
        x.astype("f8"), extents, tuple(range(1, 1 + spatial))
    )
    want = np.einsum(sums, around, w.astype("f8"))
    types = typed(image, "f16"), typed(weights, "f16"), typed(want.shape)
    text = f"""func.func @f(%I: {types[0]}, %W: {types[1]}, %O: {types[2]}) {{
      linalg.conv_{operation} ins(%I, %W : {types[0]}, {types[1]}) outs(%O : {types[2]})
      return
    }}"""
    program, found = compiled(text), np.zeros(want.shape, "f4")
    program.f(x, w, found)
    np.testing.assert_array_equal(found, want)
    assert by_warpgroups(program)


SUMS = {
    "rows in another order": ("ixk,kn->xin", (6, 11, 64), (64, 64)),
    "terms of two axes": ("mak,kan->mn", (70, 3, 80), (80, 3, 64)),
    "rows and terms of two axes": ("iajk,kan->ijn", (3, 2, 25, 72), (72, 2, 64)),
}


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.slow
def test_what_counts_rows_and_terms_is_no_matter(name: str):
    sums, *shapes = SUMS[name]
    parts = sums.replace("->", ",").split(",")
    axes = ", ".join(sorted(set("".join(parts))))
    maps = ", ".join(f"affine_map<({axes}) -> ({', '.join(p)})>" for p in parts)
    a, b = (integers(*shape) for shape in shapes)
    want = np.einsum(sums, a.astype("f8"), b.astype("f8"))
    types = typed(a.shape, "f16"), typed(b.shape, "f16"), typed(want.shape)
    text = f"""func.func @f(%a: {types[0]}, %b: {types[1]}, %c: {types[2]}) {{
      linalg.contract indexing_maps = [{maps}]
        ins(%a, %b : {types[0]}, {types[1]}) outs(%c : {types[2]})
      return
    }}"""
    program, found = compiled(text), np.zeros(want.shape, "f4")
    program.f(a, b, found)
    np.testing.assert_array_equal(found, want)
    assert by_warpgroups(program)


LOOPS = """func.func @f(%i: memref<2x7x9x64xf16>, %w: memref<3x3x64x72xf16>,
    %o: memref<2x5x7x72xf32>) {
  affine.for %c = 0 to 64 { affine.for %p = 0 to 3 { affine.for %q = 0 to 3 {
  affine.for %f = 0 to 72 { affine.for %x = 0 to 7 { affine.for %y = 0 to 5 {
  affine.for %n = 0 to 2 {
    %a = affine.load %i[%n, %y + %p, %x + %q, %c] : memref<2x7x9x64xf16>
    %b = affine.load %w[%p, %q, %c, %f] : memref<3x3x64x72xf16>
    %s = affine.load %o[%n, %y, %x, %f] : memref<2x5x7x72xf32>
    %l = arith.extf %a : f16 to f32
    %r = arith.extf %b : f16 to f32
    %m = arith.mulf %l, %r : f32
    %t = arith.addf %s, %m fastmath<reassoc> : f32
    affine.store %t, %o[%n, %y, %x, %f] : memref<2x5x7x72xf32>
  } } } } } } }
  return
}"""


@pytest.mark.slow
def test_loops_in_any_order():
    x, w = integers(2, 7, 9, 64), integers(3, 3, 64, 72)
    program, found = compiled(LOOPS), np.zeros((2, 5, 7, 72), "f4")
    program.f(x, w, found)
    np.testing.assert_array_equal(found, windows(NHWC, x, w, 1, 1))
    assert by_warpgroups(program)


@pytest.mark.slow
@pytest.mark.parametrize(("factors", "sums"), [("f16", "f16"), ("bf16", "f32")])
def test_sums_are_near_those_of_float64(factors: str, sums: str):
    """Products are exact; sums of all terms in f32, which the device may truncate."""
    case = (2, 7, 9, 72), (3, 3, 72, 72), 1, 1
    x, w = (RNG.standard_normal(shape).astype("f4") for shape in case[:2])
    if factors == "bf16":
        codes = [(a.view("u4") >> 16).astype("u2") for a in (x, w)]
        x, w = ((a.astype("u4") << 16).view("f4") for a in codes)
    else:
        codes = [a.astype("f2") for a in (x, w)]
        x, w = (a.astype("f4") for a in codes)
    exact, magnitude = (
        windows(NHWC, a, b.astype("f8"), 1, 1) for a, b in ((x, w), (abs(x), abs(w)))
    )
    found = np.zeros(exact.shape, "f4" if sums == "f32" else "f2")
    program = compiled(convolution(case, sums, factors))
    program.f(*codes, found)
    bound = (3 * 3 * 72 + 1) * EPSILON["f32"] * magnitude
    if sums == "f16":
        bound = bound + EPSILON["f16"] * abs(exact)
    assert (abs(found - exact) <= bound).all()
    assert by_warpgroups(program)


LAYER = """
#all = affine_map<(n, y, x, f) -> (n, y, x, f)>
#filter = affine_map<(n, y, x, f) -> (f)>
func.func @f(%I: tensor<2x7x7x64xf16>, %W: tensor<3x3x64x72xf16>, %b: tensor<72xf32>)
    -> tensor<2x5x5x72xf16> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x5x5x72xf32>
  %s = linalg.fill ins(%zero : f32) outs(%e : tensor<2x5x5x72xf32>)
    -> tensor<2x5x5x72xf32>
  %c = linalg.conv_2d_nhwc_hwcf
    ins(%I, %W : tensor<2x7x7x64xf16>, tensor<3x3x64x72xf16>)
    outs(%s : tensor<2x5x5x72xf32>) -> tensor<2x5x5x72xf32>
  %d = tensor.empty() : tensor<2x5x5x72xf16>
  %r = linalg.generic {indexing_maps = [#all, #filter, #all],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%c, %b : tensor<2x5x5x72xf32>, tensor<72xf32>)
      outs(%d : tensor<2x5x5x72xf16>) {
    ^bb0(%p: f32, %q: f32, %o: f16):
      %t = arith.addf %p, %q : f32
      %m = arith.maximumf %t, %zero : f32
      %h = arith.truncf %m : f32 to f16
      linalg.yield %h : f16
  } -> tensor<2x5x5x72xf16>
  return %r : tensor<2x5x5x72xf16>
}"""


@pytest.mark.slow
def test_what_follows_is_done_to_the_sums():
    x, w = integers(2, 7, 7, 64), integers(3, 3, 64, 72)
    bias = RNG.integers(-9, 9, 72).astype("f4")
    program = compiled(LAYER)
    found = program.f(x, w, bias)
    want = np.maximum(windows(NHWC, x, w, 1, 1) + bias, 0)
    np.testing.assert_array_equal(found, want)
    assert by_warpgroups(program)
    assert len(program["f"].executable().kernels) == 1


BOXED = {**SMALL, "product.tensor_stores": 2}


@pytest.mark.parametrize(
    ("plan", "case", "sums"),
    [
        (TWICE, ((2, 9, 11, 24), (3, 3, 24, 72), 1, 1), "f32"),
        (LARGE, ((32, 9, 9, 512), (3, 3, 512, 512), 1, 1), "f32"),
        (BOXED, ((2, 10, 10, 64), (3, 3, 64, 64), 1, 1), "f16"),
    ],
)
@pytest.mark.slow
def test_they_are_proven(plan: dict[str, int], case: Case, sums: str):
    """No warning says otherwise."""
    assert by_warpgroups(compiled(convolution(case, sums), plan, verify=True))


@pytest.mark.slow
def test_a_window_of_what_tensor_copies_store_is_not_proven():
    """Loads count as no reads, so their maps have to be of other memory."""
    case = (2, 10, 10, 64), (3, 3, 64, 64), 1, 1
    text = compiled(convolution(case, "f16"), BOXED).stages("f")[-1][1]
    assert "nvgpu.tma.async.store" in text
    read, *_, written = re.findall(r"memref\.cast (.*) to memref<\*xf16>", text)
    with pytest.warns(errors.KernelUnproven, match=r"tma\.async\.load"):
        VerifyKernels().apply(gcg.parse(mutated(text, read, written)))


@pytest.mark.slow
@pytest.mark.parametrize("images", [1, 2])
def test_tensor_copies_store_no_view_unless_they_are_asked_to(images: int):
    """That of one image has a dimension less than its buffer, which is not proven."""
    case = (images, 58, 58, 64), (3, 3, 64, 64), 1, 1
    text = convolution(case, "f16")
    free = gcg.compile(text, target="sim", arch="sm_90a", verify=False, tuned=False)
    asked = compiled(text, BOXED)
    store = "nvgpu.tma.async.store"
    assert by_warpgroups(free)
    assert [store in text_of(each) for each in (free, asked)] == [images > 1, True]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("arch", ["sm_90", "sm_90a"])
def test_a_layer_has_them_where_the_architecture_has(arch: str):
    """Nothing is asked for; the model chooses."""
    layer = (32, 58, 58, 64), (3, 3, 64, 64), 1, 1
    text = convolution(layer, "f16")
    program = gcg.compile(text, target="sim", arch=arch, verify=False, tuned=False)
    assert by_warpgroups(program) == (arch == "sm_90a")


NEGATED = LOOPS.replace(
    "%l = arith.extf %a", "%h = arith.negf %a : f16\n%l = arith.extf %h"
)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        *(convolution(((2, 8, 8, c), (3, 3, c, 64), 1, 1)) for c in (4, 60)),
        NEGATED,
    ],
    ids=["channels of 8 bytes", "channels of 120 bytes", "what is computed"],
)
def test_what_tensor_copies_cannot_bring(text: str):
    """Pixels that are no multiples of 16 bytes apart, and no elements."""
    program = gcg.compile(text, target="sim", plan=SMALL, tuned=False)
    with pytest.raises(errors.InvalidPassOption, match=r"product\.consumers=1"):
        program.stages("f")
