"""Loops over whole rows become one loop: only where all accesses permit it."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from lowering import apply, function, names

import gpucodegen as gcg

RNG = np.random.default_rng(11)
EXTENTS = st.lists(st.integers(1, 6), min_size=2, max_size=3).map(tuple)
Shape = tuple[int, ...]


def memref(shape: Shape) -> str:
    return f"memref<{''.join(f'{n}x' for n in shape)}f32>"


def elementwise(
    shape: Shape, kept: Shape, *, first: int = 0, ahead: int = 0, parallel: bool = False
) -> str:
    """``z[i..] = x[i..] + b[some of i..]``; b has the dimensions ``kept``.

    Loops begin at ``first`` in dimension 0; x is read ``ahead`` elements on.
    """
    x = memref((*shape[:-1], shape[-1] + ahead))
    b, z = memref(tuple(shape[d] for d in kept)), memref(shape)
    ivs = [f"%i{d}" for d in range(len(shape))]
    heads = [
        f"affine.parallel ({iv}) = ({first * (not d)}) to ({n})"
        if parallel and not d
        else f"affine.for {iv} = {first * (not d)} to {n}"
        for d, (iv, n) in enumerate(zip(ivs, shape, strict=True))
    ]
    at = ", ".join(ivs)
    return f"""func.func @f(%x: {x}, %b: {b}, %z: {z}) {{
      {" { ".join(heads)} {{
        %u = affine.load %x[{at} + {ahead}] : {x}
        %v = affine.load %b[{", ".join(ivs[d] for d in kept)}] : {b}
        %w = arith.addf %u, %v : f32
        affine.store %w, %z[{at}] : {z}
      {"}" * len(shape)}
      return
    }}"""


def loops(module: object) -> int:
    return sum(name in {"affine.for", "affine.parallel"} for name in names(module))  # pyright: ignore[reportArgumentType]


@pytest.mark.sampled(3)
@settings(max_examples=6, deadline=None, phases=[Phase.generate])
@given(EXTENTS, st.data())
def test_every_element_is_reached_once(shape: Shape, data: st.DataObject):
    kept = tuple(d for d in range(len(shape)) if data.draw(st.booleans()))
    first, ahead = data.draw(st.integers(0, 1)), data.draw(st.integers(0, 1))
    parallel = data.draw(st.booleans())
    text = elementwise(shape, kept, first=first, ahead=ahead, parallel=parallel)
    x = RNG.random((*shape[:-1], shape[-1] + ahead), np.float32)
    b = RNG.random([shape[d] for d in kept], np.float32)
    z = np.full(shape, -1, np.float32)
    function(apply("coalesce", text))(x, b, z)
    wide = b.reshape([n if d in kept else 1 for d, n in enumerate(shape)])
    want = np.broadcast_to(x[..., ahead:] + wide, shape)
    np.testing.assert_array_equal(z[first:], want[first:])
    assert (z[:first] == -1).all()


@pytest.mark.cases(
    ("kept", "left"),
    [((0, 1, 2), 1), ((), 1), ((0,), 2), ((1,), 3), ((2,), 2), ((0, 1), 2)],
)
def test_broadcast_dimensions_keep_their_loops(kept: Shape, left: int):
    for first, parallel in product((0, 1), (False, True)):
        text = elementwise((4, 3, 5), kept, first=first, parallel=parallel)
        assert loops(apply("coalesce", text)) == left


def test_gaps_keep_their_loops():
    text = elementwise((4, 5), (0, 1), ahead=1)
    assert str(apply("coalesce", text)) == str(apply("", text))


def pair(body: str, outer: str = "affine.for %i = 0 to 8") -> str:
    return f"""func.func @f(%x: memref<8x8xf32>, %t: memref<f32>) {{
      {outer} {{
        affine.for %j = 0 to 8 {{
          %u = affine.load %x[%i, %j] : memref<8x8xf32>
          {body}
        }}
      }}
      return
    }}"""


SUM = """%v = affine.load %t[] : memref<f32>
         %w = arith.addf %u, %v : f32
         affine.store %w, %t[] : memref<f32>"""
ABOVE = """%v = affine.load %x[%i - 1, %j] : memref<8x8xf32>
           %w = arith.addf %u, %v : f32
           affine.store %w, %x[%i, %j] : memref<8x8xf32>"""


def test_a_total_of_all_elements_is_one_loop():
    assert loops(apply("coalesce", pair(SUM))) == 1


def test_rows_that_need_each_other_stay():
    assert loops(apply("coalesce", pair(ABOVE))) == 2


def test_a_variable_that_is_a_value_stays():
    body = """%n = arith.index_cast %i : index to i32
              %v = arith.sitofp %n : i32 to f32
              affine.store %v, %x[%i, %j] : memref<8x8xf32>"""
    assert loops(apply("coalesce", pair(body))) == 2


def test_parallel_loops_do_not_take_in_sequential_ones():
    """Each ``i`` keeps its own order; as one parallel loop it would be a race."""
    outer = "affine.parallel (%i) = (0) to (8)"
    assert loops(apply("coalesce", pair(SUM, outer))) == 2


def test_what_is_outside_of_the_nest_stays():
    text = elementwise((4, 5), (0, 1)).replace(
        "func.func @f(", "func.func @f(%n: index, "
    )
    text = text.replace("affine.for %i0", "affine.for %t = 0 to %n {\naffine.for %i0")
    text = text.replace("return", "}\nreturn")
    module = apply("coalesce", text)
    assert loops(module) == 2
    x, b = RNG.random((2, 4, 5), np.float32)
    z = np.zeros((4, 5), np.float32)
    function(module)(2, x, b, z)
    np.testing.assert_array_equal(z, x + b)


def test_quotients_of_variables_keep_their_loops():
    text = """func.func @f(%x: memref<3x8xf32>, %z: memref<8x8xf32>) {
      affine.for %i = 0 to 8 {
        affine.for %j = 0 to 8 {
          %u = affine.load %x[%j floordiv 4, (%j * 3) floordiv 7] : memref<3x8xf32>
          affine.store %u, %z[%i, %j] : memref<8x8xf32>
        }
      }
      return
    }"""
    x, z = RNG.random((3, 8), np.float32), np.zeros((8, 8), np.float32)
    made = apply("coalesce", text)
    assert loops(made) == 2
    function(made)(x, z)
    j = np.arange(8)
    np.testing.assert_array_equal(z, np.tile(x[j // 4, 3 * j // 7], (8, 1)))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("target", ["cpu", "sim"])
@pytest.mark.parametrize("rows", [6, 4])
def test_two_names_of_one_memory_keep_their_loops(target: str, rows: int):
    """As rows of their own, the buffer and its view would have no common index."""
    view = f"memref<{rows}x8xf32>"
    text = f"""func.func @f(%a: memref<6x8xf32>) {{
      %v = memref.subview %a[0, 0] [{rows}, 8] [1, 1] : memref<6x8xf32> to {view}
      affine.for %i = 0 to {rows} {{
        affine.for %j = 0 to 8 {{
          %x = affine.load %v[%i, %j] : {view}
          %y = affine.load %a[%i, %j] : memref<6x8xf32>
          %s = arith.addf %x, %y : f32
          affine.store %s, %a[%i, %j] : memref<6x8xf32>
        }}
      }}
      return
    }}"""
    assert loops(apply("coalesce", text)) == 2
    a = RNG.random((6, 8), np.float32)
    doubled = np.where(np.arange(6)[:, None] < rows, a + a, a)
    gcg.compile(text, target=target).f(a)
    np.testing.assert_array_equal(a, doubled)


@pytest.mark.slow
def test_rows_are_told_apart_behind_a_fill_of_all_of_them():
    """The loop ends at an argument: only the array says that it stays in its row."""
    text = """func.func @f(%n: index, %x: memref<4x9xf32>) {
      %one = arith.constant 1.0 : f32
      linalg.fill ins(%one : f32) outs(%x : memref<4x9xf32>)
      affine.for %i = 0 to %n {
        %u = affine.load %x[3, %i] : memref<4x9xf32>
        %v = arith.addf %u, %one : f32
        affine.store %v, %x[1, %i + 1] : memref<4x9xf32>
      }
      return
    }"""
    x = np.zeros((4, 9), np.float32)
    gcg.compile(text, target="cpu").f(5, x)
    assert x.sum() == 36 + 5
    assert (x[1, 1:6] == 2).all()
