"""Types: each prints as mlir-opt prints it, and each rule has a wrong example."""

from __future__ import annotations

import pytest
from single import attribute, check_refused, only, read, type_

from gpucodegen.ir.attributes import IntegerAttr, StringAttr
from gpucodegen.ir.types import F32, MemRefType, VectorType

UNCHANGED = """
i0
i1
i128
si8
ui3
i16777215
index
none
f16
bf16
f32
f64
f80
f128
tf32
f4E2M1FN
f6E2M3FN
f6E3M2FN
f8E3M4
f8E4M3
f8E4M3B11FNUZ
f8E4M3FN
f8E4M3FNUZ
f8E5M2
f8E5M2FNUZ
f8E8M0FNU
complex<f32>
complex<i32>
tuple<>
tuple<i32, tuple<none>, tensor<i1>>
() -> ()
(i32) -> i32
(i32, f32) -> (i32, f32)
(() -> ()) -> (() -> i32)
vector<f32>
vector<4xindex>
vector<3x42xi32>
vector<[4]xf32>
vector<4x[4]xf32>
tensor<f32>
tensor<?x0x4xcomplex<f32>>
tensor<*xf32>
tensor<4xf32, "encoding">
tensor<4x?xf64, #sparse_tensor.encoding<{map = (d0) -> (d0 : dense)}>>
tensor<2xvector<2xi8>>
tensor<4x!quant.uniform<i8:f32, 1.000000e+00>>
memref<f32>
memref<?x0xf32>
memref<4xvector<4xindex>>
memref<4xmemref<*xf32>>
memref<*xf32, 1>
memref<4xf32, 1 : i32>
memref<4xf32, "fast">
memref<4xf32, {a, b = 1}>
memref<4xf32, true>
memref<4xf32, i32>
memref<4xf32, #gpu.address_space<workgroup>>
memref<4x4xf32, strided<[4, 1], offset: 3>>
memref<?x?xf32, strided<[?, ?], offset: ?>, 3>
memref<f32, strided<[]>>
memref<4x4xf32, affine_map<(d0, d1) -> (d1, d0)>, 2>
memref<?x?xf32, affine_map<(d0, d1)[s0] -> (d0 floordiv s0, d1, d0 mod s0)>>
!foo.bar
!foo.bar<x>
!foo<"a\\"b">
!foo.bar<"unbalanced <", (i32) -> [2], a::b>
!llvm.struct<(i32, array<4 x f32>)>
!llvm.ptr<3>
!tf.string
!llvm<"i32*">
""".strip().split("\n")


@pytest.mark.cases("text", UNCHANGED)
def test_prints_as_written(text: str):
    assert str(type_(text)) == text


@pytest.mark.cases(
    ("written", "printed"),
    [
        ("tensor< 4 x ? x\n f32 >", "tensor<4x?xf32>"),
        ("vector< // four\n 4 x // floats\n f32>", "vector<4xf32>"),
        ("(i32) -> (i32)", "(i32) -> i32"),
        ("memref<4xf32, affine_map<(i) -> (i)>>", "memref<4xf32>"),
        ("memref<4xf32, 0>", "memref<4xf32>"),
        ("memref<4xf32, false>", "memref<4xf32>"),
        ("memref<4xf32, memspace0>", "memref<4xf32>"),
        ("memref<4xf32, memspace3>", "memref<4xf32, 3>"),
        ("memref<*xf32, vmem>", 'memref<*xf32, "vmem">'),
        (
            "memref<4x4xf32, offset: ?, strides: [?, 1], 5>",
            "memref<4x4xf32, strided<[?, 1], offset: ?>, 5>",
        ),
        (
            "memref<8x4xf32, (i, j) -> (j, i), (i, j) -> (i, j floordiv 2, j mod 2)>",
            "memref<8x4xf32, affine_map<(d0, d1) -> (d1, d0 floordiv 2, d0 mod 2)>>",
        ),
        ("!foo.bar<a, // comment\n   b>", "!foo.bar<a, b>"),
        ("!foo.bar<!alias, #alias>", "!foo.bar<i32, 7>"),
    ],
)
def test_prints_as_today(written: str, printed: str):
    op = only(f'!alias = i32\n#alias = 7\n"t.t"() {{a = {written}}} : () -> ()')
    assert str(op.attributes["a"]) == printed


def test_memory_spaces_keep_their_kind():
    integer, word = type_("memref<4xf32, 3>"), type_("memref<4xf32, hbm>")
    assert integer == MemRefType((4,), F32, None, IntegerAttr(3))
    assert word == MemRefType((4,), F32, None, StringAttr("hbm"))


def test_scalable_vectors():
    assert type_("vector<2x[4]x8xf32>") == VectorType(
        (2, 4, 8), F32, (False, True, False)
    )


@pytest.mark.cases(
    ("text", "code"),
    [
        ("§i16777216", "P024"),
        ("§f8E4M4", "P008"),
        ("complex<§index>", "P024"),
        ("complex<§complex<f32>>", "P024"),
        ("complex §f32", "P001"),
        ("tuple<f32, §>", "P001"),
        ("vector<§0xf32>", "P024"),
        ("vector<§0x42xi32>", "P024"),
        ("vector<§?xf32>", "P024"),
        ("vector<4x§vector<4xf32>>", "P024"),
        ("vector<4x§complex<f32>>", "P024"),
        ("vector<§4>", "P001"),
        ("tensor<§*f32>", "P001"),
        ("memref<§*f32>", "P001"),
        ("tensor<*xf32§, 3>", "P004"),
        ("tensor<4x§none>", "P024"),
        ("tensor<4x§(i32) -> i32>", "P024"),
        ("tensor<§[4]xf32>", "P024"),
        ("tensor<§9223372036854775808xf32>", "P020"),
        ("memref<4x§tensor<4xf32>>", "P024"),
        ("memref<2x§3, strided<[6, 2]>>", "P001"),
        ("memref<*xf32, §affine_map<(d0) -> (d0)>>", "P024"),
        ("memref<4x4xf32, strided<[4, 1] §offset: 3>>", "P004"),
        ("memref<4xf32, 1§, 2>", "P004"),
        ("memref<4xf32§", "P004"),
        ("!foo.bar<[§)>", "P004"),
        ("!foo.bar<a§]>", "P004"),
        ("§!foo", "P009"),
    ],
)
def test_is_refused(text: str, code: str):
    check_refused(text, code)


def test_aliases_may_nest_and_come_late():
    text = """
    "t.t"() {a = !pair, b = !new} : () -> ()
    !pair = type tuple<!new, tensor<2x!scalar, #code>>
    !new = memref<4x!scalar>
    !scalar = type f32
    #code = "code"
    """
    attributes = only(text).attributes
    assert str(attributes["a"]) == 'tuple<memref<4xf32>, tensor<2xf32, "code">>'
    assert str(attributes["b"]) == "memref<4xf32>"


def test_one_type_is_one_object_wherever_it_stands():
    a, b = (read(f"func.func private @f({t})") for t in ("memref< 4 x f32 >",) * 2)
    assert str(a) == str(b) == "module {\n  func.func private @f(memref<4xf32>)\n}"


def test_opaque_types_of_2020():
    assert str(attribute('opaque<"ns", "any text">')) == '!opaque<"ns", "any text">'
