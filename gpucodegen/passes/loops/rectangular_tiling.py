"""Rectangular tiling of permutable bands, refused with a witness where illegal.

A band l1..lp may be tiled iff no dependence points backward along any of its loops:

    { d in distances : d_outer = 0, d_l < 0 } = {}   for each l of the band

`Tile` tiles one band, `TileBands` every permutable band.  A loop of t trips from l in
steps of s and tiles of z iterations becomes

    for o = l to u step s*z:  for i = o to min(o + s*z, u) step s          z a number
    for o = 0 to ceil(t / z): for i = l + o*s*z to min(l + (o+1)*s*z, u)   z a value

A tile is full where its end does not lie beyond the bounds:
{ o : box(o) in D } = { o : o + s*z <= u }, as D is rectangular.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from gpucodegen.dialects import affine
from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.affine import AffineMap, Const, Dim
from gpucodegen.ir.attributes import StringAttr
from gpucodegen.ir.operation import (
    Operation,
    Value,
    clone,
    rewrite_bottom_up,
    single_block,
)
from gpucodegen.ir.types import INDEX
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.analysis.queries import analyse
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.functions import in_functions, with_blocks
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.framework.nests import axis_of, inner_operations
from gpucodegen.passes.loops.carried_cells import own_values, through_cells
from gpucodegen.passes.nests import loop_names
from gpucodegen.passes.nests.loop_names import (
    FOR,
    NAME,
    Site,
    loop_name,
    value_named,
    with_suffix,
)
from gpucodegen.passes.nests.loop_ranges import (
    LoopRange,
    chain_of,
    range_of,
    rebuilt,
    sunk,
    with_range,
)
from gpucodegen.passes.nests.loop_rewriting import (
    Replacement,
    chosen_loops,
    is_outermost,
    rewrite_loops,
)
from gpucodegen.records import dataclass
from gpucodegen.tiling.proof.legality import (
    Band,
    Refusal,
    bands,
    check_tiling,
    rectangular,
)
from gpucodegen.tiling.tuning.knobs import Knob, tile_knob

Size = Index | int
"""Iterations of a tile: a number, or the value of a symbol that is at least 1."""


@dataclass(frozen=True, slots=True)
class _Level:
    """One loop: the tile loop, if it is tiled, and the point loop."""

    tiles: Operation | None
    points: Operation
    full: LoopRange
    partial: LoopRange

    @property
    def conditions(self) -> list[Index]:
        """Expressions that are >= 0 in full tiles."""
        if self.full == self.partial:
            return []
        return [upper - self.full.upper for upper in self.partial.uppers[1:]]


def tiled(
    chain: Sequence[Operation],
    sizes: Sequence[Size],
    body: Sequence[Operation],
    *,
    separate: bool = False,
    names: Sequence[str] = (),
) -> Operation:
    """The loops of ``chain``, perfectly nested, around ``body``; nothing is checked.

    Sizes count iterations; a size of 0 or 1 leaves its loop untiled.  With ``separate``
    full tiles get loops of constant length of their own, the others a copy.  ``names``
    of the loops over the tiles; default: that of their loop, and ``_tile``.
    """
    called = (*names, *("" for _ in chain))
    levels = [
        _level(op, size, name)
        for op, size, name in zip(chain, sizes, called, strict=False)
    ]
    inside = rebuilt([with_range(v.points, v.partial) for v in levels], body)
    conditions = [condition for level in levels for condition in level.conditions]
    if separate and conditions:
        full = rebuilt([with_range(v.points, v.full) for v in levels], body)
        inside = _where(conditions, clone(full), inside)
    tiles = [level.tiles for level in levels if level.tiles is not None]
    if not tiles:
        return inside
    return rebuilt(tiles, (inside, affine.yield_(location=inside.location)))


def _level(op: Operation, size: Size, name: str) -> _Level:
    given = range_of(op)
    if isinstance(size, int) and size <= 1:
        return _Level(None, op, given, given)
    own = affine.For(op).iv
    variable = Value(INDEX, name or f"{own.name}_tile", own.location)
    origins, start, end = (
        _by_number(given, size, variable)
        if isinstance(size, int)
        else _by_value(given, size, variable)
    )
    tiles = with_range(op.with_(regions=(single_block((), (variable,)),)), origins)
    full = LoopRange((start,), (end,), given.step)
    divides = isinstance(size, int) and _divides(given, size)
    partial = full if divides else replace(full, uppers=(end, *given.uppers))
    named = with_suffix(tiles, "tile")
    if name and NAME in named.attributes:
        named = named.with_attribute(NAME, StringAttr(name))
    return _Level(named, op, full, partial)


def _by_number(
    given: LoopRange, size: int, origin: Value
) -> tuple[LoopRange, Index, Index]:
    """The range of tiles, the first point of one, and the end of it."""
    length = given.step * size
    return replace(given, step=length), Index.of(origin), Index.of(origin) + length


def _by_value(
    given: LoopRange, size: Index, number: Value
) -> tuple[LoopRange, Index, Index]:
    """As `_by_number` for tiles counted from 0."""
    trips = [(upper - given.lower).ceildiv(given.step) for upper in given.uppers]
    counts = tuple(count.ceildiv(size) for count in trips)
    start = given.after(Index.of(number) * size)
    end = given.after((Index.of(number) + 1) * size)
    return LoopRange((Index.of(0),), counts), start, end


def _divides(given: LoopRange, size: int) -> bool:
    """Whether every tile is full."""
    trips = given.trips.constant if given.is_single else None
    return trips is not None and trips % size == 0


def _where(
    conditions: Sequence[Index], full: Operation, partial: Operation
) -> Operation:
    build = Builder(full.location)
    build.guard(
        conditions,
        lambda inner: inner.operations.append(full),
        lambda inner: inner.operations.append(partial),
    )
    (branch,) = build.operations
    return branch


@dataclass(frozen=True, slots=True)
class Tile(ModulePass):
    """Tile a nest from ``loop`` on; default: every outermost one.

    ``sizes`` count iterations, from the outermost loop in; 0 and 1 leave a loop as it
    is.  A name is that of an index argument of the function, taken as 1 where it is
    less.  ``separate`` gives full tiles loops of their own.  ``relaxed`` permits
    another order of accumulations.  With ``fewer``, where fewer loops than sizes are
    perfectly nested, these take the first sizes.  ``names`` of the loops over tiles, by
    size; default: that of ``i`` is ``i_tile``.

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
    names: tuple[str, ...] = ()

    def apply(self, module: Module) -> Module:
        """Tile, or raise IllegalTransformation with a witness."""
        chosen = chosen_loops(module, self.function, self.loop, is_outermost)
        for site in chosen:
            chain = self._chain(site.loop)
            what = f"tiling the loops ({loop_names.shown(chain)})"
            loop_names.demand(own_values(chain), site.loop, what)
        return through_cells(module, chosen, self._chain, self._tiled)

    def _chain(self, op: Operation) -> list[Operation]:
        return chain_of(sunk(op), len(self.sizes))

    def _tiled(self, module: Module) -> Module:
        surroundings = Surroundings.of(module)

        def transform(site: Site, op: Operation) -> Replacement:
            nest = sunk(op)
            chain = chain_of(nest, len(self.sizes))
            what = f"tiling the loops ({loop_names.shown(chain)})"
            refusal = self._refusal(site, nest, chain, surroundings)
            loop_names.demand(refusal, op, what)
            before, sizes = self._sizes(site)
            body = chain[-1].body.operations
            used = sizes[: len(chain)]
            made = tiled(chain, used, body, separate=self.separate, names=self.names)
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
        refusal = loop_names.without_copies(chain[:1]) or self._several_starts(chain)
        if refusal is not None:
            return refusal
        analysis = loop_names.analysed(site, nest, surroundings)
        loops = loop_names.lifted_loops(analysis, chain)
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
        """The sizes, and operations that compute named ones."""
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
        (op,) = rewrite_bottom_up(op, lambda o: [sunk(o) if o.name == FOR else o])
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
        is_plain = all(op.name == FOR and not op.results for op in chain)
        if not is_plain or len(chain) != len(loops):
            return []
        # Operations between the loops that `sunk` could not move stay in their loop.
        ends = (n for n, op in enumerate(chain, 1) if len(inner_operations(op)) > 1)
        return chain[: next(ends, len(chain))]

    def _tiled(self, op: Operation, chains: dict[int, list[Operation]]) -> Operation:
        """``op`` with the bands inside it tiled, and its own if it begins one."""
        chain = chains.get(id(op), [])
        inmost = chain[-1] if chain else op
        inside = with_blocks(inmost, lambda ops: [self._tiled(o, chains) for o in ops])
        if not chain:
            return inside
        return tiled(chain, self.sizes[: len(chain)], inside.body.operations)
