"""gpu: threads that wait for one another, exchange and combine values."""

from __future__ import annotations

from gpucodegen.dialects.framework import kinds
from gpucodegen.dialects.framework.constraints import BOOL, TypeConstraint
from gpucodegen.dialects.framework.declare import always, op
from gpucodegen.dialects.framework.definition import Trait
from gpucodegen.dialects.gpu.communication import checks, warp
from gpucodegen.dialects.gpu.communication import reduce_syntax as reduce
from gpucodegen.dialects.gpu.words import MODE, REDUCTION, modern, word
from gpucodegen.ir.types import I1, I32, DialectType, FloatType, IntegerType

_BARRIER = DialectType("gpu.named_barrier")
_THIRTY_TWO = always(I32)
_INTEGER = TypeConstraint("an integer", lambda ty: isinstance(ty, IntegerType))
_NUMBER = TypeConstraint(
    "an integer or float", lambda ty: isinstance(ty, IntegerType | FloatType)
)
_SCOPES = "thread subgroup workgroup cluster device system"

OPERATIONS = (
    op(
        "gpu.barrier",
        "namedBarrier?",
        "(`named` `(` $namedBarrier^ `:` type($namedBarrier) `)`)?"
        " (`scope` $scope^)? (`memfence` $address_spaces^)? attr-dict",
        attributes={
            "scope": kinds.bracketed("gpu.barrier_scope", "workgroup", words=_SCOPES),
            "address_spaces": kinds.optional(kinds.ARRAY),
        },
    ),
    op(
        "gpu.initialize_named_barrier",
        "memberCount -> result",
        "$memberCount attr-dict `:` type($memberCount) `->` type($result)",
        types={"memberCount": _INTEGER},
    ),
    op(
        "gpu.all_reduce",
        "value -> result",
        (reduce.parse_all_reduce, reduce.print_all_reduce),
        attributes={"op": kinds.optional(REDUCTION), "uniform": kinds.UNIT},
        same="value result",
        types={"value": _NUMBER},
        regions=None,
        adapt=modern("op", "all_reduce_op"),
        checks=[checks.check_all_reduce],
    ),
    op(
        "gpu.subgroup_reduce",
        "value -> result",
        "$op $value (`uniform` $uniform^)? (`cluster` `(` `size` `=` $cluster_size^"
        " (`,` `stride` `=` $cluster_stride^)? `)`)? attr-dict"
        " `:` functional-type(operands, results)",
        attributes={
            "op": REDUCTION,
            "uniform": kinds.UNIT,
            "cluster_size": kinds.integer(I32, optional=True),
            "cluster_stride": kinds.integer(I32, default=1),
        },
        same="value result",
        adapt=modern("op", "all_reduce_op"),
        checks=[checks.check_subgroup_reduce],
    ),
    op(
        "gpu.shuffle",
        "value offset width -> shuffleResult valid",
        "$mode $value `,` $offset `,` $width attr-dict `:` type($value)",
        attributes={"mode": MODE},
        same="value shuffleResult",
        infer={
            "offset": _THIRTY_TWO,
            "width": _THIRTY_TWO,
            "valid": always(I1),
        },
        types={"value": checks.EXCHANGED},
        adapt=modern("mode", "shuffle_mode"),
    ),
    op(
        "gpu.rotate",
        "value -> rotateResult valid",
        "$value `,` $offset `,` $width attr-dict `:` type($value)",
        attributes={"offset": kinds.INT32, "width": kinds.INT32},
        same="value rotateResult",
        infer={"valid": always(I1)},
        types={"value": checks.EXCHANGED},
        checks=[checks.check_rotate],
    ),
    op(
        "gpu.subgroup_broadcast",
        "src lane? -> result",
        "$src `,` $broadcast_type ($lane^)? attr-dict `:` type($src)",
        attributes={
            "broadcast_type": word("broadcast", ("first_active_lane", "specific_lane"))
        },
        same="src result",
        infer={"lane": _THIRTY_TWO},
        adapt=modern("broadcast_type", "broadcast"),
        checks=[checks.check_broadcast],
    ),
    op(
        "gpu.ballot",
        "predicate -> result",
        "$predicate attr-dict `:` type($result)",
        infer={"predicate": always(I1)},
        types={"predicate": BOOL, "result": _INTEGER},
    ),
    op(
        "gpu.warp_execute_on_lane_0",
        "laneid args* -> results*",
        (warp.parse_warp, warp.print_warp),
        attributes={"warp_size": kinds.INT64},
        regions=1,
        terminators=["gpu.yield"],
        checks=[warp.check_warp],
    ),
    op(
        "gpu.yield",
        "values*",
        "attr-dict ($values^ `:` type($values))?",
        traits=Trait.TERMINATOR,
    ),
    op(
        "gpu.printf",
        "args*",
        "$format attr-dict (`,` $args^ `:` type($args))?",
        attributes={"format": kinds.STRING},
    ),
)
