"""Spellings of vector from 2019 to 2024 become today's."""

from __future__ import annotations

import pytest

from gpucodegen.parser import parse_module

OLD = {
    "%x: f32": {
        "vector.splat %x : vector<4xf32>": (
            "vector.broadcast %x : f32 to vector<4xf32>"
        ),
    },
    "%v: vector<8xf32>, %x: f32, %i: index": {
        "vector.extractelement %v[%i : index] : vector<8xf32>": (
            "vector.extract %v[%i] : f32 from vector<8xf32>"
        ),
        "vector.insertelement %x, %v[%i : index] : vector<8xf32>": (
            "vector.insert %x, %v[%i] : f32 into vector<8xf32>"
        ),
        "vector.extractelement %v[3 : i32] : vector<8xf32>": (
            "vector.extract %v[3] : f32 from vector<8xf32>"
        ),
        "vector.extract %v[3 : i32] : vector<8xf32>": (
            "vector.extract %v[3] : f32 from vector<8xf32>"
        ),
        'vector.reduction "max", %v : vector<8xf32> into f32': (
            "vector.reduction <maxnumf>, %v : vector<8xf32> into f32"
        ),
        "vector.reduction <minf>, %v : vector<8xf32> into f32": (
            "vector.reduction <minnumf>, %v : vector<8xf32> into f32"
        ),
        "vector.outerproduct %v, %x {kind = #vector.kind<maxf>} : vector<8xf32>, f32": (
            "vector.outerproduct %v, %x {kind = #vector.kind<maxnumf>}"
            " : vector<8xf32>, f32"
        ),
        '"vector.extract"(%v) {position = [1]} : (vector<8xf32>) -> f32': (
            "vector.extract %v[1] : f32 from vector<8xf32>"
        ),
        '"vector.reduction"(%v) {kind = "add"} : (vector<8xf32>) -> f32': (
            "vector.reduction <add>, %v : vector<8xf32> into f32"
        ),
    },
    "%v: vector<4x8xf32>": {
        "vector.strided_slice %v {offsets = [2], sizes = [2], strides = [1]}"
        " : vector<4x8xf32> to vector<2x8xf32>": (
            "vector.extract_strided_slice %v offsets = [2], sizes = [2], strides = [1]"
            " : vector<4x8xf32> to vector<2x8xf32>"
        ),
        '"vector.transpose"(%v) {transp = [1, 0]}'
        " : (vector<4x8xf32>) -> vector<8x4xf32>": (
            "vector.transpose %v, [1, 0] : vector<4x8xf32> to vector<8x4xf32>"
        ),
    },
    "%m: memref<?xf32>, %i: index, %x: f32": {
        "vector.transfer_read %m[%i], %x {masked = [false]}"
        " : memref<?xf32>, vector<4xf32>": (
            "vector.transfer_read %m[%i], %x {in_bounds = [true]}"
            " : memref<?xf32>, vector<4xf32>"
        ),
        "vector.transfer_read %m[%i], (%x)"
        " {permutation_map = affine_map<(d0) -> (d0)>}"
        " : memref<?xf32>, vector<4xf32>": (
            "vector.transfer_read %m[%i], %x : memref<?xf32>, vector<4xf32>"
        ),
        "vector.transfer_read %m[%i] {permutation_map = (d0) -> (d0)}"
        " : memref<?xf32>, vector<4xf32>": (
            "vector.transfer_read %m[%i], %cst : memref<?xf32>, vector<4xf32>"
        ),
        "vector_transfer_read %m, %i, %x {permutation_map: (d0) -> (d0)}"
        " : (memref<?xf32>, index, f32) -> vector<4xf32>": (
            "vector.transfer_read %m[%i], %x : memref<?xf32>, vector<4xf32>"
        ),
    },
    "%m: memref<?xf32>, %p: vector<4xi32>, %k: vector<4xi1>, %v: vector<4xf32>": {
        "vector.gather %m, %p, %k, %v : (memref<?xf32>, vector<4xi32>, vector<4xi1>,"
        " vector<4xf32>) -> vector<4xf32>": (
            "vector.gather %m[%c0] [%p], %k, %v : memref<?xf32>, vector<4xi32>,"
            " vector<4xi1>, vector<4xf32> into vector<4xf32>"
        ),
        "vector.maskedload %m, %k, %v : memref<?xf32>, vector<4xi1>, vector<4xf32>"
        " into vector<4xf32>": (
            "vector.maskedload %m[%c0], %k, %v : memref<?xf32>, vector<4xi1>,"
            " vector<4xf32> into vector<4xf32>"
        ),
    },
    "%m: memref<4x8xf32>": {
        "vector.type_cast %m : memref<4x8xf32>, memref<1xvector<4x8xf32>>": (
            "vector.type_cast %m : memref<4x8xf32> to memref<vector<4x8xf32>>"
        ),
    },
}
CASES = [(args, *pair) for args, pairs in OLD.items() for pair in pairs.items()]


@pytest.mark.cases(("args", "old", "today"), CASES)
def test_old_spelling_becomes_todays(args: str, old: str, today: str):
    module = parse_module(f"func @f({args}) {{\n  %r = {old}\n  return\n}}")
    assert f"%r = {today}\n" in str(module)


def test_position_of_another_type_is_converted():
    module = parse_module("""
func @f(%v: vector<8xf32>, %i: i32) -> f32 {
  %r = vector.extractelement %v[%i : i32] : vector<8xf32>
  return %r : f32
}""")
    cast, extract, _ = module.operations[0].body.operations
    assert cast.name == "arith.index_cast"
    assert extract.operands[1] == cast.results[0]


@pytest.mark.parametrize(
    "op",
    [
        (
            "vector.maskedstore %m, %k, %v : vector<4xi1>, vector<4xf32> into"
            " memref<?xf32>"
        ),
        "vector.compressstore %m, %k, %v : memref<?xf32>, vector<4xi1>, vector<4xf32>",
    ],
)
def test_stores_of_2020_start_at_the_first_element(op: str):
    args = "%m: memref<?xf32>, %k: vector<4xi1>, %v: vector<4xf32>"
    module = parse_module(f"func @f({args}) {{\n  {op}\n  return\n}}")
    assert "store %m[%c0], %k, %v : memref<?xf32>, vector<4xi1>," in str(module)


def test_lane_of_a_warp_is_of_gpu_today():
    module = parse_module("""
func.func @f(%lane: index, %v: vector<64xf32>) -> vector<2xf32> {
  %r = vector.warp_execute_on_lane_0(%lane)[32] -> (vector<2xf32>) {
    vector.yield %v : vector<64xf32>
  }
  return %r : vector<2xf32>
}""")
    printed = str(module)
    assert "gpu.warp_execute_on_lane_0(%lane)[32] -> (vector<2xf32>) {" in printed
    assert "gpu.yield %v : vector<64xf32>" in printed


NO_SUCCESSOR = [
    "vector.extract_map %a[%n] : vector<4xf32> to vector<1xf32>",
    "vector.insert_map %a, %a[%n] : vector<4xf32> into vector<4xf32>",
    "vector.tuple %a, %a : vector<4xf32>, vector<4xf32>",
    (
        "vector.flat_transpose %a {columns = 2 : i32, rows = 2 : i32}"
        " : vector<4xf32> -> vector<4xf32>"
    ),
    (
        "vector.matrix_multiply %a, %a {lhs_columns = 2 : i32, lhs_rows = 2 : i32,"
        " rhs_columns = 2 : i32} : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>"
    ),
    "vector.reshape %a, [%n, %n], [%n], [4] : vector<4xf32> to vector<4xf32>",
]


@pytest.mark.cases("op", NO_SUCCESSOR)
def test_operations_without_a_successor_are_kept(op: str):
    text = f"func.func @f(%a: vector<4xf32>, %n: index) {{\n  %r = {op}\n  return\n}}"
    printed = str(parse_module(text))
    assert str(parse_module(printed)) == printed
    assert f"%r = {op.partition(' {')[0]}" in printed
