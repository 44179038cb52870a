"""gpu: thread identities and barriers of CUDA kernels."""

from __future__ import annotations

from gpucodegen.dialects import gpu
from gpucodegen.emit.kernel.context import Emitter, Handler
from gpucodegen.emit.text.fragments import Precedence, Text
from gpucodegen.ir.affine.expressions import Const
from gpucodegen.ir.operation import Operation

IDENTITIES = {
    "gpu.thread_id": "threadIdx",
    "gpu.block_id": "blockIdx",
    "gpu.block_dim": "blockDim",
    "gpu.grid_dim": "gridDim",
}


def identity(e: Emitter, op: Operation) -> None:
    """Position or size of a thread or block along one dimension."""
    dimension = gpu.dimension_of(op)
    if op.name == "gpu.block_dim" and e.facts.block is not None:
        e.indices[op.result] = Const(e.facts.block["xyz".index(dimension)])
        return
    cuda = e.use("cuda")
    e.define(op.result, Text(f"{cuda}.{IDENTITIES[op.name]}.{dimension}"))


def global_id(e: Emitter, op: Operation) -> None:
    """``gpu.global_id``."""
    d, cuda = gpu.dimension_of(op), e.use("cuda")
    code = f"{cuda}.blockIdx.{d} * {cuda}.blockDim.{d} + {cuda}.threadIdx.{d}"
    e.define(op.result, e.narrow(Text(code, Precedence.SUM)))


def barrier(e: Emitter, op: Operation) -> None:
    """``gpu.barrier``."""
    del op
    e.writer.line(f"{e.use('cuda')}.syncthreads()")


HANDLERS: dict[str, Handler] = dict.fromkeys(IDENTITIES, identity) | {
    "gpu.global_id": global_id,
    "gpu.barrier": barrier,
}
