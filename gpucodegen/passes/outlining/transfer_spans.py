"""Block-level spans: nests that use shared memory, or DMA copies across nests.

A DMA copy that one nest starts and another waits for, as in software pipelining, uses
the memory of one block.  Such nests, with the buffers and tags of their copies, form a
span that one block runs.  Copies of a loop that runs once stand outside loops.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gpucodegen.dialects.shared.dma import TRANSFERS, ends_of, tag_of
from gpucodegen.dialects.shared.memory import ALLOCATIONS
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.passes.framework.functions import is_pure
from gpucodegen.passes.outlining.cpu_outliner import needs_host

MEMORY = frozenset({"memref.alloc", "memref.alloca", "memref.dealloc"})


def needs_block(op: Operation) -> bool:
    """Whether a nest has DMA copies or local buffers outside its parallel loops."""
    return any(
        inner.name in TRANSFERS
        or (inner.name in ALLOCATIONS and _is_fast(inner.results[0]))
        for inner in op.walk()
    )


def _is_fast(memref: Value) -> bool:
    return getattr(memref.type, "memory_space", None) is not None


def spans(operations: Sequence[Operation]) -> list[Sequence[Operation]]:
    """The operations in order, those of a span together; others alone."""
    taken: list[Sequence[Operation]] = []
    at = 0
    joined = dict(_joined(operations))
    while at < len(operations):
        end = joined.get(at, at)
        group = operations[at : end + 1]
        if len(group) > 1 and all(map(_fits, group)):
            moved = [op for op in group if is_pure(op)]
            taken += [[op] for op in moved]
            taken.append([op for op in group if not is_pure(op)])
        else:
            taken += [[op] for op in group]
        at = end + 1
    return taken


def _joined(operations: Sequence[Operation]) -> Iterator[tuple[int, int]]:
    """First and last position of each span; overlapping ones are merged."""
    places = _places(operations)
    found: list[tuple[int, int]] = []
    for ends, memory in places.values():
        if len(ends) > 1 and any(operations[at].regions for at in ends):
            found.append((min(*ends, *memory), max(*ends, *memory)))
    start, end = -1, -1
    for first, last in sorted(found):
        if first > end >= 0:
            yield start, end
        start = first if first > end else start
        end = max(end, last)
    if end >= 0:
        yield start, end


def _places(
    operations: Sequence[Operation],
) -> Mapping[Value, tuple[set[int], set[int]]]:
    """Per tag, the positions of its copies, and of its and its buffers' uses.

    Buffers from outside count only where copies use them.
    """
    places: dict[Value, tuple[set[int], set[int]]] = {}
    owners: dict[Value, set[Value]] = {}
    for position, root in enumerate(operations):
        for op in root.walk():
            if op.name in TRANSFERS:
                tag = tag_of(op).memref
                places.setdefault(tag, (set(), set()))[0].add(position)
                for end in ends_of(op):
                    owners.setdefault(end.memref, set()).add(tag)
    made = {op.results[0] for op in operations if op.name in ALLOCATIONS}
    for position, op in enumerate(operations):
        used = {*op.results, *(value for inner in op.walk() for value in inner.used)}
        for buffer in made & used & owners.keys():
            for tag in owners[buffer]:
                places[tag][1].add(position)
    return places


def _fits(op: Operation) -> bool:
    """Whether an operation can stand in a kernel, or before it."""
    if op.name in MEMORY:
        return not (op.results and op.operands)
    runs = op.name in TRANSFERS or (op.name in _NESTS and not op.results)
    return is_pure(op) or (runs and not any(map(needs_host, op.walk())))


_NESTS = frozenset({"affine.for", "affine.if"})
