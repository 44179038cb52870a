"""Copies between an array and the buffer that holds its tile, by DMA or by loops.

A full box of rows is one strided DMA copy.  Otherwise each row is one, so partial tiles
stay within the array.  `by_transfers` plans which dimensions loops walk and what one
copy moves.  Arrays with a layout, arrays in fast memory, and rows whose start is not a
single function of the loops are copied by loops: element x of the buffer is
element corner + x of the array, and x runs from the largest lower bound to the smallest
upper one.  `redirected` replaces accesses of the array by accesses of the buffer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from enum import Enum
from types import MappingProxyType

from gpucodegen.dialects import affine
from gpucodegen.dialects.shared.memory import MemorySpace, meaning
from gpucodegen.ir.attributes import AffineMapAttr, Attribute
from gpucodegen.ir.locations import Location
from gpucodegen.ir.operation import Operation, Value, rewrite_bottom_up
from gpucodegen.ir.types import I32, INDEX, MemRefType
from gpucodegen.passes.analysis.lifting import Lifted
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import ZERO, Index, as_map, compact, from_map
from gpucodegen.records import dataclass
from gpucodegen.tiling.model.scop import loops
from gpucodegen.tiling.schedule.promotion import Linear, LocalTile, ScannedRange


@dataclass(slots=True)
class Scope:
    """Values of the model's parameters and outer loop variables.

    ``before`` collects the constants and extents that are needed; it belongs before the
    nest.
    """

    lifted: Lifted
    values: dict[str, Value]
    before: Builder
    constants: dict[int, Value] = field(default_factory=dict[int, Value])
    extents: dict[tuple[Value, int], Value] = field(
        default_factory=dict[tuple[Value, int], Value]
    )

    @staticmethod
    def of(lifted: Lifted, chain: Sequence[Operation]) -> Scope:
        """The scope inside of the loops of ``chain``."""
        ivs = {
            loop.name: affine.For(op).iv
            for loop in loops(lifted.scop.body)
            for op in chain
            if loop.payload is op
        }
        return Scope(lifted, lifted.parameters | ivs, Builder(chain[0].location))

    def index(self, linear: Linear, inner: Mapping[str, Index] | None = None) -> Index:
        """A function of the model as index expression; ``inner`` names come first."""
        total = ZERO
        for name, factor in linear.terms:
            known = (inner or {}).get(name)
            item = known if known is not None else Index.of(self._value(name))
            total = total + item * factor
        total = total + linear.constant
        return total if linear.divisor == 1 else total // linear.divisor

    def constant(self, number: int) -> Value:
        """A number before the nest."""
        if number not in self.constants:
            self.constants[number] = self.before.constant(number, INDEX)
        return self.constants[number]

    def extent(self, memref: Value, dimension: int) -> Value:
        """``memref.dim`` before the nest, or a constant."""
        assert isinstance(memref.type, MemRefType)
        known = memref.type.shape[dimension]
        if known is not None:
            return self.constant(known)
        if (memref, dimension) not in self.extents:
            operands = (memref, self.constant(dimension))
            (value,) = self.before.add("memref.dim", operands, [INDEX], hint="extent")
            self.extents[memref, dimension] = value
        return self.extents[memref, dimension]

    def _value(self, name: str) -> Value:
        """A loop variable, a parameter, or the extent of a buffer."""
        if name not in self.values:
            self.values[name] = next(
                self.extent(self.lifted.arrays[array.name], dimension)
                for array in self.lifted.scop.arrays
                for dimension, extent in enumerate(array.shape)
                if extent == name
            )
        return self.values[name]


class Way(Enum):
    """The direction: into the buffer before its uses, or out of it after them."""

    IN = "in"
    OUT = "out"


@dataclass(frozen=True, slots=True)
class PromotedBuffer:
    """A tile with its buffer."""

    tile: LocalTile
    memref: Value
    buffer: Value
    scope: Scope

    @property
    def is_dense(self) -> bool:
        """Whether the rows of the buffer have no padding."""
        ty = self.buffer.type
        return isinstance(ty, MemRefType) and ty.shape == self.tile.extents

    @property
    def corner(self) -> list[Index]:
        """The array element of the buffer's first element."""
        return [self.scope.index(bound) for bound in self.tile.corner]

    def ranges(self, way: Way) -> tuple[ScannedRange, ...] | None:
        return self.tile.copy_in if way is Way.IN else self.tile.copy_out


@dataclass(frozen=True, slots=True)
class Span:
    """A range of one dimension of the buffer."""

    lowers: tuple[Index, ...]
    uppers: tuple[Index, ...]


def span(
    held: PromotedBuffer,
    range_: ScannedRange,
    d: int,
    outer: Sequence[Index | Value | int],
) -> Span:
    """The range of dimension ``d`` where the buffer indices before it are ``outer``."""
    corner = held.corner
    cells = {f"c{i}": corner[i] + x for i, x in enumerate(outer)}

    def shifted(bounds: Sequence[Linear]) -> tuple[Index, ...]:
        return tuple(compact(held.scope.index(b, cells) - corner[d]) for b in bounds)

    return Span(shifted(range_.lowers), shifted(range_.uppers))


def over(
    b: Builder,
    held: PromotedBuffer,
    ranges: Sequence[ScannedRange],
    body: Callable[[Builder, Sequence[Value]], None],
    outer: Sequence[Value] = (),
) -> None:
    """Loops over the leading dimensions of the buffer, one per range."""
    d = len(outer)
    if d == len(ranges):
        body(b, outer)
        return
    bounds = span(held, ranges[d], d, outer)

    def inside(inner: Builder, iv: Value) -> None:
        over(inner, held, ranges, body, (*outer, iv))

    b.loop(bounds.lowers, bounds.uppers, inside, hint=f"{held.memref.name}{d}")


def copy_by_loops(b: Builder, held: PromotedBuffer, way: Way) -> None:
    ranges = held.ranges(way)
    if ranges is None:
        return

    def element(inner: Builder, place: Sequence[Value]) -> None:
        cell = [c + x for c, x in zip(held.corner, place, strict=True)]
        ends = [(held.memref, cell), (held.buffer, list(place))]
        source, target = ends if way is Way.IN else reversed(ends)
        inner.store(inner.load(*source, hint="moved"), *target)

    over(b, held, ranges, element)


def redirected(op: Operation, table: Mapping[int, PromotedBuffer]) -> Operation:
    """``op`` with the accesses in ``table`` (by identity) at ``index - corner``."""

    def rewrite(access: Operation) -> list[Operation] | None:
        held = table.get(id(access))
        return None if held is None else [_in_buffer(access, held)]

    (result,) = rewrite_bottom_up(op, rewrite)
    return result


def _in_buffer(access: Operation, held: PromotedBuffer) -> Operation:
    at = access.operands.index(held.memref)
    indices = from_map(affine.map_of(access), access.operands[at + 1 :])
    places = [compact(i - c) for i, c in zip(indices, held.corner, strict=True)]
    map_, operands = as_map(places)
    return access.with_(
        operands=(*access.operands[:at], held.buffer, *operands),
        attributes={**access.attributes, "map": AffineMapAttr(map_)},
    )


def has_runs(held: PromotedBuffer, ranges: Sequence[ScannedRange]) -> bool:
    """Whether rows of the array are contiguous runs with a unique start."""
    ty = held.memref.type
    assert isinstance(ty, MemRefType)
    is_slow = meaning(ty.memory_space) is MemorySpace.GLOBAL
    return is_slow and ty.layout is None and len(ranges[-1].lowers) == 1


@dataclass(frozen=True, slots=True)
class RowTransfers:
    """DMA copies of one row each, or of a full box of ``height`` rows at once.

    ``looped``: the ranges of the dimensions with one copy per index.
    """

    held: PromotedBuffer
    looped: tuple[ScannedRange, ...]
    last: ScannedRange
    height: int

    @staticmethod
    def of(held: PromotedBuffer, ranges: Sequence[ScannedRange]) -> RowTransfers:
        """One strided copy for the last two dimensions where both are full.

        The rows of a padded buffer do not follow each other.
        """
        *outer, last = ranges
        extents = held.tile.extents
        full = (
            len(outer) > 0
            and held.is_dense
            and all(
                _is_full(held, range_, d, extents[d])
                for d, range_ in list(enumerate(ranges))[-2:]
            )
        )
        looped, height = (outer[:-1], extents[-2]) if full else (outer, 1)
        return RowTransfers(held, tuple(looped), last, height)

    def span(self, at: Sequence[Value]) -> Span:
        """The start and end of the row at these indices."""
        full = self.height > 1
        indices = at if not full else [*at, 0]
        return span(self.held, self.last, len(indices), indices)

    def lengths(self, b: Builder, at: Sequence[Value]) -> list[Value]:
        """The count, and for several rows stride and run."""
        scope = self.held.scope
        if self.height > 1:
            run, memref = self.held.tile.extents[-1], self.held.memref
            stride = scope.extent(memref, len(self.held.tile.extents) - 1)
            return [scope.constant(self.height * run), stride, scope.constant(run)]
        bounds = self.span(at)
        (first,) = bounds.lowers
        counts = [compact(upper - first) for upper in bounds.uppers]
        counts += self._left_of_row(first)
        if len(counts) == 1 and counts[0].constant is not None:
            return [scope.constant(counts[0].constant)]
        return [b.smallest(counts, "count")]

    def _left_of_row(self, first: Index) -> list[Index]:
        """The elements up to the end of the array's row, if it has a dynamic extent.

        The loop bounds imply this, but the DMA operation has to state it.
        """
        memref, last = self.held.memref, len(self.held.corner) - 1
        assert isinstance(memref.type, MemRefType)
        if last == 0 or memref.type.shape[last] is not None:
            return []
        end = Index.of(self.held.scope.extent(memref, last))
        return [compact(end - self.held.corner[last] - first)]


def _is_full(held: PromotedBuffer, range_: ScannedRange, d: int, extent: int) -> bool:
    """Whether a dimension always runs from 0 to the buffer's extent."""
    names = {name for bound in (*range_.lowers, *range_.uppers) for name in bound.names}
    if any(name.startswith("c") and name[1:].isdigit() for name in names):
        return False
    bounds = span(held, range_, d, ())
    lowers = {bound.constant for bound in bounds.lowers}
    uppers = {bound.constant for bound in bounds.uppers}
    return lowers == {0} and uppers == {extent}


@dataclass(slots=True)
class Moves:
    """The operations of one copy, in the order in which they must run."""

    location: Location
    begin: Builder = field(init=False)
    finish: Builder = field(init=False)
    release: Builder = field(init=False)

    def __post_init__(self) -> None:
        self.begin, self.finish, self.release = (
            Builder(self.location) for _ in range(3)
        )


def by_loops(held: PromotedBuffer, way: Way, location: Location) -> Moves:
    """The copy as loops, complete when they end."""
    moves = Moves(location)
    copy_by_loops(moves.begin, held, way)
    return moves


def by_transfers(held: PromotedBuffer, way: Way, location: Location) -> Moves:
    """The copy as DMA copies, started first and waited for later."""
    ranges = held.ranges(way)
    if ranges is None or not has_runs(held, ranges):
        return by_loops(held, way, location)
    moves, rows = Moves(location), RowTransfers.of(held, ranges)
    shape = held.tile.extents[: len(rows.looped)] or (1,)
    tag_type = MemRefType(shape, I32)
    tag = moves.begin.allocate("memref.alloc", tag_type, f"{held.memref.name}_tag")

    def tag_at(at: Sequence[Value]) -> Place:
        return tag, [Index.of(x) for x in at] or [ZERO]

    def start(b: Builder, at: Sequence[Value]) -> None:
        first = rows.span(at).lowers[0]
        zeros = [ZERO] * (len(ranges) - len(at) - 1)
        here = [*map(Index.of, at), *zeros, first]
        cell = [c + x for c, x in zip(held.corner, here, strict=True)]
        ends = [(held.memref, cell), (held.buffer, here)]
        source, target = ends if way is Way.IN else reversed(ends)
        _dma_start(b, (source, target, tag_at(at)), rows.lengths(b, at))

    def wait(b: Builder, at: Sequence[Value]) -> None:
        _dma_wait(b, tag_at(at), rows.lengths(b, at)[0])

    over(moves.begin, held, rows.looped, start)
    over(moves.finish, held, rows.looped, wait)
    moves.release.add("memref.dealloc", (tag,))
    return moves


COPIES: Mapping[str, Callable[[PromotedBuffer, Way, Location], Moves]] = (
    MappingProxyType({"loops": by_loops, "dma": by_transfers})
)

Place = tuple[Value, Sequence[Index]]
"""A memref and indices into it."""


def _dma_start(b: Builder, ends: Sequence[Place], lengths: Sequence[Value]) -> None:
    names = ("src_map", "dst_map", "tag_map")
    _transfer(b, "affine.dma_start", dict(zip(names, ends, strict=True)), lengths)


def _dma_wait(b: Builder, tag: Place, count: Value) -> None:
    _transfer(b, "affine.dma_wait", {"tag_map": tag}, [count])


def _transfer(
    b: Builder, name: str, ends: Mapping[str, Place], lengths: Sequence[Value]
) -> None:
    operands: list[Value] = []
    attributes: dict[str, Attribute] = {}
    for key, (memref, indices) in ends.items():
        map_, values = as_map(indices)
        operands += [memref, *values]
        attributes[key] = AffineMapAttr(map_)
    b.add(name, (*operands, *lengths), (), attributes)
