"""Made programs whose extents, indices, strides or element types may be wrong.

Comes in: a number.  Goes out: a `Made` program with its arguments, and what it means: a
function on plain arrays that raises `OutsideError` where an access leaves its buffer.
"""

from __future__ import annotations

from random import Random

from .affine_kinds import divided, line, plane, product, stencil
from .argument_kinds import misfit, slanted
from .data_kinds import branches, chosen, gather, rows, searched
from .made import Made
from .memory_kinds import called, copied, lanes, local, part, tiles, transfer

KINDS = (
    line,
    plane,
    product,
    stencil,
    divided,
    gather,
    rows,
    chosen,
    branches,
    part,
    lanes,
    copied,
    transfer,
    tiles,
    local,
    called,
    searched,
    misfit,
    slanted,
)


def made(seed: int) -> Made:
    """The program of a seed; consecutive seeds take turns between the kinds."""
    return KINDS[seed % len(KINDS)](Random(seed))
