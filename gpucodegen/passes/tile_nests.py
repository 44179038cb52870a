"""Rectangular tiling of a permutable band, refused with a witness where illegal.

A band l1..lp may be tiled iff no dependence points backward along any of its loops:

    { d in distances : d_outer = 0, d_l < 0 } = {}   for each l of the band
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpucodegen import errors
from gpucodegen.dialects import affine
from gpucodegen.ir.affine import AffineMap, Dim
from gpucodegen.ir.attributes import AffineMapAttr, DenseArrayAttr, index_attr
from gpucodegen.ir.operation import Operation, Value, single_block
from gpucodegen.ir.types import I32, INDEX
from gpucodegen.passes.analysis import analyse
from gpucodegen.passes.lifting import Surroundings
from gpucodegen.passes.nests import inner_operations
from gpucodegen.tiling.legality import check_tiling, rectangular


def tile(
    op: Operation,
    sizes: Sequence[int],
    context: Sequence[Operation] = (),
    surroundings: Surroundings | None = None,
    *,
    relaxed: bool = False,
) -> Operation:
    """The nest of ``op`` with its outermost ``len(sizes)`` loops tiled.

    Sizes count iterations; a size of 0 or 1 leaves its loop untiled.  ``relaxed``
    permits another order of reassociable accumulations.
    """
    chain = _chain(op, len(sizes))
    check(op, chain, context, surroundings, relaxed=relaxed)
    return tiled(chain, sizes, chain[-1].body.operations)


def tiled(
    chain: Sequence[Operation], sizes: Sequence[int], body: Sequence[Operation]
) -> Operation:
    """The loops of ``chain``, perfectly nested, around ``body``; nothing is checked."""
    tiles = [_tile_loop(loop, size) for loop, size in zip(chain, sizes, strict=True)]
    result = tuple(body)
    for loop, size, outer in reversed(list(zip(chain, sizes, tiles, strict=True))):
        point = loop if outer is None else _point_loop(loop, size, affine.For(outer).iv)
        result = (_with_body(point, result),)
    for outer in reversed([t for t in tiles if t is not None]):
        result = (_with_body(outer, result),)
    return result[0]


def check(
    op: Operation,
    chain: Sequence[Operation],
    context: Sequence[Operation] = (),
    surroundings: Surroundings | None = None,
    *,
    relaxed: bool = False,
) -> None:
    """Raise IllegalTransformation unless the band may be tiled."""
    analysis = analyse([op], context, surroundings)
    loops = [v.loop for v in analysis.verdicts if v.loop.payload in chain]
    refusal = check_tiling(analysis.dependences, loops, relaxed=relaxed)
    reason = str(refusal) if refusal else ""
    if not reason and not rectangular(loops):
        reason = "the bounds of an inner loop depend on an outer loop of the band"
    if reason:
        names = ", ".join(affine.For(loop).iv.name or "?" for loop in chain)
        raise errors.IllegalTransformation(
            op.location, transformation=f"tiling the loops ({names})", reason=reason
        )


def _chain(op: Operation, length: int) -> list[Operation]:
    chain = [op]
    while len(chain) < length:
        inner = inner_operations(chain[-1])
        if len(inner) != 1 or inner[0].name != "affine.for" or chain[-1].results:
            raise errors.IllegalTransformation(
                chain[-1].location,
                transformation=f"tiling {length} loops",
                reason=f"only {len(chain)} of them are perfectly nested",
            )
        chain.append(inner[0])
    return chain


def _with_body(loop: Operation, operations: Sequence[Operation]) -> Operation:
    yields = (
        []
        if operations and operations[-1].name == "affine.yield"
        else [affine.yield_(())]
    )
    return loop.with_body((*operations, *yields))


def _tile_loop(loop: Operation, size: int) -> Operation | None:
    """The loop over tile origins, or None for an untiled loop."""
    if size <= 1:
        return None
    view = affine.For(loop)
    iv = Value(INDEX, f"{view.iv.name}_tile", view.iv.location)
    return replace(
        loop,
        attributes={**loop.attributes, "step": index_attr(view.step * size)},
        regions=(single_block((), (iv,)),),
    )


def _point_loop(loop: Operation, size: int, origin: Value) -> Operation:
    """The loop inside one tile: from its origin to the end of tile or range."""
    view = affine.For(loop)
    upper = view.upper_map
    shifted = AffineMap(
        upper.num_dims + 1,
        upper.num_syms,
        (Dim(upper.num_dims) + view.step * size, *upper.results),
    )
    dims, syms = (
        view.upper_operands[: upper.num_dims],
        view.upper_operands[upper.num_dims :],
    )
    operands = (origin, *dims, origin, *syms)
    return replace(
        loop,
        operands=operands,
        attributes={
            **loop.attributes,
            "lowerBoundMap": AffineMapAttr(AffineMap.identity(1)),
            "upperBoundMap": AffineMapAttr(shifted),
            "operandSegmentSizes": DenseArrayAttr(I32, (1, len(operands) - 1, 0)),
        },
    )
