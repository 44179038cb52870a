"""Table of the CHLO operations that JAX prints beside StableHLO.

These are elementwise functions and ``chlo.top_k``.
"""

from __future__ import annotations

from gpucodegen.dialects.framework.declare import pure
from gpucodegen.dialects.stablehlo import syntax
from gpucodegen.dialects.stablehlo.operations import CHLO

OPERATIONS = (
    *(
        pure(
            f"chlo.{name}",
            "operands* -> result",
            (syntax.read_plain, syntax.write_chlo),
        )
        for name in CHLO
    ),
    pure("chlo.top_k", "operand -> values indices", (syntax.read_top_k, None)),
)
