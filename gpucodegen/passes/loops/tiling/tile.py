"""Rectangular tiling of a permutable band, refused with a witness where illegal.

A band l1..lp may be tiled iff no dependence points backward along any of its loops:

    { d in distances : d_outer = 0, d_l < 0 } = {}   for each l of the band
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from gpucodegen.dialects import affine
from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.affine import AffineMap, Const, Dim
from gpucodegen.ir.operation import Operation
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.framework.nests import axis_of
from gpucodegen.passes.loops.cells.carried_cells import own_values, through_cells
from gpucodegen.passes.loops.framework import legality
from gpucodegen.passes.loops.framework.chains import chain_of, sunk
from gpucodegen.passes.loops.framework.naming import Site, loop_name, value_named
from gpucodegen.passes.loops.framework.ranges import range_of
from gpucodegen.passes.loops.framework.replacement import Replacement
from gpucodegen.passes.loops.framework.rewriting import (
    chosen_loops,
    is_outermost,
    rewrite_loops,
)
from gpucodegen.passes.loops.tiling.tiled_nest import Size, tiled
from gpucodegen.tiling.proof.legality import Refusal, check_tiling, rectangular
from gpucodegen.tiling.tuning.knobs import Knob, tile_knob


@dataclass(frozen=True, slots=True)
class Tile(ModulePass):
    """Tile a nest from ``loop`` on; default: every outermost one.

    ``sizes`` count iterations, from the outermost loop in; 0 and 1 leave a loop as it
    is.  A name is that of an index argument of the function, taken as 1 where it is
    less.  ``separate`` gives full tiles loops of their own.  ``relaxed`` permits
    another order of accumulations.  With ``fewer``, where fewer loops than sizes are
    perfectly nested, these take the first sizes.

    >>> import gpucodegen as gcg
    >>> module = gcg.parse('''
    ... func.func @f(%A: memref<?xf32>, %n: index, %z: index, %v: f32) {
    ...   affine.for %i = 0 to %n {
    ...     affine.store %v, %A[%i] : memref<?xf32>
    ...   }
    ...   return
    ... }''')
    >>> print(Tile(sizes=(8,), separate=True).apply(module))
    module {
      func.func @f(%A: memref<?xf32>, %n: index, %z: index, %v: f32) {
        affine.for %i_tile = 0 to %n step 8 {
          affine.if affine_set<(d0, d1) : (d0 - d1 - 8 >= 0)>(%n, %i_tile) {
            affine.for %i = affine_map<(d0) -> (d0)>(%i_tile) to \
affine_map<(d0) -> (d0 + 8)>(%i_tile) {
              affine.store %v, %A[%i] : memref<?xf32>
            }
          } else {
            affine.for %i = affine_map<(d0) -> (d0)>(%i_tile) to \
min affine_map<(d0, d1) -> (d0 + 8, d1)>(%i_tile, %n) {
              affine.store %v, %A[%i] : memref<?xf32>
            }
          }
        }
        return
      }
    }
    """

    name: ClassVar[str] = "tile"
    sizes: tuple[int | str, ...] = (32, 32)
    relaxed: bool = False
    function: str = ""
    loop: str = ""
    separate: bool = False
    fewer: bool = False

    def apply(self, module: Module) -> Module:
        """Tile, or raise IllegalTransformation with a witness."""
        chosen = chosen_loops(module, self.function, self.loop, is_outermost)
        for site in chosen:
            chain = self._chain(site.loop)
            what = f"tiling the loops ({legality.shown(chain)})"
            legality.demand(own_values(chain), site.loop, what)
        return through_cells(module, chosen, self._chain, self._tiled)

    def _chain(self, op: Operation) -> list[Operation]:
        return chain_of(sunk(op), len(self.sizes))

    def _tiled(self, module: Module) -> Module:
        surroundings = Surroundings.of(module)

        def transform(site: Site, op: Operation) -> Replacement:
            nest = sunk(op)
            chain = chain_of(nest, len(self.sizes))
            what = f"tiling the loops ({legality.shown(chain)})"
            refusal = self._refusal(site, nest, chain, surroundings)
            legality.demand(refusal, op, what)
            before, sizes = self._sizes(site)
            body = chain[-1].body.operations
            used = sizes[: len(chain)]
            made = tiled(chain, used, body, separate=self.separate)
            return Replacement((*before, made))

        chosen = chosen_loops(module, self.function, self.loop, is_outermost)
        return rewrite_loops(module, chosen, transform)

    def knobs(self, module: Module) -> Sequence[Knob]:
        """Sizes of the tiles of each band of several loops, legal or not."""
        chosen = chosen_loops(module, self.function, self.loop, is_outermost)
        chains = [chain_of(sunk(site.loop)) for site in chosen]
        return [
            tile_knob([axis and axis.extent for axis in map(axis_of, chain)])
            for chain in chains
            if len(chain) > 1
        ]

    def _refusal(
        self,
        site: Site,
        nest: Operation,
        chain: Sequence[Operation],
        surroundings: Surroundings,
    ) -> Refusal | None:
        if len(chain) < len(self.sizes) and not self.fewer:
            return Refusal(
                f"only {len(chain)} of {len(self.sizes)} loops are perfectly nested"
            )
        refusal = legality.without_copies(chain[:1]) or self._several_starts(chain)
        if refusal is not None:
            return refusal
        analysis = legality.analysed(site, nest, surroundings)
        loops = legality.lifted_loops(analysis, chain)
        refusal = check_tiling(analysis.dependences, loops, relaxed=self.relaxed)
        if refusal is None and not rectangular(loops):
            reason = "the bounds of an inner loop depend on an outer loop of the band"
            return Refusal(reason)
        return refusal

    def _several_starts(self, chain: Sequence[Operation]) -> Refusal | None:
        """Tiles of symbolic size are counted from one lower bound."""
        for op, size in zip(chain, self.sizes, strict=False):
            if isinstance(size, str) and len(range_of(op).lowers) > 1:
                return Refusal(f"loop {loop_name(op)} has several lower bounds")
        return None

    def _sizes(self, site: Site) -> tuple[list[Operation], list[Size]]:
        """The sizes, and operations that compute those of names."""
        before: list[Operation] = []
        sizes: list[Size] = []
        for size in self.sizes:
            if isinstance(size, int):
                sizes.append(size)
                continue
            given = value_named(site.function, size, self.name)
            at_least_one = AffineMap(1, 0, (Dim(0), Const(1)))
            made = affine.max_(at_least_one, given.values, name=size)
            before.append(made.with_(location=site.loop.location))
            sizes.append(Index.of(made.result))
        return before, sizes
