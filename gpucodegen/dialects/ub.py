"""The ub dialect: poison values and unreachable control flow."""

from __future__ import annotations

from gpucodegen.dialects.framework import kinds
from gpucodegen.dialects.framework.declare import op
from gpucodegen.dialects.framework.definition import Trait
from gpucodegen.ir.attributes import OpaqueAttr

_POISON = kinds.AttributeKind(
    "an attribute",
    lambda r: r.attribute(),
    default=OpaqueAttr("#ub.poison"),
    optional=True,
)

OPERATIONS = (
    op(
        "ub.poison",
        "-> result",
        "attr-dict (`<` $value^ `>`)? `:` type($result)",
        attributes={"value": _POISON},
        traits=Trait.PURE,
    ),
    op("ub.unreachable", "", "attr-dict", traits=Trait.TERMINATOR),
)
