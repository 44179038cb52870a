"""index: arithmetic on values of the machine's word."""

from __future__ import annotations

from gpucodegen.dialects import constraints, kinds
from gpucodegen.dialects.arith import CMPI_PREDICATES
from gpucodegen.dialects.definition import Op, Trait
from gpucodegen.dialects.ops.declare import always, indices, op
from gpucodegen.ir.types import I1

_BINARY = (
    "add and ceildivs ceildivu divs divu floordivs maxs maxu mins minu mul or rems remu"
    " shl shrs shru sub xor"
).split()
_COMMUTATIVE = frozenset("add and maxs maxu mins minu mul or xor".split())


def _binary(name: str) -> Op:
    extra = Trait.COMMUTATIVE if name in _COMMUTATIVE else Trait.NONE
    return op(
        f"index.{name}",
        "lhs rhs -> result",
        "$lhs `,` $rhs attr-dict",
        infer={"lhs": indices, "rhs": indices, "result": indices},
        types={"lhs": constraints.INDEX_TYPE, "rhs": constraints.INDEX_TYPE},
        traits=Trait.PURE | extra,
    )


OPERATIONS = (
    *(_binary(name) for name in _BINARY),
    *(
        op(
            f"index.{name}",
            "input -> output",
            "$input attr-dict `:` type($input) `to` type($output)",
            types={
                "input": constraints.INTEGER_OR_INDEX,
                "output": constraints.INTEGER_OR_INDEX,
            },
            traits=Trait.PURE,
        )
        for name in ("casts", "castu")
    ),
    op(
        "index.cmp",
        "lhs rhs -> result",
        "$pred `` `(` $lhs `,` $rhs `)` attr-dict",
        attributes={"pred": kinds.keyword_of("index.cmp_predicate<", CMPI_PREDICATES)},
        infer={"lhs": indices, "rhs": indices, "result": always(I1)},
        traits=Trait.PURE,
    ),
    op(
        "index.constant",
        "-> result",
        "attr-dict $value",
        attributes={"value": kinds.INDEX_INT},
        infer={"result": indices},
        traits=Trait.PURE | Trait.CONSTANT,
    ),
    op(
        "index.bool.constant",
        "-> result",
        "attr-dict $value",
        attributes={"value": kinds.BOOL},
        infer={"result": always(I1)},
        traits=Trait.PURE | Trait.CONSTANT,
    ),
    op(
        "index.sizeof",
        "-> result",
        "attr-dict",
        infer={"result": indices},
        traits=Trait.PURE,
    ),
)
