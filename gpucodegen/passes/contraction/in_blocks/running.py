"""What the warps of a block do of a product of tiles: fragments from shared memory.

    for k { wait for the tiles; s += a b }      s in registers
    barrier; C += s                             through shared memory, 16 bytes a thread

Where no loop keeps the sums, they start from nothing and are added to C each time.
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
from gpucodegen.passes.contraction.gpu.result_tile import Cells
from gpucodegen.passes.contraction.in_blocks.forms import TileProduct
from gpucodegen.passes.contraction.in_blocks.keeping import runs
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import ZERO, Index
from gpucodegen.tiling.machine.gpu.limits import WARP, WIDEST
from gpucodegen.tiling.machine.gpu.products.candidates import WarpTiles
from gpucodegen.tiling.machine.gpu.products.fragments import COLUMNS, ROWS


@dataclass(slots=True)
class RunningProduct:
    """A product with its fragments; ``sums``: where the walk of the program stands.

    ``loops``: those over which sums stay in registers, outermost first.
    """

    product: TileProduct
    loops: tuple[Operation, ...]
    fragments: Fragments
    tile: FragmentTile
    sums: Sequence[Value] = field(default_factory=list[Value])

    @staticmethod
    def of(
        b: Builder,
        product: TileProduct,
        plan: WarpTiles,
        thread: Index,
        loops: tuple[Operation, ...],
    ) -> RunningProduct:
        """With what lanes know of their places, and memory for a slice of the sums."""
        found, lane = product.found, Lane.of(b, plan, thread)
        types = type_of(found.left), found.element
        passes = PASSES.get(found.precision, 1)
        fragments = Fragments.of(b, plan, types, lane, product.tiles, passes)
        size = element_bytes(element_type(found.result.memref.type)) or 1
        where = Place(ZERO, ZERO, product.outside)
        cells = Cells(
            *(found, product.groups, plan, where, WIDEST // size), adds_last=True
        )
        tile = FragmentTile.of(b, cells, fragments, thread, lane)
        return RunningProduct(product, loops, fragments, tile)

    @property
    def mechanism(self) -> str:
        """The instruction, in its shape."""
        return f"mma.sync m{ROWS}n{COLUMNS}k{self.fragments.grain}"

    @property
    def how(self) -> str:
        """Types, warps, and where sums are."""
        plan, found = self.fragments.plan, self.product.found
        count = plan.threads // WARP
        warps = f"{count} warp{'s' * (count != 1)}"
        part = f"{warps} of {plan.warp_rows} x {plan.warp_columns}"
        types = f"{type_of(found.left)}, sums in {found.element}"
        return f"{types}; {part}; {self._where}"

    @property
    def _where(self) -> str:
        """How long the sums stay in registers."""
        if not self.loops:
            return "the sums are added to the result each time"
        place = file_location(self.loops[0].location)
        loop = f"the loop at line {place.line}" if place else "the loop around it"
        return f"sums stay in registers over {loop}"

    def start(self, b: Builder) -> Sequence[Value]:
        """No products yet."""
        return self.fragments.zeros(b)

    def run(self, b: Builder) -> None:
        """What a warp does where the nest stands."""
        if not self.loops:
            self.sums = self.start(b)
        found = self.product.found
        tiles = found.left.memref, found.right.memref
        depth = self.fragments.plan.depth
        self.sums = self.fragments.multiplied(b, tiles, ZERO, ZERO, depth, self.sums)
        if not self.loops:
            b.add("gpu.barrier")
            self.store(b)

    def store(self, b: Builder) -> None:
        """Add the sums to the result, if the loop that made them has run.

        The threads have met since they used the slice.
        """
        limits = runs(self.loops[0]) if self.loops else []
        b.guard(limits, lambda i: self.tile.store(i, self.sums))
