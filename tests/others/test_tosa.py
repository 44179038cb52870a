"""TOSA programs, against NumPy on the definitions of the operations."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

import gpucodegen as gcg
from gpucodegen import errors

HAS_PADS = find_spec("gpucodegen.passes.prepare.tensors") is not None
NEEDS_PADS = pytest.mark.skipif(not HAS_PADS, reason="tensor.pad is not bufferized")
RNG = np.random.default_rng(5)


def numbers(*shape: int, dtype: str = "f4") -> Any:
    if dtype[0] == "i":
        return RNG.integers(-9, 10, size=shape).astype(dtype)
    return (RNG.integers(-16, 17, size=shape) / 8).astype(dtype)


def typed(array: Any) -> str:
    kinds = {"f4": "f32", "i4": "i32", "i1": "i8", "b1": "i1"}
    dims = "".join(f"{n}x" for n in array.shape)
    return f"tensor<{dims}{kinds[array.dtype.str[1:]]}>"


def run(body: str, arguments: list[Any], result: str, target: str = "cpu") -> Any:
    """``%r`` of a body on arguments ``%0``, ``%1`` and so on, typed ``!0``, ``!1``."""
    names = ", ".join(f"%{n}: {typed(a)}" for n, a in enumerate(arguments))
    for n, argument in enumerate(arguments):
        body = body.replace(f"!{n}", typed(argument))
    body = body.replace("!r", result)
    text = f"func.func @f({names}) -> {result} {{ {body}\n return %r : {result} }}"
    return np.asarray(gcg.compile(text, target=target).f(*arguments))


A, B, POSITIVE = numbers(4, 6), numbers(4, 6), abs(numbers(4, 6)) + 1
UNARY = {
    "abs": np.abs,
    "ceil": np.ceil,
    "exp": np.exp,
    "floor": np.floor,
    "negate": np.negative,
    "reciprocal": lambda x: 1 / x,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "log": np.log,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "tanh": np.tanh,
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_number(name: str):
    x = POSITIVE if name in ("log", "rsqrt", "reciprocal") else A
    got = run(f"%r = tosa.{name} %0 : (!0) -> !0", [x], typed(x))
    np.testing.assert_allclose(got, UNARY[name](x.astype(float)), rtol=1e-5)


BINARY = {
    "add": np.add,
    "sub": np.subtract,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "pow": np.power,
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", BINARY)
def test_operands_are_broadcast(name: str):
    x, y = POSITIVE, numbers(1, 6)
    got = run(f"%r = tosa.{name} %0, %1 : (!0, !1) -> !0", [x, y], typed(x))
    np.testing.assert_allclose(got, BINARY[name](x.astype(float), y), rtol=1e-5)


def test_truth_values_select():
    body = """%g = tosa.greater_equal %0, %1 : (!0, !1) -> tensor<4x6xi1>
      %n = tosa.logical_not %g : (tensor<4x6xi1>) -> tensor<4x6xi1>
      %r = tosa.select %n, %0, %1 : (tensor<4x6xi1>, !0, !1) -> !0"""
    np.testing.assert_array_equal(run(body, [A, B], typed(A)), np.minimum(A, B))


def test_casts_round_to_even():
    x = np.array([0.5, 1.5, 2.5, -1.5, 2.25], np.float32)
    got = run("%r = tosa.cast %0 : (!0) -> !r", [x], "tensor<5xi32>")
    assert got.tolist() == [0, 2, 2, -2, 2]


@pytest.mark.parametrize(
    "bounds",
    [
        "min_val = -0.5 : f32, max_val = 0.75 : f32",
        "min_fp = -0.5 : f32, max_fp = 0.75 : f32, min_int = 0, max_int = 1",
    ],
)
def test_clamps_of_both_years(bounds: str):
    got = run(f"%r = tosa.clamp %0 {{{bounds}}} : (!0) -> !0", [A], typed(A))
    np.testing.assert_array_equal(got, A.clip(-0.5, 0.75))


REDUCED = {"sum": np.sum, "max": np.max, "min": np.min, "product": np.prod}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("name", REDUCED)
def test_reductions_keep_the_axis(name: str, axis: int):
    want = REDUCED[name](A.astype(float), axis=axis, keepdims=True)
    ty = typed(want.astype("f4"))
    body = f"%r = tosa.reduce_{name} %0 {{axis = {axis} : i32}} : (!0) -> !r"
    np.testing.assert_allclose(run(body, [A], ty), want, rtol=1e-5)


def test_the_place_of_the_first_maximum():
    body = "%r = tosa.argmax %0 {axis = 1 : i32} : (!0) -> !r"
    np.testing.assert_array_equal(run(body, [A], "tensor<4xi32>"), A.argmax(1))


# -- products and windows --------------------------------------------------------------


@pytest.mark.sampled(2)
@pytest.mark.parametrize("target", ["cpu", "sim"])
def test_matmul_with_zero_points_of_zero(target: str):
    x, y = numbers(2, 3, 5), numbers(2, 5, 4)
    body = """%z = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}>
        : () -> tensor<1xf32>
      %r = tosa.matmul %0, %1, %z, %z : (!0, !1, tensor<1xf32>, tensor<1xf32>) -> !r"""
    got = run(body, [x, y], "tensor<2x3x4xf32>", target)
    np.testing.assert_allclose(got, x.astype(float) @ y, rtol=1e-5, atol=1e-5)


def test_matmul_of_integers_less_their_zero_points():
    x, y = numbers(1, 3, 5, dtype="i1"), numbers(1, 5, 4, dtype="i1")
    body = """
      %p = "tosa.const"() <{values = dense<3> : tensor<1xi8>}> : () -> tensor<1xi8>
      %q = "tosa.const"() <{values = dense<-2> : tensor<1xi8>}> : () -> tensor<1xi8>
      %r = tosa.matmul %0, %1, %p, %q : (!0, !1, tensor<1xi8>, tensor<1xi8>) -> !r"""
    got = run(body, [x, y], "tensor<1x3x4xi32>")
    np.testing.assert_array_equal(got, (x.astype(int) - 3) @ (y.astype(int) + 2))


def test_fully_connected():
    x, w, bias = numbers(3, 5), numbers(4, 5), numbers(4)
    body = "%r = tosa.fully_connected %0, %1, %2 : (!0, !1, !2) -> !r"
    got = run(body, [x, w, bias], "tensor<3x4xf32>")
    np.testing.assert_allclose(got, x.astype(float) @ w.T + bias, rtol=1e-5, atol=1e-5)


def convolved(x: Any, w: Any, bias: Any, pad: Any, stride: Any, dilation: Any) -> Any:
    """``n h w c`` by ``f h w c``, a tap at a time."""
    x = np.pad(x.astype(float), [(0, 0), pad[:2], pad[2:], (0, 0)])
    taps = w.shape[1:3]
    high, wide = (
        (n - (t - 1) * d - 1) // s + 1
        for n, t, s, d in zip(x.shape[1:3], taps, stride, dilation, strict=True)
    )
    total = np.zeros((x.shape[0], high, wide, w.shape[0])) + bias
    for p, q in np.ndindex(*taps):
        rows = slice(
            p * dilation[0], p * dilation[0] + (high - 1) * stride[0] + 1, stride[0]
        )
        columns = slice(
            q * dilation[1], q * dilation[1] + (wide - 1) * stride[1] + 1, stride[1]
        )
        total += x[:, rows, columns] @ w[:, p, q].T
    return total


@pytest.mark.slow
@pytest.mark.parametrize("target", ["cpu", "sim"])
@pytest.mark.parametrize(
    "pad", [(0, 0, 0, 0), pytest.param((1, 0, 2, 1), marks=NEEDS_PADS)]
)
def test_conv2d_with_bias_and_clamp(pad: tuple[int, ...], target: str):
    x, w, bias = numbers(2, 7, 8, 3), numbers(4, 3, 2, 3), numbers(4)
    want = convolved(x, w, bias, pad, (2, 1), (1, 2)).clip(-1, 1)
    ty = typed(want.astype("f4"))
    body = f"""%c = tosa.conv2d %0, %1, %2 {{acc_type = f32, pad = array<i64: {pad[0]},
          {pad[1]}, {pad[2]}, {pad[3]}>, stride = array<i64: 2, 1>,
          dilation = array<i64: 1, 2>}} : (!0, !1, !2) -> !r
      %r = tosa.clamp %c {{min_val = -1.0 : f32, max_val = 1.0 : f32}} : (!r) -> !r"""
    got = run(body, [x, w, bias], ty, target)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("each", [1, 2])
def test_depthwise_conv2d(each: int):
    x, w, bias = numbers(1, 5, 6, 3), numbers(2, 3, 3, each), numbers(3 * each)
    windows = sliding_window_view(x.astype(float), (2, 3), (1, 2))
    want = np.einsum("nyxcpq,pqcm->nyxcm", windows, w)
    want = want.reshape(*want.shape[:3], -1) + bias
    body = """%r = tosa.depthwise_conv2d %0, %1, %2 {acc_type = f32,
        pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>,
        dilation = array<i64: 1, 1>} : (!0, !1, !2) -> !r"""
    got = run(body, [x, w, bias], typed(want.astype("f4")))
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


@pytest.mark.slow
def test_conv3d():
    x, w, bias = numbers(1, 4, 5, 4, 2), numbers(3, 2, 2, 3, 2), numbers(3)
    windows = sliding_window_view(x.astype(float), (2, 2, 3), (1, 2, 3))
    want = np.einsum("nzyxcdhw,fdhwc->nzyxf", windows, w) + bias
    body = """%r = tosa.conv3d %0, %1, %2 {acc_type = f32,
        pad = array<i64: 0, 0, 0, 0, 0, 0>, stride = array<i64: 1, 1, 1>,
        dilation = array<i64: 1, 1, 1>} : (!0, !1, !2) -> !r"""
    got = run(body, [x, w, bias], typed(want.astype("f4")))
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("pad", [0, pytest.param(1, marks=NEEDS_PADS)])
@pytest.mark.parametrize("name", ["max", "avg"])
@pytest.mark.sampled(6)
def test_poolings(name: str, pad: int):
    """An average counts the elements of the image only."""
    x = numbers(1, 6, 8, 3)
    sides = [(0, 0), (pad, pad), (pad, pad), (0, 0)]
    padded = np.pad(x.astype(float), sides, constant_values=np.nan)
    windows = sliding_window_view(padded, (2, 2), (1, 2))[:, ::2, ::2]
    want = (np.nanmax if name == "max" else np.nanmean)(windows, axis=(-1, -2))
    kept = "acc_type = f32, " if name == "avg" else ""
    body = f"""%r = tosa.{name}_pool2d %0 {{{kept}kernel = array<i64: 2, 2>,
        pad = array<i64: {pad}, {pad}, {pad}, {pad}>, stride = array<i64: 2, 2>}}
        : (!0) -> !r"""
    got = run(body, [x], typed(want.astype("f4")))
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


# -- shapes ----------------------------------------------------------------------------


def test_transposes_of_both_years():
    today = "%r = tosa.transpose %0 {perms = array<i32: 1, 0>} : (!0) -> !r"
    before = """%p = "tosa.const"() <{value = dense<[1, 0]> : tensor<2xi32>}>
        : () -> tensor<2xi32>
      %r = tosa.transpose %0, %p : (!0, tensor<2xi32>) -> !r"""
    for body in (today, before):
        np.testing.assert_array_equal(run(body, [A], "tensor<6x4xf32>"), A.T)


def test_slices_by_operands_and_attributes():
    before = """%r = tosa.slice %0 {start = array<i64: 1, 0>, size = array<i64: 2, 4>}
      : (!0) -> !r"""
    today = """%s = tosa.const_shape {values = dense<[1, 0]> : tensor<2xindex>}
        : () -> !tosa.shape<2>
      %z = tosa.const_shape {values = dense<[2, 4]> : tensor<2xindex>}
        : () -> !tosa.shape<2>
      %r = tosa.slice %0, %s, %z : (!0, !tosa.shape<2>, !tosa.shape<2>) -> !r"""
    for body in (before, today):
        np.testing.assert_array_equal(run(body, [A], "tensor<2x4xf32>"), A[1:3, :4])


def test_reverse_and_tile():
    body = "%r = tosa.reverse %0 {axis = 1 : i32} : (!0) -> !0"
    np.testing.assert_array_equal(run(body, [A], typed(A)), A[:, ::-1])
    body = "%r = tosa.tile %0 {multiples = array<i64: 2, 3>} : (!0) -> !r"
    np.testing.assert_array_equal(
        run(body, [A], "tensor<8x18xf32>"), np.tile(A, (2, 3))
    )


def test_gather_of_rows():
    values, rows = numbers(2, 5, 3), np.array([[4, 0, 1], [2, 2, 3]], np.int32)
    got = run(
        "%r = tosa.gather %0, %1 : (!0, !1) -> !r", [values, rows], "tensor<2x3x3xf32>"
    )
    np.testing.assert_array_equal(got, np.take_along_axis(values, rows[..., None], 1))


@NEEDS_PADS
def test_pad_concat_and_reshape():
    body = """%p = tosa.const_shape {values = dense<[1, 0, 0, 2]> : tensor<4xindex>}
        : () -> !tosa.shape<4>
      %v = "tosa.const"() <{values = dense<1.5> : tensor<1xf32>}> : () -> tensor<1xf32>
      %a = tosa.pad %0, %p, %v : (!0, !tosa.shape<4>, tensor<1xf32>) -> tensor<5x8xf32>
      %b = tosa.concat %a, %a {axis = 1 : i32}
        : (tensor<5x8xf32>, tensor<5x8xf32>) -> tensor<5x16xf32>
      %s = tosa.const_shape {values = dense<[8, 10]> : tensor<2xindex>}
        : () -> !tosa.shape<2>
      %r = tosa.reshape %b, %s : (tensor<5x16xf32>, !tosa.shape<2>) -> !r"""
    one = np.pad(A, [(1, 0), (0, 2)], constant_values=1.5)
    want = np.concatenate([one, one], 1).reshape(8, 10)
    np.testing.assert_array_equal(run(body, [A], "tensor<8x10xf32>"), want)


# -- integers that stand for numbers ---------------------------------------------------


def apply_scale(value: Any, factor: Any, shift: Any, twice: bool = False) -> Any:
    """``apply_scale_32`` of the specification."""
    value, factor, shift = (np.asarray(v, np.int64) for v in (value, factor, shift))
    half = np.int64(1) << (shift - 1)
    if twice:
        half = half + np.where(shift > 31, np.where(value >= 0, 1 << 30, -1 << 30), 0)
    return (value * factor + half) >> shift


CONST = """ = "tosa.const"() <{{values = dense<{}> : tensor<{}>}}>
        : () -> tensor<{}>
"""


def const(name: str, values: Any, ty: str) -> str:
    return f"%{name}" + CONST.format(values, ty, ty)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["SINGLE_ROUND", "DOUBLE_ROUND"])
@pytest.mark.parametrize("each", [False, True])
def test_rescale_of_today(each: bool, mode: str):
    x = RNG.integers(-2000, 2000, size=(5, 3)).astype("i4")
    factors = [1 << 30, 1518500250, 1 << 30] if each else [1 << 30]
    shifts = [31, 35, 34] if each else [33]
    n = len(factors)
    body = (
        const("m", factors, f"{n}xi32")
        + const("s", shifts, f"{n}xi8")
        + const("p", 7, "1xi32")
        + const("q", -3, "1xi8")
        + f"""%r = tosa.rescale %0, %m, %s, %p, %q {{scale32 = true,
          rounding_mode = {mode}, per_channel = {str(each).lower()},
          input_unsigned = false, output_unsigned = false}} : (!0, tensor<{n}xi32>,
          tensor<{n}xi8>, tensor<1xi32>, tensor<1xi8>) -> !r"""
    )
    got = run(body, [x], "tensor<5x3xi8>")
    want = apply_scale(x - 7, factors, shifts, mode == "DOUBLE_ROUND") - 3
    np.testing.assert_array_equal(got, want.clip(-128, 127))


def test_rescale_of_2023():
    x = numbers(6, dtype="i1")
    body = """%r = tosa.rescale %0 {double_round = false, input_zp = 2 : i32,
      multiplier = array<i32: 1073741824>, output_zp = 100 : i32, per_channel = false,
      scale32 = true, shift = array<i8: 29>} : (!0) -> !r"""
    got = run(body, [x], "tensor<6xi8>")
    want = apply_scale(x.astype(int) - 2, 1 << 30, 29) + 100
    np.testing.assert_array_equal(got, want.clip(-128, 127))


def test_products_and_shifts_round():
    x, y = numbers(8, dtype="i4") * 1000, numbers(8, dtype="i4") * 999
    body = const("s", 5, "1xi8") + "%r = tosa.mul %0, %1, %s"
    got = run(body + " : (!0, !1, tensor<1xi8>) -> !0", [x, y], typed(x))
    np.testing.assert_array_equal(got, apply_scale(x, y, 5))
    by = np.array([0, 1, 2, 3, 4, 5, 6, 31], np.int32)
    body = "%r = tosa.arithmetic_right_shift %0, %1 {round = true} : (!0, !1) -> !0"
    got = run(body, [x, by], typed(x))
    lost = np.where(by > 0, (x >> np.maximum(by - 1, 0)) & 1, 0)
    np.testing.assert_array_equal(got, (x >> by) + lost)


def test_negation_of_numbers_with_zero_points():
    x = numbers(8, dtype="i1") * 10
    body = const("p", 20, "1xi8") + const("q", -40, "1xi8")
    body += "%r = tosa.negate %0, %p, %q : (!0, tensor<1xi8>, tensor<1xi8>) -> !0"
    want = (20 - x.astype(int) - 40).clip(-128, 127)
    np.testing.assert_array_equal(run(body, [x], typed(x)), want)


@pytest.mark.slow
def test_tables_of_bytes_and_of_16_bits():
    x, table = numbers(2, 8, dtype="i1") * 14, RNG.integers(-99, 99, 256).astype("i1")
    body = "%r = tosa.table %0, %1 : (!0, !1) -> !0"
    got = run(body, [x, table], typed(x))
    np.testing.assert_array_equal(got, table[x.astype(int) + 128])
    text = """func.func @f(%x: tensor<9xi16>, %t: tensor<513xi16>) -> tensor<9xi32> {
      %r = tosa.table %x, %t : (tensor<9xi16>, tensor<513xi16>) -> tensor<9xi32>
      return %r : tensor<9xi32>
    }"""
    x = np.array([-32768, -1, 0, 1, 127, 128, 5000, -5001, 32767], "i2")
    table = RNG.integers(-9999, 9999, 513).astype("i2")
    got = gcg.compile(text, target="cpu").f(x, table)
    at, part = (x.astype(int) + 32768) >> 7, x.astype(int) & 127
    low, high = table[at].astype(int), table[at + 1].astype(int)
    np.testing.assert_array_equal(got, (low << 7) + (high - low) * part)


# -- images ----------------------------------------------------------------------------


def resized(x: Any, extents: Any, scale: Any, offset: Any, nearest: bool) -> Any:
    """One element after the other, as the specification has it."""
    result = np.zeros((x.shape[0], *extents, x.shape[3]))
    for oy, ox in np.ndindex(*extents):
        ends, parts = [], []
        for o, d in ((oy, 0), (ox, 1)):
            place = o * scale[2 * d + 1] + offset[d]
            low = place // scale[2 * d]
            parts.append((place - low * scale[2 * d]) / scale[2 * d])
            last = x.shape[1 + d] - 1
            ends.append([min(max(low, 0), last), min(max(low + 1, 0), last)])
        (y0, y1), (x0, x1) = ends
        if nearest:
            y, x_ = y1 if parts[0] >= 0.5 else y0, x1 if parts[1] >= 0.5 else x0
            result[:, oy, ox] = x[:, y, x_]
            continue
        for y, wy in ((y0, 1 - parts[0]), (y1, parts[0])):
            for x_, wx in ((x0, 1 - parts[1]), (x1, parts[1])):
                result[:, oy, ox] += x[:, y, x_] * wy * wx
    return result


@pytest.mark.sampled(4)
@pytest.mark.parametrize("mode", ["BILINEAR", "NEAREST_NEIGHBOR"])
@pytest.mark.parametrize("kind", ["f4", "i1"])
def test_images_in_another_size(kind: str, mode: str):
    """Integers are weighed by parts of ``n``: results are 4 * 6 times as large."""
    x = numbers(2, 4, 5, 3, dtype=kind)
    scale, offset, extents = (4, 2, 6, 3), (-1, 2), (8, 9)
    element = "f32" if kind == "f4" else "i32" if mode == "BILINEAR" else "i8"
    body = f"""%s = tosa.const_shape {{values = dense<{list(scale)}>
        : tensor<4xindex>}} : () -> !tosa.shape<4>
      %o = tosa.const_shape {{values = dense<{list(offset)}> : tensor<2xindex>}}
        : () -> !tosa.shape<2>
      %b = tosa.const_shape {{values = dense<[0, 1]> : tensor<2xindex>}}
        : () -> !tosa.shape<2>
      %r = tosa.resize %0, %s, %o, %b {{mode = {mode}}}
        : (!0, !tosa.shape<4>, !tosa.shape<2>, !tosa.shape<2>) -> !r"""
    got = run(body, [x], f"tensor<2x8x9x3x{element}>")
    want = resized(x.astype(float), extents, scale, offset, mode != "BILINEAR")
    want = want * 24 if element == "i32" else want
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


def test_rows_are_scattered():
    values, new = numbers(2, 5, 3), numbers(2, 2, 3)
    rows = np.array([[4, 0], [2, 3]], np.int32)
    got = run(
        "%r = tosa.scatter %0, %1, %2 : (!0, !1, !2) -> !0",
        [values, rows, new],
        typed(values),
    )
    want = values.copy()
    np.put_along_axis(want, rows[..., None], new, 1)
    np.testing.assert_array_equal(got, want)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["cpu", "sim"])
def test_transposed_convolution(target: str):
    x, w, bias = numbers(2, 4, 3, 2), numbers(5, 3, 2, 2), numbers(5)
    room = np.zeros((2, 10, 6, 5))
    for y, x_, p, q in np.ndindex(4, 3, 3, 2):
        room[:, 2 * y + p, 2 * x_ + q] += x[:, y, x_].astype(float) @ w[:, p, q].T
    want = np.concatenate([room[:, 1:9], np.zeros((2, 2, 6, 5))], 1)[:, :8] + bias
    body = """%r = tosa.transpose_conv2d %0, %1, %2 {acc_type = f32,
        out_pad = array<i64: -1, 0, 0, 0>, stride = array<i64: 2, 2>}
        : (!0, !1, !2) -> !r"""
    got = run(body, [x, w, bias], "tensor<2x8x6x5xf32>", target)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


# -- control flow ----------------------------------------------------------------------

BRANCHES = (
    """%r = tosa.cond_if %2 (%a = %0, %b = %1) : !2 (!0, !1) -> !0 {
        ^bb0(%a: !0, %b: !1):
        %s = tosa.add %a, %b : (!0, !1) -> !0
        tosa.yield %s : !0
      } else {
        ^bb0(%a: !0, %b: !1):
        tosa.yield %b : !1
      }""",
    """%r = tosa.cond_if %2 -> (!0) {
        %s = tosa.add %0, %1 : (!0, !1) -> !0
        tosa.yield %s : !0
      } else {
        tosa.yield %1 : !1
      }""",
)


@pytest.mark.slow
@pytest.mark.cases("condition", [True, False])
@pytest.mark.cases("body", BRANCHES)
def test_branches(body: str, condition: bool):
    got = run(body, [A, B, np.array(condition)], typed(A))
    np.testing.assert_array_equal(got, A + B if condition else B)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["cpu", "sim"])
def test_loops(target: str):
    body = (
        const("one", 1, "1xi32")
        + const("end", 5, "1xi32")
        + """%n, %r = tosa.while_loop (%i = %0, %x = %1) : (!0, !1) -> (!0, !1) {
        %c = tosa.greater %end, %i : (tensor<1xi32>, !0) -> tensor<1xi1>
        tosa.yield %c : tensor<1xi1>
      } do {
        %j = tosa.add %i, %one : (!0, tensor<1xi32>) -> !0
        %y = tosa.add %x, %x : (!1, !1) -> !1
        tosa.yield %j, %y : !0, !1
      }"""
    )
    got = run(body, [np.array([2], np.int32), A], typed(A), target)
    np.testing.assert_array_equal(got, A * 8)


def test_what_has_no_rule_is_refused_by_name():
    body = "%r = tosa.fft2d %0 : (!0) -> !0"
    with pytest.raises(errors.UnsupportedOperation, match=r"tosa\.fft2d.*NumPy"):
        run(body, [numbers(4)], "tensor<4xf32>")
