"""vector.transfer_read and transfer_write: tiles between buffers and registers."""

from __future__ import annotations

from gpucodegen.dialects.framework import constraints, kinds
from gpucodegen.dialects.framework.declare import op
from gpucodegen.dialects.vector.memory import transfer_checks as checks
from gpucodegen.dialects.vector.memory import transfer_syntax as syntax

_ATTRIBUTES = {
    "permutation_map": kinds.MAP,
    "in_bounds": kinds.optional(kinds.ARRAY),
}

OPERATIONS = (
    op(
        "vector.transfer_read",
        "source indices* padding mask? -> vector",
        (syntax.parse_transfer_read, syntax.print_transfer_read),
        attributes=_ATTRIBUTES,
        types={"source": constraints.SHAPED, "vector": constraints.VECTOR},
        adapt=syntax.with_bounds,
        checks=[checks.check_transfer_read],
    ),
    op(
        "vector.transfer_write",
        "valueToStore source indices* mask? -> result?",
        (syntax.parse_transfer_write, syntax.print_transfer_write),
        attributes=_ATTRIBUTES,
        types={"valueToStore": constraints.VECTOR, "source": constraints.SHAPED},
        adapt=syntax.with_bounds,
        checks=[checks.check_transfer_write],
    ),
)
