"""Barriers of mapped kernels that waits, or the trees of reductions, make needless.

A mapped kernel has a barrier wherever threads have to meet as far as its mapping can
see.  A reduction of a block brings one more, behind which nothing before it is open.
So each barrier of the mapping is left out, the last one first, if the kernel is proven
without it: one proof for each barrier that stood there before, and at most `MOST`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from gpucodegen.dialects import gpu
from gpucodegen.ir.operation import Operation, rewrite_bottom_up
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.checks.races import is_proven

BARRIER = "gpu.barrier"
MOST = 4
"""Barriers of a kernel of which this is asked: each costs a proof."""


def without_needless(
    kernel: Operation, of_trees: Sequence[bool], surroundings: Surroundings
) -> Operation:
    """The kernel with the barriers that its proof needs.

    ``of_trees``: for each barrier in the order of the text, whether a reduction brought
    it.  Kernels that a user wrote stay as they are.
    """
    asked = [at for at, is_new in enumerate(of_trees) if not is_new]
    if gpu.MAPPED_BLOCK not in kernel.attributes or len(asked) > MOST:
        return kernel
    for number in reversed(asked):
        fewer = _without(kernel, number)
        if is_proven(fewer, surroundings):
            kernel = fewer
    return kernel


def _without(kernel: Operation, number: int) -> Operation:
    seen = count()

    def rewrite(op: Operation) -> list[Operation] | None:
        return [] if op.name == BARRIER and next(seen) == number else None

    (changed,) = rewrite_bottom_up(kernel, rewrite)
    return changed
