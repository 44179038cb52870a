"""Accesses of an array sent to the buffer that holds its tile."""

from __future__ import annotations

from collections.abc import Mapping

from gpucodegen.dialects import affine
from gpucodegen.ir.attributes import AffineMapAttr
from gpucodegen.ir.operation import Operation, rewrite_bottom_up
from gpucodegen.passes.framework.indexing import as_map, compact, from_map
from gpucodegen.passes.gpu.transfers.promote.copies import Held


def redirected(op: Operation, table: Mapping[int, Held]) -> Operation:
    """``op`` with the accesses in ``table`` (by identity) at ``index - corner``."""

    def rewrite(access: Operation) -> list[Operation] | None:
        held = table.get(id(access))
        return None if held is None else [_in_buffer(access, held)]

    (result,) = rewrite_bottom_up(op, rewrite)
    return result


def _in_buffer(access: Operation, held: Held) -> Operation:
    at = access.operands.index(held.memref)
    indices = from_map(affine.map_of(access), access.operands[at + 1 :])
    places = [compact(i - c) for i, c in zip(indices, held.corner, strict=True)]
    map_, operands = as_map(places)
    return access.with_(
        operands=(*access.operands[:at], held.buffer, *operands),
        attributes={**access.attributes, "map": AffineMapAttr(map_)},
    )
