"""Named linalg operations: maps, bodies, generic text and today's spelling."""

from __future__ import annotations

import pytest

from gpucodegen.dialects.linalg.named_definitions import (
    generalized,
    indexing_maps,
    is_structured,
    iterator_types,
)
from gpucodegen.dialects.linalg.named_tables import NAMED
from gpucodegen.ir.operation import Operation
from gpucodegen.parser import parse_module
from tests.frontend.linalg_frame import named


def _first(text: str) -> Operation:
    operations = parse_module(text).walk()
    return next(op for op in operations if op.dialect == "linalg")


@pytest.mark.cases("name", sorted(NAMED))
def test_shapes_and_generic_text_of_every_entry(name: str):
    text = named(name)
    module = parse_module(text)
    generic = module.generic()
    assert '"linalg.yield"' in generic
    assert str(parse_module(generic)) == str(module)


@pytest.mark.cases("name", sorted(NAMED))
def test_every_entry_is_a_generic(name: str):
    op = _first(named(name))
    assert is_structured(op)
    generic = generalized(op)
    assert generic.name == "linalg.generic"
    assert generic.body.operations[-1].name == "linalg.yield"
    assert len(generic.body.arguments) == len(op.operands) == len(indexing_maps(op))


def _body(text: str) -> list[str]:
    return [op.name for op in generalized(_first(text)).body.operations]


def test_zero_points_are_subtracted():
    assert _body(named("quantized_matmul")) == [
        "arith.extsi",
        "arith.subi",
        "arith.extsi",
        "arith.subi",
        "arith.muli",
        "arith.addi",
        "linalg.yield",
    ]


def test_unsigned_poolings_extend_without_sign():
    name = "pooling_nhwc_max_unsigned"
    body = _body(named(name))
    assert body == ["arith.extui", "arith.maxui", "linalg.yield"]


ELEMENTWISE = """func.func @f(%a: memref<4x8xf32>) {{
  linalg.{} ins({} : {}) outs(%a : memref<4x8xf32>)
  return
}}"""


@pytest.mark.cases(
    ("name", "inputs", "expected"),
    [
        ("elementwise <square>", 1, "arith.mulf"),
        ("elementwise <max_signed>", 2, "arith.maximumf"),
        ("elementwise <sin>", 1, "math.sin"),
        ("elemwise_unary {fun = #linalg.unary_fn<log>}", 1, "math.log"),
        ("elemwise_binary {fun = #linalg.binary_fn<sub>}", 2, "arith.subf"),
        ("rsqrt", 1, "math.rsqrt"),
        ("powf", 2, "math.powf"),
        ("div_unsigned", 2, "arith.divf"),
        ("min", 2, "arith.minimumf"),
    ],
)
def test_functions(name: str, inputs: int, expected: str):
    names = ", ".join(["%a"] * inputs)
    types = ", ".join(["memref<4x8xf32>"] * inputs)
    text = ELEMENTWISE.format(name, names, types)
    assert _body(text) == [expected, "linalg.yield"]
    module = parse_module(text)
    assert str(parse_module(module.generic())) == str(module)


def test_maps_that_follow_from_the_name_are_not_printed():
    text = """func.func @f(%a: memref<4x4xf32>) {
      linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
        affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
        ins(%a, %a : memref<4x4xf32>, memref<4x4xf32>) outs(%a : memref<4x4xf32>)
      linalg.elementwise kind = #linalg.elementwise_kind<exp>
        indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>]
        ins(%a : memref<4x4xf32>) outs(%a : memref<4x4xf32>)
      return
    }"""
    module = parse_module(text)
    printed = str(module)
    assert "indexing_maps" not in printed
    assert "linalg.elementwise <exp> ins" in printed
    assert module.generic().count("indexing_maps = [") == 2


@pytest.mark.parametrize(
    ("text", "maps", "iterators"),
    [
        (
            (
                "linalg.transpose ins(%a : memref<2x3x4xf32>)"
                " outs(%b : memref<4x2x3xf32>) permutation = [2, 0, 1]"
            ),
            "(d0, d1, d2) -> (d1, d2, d0)",
            ("parallel",) * 3,
        ),
        (
            (
                "linalg.broadcast ins(%c : memref<2x4xf32>)"
                " outs(%a : memref<2x3x4xf32>) dimensions = [1]"
            ),
            "(d0, d1, d2) -> (d0, d2)",
            ("parallel",) * 3,
        ),
        (
            (
                "linalg.reduce { arith.addf } ins(%a : memref<2x3x4xf32>)"
                " outs(%c : memref<2x4xf32>) dimensions = [1]"
            ),
            "(d0, d1, d2) -> (d0, d1, d2)",
            ("parallel", "reduction", "parallel"),
        ),
    ],
)
def test_rearrangements_are_structured(
    text: str, maps: str, iterators: tuple[str, ...]
):
    op = _first(
        "func.func @f(%a: memref<2x3x4xf32>, %b: memref<4x2x3xf32>,"
        f" %c: memref<2x4xf32>) {{\n{text}\nreturn\n}}"
    )
    assert str(indexing_maps(op)[0]) == maps
    assert iterator_types(op) == iterators
    assert generalized(op).name == "linalg.generic"


def test_old_map_bodies_get_an_argument_for_the_output():
    text = """func.func @f(%a: memref<4xf32>) {
      linalg.map ins(%a : memref<4xf32>) outs(%a : memref<4xf32>) (%x: f32) {
        linalg.yield %x : f32
      }
      return
    }"""
    assert "(%x: f32, %init: f32)" in str(parse_module(text))
