"""A parallel nest with one of its loops along x: where its accesses lie beside others.

Groups of neighbours begin at multiples of their width from a place where accesses are
aligned, which may be before the first iteration.  The other loops are rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

from gpucodegen.ir.operation import Operation, Value
from gpucodegen.passes.analysis.lifting.buffers.aliases import Aliases
from gpucodegen.passes.analysis.queries import NestAnalysis
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.framework.nests import inner_operations
from gpucodegen.passes.gpu.facts.mapped_loops import (
    LOOPS,
    MappedLoop,
    parallel_chain,
    trip_count,
)
from gpucodegen.passes.gpu.facts.vector_width import (
    Address,
    Definitions,
    address_of,
    widths,
)
from gpucodegen.passes.gpu.sweeps.groups import Moved
from gpucodegen.passes.loops.iterations.flat_nest import flat_nest
from gpucodegen.tiling.machine.gpu.streams import Stream

DEEPEST = 8
"""Loops of a nest that are looked at."""
OPEN = 1 << 20
"""Iterations that a loop is planned for if their number is not known."""


def sweeps(
    op: Operation, analysis: NestAnalysis, definitions: Definitions, aliases: Aliases
) -> Iterator[Sweep]:
    """The nest with each of its loops along x; none if it is not straight within."""
    chain = parallel_chain(op, analysis, DEEPEST)
    body = inner_operations(chain[-1].operation) if chain else ()
    if not chain or any(o.name in LOOPS for outer in body for o in outer.walk()):
        return
    views, loops, inside = _flattened(chain, body, aliases)
    known = {**definitions, **{view.result: view for view in views}}
    for number in range(len(loops)):
        yield Sweep(number, loops, inside, known, views)


def _flattened(
    chain: Sequence[MappedLoop], body: Sequence[Operation], aliases: Aliases
) -> tuple[tuple[Operation, ...], tuple[MappedLoop, ...], Sequence[Operation]]:
    """Views of the buffers, the loops over them that count as few, and their body.

    The loops are parallel, so their iterations may come in any order.
    """
    flat = flat_nest(list(dict.fromkeys(loop.operation for loop in chain)))
    if flat is None or flat.overlaps(aliases.may_overlap):
        return (), tuple(chain), body
    for at in reversed(range(len(flat.axes) - 1)):
        flat = flat.merged(at) or flat
    *views, nest = flat.operations()
    loops = tuple(
        MappedLoop(axis.iv, axis.at(0), axis.step, (axis.at(axis.extent),), nest)
        for axis in flat.axes
    )
    while any(op.name in LOOPS for op in inner_operations(nest)):
        (nest,) = inner_operations(nest)
    return tuple(views), loops, inner_operations(nest)


def iterations(loop: MappedLoop) -> int:
    """How often a loop runs, or is taken to run."""
    count = trip_count(loop).constant
    return OPEN if count is None else count


@dataclass(frozen=True)
class Sweep:
    """A nest whose loop ``number`` runs along x.

    ``views``: those of its buffers that the body accesses, beside given ones.
    """

    number: int
    chain: tuple[MappedLoop, ...]
    body: Sequence[Operation]
    definitions: Definitions
    views: Sequence[Operation] = ()

    @property
    def loop(self) -> MappedLoop:
        """The loop along x."""
        return self.chain[self.number]

    @property
    def rows(self) -> list[MappedLoop]:
        """The other loops, the innermost first."""
        return [loop for loop in reversed(self.chain) if loop is not self.loop]

    @cached_property
    def addresses(self) -> Mapping[Operation, Address | None]:
        """Where the accesses of the body are, as far as that is known."""
        return {
            op: address_of(op, self.definitions)
            for op in self.body
            if op.name in ("affine.load", "affine.store")
        }

    def distance(self, op: Operation) -> int | None:
        """Elements between what two iterations in a row access."""
        address = self.addresses[op]
        factor = None if address is None else address.factor(self.loop.iv)
        return None if factor is None else factor * self.loop.step

    @cached_property
    def contiguous(self) -> int:
        """Bytes of an iteration that lie beside those of the next one."""
        return sum(
            address.element
            for op, address in self.addresses.items()
            if address is not None and self.distance(op) == 1
        )

    def alignment(self, op: Operation, first: int, width: int) -> int:
        """Bytes that divide an address where groups of a width begin at ``first``."""
        address = self.addresses[op]
        if address is None or self.distance(op) != 1:
            return 0
        places = {
            loop.iv: loop.lower + Index.of(loop.iv) * loop.step for loop in self.rows
        }
        here = self.loop.lower + Index.of(self.loop.iv) * width + first
        return address.alignment({**places, self.loop.iv: here})

    def first(self, width: int) -> int:
        """Where groups begin, counted from the first iteration: 0 or before it.

        As many bytes as can be are at aligned addresses.
        """
        if self.loop.lower.constant is None:
            return 0
        if width not in self._firsts:
            self._firsts[width] = self._best_first(width)
        return self._firsts[width]

    @cached_property
    def _firsts(self) -> dict[int, int]:
        """What `first` found: every access asks for it."""
        return {}

    def _best_first(self, width: int) -> int:
        return max(
            range(0, -width, -1),
            key=lambda at: sum(
                min(self.alignment(op, at, width), width * address.element)
                for op, address in self.addresses.items()
                if address is not None
            ),
        )

    def stream(self, op: Operation) -> Stream:
        """An access as the plan sees it."""
        address = self.addresses[op]
        element = address.element if address else 1
        at_once = {
            width: min(self.alignment(op, self.first(width), width) // element, width)
            for width in widths(1)
        }
        movable = ((w, n) for w, n in at_once.items() if n > 1 and w * element <= 64)
        return Stream(element, bool(op.results), self.distance(op), tuple(movable))

    @property
    def operations(self) -> int:
        """Operations of the text of an iteration."""
        return sum(1 for op in self.body for _ in op.walk())


def moved(sweep: Sweep, width: int) -> dict[Operation, Moved]:
    """The accesses that a group makes at once, or once for all."""
    first = sweep.first(width)
    distances = {op: sweep.distance(op) for op in sweep.addresses}
    return {
        op: Moved(sweep.alignment(op, first, width), is_shared=distance == 0)
        for op, distance in distances.items()
        if (distance == 1 and width > 1) or (distance == 0 and op.results)
    }


@dataclass(frozen=True, slots=True)
class Rows:
    """Loops that one dimension of the grid counts, the innermost first.

    The number of a block is ``sum(position_k * prod(count_0 .. count_(k-1)))``.
    """

    loops: Sequence[MappedLoop]

    @property
    def is_counted(self) -> bool:
        """Whether the number tells the positions: divisors must be known."""
        return all(trip_count(loop).constant is not None for loop in self.loops[:-1])

    @property
    def count(self) -> Index:
        """All of them."""
        return reduce(lambda n, loop: n * trip_count(loop), self.loops, Index.of(1))

    def place(
        self, b: Builder, number: Index, places: dict[Value, Value]
    ) -> list[Index]:
        """Give each loop its variable; what is >= 0 where the iteration exists."""
        guards: list[Index] = []
        deep = Index.of(1)
        for loop in self.loops:
            count, rest = trip_count(loop), number // deep
            known = count.constant
            position = rest if loop is self.loops[-1] else rest % (known or 1)
            iv = b.index(loop.lower + position * loop.step, loop.iv.name)
            places[loop.iv] = iv
            guards += [upper - 1 - iv for upper in loop.uppers[1:]]
            deep = deep * count
        return guards
