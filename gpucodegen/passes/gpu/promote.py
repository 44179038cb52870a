"""Promotion of array tiles to fast memory: copy in, use, copy out.

After `tile`, an iteration of the tile loops accesses a part of each array.  If that
part has constant extents it gets a buffer (`gpucodegen.tiling.schedule.promotion`
proves when this is right); all accesses go there, and copies stand before and after the
point loops.

A tile is held at the outermost loop in which it does not change: the loops inside that
one neither change its extents nor are parallel, since concurrent iterations need
separate buffers.  By default, arrays whose tile pays (`LocalTile.pays`) are promoted in
textual order while they fit.  Arrays requested by name must be promotable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import ClassVar

from gpucodegen import errors
from gpucodegen.dialects import affine
from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.shared.memory import is_shared
from gpucodegen.ir.attributes import IntegerAttr
from gpucodegen.ir.locations import file_location
from gpucodegen.ir.operation import Operation, Value, segment_counts
from gpucodegen.ir.types import I64, MemRefType, element_bytes, element_type
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.analysis.queries import NestAnalysis, analyse
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.functions import in_functions, with_blocks
from gpucodegen.passes.framework.nests import inner_operations, perfect_chain
from gpucodegen.passes.gpu.promoted_copies import (
    COPIES,
    Moves,
    PromotedBuffer,
    Scope,
    Way,
    redirected,
)
from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.gpu.devices import STATIC_SHARED
from gpucodegen.tiling.model.relations import Model, Reference, model
from gpucodegen.tiling.proof.legality import Refusal
from gpucodegen.tiling.schedule.promotion import LocalTile, local_tiles


def _carries_nothing(loop: Operation) -> bool:
    return not loop.results


def tile_loops(op: Operation) -> list[Operation]:
    """The loops of the chain down to the last one that an inner loop starts from."""
    origins = {
        value
        for inner in op.walk()
        if inner.name == "affine.for"
        for value in affine.For(inner).lower_operands
    }
    chain = perfect_chain(op, _carries_nothing)
    used = [n for n, loop in enumerate(chain) if affine.For(loop).iv in origins]
    return chain[: used[-1] + 1] if used else []


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
        return self.analysis.lifted.operations[reference.instances.name][
            reference.position
        ]

    def memref(self, array: str) -> Value:
        return self.analysis.lifted.arrays[array]


def _padded(extents: Sequence[int], padding: int) -> tuple[int, ...]:
    *rows, columns = extents
    return (*rows, columns + padding)


def chosen(
    nest: TileNest,
    names: Sequence[str],
    capacity: int,
    padding: Callable[[str], int] = lambda _: 0,
) -> list[LocalTile]:
    """The tiles to hold, of at most ``capacity`` bytes together.

    ``padding``: elements behind each row of an array's buffer.
    Raises `IllegalTransformation` or `ResourceLimit` for an array requested by name.
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
            elements = prod(_padded(found.extents, padding(memref.name)))
            size = elements * (element_bytes(element_type(memref.type)) or 0)
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
    """The properties that must not change for tiles to be held further out."""
    return [
        (t.extents, len(t.references)) if isinstance(t, LocalTile) else None
        for t in tiles
    ]


def _unsuitable(nest: TileNest, array: str) -> str:
    """Why accesses of an array cannot be redirected to a buffer; empty if they can."""
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


@dataclass(frozen=True, slots=True)
class Promote(ModulePass):
    """Hold tiles of arrays in fast memory.

    ``arrays``: names of the buffers to hold; without any, those that pay and fit.
    ``depth``: how many outer loops make a tile; 0 finds the loops that `tile` made.
    ``space``: the memory space of the buffers.  ``capacity``: bytes that the buffers of
    a nest may take together.  ``transfers``: ``loops``, or ``dma`` for dma_start and
    dma_wait where a tile's rows are runs.  ``padding``: elements behind each row of
    every buffer, or of each of ``arrays``, so that rows begin in different banks.
    """

    name: ClassVar[str] = "promote"
    arrays: tuple[str, ...] = ()
    depth: int = 0
    space: int = 2
    capacity: int = STATIC_SHARED
    transfers: str = "loops"
    padding: tuple[int, ...] = ()

    def apply(self, module: Module) -> Module:
        """Hold tiles, or raise for an array that cannot be held as asked."""
        for problem, hint in self._problems(module):
            raise errors.InvalidPassOption(name=self.name, problem=problem, hint=hint)
        surroundings = Surroundings.of(module)

        def block(operations: Sequence[Operation]) -> list[Operation]:
            return [
                rewritten
                for at, op in enumerate(operations)
                for rewritten in self._rewritten(op, operations[:at], surroundings)
            ]

        return in_functions(module, lambda op: [with_blocks(op, block)])

    def _problems(self, module: Module) -> Iterator[tuple[str, str]]:
        """Invalid option values, each with a remedy."""
        if self.transfers not in COPIES:
            hint = f"Give one of {errors.one_of(list(COPIES))}"
            yield f"option 'transfers' cannot be '{self.transfers}'", hint
        if not is_shared(IntegerAttr(self.space, I64)):
            hint = "Give the number of a fast memory, 2 or 3"
            yield f"memory space {self.space} is no fast memory", hint
        if len(self.padding) > 1 and len(self.padding) != len(self.arrays):
            hint = "Give one number, or one for each of 'arrays'"
            yield f"option 'padding' cannot be {list(self.padding)}", hint
        known = {v.name for op in module.walk() for v in buffers_of(op)}
        for name in self.arrays:
            if name not in known:
                hint = errors.did_you_mean(name, known, "Give names of memrefs")
                yield f"there is no buffer %{name}", hint

    def _rewritten(
        self, op: Operation, context: Sequence[Operation], surroundings: Surroundings
    ) -> list[Operation]:
        """A nest with its tiles held; other operations stay."""
        if op.name != "affine.for":
            return [op]
        chain = perfect_chain(op, _carries_nothing)
        loops = chain[: self.depth] if self.depth else tile_loops(op)
        if not loops:
            return [op]
        analysis = analyse([op], context, surroundings)
        nest = TileNest(analysis, model(analysis.lifted.scop), tuple(loops))
        scope = Scope.of(analysis.lifted, loops)
        tiles = chosen(nest, self.arrays, self.capacity, self._padding)
        rebuilt = self._rebuilt(nest, [self._held(nest, t, scope) for t in tiles])
        return [*scope.before.operations, rebuilt]

    def _padding(self, array: str) -> int:
        """Elements behind each row of an array's buffer."""
        if len(self.padding) == 1:
            return self.padding[0]
        of_names = dict(zip(self.arrays, self.padding, strict=False))
        return of_names.get(array, 0)

    def _held(self, nest: TileNest, tile: LocalTile, scope: Scope) -> PromotedBuffer:
        memref = nest.memref(tile.array)
        space = IntegerAttr(self.space, I64)
        shape = _padded(tile.extents, self._padding(memref.name))
        ty = MemRefType(shape, element_type(memref.type), None, space)
        buffer = Value(ty, f"{memref.name}_fast", memref.location)
        return PromotedBuffer(tile, memref, buffer, scope)

    def _rebuilt(self, nest: TileNest, held: Sequence[PromotedBuffer]) -> Operation:
        """The nest with each buffer in the body of the loop that it belongs to."""
        table = {
            id(nest.operation(reference)): item
            for item in held
            for reference in item.tile.references
        }
        body = [redirected(o, table) for o in inner_operations(nest.loops[-1])]
        for depth in range(len(nest.loops), 0, -1):
            here = [item for item in held if item.tile.depth == depth]
            loop = nest.loops[depth - 1]
            terminator = loop.body.operations[len(inner_operations(loop)) :]
            body = [loop.with_body([*self._around(body, here, loop), *terminator])]
        return body[0]

    def _around(
        self, body: Sequence[Operation], held: Sequence[PromotedBuffer], loop: Operation
    ) -> list[Operation]:
        """Buffers and copies before the body, copies and releases after it."""
        copy = COPIES[self.transfers]
        before, after = Builder(loop.location), Builder(loop.location)
        for item in held:
            sizes = {"operandSegmentSizes": segment_counts(0, 0)}
            before.operations.append(
                Operation(
                    "memref.alloc", (), (item.buffer,), sizes, location=loop.location
                )
            )
        into = [copy(item, Way.IN, loop.location) for item in held]
        out = [copy(item, Way.OUT, loop.location) for item in held]
        inside = [*_in_order(into), *body, *_in_order(out)]
        for item in held:
            after.add("memref.dealloc", (item.buffer,))
        return [*before.operations, *inside, *after.operations]


def _in_order(copies: Sequence[Moves]) -> list[Operation]:
    """All copies start, then all are completed."""
    return [
        op
        for part in ("begin", "finish", "release")
        for moves in copies
        for op in getattr(moves, part).operations
    ]
