"""The index dialect: arithmetic on pointer-sized integers."""

from __future__ import annotations

from dataclasses import replace

from gpucodegen.dialects.arith import CMPI_PREDICATES
from gpucodegen.dialects.framework import constraints, kinds
from gpucodegen.dialects.framework.declare import always, indices, op, pure
from gpucodegen.dialects.framework.definition import Op, Trait
from gpucodegen.dialects.framework.syntax import State
from gpucodegen.dialects.shared import cast_checks
from gpucodegen.ir.attributes import Attribute, OpaqueAttr
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


_OLD_PREDICATE = "#index<cmp_predicate "


def _is_predicate(attribute: Attribute) -> bool:
    return isinstance(attribute, OpaqueAttr)


_PREDICATE = replace(
    kinds.keyword_of("index.cmp_predicate<", CMPI_PREDICATES), accepts=_is_predicate
)


def _modern_predicate(state: State) -> None:
    """``#index<cmp_predicate slt>`` of 2022 to 2025."""
    text = str(state.attributes.get("pred"))
    if text.startswith(_OLD_PREDICATE):
        predicate = text.removeprefix(_OLD_PREDICATE)
        state.attributes["pred"] = OpaqueAttr(f"#index.cmp_predicate<{predicate}")


OPERATIONS = (
    *(_binary(name) for name in _BINARY),
    *(
        pure(
            f"index.{name}",
            "input -> output",
            "$input attr-dict `:` type($input) `to` type($output)",
            types={
                "input": constraints.INTEGER_OR_INDEX,
                "output": constraints.INTEGER_OR_INDEX,
            },
            checks=[cast_checks.check_index_cast],
        )
        for name in ("casts", "castu")
    ),
    pure(
        "index.cmp",
        "lhs:index rhs:index -> result",
        "$pred `` `(` $lhs `,` $rhs `)` attr-dict",
        attributes={"pred": _PREDICATE},
        infer={"result": always(I1)},
        adapt=_modern_predicate,
    ),
    op(
        "index.constant",
        "-> result:index",
        "attr-dict $value",
        attributes={"value": kinds.INDEX_INT},
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
    pure("index.sizeof", "-> result:index", "attr-dict"),
)
