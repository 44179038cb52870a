"""Products of narrow integers, several in a word, against wide ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpucodegen as gcg
from gpucodegen.passes.framework.base import run_pipeline
from gpucodegen.passes.framework.pipeline_text import parse_pipeline

MAPPING = "generalize,linalg-to-affine,map-cpu"
Array = np.ndarray[Any, Any]


def product(
    shape: tuple[int, int, int],
    kinds: tuple[str, str],
    widen: tuple[str, str],
    transposed: tuple[bool, bool] = (False, False),
    zeros: tuple[bool, bool] = (False, False),
) -> str:
    """C += (A - x) (B - y) of i32, from narrow A and B."""
    m, n, k = shape
    left = (f"{k}x{m}", "(m, n, k) -> (k, m)")
    right = (f"{n}x{k}", "(m, n, k) -> (n, k)")
    left = left if transposed[0] else (f"{m}x{k}", "(m, n, k) -> (m, k)")
    right = right if transposed[1] else (f"{k}x{n}", "(m, n, k) -> (k, n)")
    types = [f"memref<{left[0]}x{kinds[0]}>", f"memref<{right[0]}x{kinds[1]}>"]
    body: list[str] = []
    names: list[str] = []
    for name, zero, op, kind, has_zero in zip(
        "ab", "xy", widen, kinds, zeros, strict=True
    ):
        body.append(f"%{name}w = arith.{op} %{name} : {kind} to i32")
        names.append(f"%{name}w")
        if has_zero:
            body.append(f"%{name}z = arith.subi %{name}w, %{zero} : i32")
            names[-1] = f"%{name}z"
    newline = "\n"
    return f"""func.func @f(%A: {types[0]}, %B: {types[1]}, %x: i32, %y: i32,
        %C: memref<{m}x{n}xi32>) {{
      linalg.generic {{
        indexing_maps = [affine_map<{left[1]}>, affine_map<{right[1]}>,
                         affine_map<(m, n, k) -> (m, n)>],
        iterator_types = ["parallel", "parallel", "reduction"]
      }} ins(%A, %B : {types[0]}, {types[1]}) outs(%C : memref<{m}x{n}xi32>) {{
      ^bb0(%a: {kinds[0]}, %b: {kinds[1]}, %c: i32):
        {newline.join(body)}
        %p = arith.muli {names[0]}, {names[1]} : i32
        %s = arith.addi %c, %p : i32
        linalg.yield %s : i32
      }}
      return
    }}"""


def values(
    rng: np.random.Generator, kind: str, widen: str, shape: tuple[int, ...]
) -> Array:
    """All bit patterns, and the smallest number more often."""
    sign, size = "i" if widen == "extsi" else "u", int(kind[1:])
    low = -(1 << (size - 1)) if sign == "i" else 0
    found = rng.integers(low, low + (1 << size), shape)
    found[rng.random(shape) < 0.2] = low
    return found.astype(f"{sign}{size // 8}")


def expected(a: Array, b: Array, x: int, y: int, c: Array) -> Array:
    wide = (a.astype("i8") - x) @ (b.astype("i8") - y)
    return (c + wide).astype("i4")


EXTENSIONS = st.sampled_from(["extsi", "extui"])
WIDTHS = st.sampled_from(["i8", "i8", "i16"])
FLAGS = st.tuples(st.booleans(), st.booleans())
EXTENTS = st.tuples(*(st.integers(1, 70) for _ in range(3)))


@pytest.mark.slow
@settings(max_examples=10, deadline=None)
@given(
    EXTENTS,
    st.tuples(WIDTHS, WIDTHS),
    st.tuples(EXTENSIONS, EXTENSIONS),
    FLAGS,
    FLAGS,
    st.sampled_from([1, 2]),
)
def test_products_of_narrow_integers(
    shape: tuple[int, int, int],
    kinds: tuple[str, str],
    widen: tuple[str, str],
    transposed: tuple[bool, bool],
    zeros: tuple[bool, bool],
    threads: int,
):
    rng, (m, n, k) = np.random.default_rng(sum(shape)), shape
    a, b = (
        values(rng, kind, op, extents)
        for kind, op, extents in zip(kinds, widen, ((m, k), (k, n)), strict=True)
    )
    x, y = (
        int(z) if has else 0 for z, has in zip((-77, 2**31 - 1), zeros, strict=True)
    )
    c = rng.integers(-(2**31), 2**31, (m, n)).astype("i4")
    wanted = expected(a, b, x, y, c)
    left = np.ascontiguousarray(a.T) if transposed[0] else a
    right = np.ascontiguousarray(b.T) if transposed[1] else b
    text = product(shape, kinds, widen, transposed, zeros)
    gcg.compile(text, target="cpu", threads=threads).f(left, right, x, y, c)
    assert np.array_equal(c, wanted)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bits", "narrowest", "kinds", "parts"),
    [
        (128, 8, ("i8", "i8"), "[i8, ui8]"),
        (512, 8, ("i8", "i16"), "[i16, i16]"),
        (128, 16, ("i8", "i16"), "[i16, i16]"),
        (256, 16, ("i8", "i8"), "[i16, i16]"),
        (256, 32, ("i8", "i8"), ""),
    ],
)
@pytest.mark.sampled(3)
def test_parts_that_a_host_multiplies(
    bits: int, narrowest: int, kinds: tuple[str, str], parts: str
):
    shape, widen = (33, 50, 71), ("extsi", "extsi")
    options = f"{{vector_bits={bits},narrowest={narrowest},threads=1}}"
    module = gcg.parse(product(shape, kinds, widen))
    lowered = str(run_pipeline(module, parse_pipeline(MAPPING + options)))
    assert (f"gcg.words = {parts}" in lowered) == bool(parts)
    rng, (m, n, k) = np.random.default_rng(1), shape
    a, b = (
        values(rng, kinds[0], "extsi", (m, k)),
        values(rng, kinds[1], "extsi", (k, n)),
    )
    c = np.ones((m, n), "i4")
    wanted = expected(a, b, 0, 0, c)
    gcg.compile(lowered, target="cpu").f(a, b, 0, 0, c)
    assert np.array_equal(c, wanted)


NHWC = (2, 9, 10, 13), (3, 2, 13, 40), (2, 7, 9, 40)
NCHW = (2, 13, 9, 10), (40, 13, 3, 2), (2, 40, 7, 9)
CONVOLUTIONS = {
    "conv_2d_nhwc_hwcf": NHWC,
    "conv_2d_nhwc_hwcf_q": NHWC,
    "conv_2d_nchw_fchw": NCHW,
    "conv_2d_nchw_fchw_q": NCHW,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CONVOLUTIONS)
@pytest.mark.sampled(6)
def test_convolutions_of_bytes(name: str):
    image, filters, result = CONVOLUTIONS[name]
    types = [
        f"memref<{'x'.join(map(str, shape))}x{kind}>"
        for shape, kind in ((image, "i8"), (filters, "i8"), (result, "i32"))
    ]
    points, scalars = (", %x, %y", ", i32, i32") if name[-1] == "q" else ("", "")
    text = f"""func.func @f(%i: {types[0]}, %f: {types[1]}, %x: i32, %y: i32,
        %o: {types[2]}) {{
      linalg.{name} ins(%i, %f{points} : {types[0]}, {types[1]}{scalars})
        outs(%o : {types[2]})
      return
    }}"""
    rng = np.random.default_rng(2)
    x, w = values(rng, "i8", "extsi", image), values(rng, "i8", "extsi", filters)
    in_words, one_by_one = np.ones(result, "i4"), np.ones(result, "i4")
    gcg.compile(text, target="cpu").f(x, w, 5, -300, in_words)
    gcg.compile(text, target="cpu", exact=True).f(x, w, 5, -300, one_by_one)
    assert np.array_equal(in_words, one_by_one)
    passes = f"{MAPPING}{{vector_bits=512,registers=32,narrowest=8}}"
    mapped = run_pipeline(gcg.parse(text), parse_pipeline(passes))
    assert "gcg.words = [i8, ui8]" in str(mapped)


@pytest.mark.slow
def test_requantised_layer_in_registers():
    """A fill in front, a scale and a clamp behind, on tiles of sums of words."""
    m, n, k = 40, 64, 100
    text = f"""func.func @f(%A: memref<{m}x{k}xi8>, %B: memref<{k}x{n}xi8>, %x: i32,
        %y: i32, %C: memref<{m}x{n}xf32>) {{
      %zero = arith.constant 0 : i32
      %acc = memref.alloc() : memref<{m}x{n}xi32>
      linalg.fill ins(%zero : i32) outs(%acc : memref<{m}x{n}xi32>)
      linalg.quantized_matmul
        ins(%A, %B, %x, %y : memref<{m}x{k}xi8>, memref<{k}x{n}xi8>, i32, i32)
        outs(%acc : memref<{m}x{n}xi32>)
      affine.for %i = 0 to {m} {{ affine.for %j = 0 to {n} {{
        %s = affine.load %acc[%i, %j] : memref<{m}x{n}xi32>
        %f = arith.sitofp %s : i32 to f32
        affine.store %f, %C[%i, %j] : memref<{m}x{n}xf32>
      }} }}
      memref.dealloc %acc : memref<{m}x{n}xi32>
      return
    }}"""
    rng = np.random.default_rng(3)
    a, b = values(rng, "i8", "extsi", (m, k)), values(rng, "i8", "extsi", (k, n))
    c = np.zeros((m, n), "f4")
    gcg.compile(text, target="cpu").f(a, b, 3, -5, c)
    assert np.array_equal(c, expected(a, b, 3, -5, np.zeros((m, n), "i4")))
