"""The kinds of kernel that one nest may become on a GPU, a module each.

- `nest`: a nest with its analysis, and what a kind answers
- `contractions`: products and convolutions, with the nests around them
- `block_programs`: nests that use fast memory or asynchronous copies
- `reductions`: rows, columns and whole arrays, and chains of a row
- `scatters`: updates of cells that data choose, in cells of each block first
- `streams`: elementwise nests, 16 bytes an access
- `transposes`: tiles turned around in shared memory
- `lane_teams`: parallel loops around programs of steps, a team for each iteration
- `thread_mapping`: a thread for each iteration of parallel loops
- `time_tiles`: time loops around stencils, several steps in a launch
- `stepped`: sequential loops around parallel ones, in one kernel with barriers
- `host_loops`: a sequential loop that stays on the host, around kernels

Contractions are found first, among the nests of a list. `KINDS` is the table in which
the other kinds are asked.  A new kind is a module with a function
that takes a `Nest` and returns its launches, or None, and a line of the table.
"""

from __future__ import annotations

from collections.abc import Callable

from gpucodegen.ir.operation import Operation
from gpucodegen.passes.gpu.kinds.block_programs import block_program_of
from gpucodegen.passes.gpu.kinds.host_loops import host_loop
from gpucodegen.passes.gpu.kinds.lane_teams import lane_teams
from gpucodegen.passes.gpu.kinds.nest import Nest
from gpucodegen.passes.gpu.kinds.reductions.kind import reductions_of
from gpucodegen.passes.gpu.kinds.scatters.kind import scatters_of
from gpucodegen.passes.gpu.kinds.stepped import stepped
from gpucodegen.passes.gpu.kinds.streams import streams_of
from gpucodegen.passes.gpu.kinds.thread_mapping import threads_of
from gpucodegen.passes.gpu.kinds.time_tiles import time_tiles_of
from gpucodegen.passes.gpu.kinds.transposes import transposes_of

Kind = Callable[[Nest], list[Operation] | None]
"""The operations of the host in place of a nest, or None if it is not of this kind."""

KINDS: tuple[Kind, ...] = (
    block_program_of,
    scatters_of,
    reductions_of,
    transposes_of,
    streams_of,
    lane_teams,
    threads_of,
    time_tiles_of,
    stepped,
    host_loop,
)
"""In the order in which they are asked; one thread runs what is of no kind."""
