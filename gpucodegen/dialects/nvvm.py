"""The nvvm dialect: special registers, barriers, and warp shuffles and votes."""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen.dialects.framework import kinds
from gpucodegen.dialects.framework.constraints import (
    BOOL,
    INTEGER,
    TypeConstraint,
)
from gpucodegen.dialects.framework.declare import always, like, op, pure
from gpucodegen.dialects.framework.definition import Op
from gpucodegen.ir.types import F32, I1, I32, I64

SHUFFLES = ("bfly", "up", "down", "idx")
VOTES = ("any", "all", "ballot", "uni")
REDUCTIONS = "add and max min or umax umin xor".split()

REGISTERS = (
    *(f"{name}.{d}" for name in ("tid", "ntid", "ctaid", "nctaid") for d in "xyz"),
    *("laneid", "warpid", "nwarpid", "warpsize"),
)
"""The special registers that can be read."""

_THIRTY_TWO = TypeConstraint("i32", lambda ty: ty == I32)
_EXCHANGED = TypeConstraint("i32 or f32", lambda ty: ty in (I32, F32))
_MASK = always(I32)


def _register(name: str) -> Op:
    """The table entry that reads a special register."""
    return pure(
        f"nvvm.read.ptx.sreg.{name}",
        "-> result",
        "attr-dict `:` type($result)",
        types={"result": INTEGER},
    )


def _word(kind: str, names: Sequence[str]) -> kinds.AttributeKind:
    """A keyword for ``#nvvm<kind word>``."""
    return kinds.keyword_of(f"nvvm<{kind} ", names)


OPERATIONS = (
    *map(_register, REGISTERS),
    op("nvvm.barrier0"),
    op(
        "nvvm.barrier",
        "barrierId? numberOfThreads?",
        "(`id` `=` $barrierId^)? (`number_of_threads` `=` $numberOfThreads^)?"
        " attr-dict",
        infer={"barrierId": _MASK, "numberOfThreads": _MASK},
    ),
    op(
        "nvvm.bar.warp.sync",
        "mask",
        "$mask attr-dict `:` type($mask)",
        types={"mask": _THIRTY_TWO},
    ),
    op(
        "nvvm.shfl.sync",
        "mask value offset clamp -> result",
        "$kind $mask `,` $value `,` $offset `,` $clamp attr-dict"
        " `:` type($value) `->` type($result)",
        attributes={"kind": _word("shfl_kind", SHUFFLES)},
        same="value result",
        infer={"mask": _MASK, "offset": _MASK, "clamp": _MASK},
        types={"value": _EXCHANGED},
    ),
    op(
        "nvvm.vote.sync",
        "mask predicate -> result",
        "$kind $mask `,` $predicate attr-dict `->` type($result)",
        attributes={"kind": _word("vote_sync_kind", VOTES)},
        infer={"mask": _MASK, "predicate": always(I1)},
        types={"predicate": BOOL, "result": INTEGER},
    ),
    op(
        "nvvm.vote.ballot.sync",
        "mask predicate -> result",
        "$mask `,` $predicate attr-dict `:` type($result)",
        infer={"mask": _MASK, "predicate": always(I1)},
        types={"result": _THIRTY_TWO},
    ),
    op(
        "nvvm.redux.sync",
        "value mask -> result",
        "$kind $value `,` $mask attr-dict `:` type($value) `->` type($result)",
        attributes={"kind": _word("redux_kind", REDUCTIONS)},
        same="value result",
        infer={"mask": _MASK, "result": like("value")},
        types={"value": _THIRTY_TWO},
    ),
    op("nvvm.cp.async.bulk.commit.group"),
    op(
        "nvvm.cp.async.bulk.wait_group",
        "",
        "$group attr-dict",
        attributes={"group": kinds.integer(I32), "read": kinds.UNIT},
    ),
    op("nvvm.fence.mbarrier.init"),
    op("nvvm.fence.proxy", attributes={"kind": kinds.ANY, "space": kinds.OPTIONAL}),
    op(
        "nvvm.setmaxregister",
        "",
        "$action $regCount attr-dict",
        attributes={
            "action": kinds.keyword_of("nvvm.action<", ("increase", "decrease")),
            "regCount": kinds.integer(I32),
        },
    ),
    op(
        "nvvm.wgmma.wait.group.sync.aligned",
        "",
        "attr-dict $group",
        attributes={"group": kinds.integer(I64)},
    ),
)
