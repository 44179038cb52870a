"""How many elements an access may move at once, against the addresses themselves."""

from __future__ import annotations

import pytest

import gpucodegen as gcg
from gpucodegen.dialects import affine
from gpucodegen.passes.framework.functions import definitions
from gpucodegen.passes.outlining.vector_width import vector_width


def width(
    access: str, buffer: str = "memref<64x64xf32>", *, alignment: int = 16
) -> int:
    """Of an access to %b in a loop over %j."""
    text = f"""
func.func @f(%A: {buffer}, %n: index) {{
  %b = memref.assume_alignment %A, {alignment} : {buffer}
  affine.for %i = 0 to 8 {{ affine.for %j = 0 to 8 {{
    %v = affine.load %b[{access}] : {buffer}
  }} }}
  return
}}"""
    (function,) = gcg.parse(text).operations
    loads = [op for op in function.walk() if op.name == "affine.load"]
    loops = [op for op in function.walk() if op.name == "affine.for"]
    return vector_width(loads[0], affine.For(loops[1]).iv, definitions(function))


STRIDED = "memref<8x8xf32, strided<[{}, {}], offset: 0>>"
CASES = [
    ("%i, %j", "memref<64x64xf32>", 16, 4),
    ("%i, %j", "memref<64x64xf64>", 16, 2),
    ("%i, %j", "memref<64x64xf16>", 16, 8),
    ("%i, %j", "memref<64x64xi8>", 16, 16),
    ("%i, %j", "memref<64x64xf32>", 8, 2),
    ("%i, %j", "memref<64x64xf32>", 4, 1),
    ("%i, %j", "memref<64x66xf32>", 16, 2),
    ("%i, %j", "memref<64x65xf32>", 16, 1),
    ("%i, %j + 4", "memref<64x64xf32>", 16, 4),
    ("%i, %j + 2", "memref<64x64xf32>", 16, 2),
    ("%i, %j + 1", "memref<64x64xf32>", 16, 1),
    ("%i, %j + %i", "memref<64x64xf32>", 16, 1),
    ("%i, %j + %i * 4", "memref<64x64xf32>", 16, 4),
    ("%i, %j * 2", "memref<64x64xf32>", 16, 1),
    ("%j, %i", "memref<64x64xf32>", 16, 1),
    ("%i, %i", "memref<64x64xf32>", 16, 1),
    ("%j, %j", "memref<64x64xf32>", 16, 1),
    ("%i, %j floordiv 2", "memref<64x64xf32>", 16, 1),
    ("%i, %j", "memref<?x?xf32>", 16, 1),
    ("0, %j", "memref<?x?xf32>", 16, 4),
    ("%i, %j", STRIDED.format(12, 1), 16, 4),
    ("%i, %j", STRIDED.format(-12, 1), 16, 4),
    ("%i, %j", STRIDED.format(13, 1), 16, 1),
    ("%i, %j", STRIDED.format(16, 2), 16, 1),
    ("%i, %j", STRIDED.format(16, -1), 16, 1),
    ("%i, %j", STRIDED.format("?", 1), 16, 1),
]


@pytest.mark.cases(("access", "buffer", "alignment", "expected"), CASES)
def test_width(access: str, buffer: str, alignment: int, expected: int) -> None:
    assert width(access, buffer, alignment=alignment) == expected


VIEWS = {
    "%v = memref.subview %b[0, 4] [8, 8] [1, 1] : {b} to {v}": ("offset: 4", 4),
    "%v = memref.subview %b[1, 2] [8, 8] [1, 1] : {b} to {v}": ("offset: 66", 2),
    "%v = memref.subview %b[%n, 4] [8, 8] [1, 1] : {b} to {v}": ("offset: ?", 1),
}


@pytest.mark.parametrize("view", VIEWS)
def test_width_in_views(view: str) -> None:
    """Of what starts at a known place of an allocation."""
    offset, expected = VIEWS[view]
    buffer, ty = "memref<64x64xf32>", f"memref<8x8xf32, strided<[64, 1], {offset}>>"
    text = f"""
func.func @f(%n: index) {{
  %b = memref.alloc() : {buffer}
  {view.format(b=buffer, v=ty)}
  affine.for %j = 0 to 8 {{
    %x = affine.load %v[0, %j] : {ty}
  }}
  return
}}"""
    (function,) = gcg.parse(text).operations
    (load,) = (op for op in function.walk() if op.name == "affine.load")
    (loop,) = (op for op in function.walk() if op.name == "affine.for")
    found = vector_width(load, affine.For(loop).iv, definitions(function))
    assert found == expected
