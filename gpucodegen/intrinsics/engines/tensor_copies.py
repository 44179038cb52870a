"""Copies of boxes of tensors, which a tensor map in global memory describes.

PTX ISA, "cp.async.bulk.tensor".  Coordinates are of the innermost dimension first.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any

from llvmlite import ir
from numba.core import types

from gpucodegen.intrinsics.engines.instructions import (
    GLOBAL,
    SHARED,
    in_space,
    instruction,
)
from gpucodegen.intrinsics.framework.lowering import (
    I32,
    Face,
    Lowering,
    signature,
)

_LOAD = (
    "cp.async.bulk.tensor.{rank}d.shared::cluster.global"
    ".mbarrier::complete_tx::bytes{multicast} [$0], [$1, {{{box}}}], [$2]{mask};"
)
_STORE = (
    "cp.async.bulk.tensor.{rank}d.global.shared::cta.bulk_group [$0, {{{box}}}], [$1];"
)
_ON_MAP = {
    "prefetch": "prefetch.tensormap [$0];",
    "fence": "fence.proxy.tensormap::generic.acquire.gpu [$0], 128;",
}


def factories(face: Face) -> dict[str, Any]:
    """By name; the same request gives the same intrinsic."""
    return {name: cache(partial(make, face)) for name, make in MADE.items()}


def on_map(face: Face, kind: str) -> Any:
    """``tensor_map(map)``: fetch a map ahead, or see what others wrote into it."""

    def lower(low: Lowering, tensor_map: Any) -> None:
        instruction(low, _ON_MAP[kind], (_map(low, tensor_map),))

    def typing_rule(tensor_map: Any) -> Any:
        return signature(types.void, tensor_map)

    return face.define(f"{kind}_tensor_map", 1, typing_rule, lower)


def load(face: Face, rank: int, multicast: bool = False) -> Any:
    """``tensor_load(p, offset, map, barriers, i, x, ..[, mask])``: a box on its way.

    ``multicast``: each block of the cluster with a bit in the mask gets it.
    """

    def lower(
        low: Lowering,
        pointer: Any,
        offset: Any,
        tensor_map: Any,
        barriers: Any,
        number: Any,
        *others: Any,
    ) -> None:
        places = (
            in_space(low, pointer, offset, SHARED),
            _map(low, tensor_map),
            in_space(low, barriers, number, SHARED),
        )
        corner = [_coordinate(low, x) for x in others[:rank]]
        mask = [low.builder.trunc(m, ir.IntType(16)) for m in others[rank:]]
        text = _LOAD.format(
            rank=rank,
            box=_numbered(3, rank),
            multicast=".multicast::cluster" if multicast else "",
            mask=f", ${3 + rank}" if multicast else "",
        )
        instruction(low, text, (*places, *corner, *mask))

    return face.define("tensor_load", 5 + rank + multicast, _any, lower)


def store(face: Face, rank: int) -> Any:
    """``tensor_store(p, offset, map, x, ..)``: a box from shared memory."""

    def lower(
        low: Lowering, pointer: Any, offset: Any, tensor_map: Any, *corner: Any
    ) -> None:
        places = _map(low, tensor_map), in_space(low, pointer, offset, SHARED)
        text = _STORE.format(rank=rank, box=_numbered(2, rank))
        instruction(low, text, (*places, *(_coordinate(low, x) for x in corner)))

    return face.define("tensor_store", 3 + rank, _any, lower)


def _any(*arguments: Any) -> Any:
    return signature(types.void, *arguments)


def _map(low: Lowering, pointer: Any) -> Any:
    return in_space(low, pointer, I32(0), GLOBAL)


def _coordinate(low: Lowering, number: Any) -> Any:
    return number if number.type == I32 else low.builder.trunc(number, I32)


def _numbered(first: int, count: int) -> str:
    return ", ".join(f"${n}" for n in range(first, first + count))


MADE = {"on_tensor_map": on_map, "tensor_load": load, "tensor_store": store}
