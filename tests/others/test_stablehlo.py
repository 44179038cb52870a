"""Functions that JAX lowered, against NumPy on the same arguments.

Each text in ``jax_texts`` is what ``jax.jit(f).lower(..).as_text()`` gave for the
function in its first line.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.util import find_spec
from math import erf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

import gpucodegen as gcg
from gpucodegen import errors

TEXTS = Path(__file__).parent / "jax_texts"
HAS_SLICES = find_spec("gpucodegen.passes.prepare.tensors") is not None
RNG = np.random.default_rng(7)


def normal(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype("f4")


def integers(low: int, high: int, *shape: int, dtype: str = "i4") -> Any:
    return RNG.integers(low, high, size=shape).astype(dtype)


def powers(x: Any) -> Any:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def layer_norm(x: Any, g: Any, b: Any) -> Any:
    middle = x - x.mean(-1, keepdims=True)
    return middle / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * g + b


def attention(q: Any, k: Any, v: Any) -> Any:
    scores = powers(np.einsum("bqhd,bkhd->bhqk", q, k) / 2)
    return np.einsum("bhqk,bkhd->bqhd", scores, v)


def convolution(x: Any, k: Any, dilation: int = 2) -> Any:
    """Strides of 2 and 1, the second dimension of the kernel dilated."""
    taps = ((k.shape[0] - 1) + 1, (k.shape[1] - 1) * dilation + 1)
    windows = sliding_window_view(x, taps, (1, 2))[:, ::2, :, :, :, ::dilation]
    return np.einsum("nyxchw,hwcf->nyxf", windows, k)


def same_convolution(x: Any, k: Any, b: Any) -> Any:
    padded = np.pad(x, [(0, 0), (0, 1), (1, 1), (0, 0)])
    return np.maximum(convolution(padded, k, 1) + b, 0)


def grouped_convolution(x: Any, k: Any) -> Any:
    windows = sliding_window_view(x, (3, 2), (2, 3))
    halves = [
        np.einsum(
            "ncyxhw,fchw->nfyx", windows[:, 2 * g : 2 * g + 2], k[3 * g : 3 * g + 3]
        )
        for g in (0, 1)
    ]
    return np.concatenate(halves, 1)


def transposed_convolution(x: Any, k: Any) -> Any:
    """Every element of the image spreads the kernel, which nothing turns."""
    n, high, wide, _ = x.shape
    room = np.zeros((n, 2 * high - 1 + 3, 2 * wide - 1 + 3, x.shape[3]))
    room[:, 2 : 2 * high + 1 : 2, 2 : 2 * wide + 1 : 2] = x
    windows = sliding_window_view(room, (3, 3), (1, 2))
    return np.einsum("nyxchw,hwcf->nyxf", windows, k)


def sum_pool_same(x: Any) -> Any:
    padded = np.pad(x, [(0, 0), (0, 1), (1, 1), (0, 0)])
    return sliding_window_view(padded, (3, 3), (1, 2))[:, ::2, ::2].sum((-1, -2))


def max_pool(x: Any) -> Any:
    return sliding_window_view(x, (2, 3), (1, 2))[:, ::2, ::2].max((-1, -2))


def fori_loop(x: Any) -> Any:
    for i in range(5):
        x = x * 0.5 + i
    return x


def scan(x: Any) -> Any:
    h, seen = np.zeros(3), []
    for y in x:
        seen.append(h)
        h = h * 0.5 + y
    return h, np.stack(seen)


def updated(x: Any, i: Any) -> Any:
    out = x.copy()
    out[i : i + 2] = x[:2] * 2
    return out


def functions(x: Any, y: Any) -> Any:
    return (
        np.sin(x) * np.cos(y) + np.tanh(x) - np.exp(-y * y) + np.arctan2(x, y)
        + np.log1p(abs(x)) + np.sqrt(abs(y)) + np.floor(x) + np.ceil(y) + np.sign(x)
        + 1 / (1 + np.exp(-y)) + np.cbrt(x) + 1 / np.sqrt(abs(x) + 1) + np.round(x)
        + np.expm1(y)
    )  # fmt: skip


def more_functions(x: Any) -> Any:
    return (
        np.arcsin(x * 0.1) + np.arctan(x) + np.sinh(x) + np.cosh(x)
        + np.arctanh(x * 0.1) + np.tan(x) + x * x + np.vectorize(erf)(x)
    )  # fmt: skip


def whole_numbers(x: Any, y: Any) -> Any:
    bits = x.astype("i4").view("u4") >> 1
    parts = (x ^ 3) + (x << 2) + (x >> 1) + abs(x) + np.sign(x) - bits
    return ((x // y) + (x % y) - (x & y)) | parts, (x > 3).any(), (x > -99).all()


def gradient(w: Any, v: Any, x: Any, y: Any) -> Any:
    hidden = x @ w
    kept = np.maximum(hidden, 0)
    error = 2 * (kept @ v - y)
    return x.T @ ((error @ v.T) * (hidden > 0)), kept.T @ error


def interior_pad(x: Any) -> Any:
    room = np.zeros((8, 12))
    room[1:6:2, 0:12:3] = x
    return room[:, :9]


Case = tuple[Callable[..., Any], tuple[Any, ...]]
IMAGE, SQUARE = normal(2, 8, 9, 3), normal(6, 6)
CASES: dict[str, Case] = {
    "perceptron": (
        lambda x, w, b, v, d: np.maximum(x @ w + b, 0) @ v + d,
        (normal(4, 8), normal(8, 16), normal(16), normal(16, 5), normal(5)),
    ),
    "softmax": (powers, (normal(4, 8),)),
    "layer_norm": (layer_norm, (normal(4, 8), normal(8), normal(8))),
    "attention": (
        attention,
        (normal(2, 5, 3, 4), normal(2, 6, 3, 4), normal(2, 6, 3, 4)),
    ),
    "convolution": (convolution, (IMAGE, normal(3, 2, 3, 4))),
    "grouped_convolution": (
        grouped_convolution,
        (normal(2, 4, 6, 7), normal(6, 2, 3, 2)),
    ),
    "max_pool": (max_pool, (IMAGE,)),
    "gather_rows": (lambda x, i: x[i], (normal(9, 3), integers(-9, 9, 5))),
    "take_along_axis": (
        lambda x, i: np.take_along_axis(x, i, 1),
        (normal(4, 6), integers(0, 6, 4, 2)),
    ),
    "argmax": (lambda x: x.argmax(-1), (normal(3, 7),)),
    "dynamic_slice": (lambda x, i: x[i : i + 2, i : i + 3], (SQUARE, np.int32(2))),
    "functions": (functions, (normal(5, 6), normal(5, 6))),
    "more_functions": (more_functions, (normal(20).clip(-1.2, 1.2),)),
    "products": (
        lambda x, y: np.einsum("ijk,kl->lij", x, y),
        (normal(2, 3, 4), normal(4, 5)),
    ),
    "integers": (whole_numbers, (integers(-50, 50, 12), integers(1, 9, 12))),
    "sort": (np.sort, (np.array([2, -0.0, np.nan, 0.0], "f4"),)),
    "unsigned": (
        lambda x, y: x // y + np.maximum(x, y) + (x >> 1) + (x > y),
        (integers(-9, 99, 12).view("u4"), integers(1, 9, 12).view("u4")),
    ),
    "bytes_to_floats": (lambda x: x / 255, (integers(0, 256, 4, 5, dtype="u1"),)),
    "short_integers": (
        lambda x, w: x.astype(int) @ w,
        (integers(-99, 99, 4, 8, dtype="i1"), integers(-99, 99, 8, 4, dtype="i1")),
    ),
    "brain_floats": (
        np.matmul,
        (np.round(normal(4, 8) * 2) / 2, np.round(normal(8, 4) * 2) / 2),
    ),
    "gradient": (gradient, (normal(8, 6), normal(6, 3), normal(4, 8), normal(4, 3))),
    "complex_numbers": (
        lambda x: abs(x * x + 1),
        ((normal(5) + 1j * normal(5)).astype("c8"),),
    ),
    "one_hot": (lambda i: np.eye(5)[i], (integers(0, 5, 6),)),
}
"""What runs by linalg alone."""

WITH_SLICES: dict[str, Case] = {
    "same_convolution": (same_convolution, (IMAGE, normal(3, 3, 3, 4), normal(4))),
    "transposed_convolution": (
        transposed_convolution,
        (normal(1, 4, 5, 3), normal(3, 3, 3, 2)),
    ),
    "sum_pool_same": (sum_pool_same, (IMAGE,)),
    "gather_pairs": (
        lambda x, i, j: x[i, :, j],
        (normal(9, 3, 4), integers(0, 9, 5), integers(0, 4, 5)),
    ),
    "fori_loop": (fori_loop, (normal(4),)),
    "scan": (scan, (normal(6, 3),)),
    "cond": (lambda p, x: x + 1 if p else x * 2, (np.array(False), normal(4))),
    "switch": (lambda p, x: (x + 1, x * 2, -x)[p], (np.int32(2), normal(4))),
    "cumsum": (np.cumsum, (normal(10),)),
    "concatenate": (
        lambda x, y: np.concatenate([x[1:3, ::2], np.pad(y, 1)[:2, :2]]),
        (normal(4, 4), normal(2, 2)),
    ),
    "update_slice": (updated, (normal(6), np.int32(3))),
    "reshape": (lambda x: x.transpose(2, 0, 1).reshape(4, 6) + 1, (normal(2, 3, 4),)),
    "reverse_and_roll": (lambda x: x[::-1] + np.roll(x, 1, 1), (normal(4, 5),)),
    "interior_pad": (interior_pad, (normal(3, 4),)),
}
"""What needs pads, slices, reshapes and loops of tensors."""

NEEDS_SLICES = pytest.mark.skipif(
    not HAS_SLICES, reason="slices, pads and loops of tensors are not bufferized"
)


def compare(found: Any, expected: Any) -> None:
    """Integers have the sign that NumPy's have."""
    assert found.shape == expected.shape
    if expected.dtype.kind in "iu":
        assert found.dtype.kind == expected.dtype.kind
    same = expected.astype(found.dtype) if expected.dtype.kind in "iu" else expected
    np.testing.assert_allclose(found, same, rtol=2e-5, atol=2e-5)


def check(name: str, case: Case, target: str) -> None:
    function, arguments = case
    text = (TEXTS / f"{name}.mlir").read_text()
    program = gcg.compile(text, target=target)
    got = program.main(*map(np.asarray, arguments))
    exact = [
        a.astype(float) if isinstance(a, np.ndarray) and a.dtype.kind == "f" else a
        for a in arguments
    ]
    want = function(*exact)
    pairs = (got, want) if isinstance(want, tuple) else ((got,), (want,))
    for found, expected in zip(*pairs, strict=True):
        compare(np.asarray(found), np.asarray(expected))


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_functions_of_jax(name: str):
    check(name, CASES[name], "cpu")


CLAMPED = pytest.mark.filterwarnings(
    "ignore::gpucodegen.errors.warnings.PossiblyOutOfBounds"
)
"""The proof of bounds does not see that a place is clamped."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[CLAMPED] * (n == "dynamic_slice")) for n in CASES],
)
@pytest.mark.drawn(12)
def test_functions_of_jax_on_a_gpu(name: str):
    check(name, CASES[name], "sim")


@pytest.mark.slow
@NEEDS_SLICES
@pytest.mark.parametrize("name", WITH_SLICES)
@pytest.mark.drawn(7)
def test_functions_with_slices_and_loops(name: str):
    check(name, WITH_SLICES[name], "cpu")


@NEEDS_SLICES
@pytest.mark.slow
@pytest.mark.parametrize("name", WITH_SLICES)
def test_functions_with_slices_and_loops_on_a_gpu(name: str):
    check(name, WITH_SLICES[name], "sim")


@pytest.mark.sampled(4)
@pytest.mark.cases("path", sorted(TEXTS.glob("*.mlir")), ids=lambda p: p.stem)
def test_print_and_parse(path: Path):
    """What is printed says the same, in the short forms or the generic one."""
    printed = str(gcg.parse(path.read_text()))
    assert str(gcg.parse(printed)) == printed


@pytest.mark.parametrize("target", ["cpu", "sim"])
@pytest.mark.sampled(2)
def test_a_layer_is_one_product_and_its_epilogue(target: str):
    """Broadcast, bias and relu stay in the kernel of each of the two products."""
    text = (TEXTS / "perceptron.mlir").read_text()
    program = gcg.compile(text, target=target)
    program.main(*CASES["perceptron"][1])
    stages = dict(program.stages("main"))
    assert stages["fuse-tensors"].count("linalg.generic") == 6
    if target == "sim":
        assert stages["map-gpu"].count("gpu.launch_func") == 2


def test_branches_of_a_condition_are_kernels():
    """Not loops of the host that access device memory element by element."""
    program = gcg.compile((TEXTS / "cond.mlir").read_text(), target="sim")
    program.main(*WITH_SLICES["cond"][1])
    assert dict(program.stages("main"))["map-gpu"].count("gpu.launch_func") == 2


# -- refusals --------------------------------------------------------------------------


def test_short_forms_that_are_refused_say_what_to_do():
    text = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %y = stablehlo.rng_bit_generator %x, algorithm = DEFAULT
        : (tensor<4xf32>) -> tensor<4xf32>
      return %y : tensor<4xf32>
    }"""
    with pytest.raises(
        errors.UnsupportedOperation, match=r":2:.*rng_bit_generator.*threefry"
    ):
        gcg.compile(text).main(normal(4))


def test_short_forms_without_a_rule_are_refused_at_their_place():
    text = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %y = stablehlo.custom_call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
      return %y : tensor<4xf32>
    }"""
    with pytest.raises(
        errors.UnsupportedOperation, match=r"<string>:2:.*custom_call with target f"
    ):
        gcg.compile(text).main(normal(4))


def test_total_order_counts_zeros_and_nan():
    text = """func.func @main(%x: tensor<5xf32>, %y: tensor<5xf32>) -> tensor<5xi1> {
      %z = stablehlo.compare LT, %x, %y, TOTALORDER
        : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
      return %z : tensor<5xi1>
    }"""
    x = np.array([-0.0, 0.0, np.inf, 1.0, np.nan], "f4")
    y = np.array([0.0, -0.0, np.nan, 2.0, 5.0], "f4")
    got = gcg.compile(text, target="cpu").main(x, y)
    assert got.tolist() == [True, False, True, True, False]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("n", [1, 2, 13])
def test_unstable_sorts_of_several_tensors(n: int):
    """Of any length, not only powers of two."""
    text = f"""func.func @main(%x: tensor<2x{n}xi32>, %y: tensor<2x{n}xf32>)
        -> (tensor<2x{n}xi32>, tensor<2x{n}xf32>) {{
      %0:2 = "stablehlo.sort"(%x, %y) <{{dimension = 1 : i64, is_stable = false}}> ({{
      ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<f32>, %d: tensor<f32>):
        %1 = stablehlo.compare GT, %a, %b, SIGNED
          : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %1 : tensor<i1>
      }}) : (tensor<2x{n}xi32>, tensor<2x{n}xf32>)
        -> (tensor<2x{n}xi32>, tensor<2x{n}xf32>)
      return %0#0, %0#1 : tensor<2x{n}xi32>, tensor<2x{n}xf32>
    }}"""
    x = np.stack([RNG.permutation(n), RNG.permutation(n)]).astype("i4")
    y = normal(2, n)
    keys, values = gcg.compile(text, target="cpu").main(x, y)
    order = np.argsort(-x, 1)
    np.testing.assert_array_equal(keys, np.take_along_axis(x, order, 1))
    np.testing.assert_array_equal(values, np.take_along_axis(y, order, 1))


def test_scatters_leave_out_places_outside():
    text = (TEXTS / "scatter_add.mlir").read_text()
    x, y = np.zeros((3, 2), "f4"), normal(4, 2)
    got = gcg.compile(text, target="cpu").main(x, np.array([2, 9, 0, 2], "i4"), y)
    np.testing.assert_allclose(got, [y[2], [0, 0], y[0] + y[3]], rtol=1e-6)


def test_lapack_without_scipy_is_refused_at_its_place(monkeypatch: pytest.MonkeyPatch):
    text = """func.func @main(%x: tensor<40x40xf32>) -> tensor<40x40xf32> {
      %y = stablehlo.cholesky %x, lower = true : tensor<40x40xf32>
      return %y : tensor<40x40xf32>
    }"""
    monkeypatch.setitem(sys.modules, "scipy.linalg", None)
    program = gcg.compile(text, target="interp")
    with pytest.raises(errors.UnsupportedOperation, match=r":2:.*Install scipy"):
        program.main(np.eye(40, dtype="f4"))
