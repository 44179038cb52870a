"""Attributes: each prints as mlir-opt prints it, and each rule has a wrong example."""

from __future__ import annotations

import math

import pytest
from single import attribute, check_refused, only, type_

from gpucodegen.ir.attributes import (
    DenseElementsAttr,
    FloatAttr,
    IntegerAttr,
    StringAttr,
)
from gpucodegen.ir.constants import DistinctAttr, SparseElementsAttr

UNCHANGED = """
true
-1 : i32
5 : index
-128 : si8
255 : ui8
-1 : i128
1
unit
i32
() -> ()
1.500000e+00
-0.000000e+00 : f32
0x7F800000 : f32
0x7FC00001 : f32
0x7CFF : f16
0x7F80 : bf16
1.250000e-01 : f8E8M0FNU
0x7F : f8E4M3FN
0x80 : f8E4M3FNUZ
-6.000000e+00 : f4E2M1FN
0x7FFF8000000000000000 : f80
1.062500e+00 : f128
""
"typed" : !foo.string
"a\\0Ab\\09c\\\\d\\22e\\C3\\A9"
@sym
@"b c"::@d::@e
[]
[1, i32, "a", [2.000000e+00 : f32]]
{}
{a, b.c = 1, "d e" = {f}}
affine_map<(d0, d1)[s0] -> (d0 + s0, d1 mod 2)>
affine_set<(d0) : (d0 - 1 >= 0, d0 == 0)>
array<i8>
array<i32: 10, -42>
array<i1: true, false>
array<f32: 1.000000e+00, 0x7F800000>
array<f16: 9.997550e-02>
array<ui8: 255>
strided<[?, 1], offset: ?>
strided<[]>
dense<1> : tensor<4xi32>
dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
dense<> : tensor<0x4xf32>
dense<[true, false]> : tensor<2xi1>
dense<[-1, 127]> : vector<2xi8>
dense<1> : memref<4xi32>
dense<(1.000000e+00,0x7F800000)> : tensor<2xcomplex<f32>>
dense<(1,-2)> : tensor<complex<i8>>
dense<[0x7F800001, 1.000000e+00]> : tensor<2xf32>
dense<[1.000000e+00, 0x7C]> : tensor<2xf8E5M2>
dense<["a", "b\\0A"]> : tensor<2x!foo.string>
dense<1> : vector<[4]xindex>
sparse<[[0, 0], [1, 2]], [1, 5]> : tensor<3x4xi32>
sparse<> : tensor<3x4xf32>
dense_resource<key> : tensor<3xi64>
dense_resource<"a key"> : vector<4xf32>
opaque<"ns", "0xAB"> : tensor<2xi32>
distinct[1]<[1, i32]>
distinct[0]<>
#foo.bar
#foo.bar<x, [y], "z>">
#foo<"b\\"c">
#foo.bar<x> : i32
#gpu.address_space<private>
loc("a":1:2)
loc(unknown)
[loc("a"("b":1:2)), loc(fused<"m">["c", unknown])]
""".strip().split("\n")


@pytest.mark.cases("text", UNCHANGED)
def test_prints_as_written(text: str):
    assert str(attribute(text)) == text


@pytest.mark.cases(
    ("written", "printed"),
    [
        ("0xFFFFFFFF : i32", "-1 : i32"),
        ("18446744073709551615", "-1"),
        ("7 : i3", "-1 : i3"),
        ("1 : i1", "true"),
        ("42. : f32", "4.200000e+01 : f32"),
        ("0.1 : f32", "1.000000e-01 : f32"),
        ("3.1415926535 : f32", "3.14159274 : f32"),
        ("0.33333333333333331", "0.33333333333333331"),
        ("1234567890123456789.0", "1.2345678901234568E+18"),
        ("123456789.0 : f64", "0x419D6F3454000000 : f64"),
        ("1.0e40 : f32", "0x7F800000 : f32"),
        ("0.1 : f80", "1.000000e-01 : f80"),
        ("0x3FB999999999999A : f64", "1.000000e-01"),
        ("0.1 : f8E4M3", "1.015630e-01 : f8E4M3"),
        ("100.0 : f4E2M1FN", "6.000000e+00 : f4E2M1FN"),
        ("-0.0 : f8E4M3FNUZ", "0.000000e+00 : f8E4M3FNUZ"),
        ("array<i8: 255>", "array<i8: -1>"),
        ("dense<[1, 1]> : tensor<2xi32>", "dense<1> : tensor<2xi32>"),
        ("dense<1> : tensor<0xi32>", "dense<> : tensor<0xi32>"),
        ("dense<[[], []]> : tensor<2x0xi32>", "dense<> : tensor<2x0xi32>"),
        ('dense<"0x0102"> : tensor<2xi8>', "dense<[1, 2]> : tensor<2xi8>"),
        ('dense<"0x3C38"> : tensor<2xf8E5M2>',
         "dense<[1.000000e+00, 5.000000e-01]> : tensor<2xf8E5M2>"),
        ("dense<tensor<2xi32>, [1, 2]>", "dense<[1, 2]> : tensor<2xi32>"),
        ("splat<vector<4xi1>, true>", "dense<true> : vector<4xi1>"),
        ("sparse<tensor<4xi32>, [1, 3], 5>", "sparse<[[1], [3]], 5> : tensor<4xi32>"),
        ('opaque<"ns", tensor<2xi32>, "0xAB">', 'opaque<"ns", "0xAB"> : tensor<2xi32>'),
        ("@f : (i32) -> i32", "@f"),
        ("(i)[n] -> (i * n) size (10)", "affine_map<(d0)[s0] -> (d0 * s0)>"),
        ("(i) : (i >= 1, i <= 7)", "affine_set<(d0) : (d0 - 1 >= 0, -d0 + 7 >= 0)>"),
        ('{"b": 1, a: (i32) -> i32}', "{a = (i32) -> i32, b = 1}"),
        ('"none" : none', '"none"'),
        ('"\\41\\t"', '"A\\09"'),
    ],
)  # fmt: skip
def test_prints_as_today(written: str, printed: str):
    value = attribute(written)
    assert str(value) == printed
    assert attribute(printed) == value


@pytest.mark.cases(
    ("text", "code"),
    [
        ("§42 : f32", "P013"),
        ("§1.5 : index", "P013"),
        ("§4294967296 : i32", "P012"),
        ("§-1 : ui8", "P012"),
        ("§128 : si8", "P012"),
        ("§18446744073709551615 : index", "P012"),
        ("§0x7F8000000 : f32", "P012"),
        ("§0x100 : f8E5M2", "P012"),
        ("§-0x7F800000 : f32", "P013"),
        ("§-1.0 : f8E8M0FNU", "P012"),
        ("{a, §a}", "P011"),
        ("{§1 = 2}", "P001"),
        ("[1 §2]", "P004"),
        ("dense<§[1, 2, 3]> : tensor<2xi32>", "P021"),
        ("dense<§[[1, 2], [3]]> : tensor<2x2xi32>", "P023"),
        ("dense<§> : tensor<2xi32>", "P021"),
        ("dense<§[]> : tensor<0x3xi32>", "P021"),
        ("dense<[1, §256]> : tensor<2xi8>", "P012"),
        ("dense<[1.0, §2]> : tensor<2xf32>", "P013"),
        ('dense<§"0x010"> : tensor<2xi8>', "P023"),
        ('dense<§"0x010203"> : tensor<2xi8>', "P023"),
        ('dense<§"text"> : tensor<2xi8>', "P013"),
        ("dense<§(1.0, 2.0, 3.0)> : tensor<2xcomplex<f32>>", "P013"),
        ("dense<§1> : tensor<2x!foo.bar>", "P013"),
        ("dense<§1> : tensor<?xi32>", "P023"),
        ("sparse<[[§3, 0]], [1]> : tensor<3x4xi32>", "P023"),
        ("sparse<[[§-1, 0]], [1]> : tensor<3x4xi32>", "P023"),
        ("sparse<§[[0, 0, 0]], [1]> : tensor<3x4xi32>", "P023"),
        ("sparse<[[0, 0]], §[1, 2]> : tensor<3x4xi32>", "P023"),
        ("sparse<[[0, 0]], [§1.0]> : tensor<3x4xi32>", "P013"),
        ("sparse<[[0, 0]]§> : tensor<3x4xi32>", "P001"),
        ("array<§index: 1>", "P023"),
        ("array<§i4: 1>", "P023"),
        ("array<§tf32: 1.0>", "P023"),
        ('{§"" = 1}', "P001"),
        ("dense<§> : tensor<i32>", "P021"),
        ("array<i8: §256>", "P012"),
        ("distinct[§a]<1>", "P001"),
        ("[distinct[0]<1>, distinct[0]<§2>]", "P023"),
        ('opaque<"ns", §"AB"> : tensor<2xi32>', "P023"),
        ('"§\\zz"', "P003"),
        ("#foo.bar<(§>", "P004"),
        ("§#foo", "P009"),
        ("loc(§foo)", "P001"),
    ],
)
def test_is_refused(text: str, code: str):
    check_refused(text, code)


def test_floats_know_their_bits():
    quiet, payload = attribute("0x7FC00000 : f32"), attribute("0x7F800001 : f32")
    assert isinstance(quiet, FloatAttr)
    assert isinstance(payload, FloatAttr)
    assert math.isnan(quiet.value)
    assert quiet == attribute("0x7FC00000 : f32")
    assert (quiet.bits, payload.bits) == (None, 0x7F800001)
    tenth = attribute("0.1 : f128")
    assert isinstance(tenth, FloatAttr)
    assert (tenth.value, tenth.bits) == (0.1, 0x3FFB999999999999999999999999999A)


def test_strings_hold_any_bytes():
    value = attribute('"\\00\\FFé\\n"')
    assert isinstance(value, StringAttr)
    assert value.value.encode("utf-8", "surrogateescape") == b"\0\xff\xc3\xa9\n"


def test_long_lists_are_kept_as_bytes():
    numbers = list(range(-50, 60))
    ty = type_("tensor<110xi16>")
    long = attribute(f"dense<{numbers}> : {ty}")
    assert isinstance(long, DenseElementsAttr)
    assert isinstance(long.stored, bytes)
    assert list(long.values) == numbers
    assert str(long).startswith('dense<"0xCEFFCFFF')
    assert (
        attribute(str(long)) == long == DenseElementsAttr(long.values, ty, long.element)
    )


def test_megabytes_are_kept_as_bytes():
    digits = "0000803F" * 150_000 + "00000040"
    text = f'dense<"0x{digits}"> : tensor<150001xf32>'
    value = attribute(text)
    assert isinstance(value, DenseElementsAttr)
    assert isinstance(value.stored, bytes)
    assert value.values[-2:] == (1.0, 2.0)
    assert str(value) == text


def test_sparse_constants_have_a_dense_form():
    value = attribute("sparse<[[0, 0], [1, 2]], [1, 5]> : tensor<2x3xi32>")
    assert isinstance(value, SparseElementsAttr)
    assert value.dense().values == (1, 0, 0, 0, 0, 5)
    same = attribute("sparse<0, 1.5> : tensor<2xf32>")
    assert isinstance(same, SparseElementsAttr)
    assert same.dense().values == (1.5, 0.0)


def test_distinct_attributes_differ_by_number():
    entries = "a = distinct[0]<1>, b = distinct[0]<1>, c = distinct[1]<1>"
    op = only(f'"t.t"() {{{entries}}} : () -> ()')
    first, again, other = op.attributes.values()
    assert first == again == DistinctAttr(0, IntegerAttr(1))
    assert first != other


def test_aliases_nest_and_come_late():
    text = """
    #b = {x = #a, y = [#a, #map], z = #place}
    "t.t"() {a = #b, m = memref<4xf32, #map>, o = #foo.bar<#a>} : () -> ()
    #a = 1 : i32
    #map = affine_map<(d0,  // a comment
                  d1) -> (d1,
                          d0)>
    #place = loc("here":1:2)
    """.replace("memref<4xf32", "memref<4x4xf32")
    attributes = only(text).attributes
    swap = "affine_map<(d0, d1) -> (d1, d0)>"
    entries = f'{{x = 1 : i32, y = [1 : i32, {swap}], z = loc("here":1:2)}}'
    assert str(attributes["a"]) == entries
    assert str(attributes["m"]) == f"memref<4x4xf32, {swap}>"
    assert str(attributes["o"]) == "#foo.bar<1 : i32>"
