"""Consumers of every kind of contraction: on tiles, lanes and columns of results."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

import gpucodegen as gcg

RNG = np.random.default_rng(3)


def normal(shape: tuple[int, ...], dtype: str = "f4") -> Any:
    return RNG.standard_normal(shape).astype(dtype)


def mapped(text: str, *arguments: Any, threads: int = 1) -> tuple[str, Any]:
    """The text after ``map-cpu``, and what the call returns."""
    program = gcg.compile(text, target="cpu", threads=threads)
    returned = program.f(*arguments)
    return dict(program.stages("f"))["map-cpu"], returned


def memref(shape: tuple[int, ...], ty: str = "f32") -> str:
    return f"memref<{'x'.join(map(str, shape))}x{ty}>"


def biased(
    operation: str, shapes: tuple[tuple[int, ...], ...], channel: int, rank: int
) -> str:
    """``operation`` on tensors from a fill of zeros, then bias and relu.

    ``shapes``: of two operands, the bias and the result; ``channel``: its dimension.
    """
    x, w, b, y = (memref(shape).replace("memref", "tensor") for shape in shapes)
    ids = ", ".join(f"d{i}" for i in range(rank))
    kinds = ", ".join(['"parallel"'] * rank)
    whole = f"affine_map<({ids}) -> ({ids})>"
    name, _, attributes = operation.partition(" ")
    return f"""func.func @f(%x: {x}, %w: {w}, %b: {b}) -> {y} {{
      %zero = arith.constant 0.0 : f32
      %e = tensor.empty() : {y}
      %s = linalg.fill ins(%zero : f32) outs(%e : {y}) -> {y}
      %c = linalg.{name} {attributes} ins(%x, %w : {x}, {w}) outs(%s : {y}) -> {y}
      %o = tensor.empty() : {y}
      %r = linalg.generic {{
          indexing_maps = [{whole}, affine_map<({ids}) -> (d{channel})>, {whole}],
          iterator_types = [{kinds}]}} ins(%c, %b : {y}, {b}) outs(%o : {y}) {{
        ^bb0(%p: f32, %q: f32, %z: f32):
          %t = arith.addf %p, %q : f32
          %u = arith.maximumf %t, %zero : f32
          linalg.yield %u : f32
      }} -> {y}
      return %r : {y}
    }}"""


WINDOW = "{dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}"
CONVOLUTIONS = {
    "conv_2d_nhwc_hwcf": ((1, 9, 11, 5), (3, 3, 5, 21), (1, 7, 9, 21), "hwc,hwcf->f"),
    "conv_2d_nchw_fchw": ((1, 5, 9, 11), (21, 5, 3, 3), (1, 21, 7, 9), "chw,fchw->f"),
    "depthwise_conv_2d_nhwc_hwc": (
        (1, 9, 11, 21),
        (3, 3, 21),
        (1, 7, 9, 21),
        "hwc,hwc->c",
    ),
    "depthwise_conv_2d_nchw_chw": (
        (1, 21, 9, 11),
        (21, 3, 3),
        (1, 21, 7, 9),
        "chw,chw->c",
    ),
}
"""Shapes of image, filters and result, and one pixel of it as a sum of products."""


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions(name: str, threads: int):
    image, filters, result, sums = CONVOLUTIONS[name]
    channel = result.index(21)
    text = biased(f"{name} {WINDOW}", (image, filters, (21,), result), channel, 4)
    x, w, b = normal(image), normal(filters), normal((21,))
    after, y = mapped(text, x, w, b, threads=threads)
    assert "affine.store" not in after
    rows = 1 if channel == 3 else 2
    windows = sliding_window_view(x[0].astype("f8"), (3, 3), (rows - 1, rows))
    order = {"hwc": "yxchw", "chw": "cyxhw"}[sums[:3]]
    factors, _, pixel = sums[4:].partition("->")
    target = f"yx{pixel}" if channel == 3 else f"{pixel}yx"
    expected = np.einsum(f"{order},{factors}->{target}", windows, w.astype("f8"))
    shift = b if channel == 3 else b[:, None, None]
    np.testing.assert_allclose(y[0], np.maximum(expected + shift, 0), atol=1e-4)


@pytest.mark.slow
def test_inner_products():
    text = biased("matvec", ((70, 300), (300,), (70,), (70,)), 0, 1)
    a, x, b = normal((70, 300)), normal((300,)), normal((70,))
    after, y = mapped(text, a, x, b)
    assert "vector.multi_reduction" in after
    assert "affine.store" not in after
    np.testing.assert_allclose(y, np.maximum(a.astype("f8") @ x + b, 0), atol=1e-3)


@pytest.mark.slow
def test_batches():
    shapes = ((3, 20, 30), (3, 30, 40), (40,), (3, 20, 40))
    a, x, b = normal(shapes[0]), normal(shapes[1]), normal(shapes[2])
    after, y = mapped(biased("batch_matmul", shapes, 2, 3), a, x, b)
    assert "affine.store" not in after
    np.testing.assert_allclose(y, np.maximum(a.astype("f8") @ x + b, 0), atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("k", [31, 1100])
@pytest.mark.parametrize(("ty", "dtype"), [("f32", "f4"), ("f64", "f8")])
def test_scaled_results_in_front(ty: str, dtype: str, k: int):
    m, n = 19, 33
    a, b, c = memref((m, k), ty), memref((k, n), ty), memref((m, n), ty)
    text = f"""func.func @f(%A: {a}, %B: {b}, %C: {c}, %s: {memref((4,), ty)}) {{
      affine.for %i = 0 to {m} {{
        affine.for %j = 0 to {n} {{
          %old = affine.load %C[%i, %j] : {c}
          %beta = affine.load %s[1] : {memref((4,), ty)}
          %new = arith.mulf %old, %beta : {ty}
          affine.store %new, %C[%i, %j] : {c}
        }}
        affine.for %k = 0 to {k} {{ affine.for %j = 0 to {n} {{
          %x = affine.load %A[%i, %k] : {a}
          %y = affine.load %B[%k, %j] : {b}
          %p = arith.mulf %x, %y : {ty}
          %old = affine.load %C[%i, %j] : {c}
          %new = arith.addf %old, %p : {ty}
          affine.store %new, %C[%i, %j] : {c}
        }} }}
      }}
      return
    }}"""
    x, y, z = normal((m, k), dtype), normal((k, n), dtype), normal((m, n), dtype)
    scale = normal((4,), dtype)
    expected = scale[1] * z.astype("f8") + x.astype("f8") @ y
    after, _ = mapped(text, x, y, z, scale)
    assert f"{c}, vector<" in after
    assert f"-> ({ty})" not in after
    assert "%new = arith.mulf" in after
    assert "affine.store" not in after
    np.testing.assert_allclose(z, expected, rtol=1e-4, atol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ty", "dtype", "convert"),
    [("i8", "i1", "fptosi"), ("f64", "f8", "extf"), ("f16", "f2", "truncf")],
)
def test_requantised_integers(ty: str, dtype: str, convert: str):
    m, n, k = 37, 53, 130
    a, b, c = memref((m, k), "i8"), memref((k, n), "i8"), memref((m, n), "i32")
    d, scales = memref((m, n), ty), memref((n,))
    text = f"""func.func @f(%A: {a}, %B: {b}, %s: {scales}, %D: {d}) {{
      %zero = arith.constant 0 : i32
      %low = arith.constant -128.0 : f32
      %high = arith.constant 127.0 : f32
      %C = memref.alloc() : {c}
      linalg.fill ins(%zero : i32) outs(%C : {c})
      linalg.matmul ins(%A, %B : {a}, {b}) outs(%C : {c})
      affine.for %i = 0 to {m} {{ affine.for %j = 0 to {n} {{
        %1 = affine.load %C[%i, %j] : {c}
        %2 = arith.sitofp %1 : i32 to f32
        %3 = affine.load %s[%j] : {scales}
        %4 = arith.mulf %2, %3 : f32
        %5 = math.roundeven %4 : f32
        %6 = arith.maximumf %5, %low : f32
        %7 = arith.minimumf %6, %high : f32
        %8 = arith.{convert} %7 : f32 to {ty}
        affine.store %8, %D[%i, %j] : {d}
      }} }}
      memref.dealloc %C : {c}
      return
    }}"""
    x, y = (RNG.integers(-128, 128, s).astype("i1") for s in ((m, k), (k, n)))
    factors, z = RNG.random(n, np.float32) / 50, np.zeros((m, n), dtype)
    after, _ = mapped(text, x, y, factors, z)
    sums = (x.astype(int) @ y.astype(int)).astype("f4")
    assert np.array_equal(z, np.clip(np.rint(sums * factors), -128, 127))
    assert "%C = memref.alloc" not in after


def _in_order(count: int) -> str:
    """A product of three-dimensional operands, and so many factors and terms of it."""
    cells, names = "memref<2x8x16xf32>", [f"%b{n}" for n in range(count)]
    along, own = "affine_map<(i, j, k, t) -> ", "affine_map<(i, j, k) -> (i, j, k)>"
    steps = "".join(
        f"%s{n} = arith.{('mulf', 'addf')[n % 2]} %s{n - 1}, %x{n} : f32\n"
        for n in range(count)
    ).replace("%s-1", "%v")
    return f"""
func.func @f(%A: memref<2x8x12xf32>, %B: memref<12x16xf32>,
             {", ".join(f"{name}: {cells}" for name in names)}, %C: {cells}) {{
  %T = memref.alloc() : {cells}
  %z = arith.constant 0.0 : f32
  linalg.fill ins(%z : f32) outs(%T : {cells})
  linalg.generic {{
    indexing_maps = [{along}(i, j, t)>, {along}(t, k)>, {along}(i, j, k)>],
    iterator_types = ["parallel", "parallel", "parallel", "reduction"]}}
    ins(%A, %B : memref<2x8x12xf32>, memref<12x16xf32>) outs(%T : {cells}) {{
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  }}
  linalg.generic {{
    indexing_maps = [{", ".join([own] * (count + 2))}],
    iterator_types = ["parallel", "parallel", "parallel"]}}
    ins(%T, {", ".join(names)} : {", ".join([cells] * (count + 1))})
    outs(%C : {cells}) {{
  ^bb0(%v: f32, {", ".join(f"%x{n}: f32" for n in range(count))}, %o: f32):
    {steps}
    linalg.yield %s{count - 1} : f32
  }}
  memref.dealloc %T : {cells}
  return
}}"""


@pytest.mark.parametrize("target", ["cpu", "sim"])
def test_parameters_of_a_kernel_have_one_order_in_every_process(target: str) -> None:
    """Kernels on disk are found by their source."""
    program = gcg.compile(_in_order(6), target=target)
    shapes = [(2, 8, 12), (12, 16), *[(2, 8, 16)] * 7]
    program.f(*(np.ones(shape, "f4") for shape in shapes))
    (line,) = re.findall(r"def f_k0\((.*)\)", program.f.executable().source)
    found = [name for name in line.split(", ") if name[0] == "b"]
    assert found == [f"b{n}" for n in range(6)]
