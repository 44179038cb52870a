"""The section of data at the end of a file, and constants that refer to it."""

from __future__ import annotations

import pytest
from single import attribute, read

from gpucodegen import errors
from gpucodegen.ir.constants import DenseResourceAttr
from gpucodegen.parser import parse_module

SECTION = """{-#
  dialect_resources: {
    builtin: {
      blob: "0x08000000010000000000000002000000000000000300000000000000",
      "key 2": "0x0400000001000000"
    }
  },
  external_resources: {
    mlir_reproducer: {
      pipeline: "builtin.module(canonicalize)",
      verify_each: false
    }
  }
#-}"""


def test_constants_have_their_data():
    value = attribute("dense_resource<blob> : tensor<3xi64>", SECTION)
    assert isinstance(value, DenseResourceAttr)
    dense = value.dense()
    assert dense is not None
    assert dense.values == (1, 2, 3)
    splat = attribute('dense_resource<"key 2"> : tensor<7xi32>', SECTION)
    assert isinstance(splat, DenseResourceAttr)
    assert str(splat.dense()) == "dense<1> : tensor<7xi32>"


def test_the_section_is_printed_back():
    module = read(
        f'"t.t"() {{a = dense_resource<blob> : tensor<3xi64>}} : () -> ()\n{SECTION}'
    )
    for text in (str(module), module.generic()):
        assert text.endswith(f"\n\n{SECTION}")
        assert str(read(text)) == str(module)


def test_the_section_goes_with_an_explicit_module():
    text = f"module @m {{\n}}\n\n{SECTION}"
    assert str(parse_module(text)) == text


def test_data_may_be_elsewhere():
    value = attribute("dense_resource<other> : tensor<3xi64>", SECTION)
    assert isinstance(value, DenseResourceAttr)
    assert value.dense() is None


def test_resources_initialise_globals():
    text = f"""module {{
  memref.global @g : memref<3xi64> = dense_resource<blob>
}}

{SECTION}"""
    assert str(parse_module(text)) == text


def test_an_empty_section_is_dropped():
    assert str(parse_module("{-# #-}")) == "module {\n}"


@pytest.mark.cases(
    ("section", "kind", "column"),
    [
        ('{-# dialect_resources: {builtin: {b: "0x04"}} #-}', "InvalidAttribute", 38),
        (
            '{-# dialect_resources: {builtin: {b: "0x03000000"}} #-}',
            "InvalidAttribute",
            38,
        ),
        ('{-# dialect_resources: {builtin: {b: "zz"}} #-}', "InvalidAttribute", 38),
        ("{-# dialect_resources: {builtin: {b: 1}} #-}", "UnexpectedToken", 38),
        ('{-# dialect_resources: {builtin: {1: "x"}} #-}', "UnexpectedToken", 35),
        ("{-# dialect_resources: {}, #-}", "UnexpectedToken", 28),
        ("{-# dialect_resources {} #-}", "UnexpectedToken", 23),
        ("{-# dialect_resources: {}", "Unclosed", 26),
    ],
)
def test_is_refused(section: str, kind: str, column: int):
    with pytest.raises(errors.ParseError) as caught:
        read(section)
    place = caught.value.place
    assert place is not None
    assert (type(caught.value).__name__, place.column) == (kind, column)


def test_data_of_another_size_are_refused():
    with pytest.raises(errors.InvalidAttribute, match="24 bytes"):
        attribute("dense_resource<blob> : tensor<4xi64>", SECTION)
