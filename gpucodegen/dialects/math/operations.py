"""Table of the math operations: elementary functions."""

from __future__ import annotations

from gpucodegen.dialects.framework import constraints, kinds
from gpucodegen.dialects.framework.declare import bool_like, op
from gpucodegen.dialects.framework.definition import Op, Trait
from gpucodegen.dialects.math import INSTRUCTIONS, LIBRARY, POLYNOMIALS
from gpucodegen.dialects.shared.cast_checks import check_same_shape

_FASTMATH = "(`fastmath` `` $fastmath^)?"
_TESTS = "isfinite isinf isnan isnormal".split()


def _function(name: str, operands: str) -> Op:
    shown = " `,` ".join(f"${operand}" for operand in operands.split())
    return op(
        f"math.{name}",
        f"{operands} -> result",
        f"{shown} {_FASTMATH} attr-dict `:` type($result)",
        attributes={"fastmath": kinds.FASTMATH},
        same=f"{operands} result",
        types={operands.split(maxsplit=1)[0]: constraints.FLOAT_LIKE},
        traits=Trait.PURE,
    )


OPERATIONS = (
    *(
        _function(name, operands)
        for functions in (INSTRUCTIONS, POLYNOMIALS, LIBRARY)
        for operands, names in functions.items()
        for name in names.split()
    ),
    *(
        op(
            f"math.{name}",
            "operand -> result",
            "$operand attr-dict `:` type($result)",
            same="operand result",
            types={"operand": constraints.INTEGER_LIKE},
            traits=Trait.PURE,
        )
        for name in ("absi", "ctlz", "ctpop", "cttz")
    ),
    op(
        "math.ipowi",
        "lhs rhs -> result",
        "$lhs `,` $rhs attr-dict `:` type($result)",
        same="lhs rhs result",
        types={"lhs": constraints.INTEGER_LIKE},
        traits=Trait.PURE,
    ),
    op(
        "math.fpowi",
        "lhs rhs -> result",
        f"$lhs `,` $rhs {_FASTMATH} attr-dict `:` type($lhs) `,` type($rhs)",
        attributes={"fastmath": kinds.FASTMATH},
        same="lhs result",
        types={"lhs": constraints.FLOAT_LIKE, "rhs": constraints.INTEGER_LIKE},
        traits=Trait.PURE,
        checks=[check_same_shape],
    ),
    op(
        "math.clampf",
        "value min max -> result",
        f"$value `to` `[` $min `,` $max `]` {_FASTMATH} attr-dict `:` type($result)",
        attributes={"fastmath": kinds.FASTMATH},
        same="value min max result",
        types={"value": constraints.FLOAT_LIKE},
        traits=Trait.PURE,
    ),
    op(
        "math.sincos",
        "operand -> sin cos",
        f"$operand {_FASTMATH} attr-dict `:` type($operand)",
        attributes={"fastmath": kinds.FASTMATH},
        same="operand sin cos",
        types={"operand": constraints.FLOAT_LIKE},
        traits=Trait.PURE,
    ),
    *(
        op(
            f"math.{name}",
            "operand -> result",
            f"$operand {_FASTMATH} attr-dict `:` type($operand)",
            attributes={"fastmath": kinds.FASTMATH},
            infer={"result": bool_like("operand")},
            types={"operand": constraints.FLOAT_LIKE},
            traits=Trait.PURE,
        )
        for name in _TESTS
    ),
)
