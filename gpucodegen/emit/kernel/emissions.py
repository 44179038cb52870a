"""How the kernels of a target are written: a spelling, and a line for each operation.

Comes in: nothing.  Goes out: the `Emission` of CPUs and that of CUDA, which other
targets take as they are or change.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpucodegen.emit.host import guards
from gpucodegen.emit.kernel.context import Emitter, Handlers
from gpucodegen.emit.kernel.spelling import CPU as ON_CPU
from gpucodegen.emit.kernel.spelling import CUDA as ON_CUDA
from gpucodegen.emit.kernel.spelling import WIDE_CUDA, Spelling
from gpucodegen.emit.tables import gpu, matrices, warps
from gpucodegen.emit.tables.arithmetic import casts, complexes, index_math, scalars
from gpucodegen.emit.tables.control import affine_loops, cfg, scf_loops
from gpucodegen.emit.tables.engines import (
    barriers,
    subgroups,
    tensor_copies,
    warpgroups,
)
from gpucodegen.emit.tables.memory import memory, views
from gpucodegen.emit.tables.transfers import thread_copies, transfers
from gpucodegen.emit.tables.vectors import vectors
from gpucodegen.ir.operation import Operation


@dataclass(frozen=True, slots=True)
class Emission:
    """What turns kernels into text.

    ``handlers`` maps the name of an operation to what writes it.  ``wide`` is the
    spelling of kernels whose indices need 64 bits, if it is another one.  ``bulk``:
    bytes of shared memory of a block where engines copy rows, 0 where they do not.

    >>> CPU.spelling.face, sorted(CUDA.handlers.keys() - CPU.handlers.keys())[1]
    ('gpucodegen.intrinsics.cpu', 'gcg.grid_barrier')
    """

    spelling: Spelling
    handlers: Handlers
    wide: Spelling | None = None
    bulk: int = 0


def leave(e: Emitter, op: Operation) -> None:
    """The end of a kernel; only a body of several blocks has to say so."""
    del op
    if not e.is_structured:
        e.writer.line("return")


_COMMON: Handlers = (
    scalars.HANDLERS
    | casts.HANDLERS
    | complexes.HANDLERS
    | memory.HANDLERS
    | views.HANDLERS
    | vectors.HANDLERS
    | index_math.HANDLERS
    | affine_loops.HANDLERS
    | scf_loops.HANDLERS
    | transfers.HANDLERS
    | cfg.HANDLERS
    | guards.HANDLERS
    | {"func.return": leave}
)
CPU = Emission(ON_CPU, _COMMON)
CUDA = Emission(
    ON_CUDA,
    _COMMON
    | gpu.HANDLERS
    | warps.HANDLERS
    | matrices.HANDLERS
    | thread_copies.HANDLERS
    | subgroups.HANDLERS
    | barriers.HANDLERS
    | tensor_copies.HANDLERS
    | warpgroups.HANDLERS
    | {"gpu.return": leave},
    WIDE_CUDA,
)
