"""The gpu operations that synchronize threads, exchange and combine values.

The module holds the table, the syntax of ``gpu.all_reduce`` and of
``gpu.warp_execute_on_lane_0`` (one lane computes, all lanes of the warp share the
results), and the verifier rules of reductions, rotations and broadcasts.
"""

from __future__ import annotations

from gpucodegen.dialects.framework import kinds
from gpucodegen.dialects.framework.constraints import BOOL, TypeConstraint, require
from gpucodegen.dialects.framework.declare import always, op, terminator
from gpucodegen.dialects.framework.syntax import Reader, State, Writer
from gpucodegen.dialects.gpu.syntax import MODE, REDUCTION, modern, word
from gpucodegen.dialects.shared.combiners import GPU_KINDS
from gpucodegen.dialects.vector import combines, extents, is_scalable
from gpucodegen.ir.attributes import IntegerAttr, OpaqueAttr, UnitAttr
from gpucodegen.ir.operation import Block, Operation
from gpucodegen.ir.types import (
    I1,
    I32,
    I64,
    INDEX,
    FloatType,
    IntegerType,
    Type,
    VectorType,
    element_type,
)


def _is_exchanged(ty: Type) -> bool:
    is_number = isinstance(element_type(ty), IntegerType | FloatType)
    return is_number and len(extents(ty)) <= 1 and not is_scalable(ty)


EXCHANGED = TypeConstraint("an integer or float, or a vector of rank 1", _is_exchanged)


def _check_kind(o: Operation, ty: Type) -> None:
    kind = o.attributes.get("op")
    require(
        kind is None or combines(kind, ty),
        o,
        f"{kind} does not combine values of type {ty}",
        "Use an operation for this type, such as add, maxsi for integers or maximumf"
        " for floats",
    )


def check_all_reduce(o: Operation) -> None:
    """The name of an operation, or a body that combines two values."""
    value = o.operands[0]
    block = next(iter(o.blocks), Block())
    operations = block.operations
    require(
        bool(operations) != ("op" in o.attributes),
        o,
        "needs either the name of an operation or a body",
        "Write gpu.all_reduce add %x {}, or leave out the name",
    )
    _check_kind(o, element_type(value.type))
    if operations:
        expected = [value.type] * 2
        end = operations[-1]
        require(
            [a.type for a in block.arguments] == expected
            and [v.type for v in end.operands] == [value.type]
            and end.name == "gpu.yield",
            o,
            f"the body does not combine two values of type {value.type} to one",
            "Give it two arguments of this type, and yield one value of it",
        )


def _is_power(number: int) -> bool:
    return number > 0 and number & (number - 1) == 0


def check_subgroup_reduce(o: Operation) -> None:
    """Cluster size and stride are powers of two."""
    ty = o.operands[0].type
    require(
        _is_exchanged(ty),
        o,
        f"cannot reduce {ty}",
        "Reduce an integer or float, or a vector of rank 1",
    )
    _check_kind(o, element_type(ty))
    size, stride = o.integer("cluster_size", 1), o.integer("cluster_stride", 1)
    require(
        _is_power(size) and _is_power(stride),
        o,
        f"cluster size {size} or stride {stride} is no power of two",
        "Use powers of two",
    )
    require(
        stride == 1 or "cluster_size" in o.attributes,
        o,
        "a stride without a cluster size",
        "Write cluster(size = .., stride = ..)",
    )


def check_rotate(o: Operation) -> None:
    """The offset is below the width, which is a power of two."""
    offset, width = o.integer("offset"), o.integer("width")
    require(
        _is_power(width) and 0 <= offset < width,
        o,
        f"cannot rotate {width} threads by {offset}",
        "Use a width that is a power of two and an offset below it",
    )


def check_broadcast(o: Operation) -> None:
    """A lane is given if and only if the kind requires a specific one."""
    is_specific = "specific" in str(o.attributes["broadcast_type"])
    require(
        is_specific == (len(o.operands) == 2),
        o,
        "names a lane that is not asked for, or none",
        "Write specific_lane %lane, or first_active_lane",
    )


def parse_all_reduce(r: Reader, state: State) -> None:
    """``add %x uniform {} : (type) -> type``."""
    name = r.one_of((*GPU_KINDS, "min", "max"), "a name") if _at_name(r) else ""
    use = r.use()
    if r.accept("uniform"):
        state.attributes["uniform"] = UnitAttr()
    state.regions = [r.region()]
    state.attributes |= r.attr_dict()
    r.expect(":")
    ty = r.function_type()
    state.operands = r.resolve_all([use], ty.inputs, use.start)
    state.result_types = list(ty.results)
    if name:
        today = _today(name, state.operands[0].type)
        state.attributes["op"] = OpaqueAttr(f"#gpu.all_reduce_op<{today}>")


def _at_name(r: Reader) -> bool:
    return r.token[:1] != "%"


def _today(name: str, ty: Type) -> str:
    """Map ``min`` and ``max`` to today's operations for integers or floats."""
    suffix = "numf" if isinstance(element_type(ty), FloatType) else "si"
    return name + suffix if name in ("min", "max") else name


def print_all_reduce(w: Writer, o: Operation) -> None:
    """``add %x uniform {} : (type) -> type``."""
    name = REDUCTION.write(o.attributes["op"]) if "op" in o.attributes else ""
    w.write(f" {name}" if name else "")
    w.write(f" {w.name(o.operands[0])}")
    w.write(" uniform " if "uniform" in o.attributes else " ")
    w.region(o.regions[0], arguments=True)
    w.attr_dict(o, ("op", "uniform"))
    w.write(f" : ({o.operands[0].type}) -> {o.results[0].type}")


def parse_warp(r: Reader, state: State) -> None:
    """``(%lane)[32] args(%v : type) -> (types) { .. }``."""
    r.expect("(")
    lane = r.use()
    r.expect(")")
    r.expect("[")
    state.attributes["warp_size"] = IntegerAttr(r.integer(), I64)
    r.expect("]")
    state.operands = [r.resolve(lane, INDEX)]
    if r.accept("args"):
        r.expect("(")
        start = r.start
        uses = r.uses()
        types = r.types() if r.accept(":") else []
        state.operands += r.resolve_all(uses, types, start)
        r.expect(")")
    state.result_types = r.arrow_types()
    terminator = "" if state.result_types else _end(state)
    state.regions = [r.region(terminator=terminator)]
    state.attributes |= r.attr_dict()


def _end(state: State) -> str:
    return f"{state.name.partition('.')[0]}.yield"


def print_warp(w: Writer, o: Operation) -> None:
    """``(%lane)[32] args(%v : type) -> (types) { .. }``."""
    lane, *arguments = o.operands
    size = o.integer("warp_size")
    w.write(f"({w.name(lane)})[{size}]")
    if arguments:
        w.write(f" args({w.typed_names(arguments)})")
    if o.results:
        w.write(f" -> ({', '.join(str(v.type) for v in o.results)})")
    w.write(" ")
    end = "" if o.results else "gpu.yield"
    w.region(o.regions[0], arguments=True, elide=end)
    w.attr_dict(o, ("warp_size",))


def check_warp(o: Operation) -> None:
    """Types inside equal those outside, or are one lane's part of them."""
    block = o.body
    size = o.integer("warp_size")
    outer = (*o.operands[1:], *o.results)
    inner = (*block.arguments, *block.operations[-1].operands)
    require(
        len(block.arguments) == len(o.operands) - 1 and len(inner) == len(outer),
        o,
        f"{len(outer)} arguments and results, but {len(inner)} inside",
        "Write one block argument per argument and yield one value per result",
    )
    for whole, part in zip(inner, outer, strict=True):
        require(
            _is_distributed(whole.type, part.type, size),
            o,
            f"{part.type} is no part of one of {size} lanes of {whole.type}",
            "Use the same type, or a vector whose extents divide the whole's",
        )


def _is_distributed(whole: Type, part: Type, lanes: int) -> bool:
    if whole == part:
        return True
    if not isinstance(whole, VectorType) or not isinstance(part, VectorType):
        return False
    if element_type(whole) != element_type(part) or len(whole.shape) != len(part.shape):
        return False
    factor = 1
    for (all_, _), (own, _) in zip(extents(whole), extents(part), strict=True):
        if all_ % own:
            return False
        factor *= all_ // own
    return factor == lanes


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
        (parse_all_reduce, print_all_reduce),
        attributes={"op": kinds.optional(REDUCTION), "uniform": kinds.UNIT},
        same="value result",
        types={"value": _NUMBER},
        regions=None,
        adapt=modern("op", "all_reduce_op"),
        checks=[check_all_reduce],
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
        checks=[check_subgroup_reduce],
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
        types={"value": EXCHANGED},
        adapt=modern("mode", "shuffle_mode"),
    ),
    op(
        "gpu.rotate",
        "value -> rotateResult valid",
        "$value `,` $offset `,` $width attr-dict `:` type($value)",
        attributes={"offset": kinds.INT32, "width": kinds.INT32},
        same="value rotateResult",
        infer={"valid": always(I1)},
        types={"value": EXCHANGED},
        checks=[check_rotate],
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
        checks=[check_broadcast],
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
        (parse_warp, print_warp),
        attributes={"warp_size": kinds.INT64},
        regions=1,
        terminators=["gpu.yield"],
        checks=[check_warp],
    ),
    terminator("gpu.yield", "values*", "attr-dict ($values^ `:` type($values))?"),
    op(
        "gpu.printf",
        "args*",
        "$format attr-dict (`,` $args^ `:` type($args))?",
        attributes={"format": kinds.STRING},
    ),
)
