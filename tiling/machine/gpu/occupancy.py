"""How many blocks of a kernel a multiprocessor holds at once, and what limits that.

Formulas of the CUDA occupancy calculator: registers are given to warps in units of 256
from four quarters of the file, shared memory in units of 128 bytes after 1024 bytes
that each block's system part takes.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from gpucodegen.tiling.machine.gpu.devices import SCHEDULERS, Multiprocessor
from gpucodegen.tiling.machine.gpu.limits import WARP

SYSTEM_SHARED = 1024
"""Bytes of shared memory that each block's system part takes."""
_REGISTER_UNIT, _SHARED_UNIT = 256, 128


@dataclass(frozen=True, slots=True)
class Occupancy:
    """Blocks and warps that a multiprocessor holds; ``limits``: what allows no more.

    ``share`` is that of the warps that it could hold.
    """

    blocks: int
    warps: int
    share: float
    limits: tuple[str, ...]


def occupancy(
    processor: Multiprocessor, threads: int, registers: int | None, shared: int
) -> Occupancy:
    """The occupancy of blocks of ``threads``, with registers and shared bytes of each.

    ``registers`` of a thread; None where they are not known, and then they do not
    limit.  No block fits where a limit of one block is exceeded.

    >>> from gpucodegen.tiling.machine.gpu.devices import MULTIPROCESSORS
    >>> occupancy(MULTIPROCESSORS["sm_90"], 256, 128, 16384)
    Occupancy(blocks=2, warps=16, share=0.25, limits=('registers',))
    >>> occupancy(MULTIPROCESSORS["sm_90"], 1024, 168, 0).blocks
    0
    """
    warps = ceil(threads / WARP)
    fits = {
        "registers": _by_registers(processor, warps, registers),
        "shared memory": _by_shared(processor, shared),
        "threads": processor.warps // warps,
        "blocks": processor.blocks,
    }
    blocks = min(fits.values())
    limits = tuple(name for name, most in fits.items() if most == blocks)
    held = blocks * warps
    return Occupancy(blocks, held, held / processor.warps, limits)


def _by_registers(processor: Multiprocessor, warps: int, registers: int | None) -> int:
    if registers is None:
        return processor.blocks
    each = ceil(max(registers, 1) * WARP / _REGISTER_UNIT) * _REGISTER_UNIT
    return SCHEDULERS * (processor.registers // SCHEDULERS // each) // warps


def _by_shared(processor: Multiprocessor, shared: int) -> int:
    if shared > processor.block_shared:
        return 0
    each = ceil(shared / _SHARED_UNIT) * _SHARED_UNIT + SYSTEM_SHARED
    return processor.shared // each


def waves(blocks: int, processors: int, resident: int) -> float:
    """How often all multiprocessors are filled, the last time perhaps in part.

    >>> waves(1024, 132, 2)
    3.878787878787879
    """
    return blocks / (processors * max(resident, 1))
