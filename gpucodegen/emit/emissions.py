"""Emissions of CPU and CUDA kernels: a spelling and a handler for each operation.

Other targets use them unchanged or derive their own.
"""

from __future__ import annotations

from gpucodegen.emit.context import Emitter, Handlers
from gpucodegen.emit.spelling import CPU as ON_CPU
from gpucodegen.emit.spelling import CUDA as ON_CUDA
from gpucodegen.emit.spelling import WIDE_CUDA, Spelling
from gpucodegen.emit.tables import (
    affine,
    control,
    fragments,
    gpu,
    hopper,
    memory,
    scalars,
    transfers,
    vectors,
)
from gpucodegen.ir.operation import Operation
from gpucodegen.records import dataclass


@dataclass(frozen=True, slots=True)
class Emission:
    """The text of a target's kernels.

    ``handlers`` maps the name of an operation to the function that prints it. ``wide``
    is the spelling of kernels with 64-bit indices, if it differs. ``bulk``: bytes of
    shared memory per block on devices with bulk copies, else 0.

    >>> CPU.spelling.face, sorted(CUDA.handlers.keys() - CPU.handlers.keys())[1]
    ('gpucodegen.intrinsics.cpu', 'gcg.grid_barrier')
    """

    spelling: Spelling
    handlers: Handlers
    wide: Spelling | None = None
    bulk: int = 0


def leave(e: Emitter, _: Operation) -> None:
    """The end of a kernel; only a body of several blocks prints it."""
    if not e.is_structured:
        e.writer.line("return")


_COMMON: Handlers = (
    scalars.SCALAR_HANDLERS
    | scalars.CAST_HANDLERS
    | scalars.COMPLEX_HANDLERS
    | memory.HANDLERS
    | memory.VIEW_HANDLERS
    | vectors.HANDLERS
    | affine.INDEX_HANDLERS
    | affine.HANDLERS
    | control.SCF_HANDLERS
    | transfers.HANDLERS
    | control.CFG_HANDLERS
    | memory.GUARD_HANDLERS
    | {"func.return": leave}
)
CPU = Emission(ON_CPU, _COMMON | {"cf.assert": memory.asserted})
CUDA = Emission(
    ON_CUDA,
    _COMMON
    | gpu.HANDLERS
    | gpu.WARP_HANDLERS
    | fragments.FRAGMENT_HANDLERS
    | transfers.THREAD_COPY_HANDLERS
    | fragments.SUBGROUP_HANDLERS
    | hopper.BARRIER_HANDLERS
    | hopper.TENSOR_COPY_HANDLERS
    | hopper.WARPGROUP_HANDLERS
    | {"gpu.return": leave},
    WIDE_CUDA,
)
