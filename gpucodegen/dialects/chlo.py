"""Table of the CHLO operations that JAX prints beside StableHLO.

These are elementwise functions and ``chlo.top_k``.
"""

from __future__ import annotations

from gpucodegen.dialects.framework.declare import op
from gpucodegen.dialects.framework.definition import Trait
from gpucodegen.dialects.stablehlo import syntax
from gpucodegen.dialects.stablehlo.operations import CHLO

OPERATIONS = (
    *(
        op(
            f"chlo.{name}",
            "operands* -> result",
            (syntax.read_chlo, syntax.write_chlo),
            traits=Trait.PURE,
        )
        for name in CHLO
    ),
    op(
        "chlo.top_k",
        "operand -> values, indices",
        (syntax.read_top_k, None),
        traits=Trait.PURE,
    ),
)
