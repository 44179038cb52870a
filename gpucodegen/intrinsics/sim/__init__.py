"""The emulator's face: every intrinsic as Python, with its memory watched.

It has the names of the CUDA face, so that the emulator runs the CUDA text itself.

- `transfers`: asynchronous copies: poison at the start, data at the wait
- `machine`: which thread runs, its memory, who touched it
- `storage`: buffers of a kernel
- `accesses`: elements, vectors and tiles in memory
- `masks`: cells that a mask selects
- `casts`: conversions
- `integers`: integers of a width
- `narrow`: floats of 16 bits and less
- `complexes`: complex numbers
- `twins`: Python functions in place of intrinsics
- `values`: the twin of each elementwise intrinsic
- `shaped`: the twin of each shaped intrinsic
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpucodegen.intrinsics.sim import (
    accesses,
    casts,
    complexes,
    masks,
    narrow,
    shaped,
    storage,
    values,
)
from gpucodegen.intrinsics.sim.machine import cuda

NAMES = {
    accesses: (
        "load load_strided load_strided_masked load_tile load_tile_masked"
        " store store_strided store_strided_masked store_tile store_tile_masked"
        " vload vload_masked vstore vstore_masked"
    ).split(),
    shaped: (
        "atomic bitcast broadcast_columns broadcast_rows constant extract"
        " from_elements insert outerproduct outerproduct_column outerproduct_words"
        " reduce reduce_freely reduce_rows shape_cast shuffle splat transpose"
    ).split(),
    storage: "dma_start dma_wait heap heap_free local shared".split(),
}

FACTORIES: dict[str, Any] = {
    name: getattr(module, name) for module, names in NAMES.items() for name in names
} | {
    "bits_of": narrow.bits_of,
    "cast": casts.cast,
    "cmpf": values.cmpf,
    "cmpi": values.cmpi,
    "first_lanes": masks.first_lanes,
    "from_bits": narrow.from_code,
    "fused": narrow.fused,
    "round_to": narrow.round_to,
    "store_tile_streaming": accesses.store_tile,
    "vload_selected": masks.vload_selected,
    "vstore_selected": masks.vstore_selected,
    "vstore_streaming": accesses.vstore,
}


def int32(x: Any) -> int:
    """An i32: a plain ``int`` that wraps around."""
    if type(x) is int and -0x8000_0000 <= x <= 0x7FFF_FFFF:
        return x
    return casts.wrap(x, "int32")


def int8(x: Any) -> Any:
    """An i8."""
    return casts.wrap(x, "int8")


def int16(x: Any) -> Any:
    """An i16."""
    return casts.wrap(x, "int16")


def int64(x: Any) -> Any:
    """An i64."""
    return casts.wrap(x, "int64")


PLAIN: dict[str, Any] = (
    values.TWINS
    | complexes.TWINS
    | {
        "address": lambda p: p.memory.key(0),
        "boolean": bool,
        "complex64": np.complex64,
        "complex128": np.complex128,
        "float32": np.float32,
        "float64": np.float64,
        "int8": int8,
        "int16": int16,
        "int32": int32,
        "int64": int64,
    }
)
globals().update(FACTORIES | PLAIN)

__all__ = ["FACTORIES", "PLAIN", "cuda"]
