"""Memrefs that are one of several when the program runs.

Results and arguments of branches, loops and selections: which buffer stands behind one
is not known, so that it may overlap each of those that it is made of.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpucodegen.dialects.shared.allocations import ALLOCATIONS
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.passes.analysis.lifting.values.accesses import is_memref
from gpucodegen.passes.analysis.lifting.values.views import VIEWS

_CHOOSING = frozenset("affine arith bufferization memref scf".split())
"""Dialects with operations that result in one of the buffers in sight."""
_KNOWN = VIEWS | ALLOCATIONS | {"memref.get_global"}
"""Operations of whose results the lifting knows the buffers."""
_ENTRIES = frozenset({"func.func", "gpu.func"})
"""Operations whose first block takes buffers of the caller."""


def choices(roots: Iterable[Operation]) -> Iterator[set[Value]]:
    """For each operation that chooses among memrefs, these and the chosen ones."""
    for root in roots:
        for op in root.walk():
            values = set(chosen(op))
            if values:
                yield values.union(filter(is_memref, given(op)))


def chosen(op: Operation) -> Iterator[Value]:
    """The memrefs that an operation results in, and those that its blocks take."""
    if op.dialect in _CHOOSING and op.name not in _KNOWN:
        yield from filter(is_memref, op.results)
    for region in op.regions:
        for block in region.blocks[op.name in _ENTRIES :]:
            yield from filter(is_memref, block.arguments)


def given(op: Operation) -> Iterator[Value]:
    """The operands, and what the ends of the blocks pass on."""
    if op.name not in _ENTRIES:
        yield from op.operands
    for region in op.regions:
        for block in region.blocks:
            for end in block.operations[-1:]:
                yield from end.operands
                yield from (v for target in end.successors for v in target.operands)
