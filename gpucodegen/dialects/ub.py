"""The ub dialect: poison values and unreachable control flow."""

from __future__ import annotations

from gpucodegen.dialects.framework import kinds
from gpucodegen.dialects.framework.declare import pure, terminator
from gpucodegen.ir.attributes import OpaqueAttr

_POISON = kinds.AttributeKind(
    "an attribute",
    lambda r: r.attribute(),
    default=OpaqueAttr("#ub.poison"),
    optional=True,
)

OPERATIONS = (
    pure(
        "ub.poison",
        "-> result",
        "attr-dict (`<` $value^ `>`)? `:` type($result)",
        attributes={"value": _POISON},
    ),
    terminator("ub.unreachable", "", "attr-dict"),
)
