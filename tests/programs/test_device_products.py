"""Products and convolutions on the emulated device, with what stands around them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpucodegen as gcg

Array = np.ndarray[Any, Any]
LAUNCH = "gpu.launch_func"


def mapped(program: Any) -> str:
    return dict(program.stages("f"))["map-gpu"]


def typed(shape: tuple[int, ...], element: str = "f32") -> str:
    return f"memref<{'x'.join(map(str, shape))}x{element}>"


LAYERS = {
    "channels last": ("conv_2d_nhwc_hwcf", (2, 9, 8, 16), (3, 3, 16, 24), 1, 1),
    "few channels": ("conv_2d_nhwc_hwcf", (1, 11, 9, 3), (3, 3, 3, 17), 2, 1),
    "apart": ("conv_2d_nhwc_hwcf", (2, 9, 7, 5), (3, 2, 5, 16), 1, 2),
    "channels first": ("conv_2d_nchw_fchw", (2, 6, 8, 9), (17, 6, 3, 3), 1, 1),
    "first, strided": ("conv_2d_nchw_fchw", (1, 5, 9, 11), (16, 5, 5, 3), 2, 1),
    "1x1, last": ("conv_2d_nhwc_hwcf", (2, 5, 5, 16), (1, 1, 16, 16), 1, 1),
    "1x1, first": ("conv_2d_nchw_fchw", (2, 16, 5, 5), (16, 16, 1, 1), 1, 1),
}


def windows(name: str, image: Array, weights: Array, step: int, apart: int) -> Array:
    """The convolution in f64."""
    is_last = "nhwc" in name
    seen = image if is_last else image.transpose(0, 2, 3, 1)
    taps = weights if is_last else weights.transpose(2, 3, 1, 0)
    high, wide = taps.shape[:2]
    rows, columns = (
        (seen.shape[d] - (taps.shape[d - 1] - 1) * apart - 1) // step + 1
        for d in (1, 2)
    )
    total: Any = 0.0
    for h in range(high):
        for w in range(wide):
            down = slice(h * apart, h * apart + (rows - 1) * step + 1, step)
            across = slice(w * apart, w * apart + (columns - 1) * step + 1, step)
            total = total + seen[:, down, across].astype("f8") @ taps[h, w]
    return total if is_last else total.transpose(0, 3, 1, 2)


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.sampled(9)
def test_convolutions(name: str):
    operation, image, weights, step, apart = LAYERS[name]
    rng = np.random.default_rng(0)
    x, w = (rng.standard_normal(s).astype("f4") for s in (image, weights))
    expected = windows(operation, x, w, step, apart)
    types = [typed(s) for s in (image, weights, expected.shape)]
    text = f"""func.func @f(%I: {types[0]}, %W: {types[1]}, %O: {types[2]}) {{
      linalg.{operation} {{strides = dense<{step}> : tensor<2xi64>,
                           dilations = dense<{apart}> : tensor<2xi64>}}
        ins(%I, %W : {types[0]}, {types[1]}) outs(%O : {types[2]})
      return
    }}"""
    program = gcg.compile(text, target="sim")
    result = np.ones(expected.shape, "f4")
    program.f(x, w, result)
    np.testing.assert_allclose(result, expected + 1, rtol=1e-4, atol=1e-4)
    text = mapped(program)
    assert text.count(LAUNCH) == 1
    assert "vector.outerproduct" in text


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::gpucodegen.errors.PossiblyOutOfBounds")
def test_extents_that_a_call_tells():
    any_shape = "memref<?x?xf32>"
    text = f"""func.func @f(%A: {any_shape}, %B: {any_shape}, %C: {any_shape}) {{
      linalg.matmul ins(%A, %B : {any_shape}, {any_shape}) outs(%C : {any_shape})
      return
    }}"""
    program = gcg.compile(text, target="sim", specialize=False)
    assert "vector.outerproduct" in mapped(program)
    rng = np.random.default_rng(0)
    for rows, columns, terms in ((37, 53, 20), (1, 1, 1), (0, 3, 2), (3, 4, 0)):
        a, b = (
            rng.standard_normal(shape).astype("f4")
            for shape in ((rows, terms), (terms, columns))
        )
        c = np.ones((rows, columns), "f4")
        program.f(a, b, c)
        np.testing.assert_allclose(c, a.astype("f8") @ b + 1, rtol=1e-4, atol=1e-4)


TYPES = {"f16": "f2", "f32": "f4", "f64": "f8", "i8": "i1", "i32": "i4"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("factors", "result"),
    [("f16", "f16"), ("f16", "f32"), ("f64", "f64"), ("i8", "i32"), ("i32", "i32")],
)
def test_elements(factors: str, result: str):
    shapes = (33, 24), (24, 36), (33, 36)
    kinds = factors, factors, result
    types = [typed(s, e) for s, e in zip(shapes, kinds, strict=True)]
    text = f"""func.func @f(%A: {types[0]}, %B: {types[1]}, %C: {types[2]}) {{
      linalg.matmul ins(%A, %B : {types[0]}, {types[1]}) outs(%C : {types[2]})
      return
    }}"""
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-4, 5, s).astype(TYPES[factors]) for s in shapes[:2])
    program = gcg.compile(text, target="sim")
    c = np.ones(shapes[2], TYPES[result])
    program.f(a, b, c)
    np.testing.assert_array_equal(c, a.astype("f8") @ b.astype("f8") + 1)
    wanted = "vector.outerproduct" if factors == "i32" else "nvgpu.mma.sync"
    assert wanted in mapped(program)


SCALARS: dict[str, Callable[[Any, Any], Any]] = {
    "%s = arith.addf %c, %b : f32": lambda c, b: c + b,
    "%s = arith.mulf %b, %c : f32": lambda c, b: c * b,
    "%s = arith.maximumf %c, %zero : f32": lambda c, _: np.maximum(c, 0),
    "%s = arith.subf %b, %c : f32": lambda c, b: b - c,
}
EXTENTS = st.integers(1, 40)


@pytest.mark.slow
@given(
    EXTENTS,
    EXTENTS,
    EXTENTS,
    st.tuples(st.booleans(), st.booleans(), st.booleans()),
    st.lists(st.sampled_from(sorted(SCALARS)), max_size=2),
    st.sampled_from(["%i", "%j", "%i, %j"]),
)
@settings(max_examples=25, deadline=None)
def test_random_chains(
    m: int,
    n: int,
    k: int,
    turned: tuple[bool, bool, bool],
    steps: list[str],
    extra: str,
):
    """Factors turned or not, a fill or none, then nests in place, a scalar each."""
    extents = {"%i": m, "%j": n}
    shape = tuple(extents[name] for name in extra.split(", "))
    left, right = ((k, m) if turned[0] else (m, k)), ((n, k) if turned[1] else (k, n))
    x = typed(shape)
    nests = "".join(
        f"""affine.for %i = 0 to {m} {{ affine.for %j = 0 to {n} {{
          %c = affine.load %C[%i, %j] : {typed((m, n))}
          %b = affine.load %x[{extra}] : {x}
          {step}
          affine.store %s, %C[%i, %j] : {typed((m, n))}
        }} }}
        """
        for step in steps
    )
    fill = f"linalg.fill ins(%zero : f32) outs(%C : {typed((m, n))})"
    text = f"""func.func @f(%A: {typed(left)}, %B: {typed(right)}, %x: {x},
                            %C: {typed((m, n))}) {{
      %zero = arith.constant 0.0 : f32
      {fill if turned[2] else ""}
      affine.for %i = 0 to {m} {{
      affine.for %j = 0 to {n} {{ affine.for %k = 0 to {k} {{
        %a = affine.load %A[{"%k, %i" if turned[0] else "%i, %k"}] : {typed(left)}
        %b = affine.load %B[{"%j, %k" if turned[1] else "%k, %j"}] : {typed(right)}
        %c = affine.load %C[%i, %j] : {typed((m, n))}
        %p = arith.mulf %a, %b : f32
        %s = arith.addf %c, %p : f32
        affine.store %s, %C[%i, %j] : {typed((m, n))}
      }} }} }}
      {nests}
      return
    }}"""
    rng = np.random.default_rng(m * n * k)
    a, b, e = (rng.standard_normal(s).astype("f4") for s in (left, right, shape))
    c = np.ones((m, n), "f4")
    products = [x.T if t else x for x, t in zip((a, b), turned, strict=False)]
    expected: Any = products[0].astype("f8") @ products[1] + (0 if turned[2] else 1)
    scalar: Any = e[:, None] if extra == "%i" else e
    for step in steps:
        expected = SCALARS[step](expected, scalar)
    gcg.compile(text, target="sim").f(a, b, e, c)
    np.testing.assert_allclose(c, expected, rtol=1e-3, atol=1e-3)
