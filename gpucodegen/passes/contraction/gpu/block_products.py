"""Tile products inside user-written block programs, with operands in shared memory.

    for i, j, k { C[x + i, y + j] += a[s, i, k] * b[s, k, j] }    a, b in shared memory

`tile_products` finds them with `recognize` and decides how warps or threads share each;
`on_tensor_cores` says whether tensor cores apply, and `refused` why not.  The order of
a float sum must be free for tensor cores.  Warps multiply fragments, starting from
zero:

    for k { wait for the tiles; s += a b }      s in registers
    barrier; C += s                             through shared memory, 16 bytes a thread

Threads multiply thread tiles in the summation order of the program, starting from C:

    s = C
    for k { wait for the tiles; s += a b }
    C = s

Sums stay in registers over a loop that directly contains the product
(`RunningProduct`),

    for k { .. C[i, j] += a b .. }   =>   s = 0; for k { .. s += a b .. }; C[i, j] += s

if the elements of C do not depend on the loop, the loop runs at least once, and nothing
else in it accesses them:

    { x -> y in dependences : x writes C, y is of another operation of the loop } = {}

and the same with x and y exchanged.  Elsewhere C is updated in each iteration.
`UserLayout` reads operands in the layout that the program chose.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace

from gpucodegen.dialects import affine
from gpucodegen.ir.locations import file_location
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import (
    FloatType,
    MemRefType,
    Type,
    VectorType,
    element_bytes,
    element_type,
)
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.analysis.queries import NestAnalysis, analyse
from gpucodegen.passes.contraction.gpu.axes import (
    Groups,
    Place,
    groups_of,
    paying_contraction,
)
from gpucodegen.passes.contraction.gpu.staging import At
from gpucodegen.passes.contraction.gpu.tensor_cores import (
    PASSES,
    Fragments,
    FragmentTile,
    Lane,
    on_tensor_cores,
    type_of,
)
from gpucodegen.passes.contraction.gpu.thread_tile import (
    Cells,
    QuadTile,
    ResultTile,
    starts_last,
)
from gpucodegen.passes.contraction.isolated_nest import isolated
from gpucodegen.passes.contraction.operands import Operand, coefficients
from gpucodegen.passes.contraction.recognize import (
    Contraction,
    only_accumulates,
)
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import (
    ZERO,
    Index,
    bounds_of,
    compact,
)
from gpucodegen.passes.framework.nests import Axis, inner_operations
from gpucodegen.passes.outlining.gpu_launch import SHARED
from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.gpu.devices import WARP, WIDEST
from gpucodegen.tiling.machine.gpu.fragments import COLUMNS, ROWS, terms_of
from gpucodegen.tiling.machine.gpu.product_tiles import LaneMap, SharedTiles, WarpTiles
from gpucodegen.tiling.machine.gpu.shared_copies import ROW
from gpucodegen.tiling.machine.gpu.user_tiles import (
    MOST_WARPS,
    ROOM,
    Tile,
    slice_bytes,
    thread_tiles,
    warp_tiles,
)


@dataclass(frozen=True, slots=True)
class UserLayout:
    """The shared-memory layout of an operand over ``positions`` and ``terms``.

    ``outside``: other values in its indices.
    """

    operand: Operand
    positions: Axis
    terms: Axis
    outside: Mapping[Value, Index]

    @property
    def by_position(self) -> bool | None:
        """The axis that is contiguous in rows of 16 bytes; None if neither is.

        The strides of all dimensions but the last one are then multiples of 16 bytes,
        as is the offset of the axis along the last one.
        """
        ty = self.operand.memref.type
        size = element_bytes(element_type(ty)) or 0
        if not isinstance(ty, MemRefType) or ty.layout is not None or not ty.rank:
            return None
        last = ty.shape[-1]
        if self.operand.steps or not size or last is None or last * size % ROW:
            return None
        along = [axis for axis in (self.positions, self.terms) if self._begins(axis)]
        return along[0] is self.terms if len(along) == 1 else None

    def _begins(self, axis: Axis) -> bool:
        """Whether the last index is the axis plus a multiple of 16 bytes."""
        *others, index = self.operand.indices
        size = element_bytes(element_type(self.operand.memref.type)) or 1
        rest = compact(index - axis.iv).constant
        is_alone = not any(axis.iv in other.values for other in others)
        is_one = coefficients(index).get(axis.iv) == 1
        return is_one and is_alone and rest is not None and rest * size % ROW == 0

    def place(self, stage: Index, term: Index, position: Index) -> list[Index]:
        """The indices of an element; the program chooses its stage itself."""
        del stage
        return self.operand.at(self._at(term, position))

    def element(
        self, b: Builder, tile: Value, stage: Index, term: Index, position: Index
    ) -> Value:
        """The value at a place, after the program's scalar operations."""
        del tile, stage
        return self.operand.value(b, self._at(term, position))

    def line(self, b: Builder, tile: Value, at: At, ty: VectorType, hint: str) -> Value:
        """The values of a term at neighbouring positions; one by one if necessary."""
        stage, term, position = at
        if self.by_position is False:
            return b.vector_load(tile, self.place(*at), ty, hint)
        count = ty.shape[0]
        places = [position + n for n in range(count)]
        values = [self.element(b, tile, stage, term, place) for place in places]
        return b.from_elements(values, hint)

    def _at(self, term: Index, position: Index) -> dict[Value, Index]:
        here = {self.positions.iv: position, self.terms.iv: term}
        return {**self.outside, **here}


def kept_over(
    nest: Operation,
    around: Sequence[Operation],
    result: Operand,
    outside: Mapping[Value, Index],
    analysis: NestAnalysis,
) -> tuple[Operation, ...]:
    """The loops over which sums stay in registers, outermost first.

    ``around``: the loops directly around the nest.  ``outside``: values in the result's
    indices that are no values of the program.
    """
    own = set(_made_in(nest))
    places = {result.memref, *_outer_values(result, outside)} - own
    loops: list[Operation] = []
    inner = nest
    for loop in reversed(around):
        others = [op for op in inner_operations(loop) if op is not inner]
        is_apart = not _touch(nest, others, analysis)
        moves = not places.isdisjoint(_made_in(loop))
        if loop.results or moves or not is_apart:
            break
        loops.insert(0, loop)
        inner = loop
        if not surely_runs(loop):
            break
    return tuple(loops)


def runs(loop: Operation) -> list[Index]:
    """Expressions that are >= 0 if a loop runs."""
    view = affine.For(loop)
    lowers, uppers = bounds_of(view)
    return [upper - lower - 1 for upper in uppers for lower in lowers]


def surely_runs(loop: Operation) -> bool:
    limits = [limit.constant for limit in runs(loop)]
    return all(limit is not None and limit >= 0 for limit in limits)


def _made_in(loop: Operation) -> Iterator[Value]:
    """Values defined in a loop, its variable included."""
    for op in loop.walk():
        yield from op.defined


def _outer_values(result: Operand, outside: Mapping[Value, Index]) -> Iterator[Value]:
    for index in result.indices:
        for value in index.values:
            yield from outside[value].values if value in outside else (value,)


def _touch(
    nest: Operation, others: Sequence[Operation], analysis: NestAnalysis
) -> bool:
    """Whether other operations access the cells that a nest writes."""
    after = analysis.conflicts([nest], others)
    before = analysis.conflicts(others, [nest])
    return any(d.source.access.writes for d in after) or any(
        d.sink.access.writes for d in before
    )


def uneven(narrow: Contraction | None, tile: Tile, room: int) -> str:
    """Why fragments do not divide a tile, or their sums do not fit."""
    size = 1 if narrow is None else element_bytes(type_of(narrow.left)) or 1
    if narrow is None or warp_tiles(tile, size, room):
        return ""
    if warp_tiles(tile, size):
        return "the tiles leave no shared memory for a slice of the sums"
    least = ROWS, 2 * COLUMNS, terms_of(size)
    whole, parts = (" x ".join(map(str, sides)) for sides in (tile, least))
    most = f"{MOST_WARPS} warps or fewer"
    return f"a tile of {whole} is not shared by {most} in multiples of {parts}"


def refused(
    contraction: Contraction, narrow: Contraction | None, *, contractions: bool
) -> str:
    """Why tensor cores may not reorder the terms of a sum, or cannot multiply them."""
    if narrow is None:
        return _types(contraction)
    if not contractions:
        return "exact=True keeps the order of every sum"
    is_ordered = isinstance(contraction.element, FloatType)
    return ORDERED if is_ordered and not contraction.reassociable else ""


ORDERED = (
    "the text orders the terms of its float sums; reassociate=True, or"
    " fastmath<reassoc> in the text, lets tensor cores add them"
)


def _types(contraction: Contraction) -> str:
    """Why tensor cores do not support the types."""
    factors = contraction.left, contraction.right
    left, right = (element_type(factor.memref.type) for factor in factors)
    sums = contraction.element
    hint = (
        "; precision='tf32' allows it"
        if str(sums) == "f32" and left == right == sums
        else ""
    )
    return f"tensor cores do not multiply {left} by {right} in {sums}{hint}"


@dataclass(frozen=True, slots=True)
class Allowed:
    """The options of `MapGpu` that apply to tile products.

    ``room``: bytes of shared memory of a block.
    """

    contractions: bool = True
    relaxed: bool = False
    precision: str = "ieee"
    room: int = ROOM


@dataclass(frozen=True, slots=True)
class TileProduct:
    """A nest that multiplies tiles; ``found``: with operands as fragments hold them.

    ``outside``: values of its indices that stand for terms of enclosing loops.
    ``around``: the loops directly around it, outermost first.  ``plans``: how a block
    may share it, the best first.  ``reason``: why it does not use tensor cores.
    """

    nest: Operation
    found: Contraction
    groups: Groups
    outside: dict[Value, Index]
    around: tuple[Operation, ...]
    plans: tuple[SharedTiles | WarpTiles, ...] = ()
    reason: str = ""

    @property
    def tiles(self) -> tuple[UserLayout, UserLayout]:
        """The layouts of both operands in shared memory."""
        (terms,) = self.groups.reduction
        sides = (
            (self.found.left, self.groups.rows),
            (self.found.right, self.groups.columns),
        )
        left, right = (
            UserLayout(operand, axis, terms, self.outside) for operand, (axis,) in sides
        )
        return left, right

    def loops(self, analysis: NestAnalysis) -> tuple[Operation, ...]:
        """The loops over which sums may stay in registers."""
        result = self.found.result
        return kept_over(self.nest, self.around, result, self.outside, analysis)

    @property
    def slice(self) -> int:
        """Bytes of shared memory for its sums."""
        size = element_bytes(type_of(self.found.left)) or 1
        plans = [plan for plan in self.plans if isinstance(plan, WarpTiles)]
        return max((slice_bytes(plan, size) for plan in plans), default=0)

    @property
    def names(self) -> str:
        """The arrays' names in the program."""
        left, right, result = (
            f"%{operand.memref.name or '?'}"
            for operand in (self.found.left, self.found.right, self.found.result)
        )
        return f"{left} by {right} to {result}"


def tile_products(
    operations: Sequence[Operation],
    allowed: Allowed,
    context: Sequence[Operation] = (),
    surroundings: Surroundings | None = None,
) -> list[TileProduct]:
    """The tile products of a program, in textual order."""
    found: list[TileProduct] = []
    for seen in _nests(operations, ()):
        product = _product(seen, allowed)
        nests = analyse([seen.nest], context, surroundings)
        if product is not None and only_accumulates(nests.dependences):
            found.append(product)
            allowed = replace(allowed, room=allowed.room - product.slice)
    return found


@dataclass(frozen=True, slots=True)
class _Seen:
    """A nest that is a contraction of tiles in shared memory."""

    nest: Operation
    around: tuple[Operation, ...]
    contraction: Contraction
    outside: dict[Value, Index]


def _nests(
    operations: Sequence[Operation], around: tuple[Operation, ...]
) -> Iterator[_Seen]:
    """The outermost such nests, with the loops directly around them."""
    for op in operations:
        is_loop = op.name == "affine.for"
        if is_loop and (found := _contraction(op)):
            yield _Seen(op, around, *found)
            continue
        outer = (*around, op) if is_loop else ()
        yield from _nests(op.nested, outer)


def _contraction(nest: Operation) -> tuple[Contraction, dict[Value, Index]] | None:
    """The contraction of shared-memory tiles in a nest of three loops, or None."""
    if _depth(nest) != AXES:
        return None
    written = isolated(nest)
    found = paying_contraction(written.nest)
    if found is None or not all(map(_is_shared, (found.left, found.right))):
        return None
    return found, written.terms


def _product(seen: _Seen, allowed: Allowed) -> TileProduct | None:
    """The product with its plans, or the reason why it has none."""
    contraction = seen.contraction
    groups = groups_of(contraction)
    if groups is None or groups.batch:
        return None
    roles = groups.rows, groups.columns, groups.reduction
    if any(len(axes) != 1 or not axes[0].extent for axes in roles):
        return None
    is_free = contraction.reassociable or allowed.relaxed
    plain = replace(contraction, reassociable=is_free)
    asked = replace(plain, reassociable=True, precision=allowed.precision)
    rows, columns, terms = (axes[0].extent for axes in roles)
    narrow, tile = on_tensor_cores(asked), (rows, columns, terms)
    reason = refused(plain, narrow, contractions=allowed.contractions) or uneven(
        narrow, tile, allowed.room
    )
    found = narrow if narrow and not reason else plain
    product = TileProduct(*(seen.nest, found, groups, seen.outside, seen.around))
    if not allowed.contractions:
        return replace(product, reason=reason)
    size = element_bytes(type_of(found.left)) or 1
    plans = thread_tiles(tile) if reason else warp_tiles(tile, size, allowed.room)
    return replace(product, plans=tuple(plans), reason=reason)


AXES = 3
"""Loops of a matrix product."""


def _depth(nest: Operation) -> int:
    """Loops of a perfect nest."""
    depth = 1
    while len(inner := inner_operations(nest)) == 1 and inner[0].name == "affine.for":
        nest, depth = inner[0], depth + 1
    return depth


def _is_shared(operand: Operand) -> bool:
    """Whether all elements of an operand lie in shared memory."""
    return all(_in_shared(place.memref.type) for place in operand.accesses)


def _in_shared(ty: Type) -> bool:
    return isinstance(ty, MemRefType) and ty.memory_space == SHARED


Plan = SharedTiles | WarpTiles
Parts = tuple[Fragments, FragmentTile] | tuple[QuadTile, ResultTile]
"""The multiplier of a thread, and its part of the result."""


@dataclass(slots=True)
class RunningProduct:
    """A product with its plan; ``sums``: at the present point of the program.

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
        """The product with thread positions, and memory for a slice of sums."""
        of_kind = _on_warps if isinstance(plan, WarpTiles) else _by_threads
        return RunningProduct(product, plan, of_kind(b, product, plan, thread))

    @property
    def reads_first(self) -> bool:
        """Whether sums start from the contents of the result."""
        return isinstance(self.plan, SharedTiles) and not starts_last(
            self.product.found
        )

    def start(self, b: Builder) -> Sequence[Value]:
        """The sums before any product."""
        return self.parts[1].load(b)

    def run(self, b: Builder) -> None:
        """Multiply in place of the nest."""
        if not self.loops:
            self.sums = self.start(b)
        found, depth = self.product.found, self.plan.depth
        tiles = found.left.memref, found.right.memref
        multiplied = self.parts[0].multiplied
        self.sums = multiplied(b, tiles, (ZERO, ZERO), depth, self.sums)
        if not self.loops:
            if isinstance(self.plan, WarpTiles):
                b.add("gpu.barrier")
            self.store(b)

    def store(self, b: Builder) -> None:
        """Store the sums to the result, if the loop that made them has run.

        The threads have synchronised since they used the slice of shared memory.
        """
        limits = runs(self.loops[0]) if self.loops else []
        b.guard(limits, lambda i: self.parts[1].store(i, self.sums))

    @property
    def mechanism(self) -> str:
        parts = self.parts[0]
        if isinstance(parts, Fragments):
            return f"mma.sync m{ROWS}n{COLUMNS}k{parts.grain}"
        return "multiply-adds"

    @property
    def how(self) -> str:
        """A description: types, work shares, place of sums, tensor cores or not."""
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
    quads = QuadTile.of(b, lanes, found.element, thread, product.tiles)
    width, adds_last = lanes.columns.quad, starts_last(found)
    return quads, ResultTile(_cells(product, plan, width, adds_last=adds_last), quads)
