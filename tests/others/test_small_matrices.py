"""Small matrices of StableHLO, which are factored by loops, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg

RNG = np.random.default_rng(11)
TARGETS = ["cpu", pytest.param("sim", marks=pytest.mark.slow)]


def matrices(*shape: int) -> Any:
    return RNG.standard_normal(shape)


def positive(*shape: int) -> Any:
    a = matrices(*shape)
    return a @ np.swapaxes(a, -1, -2) + shape[-1] * np.eye(shape[-1])


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("lower", [True, False])
def test_cholesky(target: str, lower: bool):
    ty = "tensor<2x4x4xf64>"
    text = f"""func.func @main(%a: {ty}) -> {ty} {{
      %l = "stablehlo.cholesky"(%a) <{{lower = {str(lower).lower()}}}> : ({ty}) -> {ty}
      return %l : {ty}
    }}"""
    a = positive(2, 4, 4)
    got = gcg.compile(text, target=target).main(a)
    triangle = np.tril(np.ones((4, 4))) if lower else np.triu(np.ones((4, 4)))
    factor = got * triangle
    turned = np.swapaxes(factor, 1, 2)
    product = factor @ turned if lower else turned @ factor
    np.testing.assert_allclose(product, a, 1e-12, 1e-12)
    np.testing.assert_array_equal(got * (1 - triangle), a * (1 - triangle))


@pytest.mark.slow
def test_cholesky_tells_the_first_column_without_a_root():
    text = """func.func @main(%a: tensor<3x3xf64>) -> tensor<i32> {
      %l:2 = stablehlo.custom_call @lapack_dpotrf_ffi(%a)
        {mhlo.backend_config = {uplo = 76 : ui8}}
        : (tensor<3x3xf64>) -> (tensor<3x3xf64>, tensor<i32>)
      return %l#1 : tensor<i32>
    }"""
    program = gcg.compile(text, target="cpu")
    assert int(program.main(np.eye(3))) == 0
    assert int(program.main(np.diag([1.0, -1.0, -1.0]))) == 2


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    "sides",
    [
        "left lower",
        pytest.param("left upper", marks=pytest.mark.slow),
        pytest.param("left lower transposed", marks=pytest.mark.slow),
        "right upper transposed",
        pytest.param("right lower unit", marks=pytest.mark.slow),
    ],
)
def test_triangular_solve(target: str, sides: str):
    words = sides.split()
    is_left, is_lower = words[0] == "left", words[1] == "lower"
    unit = "unit" in words
    turned = "TRANSPOSE" if "transposed" in words else "NO_TRANSPOSE"
    right = (4, 3) if is_left else (3, 4)
    x = f"tensor<{right[0]}x{right[1]}xf64>"
    text = f"""func.func @main(%a: tensor<4x4xf64>, %b: {x}) -> {x} {{
      %x = "stablehlo.triangular_solve"(%a, %b) <{{
          left_side = {str(is_left).lower()}, lower = {str(is_lower).lower()},
          unit_diagonal = {str(unit).lower()},
          transpose_a = #stablehlo<transpose {turned}>}}>
        : (tensor<4x4xf64>, {x}) -> {x}
      return %x : {x}
    }}"""
    a, b = positive(4, 4), matrices(*right)
    got = gcg.compile(text, target=target).main(a, b)
    used = np.tril(a) if is_lower else np.triu(a)
    if unit:
        np.fill_diagonal(used, 1)
    used = used.T if "transposed" in words else used
    np.testing.assert_allclose(used @ got if is_left else got @ used, b, 1e-10, 1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("rows", "columns"), [(4, 4), pytest.param(5, 3, marks=pytest.mark.slow)]
)
def test_lu(target: str, rows: int, columns: int):
    ty, count = f"tensor<{rows}x{columns}xf64>", min(rows, columns)
    text = f"""func.func @main(%a: {ty}) -> ({ty}, tensor<{count}xi32>, tensor<i32>) {{
      %l:3 = stablehlo.custom_call @lapack_dgetrf_ffi(%a)
        : ({ty}) -> ({ty}, tensor<{count}xi32>, tensor<i32>)
      return %l#0, %l#1, %l#2 : {ty}, tensor<{count}xi32>, tensor<i32>
    }}"""
    a = matrices(rows, columns)
    factors, pivots, info = gcg.compile(text, target=target).main(a)
    lower = np.tril(factors, -1)[:, :count] + np.eye(rows, count)
    moved = a.copy()
    for k, pivot in enumerate(pivots):
        moved[[k, pivot - 1]] = moved[[pivot - 1, k]]
    np.testing.assert_allclose(lower @ np.triu(factors)[:count], moved, 1e-10, 1e-10)
    assert np.abs(lower).max() == 1
    assert int(info) == 0


@pytest.mark.slow
def test_lu_tells_the_first_pivot_that_is_zero():
    text = """func.func @main(%a: tensor<3x3xf64>) -> tensor<i32> {
      %l:3 = stablehlo.custom_call @lapack_dgetrf_ffi(%a)
        : (tensor<3x3xf64>) -> (tensor<3x3xf64>, tensor<3xi32>, tensor<i32>)
      return %l#2 : tensor<i32>
    }"""
    a = np.array([[1.0, 2, 3], [2, 4, 6], [1, 2, 1]])
    assert int(gcg.compile(text, target="cpu").main(a)) == 2


def test_other_routines_stay_calls():
    """The first operand of a tridiagonal system is a line."""
    pytest.importorskip("scipy")
    line, right = "tensor<5xf64>", "tensor<5x2xf64>"
    text = f"""
    func.func @main(%l: {line}, %d: {line}, %u: {line}, %b: {right}) -> {right} {{
      %r:5 = stablehlo.custom_call @lapack_dgtsv_ffi(%l, %d, %u, %b)
        : ({line}, {line}, {line}, {right})
        -> ({line}, {line}, {line}, {right}, tensor<i32>)
      return %r#3 : {right}
    }}"""
    lower, diagonal, upper = RNG.uniform(0, 1, 5), RNG.uniform(3, 4, 5), np.ones(5)
    lower[0] = upper[-1] = 0
    matrix = np.diag(diagonal) + np.diag(lower[1:], -1) + np.diag(upper[:-1], 1)
    b = RNG.standard_normal((5, 2))
    x = gcg.compile(text, target="cpu").main(lower, diagonal, upper, b)
    np.testing.assert_allclose(matrix @ x, b, 1e-10, 1e-10)
