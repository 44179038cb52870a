"""chlo: functions of one number."""

from __future__ import annotations

from gpucodegen.dialects.framework.declare import op
from gpucodegen.dialects.framework.definition import Trait
from gpucodegen.dialects.stablehlo import syntax
from gpucodegen.dialects.stablehlo.names import CHLO

OPERATIONS = tuple(
    op(
        f"chlo.{name}",
        "operand -> result",
        (syntax.read_chlo, syntax.write_chlo),
        traits=Trait.PURE,
    )
    for name in CHLO
)
