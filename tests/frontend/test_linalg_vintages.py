"""linalg of 2019 to 2025 becomes linalg of today, or prints to itself."""

from __future__ import annotations

import pytest

from gpucodegen.parser import parse_module

HEAD = """#id = (i, j) -> (i, j)
#trait = {args_in = 1, args_out = 1, indexing_maps = [#id, #id],
          iterator_types = ["parallel", "parallel"]}
func @f(%A: memref<?x?xf32>, %B: tensor<?x?xf32>, %C: memref<?x?xf32>, %x: f32,
        %I: memref<?x?x?x?xf32>, %T: tensor<?x?x?xf32>, %n: index,
        %s: tensor<4x5xf32>) {
"""
BODY = " {\n^bb0(%a: f32, %b: f32):\nlinalg.yield %a : f32\n}"
INDEXED = " {\n^bb0(%i: index, %j: index, %a: f32, %b: f32):\nlinalg.yield %a : f32\n}"
M2 = "memref<?x?xf32>"
M4 = "memref<?x?x?x?xf32>"
T2 = "tensor<?x?xf32>"
T3 = "tensor<?x?x?xf32>"
V2 = "!linalg.view<?x?xf32>"

CASES = {
    "fill, output first": (
        f"linalg.fill(%A, %x) : {M2}, f32",
        f"linalg.fill ins(%x : f32) outs(%A : {M2})",
    ),
    "fill, value first": (
        f"%0 = linalg.fill(%x, %B) : f32, {T2} -> {T2}",
        f"linalg.fill ins(%x : f32) outs(%B : {T2}) -> {T2}",
    ),
    "copy with permutations": (
        f"linalg.copy(%A, %C) {{inputPermutation : (i, j) -> (j, i)}} : {M2}, {M2}",
        "linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>,",
    ),
    "copy": (
        f"linalg.copy(%A, %C) : {M2}, {M2}",
        f"linalg.copy ins(%A : {M2}) outs(%C : {M2})",
    ),
    "convolution, filter first": (
        f"linalg.conv(%I, %I, %I) {{strides = [2, 3]}} : {M4}, {M4}, {M4}",
        "linalg.conv_2d_nhwc_hwcf {strides = dense<[2, 3]> : tensor<2xi64>} ins(%I, %I",
    ),
    "pooling": (
        f"linalg.pooling_sum(%A, %C, %A) {{strides = [2, 1]}} : {M2}, {M2}, {M2}",
        "(d0, d1, d2, d3) -> (d0 * 2 + d2, d1 + d3)",
    ),
    "named by function type": (
        f"%0 = linalg.batch_matmul %T, %T, %T : ({T3}, {T3}, {T3}) -> {T3}",
        f"linalg.batch_matmul ins(%T, %T : {T3}, {T3}) outs(%T : {T3}) -> {T3}",
    ),
    "result without output": (
        f"%0 = linalg.batch_matmul %T, %T : ({T3}, {T3}) -> {T3}",
        "tensor.empty(%",
    ),
    "init": (
        f"%0 = linalg.generic #trait ins(%B : {T2}) init(%B : {T2}){BODY} -> {T2}",
        f"ins(%B : {T2}) outs(%B : {T2}) {{",
    ),
    "trait and operands": (
        f"linalg.generic #trait %A, %C {{tag = 1}}{BODY} : {M2}, {M2}",
        f"ins(%A : {M2}) outs(%C : {M2}) attrs = {{tag = 1}} {{",
    ),
    "attributes after the body": (
        f"linalg.generic #trait %A, %C{BODY} {{tag = 1}} : {M2}, {M2}",
        "attrs = {tag = 1} {",
    ),
    "function of a trait": (
        (
            "linalg.generic {n_views = [1, 1], n_loop_types = [2, 0, 0], fun = @g,"
            f" indexing_maps = [#id, #id]}} %A, %C : {M2}, {M2}"
        ),
        "func.call @g(",
    ),
    "indexed function": (
        (
            "linalg.indexed_generic {n_views = [1, 1], n_loop_types = [1, 1, 0],"
            " fun = @h,"
            f" indexing_maps = [#id, #id]}} %A, %C : {M2}, {M2}"
        ),
        "linalg.index 1 : index",
    ),
    "indexed body": (
        f"linalg.indexed_generic #trait ins(%A : {M2}) outs(%C : {M2}){INDEXED}",
        "%j = linalg.index 1 : index",
    ),
    "generic form": (
        (
            f'"linalg.indexed_generic"(%A, %C) ({INDEXED}) {{args_in = 1, args_out = 1,'
            ' indexing_maps = [#id, #id], iterator_types = ["parallel", "window"]}'
            f" : ({M2}, {M2}) -> ()"
        ),
        'iterator_types = ["parallel", "reduction"]',
    ),
    "tensor result": (
        (
            "%0 = linalg.generic #trait %B {\n^bb0(%a: f32):\nlinalg.yield %a : f32\n}"
            f" : {T2} -> {T2}"
        ),
        "^bb0(%a: f32, %out: f32):",
    ),
    "init_tensor": (
        "%0 = linalg.init_tensor [%n, 4] : tensor<?x4xf32>",
        "tensor.empty(%n) : tensor<?x4xf32>",
    ),
    "pad_tensor": (
        (
            "%0 = linalg.pad_tensor %s low[1, %n] high[0, 0] {\n"
            "^bb0(%i: index, %j: index):\nlinalg.yield %x : f32\n}"
            " : tensor<4x5xf32> to tensor<5x?xf32>"
        ),
        "tensor.yield %x : f32",
    ),
    "reshape": (
        f"%0 = linalg.reshape %A [(i, j) -> (i, j)] : {M2} into memref<?xf32>",
        f"memref.collapse_shape %A [[0, 1]] : {M2} into memref<?xf32>",
    ),
    "tensor_reshape": (
        (
            "%0 = linalg.tensor_reshape %s [affine_map<(i, j) -> (i, j)>]"
            " : tensor<4x5xf32> into tensor<20xf32>"
        ),
        "tensor.collapse_shape %s [[0, 1]]",
    ),
    "transpose": (
        f"%0 = linalg.transpose %A (i, j) -> (j, i) : {M2}",
        (
            f"memref.transpose %A (d0, d1) -> (d1, d0) : {M2}"
            " to memref<?x?xf32, strided<[1, ?]>>"
        ),
    ),
    "typed name": (
        (
            "linalg.matmul_i8_i8_i32 ins(%p, %p : memref<?x?xi8>, memref<?x?xi8>)"
            " outs(%q : memref<?x?xi32>)"
        ),
        "linalg.matmul ins(%p, %p",
    ),
    "long name": (
        (
            "linalg.conv_2d_input_nhwc_filter_hwcf {strides = dense<1> : tensor<2xi64>}"
            f" ins(%I, %I : {M4}, {M4}) outs(%I : {M4})"
        ),
        "linalg.conv_2d_nhwc_hwcf {strides",
    ),
    "transposed input": (
        f"linalg.matmul_transpose_b ins(%A, %A : {M2}, {M2}) outs(%C : {M2})",
        (
            "linalg.matmul indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>,"
            " affine_map<(d0, d1, d2) -> (d1, d2)>"
        ),
    ),
    "tensor.pack": (
        (
            "%0 = tensor.empty() : tensor<2x5x2xf32>\n"
            "%1 = tensor.pack %s inner_dims_pos = [0] inner_tiles = [2] into %0"
            " : tensor<4x5xf32> -> tensor<2x5x2xf32>"
        ),
        "linalg.pack %s inner_dims_pos = [0] inner_tiles = [2] into",
    ),
    "load of a memref": (
        f"%0 = linalg.load %A[%n, %n] : {M2}",
        f"memref.load %A[%n, %n] : {M2}",
    ),
    "loop": ("linalg.for %i = %n to %n step %n {\n}", "scf.for %i = %n to %n step %n"),
}
TAIL = """
  return
}
func @typed(%p: memref<?x?xi8>, %q: memref<?x?xi32>) {
  §
  return
}
func @g(%a: f32, %b: f32) -> f32 {
  return %a : f32
}
func @h(%i: index, %j: index, %a: f32, %b: f32) -> f32 {
  return %a : f32
}
"""


def _text(operation: str) -> str:
    is_typed = "%p" in operation
    first, second = ("", operation) if is_typed else (operation, "")
    return HEAD + first + TAIL.replace("§", second)


@pytest.mark.cases("name", CASES)
def test_becomes_todays_form(name: str):
    operation, expected = CASES[name]
    printed = str(parse_module(_text(operation)))
    assert expected in printed
    assert str(parse_module(printed)) == printed


def test_fill_of_a_view_of_2019():
    text = f"""func @f(%v: {V2}, %x: f32) {{
      linalg.fill(%v, %x) : {V2}, f32
      return
    }}"""
    printed = str(parse_module(text))
    assert f"linalg.fill ins(%x : f32) outs(%v : {V2})" in printed
    assert str(parse_module(printed)) == printed


def test_sizes_of_missing_outputs_come_from_the_inputs():
    operation = f"%0 = linalg.batch_matmul %T, %T : ({T3}, {T3}) -> {T3}"
    printed = str(parse_module(_text(operation)))
    assert printed.count("tensor.dim %T") == 3
    assert "tensor.empty(%0, %1, %2)" in printed
