"""Convolutions and poolings of 2020 with padding, or over any number of dimensions.

    P = copy of the image with room around it
    output op= f(P[x * stride + z * dilation])

The room holds what changes no result: zero, or for a maximum the smallest number.
Kernels read such a copy as the image that it was made of.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from gpucodegen.dialects import linalg
from gpucodegen.dialects.arith import is_float
from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.linalg.named_bodies import scalar_body
from gpucodegen.dialects.linalg.named_definitions import numbers
from gpucodegen.ir.affine import AffineExpr, AffineMap, Dim
from gpucodegen.ir.operation import Operation, Value, rewrite_bottom_up
from gpucodegen.ir.types import IntegerType, MemRefType, Type, element_type
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.prepare.linalg.relayout import each, extent

Sides = tuple[tuple[int, int], ...]
"""Room in front of each dimension and behind it."""


@dataclass(frozen=True, slots=True)
class DecomposeWindows(ModulePass):
    """``linalg.conv`` and ``linalg.pooling_*`` become structured operations.

    >>> import gpucodegen as gcg
    >>> module = gcg.parse('''
    ... func @f(%x: memref<8xf32>, %w: memref<3xf32>, %y: memref<8xf32>) {
    ...   linalg.pooling_max(%x, %w, %y)
    ...     {strides = [1], padding = dense<1> : tensor<1x2xi64>}
    ...     : memref<8xf32>, memref<3xf32>, memref<8xf32>
    ...   return
    ... }''')
    >>> made = DecomposeWindows().apply(module).functions["f"].body.operations
    >>> [op.name for op in made if op.dialect in ("memref", "linalg")]
    ['memref.alloc', 'linalg.generic', 'memref.dealloc']
    """

    name: ClassVar[str] = "decompose-windows"

    def apply(self, module: Module) -> Module:
        """Rewrite all operations on memrefs."""
        (root,) = rewrite_bottom_up(module.operation, _decomposed)
        return Module(root)


def _decomposed(op: Operation) -> list[Operation] | None:
    build = _BUILD.get(op.name)
    on_buffers = all(isinstance(v.type, MemRefType) for v in op.operands)
    if build is None or not on_buffers:
        return None
    b = Builder(op.location)
    build(b, op)
    return b.operations


# -- convolutions ----------------------------------------------------------------------


def _convolution(b: Builder, op: Operation) -> None:
    """``output[b, x.., k] += sum filter[z.., q, k] * image[b, x*s + z*d.., q]``."""
    filter_, image, output = op.operands
    windows = len(_shape(image)) - 2
    padded = _padded(b, image, ((0, 0), *_sides(op, windows), (0, 0)), 0)
    batch, *points = map(Dim, range(windows + 1))
    channel, *taps = map(Dim, range(windows + 1, 2 * windows + 2))
    depth = Dim(2 * windows + 2)
    places = _places(op, points, taps)
    maps = [(batch, *places, depth), (*taps, depth, channel), (batch, *points, channel)]
    kinds = ["parallel"] * (windows + 2) + ["reduction"] * (windows + 1)
    _generic(b, op, (padded, filter_, output), _numbered(maps), kinds, "multiply_add")
    _release(b, padded, image)


def _numbered(
    maps: Sequence[Sequence[AffineExpr]],
) -> list[AffineMap]:
    loops = 1 + max(d.position for m in maps for d in m if isinstance(d, Dim))
    return [AffineMap(loops, 0, tuple(results)) for results in maps]


# -- poolings --------------------------------------------------------------------------


def _pooling(kind: str) -> Callable[[Builder, Operation], None]:
    def build(b: Builder, op: Operation) -> None:
        image, window, output = op.operands
        rank = len(_shape(image))
        neutral = _NEUTRAL[kind](element_type(image.type))
        padded = _padded(b, image, _sides(op, rank), neutral)
        points, taps = (
            list(map(Dim, range(rank))),
            list(map(Dim, range(rank, 2 * rank))),
        )
        maps = _numbered([_places(op, points, taps), taps, points])
        kinds = ["parallel"] * rank + ["reduction"] * rank
        _generic(b, op, (padded, window, output), maps, kinds, f"pool_{kind}")
        _release(b, padded, image)

    return build


def _smallest(ty: Type) -> float:
    return -(1 << (ty.width - 1)) if isinstance(ty, IntegerType) else -float("inf")


def _largest(ty: Type) -> float:
    return (1 << (ty.width - 1)) - 1 if isinstance(ty, IntegerType) else float("inf")


_NEUTRAL: dict[str, Callable[[Type], float]] = {
    "max": _smallest,
    "min": _largest,
    "sum": lambda _: 0,
}
"""What a combination with it leaves as it was."""

_BUILD: dict[str, Callable[[Builder, Operation], None]] = {
    "linalg.conv": _convolution,
    **{f"linalg.pooling_{kind}": _pooling(kind) for kind in _NEUTRAL},
}


# -- both ------------------------------------------------------------------------------


def _shape(value: Value) -> tuple[int | None, ...]:
    assert isinstance(value.type, MemRefType)
    return value.type.shape


def _sides(op: Operation, windows: int) -> Sides:
    flat = numbers(op, "padding") or (0,) * (2 * windows)
    return tuple(zip(flat[::2], flat[1::2], strict=True))


def _places(
    op: Operation, points: Sequence[Dim], taps: Sequence[Dim]
) -> list[AffineExpr]:
    ones = (1,) * len(points)
    strides, dilations = (numbers(op, n) or ones for n in ("strides", "dilations"))
    return [
        x * stride + z * dilation
        for x, z, stride, dilation in zip(points, taps, strides, dilations, strict=True)
    ]


def _padded(b: Builder, image: Value, sides: Sides, neutral: float) -> Value:
    """A copy with room around it; the image itself where no room is needed."""
    if not any(map(any, sides)):
        return image
    extents = [extent(b, image, d) for d in range(len(sides))]
    whole = [n + low + high for n, (low, high) in zip(extents, sides, strict=True)]
    element = element_type(image.type)
    ty = MemRefType(tuple(n.constant for n in whole), element)
    sizes = [b.index(n) for n in whole if n.constant is None]
    padded = b.allocate("memref.alloc", ty, "padded", sizes)
    value = float(neutral) if is_float(element) else int(neutral)
    filler = b.constant(value, element)
    each(b, whole, lambda inner, at: inner.store(filler, padded, at))

    def copy(inner: Builder, at: Sequence[Index]) -> None:
        moved = [i + low for i, (low, _) in zip(at, sides, strict=True)]
        inner.store(inner.load(image, at), padded, moved)

    each(b, extents, copy)
    return padded


def _release(b: Builder, padded: Value, image: Value) -> None:
    if padded is not image:
        b.add("memref.dealloc", (padded,))


def _generic(
    b: Builder,
    op: Operation,
    operands: Sequence[Value],
    maps: Sequence[AffineMap],
    kinds: Sequence[str],
    body: str,
) -> None:
    *inputs, output = operands
    scalar = scalar_body(body, op, inputs, [output])
    arguments, operations = scalar.arguments, scalar.operations
    made = linalg.generic(
        inputs, [output], maps, kinds, arguments, operations, location=op.location
    )
    b.operations.append(made)
