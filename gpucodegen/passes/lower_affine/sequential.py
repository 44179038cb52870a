"""``affine.parallel`` as a nest of ``affine.for``, its reductions as carried values."""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen import errors
from gpucodegen.dialects import affine
from gpucodegen.dialects.shared.combiners import OF_ATOMICS
from gpucodegen.ir.affine import AffineMap
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import INDEX, IntegerType, Type
from gpucodegen.passes.framework.builder import Builder

Bounds = tuple[Value, AffineMap, AffineMap, int]
"""Loop variable, lower and upper map, step."""


def sequential(op: Operation) -> list[Operation]:
    """The operations that do the iterations one after the other, in order."""
    loop = affine.Parallel(op)
    once = AffineMap.constant(0), AffineMap.constant(1)
    nest = [
        *zip(loop.ivs, loop.lower_maps, loop.upper_maps, loop.steps, strict=True)
    ] or [(Value(INDEX, "once", op.location), *once, 1)]
    b = Builder(op.location)
    starts = [
        b.constant(_start(op, kind, result.type), result.type)
        for kind, result in zip(loop.reductions, op.results, strict=True)
    ]
    (whole,) = _nest(op, nest, starts)
    return [*b.operations, whole.with_(results=op.results)]


def _start(op: Operation, kind: str, ty: Type) -> float:
    if kind not in OF_ATOMICS:
        raise errors.UnsupportedOperation(
            op.location,
            operation=f"{op.name} reduce {kind}",
            target=_TARGET,
            advice=f"Reduce with one of {', '.join(sorted(OF_ATOMICS))}",
        )
    if isinstance(ty, IntegerType) and ty.signedness:
        raise errors.UnsupportedType(op.location, type=ty, target=_TARGET)
    return OF_ATOMICS[kind].neutral_of(ty)


_TARGET = "loops in order"


def _nest(
    op: Operation, nest: Sequence[Bounds], carried: Sequence[Value]
) -> list[Operation]:
    """The loops of ``nest`` around the body, started with the carried values."""
    if not nest:
        return _combined(op, carried)
    loop = affine.Parallel(op)
    (iv, lower, upper, step), *inner = nest
    iters = [value.renewed() for value in op.results]
    body = _nest(op, inner, iters)
    yielded = body[-1].operands if not inner else body[-1].results
    if inner:
        body.append(affine.yield_(yielded, location=op.location))
    return [
        affine.for_(
            lower,
            loop.lower_operands,
            upper,
            loop.upper_operands,
            body=body,
            iv=iv,
            step=step,
            inits=carried,
            iters=iters,
            location=op.location,
        )
    ]


def _combined(op: Operation, carried: Sequence[Value]) -> list[Operation]:
    """The body; it yields the carried values combined with its own."""
    loop = affine.Parallel(op)
    *body, last = loop.body
    b = Builder(op.location, body)
    totals = [
        b.add(OF_ATOMICS[kind].name, (total, value), [value.type])[0]
        for kind, total, value in zip(
            loop.reductions, carried, last.operands, strict=True
        )
    ]
    return [*b.operations, last.with_(operands=tuple(totals))]
