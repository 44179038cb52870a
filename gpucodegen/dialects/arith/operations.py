"""Table of the arith operations: constants, arithmetic, comparisons and casts.

``arith.constant`` and ``arith.select`` have hand-written syntax and checks, since their
types may be left out.
"""

from __future__ import annotations

from gpucodegen import errors
from gpucodegen.dialects.arith import CMPF_PREDICATES, CMPI_PREDICATES
from gpucodegen.dialects.framework import constraints, kinds
from gpucodegen.dialects.framework.constraints import TypeConstraint, types_differ
from gpucodegen.dialects.framework.declare import bool_like, op, pure, with_element
from gpucodegen.dialects.framework.definition import Check, Op, Trait
from gpucodegen.dialects.framework.syntax import Reader, State, Writer
from gpucodegen.dialects.shared import cast_checks
from gpucodegen.ir.attributes import (
    Attribute,
    DenseElementsAttr,
    ElementsAttr,
    FloatAttr,
    IntegerAttr,
    OpaqueAttr,
)
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import (
    I1,
    I32,
    DialectType,
    IntegerType,
    Type,
    VectorType,
    element_type,
)


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
    is_typed = isinstance(value, IntegerAttr | FloatAttr | ElementsAttr | OpaqueAttr)
    return value.type if is_typed else None


def print_constant(w: Writer, o: Operation) -> None:
    """``{attrs} value : type``, the type written unless the value is true or false."""
    w.attr_dict(o, ("value",))
    value = o.attributes["value"]
    text = f" {value}"
    w.write(text if type_of(value) is not None else f"{text} : {o.results[0].type}")


def check_constant(o: Operation) -> None:
    """The value has the result's type, which must be signless."""
    value, result = o.attributes["value"], o.results[0].type
    ty = type_of(value)
    if ty is None and not isinstance(value, OpaqueAttr):
        raise errors.WrongAttribute.at(
            o,
            problem=f"{value} is not a constant value",
            hint="Write a number with its type, or dense<...> : type",
        )
    if ty is not None and ty != result:
        raise types_differ(o, "the value", ty, "the result", result)
    _check_constant_type(o, value, result)


def _check_constant_type(o: Operation, value: Attribute, ty: Type) -> None:
    element = element_type(ty)
    if isinstance(element, IntegerType) and element.signedness:
        raise errors.InvalidOperandType.at(
            o, what="the result", expected="a signless integer", actual=ty
        )
    is_list = isinstance(value, DenseElementsAttr) and not value.is_splat
    if is_list and isinstance(ty, VectorType) and any(ty.scalable):
        raise errors.WrongAttribute.at(
            o,
            problem="a scalable vector has no list of elements",
            hint="Give all elements one value",
        )


_COMMUTATIVE = Trait.PURE | Trait.COMMUTATIVE


# -- families --------------------------------------------------------------------------

_FASTMATH = "(`fastmath` `` $fastmath^)?"
_OVERFLOW = "(`overflow` `` $overflowFlags^)?"
_ROUNDED = f"($roundingmode^)? {_FASTMATH}"
_EXACT = "(`exact` $isExact^)?"
_NON_NEGATIVE = "(`nneg` $nonNeg^)?"
_ROUNDING = "to_nearest_even downward upward toward_zero to_nearest_away".split()
_ROUNDING_MODE = kinds.optional(kinds.enumeration(_ROUNDING, I32))
_FLAGS: dict[str, dict[str, kinds.AttributeKind]] = {
    "": {},
    _FASTMATH: {"fastmath": kinds.FASTMATH},
    _ROUNDED: {"fastmath": kinds.FASTMATH, "roundingmode": _ROUNDING_MODE},
    _OVERFLOW: {"overflowFlags": kinds.OVERFLOW},
    _EXACT: {"isExact": kinds.UNIT},
    _NON_NEGATIVE: {"nonNeg": kinds.UNIT},
}


def _binary(
    name: str, constraint: TypeConstraint, flag: str = "", traits: Trait = Trait.PURE
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


def _cast(
    name: str,
    source: TypeConstraint,
    target: TypeConstraint,
    check: Check,
    flag: str = "",
) -> Op:
    return pure(
        f"arith.{name}",
        "in -> out",
        f"$in {flag} attr-dict `:` type($in) `to` type($out)",
        attributes=_FLAGS[flag],
        types={"in": source, "out": target},
        checks=[check],
    )


def _extended(name: str, result: str, carry: str) -> Op:
    return pure(
        f"arith.{name}_extended",
        f"lhs rhs -> {result} {carry}",
        f"$lhs `,` $rhs attr-dict `:` type(${result}) `,` type(${carry})",
        same=f"lhs rhs {result}",
        infer={carry: bool_like("lhs")},
        types={"lhs": constraints.INTEGER_LIKE},
    )


def _scaling(name: str, flag: str, check: Check) -> Op:
    return pure(
        f"arith.scaling_{name}",
        "in scale -> out",
        f"$in `,` $scale {flag} attr-dict"
        " `:` type($in) `,` type($scale) `to` type($out)",
        attributes=_FLAGS[flag],
        types=dict.fromkeys(("in", "scale", "out"), constraints.FLOAT_LIKE),
        checks=[check],
    )


def _compare(
    name: str, predicates: tuple[str, ...], c: TypeConstraint, flag: str
) -> Op:
    attributes = {"predicate": kinds.enumeration(predicates)}
    if flag:
        attributes["fastmath"] = kinds.FASTMATH
    return pure(
        f"arith.{name}",
        "lhs rhs -> result",
        f"$predicate `,` $lhs `,` $rhs {flag} attr-dict `:` type($lhs)",
        attributes=attributes,
        same="lhs rhs",
        infer={"result": bool_like("lhs")},
        types={"lhs": c},
    )


def _parse_select(r: Reader, state: State) -> None:
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


def _check_select(o: Operation) -> None:
    condition, ty = o.operands[0].type, o.results[0].type
    is_opaque = isinstance(condition, DialectType) or isinstance(ty, DialectType)
    if not is_opaque and condition not in (I1, with_element(ty, I1)):
        raise types_differ(o, "the condition", condition, "what it selects", ty)


_FLOAT, _INTEGER = constraints.FLOAT_LIKE, constraints.PURE_INTEGER_LIKE
_ANY = constraints.ANY
_CASTS = (
    _cast("bitcast", _ANY, _ANY, cast_checks.check_bitcast),
    _cast("extf", _FLOAT, _FLOAT, cast_checks.check_wider, _FASTMATH),
    _cast("truncf", _FLOAT, _FLOAT, cast_checks.check_narrower, _ROUNDED),
    _cast("convertf", _FLOAT, _FLOAT, cast_checks.check_converts, _ROUNDED),
    _cast("extsi", _INTEGER, _INTEGER, cast_checks.check_wider),
    _cast("extui", _INTEGER, _INTEGER, cast_checks.check_wider, _NON_NEGATIVE),
    _cast("trunci", _INTEGER, _INTEGER, cast_checks.check_narrower, _OVERFLOW),
    _cast("fptosi", _FLOAT, _INTEGER, cast_checks.check_same_shape),
    _cast("fptoui", _FLOAT, _INTEGER, cast_checks.check_same_shape),
    _cast("sitofp", _INTEGER, _FLOAT, cast_checks.check_same_shape),
    _cast("uitofp", _INTEGER, _FLOAT, cast_checks.check_same_shape, _NON_NEGATIVE),
    _cast("index_cast", _ANY, _ANY, cast_checks.check_index_cast),
    _cast("index_castui", _ANY, _ANY, cast_checks.check_index_cast, _NON_NEGATIVE),
)
_OVERFLOWING = ("addi", "muli")
_PLAIN_INTEGER = "ceildivsi ceildivui floordivsi remsi remui".split()
_EXACT_INTEGER = "divsi divui shrsi shrui".split()
_COMMUTATIVE_INTEGER = "andi ori xori maxsi maxui minsi minui".split()
_EXTREMES = "maximumf maximumnumf maxnumf minimumf minimumnumf minnumf".split()

OPERATIONS = (
    op(
        "arith.constant",
        "-> result",
        (parse_constant, print_constant),
        attributes={"value": kinds.ANY},
        traits=Trait.PURE | Trait.CONSTANT,
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
    *(_binary(n, _FLOAT, _FASTMATH, _COMMUTATIVE) for n in _EXTREMES),
    *(_binary(n, _FLOAT, _ROUNDED, _COMMUTATIVE) for n in ("addf", "mulf")),
    *(_binary(n, _FLOAT, _ROUNDED) for n in ("subf", "divf")),
    _binary("remf", _FLOAT, _FASTMATH),
    *(
        pure(
            f"arith.{name}",
            "operand -> result",
            f"$operand {_FASTMATH} attr-dict `:` type($result)",
            attributes=_FLAGS[_FASTMATH],
            same="operand result",
            types={"operand": _FLOAT},
        )
        for name in ("negf", "flush_denormals")
    ),
    _compare("cmpi", CMPI_PREDICATES, constraints.INTEGER_LIKE, ""),
    _compare("cmpf", CMPF_PREDICATES, constraints.FLOAT_LIKE, _FASTMATH),
    pure(
        "arith.select",
        "condition true_value false_value -> result",
        (_parse_select, _print_select),
        same="true_value false_value result",
        types={"condition": constraints.BOOL_LIKE},
        checks=[_check_select],
    ),
    _extended("addui", "sum", "overflow"),
    _extended("subui", "diff", "borrow"),
    *(
        pure(
            f"arith.{name}",
            "lhs:integer rhs -> low high",
            "$lhs `,` $rhs attr-dict `:` type($lhs)",
            same="lhs rhs low high",
        )
        for name in ("mulsi_extended", "mului_extended")
    ),
    *_CASTS,
    _scaling("extf", _FASTMATH, cast_checks.check_wider),
    _scaling("truncf", _ROUNDED, cast_checks.check_narrower),
)
