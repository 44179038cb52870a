"""gpu: thread identities and barriers of CUDA kernels."""

from __future__ import annotations

from gpucodegen.dialects import gpu
from gpucodegen.emit.kernel.context import Emitter, Handler
from gpucodegen.emit.tables.memory.memory import buffer_of
from gpucodegen.emit.text.fragments import Precedence, Text, call
from gpucodegen.ir.affine.expressions import Const
from gpucodegen.ir.operation import Operation

IDENTITIES = {
    "gpu.thread_id": "threadIdx",
    "gpu.block_id": "blockIdx",
    "gpu.block_dim": "blockDim",
    "gpu.grid_dim": "gridDim",
}

REGISTER = "i32"
"""What a thread reads of itself."""


def identity(e: Emitter, op: Operation) -> None:
    """Position or size of a thread or block along one dimension."""
    dimension = gpu.dimension_of(op)
    if op.name == "gpu.block_dim" and e.facts.block is not None:
        e.indices[op.result] = Const(e.facts.block["xyz".index(dimension)])
        return
    cuda = e.use("cuda")
    text = Text(f"{cuda}.{IDENTITIES[op.name]}.{dimension}")
    has_own_width = e.spelling.index_dtype == REGISTER
    e.define(op.result, text if has_own_width else e.narrow(text))


def global_id(e: Emitter, op: Operation) -> None:
    """``gpu.global_id``."""
    d, cuda = gpu.dimension_of(op), e.use("cuda")
    code = f"{cuda}.blockIdx.{d} * {cuda}.blockDim.{d} + {cuda}.threadIdx.{d}"
    e.define(op.result, e.narrow(Text(code, Precedence.SUM)))


def barrier(e: Emitter, op: Operation) -> None:
    """``gpu.barrier`` of a block or of each warp."""
    of_warp = "subgroup" in str(op.attributes.get("scope"))
    code = f"syncwarp({e.use('int32')}(-1))" if of_warp else "syncthreads()"
    e.writer.line(f"{e.use('cuda')}.{code}")


def grid_barrier(e: Emitter, op: Operation) -> None:
    """``gcg.grid_barrier``."""
    arrived = buffer_of(e, op, op.operands[0])
    made = e.make("meet_grid", "meet_grid")
    e.writer.line(str(call(made, arrived.pointer)))


HANDLERS: dict[str, Handler] = dict.fromkeys(IDENTITIES, identity) | {
    "gpu.global_id": global_id,
    "gpu.barrier": barrier,
    "gcg.grid_barrier": grid_barrier,
}
