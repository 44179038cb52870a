"""The names that every face has; a test checks that both have them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

from gpucodegen.intrinsics import vector_math
from gpucodegen.intrinsics.framework.lowering import Face
from gpucodegen.intrinsics.scalars import (
    arithmetic,
    complexes,
    conversions,
    functions,
    narrow,
)
from gpucodegen.intrinsics.tiles import (
    aggregates,
    atomic_words,
    atomics,
    masked_tiles,
    masks,
    memory,
    reductions,
    regrouping,
    shuffles,
    streaming,
    tiles,
    words,
)

SHAPED: dict[str, Callable[..., Any]] = {
    "atomic": atomics.atomic,
    "atomic_word": atomic_words.atomic_word,
    "bitcast": regrouping.bitcast,
    "bits_of": narrow.bits_of,
    "broadcast_columns": aggregates.broadcast_columns,
    "broadcast_rows": aggregates.broadcast_rows,
    "cast": conversions.cast,
    "element_of": atomic_words.element_of,
    "exchange": atomic_words.exchange,
    "extract": aggregates.extract,
    "first_lanes": masks.first_lanes,
    "from_bits": narrow.from_bits,
    "from_elements": aggregates.from_elements,
    "fused": narrow.fused,
    "insert": aggregates.insert,
    "load": memory.load,
    "load_strided": tiles.load_strided,
    "load_strided_masked": masked_tiles.load_strided_masked,
    "load_tile": tiles.load_tile,
    "load_tile_masked": masked_tiles.load_tile_masked,
    "outerproduct": aggregates.outerproduct,
    "outerproduct_column": aggregates.outerproduct_column,
    "outerproduct_words": words.outerproduct_words,
    "reduce": reductions.reduce,
    "reduce_freely": reductions.reduce_freely,
    "reduce_rows": reductions.reduce_rows,
    "round_to": narrow.round_to,
    "shape_cast": aggregates.shape_cast,
    "shuffle": shuffles.shuffle,
    "splat": aggregates.splat,
    "store": memory.store,
    "store_strided": tiles.store_strided,
    "store_strided_masked": masked_tiles.store_strided_masked,
    "store_tile": tiles.store_tile,
    "store_tile_masked": masked_tiles.store_tile_masked,
    "store_tile_streaming": streaming.store_tile_streaming,
    "transpose": shuffles.transpose,
    "vload": tiles.vload,
    "vload_masked": masked_tiles.vload_masked,
    "vload_selected": masks.vload_selected,
    "vstore": tiles.vstore,
    "vstore_masked": masked_tiles.vstore_masked,
    "vstore_selected": masks.vstore_selected,
    "vstore_streaming": streaming.vstore_streaming,
}
"""Factories that are the same on both compilers."""

MEMORY = ("dma_start", "dma_wait", "heap", "heap_free", "local", "shared")
"""Factories that each face has in its own way."""


def shaped(face: Face) -> dict[str, Any]:
    """Factories of one compiler; the same request gives the same intrinsic."""
    made = {name: cache(partial(make, face)) for name, make in SHAPED.items()}
    return made | {
        "constant": _by_text(partial(aggregates.constant, face)),
        "cmpi": cache(partial(_compare, face, floats=False)),
        "cmpf": cache(partial(_compare, face, floats=True)),
    }


def _by_text(make: Callable[..., Any]) -> Callable[..., Any]:
    """A factory whose requests are the same if their text is: -0.0 equals 0.0."""
    made: dict[str, Any] = {}

    def factory(*arguments: Any) -> Any:
        key = repr(arguments)
        if key not in made:
            made[key] = make(*arguments)
        return made[key]

    return factory


def _compare(face: Face, predicate: str, *, floats: bool) -> Any:
    name = f"cmp{'f' if floats else 'i'}_{predicate}"
    return arithmetic.comparison(face, name, predicate, floats=floats)


def plain(face: Face) -> dict[str, Any]:
    """Intrinsics without a factory."""
    made = {n: arithmetic.elementwise(face, n) for n in arithmetic.ELEMENTWISE}
    divisions = arithmetic.INDEX_DIVISION
    made |= {n: arithmetic.index_division(face, n) for n in divisions}
    formulas = vector_math.formulas(face)
    library = (*functions.UNARY, *functions.BINARY)
    made |= {n: functions.library(face, n, formulas.get(n)) for n in library}
    made |= {n: functions.power(face, n) for n in ("ipowi", "fpowi")}
    made |= {n: complexes.function(face, n) for n in complexes.FORMULAS}
    made |= {"cmplx": complexes.create(face), "cpowi": complexes.power(face)}
    made["address"] = streaming.address(face)
    return made | {"select": arithmetic.select(face)}
