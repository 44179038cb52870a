"""The CUDA backend: tiles in registers, shared memory, asynchronous copies."""

from __future__ import annotations

from gpucodegen.intrinsics.cuda import (
    bulk_copies,
    matrices,
    mbarriers,
    memory,
    subgroup_matrices,
    threads,
    wgmma,
)
from gpucodegen.intrinsics.cuda.backend import BACKEND
from gpucodegen.intrinsics.framework import backends

FACTORIES = backends.shaped(BACKEND) | memory.factories(BACKEND)
PLAIN = backends.plain(BACKEND)
cuda = threads.face(BACKEND)
OWN = (
    threads.warp_factories(BACKEND)
    | threads.grid_factories(BACKEND)
    | memory.own_factories(BACKEND)
    | matrices.factories(BACKEND)
    | mbarriers.factories(BACKEND)
    | bulk_copies.factories(BACKEND)
    | subgroup_matrices.factories(BACKEND)
    | bulk_copies.tensor_copy_factories(BACKEND)
    | wgmma.factories(BACKEND)
)
"""Factories that only CUDA has."""
globals().update(FACTORIES | PLAIN | OWN)

__all__ = ["FACTORIES", "OWN", "PLAIN", "cuda"]
