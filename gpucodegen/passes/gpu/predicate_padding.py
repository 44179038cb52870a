"""Padding without a copy: a load of the padded array becomes a predicated load.

    P[i] = c   for all i                       ..  P[e]  ..
    P[x + o] = X[x]   for 0 <= x < n     =>    ..  0 <= e - o < n ? X[e - o] : c  ..

P is an allocation that these two nests alone write, the first one whole, and X does not
change between the copy and the last load of P. Products on shared tiles keep the padded
array: they copy rectangles of it.  It is written once then: nothing reads it between
the two nests, so the last value of each element is all that counts.

    P[i] = 0 <= i - o < n ? X[i - o] : c   for all i
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from gpucodegen.dialects import affine
from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.gcg import alias_groups
from gpucodegen.ir.affine import Dim
from gpucodegen.ir.operation import Operation, Value, rewrite_bottom_up
from gpucodegen.ir.types import MemRefType
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.analysis.queries import analyse
from gpucodegen.passes.contraction.gpu.axes import paying_contraction
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.functions import in_functions
from gpucodegen.passes.framework.indexing import (
    Index,
    compact,
    from_map,
    replace_values,
)
from gpucodegen.passes.framework.nests import inner_operations
from gpucodegen.passes.nests.distribution import distribute
from gpucodegen.passes.nests.loop_ranges import chain_of
from gpucodegen.records import dataclass

ALIGNED = "memref.assume_alignment"


@dataclass(frozen=True, slots=True)
class Padding:
    """A padded copy of ``source``.

    ``variables`` of the copy, with ``counts`` iterations each, index the padded array
    from ``offsets`` on; ``indices``: those of the source.
    """

    number: Value
    source: Value
    variables: tuple[Value, ...]
    counts: tuple[int, ...]
    offsets: tuple[int, ...]
    indices: tuple[Index, ...]
    shape: tuple[int | None, ...]

    def load(self, op: Operation) -> list[Operation]:
        """The load of an element of the padded array."""
        view = affine.Load(op)
        b = Builder(op.location)
        value = self._value(b, from_map(view.map, view.map_operands), op.result.name)
        *before, last = b.operations
        assert last.result is value
        return [*before, last.with_(results=op.results)]

    def filled(self, op: Operation) -> list[Operation] | None:
        """The store of the number as one of the padded array's element."""
        if op.name != "affine.store":
            return None
        view = affine.Store(op)
        there = from_map(view.map, view.map_operands)
        b = Builder(op.location)
        b.store(self._value(b, there, "padded"), view.memref, there)
        return b.operations

    def _value(self, b: Builder, there: Sequence[Index], hint: str) -> Value:
        """The element at indices of the padded array."""
        places = [at - o for at, o in zip(there, self.offsets, strict=True)]
        limits: list[Index] = []
        for place, count, extent in zip(places, self.counts, self.shape, strict=True):
            if count != extent:
                limits += [place, Index.of(count - 1) - place]
        known = dict(zip(self.variables, places, strict=True))
        inside = [replace_values(index, known) for index in self.indices]
        return b.choose(
            limits,
            lambda i: i.load(self.source, inside, hint),
            lambda _: self.number,
            hint,
        )


@dataclass(frozen=True, slots=True)
class PredicatePadding(ModulePass):
    """Loads of padded copies read the array itself, where its elements are."""

    name: ClassVar[str] = "predicate-padding"
    looks_for: ClassVar[frozenset[str]] = frozenset({"memref.alloc"})

    def apply(self, module: Module) -> Module:
        surroundings = Surroundings.of(module)

        def function(op: Operation) -> list[Operation]:
            block = op.regions[0].blocks
            if len(block) != 1:
                return [op]
            operations = list(op.body.operations)
            for made in [o.result for o in operations if o.name == "memref.alloc"]:
                operations = _without(made, op, operations, surroundings)
            return [op.with_body(operations)]

        return in_functions(module, function)


def _without(
    padded: Value,
    function: Operation,
    operations: list[Operation],
    surroundings: Surroundings,
) -> list[Operation]:
    """The operations without a padded array, if it is one that can go."""
    users = [
        (n, op)
        for n, op in enumerate(operations)
        if any(padded in inner.used for inner in op.walk())
    ]
    nests = [(n, op) for n, op in users if op.name != "memref.dealloc"]
    if len(nests) < 3 or any(op.name != "affine.for" for _, op in nests):
        return operations
    (first, fill), (second, copy), *readers = nests
    found = _padding(padded, fill, copy)
    if found is None or not _stays(found, function, operations, second, readers[-1][0]):
        return operations
    for n, op in readers:
        inner = [o for o in op.walk() if padded in o.used]
        if any(o.name != "affine.load" for o in inner):
            return operations
        analysis = analyse([op], operations[:n], surroundings)
        if any(map(paying_contraction, distribute(op, analysis))):
            once = rewrite_bottom_up(fill, found.filled)
            nests = {first: [], second: once}
            return [
                new for n, op in enumerate(operations) for new in nests.get(n, [op])
            ]

    def predicated(op: Operation) -> Sequence[Operation] | None:
        is_load = op.name == "affine.load" and op.operands[0] is padded
        return found.load(op) if is_load else None

    gone = {first, second} | {n for n, op in users if op.name == "memref.dealloc"}
    return [
        new
        for n, op in enumerate(operations)
        if n not in gone and padded not in op.results
        for new in rewrite_bottom_up(op, predicated)
    ]


def _padding(padded: Value, fill: Operation, copy: Operation) -> Padding | None:
    """The padding that two nests make."""
    ty = padded.type
    chains = chain_of(fill), chain_of(copy)
    bodies = [inner_operations(chain[-1]) for chain in chains]
    counts = [_counts(chain) for chain in chains]
    if not isinstance(ty, MemRefType) or [len(b) for b in bodies] != [1, 2]:
        return None
    (number,), (load, store) = bodies
    is_copy = load.name == "affine.load" and store.name == "affine.store"
    if None in counts or number.name != "affine.store" or not is_copy:
        return None
    if number.operands[1] is not padded or store.operands[:2] != (load.result, padded):
        return None
    whole = _places(number, chains[0])
    places = _places(store, chains[1])
    if whole is None or places is None:
        return None
    own, moved = dict(_pairs(chains[0], counts[0])), dict(_pairs(chains[1], counts[1]))
    if [(own[v], o) for v, o in whole] != [(extent, 0) for extent in ty.shape]:
        return None
    variables = tuple(v for v, _ in places)
    view = affine.Load(load)
    return Padding(
        number.operands[0],
        view.memref,
        variables,
        tuple(moved[v] for v in variables),
        tuple(o for _, o in places),
        tuple(from_map(view.map, view.map_operands)),
        ty.shape,
    )


def _counts(chain: Sequence[Operation]) -> list[int] | None:
    """Iterations of loops that count from 0."""
    loops = [affine.For(op) for op in chain]
    bounds = [loop.constant_bounds for loop in loops]
    if any(b is None or b[0] for b in bounds) or any(o.step != 1 for o in loops):
        return None
    return [b[1] for b in bounds if b is not None]


def _pairs(
    chain: Sequence[Operation], counts: Sequence[int] | None
) -> Iterator[tuple[Value, int]]:
    for op, count in zip(chain, counts or (), strict=False):
        yield affine.For(op).iv, count


def _places(
    store: Operation, chain: Sequence[Operation]
) -> list[tuple[Value, int]] | None:
    """The variable and the offset of each index, if each has a loop of its own."""
    indices = map(compact, from_map(affine.map_of(store), store.operands[2:]))
    found: list[tuple[Value, int]] = []
    for index in indices:
        (variable, *others) = index.values or (None,)
        if variable is None or others:
            return None
        offset = (index - variable).constant
        if offset is None or index.expr not in (Dim(0), Dim(0) + offset):
            return None
        found.append((variable, offset))
    loops = {affine.For(op).iv for op in chain}
    is_each = {v for v, _ in found} == loops and len(found) == len(loops)
    return found if is_each else None


def _stays(
    found: Padding,
    function: Operation,
    operations: Sequence[Operation],
    copied: int,
    last: int,
) -> bool:
    """Whether the source keeps its elements from the copy to the last load."""
    groups = zip(function.body.arguments, alias_groups(function), strict=False)
    known = {v for v, group in groups if group is None}
    known |= {op.result for op in operations if op.name == "memref.alloc"}
    names = {found.source}
    names |= {
        op.operands[0]
        for op in operations
        if op.name == ALIGNED and op.result is found.source
    }
    if known.isdisjoint(names):
        return False
    for n, op in enumerate(operations):
        for inner in op.walk():
            if names.isdisjoint(inner.used) or inner.name == ALIGNED:
                continue
            is_end = inner.name == "memref.dealloc" and n > last
            is_access = inner.name in affine.ACCESSES
            is_write = inner.name == "affine.store"
            if not (is_end or is_access or inner.name == "func.return"):
                return False
            if is_write and n > copied and n <= last:
                return False
    return True
