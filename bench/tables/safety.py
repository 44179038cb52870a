"""Programs whose accesses are checked when they run, against the same unchecked.

What data decide is checked in the loop, what arguments and extents decide once a call;
what is proven costs nothing and has no line here.  Calls check their arguments each
time, for the checks of extents are part of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

import gpucodegen as gcg
from bench.case import Call, Case, Peer
from bench.row import Limit, Work
from examples.problems import Answer, Arguments

GATHER = """
func.func @f(%a: memref<?xf32>, %at: memref<?xi64>, %b: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %at, %c0 : memref<?xi64>
  affine.for %i = 0 to %n {
    %k = affine.load %at[%i] : memref<?xi64>
    %j = arith.index_cast %k : i64 to index
    %v = memref.load %a[%j] : memref<?xf32>
    affine.store %v, %b[%i] : memref<?xf32>
  }
  return
}"""

HISTOGRAM = """
func.func @f(%a: memref<?xf32>, %at: memref<?xi64>, %b: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %at, %c0 : memref<?xi64>
  affine.for %i = 0 to %n {
    %k = affine.load %at[%i] : memref<?xi64>
    %j = arith.index_cast %k : i64 to index
    %v = affine.load %a[%i] : memref<?xf32>
    %o = memref.load %b[%j] : memref<?xf32>
    %s = arith.addf %o, %v : f32
    memref.store %s, %b[%j] : memref<?xf32>
  }
  return
}"""

SPARSE = """
func.func @f(%ptr: memref<?xi64>, %at: memref<?xi64>, %val: memref<?xf32>,
             %x: memref<?xf32>, %y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %m = memref.dim %y, %c0 : memref<?xf32>
  affine.for %i = 0 to %m {
    %p = affine.load %ptr[%i] : memref<?xi64>
    %q = affine.load %ptr[%i + 1] : memref<?xi64>
    %lo = arith.index_cast %p : i64 to index
    %hi = arith.index_cast %q : i64 to index
    %sum = scf.for %j = %lo to %hi step %c1 iter_args(%s = %zero) -> f32 {
      %k = memref.load %at[%j] : memref<?xi64>
      %l = arith.index_cast %k : i64 to index
      %v = memref.load %val[%j] : memref<?xf32>
      %w = memref.load %x[%l] : memref<?xf32>
      %p2 = arith.mulf %v, %w : f32
      %t = arith.addf %s, %p2 : f32
      scf.yield %t : f32
    }
    affine.store %sum, %y[%i] : memref<?xf32>
  }
  return
}"""

LINE = """
func.func @f(%a: memref<?xf32>, %b: memref<?xf32>, %n: index) {
  affine.for %i = 0 to %n {
    %v = affine.load %a[%i] : memref<?xf32>
    %w = arith.addf %v, %v : f32
    affine.store %w, %b[%i] : memref<?xf32>
  }
  return
}"""


def _gathered(rng: np.random.Generator, count: int) -> Arguments:
    values = rng.random(count, np.float32)
    return values, rng.integers(0, count, count), np.empty(count, np.float32)


def _taken(a: np.ndarray, at: np.ndarray, b: np.ndarray) -> Answer:
    del b
    return {2: a[at]}


def _counted(rng: np.random.Generator, count: int) -> Arguments:
    values = rng.random(count, np.float32)
    return values, rng.integers(0, 512, count), np.zeros(512, np.float32)


def _sums(a: np.ndarray, at: np.ndarray, b: np.ndarray) -> Answer:
    return {2: b + np.bincount(at, a, len(b)).astype(np.float32)}


def _sparse(rng: np.random.Generator, rows: int) -> Arguments:
    """Sixteen numbers in each row of a square matrix."""
    starts = np.arange(rows + 1, dtype=np.int64) * 16
    count = int(starts[-1])
    values = rng.random(count, np.float32)
    columns = np.sort(rng.integers(0, rows, (rows, 16)), axis=1).reshape(-1)
    x = rng.random(rows, np.float32)
    return starts, columns, values, x, np.empty(rows, np.float32)


def _product(
    ptr: np.ndarray, at: np.ndarray, val: np.ndarray, x: np.ndarray, y: np.ndarray
) -> Answer:
    del y
    return {4: np.add.reduceat(val * x[at], ptr[:-1])}


def _unchecked(source: str, *, specialize: bool) -> Peer:
    """The same program without checks."""

    def make(arguments: Arguments) -> Call:
        program = gcg.compile(
            source, target="cpu", unchecked=True, specialize=specialize
        )
        function = program["f"]
        return lambda: function(*arguments)

    return Peer("unchecked", make)


def _case(
    name: str,
    source: str,
    arguments: Callable[[np.random.Generator], Arguments],
    answer: Callable[..., Answer],
    *,
    specialize: bool = True,
) -> Case:
    return Case(
        name=name,
        source=source,
        entry="f",
        arguments=arguments,
        answer=answer,
        peers=(_unchecked(source, specialize=specialize),),
        work=Work(),
        limit=Limit.NONE,
        options={"specialize": specialize},
        unbound=True,
    )


def _line(count: int, *, specialize: bool) -> Case:
    def arguments(rng: np.random.Generator) -> Arguments:
        values = rng.random(count, np.float32)
        return values, np.empty(count, np.float32), count

    def answer(a: np.ndarray, b: np.ndarray, n: int) -> Answer:
        del b, n
        return {1: a + a}

    shapes = "" if specialize else ", any shape"
    name = f"loop to an argument {count}{shapes}"
    return _case(name, LINE, arguments, answer, specialize=specialize)


LINES = (
    *(
        _case(
            f"gather {count}",
            GATHER,
            partial(_gathered, count=count),
            _taken,
        )
        for count in (1_000, 100_000, 4_000_000)
    ),
    _case("histogram 1000000", HISTOGRAM, partial(_counted, count=10**6), _sums),
    _case("sparse rows 20000x16", SPARSE, partial(_sparse, rows=20_000), _product),
    _line(1_000, specialize=True),
    _line(1_000, specialize=False),
    _line(1_000_000, specialize=False),
)
