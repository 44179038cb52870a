"""tosa: ``tosa.op %a, %b {attributes} : (types) -> types``."""

from __future__ import annotations

from gpucodegen.dialects.framework.declare import op
from gpucodegen.dialects.framework.definition import Op, Trait
from gpucodegen.dialects.framework.syntax import ParseOp, PrintOp
from gpucodegen.dialects.stablehlo.syntax import (
    read_return,
    write_functional,
    write_return,
)
from gpucodegen.dialects.tosa.names import COMPARED, ELEMENTWISE, OTHERS, REFUSED
from gpucodegen.dialects.tosa.syntax import read_cond_if, read_op, read_while_loop


def _op(
    name: str, read: ParseOp = read_op, write: PrintOp | None = write_functional
) -> Op:
    """An operation; without ``write`` it is printed in generic form."""
    return op(
        f"tosa.{name}",
        "operands* -> results*",
        (read, write),
        regions=None,
        traits=Trait.PURE,
    )


OPERATIONS = (
    *map(_op, (*ELEMENTWISE, *COMPARED, *OTHERS, *REFUSED)),
    _op("cond_if", read_cond_if, None),
    _op("while_loop", read_while_loop, None),
    op(
        "tosa.yield",
        "operands*",
        (read_return, write_return),
        traits=Trait.TERMINATOR,
    ),
)
