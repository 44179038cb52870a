"""arith: constants, integer and floating-point arithmetic, comparisons, casts."""

from __future__ import annotations

from gpucodegen import errors
from gpucodegen.dialects import constraints, kinds
from gpucodegen.dialects.arith import CMPF_PREDICATES, CMPI_PREDICATES
from gpucodegen.dialects.constraints import Constraint
from gpucodegen.dialects.definition import Op, Trait
from gpucodegen.dialects.ops.declare import bool_like, op
from gpucodegen.dialects.syntax import Reader, State, Writer
from gpucodegen.ir.attributes import (
    Attribute,
    DenseElementsAttr,
    FloatAttr,
    IntegerAttr,
    OpaqueAttr,
)
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import I1, I32, Type

_PURE = Trait.PURE
_COMMUTATIVE = Trait.PURE | Trait.COMMUTATIVE


# -- constant --------------------------------------------------------------------------


def parse_constant(r: Reader, state: State) -> None:
    """``{attrs} value``."""
    state.attributes |= r.attr_dict()
    start = r.start
    value = r.attribute()
    ty = type_of(value)
    if ty is None:
        if not isinstance(value, OpaqueAttr) or not r.accept(":"):
            raise errors.InvalidAttribute(
                r.location(start),
                problem=f"{value} is not a constant value",
                hint="Write a number with its type, or dense<...> : type",
            )
        ty = r.type()
    state.attributes["value"] = value
    state.result_types = [ty]


def type_of(value: Attribute) -> Type | None:
    """The type of a number or elements attribute."""
    known = isinstance(value, IntegerAttr | FloatAttr | DenseElementsAttr)
    return value.type if known else None


def print_constant(w: Writer, o: Operation) -> None:
    """``{attrs} value : type``, the type always written."""
    w.attr_dict(o, ("value",))
    value = o.attributes["value"]
    text = str(value)
    is_bool = isinstance(value, IntegerAttr) and value.type == I1
    written = is_bool or isinstance(value, DenseElementsAttr)
    written = written or " : " in text
    w.write(f" {text}" if written else f" {text} : {o.results[0].type}")


def check_constant(o: Operation) -> None:
    """The value has the result's type."""
    ty = type_of(o.attributes["value"])
    if ty is not None and ty != o.results[0].type:
        raise errors.TypesDiffer(
            o.location,
            operation=o.name,
            first="the value",
            first_type=ty,
            second="the result",
            second_type=o.results[0].type,
        )


# -- families --------------------------------------------------------------------------

_FASTMATH = "(`fastmath` `` $fastmath^)?"
_OVERFLOW = "(`overflow` `` $overflowFlags^)?"
_EXACT = "(`exact` $isExact^)?"
_NON_NEGATIVE = "(`nneg` $nonNeg^)?"
_FLAGS: dict[str, dict[str, kinds.Kind]] = {
    "": {},
    _FASTMATH: {"fastmath": kinds.FASTMATH},
    _OVERFLOW: {"overflowFlags": kinds.OVERFLOW},
    _EXACT: {"isExact": kinds.UNIT},
    _NON_NEGATIVE: {"nonNeg": kinds.UNIT},
}


def _binary(
    name: str, constraint: Constraint, flag: str = "", traits: Trait = _PURE
) -> Op:
    return op(
        f"arith.{name}",
        "lhs rhs -> result",
        f"$lhs `,` $rhs {flag} attr-dict `:` type($result)",
        attributes=_FLAGS[flag],
        same="lhs rhs result",
        types={"lhs": constraint},
        traits=traits,
    )


def _cast(name: str, source: Constraint, target: Constraint, flag: str = "") -> Op:
    return op(
        f"arith.{name}",
        "in -> out",
        f"$in {flag} attr-dict `:` type($in) `to` type($out)",
        attributes=_FLAGS[flag],
        types={"in": source, "out": target},
        traits=_PURE,
    )


def _compare(name: str, predicates: tuple[str, ...], c: Constraint, flag: str) -> Op:
    attributes = {"predicate": kinds.enumeration(predicates)}
    if flag:
        attributes["fastmath"] = kinds.FASTMATH
    return op(
        f"arith.{name}",
        "lhs rhs -> result",
        f"$predicate `,` $lhs `,` $rhs {flag} attr-dict `:` type($lhs)",
        attributes=attributes,
        same="lhs rhs",
        infer={"result": bool_like("lhs")},
        types={"lhs": c},
        traits=_PURE,
    )


def _parse_select(r: Reader, state: State) -> None:
    """``%c, %a, %b : (condition type,)? type``."""
    start = r.start
    uses = r.separated(r.use)
    if len(uses) != 3:
        raise errors.OperandMismatch(
            r.location(start),
            operation="arith.select",
            problem=f"takes 3 operands, found {len(uses)}",
            hint="Write arith.select %condition, %true, %false : type",
        )
    state.attributes |= r.attr_dict()
    r.expect(":")
    types = r.types()
    condition = types[0] if len(types) == 2 else I1
    state.operands = [
        r.resolve(uses[0], condition),
        *(r.resolve(use, types[-1]) for use in uses[1:]),
    ]
    state.result_types = [types[-1]]


def _print_select(w: Writer, o: Operation) -> None:
    w.write(f" {w.names(o.operands)}")
    w.attr_dict(o)
    condition = o.operands[0].type
    prefix = "" if condition == I1 else f"{condition}, "
    w.write(f" : {prefix}{o.results[0].type}")


_CASTS = {
    "bitcast": (constraints.NUMBER_LIKE, constraints.NUMBER_LIKE, ""),
    "extf": (constraints.FLOAT_LIKE, constraints.FLOAT_LIKE, _FASTMATH),
    "extsi": (constraints.PURE_INTEGER_LIKE, constraints.PURE_INTEGER_LIKE, ""),
    "extui": (
        constraints.PURE_INTEGER_LIKE,
        constraints.PURE_INTEGER_LIKE,
        _NON_NEGATIVE,
    ),
    "fptosi": (constraints.FLOAT_LIKE, constraints.PURE_INTEGER_LIKE, ""),
    "fptoui": (constraints.FLOAT_LIKE, constraints.PURE_INTEGER_LIKE, ""),
    "index_cast": (constraints.ANY, constraints.ANY, ""),
    "index_castui": (constraints.ANY, constraints.ANY, ""),
    "sitofp": (constraints.PURE_INTEGER_LIKE, constraints.FLOAT_LIKE, ""),
    "trunci": (constraints.PURE_INTEGER_LIKE, constraints.PURE_INTEGER_LIKE, _OVERFLOW),
    "uitofp": (constraints.PURE_INTEGER_LIKE, constraints.FLOAT_LIKE, _NON_NEGATIVE),
}
_ROUNDING = ("to_nearest_even downward upward toward_zero to_nearest_away").split()
_ROUNDED = {
    "fastmath": kinds.FASTMATH,
    "roundingmode": kinds.optional(kinds.enumeration(_ROUNDING, I32)),
}
_OVERFLOWING = ("addi", "muli")
_PLAIN_INTEGER = "ceildivsi ceildivui floordivsi remsi remui".split()
_EXACT_INTEGER = "divsi divui shrsi shrui".split()
_COMMUTATIVE_INTEGER = "andi ori xori maxsi maxui minsi minui".split()
_COMMUTATIVE_FLOAT = "addf mulf maximumf maxnumf minimumf minnumf".split()

OPERATIONS = (
    op(
        "arith.constant",
        "-> result",
        (parse_constant, print_constant),
        attributes={"value": kinds.ANY},
        traits=_PURE | Trait.CONSTANT,
        checks=[check_constant],
    ),
    *(
        _binary(n, constraints.INTEGER_LIKE, _OVERFLOW, _COMMUTATIVE)
        for n in _OVERFLOWING
    ),
    *(_binary(n, constraints.INTEGER_LIKE, _OVERFLOW) for n in ("subi", "shli")),
    *(_binary(n, constraints.INTEGER_LIKE) for n in _PLAIN_INTEGER),
    *(_binary(n, constraints.INTEGER_LIKE, _EXACT) for n in _EXACT_INTEGER),
    *(
        _binary(n, constraints.INTEGER_LIKE, "", _COMMUTATIVE)
        for n in _COMMUTATIVE_INTEGER
    ),
    *(
        _binary(n, constraints.FLOAT_LIKE, _FASTMATH, _COMMUTATIVE)
        for n in _COMMUTATIVE_FLOAT
    ),
    *(_binary(n, constraints.FLOAT_LIKE, _FASTMATH) for n in ("subf", "divf", "remf")),
    op(
        "arith.negf",
        "operand -> result",
        f"$operand {_FASTMATH} attr-dict `:` type($result)",
        attributes={"fastmath": kinds.FASTMATH},
        same="operand result",
        types={"operand": constraints.FLOAT_LIKE},
        traits=_PURE,
    ),
    _compare("cmpi", CMPI_PREDICATES, constraints.INTEGER_LIKE, ""),
    _compare("cmpf", CMPF_PREDICATES, constraints.FLOAT_LIKE, _FASTMATH),
    op(
        "arith.select",
        "condition true_value false_value -> result",
        (_parse_select, _print_select),
        same="true_value false_value result",
        types={"condition": constraints.BOOL_LIKE},
        traits=_PURE,
    ),
    op(
        "arith.addui_extended",
        "lhs rhs -> sum overflow",
        "$lhs `,` $rhs attr-dict `:` type($sum) `,` type($overflow)",
        same="lhs rhs sum",
        types={"lhs": constraints.INTEGER_LIKE},
        traits=_PURE,
    ),
    *(
        op(
            f"arith.{name}",
            "lhs rhs -> low high",
            "$lhs `,` $rhs attr-dict `:` type($lhs)",
            same="lhs rhs low high",
            types={"lhs": constraints.INTEGER_LIKE},
            traits=_PURE,
        )
        for name in ("mulsi_extended", "mului_extended")
    ),
    *(_cast(name, *row) for name, row in _CASTS.items()),
    op(
        "arith.truncf",
        "in -> out",
        f"$in ($roundingmode^)? {_FASTMATH} attr-dict `:` type($in) `to` type($out)",
        attributes=_ROUNDED,
        types={"in": constraints.FLOAT_LIKE, "out": constraints.FLOAT_LIKE},
        traits=_PURE,
    ),
    op(
        "arith.scaling_extf",
        "in scale -> out",
        f"$in `,` $scale {_FASTMATH} attr-dict"
        " `:` type($in) `,` type($scale) `to` type($out)",
        attributes=_FLAGS[_FASTMATH],
        types={"in": constraints.FLOAT_LIKE, "out": constraints.FLOAT_LIKE},
        traits=_PURE,
    ),
    op(
        "arith.scaling_truncf",
        "in scale -> out",
        f"$in `,` $scale ($roundingmode^)? {_FASTMATH} attr-dict"
        " `:` type($in) `,` type($scale) `to` type($out)",
        attributes=_ROUNDED,
        types={"in": constraints.FLOAT_LIKE, "out": constraints.FLOAT_LIKE},
        traits=_PURE,
    ),
)
