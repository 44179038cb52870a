"""Programs that touch every element once: the time is that of the memory."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bench.case import Case
from bench.peers import numpy_peer, torch_peer
from bench.row import Limit, Work
from examples.problems import Answer, Arguments, Array, exact, numbers

TEXT = """
func.func @copy(%x: memref<?xf32>, %y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  affine.for %i = 0 to %n {
    %v = affine.load %x[%i] : memref<?xf32>
    affine.store %v, %y[%i] : memref<?xf32>
  }
  return
}
func.func @axpy(%x: memref<?xf32>, %y: memref<?xf32>) {
  %a = arith.constant 3.0 : f32
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  affine.for %i = 0 to %n {
    %v = affine.load %x[%i] : memref<?xf32>
    %w = affine.load %y[%i] : memref<?xf32>
    %av = arith.mulf %a, %v : f32
    %s = arith.addf %w, %av : f32
    affine.store %s, %y[%i] : memref<?xf32>
  }
  return
}
func.func @transpose(%x: memref<?x?xf32>, %y: memref<?x?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.dim %x, %c0 : memref<?x?xf32>
  %n = memref.dim %x, %c1 : memref<?x?xf32>
  affine.for %i = 0 to %m {
    affine.for %j = 0 to %n {
      %v = affine.load %x[%i, %j] : memref<?x?xf32>
      affine.store %v, %y[%j, %i] : memref<?x?xf32>
    }
  }
  return
}
"""
LONG, SIDE = 1 << 26, 4096


def stream(
    entry: str,
    shapes: tuple[tuple[int, ...], ...],
    answer: Callable[..., Array],
    touched: int,
    flops: int,
    peers: tuple[object, ...],
) -> Case:
    """One program; ``touched``: arrays read or written, each counted once."""

    def arguments(rng: np.random.Generator) -> Arguments:
        return tuple(numbers(rng, "f4", *shape) for shape in shapes)

    def answers(x: Array, y: Array) -> Answer:
        return {1: answer(exact(x), exact(y))}

    size = int(np.prod(shapes[0]))
    return Case(
        name=f"{entry} {'x'.join(map(str, shapes[0]))}",
        source=TEXT,
        entry=entry,
        arguments=arguments,
        answer=answers,
        peers=peers,  # type: ignore[arg-type]
        work=Work(flops * size, 4 * touched * size),
        limit=Limit.COPY,
        tolerance=1e-5,
    )


def _axpy(x: Array, y: Array) -> None:
    """What NumPy users write: one temporary array."""
    y += np.float32(3) * x


LINES = (
    stream(
        "copy",
        ((LONG,), (LONG,)),
        lambda x, _: x,
        2,
        0,
        (
            numpy_peer(lambda x, y: np.copyto(y, x)),
            torch_peer(lambda _: lambda x, y: y.copy_(x)),
        ),
    ),
    stream(
        "axpy",
        ((LONG,), (LONG,)),
        lambda x, y: y + 3 * x,
        3,
        2,
        (
            numpy_peer(_axpy),
            torch_peer(lambda _: lambda x, y: y.add_(x, alpha=3)),
        ),
    ),
    stream(
        "transpose",
        ((SIDE, SIDE), (SIDE, SIDE)),
        lambda x, _: x.T,
        2,
        0,
        (
            numpy_peer(lambda x, y: np.copyto(y, x.T)),
            torch_peer(lambda _: lambda x, y: y.copy_(x.T)),
        ),
    ),
)
