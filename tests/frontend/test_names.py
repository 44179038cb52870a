"""Printed text defines no name again where it is visible."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

import gpucodegen as gcg
from gpucodegen import errors
from gpucodegen.parser import parse_module
from tests.frontend.scopes import redefinitions

ROOT = Path(__file__).parents[2]
FILES = [
    *Path(__file__).parent.rglob("*.mlir"),
    *(ROOT / "examples").glob("*.mlir"),
    *(ROOT / "tests" / "emit" / "samples").glob("*.mlir"),
]


@pytest.mark.sampled(3)
@pytest.mark.cases("path", sorted(FILES), ids=lambda path: path.stem, parts=2)
def test_every_name_is_defined_once(path: Path):
    for chunk in f"\n{path.read_text()}".split("// -----"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                module = parse_module(chunk.partition("\n")[2], allow_unregistered=True)
            except errors.Error:
                continue  # what is no module has no text
            assert not list(redefinitions(module.generic())), chunk


def test_a_body_that_is_only_printed_takes_names_that_are_free():
    text = """func.func @f(%in: memref<4xf32>, %out: memref<4xf32>) {
  linalg.exp ins(%in: memref<4xf32>) outs(%out: memref<4xf32>)
  return
}"""
    generic = gcg.parse(text).generic()
    assert not list(redefinitions(generic))
    assert str(gcg.parse(generic)) == str(gcg.parse(text))


@pytest.mark.filterwarnings("ignore")
def test_text_that_is_kept_keeps_its_names_to_itself():
    text = """func.func @f(%a: i32) -> i32 {
  %x = arith.constant 5 : i32
  %1 = my.op %a : i32 {
    %0 = arith.constant 1 : i32
    %x_0 = my.other
    my.yield %0 : i32
  }
  %x_0 = arith.addi %x, %1 : i32
  return %x_0 : i32
}"""
    module = gcg.parse(text, allow_unregistered=True)
    again = gcg.parse(str(module), allow_unregistered=True)
    assert str(again) == str(module)
    names = [line.split()[0] for line in str(module).splitlines() if " = " in line]
    assert len(set(names)) == len(names), names


def test_the_check_finds_what_mlir_refuses():
    text = """"builtin.module"() ({
  "func.func"() ({
  ^bb0(%a: i32):
    %b:2 = "t.x"() ({
      %a = "t.y"() : () -> i32
      %b = "t.y"() : () -> i32
    }) : () -> i32
    %b = "t.y"() : () -> i32
  }) : () -> ()
  "func.func"() ({
  ^bb0(%a: i32):
    "t.end"() : () -> ()
  }) : () -> ()
}) : () -> ()"""
    found = list(redefinitions(text))
    assert found == ["line 5 defines %a again", "line 8 defines %b again"]
