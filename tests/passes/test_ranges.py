"""Pieces of a range stay inside it, however its end is written."""

from __future__ import annotations

import pytest

from gpucodegen.dialects import affine
from gpucodegen.ir.affine import Const
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import INDEX
from gpucodegen.passes.contraction.operands import Range, in_pieces
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.framework.nests import Axis

EXTENT, SIZE = 136, 16
ENDS = {"number": [136], "index": [Index.of(136)], "beyond": [Index.of(144), 136]}


@pytest.mark.parametrize("uppers", ENDS.values(), ids=ENDS)
def test_whole_pieces_end_before_what_is_left_over(uppers: list[Index | int]):
    axis = Axis(Value(INDEX, "m"), EXTENT, 0, 1, Operation("affine.for"))
    b, lengths = Builder(), list[int]()
    in_pieces(b, Range(axis, 0, uppers), SIZE, {}, lambda _, __, n: lengths.append(n))
    (loop,) = b.operations
    ends = [e.value for e in affine.For(loop).upper_map.results if isinstance(e, Const)]
    assert (min(ends), lengths) == (128, [16, 8])


def test_what_is_left_over_belongs_to_the_last_block():
    """A block that ends before its axis does, though a part of it might go on."""
    axis = Axis(Value(INDEX, "m"), EXTENT, 0, 1, Operation("affine.for"))
    b, lengths = Builder(), list[int]()
    block = Range(axis, 64, [Index.of(64 + 96), Index.of(128), EXTENT])
    in_pieces(b, block, SIZE, {}, lambda _, __, n: lengths.append(n))
    (_, guard) = b.operations
    assert guard.name == "affine.if"
