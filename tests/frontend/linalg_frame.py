"""Functions around operations of linalg."""

from __future__ import annotations

import pytest

from gpucodegen import errors
from gpucodegen.dialects.linalg.named_tables import NAMED, SCALAR
from gpucodegen.parser import parse_module

FRAME = """func.func @f(%A: memref<4x8xf32>, %B: memref<8x4xf32>, %C: memref<4x4xf32>,
    %D: memref<?x?xf32>, %r: memref<4xf32>, %x: f32, %n: index, %T: tensor<4x8xf32>,
    %I: memref<1x8x8x3xf32>, %K: memref<3x3x3x5xf32>, %O: memref<1x6x6x5xf32>,
    %t: tensor<16x8xf32>, %p: tensor<2x4x8x2xf32>, %s: tensor<17x8xf32>) {{
  {}
  return
}}"""
ID = "affine_map<(i, j) -> (i, j)>"

Case = tuple[str, str, str]
"""Operations, the code of their error, and part of its text."""


def check_accepted(text: str) -> None:
    """The operations are sound."""
    parse_module(FRAME.format(text))


def check_refused(case: Case) -> None:
    """The operations break the rule, and the error says where."""
    text, code, part = case
    with pytest.raises(errors.Error) as caught:
        parse_module(FRAME.format(text), "a.mlir")
    assert caught.value.code == code
    assert part in str(caught.value)
    assert str(caught.value).startswith("a.mlir:")


EXTENTS = dict.fromkeys("bmnkijlxyzwhdcfg", 2)
"""Of the loops of named operations."""


def _extent(index: str) -> int:
    point, _, tap = index.replace("+", ":").partition(":")
    return EXTENTS[point] + (EXTENTS[tap] - 1 if tap else 0)


def _type(text: str, element: str) -> str:
    if text == SCALAR:
        return "i32"
    return f"memref<{''.join(f'{_extent(i)}x' for i in text.split())}{element}>"


def named(name: str) -> str:
    """A function around a named operation on small arrays of bytes."""
    entry = NAMED[name]
    types = [_type(text, "i8") for text in entry.inputs]
    if name == "fill_rng_2d":
        types[:2] = ["f64", "f64"]
    if name == "soft_plus_2d":
        types = [_type("m n", "f32")]
    output = _type(entry.output, "f32" if name == "soft_plus_2d" else "i32")
    arguments = ", ".join(f"%a{i}: {ty}" for i, ty in enumerate([*types, output]))
    inputs = ", ".join(f"%a{i}" for i in range(len(types)))
    return (
        f"func.func @f({arguments}) {{\n"
        f"  linalg.{name} ins({inputs} : {', '.join(types)})"
        f" outs(%a{len(types)} : {output})\n  return\n}}"
    )
