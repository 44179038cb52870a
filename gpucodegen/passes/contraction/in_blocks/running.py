"""What a block does of a product of tiles in its own shared memory.

Warps multiply fragments on tensor cores, which start from nothing:

    for k { wait for the tiles; s += a b }      s in registers
    barrier; C += s                             through shared memory, 16 bytes a thread

Threads multiply quads, in the order of the terms, from what C holds:

    s = C
    for k { wait for the tiles; s += a b }
    C = s

Where no loop keeps the sums, C gets them each time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from gpucodegen.ir.locations import file_location
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import element_bytes, element_type
from gpucodegen.passes.contraction.fragments.factors import PASSES, type_of
from gpucodegen.passes.contraction.fragments.multiply import Fragments, Lane
from gpucodegen.passes.contraction.fragments.result import FragmentTile
from gpucodegen.passes.contraction.gpu.block_order import Place
from gpucodegen.passes.contraction.gpu.multiply import Quads
from gpucodegen.passes.contraction.gpu.result_tile import Cells, ResultTile, starts_last
from gpucodegen.passes.contraction.in_blocks.forms import TileProduct
from gpucodegen.passes.contraction.in_blocks.keeping import runs
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import ZERO, Index
from gpucodegen.tiling.machine.gpu.devices import WARP, WIDEST
from gpucodegen.tiling.machine.gpu.fragments import COLUMNS, ROWS
from gpucodegen.tiling.machine.gpu.product_tiles import LaneMap, SharedTiles, WarpTiles

Plan = SharedTiles | WarpTiles
Parts = tuple[Fragments, FragmentTile] | tuple[Quads, ResultTile]
"""What a thread multiplies, and how its sums come to the result."""


@dataclass(slots=True)
class RunningProduct:
    """A product with its plan; ``sums``: where the walk of the program stands.

    ``loops``: those over which sums stay in registers, outermost first.
    """

    product: TileProduct
    plan: Plan
    parts: Parts
    loops: tuple[Operation, ...] = ()
    sums: Sequence[Value] = field(default_factory=list[Value])

    @staticmethod
    def of(
        b: Builder, product: TileProduct, plan: Plan, thread: Index
    ) -> RunningProduct:
        """With what threads know of their places, and memory for a slice of sums."""
        of_kind = _on_warps if isinstance(plan, WarpTiles) else _by_threads
        return RunningProduct(product, plan, of_kind(b, product, plan, thread))

    @property
    def reads_first(self) -> bool:
        """Whether sums start from what the result holds."""
        return isinstance(self.plan, SharedTiles) and not starts_last(
            self.product.found
        )

    def start(self, b: Builder) -> Sequence[Value]:
        """The sums before any product."""
        return self.parts[1].load(b)

    def run(self, b: Builder) -> None:
        """What a thread does where the nest stands."""
        if not self.loops:
            self.sums = self.start(b)
        found, depth = self.product.found, self.plan.depth
        tiles = found.left.memref, found.right.memref
        multiplied = self.parts[0].multiplied
        self.sums = multiplied(b, tiles, ZERO, ZERO, depth, self.sums)
        if not self.loops:
            if isinstance(self.plan, WarpTiles):
                b.add("gpu.barrier")
            self.store(b)

    def store(self, b: Builder) -> None:
        """Bring the sums to the result, if the loop that made them has run.

        The threads have met since they used the slice of shared memory.
        """
        limits = runs(self.loops[0]) if self.loops else []
        b.guard(limits, lambda i: self.parts[1].store(i, self.sums))

    @property
    def mechanism(self) -> str:
        """The instruction."""
        parts = self.parts[0]
        if isinstance(parts, Fragments):
            return f"mma.sync m{ROWS}n{COLUMNS}k{parts.grain}"
        return "multiply-adds"

    @property
    def how(self) -> str:
        """Types, who has which part, where sums are, and why not tensor cores."""
        plan, found = self.plan, self.product.found
        if isinstance(plan, WarpTiles):
            kind = type_of(found.left)
            count, parts = plan.threads // WARP, (plan.warp_rows, plan.warp_columns)
            who = f"{count} warp{'s' * (count != 1)}"
        else:
            kind = element_type(found.left.memref.type)
            parts = plan.thread_rows, plan.thread_columns
            who = f"{plan.threads} threads"
        part = " x ".join(map(str, parts))
        why = f"; {self.product.reason}" if self.product.reason else ""
        types = f"{kind}, sums in {found.element}"
        return f"{types}; {who} of {part}; {self._where}{why}"

    @property
    def _where(self) -> str:
        """How long the sums stay in registers."""
        if not self.loops:
            return "sums go to the result behind each product"
        place = file_location(self.loops[0].location)
        loop = f"the loop at line {place.line}" if place else "the loop around it"
        return f"sums stay in registers over {loop}"


def _cells(product: TileProduct, plan: Plan, width: int, *, adds_last: bool) -> Cells:
    """The tile of the result, which begins where the program says."""
    where = Place(ZERO, ZERO, product.outside)
    return Cells(product.found, product.groups, plan, where, width, adds_last=adds_last)


def _on_warps(b: Builder, product: TileProduct, plan: Plan, thread: Index) -> Parts:
    """Fragments, and sums that go through a slice of shared memory."""
    assert isinstance(plan, WarpTiles)
    found, lane = product.found, Lane.of(b, plan, thread)
    types, passes = (type_of(found.left), found.element), PASSES.get(found.precision, 1)
    fragments = Fragments.of(b, plan, types, lane, product.tiles, passes)
    size = element_bytes(element_type(found.result.memref.type)) or 1
    cells = _cells(product, plan, WIDEST // size, adds_last=True)
    return fragments, FragmentTile.of(b, cells, fragments, thread, lane)


def _by_threads(b: Builder, product: TileProduct, plan: Plan, thread: Index) -> Parts:
    """Quads of rows and of columns."""
    assert isinstance(plan, SharedTiles)
    lanes, found = LaneMap.of(plan), product.found
    quads = Quads.of(b, lanes, found.element, thread, product.tiles)
    width, adds_last = lanes.columns.quad, starts_last(found)
    return quads, ResultTile(_cells(product, plan, width, adds_last=adds_last), quads)
