"""Tiles of arrays in fast memory: copied in, used, copied out.

After `tile`, an iteration of the tile loops works on a part of each array.  Where that
part has constant extents it gets a buffer (`gpucodegen.tiling.schedule.promotion` says
when this is right), all accesses go there, and copies stand before and after the point
loops.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from gpucodegen import errors
from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.shared.memory import is_shared
from gpucodegen.ir.attributes import IntegerAttr
from gpucodegen.ir.operation import Operation, Value, segment_counts
from gpucodegen.ir.types import I64, MemRefType, element_type
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.analysis.queries import analyse
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.functions import in_functions, with_blocks
from gpucodegen.passes.framework.nests import inner_operations
from gpucodegen.passes.gpu.transfers.promote.choice import TileNest, buffers_of, chosen
from gpucodegen.passes.gpu.transfers.promote.copies import Held, Way
from gpucodegen.passes.gpu.transfers.promote.levels import perfect_chain, tile_loops
from gpucodegen.passes.gpu.transfers.promote.redirect import redirected
from gpucodegen.passes.gpu.transfers.promote.scope import Scope
from gpucodegen.passes.gpu.transfers.promote.transfers import COPIES, Moves
from gpucodegen.tiling.machine.gpu.devices import STATIC_SHARED
from gpucodegen.tiling.model.relations import model
from gpucodegen.tiling.schedule.promotion import LocalTile


@dataclass(frozen=True, slots=True)
class Promote(ModulePass):
    """Hold tiles of arrays in fast memory.

    ``arrays``: names of the buffers to hold; without any, those that pay and fit.
    ``depth``: how many outer loops make a tile; 0 finds the loops that `tile` made.
    ``space``: the memory space of the buffers.  ``capacity``: bytes that the buffers of
    a nest may take together.  ``transfers``: ``loops``, or ``dma`` for dma_start and
    dma_wait where a tile's rows are runs.
    """

    name: ClassVar[str] = "promote"
    arrays: tuple[str, ...] = ()
    depth: int = 0
    space: int = 2
    capacity: int = STATIC_SHARED
    transfers: str = "loops"

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
        """Option values that mean nothing, each with a remedy."""
        if self.transfers not in COPIES:
            hint = f"Give one of {errors.one_of(list(COPIES))}"
            yield f"option 'transfers' cannot be '{self.transfers}'", hint
        if not is_shared(IntegerAttr(self.space, I64)):
            hint = "Give the number of a fast memory, 2 or 3"
            yield f"memory space {self.space} is no fast memory", hint
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
        loops = perfect_chain(op)[: self.depth] if self.depth else tile_loops(op)
        if not loops:
            return [op]
        analysis = analyse([op], context, surroundings)
        nest = TileNest(analysis, model(analysis.lifted.scop), tuple(loops))
        scope = Scope.of(analysis.lifted, loops)
        tiles = chosen(nest, self.arrays, self.capacity)
        rebuilt = self._rebuilt(nest, [self._held(nest, t, scope) for t in tiles])
        return [*scope.before.operations, rebuilt]

    def _held(self, nest: TileNest, tile: LocalTile, scope: Scope) -> Held:
        memref = nest.memref(tile.array)
        space = IntegerAttr(self.space, I64)
        ty = MemRefType(tile.extents, element_type(memref.type), None, space)
        buffer = Value(ty, f"{memref.name}_fast", memref.location)
        return Held(tile, memref, buffer, scope)

    def _rebuilt(self, nest: TileNest, held: Sequence[Held]) -> Operation:
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
        self, body: Sequence[Operation], held: Sequence[Held], loop: Operation
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
    """All copies begin, then they are finished."""
    return [
        op
        for part in ("begin", "finish", "release")
        for moves in copies
        for op in getattr(moves, part).operations
    ]
