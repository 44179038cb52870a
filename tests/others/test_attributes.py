"""No rule ignores an attribute: known ones are done, others are refused by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors
from gpucodegen.ir.attributes import StringAttr
from gpucodegen.ir.operation import Operation
from gpucodegen.passes.prepare.stablehlo import convert as stablehlo
from gpucodegen.passes.prepare.stablehlo.forms import STABLEHLO, check
from gpucodegen.passes.prepare.tosa import convert as tosa
from gpucodegen.passes.prepare.tosa.convert import TOSA
from tests.targets import ALL

TARGETS = ("interp", *(pytest.param(t, marks=pytest.mark.slow) for t in ALL))
NAN = np.nan


def run(op: str, arguments: list[Any], result: str, target: str = "interp") -> Any:
    kinds = {"f4": "f32", "f2": "f16", "i1": "i8", "i4": "i32", "i8": "i64"}
    types = [
        f"tensor<{''.join(f'{n}x' for n in a.shape)}{kinds[a.dtype.str[1:]]}>"
        for a in arguments
    ]
    names = ", ".join(f"%{n}: {ty}" for n, ty in enumerate(types))
    op = op.replace("!r", result)
    for n, ty in enumerate(types):
        op = op.replace(f"!{n}", ty)
    text = f"func.func @f({names}) -> {result} {{ {op}\n return %r : {result} }}"
    return np.asarray(gcg.compile(text, target=target).f(*arguments))


def test_every_rule_refuses_what_it_does_not_know() -> None:
    tables = ((stablehlo.RULES, STABLEHLO), (tosa.RULES, TOSA))
    for rules, reads in tables:
        unknown = set(reads) - {*rules, "tosa.const_shape"}
        assert not {n for n in unknown if n.startswith("tosa")}
        for name in rules:
            op = Operation(name, attributes={"bogus": StringAttr("")})
            with pytest.raises(errors.UnsupportedOperation, match="attribute bogus"):
                check(op, reads)
            check(op.with_(attributes={"mhlo.sharding": StringAttr("")}), reads)


X, Y = np.array([NAN, 1, NAN], "f4"), np.array([2, NAN, NAN], "f4")
IMAGE = np.array([NAN, 1, 3, 2, NAN, NAN, NAN, NAN], "f4").reshape(1, 2, 4, 1)
POOL = (
    "%r = tosa.max_pool2d %0 {{kernel = array<i64: 2, 2>, pad = array<i64: {0}>,"
    " stride = array<i64: {1}>, nan_mode = {2}}} : (!0) -> !r"
)
ROWS = np.array([[NAN, 1, 2], [3, NAN, NAN], [NAN] * 3, [0, 5, 4]], "f4")
CLAMP = "{{min_val = -1.0 : f32, max_val = 1.0 : f32, nan_mode = {0}}}"
REDUCE = "%0 {{axis = 1 : i32, nan_mode = {0}}} : (!0) -> !r"
_POOL = POOL.format("0, 0, 0, 0", "2, 2", "MODE")
POOL_OF_FOUR = _POOL.replace("{", "{{").replace("}", "}}").replace("MODE", "{0}")
COLUMN = "tensor<4x1xf32>"
BY_MODE = [
    ("%r = tosa.maximum %0, %1 {{nan_mode = {0}}} : (!0, !1) -> !r", [X, Y],
     "tensor<3xf32>", [2, 1, NAN], [NAN] * 3),
    ("%r = tosa.minimum %0, %1 {{nan_mode = {0}}} : (!0, !1) -> !r", [X, Y],
     "tensor<3xf32>", [2, 1, NAN], [NAN] * 3),
    (f"%r = tosa.clamp %0 {CLAMP} : (!0) -> !r", [X], "tensor<3xf32>", [-1, 1, -1], X),
    (f"%r = tosa.reduce_max {REDUCE}", [ROWS], COLUMN,
     [[2], [3], [NAN], [5]], [[NAN], [NAN], [NAN], [5]]),
    (f"%r = tosa.reduce_min {REDUCE}", [ROWS], COLUMN,
     [[1], [3], [NAN], [0]], [[NAN], [NAN], [NAN], [0]]),
    (f"%r = tosa.argmax {REDUCE}", [ROWS], "tensor<4xi32>", [2, 0, 0, 1], [0, 1, 0, 1]),
    (POOL_OF_FOUR, [IMAGE.reshape(1, 4, 2, 1)], "tensor<1x2x1x1xf32>",
     [[[[3]], [[NAN]]]], [[[[NAN]], [[NAN]]]]),
]  # fmt: skip


@pytest.mark.parametrize("target", TARGETS)
def test_nan_modes_of_tosa(target: str) -> None:
    for op, arguments, ty, ignored, propagated in BY_MODE:
        for mode, expected in (("IGNORE", ignored), ("PROPAGATE", propagated)):
            for word in [mode, f'"{mode}"'][: 1 + (target == "interp")]:
                got = run(op.format(word), arguments, ty, target)
                np.testing.assert_array_equal(got, np.array(expected), op.format(word))
        if target == "interp":
            with pytest.raises(
                errors.UnsupportedOperation, match=r"nan_mode = .*BOGUS"
            ):
                run(op.format("BOGUS"), arguments, ty)


def test_pads_do_not_win_over_numbers_that_are_ignored() -> None:
    op = POOL.format("1, 1, 1, 1", "1, 1", "IGNORE")
    x = np.array([NAN, 1], "f4").reshape(1, 1, 2, 1)
    got = run(op, [x], "tensor<1x2x3x1xf32>")[0, :, :, 0]
    np.testing.assert_array_equal(got, [[NAN, 1, 1]] * 2)


CONST = """%{0} = "tosa.const"() <{{values = dense<{1}> : tensor<{2}>}}>
  : () -> tensor<{2}>
"""


def rescale(x: Any, ty: str, signs: str, target: str = "interp") -> Any:
    parts = (("m", 1 << 30, "1xi32"), ("s", 30, "1xi8"), ("p", 0, "1xi32"),
             ("q", 0, "1xi64"))  # fmt: skip
    text = "".join(CONST.format(*part) for part in parts)
    text += f"""%r = tosa.rescale %0, %m, %s, %p, %q {{scale32 = true,
      rounding_mode = SINGLE_ROUND, per_channel = false, {signs}}} : (!0,
      tensor<1xi32>, tensor<1xi8>, tensor<1xi32>, tensor<1xi64>) -> !r"""
    return run(text, [x], ty, target)


@pytest.mark.parametrize("target", TARGETS)
def test_rescale_to_64_bits_without_sign(target: str) -> None:
    x = np.array([-5, 0, 7, 2**31 - 1, -(2**31)], "i4")
    signs = "input_unsigned = {}, output_unsigned = {}"
    for source in (False, True):
        for result in (False, True):
            words = [str(s).lower() for s in (source, result)]
            got = rescale(x, "tensor<5xi64>", signs.format(*words), target)
            exact = x.view("u4").astype("i8") if source else x.astype("i8")
            expected = exact.clip(0) if result else exact
            np.testing.assert_array_equal(got, expected)


@pytest.mark.slow
def test_sums_are_kept_in_the_type_that_the_text_states() -> None:
    ones = np.ones((1, 64, 64, 1), "f2")
    op = """%r = tosa.avg_pool2d %0 {{kernel = array<i64: 64, 64>, {0}
      pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>}} : (!0) -> !r"""
    kept = run(op.format("acc_type = f32,"), [ones * 3], "tensor<1x1x1x1xf16>")
    assert kept.ravel()[0] == 3
    with pytest.raises(errors.UnsupportedOperation, match="acc_type = i32"):
        run(op.format("acc_type = i32,"), [ones], "tensor<1x1x1x1xf16>")


F, I = np.array([NAN, -0.0, 0.0], "f4"), np.array([-1, 0, 1], "i4")
ACCURACY = "{result_accuracy = #stablehlo.result_accuracy<WHAT>}"
TOLERANCE = "atol = 0.1, mode = #stablehlo.result_accuracy_mode<TOLERANCE>"
HIGHEST = "mode = #stablehlo.result_accuracy_mode<HIGHEST>"
DOT = """{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0],
  rhs_contracting_dimensions = [0]>, algorithm = #stablehlo.dot_algorithm<
  lhs_precision_type = tf32>} : (!0, !0) -> tensor<f32>"""
REFUSED = [
    ("%r = stablehlo.compare LT, %0, %0, SIGNED : (!0, !0) -> tensor<3xi1>", F,
     "SIGNED of f32"),
    ("%r = stablehlo.compare LT, %0, %0, TOTALORDER : (!0, !0) -> tensor<3xi1>", I,
     "TOTALORDER of i32"),
    ("%r = stablehlo.compare LT, %0, %0, BOGUS : (!0, !0) -> tensor<3xi1>", F,
     r"compare_type = .*BOGUS"),
    ("%r = stablehlo.add %0, %0 {rounding = 1 : i32} : !0", F, "attribute rounding"),
    (f"%r = stablehlo.exponential %0 {ACCURACY.replace('WHAT', TOLERANCE)} : !0",
     F, "result_accuracy = "),
    ("%r = chlo.erf %0 {kind = 1 : i32} : !0 -> !0", F, "attribute kind"),
    ("%r = tosa.exp %0 {nan_mode = IGNORE} : (!0) -> !0", F, "attribute nan_mode"),
    ("%r = tosa.negate %0 {input1_zp = 3 : i32} : (!0) -> !0", I, "input1_zp = 3"),
    (f'%r = "stablehlo.dot_general"(%0, %0) {DOT}', F, "lhs_precision_type = tf32"),
]  # fmt: skip


def test_values_without_a_meaning_are_refused() -> None:
    for op, x, message in REFUSED:
        result = "!0" if "-> tensor" not in op else op.rpartition("-> ")[2]
        kind = f"tensor<3x{'f32' if x is F else 'i32'}>"
        with pytest.raises(errors.UnsupportedOperation, match=message):
            run(op, [x], result.replace("!0", kind))


@pytest.mark.slow
def test_the_algorithm_that_products_have_anyway_is_read() -> None:
    op = """%r = stablehlo.dot_general %0, %0, contracting_dims = [0] x [0],
      precision = [DEFAULT, DEFAULT], algorithm = <lhs_precision_type = bf16,
      rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1,
      rhs_component_count = 1, num_primitive_operations = COUNT,
      allow_imprecise_accumulation = false>
      : (tensor<3xbf16>, tensor<3xbf16>) -> tensor<f32>"""
    text = f"""func.func @f(%0: tensor<3xbf16>) -> tensor<f32> {{
      {op.replace("COUNT", "1")}
      return %r : tensor<f32>
    }}"""
    codes = (np.array([1, 2, -3], "f4").view("u4") >> 16).astype("u2")
    assert gcg.compile(text, target="cpu").f(codes) == 14
    several = text.replace("operations = 1", "operations = 3")
    with pytest.raises(errors.UnsupportedOperation, match="operations = 3"):
        gcg.compile(several, target="cpu").f(codes)


def test_hints_change_no_result() -> None:
    op = f"%r = stablehlo.exponential %0 {ACCURACY.replace('WHAT', HIGHEST)} : !0"
    x = np.array([0, 1, 2], "f4")
    np.testing.assert_allclose(run(op, [x], "tensor<3xf32>"), np.exp(x), rtol=1e-6)


LINALG = [
    ("{cast = #linalg.type_fn<bogus>}", "has no cast"),
    ("{strides = dense<2> : tensor<2xi64>}", "takes no strides"),
    ("{fun = #linalg.binary_fn<sub>}", "takes no fun"),
]


def test_attributes_that_a_named_operation_does_not_have() -> None:
    text = """
    func.func @f(%a: tensor<2x2xi8>, %c: tensor<2x2xi32>) -> tensor<2x2xi32> {{
      %r = linalg.matmul {} ins(%a, %a : tensor<2x2xi8>, tensor<2x2xi8>)
        outs(%c : tensor<2x2xi32>) -> tensor<2x2xi32>
      return %r : tensor<2x2xi32> }}"""
    for attributes, message in LINALG:
        with pytest.raises(errors.WrongAttribute, match=message):
            gcg.parse(text.format(attributes))
