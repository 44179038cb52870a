"""Products of 8-bit integers on the emulated device: four terms in each instruction."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen.passes.gpu import contractions
from gpucodegen.runtime.cuda.compilation import compile_ptx

SIGNS = {"i8": ("arith.extsi", "i1", "s32"), "u8": ("arith.extui", "u1", "u32")}
SHAPES = [(32, 64, 80), (33, 45, 70), (17, 64, 65), (20, 24, 3)]
LAYOUTS = list(product("nt", "nt"))


def text(shape: tuple[int, int, int], layout: tuple[str, str], signs: str) -> str:
    """``c += a b``; ``layout``: which factors are transposed."""
    (m, n, k), left, right = shape, *signs.split(" x ")
    a = f"memref<{k}x{m}xi8>" if layout[0] == "t" else f"memref<{m}x{k}xi8>"
    b = f"memref<{n}x{k}xi8>" if layout[1] == "t" else f"memref<{k}x{n}xi8>"
    at_a = "%k, %i" if layout[0] == "t" else "%i, %k"
    at_b = "%j, %k" if layout[1] == "t" else "%k, %j"
    c = f"memref<{m}x{n}xi32>"
    return f"""func.func @f(%a: {a}, %b: {b}, %c: {c}) {{
  affine.for %i = 0 to {m} {{ affine.for %j = 0 to {n} {{ affine.for %k = 0 to {k} {{
    %x = affine.load %a[{at_a}] : {a}
    %y = affine.load %b[{at_b}] : {b}
    %z = affine.load %c[%i, %j] : {c}
    %xx = {SIGNS[left][0]} %x : i8 to i32
    %yy = {SIGNS[right][0]} %y : i8 to i32
    %p = arith.muli %xx, %yy : i32
    %s = arith.addi %z, %p : i32
    affine.store %s, %c[%i, %j] : {c}
  }} }} }}
  return
}}"""


def dots(program: gcg.Program) -> set[str]:
    """The kinds of ``dp4a`` that its kernels have."""
    kernels = program["f"].executable().kernels
    found = (re.findall(r"dp4a\.\w+\.\w+", compile_ptx(k, (9, 0))) for k in kernels)
    return {name for names in found for name in names}


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Words for small products too, which packing costs more than it saves."""
    monkeypatch.setattr(contractions, "words_pay", lambda *_: True)


@pytest.mark.drawn(10)
@pytest.mark.slow
@pytest.mark.usefixtures("always")
@pytest.mark.sampled(24)
@pytest.mark.parametrize("signs", ["i8 x i8", "u8 x i8", "i8 x u8", "u8 x u8"])
@pytest.mark.parametrize("layout", LAYOUTS, ids="".join)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_sums_are_exact(
    shape: tuple[int, int, int],
    layout: tuple[str, str],
    signs: str,
    unstored: Callable[..., gcg.Program],
) -> None:
    program, rng = unstored(text(shape, layout, signs)), np.random.default_rng(0)
    m, n, k = shape
    a, b = (rng.integers(-128, 128, s).astype("i1") for s in ((m, k), (k, n)))
    left, right = (SIGNS[s] for s in signs.split(" x "))
    c = rng.integers(-9, 9, (m, n)).astype("i4")
    want = c + a.view(left[1]).astype("i8") @ b.view(right[1]).astype("i8")
    given = (
        np.ascontiguousarray(x.T) if way == "t" else x
        for x, way in zip((a, b), layout, strict=True)
    )
    program.f(*given, c)
    np.testing.assert_array_equal(c, want)
    assert dots(program) == {f"dp4a.{left[2]}.{right[2]}"}


@pytest.fixture
def unstored(
    tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., gcg.Program]:
    """Compiles without what other choices have stored."""
    monkeypatch.setenv("GPUCODEGEN_CACHE_DIR", str(tmp_path))
    return lambda source: gcg.compile(source, target="sim")


ZERO_POINTS = """func.func @f(%a: memref<24x50xi8>, %b: memref<50x20xi8>,
    %c: memref<24x20xi32>) {
  %x = arith.constant 3 : i32
  %y = arith.constant -5 : i32
  linalg.quantized_matmul
    ins(%a, %b, %x, %y : memref<24x50xi8>, memref<50x20xi8>, i32, i32)
    outs(%c : memref<24x20xi32>)
  return
}"""
IMAGE = """func.func @f(%a: memref<1x8x8x12xi8>, %b: memref<3x3x12x16xi8>,
    %c: memref<1x6x6x16xi32>) {
  linalg.conv_2d_nhwc_hwcf
    ins(%a, %b : memref<1x8x8x12xi8>, memref<3x3x12x16xi8>)
    outs(%c : memref<1x6x6x16xi32>)
  return
}"""


@pytest.mark.slow
@pytest.mark.usefixtures("always")
def test_zero_points_are_made_up_for(unstored: Callable[..., gcg.Program]) -> None:
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-128, 128, s).astype("i1") for s in ((24, 50), (50, 20)))
    c = np.ones((24, 20), "i4")
    program = unstored(ZERO_POINTS)
    program.f(a, b, c)
    np.testing.assert_array_equal(c, 1 + (a.astype("i4") - 3) @ (b.astype("i4") + 5))
    assert dots(program) == {"dp4a.s32.s32"}


@pytest.mark.slow
@pytest.mark.usefixtures("always")
def test_an_image(unstored: Callable[..., gcg.Program]) -> None:
    rng = np.random.default_rng(2)
    a, b = (
        rng.integers(-128, 128, s).astype("i1") for s in ((1, 8, 8, 12), (3, 3, 12, 16))
    )
    c, want = np.zeros((1, 6, 6, 16), "i4"), np.zeros((1, 6, 6, 16), "i4")
    for i, j in product(range(3), range(3)):
        want += a[:, i : i + 6, j : j + 6].astype("i4") @ b[i, j].astype("i4")
    program = unstored(IMAGE)
    program.f(a, b, c)
    np.testing.assert_array_equal(c, want)
    assert dots(program) == {"dp4a.s32.s32"}


@pytest.mark.slow
def test_the_model_takes_words_where_they_pay(
    unstored: Callable[..., gcg.Program],
) -> None:
    """Tensor cores have no kernel of ours for unsigned bytes."""
    signs, layout = "u8 x u8", ("n", "n")
    assert dots(unstored(text((2048, 2048, 2048), layout, signs)))
    assert not dots(unstored(text((32, 32, 32), layout, signs)))
    assert not dots(unstored(text((2048, 2048, 2048), layout, "i8 x i8")))
