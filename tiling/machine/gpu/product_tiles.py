"""Kinds of GPU contraction kernels, and how tiles, threads and K tiles are laid out.

The kinds are classes, members of `Candidate` with lines in `CANDIDATES`:

    SharedTiles     blocks copy tiles of both operands, threads multiply parts of these
    WarpTiles       blocks copy tiles, warps multiply parts of them on tensor cores
    WarpgroupTiles  one warpgroup copies tiles by TMA, the others multiply them

*Thread tiles* (`LaneMap`).  A thread has ``thread_rows x thread_columns`` elements as
quads of at most 4 x 4.  The 32 lanes of a warp lie 4 x 8 in z-order, lane t at row
``t // 2 % 4`` and column ``t // 8 * 2 + t % 2``: lanes t and t ^ 1 read the same rows,
t and t ^ 2 the same columns, so shared memory serves both at once. Neighbouring lanes
have neighbouring quads; the next quad of a thread lies behind those of all lanes.

*K tiles over several reduction axes* (`steps_of`).  Terms are numbered through the
axes, the last one fastest.  K tiles of ``depth`` terms walk them without divisions iff
with some axis j and P positions of all axes behind it

    depth = P q,   and   q divides the extent of axis j, or j is the first axis.

Then every position behind j is the same in every K tile, and j moves by q.

*Rows counted by several axes* (`rectangle`), such as the pixels of images.  A TMA copy
brings a box, so the rows of a tile are a rectangle of positions with a power of two
along each axis; positions beyond an extent are computed in vain.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from functools import cache
from math import ceil, prod
from typing import Protocol, Self, TypeAlias, TypeVar

from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.gpu.devices import WARP, WARPGROUP


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tiles:
    """Fields of all kernels; see `SharedTiles`."""

    splits: int = 1
    resident: int = 1
    group: int = 1
    direct: tuple[bool, bool] = (False, False)
    stages: int = 2


@dataclass(frozen=True, slots=True)
class SharedTiles(_Tiles):
    """A block computes ``tile_rows x tile_columns`` of C in K tiles of ``depth`` terms.

    The tiles of A and B lie in shared memory.  Each thread keeps
    ``thread_rows x thread_columns`` of the tile in registers.  ``splits`` blocks share
    the K range of a tile (split-K).  ``resident``: intended blocks per multiprocessor.
    Blocks walk the tiles in bands of ``group`` rows of them. ``direct``: which of A and
    B the hardware copies to shared memory past the registers (``cp.async``), into one
    of ``stages`` tiles.
    """

    tile_rows: int
    tile_columns: int
    depth: int
    thread_rows: int
    thread_columns: int

    @property
    def threads(self) -> int:
        rows = self.tile_rows // self.thread_rows
        return rows * (self.tile_columns // self.thread_columns)


@dataclass(frozen=True, slots=True)
class WarpTiles(_Tiles):
    """As `SharedTiles`, but a warp keeps ``warp_rows x warp_columns`` as MMA fragments.

    ``depth`` counts elements of 16 bits here, and elements of the operands in a plan
    that is fitted to a product.
    """

    tile_rows: int
    tile_columns: int
    depth: int
    warp_rows: int
    warp_columns: int

    @property
    def threads(self) -> int:
        warps = self.tile_rows // self.warp_rows
        return WARP * warps * (self.tile_columns // self.warp_columns)


@dataclass(frozen=True, slots=True)
class WarpgroupTiles(_Tiles):
    """A producer warpgroup that copies and ``consumers`` that multiply (``wgmma``).

    Each consumer keeps `WARPGROUP_ROWS` rows of the tile in registers.  TMA copies
    bring both operands to a ring of ``stages``, guarded by mbarriers.  Only devices of
    sm_90 run such kernels. ``turns``: tiles of the result per block at most (persistent
    kernel); copies of the next tile begin while the sums of one are stored.
    ``tensor_stores``: the result is stored by TMA copies from boxes in shared memory.
    """

    tile_rows: int
    tile_columns: int
    depth: int
    consumers: int
    direct: tuple[bool, bool] = field(default=(True, True), kw_only=True)
    stages: int = field(default=4, kw_only=True)
    turns: int = 1
    tensor_stores: bool = False

    @property
    def threads(self) -> int:
        return WARPGROUP * (self.consumers + 1)


Candidate: TypeAlias = SharedTiles | WarpTiles | WarpgroupTiles
"""A kernel of a contraction."""

STAGES = (2, 3, 4)
"""Stages in shared memory: one is read while the others are stored.

More than two pay only where no factor goes through registers.
"""
STAGED = 4
"""Elements that a thread holds at once on their way to shared memory."""
CANDIDATES: tuple[SharedTiles, ...] = (
    SharedTiles(16, 16, 8, 2, 2),
    SharedTiles(16, 64, 16, 4, 4),
    SharedTiles(8, 256, 8, 8, 4),
    SharedTiles(8, 512, 8, 8, 8),
    SharedTiles(16, 128, 8, 8, 4),
    SharedTiles(16, 256, 8, 8, 8),
    SharedTiles(32, 128, 8, 8, 8),
    SharedTiles(32, 32, 16, 2, 4),
    SharedTiles(32, 64, 16, 4, 4),
    SharedTiles(64, 32, 16, 4, 4),
    SharedTiles(64, 64, 16, 4, 4),
    SharedTiles(64, 64, 16, 8, 4),
    SharedTiles(128, 64, 16, 8, 4),
    SharedTiles(64, 128, 16, 8, 8),
    SharedTiles(128, 64, 16, 8, 8),
    SharedTiles(128, 128, 16, 8, 8),
    SharedTiles(128, 256, 8, 16, 8),
)
"""In order from least waste on small problems to most reuse."""
THREE_QUARTERS: tuple[SharedTiles, ...] = (
    SharedTiles(24, 256, 8, 6, 8),
    SharedTiles(48, 128, 16, 12, 8),
    SharedTiles(96, 128, 16, 12, 8),
    SharedTiles(128, 48, 16, 8, 6),
    SharedTiles(128, 96, 16, 8, 12),
)
"""Candidates with a side of 3/4 of a power of two, for `wastes_less`."""
FRAGMENTS: tuple[WarpTiles, ...] = (
    WarpTiles(32, 32, 32, 16, 16),
    WarpTiles(64, 32, 32, 32, 16),
    WarpTiles(64, 64, 32, 32, 32),
    WarpTiles(64, 64, 64, 32, 32),
    WarpTiles(64, 128, 32, 32, 64),
    WarpTiles(128, 64, 32, 64, 32),
    WarpTiles(128, 128, 32, 64, 64),
    WarpTiles(128, 128, 64, 64, 64),
    WarpTiles(128, 256, 32, 64, 64),
    WarpTiles(256, 128, 32, 64, 64),
)
"""Candidates on tensor cores, in the same order."""
DOUBLES: tuple[WarpTiles, ...] = (
    WarpTiles(32, 32, 64, 16, 16),
    WarpTiles(64, 32, 64, 32, 16),
    WarpTiles(64, 64, 32, 32, 32),
    WarpTiles(64, 64, 64, 32, 32),
    WarpTiles(64, 128, 64, 32, 64),
    WarpTiles(128, 64, 64, 64, 32),
    WarpTiles(128, 128, 32, 64, 32),
    WarpTiles(128, 128, 64, 64, 32),
)
"""Candidates with f64 sums, two registers each."""
WARPGROUP_ROWS = 64
"""Rows of the result that a warpgroup computes at once."""
SPAN = 128
"""Bytes of a row of a box, and of the swizzle within which its pieces are permuted."""
HALF = 2
"""Bytes of a 16-bit element, in which tensor-core work is counted."""
WARPGROUPS: tuple[WarpgroupTiles, ...] = tuple(
    WarpgroupTiles(WARPGROUP_ROWS * consumers, columns, SPAN // HALF, consumers)
    for consumers in (1, 2)
    for columns in (64, 128, 256)
)
"""Candidates with warpgroups; ``depth`` counts elements of 16 bits."""
MOST_STAGES = 8
"""Stages of a ring beyond which more hide nothing."""
TURNS = (2, 4)
"""Tiles per block that are tried, besides the number that keeps all blocks resident."""
SPLITS = (1, 2, 3, 4, 6, 8)
"""Split-K factors."""


def wastes_less(plan: SharedTiles, rows: int, columns: int) -> bool:
    """Whether a side of 3/4 of a power of two covers an extent with fewer elements.

    >>> [wastes_less(SharedTiles(48, 128, 16, 12, 8), rows, 64) for rows in (48, 64)]
    [True, False]
    """
    sides = (plan.tile_rows, rows), (plan.tile_columns, columns)
    return all(
        -(-extent // side) * side < -(-extent // whole) * whole
        for side, extent in sides
        if (whole := 1 << (side - 1).bit_length()) != side
    )


@cache
def rectangle(extents: tuple[int, ...], rows: int) -> tuple[int, ...]:
    """The rectangle of ``rows`` positions whose tiles cover the fewest missing ones.

    Ties go to the longest along the last axes, whose elements are closest in memory.
    ``rows``: a power of two.

    >>> [rectangle((32, n, n), 64) for n in (56, 28, 14, 7)]
    [(1, 8, 8), (4, 4, 4), (16, 2, 2), (8, 1, 8)]
    >>> rectangle((1000,), 128)
    (128,)
    """

    def cost(sizes: tuple[int, ...]) -> tuple[int, list[int]]:
        tiles = tiles_of(extents, sizes)
        return tiles, [-size for size in reversed(sizes)]

    return min(_rectangles(len(extents), rows), key=cost)


def tiles_of(extents: Sequence[int], sizes: Sequence[int]) -> int:
    """The number of rectangles that cover all positions.

    >>> tiles_of((32, 7, 7), (8, 1, 8))
    28
    """
    return prod(ceil(n / size) for n, size in zip(extents, sizes, strict=True))


def _rectangles(axes: int, rows: int) -> Iterator[tuple[int, ...]]:
    """All rectangles of this many positions."""
    if axes == 1:
        yield (rows,)
        return
    for power in range(rows.bit_length()):
        for others in _rectangles(axes - 1, rows >> power):
            yield (1 << power, *others)


@dataclass(frozen=True, slots=True)
class Steps:
    """``axis`` moves by ``step`` per K tile; ``inner`` positions lie behind it."""

    axis: int
    step: int
    inner: int


def steps_of(extents: Sequence[int | None], depth: int) -> Steps | None:
    """How K tiles walk the axes evenly, the slowest axis first; None if they cannot.

    >>> steps_of((3, 3, 64), 16), steps_of((64, 3, 3), 18)
    (Steps(axis=2, step=16, inner=1), Steps(axis=0, step=2, inner=9))
    >>> steps_of((64, 3, 3), 16)
    """
    axis, inner = len(extents) - 1, 1
    while axis > 0:
        extent = extents[axis]
        if not extent or depth % (inner * extent):
            break
        axis, inner = axis - 1, inner * extent
    step = depth // inner
    extent = extents[axis]
    if axis > 0 and (extent is None or extent % step):
        return None
    terms = 1
    for count in extents:
        terms = 0 if count is None else terms * count
    is_ragged = inner > 1 and terms % inner
    return None if is_ragged else Steps(axis, step, inner)


def even_depth(extents: Sequence[int | None], depth: int, grain: int = 1) -> int:
    """The depth of K tiles that walk evenly, if there is one: ``depth`` if they do.

    Otherwise it is a multiple of ``grain`` between three eighths of ``depth`` and a
    third more, which the shared memory bounds.  The last K tile may have padding, and
    each tile takes as long as a term more: the depth has the fewest of these together.

    >>> [even_depth(extents, 16) for extents in ((3, 3, 64), (64, 3, 3), (7, 7, 3))]
    [16, 18, 21]
    >>> even_depth((5, 7, 11), 16), even_depth((3, 3, 3), 16)
    (11, 9)
    """
    if depth % grain == 0 and steps_of(extents, depth):
        return depth
    tried = range(-(-3 * depth // 8), depth * 4 // 3 + 1)
    even = [n for n in tried if n % grain == 0 and steps_of(extents, n)]
    terms = prod(extent or 1 for extent in extents)
    return min(even, key=lambda n: -(-terms // n) * (n + 1), default=depth)


class Arithmetic(Protocol):
    """Numbers, or expressions that support the same operators."""

    def __add__(self, other: Self | int, /) -> Self: ...
    def __mul__(self, other: int, /) -> Self: ...
    def __floordiv__(self, other: int, /) -> Self: ...
    def __mod__(self, other: int, /) -> Self: ...


Number = TypeVar("Number", bound=Arithmetic)

LANES = 4, 8
"""Lanes of a warp along rows and columns."""
QUAD = 4
"""Elements of a thread that lie side by side: 16 bytes of f32."""


@dataclass(frozen=True, slots=True)
class Side:
    """The distribution of threads along the rows or the columns of a tile.

    ``lanes`` threads of a group lie side by side; each has ``quads`` runs of ``quad``.
    """

    lanes: int
    quad: int
    quads: int

    @property
    def span(self) -> int:
        return self.lanes * self.quad * self.quads


@dataclass(frozen=True, slots=True)
class LaneMap:
    """The threads of a block: groups of ``rows.lanes x columns.lanes`` threads.

    >>> lanes = LaneMap.of(SharedTiles(128, 128, 16, 8, 8))
    >>> lanes.rows, lanes.columns, lanes.across
    (Side(lanes=4, quad=4, quads=2), Side(lanes=8, quad=4, quads=2), 2)
    """

    rows: Side
    columns: Side
    across: int
    """Groups along the columns of the tile."""
    ordered: bool
    """Whether the lanes of a group lie in z-order, or else row by row."""

    def place(self, lane: Number) -> tuple[Number, Number]:
        """The row and the column of a lane among the lanes of its group.

        >>> lanes = LaneMap.of(SharedTiles(128, 128, 16, 8, 8))
        >>> [lanes.place(lane) for lane in (0, 1, 2, 3, 8)]
        [(0, 0), (0, 1), (1, 0), (1, 1), (0, 2)]
        """
        if not self.ordered:
            return lane // self.columns.lanes, lane % self.columns.lanes
        down = self.rows.lanes
        return lane // 2 % down, lane // (2 * down) * 2 + lane % 2

    @staticmethod
    def of(plan: SharedTiles) -> LaneMap:
        """Warps where they fit the tile, or else the whole block as one group."""
        threads = (
            plan.tile_rows // plan.thread_rows,
            plan.tile_columns // plan.thread_columns,
        )
        fits = all(n % lanes == 0 for n, lanes in zip(threads, LANES, strict=True))
        down, across = LANES if fits else threads
        rows, columns = (
            _side(lanes, n)
            for lanes, n in ((down, plan.thread_rows), (across, plan.thread_columns))
        )
        return LaneMap(rows, columns, plan.tile_columns // columns.span, fits)


def _side(lanes: int, elements: int) -> Side:
    quad = next(n for n in (QUAD, 2, 1) if elements % n == 0)
    return Side(lanes, quad, elements // quad)
