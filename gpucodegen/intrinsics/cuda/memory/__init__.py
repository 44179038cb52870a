"""Memory of CUDA kernels, and copies between memories.

- `buffers`: shared by a block, private to a thread
- `copies`: by threads, at once or by cp.async
- `bulk_copies`: of rows, by an engine
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any

from gpucodegen.intrinsics.cuda.memory import buffers, bulk_copies, copies
from gpucodegen.intrinsics.framework.lowering import Face


def factories(face: Face) -> dict[str, Any]:
    """By name; the same request gives the same intrinsic."""
    return _requested(face, buffers.MADE | copies.MADE)


def own_factories(face: Face) -> dict[str, Any]:
    """Those that the CPU has no counterpart of."""
    return _requested(face, buffers.OWN | copies.OWN | bulk_copies.MADE)


def _requested(face: Face, makers: dict[str, Any]) -> dict[str, Any]:
    return {name: cache(partial(make, face)) for name, make in makers.items()}
