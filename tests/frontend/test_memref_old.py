"""Views, shapes and buffers as text of 2019 to 2022 has them, and what they become."""

from __future__ import annotations

import pytest

from gpucodegen.parser import parse_module

ARGUMENTS = (
    "%b: memref<2048xi8>, %m: memref<8x16x4xf32>, %v: memref<?xf32>, %t: tensor<?xf32>,"
    " %n: index, %k: index, %s: memref<4x?xf32>, %q: tensor<4x?xf32>"
)
MAP = "affine_map<(d0, d1)[s0, s1] -> (d0 * s1 + d1 + s0)>"
FIXED = "affine_map<(d0, d1, d2) -> (d0 * 8 + d1 * 4 + d2 * 2)>"

CASES = {
    f"view %b[%n, %k][%n] : memref<2048xi8> to memref<?x?xf32, {MAP}>": [
        "memref.view %b[%n][%n, %k]"
    ],
    f"view %b[][%n, %k] : memref<2048xi8> to memref<?x?xf32, {MAP}>": [
        "memref.view %b[%c0][%n, %k]"
    ],
    "view %b[][] : memref<2048xi8> to memref<64x4xf32>": ["memref.view %b[%c0][]"],
    "view %b[%n][%k] : memref<2048xi8> to memref<?x4xf32>": ["memref.view %b[%n][%k]"],
    f"subview %m[][][] : memref<8x16x4xf32> to memref<4x4x4xf32, {FIXED}>": [
        "memref.subview %m[0, 0, 0] [4, 4, 4] [1, 1, 1]"
    ],
    "subview %m[%n, 0, 1][4, %k, 2][1, 1, 1] : memref<8x16x4xf32>"
    " to memref<4x?x2xf32, offset: ?, strides: [64, 4, 1]>": [
        "memref.subview %m[%n, 0, 1] [4, %k, 2] [1, 1, 1]",
        "strided<[64, 4, 1], offset: ?>",
    ],
    "memref.expand_shape %v [[0, 1]] : memref<?xf32> into memref<?x4xf32>": [
        "memref.dim %v, %c0 : memref<?xf32>",
        "arith.divui %0, %c4 : index",
        "output_shape [%1, 4]",
    ],
    "tensor.expand_shape %t [[0, 1]] : tensor<?xf32> into tensor<1x?xf32>": [
        "tensor.dim %t, %c0 : tensor<?xf32>",
        "output_shape [1, %0]",
    ],
    "linalg.expand_shape %s [[0, 1], [2]] : memref<4x?xf32> into memref<2x2x?xf32>": [
        "memref.dim %s, %c1",
        "output_shape [2, 2, %0]",
    ],
    "memref.tensor_store %q, %s : memref<4x?xf32>": [
        "bufferization.materialize_in_destination %q in writable %s"
    ],
    "memref.tensor_load %s : memref<4x?xf32>": [
        "bufferization.to_tensor %s : memref<4x?xf32> to tensor<4x?xf32>"
    ],
    "memref.buffer_cast %q : memref<4x?xf32>": [
        "bufferization.to_buffer %q : tensor<4x?xf32> to memref<4x?xf32>"
    ],
    "memref.clone %s : memref<4x?xf32> to memref<4x?xf32>": ["bufferization.clone %s"],
    "subtensor %t[%n] [%k] [1] : tensor<?xf32> to tensor<?xf32>": [
        "tensor.extract_slice %t[%n] [%k] [1]"
    ],
    '"memref.subview"(%m, %n) {operand_segment_sizes = dense<[1, 0, 1, 0]> :'
    " vector<4xi32>, static_offsets = [0, 0, 0], static_sizes = [-1, 4, 4],"
    " static_strides = [1, 1, 1]} : (memref<8x16x4xf32>, index)"
    " -> memref<?x4x4xf32, strided<[64, 4, 1]>>": [
        "memref.subview %m[0, 0, 0] [%n, 4, 4] [1, 1, 1]"
    ],
    '"memref.assume_alignment"(%s) {alignment = 16 : i32} : (memref<4x?xf32>) -> ()': [
        "memref.assume_alignment %s, 16"
    ],
    '"memref.collapse_shape"(%m) {reassociation = [[0, 1], [2]]} :'
    " (memref<8x16x4xf32>) -> memref<128x4xf32>": [
        "memref.collapse_shape %m [[0, 1], [2]]"
    ],
    '"tensor.expand_shape"(%q) {reassociation = [[0, 1], [2]]} :'
    " (tensor<4x?xf32>) -> tensor<2x2x?xf32>": ["output_shape [2, 2, %0]"],
}


@pytest.mark.cases("statement", CASES)
def test_becomes_todays_form(statement: str):
    module = parse_module(f"func @f({ARGUMENTS}) {{\n  {statement}\n  return\n}}")
    text = str(module)
    for part in CASES[statement]:
        assert part in text
    assert str(parse_module(text)) == text
    assert str(parse_module(module.generic())) == text
