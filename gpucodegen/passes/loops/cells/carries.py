"""Which values innermost loops store and load again, for `carry_stores`.

    place of the load at j = place of the store at j - k,    k = 1, 2, ..

where no place is stored twice, and nothing else in the loop stores to the buffer or to
one that may overlap it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gpucodegen.dialects import affine
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import FloatType, IndexType, IntegerType
from gpucodegen.passes.analysis.lifting.buffers.aliases import Aliases
from gpucodegen.passes.contraction.recognition.operands import coefficients, is_linear
from gpucodegen.passes.framework.indexing import (
    Index,
    compact,
    from_map,
    replace_values,
)
from gpucodegen.passes.framework.nests import inner_operations
from gpucodegen.passes.prepare.affine.dead_code import has_no_effect

NUMBERS = FloatType | IntegerType | IndexType
MOST = 4
"""Iterations that a value is carried for."""


@dataclass(frozen=True, slots=True)
class InnermostLoop:
    """A loop that begins at ``lower`` and ends in front of all ``uppers``."""

    iv: Value
    lower: Index
    uppers: tuple[Index, ...]
    step: int
    operation: Operation

    @property
    def repeats(self) -> bool:
        """Whether it may run twice."""
        trips = [(upper - self.lower).constant for upper in self.uppers]
        return all(trip is None or trip > self.step for trip in trips)

    @property
    def runs(self) -> list[Index]:
        """What is >= 0 if it runs."""
        return [compact(upper - self.lower - 1) for upper in self.uppers]


def innermost(op: Operation) -> InnermostLoop | None:
    """An innermost ``affine.for`` that begins at one place."""
    if op.name != "affine.for" or any(inner.regions for inner in inner_operations(op)):
        return None
    loop = affine.For(op)
    lowers = from_map(loop.lower_map, loop.lower_operands)
    uppers = from_map(loop.upper_map, loop.upper_operands)
    if len(lowers) > 1:
        return None
    return InnermostLoop(loop.iv, lowers[0], tuple(uppers), loop.step, op)


@dataclass(frozen=True, slots=True)
class CarriedStore:
    """A store; the loads of what it stored one iteration before, two before, .."""

    store: Operation
    loads: tuple[tuple[Operation, ...], ...]


@dataclass(frozen=True, slots=True)
class CarriedStores:
    """Finds them in one function."""

    aliases: Aliases

    def of(self, loop: InnermostLoop) -> list[CarriedStore]:
        """What a loop stores and loads again, a store each."""
        operations = inner_operations(loop.operation)
        accesses = [op for op in operations if op.name in affine.ACCESSES]
        rest = [op for op in operations if op.name not in affine.ACCESSES]
        if not all(map(has_no_effect, rest)):
            return []
        stores = [op for op in accesses if not op.results]
        found = (
            CarriedStore(store, tuple(_followers(loop, store, accesses)))
            for store in stores
            if self._is_alone(store, stores) and _moves(store, loop)
        )
        return [carry for carry in found if carry.loads]

    def _is_alone(self, store: Operation, stores: Sequence[Operation]) -> bool:
        """Whether no other store of the loop may be to the same buffer."""
        others = (buffer_of(other) for other in stores if other is not store)
        own = buffer_of(store)
        return not any(self.aliases.may_overlap(other, own) for other in others)


def buffer_of(access: Operation) -> Value:
    """The buffer of a load or store."""
    return access.operands[0 if access.results else 1]


def place_of(access: Operation) -> list[Index]:
    """The indices of a load or store."""
    view = affine.Load(access) if access.results else affine.Store(access)
    return from_map(view.map, view.map_operands)


def _same(first: Sequence[Index], second: Sequence[Index]) -> bool:
    pairs = zip(first, second, strict=True)
    return all(compact(a - b).constant == 0 for a, b in pairs)


def _followers(
    loop: InnermostLoop, store: Operation, accesses: Sequence[Operation]
) -> Iterator[tuple[Operation, ...]]:
    """Loads of what was stored one iteration before, two before, .. while there are."""
    loads = [op for op in accesses if op.results and buffer_of(op) is buffer_of(store)]
    if not isinstance(store.operands[0].type, NUMBERS):
        return
    for distance in range(1, MOST + 1):
        earlier = {loop.iv: Index.of(loop.iv) - distance * loop.step}
        before = [replace_values(index, earlier) for index in place_of(store)]
        found = tuple(op for op in loads if _same(place_of(op), before))
        if not found:
            return
        yield found


def _moves(store: Operation, loop: InnermostLoop) -> bool:
    """Whether each iteration stores to another place, known before the loop."""
    made = {v for op in inner_operations(loop.operation) for v in op.results}
    place = place_of(store)
    known = all(made.isdisjoint(index.values) for index in place)
    return known and any(
        is_linear(index) and coefficients(index).get(loop.iv, 0) for index in place
    )
