"""Window reductions of StableHLO that are prefix scans: ``cumsum`` and others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg

RNG = np.random.default_rng(3)


def text(
    extents: tuple[int, ...], d: int, *, reverse: bool, element: str, operation: str
) -> str:
    ty = f"tensor<{'x'.join(map(str, extents))}x{element}>"
    start = {"add": "0", "maximum": "-9"}[operation]
    start = start if element.startswith("i") else f"{start}.0"
    windows = [n if e == d else 1 for e, n in enumerate(extents)]
    sides = [[0, n - 1] if reverse else [n - 1, 0] for n in windows]
    rank = len(extents)
    return f"""
    func.func @main(%x: {ty}) -> {ty} {{
      %init = stablehlo.constant dense<{start}> : tensor<{element}>
      %y = "stablehlo.reduce_window"(%x, %init) <{{
          padding = dense<{sides}> : tensor<{rank}x2xi64>,
          window_dimensions = array<i64: {", ".join(map(str, windows))}>}}> ({{
        ^bb0(%a: tensor<{element}>, %b: tensor<{element}>):
          %c = stablehlo.{operation} %a, %b : tensor<{element}>
          stablehlo.return %c : tensor<{element}>
        }}) : ({ty}, tensor<{element}>) -> {ty}
      return %y : {ty}
    }}"""


def expected(x: Any, d: int, *, reverse: bool, operation: str) -> Any:
    x = np.flip(x, d) if reverse else x
    run = {"add": np.add, "maximum": np.maximum}[operation]
    made = run.accumulate(x, d, dtype=x.dtype)
    return np.flip(made, d) if reverse else made


@pytest.mark.parametrize("target", ["cpu", "sim"])
@pytest.mark.parametrize(
    ("extents", "d", "reverse", "operation"),
    [
        ((5, 20), 1, False, "add"),
        pytest.param((5, 20), 0, True, "maximum", marks=pytest.mark.slow),
        ((700,), 0, True, "add"),
        pytest.param((3, 300), 1, False, "maximum", marks=pytest.mark.slow),
        pytest.param((300, 2, 2), 0, True, "add", marks=pytest.mark.slow),
        pytest.param((70000,), 0, False, "add", marks=pytest.mark.slow),
    ],
)
def test_scans(
    target: str, extents: tuple[int, ...], d: int, reverse: bool, operation: str
):
    written = text(extents, d, reverse=reverse, element="i32", operation=operation)
    x = RNG.integers(-8, 9, extents).astype("i4")
    got = gcg.compile(written, target=target).main(x)
    np.testing.assert_array_equal(
        got, expected(x, d, reverse=reverse, operation=operation)
    )


def test_the_work_of_a_scan_is_linear():
    """A sum over each window would be 2**39 additions, which do not end."""
    n = 1 << 20
    written = text((n,), 0, reverse=False, element="f64", operation="add")
    x = RNG.standard_normal(n)
    got = gcg.compile(written, target="cpu").main(x)
    np.testing.assert_allclose(got, np.cumsum(x), 1e-8, 1e-8)


@pytest.mark.parametrize("target", ["cpu", "sim"])
def test_spread_out_emptiness_is_padding_only(target: str):
    """``associative_scan`` of short rows pads slices without elements."""
    written = """func.func @main(%x: tensor<3x2xf32>) -> tensor<3x2xf32> {
      %none = stablehlo.slice %x [0:3, 2:2] : (tensor<3x2xf32>) -> tensor<3x0xf32>
      %c = stablehlo.constant dense<7.0> : tensor<f32>
      %y = stablehlo.pad %none, %c, low = [0, 2], high = [0, 0], interior = [0, 1]
        : (tensor<3x0xf32>, tensor<f32>) -> tensor<3x2xf32>
      %z = stablehlo.add %x, %y : tensor<3x2xf32>
      return %z : tensor<3x2xf32>
    }"""
    x = np.arange(6, dtype="f4").reshape(3, 2)
    assert (gcg.compile(written, target=target).main(x) == x + 7).all()
