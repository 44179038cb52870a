"""Nests that use fast memory or asynchronous copies: whole blocks run them."""

from __future__ import annotations

from gpucodegen.ir.operation import Operation
from gpucodegen.passes.contraction.in_blocks.forms import Allowed
from gpucodegen.passes.gpu.blocks.program import block_program
from gpucodegen.passes.gpu.blocks.transfer_spans import needs_block
from gpucodegen.passes.gpu.kinds.nest import Mapper, Nest
from gpucodegen.tiling.machine.gpu.product_plan import device_for, room_of


def block_program_of(nest: Nest) -> list[Operation] | None:
    """One block for each iteration of the parallel outer loops, threads within."""
    if not needs_block(nest.op):
        return None
    mapper = nest.mapper
    return mapper.launch(
        block_program(
            *([nest.op], nest.analysis, nest.context),
            *(mapper.surroundings, allowed_by(mapper)),
        )
    )


def allowed_by(mapper: Mapper) -> Allowed:
    """What a program's options allow of its products of tiles."""
    room = room_of(device_for(mapper.arch))
    return Allowed(mapper.contractions, mapper.order.relaxed, mapper.precision, room)
