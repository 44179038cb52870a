"""shape: computing with shapes, extents and the constraints between them."""

from __future__ import annotations

from gpucodegen.dialects.framework import constraints, kinds
from gpucodegen.dialects.framework.assembly_elements import RegionOf, ResultTypes
from gpucodegen.dialects.framework.constraints import TypeConstraint
from gpucodegen.dialects.framework.declare import always, each_of, indices, op
from gpucodegen.dialects.framework.definition import Check, Op, Trait
from gpucodegen.dialects.framework.rules import check_no_arguments
from gpucodegen.dialects.framework.signatures import SIGNATURE
from gpucodegen.dialects.shape import checks, syntax
from gpucodegen.dialects.shape.syntax import SHAPE, SIZE, VALUE_SHAPE, WITNESS, Types
from gpucodegen.ir.types import (
    I1,
    INDEX,
    MemRefType,
    TensorType,
    Type,
    UnrankedMemRefType,
    UnrankedTensorType,
    VectorType,
)

_PURE = Trait.PURE
_SHAPED = (
    TensorType,
    UnrankedTensorType,
    MemRefType,
    UnrankedMemRefType,
    VectorType,
)


def _is_extents(ty: Type) -> bool:
    return isinstance(ty, TensorType) and len(ty.shape) == 1 and ty.element == INDEX


_SIZE = TypeConstraint("a !shape.size or index", lambda ty: ty in (SIZE, INDEX))
_EXTENTS = TypeConstraint("a tensor of rank 1 of index", _is_extents)
_SHAPE = TypeConstraint(
    "a !shape.shape or a tensor of rank 1 of index",
    lambda ty: ty == SHAPE or _is_extents(ty),
)
_ANY = TypeConstraint(
    "a shape or a size", lambda ty: _SHAPE.accepts(ty) or _SIZE.accepts(ty)
)


def _only(expected: Type) -> TypeConstraint:
    return TypeConstraint(f"{expected}", lambda ty: ty == expected)


_WITNESS = _only(WITNESS)
_VALUE = TypeConstraint(
    "a shaped value or a !shape.value_shape",
    lambda ty: isinstance(ty, _SHAPED) or ty == VALUE_SHAPE,
)


def _binary(name: str, takes: TypeConstraint, default: Type, *check: Check) -> Op:
    return op(
        f"shape.{name}",
        "lhs rhs -> result",
        "$lhs `,` $rhs attr-dict custom<Types>",
        custom={"Types": Types(("lhs", "rhs"), "result", default)},
        types={"lhs": takes, "rhs": takes, "result": takes},
        traits=_PURE,
        checks=check,
    )


def _unary(
    name: str, takes: TypeConstraint, gives: TypeConstraint, default: Type
) -> Op:
    return op(
        f"shape.{name}",
        "input -> result",
        "$input attr-dict custom<Types>",
        custom={"Types": Types(("input",), "result", default)},
        types={"input": takes, "result": gives},
        traits=_PURE,
        checks=[checks.check_errors_kept] if name != "to_extent_tensor" else [],
    )


def _indexed(name: str, takes: TypeConstraint, *check: Check) -> Op:
    return op(
        f"shape.{name}",
        "source index -> extent",
        "$source `,` $index attr-dict custom<Types>",
        custom={"Types": Types(("source", "index"), "extent", SIZE)},
        types={"source": takes, "index": _SIZE, "extent": _SIZE},
        traits=_PURE,
        checks=check,
    )


def _joined(name: str, result: Type | None = None) -> Op:
    """Any number of shapes; the result is a shape unless its type is fixed."""
    default = SHAPE if result is None else None
    attributes = {"error": kinds.optional(kinds.STRING)}
    return op(
        f"shape.{name}",
        "shapes* -> result",
        "$shapes attr-dict custom<Types>",
        custom={"Types": Types(("shapes",), "result", default)},
        attributes=attributes if name == "broadcast" else {},
        infer={} if result is None else {"result": always(result)},
        types={"shapes": _SHAPE, "result": _SHAPE if result is None else _only(result)},
        traits=Trait.NONE if name.startswith("cstr") else _PURE,
        checks=[
            checks.at_least(2 if name == "cstr_broadcastable" else 1),
            *([checks.check_errors_kept] if result is None else []),
        ],
    )


OPERATIONS = (
    op(
        "shape.const_shape",
        "-> result",
        (syntax.parse_const_shape, syntax.print_const_shape),
        attributes={"shape": syntax.EXTENTS},
        types={"result": _SHAPE},
        traits=_PURE | Trait.CONSTANT,
        checks=[checks.check_const_shape],
    ),
    op(
        "shape.const_size",
        "-> result",
        "$value attr-dict",
        attributes={"value": kinds.INDEX_INT},
        infer={"result": always(SIZE)},
        types={"result": _only(SIZE)},
        traits=_PURE | Trait.CONSTANT,
    ),
    op(
        "shape.const_witness",
        "-> result",
        "$passing attr-dict",
        attributes={"passing": kinds.BOOL},
        infer={"result": always(WITNESS)},
        types={"result": _WITNESS},
        traits=_PURE | Trait.CONSTANT,
    ),
    _binary("add", _SIZE, SIZE, checks.check_errors_kept),
    _binary("mul", _SIZE, SIZE, checks.check_errors_kept),
    _binary("div", _SIZE, SIZE, checks.check_errors_kept),
    _binary("max", _ANY, SHAPE, checks.check_extremum),
    _binary("min", _ANY, SHAPE, checks.check_extremum),
    _binary("concat", _SHAPE, SHAPE),
    op(
        "shape.meet",
        "arg0 arg1 -> result",
        "$arg0 `,` $arg1 (`,` `error` `=` $error^)? attr-dict custom<Types>",
        custom={"Types": Types(("arg0", "arg1"), "result", SHAPE)},
        attributes={"error": kinds.optional(kinds.STRING)},
        types={"arg0": _ANY, "arg1": _ANY, "result": _ANY},
        traits=_PURE,
    ),
    _unary("rank", _SHAPE, _SIZE, SIZE),
    _unary("num_elements", _SHAPE, _SIZE, SIZE),
    _unary("to_extent_tensor", _SHAPE, _EXTENTS, TensorType((None,), INDEX)),
    _unary("shape_of", _VALUE, _SHAPE, SHAPE),
    _unary("value_as_shape", constraints.ANY, _SHAPE, SHAPE),
    _indexed("dim", _VALUE),
    _indexed("get_extent", _SHAPE, checks.check_errors_kept),
    _joined("broadcast"),
    _joined("any"),
    _joined("shape_eq", I1),
    _joined("is_broadcastable", I1),
    _joined("cstr_broadcastable", WITNESS),
    _joined("cstr_eq", WITNESS),
    op(
        "shape.cstr_require",
        "pred -> result",
        "$pred `,` $msg attr-dict",
        attributes={"msg": kinds.STRING},
        infer={"pred": always(I1), "result": always(WITNESS)},
        types={"pred": constraints.BOOL, "result": _WITNESS},
    ),
    op(
        "shape.assuming_all",
        "inputs* -> result",
        "$inputs attr-dict",
        infer={"inputs": always(WITNESS), "result": always(WITNESS)},
        types={"inputs": _WITNESS, "result": _WITNESS},
        traits=_PURE,
        checks=[checks.at_least(1)],
    ),
    op(
        "shape.assuming",
        "witness -> results*",
        "$witness custom<Types> custom<Body> attr-dict",
        custom={"Types": ResultTypes(), "Body": RegionOf("shape.assuming_yield")},
        implied={"witness": always(WITNESS)},
        types={"witness": _WITNESS},
        regions=1,
        terminators=["shape.assuming_yield"],
        checks=[checks.check_assuming],
    ),
    op(
        "shape.assuming_yield",
        "operands*",
        "attr-dict ($operands^ `:` type($operands))?",
        traits=Trait.TERMINATOR,
        parents=["shape.assuming"],
    ),
    op(
        "shape.from_extents",
        "extents* -> shape",
        "$extents attr-dict custom<Types>",
        custom={"Types": Types(("extents",))},
        infer={"shape": always(SHAPE)},
        types={"extents": _SIZE, "shape": _only(SHAPE)},
        traits=_PURE,
    ),
    op(
        "shape.from_extent_tensor",
        "input -> result",
        "$input attr-dict custom<Types>",
        custom={"Types": Types(("input",))},
        infer={"result": always(SHAPE)},
        types={"input": _EXTENTS, "result": _only(SHAPE)},
        traits=_PURE,
    ),
    op(
        "shape.index_to_size",
        "arg -> result",
        "$arg attr-dict",
        infer={"arg": indices, "result": always(SIZE)},
        types={"arg": constraints.INDEX_TYPE, "result": _only(SIZE)},
        traits=_PURE,
    ),
    op(
        "shape.size_to_index",
        "arg -> result",
        "$arg attr-dict custom<Types>",
        custom={"Types": Types(("arg",))},
        infer={"result": indices},
        types={"arg": _SIZE},
        traits=_PURE,
    ),
    op(
        "shape.value_of",
        "arg -> result",
        "$arg attr-dict `:` type($result)",
        infer={"arg": always(VALUE_SHAPE)},
        types={"arg": _only(VALUE_SHAPE), "result": _VALUE},
        traits=_PURE,
    ),
    op(
        "shape.with_shape",
        "operand shape -> result",
        "$operand `,` $shape attr-dict custom<Types>",
        custom={"Types": Types(("operand", "shape"))},
        infer={"result": always(VALUE_SHAPE)},
        types={"operand": _VALUE, "shape": _SHAPE, "result": _only(VALUE_SHAPE)},
        traits=_PURE,
    ),
    op("shape.debug_print", "input -> output", None, types={"input": _ANY}),
    op(
        "shape.split_at",
        "operand index -> head tail",
        None,
        types={"operand": _SHAPE, "index": _SIZE, "head": _SHAPE, "tail": _SHAPE},
        traits=_PURE,
    ),
    op(
        "shape.reduce",
        "shape initVals* -> result*",
        "`` `(` $shape (`,` $initVals^)? `)` (`:` type($shape)^)?"
        " custom<Types> custom<Body> attr-dict",
        custom={"Types": ResultTypes("result", bare=True), "Body": RegionOf()},
        implied={"shape": always(SHAPE), "initVals": each_of("result")},
        types={"shape": _SHAPE},
        regions=1,
        terminators=["shape.yield"],
        checks=[checks.check_reduce],
    ),
    op(
        "shape.yield",
        "operands*",
        "attr-dict ($operands^ `:` type($operands))?",
        traits=Trait.TERMINATOR,
        parents=["shape.reduce"],
    ),
    op(
        "shape.function_library",
        "",
        (syntax.parse_library, syntax.print_library),
        attributes={
            "sym_name": kinds.optional(kinds.SYMBOL_NAME),
            "mapping": syntax.MAPPING,
        },
        traits=Trait.ISOLATED
        | Trait.SYMBOL_TABLE
        | Trait.NO_TERMINATOR
        | Trait.AFFINE_SCOPE,
        regions=1,
        checks=[check_no_arguments],
    ),
    op(
        "shape.func",
        "",
        (syntax.parse_func, syntax.print_func),
        attributes={
            "sym_name": kinds.SYMBOL_NAME,
            "function_type": SIGNATURE,
            "sym_visibility": kinds.optional(kinds.STRING),
            "arg_attrs": kinds.optional(kinds.ARRAY),
            "res_attrs": kinds.optional(kinds.ARRAY),
        },
        traits=Trait.ISOLATED | Trait.AFFINE_SCOPE,
        regions=1,
        checks=[checks.check_func],
    ),
    op(
        "shape.return",
        "operands*",
        "attr-dict ($operands^ `:` type($operands))?",
        traits=Trait.TERMINATOR,
        parents=["shape.func"],
    ),
)
