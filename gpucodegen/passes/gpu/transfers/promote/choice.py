"""Which arrays of a nest get a buffer, and at which loop.

A tile is held at the outermost loop where it stays the same: the loops inside that one
neither change its extents nor are parallel, since iterations that run at once need a
buffer each.  By default arrays whose tile pays (`LocalTile.pays`) are taken in textual
order, as long as they fit.  Arrays asked for by name must be possible.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gpucodegen import errors
from gpucodegen.ir.locations import file_location
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import MemRefType, element_bytes, element_type
from gpucodegen.passes.analysis.queries import NestAnalysis
from gpucodegen.tiling.model.relations import Model, Reference
from gpucodegen.tiling.proof.legality import Refusal
from gpucodegen.tiling.schedule.promotion import LocalTile, local_tiles

ACCESSES = frozenset(
    {"affine.load", "affine.store", "affine.vector_load", "affine.vector_store"}
)


@dataclass(frozen=True, slots=True)
class TileNest:
    """A nest under analysis with the loops at whose iterations tiles are held."""

    analysis: NestAnalysis
    model: Model
    loops: tuple[Operation, ...]

    def operation(self, reference: Reference) -> Operation:
        """The operation that makes an access."""
        return self.analysis.lifted.operations[reference.instances.name][
            reference.position
        ]

    def memref(self, array: str) -> Value:
        """The buffer of an array."""
        return self.analysis.lifted.arrays[array]


def chosen(nest: TileNest, names: Sequence[str], capacity: int) -> list[LocalTile]:
    """The tiles to hold, of at most ``capacity`` bytes together.

    Raises `IllegalTransformation` or `ResourceLimit` for an array asked for by name.
    """
    tiles: list[LocalTile] = []
    used = 0
    for array in _arrays(nest):
        memref = nest.memref(array)
        forced = memref.name in names
        for found in _tiles(nest, array) if forced or not names else ():
            if isinstance(found, Refusal):
                if forced:
                    raise errors.IllegalTransformation(
                        nest.loops[0].location,
                        transformation=f"holding a tile of %{memref.name}",
                        reason=str(found),
                    )
                continue
            size = found.elements * (element_bytes(element_type(memref.type)) or 0)
            if forced and used + size > capacity:
                raise errors.ResourceLimit(
                    nest.loops[0].location,
                    what=f"fast memory for a tile of %{memref.name}",
                    needed=f"{used + size} bytes",
                    limit=f"{capacity} bytes",
                )
            if forced or (found.pays and used + size <= capacity):
                tiles.append(found)
                used += size
    return tiles


def _arrays(nest: TileNest) -> Iterator[str]:
    """Buffers from outside of the nest, in the order of their first access."""
    arrays = {a.name: a for a in nest.model.scop.arrays if not (a.scope or a.register)}
    seen = dict.fromkeys(r.access.array for r in nest.model.references)
    return (name for name in seen if name in arrays)


def _tiles(nest: TileNest, array: str) -> Sequence[LocalTile | Refusal]:
    unsuitable = _unsuitable(nest, array)
    if unsuitable:
        return [Refusal(unsuitable)]
    depth = len(nest.loops)
    tiles = local_tiles(nest.model, array, depth)
    while depth > 1 and not nest.analysis.is_parallel(nest.loops[depth - 1]):
        depth -= 1
        wider = local_tiles(nest.model, array, depth)
        if _boxes(wider) != _boxes(tiles):
            break
        tiles = wider
    return tiles


def _boxes(tiles: Sequence[LocalTile | Refusal]) -> list[object]:
    """What must be the same for tiles to be held further out."""
    return [
        (t.extents, len(t.references)) if isinstance(t, LocalTile) else None
        for t in tiles
    ]


def _unsuitable(nest: TileNest, array: str) -> str:
    """Why accesses of an array cannot go to another buffer; nothing if they can."""
    memref = nest.memref(array)
    if not isinstance(memref.type, MemRefType) or not memref.type.rank:
        return "it has no dimensions"
    if element_bytes(memref.type.element) is None:
        return f"elements of type {memref.type.element} have no size in bytes"
    for reference in nest.model.references:
        if reference.access.array == array:
            op = nest.operation(reference)
            if op.name not in ACCESSES or memref not in op.operands[:2]:
                return f"'{op.name}' uses it too{_place(op)}"
    return ""


def buffers_of(op: Operation) -> Iterator[Value]:
    """The memrefs that an operation uses."""
    return (v for v in op.operands if isinstance(v.type, MemRefType))


def _place(op: Operation) -> str:
    place = file_location(op.location)
    return f" in line {place.line}" if place else ""
