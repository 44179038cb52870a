"""tosa: ``tosa.op %a, %b {attributes} : (types) -> types``."""

from __future__ import annotations

from gpucodegen.dialects.framework.declare import op
from gpucodegen.dialects.framework.definition import Op, Trait
from gpucodegen.dialects.stablehlo.syntax import read_plain, write_functional
from gpucodegen.dialects.tosa.names import COMPARED, ELEMENTWISE, OTHERS, REFUSED


def _op(name: str) -> Op:
    return op(
        f"tosa.{name}",
        "operands* -> results*",
        (read_plain, write_functional),
        regions=None,
        traits=Trait.PURE,
    )


OPERATIONS = tuple(map(_op, (*ELEMENTWISE, *COMPARED, *OTHERS, *REFUSED)))
