"""The intrinsics that both backends have, by name; a test checks that both do."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

from numba.core import types

from gpucodegen.intrinsics import (
    aggregates,
    arithmetic,
    atomics,
    complexes,
    masked_tiles,
    narrow_floats,
    shuffles,
    tile_memory,
    vector_math,
)
from gpucodegen.intrinsics.framework.lowering import Backend

SHAPED: dict[str, Callable[..., Any]] = {
    "atomic": atomics.atomic,
    "atomic_word": atomics.atomic_word,
    "bitcast": shuffles.bitcast,
    "bits_of": narrow_floats.bits_of,
    "broadcast_columns": aggregates.broadcast_columns,
    "broadcast_rows": aggregates.broadcast_rows,
    "cast": arithmetic.cast,
    "element_of": atomics.element_of,
    "exchange": atomics.exchange,
    "extract": aggregates.extract,
    "first_lanes": masked_tiles.first_lanes,
    "from_bits": narrow_floats.from_bits,
    "from_elements": aggregates.from_elements,
    "fused": narrow_floats.fused,
    "insert": aggregates.insert,
    "load": tile_memory.load,
    "load_strided": tile_memory.load_strided,
    "load_strided_masked": masked_tiles.load_strided_masked,
    "load_tile": tile_memory.load_tile,
    "load_tile_masked": masked_tiles.load_tile_masked,
    "outerproduct": aggregates.outerproduct,
    "outerproduct_column": aggregates.outerproduct_column,
    "outerproduct_words": aggregates.outerproduct_words,
    "reduce": aggregates.reduce,
    "reduce_freely": aggregates.reduce_freely,
    "reduce_rows": aggregates.reduce_rows,
    "round_to": narrow_floats.round_to,
    "shape_cast": aggregates.shape_cast,
    "shuffle": shuffles.shuffle,
    "splat": aggregates.splat,
    "store": tile_memory.store,
    "store_strided": tile_memory.store_strided,
    "store_strided_masked": masked_tiles.store_strided_masked,
    "store_tile": tile_memory.store_tile,
    "store_tile_masked": masked_tiles.store_tile_masked,
    "store_tile_streaming": tile_memory.store_tile_streaming,
    "transpose": shuffles.transpose,
    "vload": tile_memory.vload,
    "vload_masked": masked_tiles.vload_masked,
    "vload_selected": masked_tiles.vload_selected,
    "vstore": tile_memory.vstore,
    "vstore_masked": masked_tiles.vstore_masked,
    "vstore_selected": masked_tiles.vstore_selected,
    "vstore_streaming": tile_memory.vstore_streaming,
}
"""Factories that both backends share."""

MEMORY = ("dma_start dma_wait heap heap_dynamic heap_free is_null local shared").split()
"""Factories that each backend implements itself."""


def shaped(face: Backend) -> dict[str, Any]:
    """Factories of one backend; equal requests give the same intrinsic."""
    made = {name: cache(partial(make, face)) for name, make in SHAPED.items()}
    return made | {
        "constant": _by_text(partial(aggregates.constant, face)),
        "cmpi": cache(partial(_compare, face, floats=False)),
        "cmpf": cache(partial(_compare, face, floats=True)),
    }


def _by_text(make: Callable[..., Any]) -> Callable[..., Any]:
    """A factory that compares requests as text, since -0.0 equals 0.0 as a number."""
    made: dict[str, Any] = {}

    def factory(*arguments: Any) -> Any:
        key = repr(arguments)
        if key not in made:
            made[key] = make(*arguments)
        return made[key]

    return factory


def _compare(face: Backend, predicate: str, *, floats: bool) -> Any:
    name = f"cmp{'f' if floats else 'i'}_{predicate}"
    return arithmetic.comparison(face, name, predicate, floats=floats)


SCALARS = (
    "boolean complex64 complex128 float32 float64 int8 int16 int32 int64"
).split()
"""Types of Numba that kernels convert numbers to."""


def plain(face: Backend) -> dict[str, Any]:
    """Intrinsics without a factory, and scalar types."""
    made = {n: getattr(types, n) for n in SCALARS}
    made |= {n: arithmetic.elementwise(face, n) for n in arithmetic.ELEMENTWISE}
    divisions = arithmetic.INDEX_DIVISION
    made |= {n: arithmetic.index_division(face, n) for n in divisions}
    formulas = vector_math.formulas(face)
    library = (*arithmetic.UNARY, *arithmetic.APPROXIMATE, *arithmetic.BINARY)
    made |= {n: arithmetic.library(face, n, formulas.get(n)) for n in library}
    made |= {n: arithmetic.power(face, n) for n in ("ipowi", "fpowi")}
    made |= {n: complexes.function(face, n) for n in complexes.FORMULAS}
    made |= {"cmplx": complexes.create(face), "cpowi": complexes.power(face)}
    made["address"] = tile_memory.pointer_address(face)
    return made | {"select": arithmetic.select(face)}
