"""Rectangular tiling of every permutable band, as far as it is legal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.operation import Operation
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.analysis.queries import analyse
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.functions import in_functions, with_blocks
from gpucodegen.passes.loops.tiling.tiled_nest import tiled
from gpucodegen.tiling.proof.legality import Band, bands, rectangular


@dataclass(frozen=True, slots=True)
class TileBands(ModulePass):
    """Tile every permutable band of every nest, by as many of the sizes as are legal.

    Unlike ``tile`` it refuses nothing: a band with fewer loops than sizes takes the
    first ones, and one whose inner bounds depend on its outer loops takes the loops
    before these.  ``relaxed`` permits another order of reassociable accumulations.

    >>> import gpucodegen as gcg
    >>> print(TileBands((4, 8)).apply(gcg.parse('''
    ... func.func @clear(%A: memref<9x9xf32>, %zero: f32) {
    ...   affine.for %i = 0 to 9 {
    ...     affine.for %j = 0 to affine_map<(i) -> (i + 1)>(%i) {
    ...       affine.store %zero, %A[%i, %j] : memref<9x9xf32>
    ...     }
    ...   }
    ...   return
    ... }''')))
    module {
      func.func @clear(%A: memref<9x9xf32>, %zero: f32) {
        affine.for %i_tile = 0 to 9 step 4 {
          affine.for %i = affine_map<(d0) -> (d0)>(%i_tile) to min \
affine_map<(d0) -> (d0 + 4, 9)>(%i_tile) {
            affine.for %j = 0 to affine_map<(d0) -> (d0 + 1)>(%i) {
              affine.store %zero, %A[%i, %j] : memref<9x9xf32>
            }
          }
        }
        return
      }
    }
    """

    name: ClassVar[str] = "tile-bands"
    sizes: tuple[int, ...] = (32, 32, 32)
    relaxed: bool = False

    def apply(self, module: Module) -> Module:
        """Tile the nests of every function."""
        surroundings = Surroundings.of(module)

        def block(operations: Sequence[Operation]) -> list[Operation]:
            return [
                self._nest(op, operations[:at], surroundings)
                if op.name == "affine.for"
                else op
                for at, op in enumerate(operations)
            ]

        return in_functions(module, lambda op: [with_blocks(op, block)])

    def _nest(
        self, op: Operation, context: Sequence[Operation], surroundings: Surroundings
    ) -> Operation:
        analysis = analyse([op], context, surroundings)
        body, found = analysis.lifted.scop.body, analysis.dependences
        chains = [
            self._chain(band) for band in bands(body, found, relaxed=self.relaxed)
        ]
        return self._tiled(op, {id(chain[0]): chain for chain in chains if chain})

    def _chain(self, band: Band) -> list[Operation]:
        """The loops of a band that can be tiled together."""
        loops = band.loops[: len(self.sizes)]
        while not rectangular(loops):
            loops = loops[:-1]
        made_from = [loop.payload for loop in loops]
        chain = [op for op in made_from if isinstance(op, Operation)]
        is_plain = all(op.name == "affine.for" and not op.results for op in chain)
        return chain if is_plain and len(chain) == len(loops) else []

    def _tiled(self, op: Operation, chains: dict[int, list[Operation]]) -> Operation:
        """``op`` with the bands inside it tiled, and its own if it begins one."""
        chain = chains.get(id(op), [])
        inmost = chain[-1] if chain else op
        inside = with_blocks(inmost, lambda ops: [self._tiled(o, chains) for o in ops])
        if not chain:
            return inside
        return tiled(chain, self.sizes[: len(chain)], inside.body.operations)
