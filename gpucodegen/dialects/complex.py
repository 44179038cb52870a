"""The complex dialect: constants and arithmetic on pairs of floats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpucodegen import errors
from gpucodegen.dialects.framework import constraints, kinds
from gpucodegen.dialects.framework.declare import always, op, pure
from gpucodegen.dialects.framework.definition import Op, Trait, Types
from gpucodegen.dialects.shared import cast_checks
from gpucodegen.ir.attributes import (
    ArrayAttr,
    Attribute,
    FloatAttr,
    IntegerAttr,
    number,
)
from gpucodegen.ir.locations import UNKNOWN, Location
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import I1, ComplexType, Type

_FASTMATH = "(`fastmath` `` $fastmath^)?"
_UNARY = ("conj cos exp expm1 log log1p neg rsqrt sign sin sqrt tan tanh").split()
_PARTS = "abs angle im re".split()
_BINARY = "add atan2 div mul pow sub".split()


def _part(types: Types, _: Mapping[str, Attribute]) -> Sequence[Type] | None:
    """Type of the real part of the operand or result named ``complex``."""
    known = types.get("complex") or ()
    return [ty.element for ty in known[:1] if isinstance(ty, ComplexType)] or None


def _function(name: str, operands: str) -> Op:
    shown = " `,` ".join(f"${operand}" for operand in operands.split())
    return pure(
        f"complex.{name}",
        f"{operands} -> result",
        f"{shown} {_FASTMATH} attr-dict `:` type($result)",
        attributes={"fastmath": kinds.FASTMATH},
        same=f"{operands} result",
        types={"result": constraints.COMPLEX},
    )


def _check_constant(o: Operation) -> None:
    """Two numbers of the element's type, real and imaginary part."""
    value, ty = o.attributes["value"], o.results[0].type
    parts = value.values if isinstance(value, ArrayAttr) else ()
    types = [p.type for p in parts if isinstance(p, FloatAttr | IntegerAttr)]
    if not isinstance(ty, ComplexType) or types != [ty.element] * 2:
        raise errors.WrongAttribute.at(
            o,
            problem=f"{value} is no constant of type {ty}",
            hint="Write [real, imaginary], each with its type : complex<...>",
        )


OPERATIONS = (
    *(_function(name, "complex") for name in _UNARY),
    *(_function(name, "lhs rhs") for name in _BINARY),
    *(
        pure(
            f"complex.{name}",
            "complex:complex -> result",
            f"$complex {_FASTMATH} attr-dict `:` type($complex)",
            attributes={"fastmath": kinds.FASTMATH},
            infer={"result": _part},
        )
        for name in _PARTS
    ),
    *(
        op(
            f"complex.{name}",
            "lhs:complex rhs -> result",
            "$lhs `,` $rhs attr-dict `:` type($lhs)",
            same="lhs rhs",
            infer={"result": always(I1)},
            traits=Trait.PURE | Trait.COMMUTATIVE,
        )
        for name in ("eq", "neq")
    ),
    pure(
        "complex.powi",
        "lhs rhs -> result",
        f"$lhs `,` $rhs {_FASTMATH} attr-dict `:` type($lhs) `,` type($rhs)",
        attributes={"fastmath": kinds.FASTMATH},
        same="lhs result",
        types={"lhs": constraints.COMPLEX, "rhs": constraints.INTEGER},
    ),
    pure(
        "complex.create",
        "real imaginary -> complex:complex",
        "$real `,` $imaginary attr-dict `:` type($complex)",
        infer={"real": _part, "imaginary": _part},
    ),
    op(
        "complex.constant",
        "-> complex",
        "$value attr-dict `:` type($complex)",
        attributes={"value": kinds.ARRAY},
        traits=Trait.PURE | Trait.CONSTANT,
        checks=[_check_constant],
    ),
    pure(
        "complex.bitcast",
        "operand -> result",
        "$operand attr-dict `:` type($operand) `to` type($result)",
        checks=[cast_checks.check_bitcast],
    ),
)


def constant(
    value: complex, ty: ComplexType, *, name: str = "", location: Location = UNKNOWN
) -> Operation:
    """``complex.constant``.

    >>> from gpucodegen.ir.types import F32
    >>> print(constant(1 + 2j, ComplexType(F32)).attributes["value"])
    [1.000000e+00 : f32, 2.000000e+00 : f32]
    """
    value = complex(value)
    parts = tuple(number(part, ty.element) for part in (value.real, value.imag))
    return Operation(
        "complex.constant",
        results=(Value(ty, name, location),),
        attributes={"value": ArrayAttr(parts)},
        location=location,
    )
