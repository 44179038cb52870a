"""Table of the math operations: elementary functions."""

from __future__ import annotations

from gpucodegen.dialects.framework import constraints, kinds
from gpucodegen.dialects.framework.declare import bool_like, pure
from gpucodegen.dialects.framework.definition import Op
from gpucodegen.dialects.math import INSTRUCTIONS, LIBRARY, POLYNOMIALS
from gpucodegen.dialects.shared.cast_checks import check_same_shape

_FASTMATH = "(`fastmath` `` $fastmath^)?"
_TESTS = "isfinite isinf isnan isnormal".split()


def _function(name: str, operands: str) -> Op:
    shown = " `,` ".join(f"${operand}" for operand in operands.split())
    return pure(
        f"math.{name}",
        f"{operands} -> result",
        f"{shown} {_FASTMATH} attr-dict `:` type($result)",
        attributes={"fastmath": kinds.FASTMATH},
        same=f"{operands} result",
        types={operands.split(maxsplit=1)[0]: constraints.FLOAT_LIKE},
    )


OPERATIONS = (
    *(
        _function(name, operands)
        for functions in (INSTRUCTIONS, POLYNOMIALS, LIBRARY)
        for operands, names in functions.items()
        for name in names.split()
    ),
    *(
        pure(
            f"math.{name}",
            "operand:integer -> result",
            "$operand attr-dict `:` type($result)",
            same="operand result",
        )
        for name in ("absi", "ctlz", "ctpop", "cttz")
    ),
    pure(
        "math.ipowi",
        "lhs:integer rhs -> result",
        "$lhs `,` $rhs attr-dict `:` type($result)",
        same="lhs rhs result",
    ),
    pure(
        "math.fpowi",
        "lhs:float rhs:integer -> result",
        f"$lhs `,` $rhs {_FASTMATH} attr-dict `:` type($lhs) `,` type($rhs)",
        attributes={"fastmath": kinds.FASTMATH},
        same="lhs result",
        checks=[check_same_shape],
    ),
    pure(
        "math.clampf",
        "value:float min max -> result",
        f"$value `to` `[` $min `,` $max `]` {_FASTMATH} attr-dict `:` type($result)",
        attributes={"fastmath": kinds.FASTMATH},
        same="value min max result",
    ),
    pure(
        "math.sincos",
        "operand:float -> sin cos",
        f"$operand {_FASTMATH} attr-dict `:` type($operand)",
        attributes={"fastmath": kinds.FASTMATH},
        same="operand sin cos",
    ),
    *(
        pure(
            f"math.{name}",
            "operand:float -> result",
            f"$operand {_FASTMATH} attr-dict `:` type($operand)",
            attributes={"fastmath": kinds.FASTMATH},
            infer={"result": bool_like("operand")},
        )
        for name in _TESTS
    ),
)
