"""Loops that are not affine yet: the next passes raise those that can be."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpucodegen.dialects.memref import Mixed
from gpucodegen.ir.operation import Operation, Value, single_block
from gpucodegen.ir.types import INDEX
from gpucodegen.passes.framework.builder import Builder

Body = Callable[[Builder, Sequence[Value]], None]
Bounds = tuple[Mixed, Mixed, Mixed]
"""Lower bound, upper bound, step."""


def loops(b: Builder, extents: Sequence[Mixed], body: Body) -> None:
    """``scf.for`` over every extent."""
    nest(b, [(0, extent, 1) for extent in extents], body)


def nest(b: Builder, bounds: Sequence[Bounds], body: Body) -> None:
    """``scf.for`` with bounds and steps, one in the other.

    >>> b = Builder()
    >>> nest(b, [(0, 4, 1)], lambda inner, ivs: None)
    >>> [op.name for op in b.operations]
    ['arith.constant', 'arith.constant', 'arith.constant', 'scf.for']
    """
    given = [tuple(b.index(bound) for bound in triple) for triple in bounds]
    _nest(b, given, body, [])


def _nest(
    b: Builder, bounds: Sequence[tuple[Value, ...]], body: Body, ivs: list[Value]
) -> None:
    if len(ivs) == len(bounds):
        body(b, ivs)
        return
    iv, inner = Value(INDEX, f"i{len(ivs)}", b.location), Builder(b.location)
    _nest(inner, bounds, body, [*ivs, iv])
    inner.add("scf.yield")
    b.operations.append(
        Operation(
            "scf.for",
            bounds[len(ivs)],
            regions=(single_block(inner.operations, (iv,)),),
            location=b.location,
        )
    )
