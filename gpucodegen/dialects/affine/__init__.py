"""The affine dialect: loops, conditions and accesses with affine bounds and indices."""

from __future__ import annotations

from gpucodegen.dialects.affine.builders import (
    apply,
    for_,
    if_,
    load,
    max_,
    store,
    yield_,
)
from gpucodegen.dialects.affine.views import (
    ACCESSES,
    SCALAR,
    TERMINATOR,
    DmaStart,
    DmaWait,
    Endpoint,
    For,
    If,
    Load,
    Parallel,
    Store,
    map_of,
)

__all__ = [
    "ACCESSES",
    "SCALAR",
    "TERMINATOR",
    "DmaStart",
    "DmaWait",
    "Endpoint",
    "For",
    "If",
    "Load",
    "Parallel",
    "Store",
    "apply",
    "for_",
    "if_",
    "load",
    "map_of",
    "max_",
    "store",
    "yield_",
]
