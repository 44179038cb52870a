"""StableHLO's windows over all elements before or after each: they are scans."""

from __future__ import annotations

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen.passes.loops.scan_fusion import FuseScans
from gpucodegen.report.gpu.report import report


def window_text(
    shape: tuple[int, ...],
    axis: int,
    *,
    reverse: bool,
    body: str = "add",
    more: str = "",
) -> str:
    """``more``: what is made of each element before, and of each result after it."""
    ty = f"tensor<{'x'.join(map(str, shape))}xf32>"
    n, rank = shape[axis], len(shape)
    pads = [[0, 0] for _ in shape]
    pads[axis] = [0, n - 1] if reverse else [n - 1, 0]
    sizes = ", ".join(str(n if d == axis else 1) for d in range(rank))
    start = {"add": "0.0", "multiply": "1.0", "maximum": "0xFF800000"}[body]
    before = f"%a = stablehlo.{more} %x : {ty}" if more else ""
    after = f"%r = stablehlo.subtract %s, %x : {ty}" if more else ""
    return f"""func.func @main(%x: {ty}) -> {ty} {{
  %c = stablehlo.constant dense<{start}> : tensor<f32>
  {before}
  %s = "stablehlo.reduce_window"({"%a" if more else "%x"}, %c) <{{
    padding = dense<{pads}> : tensor<{rank}x2xi64>,
    window_dimensions = array<i64: {sizes}>}}> ({{
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %t = stablehlo.{body} %p, %q : tensor<f32>
      stablehlo.return %t : tensor<f32>
    }}) : ({ty}, tensor<f32>) -> {ty}
  {after}
  return {"%r" if more else "%s"} : {ty}
}}"""


ACCUMULATE = {"add": np.add, "multiply": np.multiply, "maximum": np.maximum}


@pytest.mark.parametrize("target", ["cpu", "sim", "interp"])
@pytest.mark.sampled(3)
@pytest.mark.cases(
    ("shape", "axis", "reverse", "body"),
    [
        ((5, 70), 1, False, "add"),
        ((5, 70), 1, True, "add"),
        ((40, 3), 0, True, "multiply"),
        ((2, 33, 3), 1, False, "maximum"),
        ((9,), 0, True, "add"),
    ],
)
def test_windows_up_to_each_element_and_from_it_on(
    target: str, shape: tuple[int, ...], axis: int, reverse: bool, body: str
) -> None:
    x = np.random.default_rng(3).uniform(0.5, 1.5, shape).astype("f4")
    text = window_text(shape, axis, reverse=reverse, body=body)
    wide = np.flip(x, axis) if reverse else x
    right = ACCUMULATE[body].accumulate(wide.astype("f8"), axis)
    found = gcg.compile(text, target=target).main(x)
    right = np.flip(right, axis) if reverse else right
    np.testing.assert_allclose(found, right, rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["cpu", "sim"])
def test_what_stands_before_and_after_a_scan(target: str) -> None:
    x = np.random.default_rng(3).uniform(0.5, 1.5, (4, 50)).astype("f4")
    text = window_text(x.shape, 1, reverse=True, more="abs")
    wide = x[:, ::-1].astype("f8")
    right = wide.cumsum(1)[:, ::-1] - x
    np.testing.assert_allclose(gcg.compile(text, target=target).main(x), right, 1e-4)


@pytest.mark.slow
@pytest.mark.cases("more", ["", "abs"])
def test_scans_of_rows_are_one_kernel_that_reads_and_stores_once(more: str) -> None:
    shape = (4096, 8192)
    text = window_text(shape, 1, reverse=True, more=more)
    (kernel,) = report(text, arch="sm_90a").functions[0].kernels
    assert kernel.limits.memory_bytes <= 2 * 4 * 4096 * 8192 + 4096
    assert kernel.limits.share_of_peak > 0.9


SHIFTED = """func.func @f(%x: memref<8x9xf32>, %t: memref<8x9xf32>, %s: f32) {
  affine.for %i = 0 to 8 {
    %total = affine.for %j = 0 to 8 iter_args(%u = %s) -> (f32) {
      %a = affine.load %x[%i, %j] : memref<8x9xf32>
      %b = arith.addf %u, %a : f32
      affine.store %b, %t[%i, %j] : memref<8x9xf32>
      affine.yield %b : f32
    }
    affine.for %k = 0 to 8 {
      %a = affine.load %t[%i, %k + AHEAD] : memref<8x9xf32>
      affine.store %a, %x[%i, %k] : memref<8x9xf32>
    }
  }
  return
}"""


@pytest.mark.cases(("ahead", "loops"), [("0", 2), ("1", 3)])
def test_a_scan_whose_later_totals_are_read_stays_apart(ahead: str, loops: int) -> None:
    made = FuseScans().apply(gcg.parse(SHIFTED.replace("AHEAD", ahead)))
    assert str(made).count("affine.for") == loops
