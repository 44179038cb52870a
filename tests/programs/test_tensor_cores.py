"""Contractions of narrow numbers on tensor cores, on the emulated device."""

from __future__ import annotations

import re

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen.ptx.floats import decoded, encoded
from gpucodegen.runtime.cuda.compilation import compile_ptx
from gpucodegen.runtime.devices import emulated_device

RNG = np.random.default_rng(11)
WHOLE, ODD, NARROW = (64, 64, 96), (33, 50, 41), (7, 72, 40)
CASES = [
    *(("f16", layout, WHOLE) for layout in ("nn", "nt", "tn", "tt")),
    ("f16", "nn", ODD),
    ("f16", "tt", ODD),
    ("f16", "nt", NARROW),
    ("i8", "nt", WHOLE),
    ("i8", "tn", ODD),
    *(("f64", layout, ODD) for layout in ("nn", "nt", "tn", "tt")),
    ("f64", "nn", WHOLE),
    ("f64", "nt", NARROW),
]
KINDS = {
    "f16": ("f32", "f2", "f4", 8),
    "i8": ("i32", "i1", "i4", 8),
    "f64": ("f64", "f8", "f8", 2**20),
}
"""Types of sums, of both in NumPy, and a bound of factors whose sums are exact."""
EPSILON = {"f64": 2.0**-52, "f32": 2.0**-23, "f16": 2.0**-11}
"""A sum may be off by this share of its magnitude at each addition, or at its end."""


def product_text(
    shape: tuple[int, int, int], layout: str, factors: str, sums: str
) -> str:
    """``c += a b`` as linalg, whose sums may come in any order."""
    m, n, k = shape
    a = (
        f"memref<{k}x{m}x{factors}>"
        if layout[0] == "t"
        else f"memref<{m}x{k}x{factors}>"
    )
    b = (
        f"memref<{n}x{k}x{factors}>"
        if layout[1] == "t"
        else f"memref<{k}x{n}x{factors}>"
    )
    at_a = "(k, i)" if layout[0] == "t" else "(i, k)"
    at_b = "(j, k)" if layout[1] == "t" else "(k, j)"
    c = f"memref<{m}x{n}x{sums}>"
    maps = ", ".join(f"affine_map<(i, j, k) -> {at}>" for at in (at_a, at_b, "(i, j)"))
    return f"""func.func @f(%a: {a}, %b: {b}, %c: {c}) {{
  linalg.contract indexing_maps = [{maps}] ins(%a, %b : {a}, {b}) outs(%c : {c})
  return
}}"""


BY_WARPS = {"product.warp_rows": 32}
"""A plan on tensor cores, also where these do not pay."""


def text_of(program: gcg.Program) -> str:
    return "".join(text for _, text in program.stages("f"))


def on_tensor_cores(program: gcg.Program) -> bool:
    return "nvgpu.mma.sync" in text_of(program)


@pytest.mark.drawn(7)
@pytest.mark.slow
@pytest.mark.parametrize(("kind", "layout", "shape"), CASES)
@pytest.mark.sampled(9)
def test_all_layouts_and_ragged_extents(
    kind: str, layout: str, shape: tuple[int, int, int]
):
    m, n, k = shape
    sums, factor, total, most = KINDS[kind]
    a, b = (RNG.integers(-most, most, size).astype(factor) for size in ((m, k), (k, n)))
    c = RNG.integers(-most, most, (m, n)).astype(total)
    want = c + a.astype("f8") @ b.astype("f8")
    given = [
        np.ascontiguousarray(x.T) if way == "t" else x
        for x, way in zip((a, b), layout, strict=True)
    ]
    text = product_text(shape, layout, kind, sums)
    program = gcg.compile(text, target="sim", plan=BY_WARPS)
    program.f(*given, c)
    np.testing.assert_array_equal(c, want)
    assert on_tensor_cores(program)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("factors", "sums"), [("f16", "f32"), ("f16", "f16"), ("bf16", "f32")]
)
@pytest.mark.sampled(3)
def test_sums_are_near_those_of_float64(factors: str, sums: str):
    """Products are exact; K terms are added in f32, which the device may truncate."""
    m, n, k = shape = 40, 48, 264
    a, b = (RNG.standard_normal(size).astype("f4") for size in ((m, k), (k, n)))
    if factors == "bf16":
        codes = [(x.view("u4") >> 16).astype("u2") for x in (a, b)]
        a, b = ((x.astype("u4") << 16).view("f4") for x in codes)
    else:
        codes = [x.astype("f2") for x in (a, b)]
        a, b = (x.astype("f4") for x in codes)
    c = np.zeros((m, n), "f4" if sums == "f32" else "f2")
    program = gcg.compile(product_text(shape, "nn", factors, sums), target="sim")
    program.f(*codes, c)
    assert on_tensor_cores(program)
    exact, magnitude = (
        x.astype("f8") @ y.astype("f8") for x, y in ((a, b), (abs(a), abs(b)))
    )
    bound = (k + 1) * EPSILON["f32"] * magnitude
    if sums == "f16":
        bound = bound + EPSILON["f16"] * abs(exact)
    assert (abs(c - exact) <= bound).all()


@pytest.mark.slow
@pytest.mark.parametrize("capability", [(8, 0), (9, 0)])
def test_fused_multiply_adds_of_f64(
    capability: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In any order, like NumPy's; devices before sm_90 have one shape alone."""
    m, n, k = shape = 40, 24, 72
    a, b = (RNG.standard_normal(size) for size in ((m, k), (k, n)))
    c = np.zeros((m, n))
    monkeypatch.setattr(emulated_device.current(), "compute_capability", capability)
    text = product_text(shape, "nn", "f64", "f64")
    program = gcg.compile(text, target="sim", plan=BY_WARPS)
    program.f(a, b, c)
    bound = 2 * (k + 1) * EPSILON["f64"] * (abs(a) @ abs(b))
    assert (abs(c - a @ b) <= bound).all()
    (kernel,) = program["f"].executable().kernels
    shapes = set(re.findall(r"mma\.\S+\.(m\w+)\.row", compile_ptx(kernel, capability)))
    assert shapes == {"m16n8k4" if capability == (9, 0) else "m8n8k4"}


@pytest.mark.slow
def test_wide_sums_of_narrow_factors() -> None:
    """Factors of f32 are converted on their way to shared memory."""
    m, n, k = shape = 40, 24, 72
    a, b = (RNG.integers(-99, 99, size).astype("f4") for size in ((m, k), (k, n)))
    c = np.zeros((m, n))
    text = product_text(shape, "nn", "f32", "f64")
    program = gcg.compile(text, target="sim", plan={"product.warp_rows": 16})
    program.f(a / 8, b / 8, c)
    np.testing.assert_array_equal(c * 64, a.astype("f8") @ b)
    assert on_tensor_cores(program)


BATCHES = """func.func @f(%a: memref<3x20x36xf64>, %b: memref<3x36x18xf64>,
    %c: memref<3x20x18xf64>) {
  linalg.batch_matmul ins(%a, %b : memref<3x20x36xf64>, memref<3x36x18xf64>)
                      outs(%c : memref<3x20x18xf64>)
  return
}"""


@pytest.mark.slow
def test_batches_of_f64() -> None:
    a, b = (
        RNG.integers(-99, 99, size).astype("f8") for size in ((3, 20, 36), (3, 36, 18))
    )
    c = np.ones((3, 20, 18))
    program = gcg.compile(BATCHES, target="sim")
    program.f(a, b, c)
    np.testing.assert_array_equal(c, 1 + a @ b)
    assert on_tensor_cores(program)


IMAGE = """func.func @f(%i: memref<2x10x10x24xf16>, %w: memref<3x3x24x40xf16>,
    %o: memref<2x8x8x40xf32>) {
  linalg.conv_2d_nhwc_hwcf
    ins(%i, %w : memref<2x10x10x24xf16>, memref<3x3x24x40xf16>)
    outs(%o : memref<2x8x8x40xf32>)
  return
}"""


@pytest.mark.slow
def test_a_convolution_is_a_product():
    image = RNG.integers(-4, 4, (2, 10, 10, 24)).astype("f2")
    window = RNG.integers(-4, 4, (3, 3, 24, 40)).astype("f2")
    result = np.ones((2, 8, 8, 40), "f4")
    program = gcg.compile(IMAGE, target="sim")
    program.f(image, window, result)
    places = np.lib.stride_tricks.sliding_window_view(
        image.astype("f8"), (3, 3), (1, 2)
    )
    want = 1 + np.einsum("nhwcrs,rscf->nhwf", places, window.astype("f8"))
    np.testing.assert_array_equal(result, want)
    assert on_tensor_cores(program)


LAYER = """
#whole = affine_map<(i, j) -> (i, j)>
func.func @f(%a: memref<40x48xf16>, %b: memref<48x56xf16>, %bias: memref<56xf32>,
             %d: memref<40x56xf16>) {
  %zero = arith.constant 0.0 : f32
  %c = memref.alloc() : memref<40x56xf32>
  linalg.fill ins(%zero : f32) outs(%c : memref<40x56xf32>)
  linalg.matmul ins(%a, %b : memref<40x48xf16>, memref<48x56xf16>)
                outs(%c : memref<40x56xf32>)
  linalg.generic {indexing_maps = [#whole, affine_map<(i, j) -> (j)>, #whole],
                  iterator_types = ["parallel", "parallel"]}
    ins(%c, %bias : memref<40x56xf32>, memref<56xf32>) outs(%d : memref<40x56xf16>) {
    ^bb0(%x: f32, %y: f32, %old: f16):
      %s = arith.addf %x, %y : f32
      %r = arith.maximumf %s, %zero : f32
      %t = arith.truncf %r : f32 to f16
      linalg.yield %t : f16
  }
  memref.dealloc %c : memref<40x56xf32>
  return
}"""


WIDE_LAYER = re.sub(r"(<(40x48|48x56)x)f16", r"\1f64", LAYER.replace("f32", "f64"))
"""All but the result is of f64."""


@pytest.mark.parametrize("kind", ["f16", "f64"])
@pytest.mark.slow
def test_what_follows_is_done_to_the_sums(kind: str):
    _, factor, total, _ = KINDS[kind]
    text = LAYER if kind == "f16" else WIDE_LAYER
    a, b = (RNG.integers(-4, 4, size).astype(factor) for size in ((40, 48), (48, 56)))
    bias, d = RNG.integers(-9, 9, 56).astype(total), np.zeros((40, 56), "f2")
    program = gcg.compile(text, target="sim")
    program.f(a, b, bias, d)
    np.testing.assert_array_equal(d, np.maximum(a.astype("f8") @ b + bias, 0))
    assert on_tensor_cores(program)
    assert len(program["f"].executable().kernels) == 1


NEST = """func.func @f(%a: memref<32x32xf16>, %b: memref<32x32xf16>,
    %c: memref<32x32xf32>) {
  affine.for %i = 0 to 32 { affine.for %j = 0 to 32 { affine.for %k = 0 to 32 {
    %x = affine.load %a[%i, %k] : memref<32x32xf16>
    %y = affine.load %b[%k, %j] : memref<32x32xf16>
    %z = affine.load %c[%i, %j] : memref<32x32xf32>
    %xx = arith.extf %x : f16 to f32
    %yy = arith.extf %y : f16 to f32
    %p = arith.mulf %xx, %yy : f32
    %s = arith.addf %z, %p : f32
    affine.store %s, %c[%i, %j] : memref<32x32xf32>
  } } }
  return
}"""


WIDE_NEST = "".join(
    re.sub("f16|f32", "f64", line).replace("%xx, %yy", "%x, %y")
    for line in NEST.splitlines(keepends=True)
    if "extf" not in line
)


@pytest.mark.parametrize("freely", [False, True])
@pytest.mark.parametrize(("kind", "text"), [("f16", NEST), ("f64", WIDE_NEST)])
@pytest.mark.slow
def test_the_order_of_a_loop_is_kept_unless_asked_otherwise(
    kind: str, text: str, freely: bool
):
    _, factor, total, _ = KINDS[kind]
    a, b = (RNG.integers(-4, 4, (32, 32)).astype(factor) for _ in "ab")
    c = np.zeros((32, 32), total)
    plan = BY_WARPS if freely else {}
    program = gcg.compile(text, target="sim", reassociate=freely, plan=plan)
    program.f(a, b, c)
    np.testing.assert_array_equal(c, a.astype("f8") @ b)
    assert on_tensor_cores(program) == freely


def test_exact_sums_of_f64_are_made_in_order():
    """As the text says: each product rounded, then each sum."""
    a, b = (RNG.standard_normal((16, 16)) for _ in "ab")
    c, want = np.zeros((16, 16)), np.zeros((16, 16))
    for k in range(16):
        want += np.outer(a[:, k], b[k])
    text = product_text((16, 16, 16), "nn", "f64", "f64")
    program = gcg.compile(text, target="sim", exact=True)
    program.f(a, b, c)
    np.testing.assert_array_equal(c, want)
    assert not on_tensor_cores(program)


def test_sums_of_f32_stay_what_they_are():
    a, b = (RNG.standard_normal((32, 32)).astype("f4") for _ in "ab")
    c = np.zeros((32, 32), "f4")
    text = product_text((32, 32, 32), "nn", "f32", "f32")
    program = gcg.compile(text, target="sim")
    program.f(a, b, c)
    assert not on_tensor_cores(program)


@pytest.mark.parametrize(
    ("precision", "unit"), [("tf32", 2.0**-11), ("3xtf32", 1.5 * 2.0**-22)]
)
@pytest.mark.slow
def test_f32_in_another_precision_on_request(precision: str, unit: float):
    """Each factor is off by ``unit``, as it were; what is not finite stays so."""
    m, n, k = shape = 32, 32, 72
    a, b = (RNG.standard_normal(size).astype("f4") for size in ((m, k), (k, n)))
    a[0, 0], a[1, 1] = np.inf, np.nan
    c = np.zeros((m, n), "f4")
    text = product_text(shape, "nn", "f32", "f32")
    program = gcg.compile(text, target="sim", precision=precision, plan=BY_WARPS)
    program.f(a, b, c)
    assert on_tensor_cores(program)
    assert not np.isfinite(c[:2]).any()
    assert precision == "3xtf32" or np.isinf(c[0]).all()
    exact, magnitude = (
        x.astype("f8") @ y.astype("f8") for x, y in ((a[2:], b), (abs(a[2:]), abs(b)))
    )
    bound = (2 * unit + unit**2 + (k + 1) * EPSILON["f32"]) * magnitude
    assert (abs(c[2:] - exact) <= bound).all()


@pytest.mark.slow
def test_small_floats_are_numbers_of_f16():
    """Codes of f8E4M3FN below 0x7F, whose numbers f16 has; sums are exact in f32."""
    codes = [
        RNG.integers(0x30, 0x48, size).astype("u1") for size in ((32, 48), (48, 32))
    ]
    a, b = ((1 + (x & 7) / 8) * 2.0 ** ((x >> 3).astype(int) - 7) for x in codes)
    c = np.zeros((32, 32), "f4")
    text = product_text((32, 32, 48), "nn", "f8E4M3FN", "f32")
    program = gcg.compile(text, target="sim")
    program.f(*codes, c)
    np.testing.assert_array_equal(c, a @ b)
    assert on_tensor_cores(program)


OCTETS = {"f8E4M3FN": "e4m3", "f8E5M2": "e5m2"}


@pytest.mark.drawn(4)
@pytest.mark.slow
@pytest.mark.parametrize("arch", ["sm_89", "sm_90", ""])
@pytest.mark.parametrize("kind", OCTETS)
@pytest.mark.sampled(3)
def test_sums_of_octets_are_near_those_of_float64(kind: str, arch: str) -> None:
    """Each of K terms rounds a sum in f32 once, as it does where they become f16."""
    m, n, k = shape = 40, 24, 264
    drawn = RNG.integers(0, 256, (m + n, k)).astype("u1")
    numbers = decoded(drawn, OCTETS[kind])
    drawn[~np.isfinite(numbers) | (abs(numbers) > 64)] = 0x38
    a, b = np.split(decoded(drawn, OCTETS[kind]), [m])
    c = np.zeros((m, n), "f4")
    text = product_text(shape, "nt", kind, "f32")
    program = gcg.compile(text, target="sim", arch=arch, plan=BY_WARPS)
    program.f(drawn[:m], drawn[m:], c)
    bound = (k + 1) * EPSILON["f32"] * (abs(a) @ abs(b).T)
    assert (abs(c - a @ b.T) <= bound).all()
    assert ("mmaShape = [16, 8, 32]" in text_of(program)) == bool(arch)


@pytest.mark.parametrize(
    ("kinds", "layout"), [(("f8E4M3FN", "f8E5M2"), "nt"), (("f8E5M2", "f8E5M2"), "nn")]
)
@pytest.mark.slow
def test_octets_that_do_not_fit_become_f16(kinds: tuple[str, str], layout: str) -> None:
    """Of two types, or with terms that lie apart."""
    m, n, k = shape = 16, 32, 48
    a, b = RNG.integers(-4, 4, (m, k)), RNG.integers(-4, 4, (n, k))
    left, right = (
        encoded(x.astype("f8"), OCTETS[kind]).astype("u1")
        for x, kind in zip((a, b), kinds, strict=True)
    )
    right = right if layout == "nt" else np.ascontiguousarray(right.T)
    text = product_text(shape, layout, kinds[0], "f32")
    text = text.replace(f"memref<32x48x{kinds[0]}>", f"memref<32x48x{kinds[1]}>")
    c = np.zeros((m, n), "f4")
    program = gcg.compile(text, target="sim", arch="sm_90", plan=BY_WARPS)
    program.f(left, right, c)
    np.testing.assert_array_equal(c, a @ b.T)
    assert "mmaShape = [16, 8, 16]" in text_of(program)
