"""A vectorised loop: full vectors, and the iterations that are left in a shorter one.

constant trips            otherwise
for i by lanes: full      for i by lanes:
the rest, exactly           if lanes are left: full, else: masked
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gpucodegen.dialects import affine
from gpucodegen.ir.attributes import ArrayAttr, IntegerAttr
from gpucodegen.ir.operation import Operation, Value, single_block
from gpucodegen.ir.types import I64
from gpucodegen.passes.cpu.vectorize.recognize import ContiguousAccess, LoopBody
from gpucodegen.passes.cpu.vectorize.streaming_stores import misalignment
from gpucodegen.passes.cpu.vectorize.widen import Widened
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index, compact, from_map


@dataclass(frozen=True, slots=True)
class IterationRange:
    """From the largest of ``lowers`` to the smallest of ``uppers``, in steps of one."""

    lowers: tuple[Index, ...]
    uppers: tuple[Index, ...]

    @property
    def is_single(self) -> bool:
        """Whether it has one lower and one upper bound."""
        return len(self.lowers) == len(self.uppers) == 1

    @property
    def trips(self) -> int | None:
        """Number of values, if that is a constant."""
        if not self.is_single:
            return None
        count = compact(self.uppers[0] - self.lowers[0]).constant
        return None if count is None else max(0, count)


def range_of(op: Operation) -> IterationRange | None:
    """The range of an ``affine.for`` with steps of one."""
    loop = affine.For(op)
    if loop.step != 1:
        return None
    return IterationRange(
        tuple(from_map(loop.lower_map, loop.lower_operands)),
        tuple(from_map(loop.upper_map, loop.upper_operands)),
    )


def parallel_range(op: Operation) -> IterationRange | None:
    """The range of an ``affine.parallel`` over one variable in steps of one."""
    loop = affine.Parallel(op)
    if loop.steps != (1,) or op.results:
        return None
    return IterationRange(
        tuple(from_map(loop.lower_maps[0], loop.lower_operands)),
        tuple(from_map(loop.upper_maps[0], loop.upper_operands)),
    )


RANGES: dict[str, Callable[[Operation], IterationRange | None]] = {
    "affine.for": range_of,
    "affine.parallel": parallel_range,
}


def range_in(op: Operation) -> IterationRange | None:
    """The range of a loop of either kind; None of what is no such loop."""
    range_of_kind = RANGES.get(op.name)
    return range_of_kind and range_of_kind(op)


def variables_of(op: Operation) -> tuple[Value, ...]:
    """The variable of either kind of loop; none of other operations."""
    return op.body.arguments[:1] if op.name in RANGES else ()


BuildRange = Callable[[Builder, IterationRange], None]


def in_blocks(
    op: Operation, whole: IterationRange, size: int, build: BuildRange, *, counted: bool
) -> Operation:
    """An ``affine.parallel`` over blocks of a range, whose bodies ``build`` makes.

    ``counted``: a last block that is shorter gets a body of its own.
    """
    (iv,) = op.body.arguments
    first, inner = Value(iv.type, iv.name, iv.location), Builder(op.location)
    full = IterationRange((Index.of(first),), (Index.of(first) + size,))
    if whole.trips is None or not counted:
        build(inner, IterationRange(full.lowers, (*full.uppers, *whole.uppers)))
    else:
        full_blocks, (end,) = whole.trips // size, whole.uppers
        last = IterationRange((compact(whole.lowers[0] + full_blocks * size),), (end,))
        inner.guard(
            [compact(end - first) - size] if last.trips else [],
            lambda i: build(i, full),
            lambda i: build(i, last),
        )
    inner.add("affine.yield")
    steps = ArrayAttr((IntegerAttr(size, I64),))
    body = single_block(inner.operations, (first,))
    return op.with_attribute("steps", steps).with_(regions=(body,))


def vector_loop(b: Builder, body: LoopBody, range_: IterationRange, lanes: int) -> None:
    """Run the body over the range, ``lanes`` iterations at once."""
    if range_.trips is None:
        _open_ended(b, body, range_, lanes)
    else:
        _counted(b, body, range_.lowers[0], range_.trips, lanes)


def until_aligned(
    b: Builder,
    body: LoopBody,
    range_: IterationRange,
    lanes: int,
    first: ContiguousAccess,
    address: Value,
) -> IterationRange:
    """Run the iterations before ``first`` lies on a multiple of lanes; those left.

    ``address``: that of the buffer of ``first``; the range has one lower bound.
    """
    (lower,) = range_.lowers
    start = Widened(body, b, lower, lanes).at_first(first)
    head = misalignment(start, address, lanes)
    left = b.smallest([head, *(upper - lower for upper in range_.uppers)], "head")
    Widened(body, b, lower, lanes, left).build()
    return IterationRange((lower + head,), range_.uppers)


def _counted(b: Builder, body: LoopBody, first: Index, trips: int, lanes: int) -> None:
    full, rest = divmod(trips, lanes)
    end = compact(first + full * lanes)

    def vectors(inner: Builder, at: Index | Value) -> None:
        Widened(body, inner, Index.of(at), lanes).build()

    if full == 1:
        vectors(b, first)
    elif full:
        b.loop(first, end, vectors, step=lanes, hint=body.iv.name)
    if rest:
        Widened(body, b, end, rest).build()


def _open_ended(b: Builder, body: LoopBody, range_: IterationRange, lanes: int) -> None:
    def vectors(inner: Builder, iv: Value) -> None:
        at, left = Index.of(iv), [upper - iv for upper in range_.uppers]

        def full(i: Builder) -> None:
            Widened(body, i, at, lanes).build()

        def masked(i: Builder) -> None:
            Widened(body, i, at, lanes, i.smallest(left, "left")).build()

        inner.guard([count - lanes for count in left], full, masked)

    lowers: Sequence[Index] = range_.lowers
    b.loop(lowers, range_.uppers, vectors, step=lanes, hint=body.iv.name)
