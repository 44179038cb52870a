"""Emits gpu and nvvm thread identities, barriers, shuffles and votes."""

from __future__ import annotations

from gpucodegen.dialects import gpu
from gpucodegen.emit.context import Emitter, Handler, shape_of, suffix, vector_dtype
from gpucodegen.emit.expressions import Precedence, Text, call, number
from gpucodegen.emit.tables.memory import buffer_of
from gpucodegen.ir.affine import Const
from gpucodegen.ir.attributes import OpaqueAttr
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import VectorType


def _word(op: Operation, attribute: str) -> str:
    """``xor`` of ``#gpu.shuffle_mode<xor>``, ``idx`` of ``#nvvm<shfl_kind idx>``."""
    value = op.attributes[attribute]
    assert isinstance(value, OpaqueAttr)
    return value.text.partition("<")[2].removesuffix(">").rpartition(" ")[2]


def _kind(e: Emitter, op: Operation, value: Value) -> str:
    if isinstance(value.type, VectorType):
        return vector_dtype(e, op, value.type)
    kind = e.dtype(op, value)
    return e.spelling.index_dtype if kind == "index" else kind


def shuffle(e: Emitter, op: Operation) -> None:
    """``gpu.shuffle``; the validity flag is computed only where it is used."""
    value, offset, width = op.operands
    mode, kind, shape = _word(op, "mode"), _kind(e, op, value), shape_of(value.type)
    hint = f"shuffle_{mode}_{suffix(shape, kind)}"
    made = e.make(hint, "shuffle_lanes", mode, shape, kind)
    moved, valid = op.results
    e.define(moved, call(made, *map(e.typed, op.operands)))
    if e.uses.get(valid):
        has_lane = e.make(f"has_lane_{mode}", "has_lane", mode)
        e.define(valid, call(has_lane, e.typed(offset), e.typed(width)))


def shfl_sync(e: Emitter, op: Operation) -> None:
    mode, kind = _word(op, "kind"), _kind(e, op, op.operands[1])
    made = e.make(f"shfl_sync_{mode}_{kind}", "shfl_sync", mode, kind)
    e.define(op.result, call(made, *map(e.typed, op.operands)))


def ballot(e: Emitter, op: Operation) -> None:
    """``gpu.ballot``: the upper half of a 64-bit result is zero."""
    made = e.make("vote_sync_ballot", "vote_sync", "ballot")
    voted = call(made, call(e.use("int32"), number(-1)), e.text(op.operands[0]))
    kind = e.dtype(op, op.result)
    if kind not in {"i32", "i64"}:
        raise e.refusal(op, "Ask for a result of type i32 or i64")
    if kind == "i64":
        voted = call(e.make("extui_i64", "cast", "extui", "i64"), voted)
    e.define(op.result, voted)


def vote(e: Emitter, op: Operation) -> None:
    """``nvvm.vote.sync`` and ``nvvm.vote.ballot.sync``."""
    kind = _word(op, "kind") if "kind" in op.attributes else "ballot"
    made = e.make(f"vote_sync_{kind}", "vote_sync", kind)
    e.define(op.result, call(made, *map(e.typed, op.operands)))


def redux(e: Emitter, op: Operation) -> None:
    kind = _word(op, "kind")
    made = e.make(f"redux_sync_{kind}", "redux_sync", kind)
    e.define(op.result, call(made, *map(e.typed, op.operands)))


def warp_barrier(e: Emitter, op: Operation) -> None:
    e.writer.line(f"{e.use('cuda')}.syncwarp({e.typed(op.operands[0])})")


WARP_HANDLERS: dict[str, Handler] = {
    "gpu.ballot": ballot,
    "gpu.shuffle": shuffle,
    "nvvm.bar.warp.sync": warp_barrier,
    "nvvm.redux.sync": redux,
    "nvvm.shfl.sync": shfl_sync,
    "nvvm.vote.ballot.sync": vote,
    "nvvm.vote.sync": vote,
}


IDENTITIES = {
    "gpu.thread_id": "threadIdx",
    "gpu.block_id": "blockIdx",
    "gpu.block_dim": "blockDim",
    "gpu.grid_dim": "gridDim",
}

REGISTER = "i32"
"""Type of the special registers."""


def identity(e: Emitter, op: Operation) -> None:
    """Index or extent of a thread or block along one dimension."""
    dimension = gpu.dimension_of(op)
    if op.name == "gpu.block_dim" and e.facts.block is not None:
        e.indices[op.result] = Const(e.facts.block["xyz".index(dimension)])
        return
    cuda = e.use("cuda")
    text = Text(f"{cuda}.{IDENTITIES[op.name]}.{dimension}")
    has_own_width = e.spelling.index_dtype == REGISTER
    e.define(op.result, text if has_own_width else e.narrow(text))


def global_id(e: Emitter, op: Operation) -> None:
    d, cuda = gpu.dimension_of(op), e.use("cuda")
    code = f"{cuda}.blockIdx.{d} * {cuda}.blockDim.{d} + {cuda}.threadIdx.{d}"
    e.define(op.result, e.narrow(Text(code, Precedence.SUM)))


def barrier(e: Emitter, op: Operation) -> None:
    """``gpu.barrier`` of a block or of each warp."""
    of_warp = "subgroup" in str(op.attributes.get("scope"))
    code = f"syncwarp({e.use('int32')}(-1))" if of_warp else "syncthreads()"
    e.writer.line(f"{e.use('cuda')}.{code}")


def grid_barrier(e: Emitter, op: Operation) -> None:
    arrived = buffer_of(e, op, op.operands[0])
    made = e.make("meet_grid", "meet_grid")
    e.writer.line(str(call(made, arrived.pointer)))


HANDLERS: dict[str, Handler] = dict.fromkeys(IDENTITIES, identity) | {
    "gpu.global_id": global_id,
    "gpu.barrier": barrier,
    "gcg.grid_barrier": grid_barrier,
}
