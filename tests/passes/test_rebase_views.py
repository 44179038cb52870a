"""``memref.reinterpret_cast`` of views, against the buffer counted from its start."""

from __future__ import annotations

import numpy as np
import pytest

import gpucodegen as gcg

VIEW = "memref<10xf32, strided<[1], offset: 4>>"
RESULT = "memref<3xf32, strided<[2], offset: ?>>"
COPY = f"""
  affine.for %i = 0 to 3 {{
    %x = affine.load %w[%i] : {RESULT}
    affine.store %x, %o[%i] : memref<3xf32>
  }}
  return
}}"""
OF_A_SUBVIEW = f"""
func.func @f(%a: memref<20xf32>, %o: memref<3xf32>, %n: index) {{
  %v = memref.subview %a[4] [10] [1] : memref<20xf32> to {VIEW}
  %w = memref.reinterpret_cast %v to offset: [%n], sizes: [3], strides: [2]
    : {VIEW} to {RESULT}
  {COPY}"""
OF_A_DYNAMIC_SUBVIEW = f"""
func.func @f(%a: memref<20xf32>, %o: memref<3xf32>, %n: index) {{
  %v = memref.subview %a[%n] [10] [1]
    : memref<20xf32> to memref<10xf32, strided<[1], offset: ?>>
  %w = memref.reinterpret_cast %v to offset: [%n], sizes: [3], strides: [2]
    : memref<10xf32, strided<[1], offset: ?>> to {RESULT}
  {COPY}"""
OF_A_CHAIN = f"""
func.func @f(%a: memref<4x5xf32>, %o: memref<3xf32>, %n: index) {{
  %t = memref.transpose %a (i, j) -> (j, i)
    : memref<4x5xf32> to memref<5x4xf32, strided<[1, 5]>>
  %s = memref.subview %t[2, 1] [2, 2] [1, 1]
    : memref<5x4xf32, strided<[1, 5]>> to memref<2x2xf32, strided<[1, 5], offset: 7>>
  %r = memref.reinterpret_cast %s to offset: [6], sizes: [2], strides: [1]
    : memref<2x2xf32, strided<[1, 5], offset: 7>>
    to memref<2xf32, strided<[1], offset: 6>>
  %w = memref.reinterpret_cast %r to offset: [%n], sizes: [3], strides: [2]
    : memref<2xf32, strided<[1], offset: 6>> to {RESULT}
  {COPY}"""
OF_A_CHOICE = f"""
func.func @f(%a: memref<20xf32>, %o: memref<3xf32>, %n: index) {{
  %p = arith.cmpi eq, %n, %n : index
  %u = memref.subview %a[4] [10] [1] : memref<20xf32> to {VIEW}
  %b = memref.alloc() : memref<20xf32>
  %c = memref.subview %b[4] [10] [1] : memref<20xf32> to {VIEW}
  %v = scf.if %p -> ({VIEW}) {{
    scf.yield %u : {VIEW}
  }} else {{
    scf.yield %c : {VIEW}
  }}
  %w = memref.reinterpret_cast %v to offset: [%n], sizes: [3], strides: [2]
    : {VIEW} to {RESULT}
  {COPY}"""
TEXTS = {
    "subview": OF_A_SUBVIEW,
    "dynamic subview": OF_A_DYNAMIC_SUBVIEW,
    "chain": OF_A_CHAIN,
    "choice": OF_A_CHOICE,
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("target", ["cpu", "sim"])
@pytest.mark.cases("name", TEXTS, parts=2)
def test_offsets_count_from_the_buffer(name: str, target: str):
    a, o = np.arange(20, dtype=np.float32), np.zeros(3, np.float32)
    rows = a.reshape(4, 5) if name == "chain" else a
    gcg.compile(TEXTS[name], target=target).f(rows, o, 5)
    assert o.tolist() == [5, 7, 9]


def test_arguments_begin_with_their_first_element():
    view = "memref<10xf32, strided<[1], offset: ?>>"
    text = OF_A_SUBVIEW.replace("%a: memref<20xf32>", f"%v: {view}")
    lines = [line for line in text.replace(VIEW, view).split("\n") if "%a" not in line]
    a, o = np.arange(20, dtype=np.float32), np.zeros(3, np.float32)
    gcg.compile("\n".join(lines), target="cpu").f(a[4:14], o, 1)
    assert o.tolist() == [5, 7, 9]


@pytest.mark.parametrize("target", ["cpu", "sim"])
def test_offsets_of_a_choice_of_unknown_start_count_from_its_buffer(target: str):
    text = OF_A_CHOICE.replace(VIEW, "memref<10xf32, strided<[1], offset: ?>>")
    text = text.replace("%u = memref.subview %a[4]", "%u = memref.subview %a[%n]")
    text = text.replace("%c = memref.subview %b[4]", "%c = memref.subview %b[%n]")
    a, o = np.arange(20, dtype=np.float32), np.zeros(3, np.float32)
    gcg.compile(text, target=target).f(a, o, 5)
    assert o.tolist() == [5, 7, 9]
