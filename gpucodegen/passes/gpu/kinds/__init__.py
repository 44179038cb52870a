"""The kinds of kernel that one nest may become on a GPU, a module each.

- `nest`: a nest with its analysis, and what a kind answers
- `block_programs`: nests that use fast memory or asynchronous copies
- `contractions`: products and convolutions
- `row_programs`: parallel loops around a program for each of their iterations
- `row_problems`: what plans of these depend on
- `row_teams`: a block or a warp for each row
- `column_teams`: lanes along columns, the rows of a column dealt out
- `split_rows`: parts of long reductions, and what combines them
- `reductions`: which of these a nest becomes
- `thread_mapping`: a thread for each iteration of parallel loops
- `host_loops`: a sequential loop that stays on the host, around kernels

`KINDS` is the table in which they are asked.  A new kind is a module with a function
that takes a `Nest` and returns its launches, or None, and a line of the table.
"""

from __future__ import annotations

from collections.abc import Callable

from gpucodegen.ir.operation import Operation
from gpucodegen.passes.gpu.kinds.block_programs import block_program_of
from gpucodegen.passes.gpu.kinds.contractions import contractions_of
from gpucodegen.passes.gpu.kinds.host_loops import host_loop
from gpucodegen.passes.gpu.kinds.nest import Nest
from gpucodegen.passes.gpu.kinds.reductions import reductions_of
from gpucodegen.passes.gpu.kinds.thread_mapping import threads_of

Kind = Callable[[Nest], list[Operation] | None]
"""The operations of the host in place of a nest, or None if it is not of this kind."""

KINDS: tuple[Kind, ...] = (
    block_program_of,
    contractions_of,
    reductions_of,
    threads_of,
    host_loop,
)
"""In the order in which they are asked; one thread runs what is of no kind."""
