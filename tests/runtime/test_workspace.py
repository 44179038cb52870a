"""Memory of results: the caller's while anybody holds it, then the program's again."""

from __future__ import annotations

import numpy as np

import gpucodegen as gcg
from gpucodegen.runtime.cpu.engine import LENT_ALIKE, LENT_BYTES, Pool

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
