"""Memory of results: the caller's while anybody holds it, then the program's again."""

from __future__ import annotations

import numpy as np

import gpucodegen as gcg
from gpucodegen.runtime.cpu.engine import KEPT_BYTES, LENT_ALIKE, LENT_BYTES, Pool

PAIR = """func.func @f(%A: memref<6xf32>) -> (memref<6xf32>, memref<6xf32>) {
  %r = memref.alloc() : memref<6xf32>
  affine.for %i = 0 to 6 {
    %a = affine.load %A[%i] : memref<6xf32>
    affine.store %a, %r[%i] : memref<6xf32>
  }
  return %r, %r : memref<6xf32>, memref<6xf32>
}"""


def address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def test_results_are_fresh_while_views_of_them_live():
    program = gcg.compile(PAIR, target="cpu")
    a = np.arange(6, dtype="f4")
    tail = program.f(a)[0][3:]
    held = memoryview(program.f(a + 10)[1])
    for n in range(3):
        program.f(a + 20 + n)
    assert np.array_equal(tail, [3, 4, 5])
    assert np.array_equal(held, a + 10)


def test_dropped_results_are_taken_again():
    program = gcg.compile(PAIR, target="cpu")
    a = np.arange(6, dtype="f4")
    places = {address(program.f(a)[0]) for _ in range(4)}
    assert len(places) == 1


def test_few_bytes_of_results_are_remembered():
    pool, shape = Pool(), (LENT_BYTES // 2 + 1,)
    for _ in range(3):
        pool.lend(pool.take(shape, "i8"))
    results = [pool.lend(pool.take(shape, "i8")) for _ in range(3)]
    assert pool.remembered <= LENT_BYTES
    assert len({address(r) for r in results}) == 3


def test_few_results_of_a_shape_are_remembered():
    pool = Pool()
    held = [pool.lend(pool.take((4,), "f32")) for _ in range(100)]
    make = pool.maker((4,), "f32")
    held += [make()[1] for _ in range(100)]
    assert len({address(r) for r in held}) == 200
    (kept,) = pool.lent.values()
    assert len(kept) <= LENT_ALIKE
    assert pool.remembered == 16 * len(kept)
    places = {address(r) for r in held}
    del held
    assert make()[0] in places


def test_memory_serves_other_shapes():
    """As temporaries of arrays that shrink in a loop."""
    pool, places = Pool(), set[int]()
    for extent in range(1_000, 900, -1):
        first, second = pool.take((extent, 8), "f64"), pool.take((extent,), "i1")
        assert first.array.shape == (extent, 8)
        first.array[...] = 1
        second.array[...] = True
        assert first.array.all()
        places |= {first.pointer, second.pointer}
        assert not any(place % 64 for place in places)
        pool.give(first)
        pool.give(second)
    assert len(places) < 10


def test_shapes_of_the_past_give_their_memory_back():
    pool, size = Pool(), KEPT_BYTES // 4
    for extent in range(size, size + 9 * (size // 8), size // 8):
        pool.give(pool.take((extent,), "i8"))
        assert pool.kept <= KEPT_BYTES
    last = pool.take((extent,), "i8")
    assert pool.kept < KEPT_BYTES
    pool.give(last)
    assert pool.take((extent,), "i8") is last
