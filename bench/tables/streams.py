"""Programs that touch every element once: the time is that of the memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import prod

import numpy as np

from bench.case import Case, Peer
from bench.peers import numpy_peer, torch_peer
from bench.row import Limit, Work
from examples.problems import Answer, Arguments, Array, exact, numbers

TEXT = """
func.func @copy(%x: memref<?xTYPE>, %y: memref<?xTYPE>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xTYPE>
  affine.for %i = 0 to %n {
    %v = affine.load %x[%i] : memref<?xTYPE>
    affine.store %v, %y[%i] : memref<?xTYPE>
  }
  return
}
func.func @axpy(%x: memref<?xTYPE>, %y: memref<?xTYPE>) {
  %a = arith.constant 3.0 : TYPE
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xTYPE>
  affine.for %i = 0 to %n {
    %v = affine.load %x[%i] : memref<?xTYPE>
    %w = affine.load %y[%i] : memref<?xTYPE>
    %av = arith.mulf %a, %v : TYPE
    %s = arith.addf %w, %av : TYPE
    affine.store %s, %y[%i] : memref<?xTYPE>
  }
  return
}
func.func @axpy_apart(
    %x: memref<?xTYPE>, %y: memref<?xTYPE>, %z: memref<?xTYPE>) {
  %a = arith.constant 3.0 : TYPE
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xTYPE>
  affine.for %i = 0 to %n {
    %v = affine.load %x[%i] : memref<?xTYPE>
    %w = affine.load %y[%i] : memref<?xTYPE>
    %av = arith.mulf %a, %v : TYPE
    %s = arith.addf %w, %av : TYPE
    affine.store %s, %z[%i] : memref<?xTYPE>
  }
  return
}
func.func @transpose(%x: memref<?x?xTYPE>, %y: memref<?x?xTYPE>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.dim %x, %c0 : memref<?x?xTYPE>
  %n = memref.dim %x, %c1 : memref<?x?xTYPE>
  affine.for %i = 0 to %m {
    affine.for %j = 0 to %n {
      %v = affine.load %x[%i, %j] : memref<?x?xTYPE>
      affine.store %v, %y[%j, %i] : memref<?x?xTYPE>
    }
  }
  return
}
func.func @reverse(%x: memref<?x?x?xTYPE>, %y: memref<?x?x?xTYPE>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %l = memref.dim %x, %c0 : memref<?x?x?xTYPE>
  %m = memref.dim %x, %c1 : memref<?x?x?xTYPE>
  %n = memref.dim %x, %c2 : memref<?x?x?xTYPE>
  affine.for %i = 0 to %l {
    affine.for %j = 0 to %m {
      affine.for %k = 0 to %n {
        %v = affine.load %x[%i, %j, %k] : memref<?x?x?xTYPE>
        affine.store %v, %y[%k, %j, %i] : memref<?x?x?xTYPE>
      }
    }
  }
  return
}
"""
LONG = {"f32": 1 << 26, "f64": 1 << 25}
"""Elements of an array that no cache holds: 256 MiB."""
SHAPES = ((4096, 4096), (2000, 3000), (1000, 513))


@dataclass(frozen=True, slots=True)
class Stream:
    """A function of `TEXT` that writes its last argument.

    ``shapes`` maps the shape of the first argument to those of all; ``answer`` maps the
    arguments to the result.  ``touched`` counts the arrays that are read or written,
    ``flops`` the operations, both per element.
    """

    entry: str
    shapes: Callable[[tuple[int, ...]], tuple[tuple[int, ...], ...]]
    answer: Callable[..., Array]
    touched: int
    flops: int
    peers: tuple[Peer, ...]

    def line(self, dtype: str, *shape: int) -> Case:
        """The function for a type and the shape of its first argument."""
        shapes = self.shapes(shape)
        size, width = prod(shape), int(dtype[1:]) // 8
        return Case(
            name=f"{self.entry} {dtype} {'x'.join(map(str, shape))}",
            source=TEXT.replace("TYPE", dtype),
            entry=self.entry,
            arguments=partial(arguments, f"f{width}", shapes),
            answer=lambda *given: self.answers(given),
            peers=self.peers,
            work=Work(self.flops * size, width * self.touched * size),
            limit=Limit.COPY,
            dtype=dtype,
            tolerance={"f32": 1e-5, "f64": 1e-13}[dtype],
        )

    def answers(self, given: Arguments) -> Answer:
        """What a call must leave in its last argument."""
        return {len(given) - 1: self.answer(*map(exact, given))}


def arguments(
    dtype: str, shapes: tuple[tuple[int, ...], ...], rng: np.random.Generator
) -> Arguments:
    """Random arrays."""
    return tuple(numbers(rng, dtype, *shape) for shape in shapes)


def _axpy(x: Array, y: Array) -> None:
    """What NumPy users write: one temporary array."""
    y += 3 * x


def _axpy_apart(x: Array, y: Array, z: Array) -> None:
    """Without a temporary array: the result is passed over twice."""
    np.multiply(x, 3, out=z)
    np.add(y, z, out=z)


COPY = Stream(
    "copy",
    lambda shape: (shape, shape),
    lambda x, _: x,
    2,
    0,
    (
        numpy_peer(lambda x, y: np.copyto(y, x)),
        torch_peer(lambda _: lambda x, y: y.copy_(x)),
    ),
)
AXPY = Stream(
    "axpy",
    lambda shape: (shape, shape),
    lambda x, y: y + 3 * x,
    3,
    2,
    (
        numpy_peer(_axpy),
        torch_peer(lambda _: lambda x, y: y.add_(x, alpha=3)),
    ),
)
AXPY_APART = Stream(
    "axpy_apart",
    lambda shape: (shape, shape, shape),
    lambda x, y, _: y + 3 * x,
    3,
    2,
    (
        numpy_peer(_axpy_apart),
        torch_peer(lambda torch: lambda x, y, z: torch.add(y, x, alpha=3, out=z)),
    ),
)
TRANSPOSE = Stream(
    "transpose",
    lambda shape: (shape, shape[::-1]),
    lambda x, _: x.T,
    2,
    0,
    (
        numpy_peer(lambda x, y: np.copyto(y, x.T)),
        torch_peer(lambda _: lambda x, y: y.copy_(x.T)),
    ),
)
REVERSE = Stream(
    "reverse",
    lambda shape: (shape, shape[::-1]),
    lambda x, _: x.T,
    2,
    0,
    (
        numpy_peer(lambda x, y: np.copyto(y, x.T)),
        torch_peer(lambda _: lambda x, y: y.copy_(x.permute(2, 1, 0))),
    ),
)

LINES = (
    *(
        stream.line(dtype, size)
        for stream in (COPY, AXPY, AXPY_APART)
        for dtype, size in LONG.items()
    ),
    *(TRANSPOSE.line("f32", *shape) for shape in SHAPES),
    REVERSE.line("f32", 256, 300, 200),
)
