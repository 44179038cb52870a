"""gcg: what this compiler adds to a program; not for writing by hand.

An access outside its buffer ends the call.  ``gcg.refuse`` does so on the host before
anything ran; ``gcg.report`` notes it in a loop, where the access is left out, and the
host raises after the loop.

``gcg.handle`` is an operation or a call that something outside of the program runs: a
function of the caller, or one of this package that prints or checks.  It takes numbers
and buffers; ``given`` holds the attributes of the operation.

``gcg.grid_barrier %arrived`` is a barrier of all threads of all blocks of a kernel,
which have to be resident at once.  ``%arrived`` is a word of global memory that no
other launch uses meanwhile and that starts as 0; a barrier leaves its lower 31 bits 0.

``gcg.fragment %sum[row, column]`` is what a lane holds of ``16 x 8`` elements of the
sum of a warpgroup, laid out as a sum of ``nvgpu.mma.sync``: those of its warp, of the
64 rows and the 8 columns of these numbers.
"""

from __future__ import annotations

from gpucodegen.dialects.framework import constraints, kinds
from gpucodegen.dialects.framework.declare import indices, op
from gpucodegen.dialects.framework.definition import Trait
from gpucodegen.dialects.nvgpu.types import SUM, named

_ATTRIBUTES = {
    "buffer": kinds.STRING,
    "verb": kinds.STRING,
    "dimension": kinds.integer(),
    "extent": kinds.integer(),
    "names": kinds.ANY,
}
"""What is accessed, how, along which dimension of which extent (-1: the values tell);
a name for each value."""

_REPORTS = tuple(
    op(
        name,
        "values*",
        None,
        attributes=_ATTRIBUTES,
        infer={"values": indices},
        types={"values": constraints.INDEX_TYPE},
    )
    for name in ("gcg.refuse", "gcg.report")
)

OPERATIONS = (
    *_REPORTS,
    op(
        "gcg.handle",
        "operands* -> results*",
        "$operation `(` $operands `)` attr-dict `:`"
        " functional-type($operands, $results)",
        attributes={"operation": kinds.STRING, "given": kinds.OPTIONAL},
    ),
    op(
        "gcg.grid_barrier",
        "arrived",
        "$arrived attr-dict `:` type($arrived)",
        types={"arrived": constraints.MEMREF},
    ),
    op(
        "gcg.fragment",
        "sum -> fragment",
        "$sum `[` $row `,` $column `]` attr-dict `:` type($sum) `->` type($fragment)",
        attributes={"row": kinds.integer(), "column": kinds.integer()},
        types={"sum": named(SUM), "fragment": constraints.VECTOR},
        traits=Trait.PURE,
    ),
)
