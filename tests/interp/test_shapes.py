"""The shape dialect in the interpreter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors


def function(signature: str, body: str) -> Any:
    _, _, result = signature.partition(" -> ")
    text = f"func.func @f{signature} {{\n{body}\nreturn %r : {result}\n}}"
    return gcg.compile(text, target="interp").f


BROADCAST = """%r = shape.broadcast %a, %b
  : tensor<?xindex>, tensor<?xindex> -> tensor<?xindex>"""
TWO = "(%a: tensor<?xindex>, %b: tensor<?xindex>)"


def extents(*numbers: int) -> Any:
    return np.array(numbers, "i8")


def test_extents_of_one_fit_all():
    call = function(f"{TWO} -> tensor<?xindex>", BROADCAST)
    assert call(extents(4, 1, 3), extents(5, 1)).tolist() == [4, 5, 3]
    with pytest.raises(errors.ShapesDisagree, match=r"\[2\] and \[3\]"):
        call(extents(2), extents(3))


def test_regions_rely_on_constraints():
    call = function(
        f"{TWO} -> i64",
        """%w = shape.cstr_broadcastable %a, %b : tensor<?xindex>, tensor<?xindex>
        %r = shape.assuming %w -> i64 {
          %one = arith.constant 1 : i64
          shape.assuming_yield %one : i64
        }""",
    )
    assert call(extents(4, 1), extents(7)) == 1
    with pytest.raises(errors.AssertionFailed, match=r"shape\.assuming"):
        call(extents(4), extents(3))


def test_arithmetic_of_sizes():
    call = function(
        "(%t: tensor<?x3xf32>, %n: index) -> index",
        """%s = shape.shape_of %t : tensor<?x3xf32> -> !shape.shape
        %one = arith.constant 1 : index
        %p, %q = "shape.split_at"(%s, %one)
          : (!shape.shape, index) -> (!shape.shape, !shape.shape)
        %u = shape.concat %q, %p : !shape.shape, !shape.shape -> !shape.shape
        %z = arith.constant 0 : index
        %e = shape.get_extent %u, %z : !shape.shape, index -> !shape.size
        %i = shape.size_to_index %e : !shape.size
        %m = shape.mul %i, %n : index, index -> index
        %two = arith.constant 2 : index
        %r = shape.div %m, %two : index, index -> index""",
    )
    assert call(np.zeros((4, 3), "f4"), -5) == -8
