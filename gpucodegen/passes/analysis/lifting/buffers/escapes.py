"""Which local buffers leave the operations that allocate them.

A buffer leaves by an operation that may keep it or give it another name: a terminator,
a loop that carries it, one that results in a buffer, an unknown one. One that is
only returned is told apart: all writes to it are seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gpucodegen.dialects.framework.definition import Trait
from gpucodegen.dialects.framework.registry import lookup
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import MemRefType, UnrankedMemRefType
from gpucodegen.passes.analysis.lifting.buffers.aliases import owners
from gpucodegen.passes.analysis.lifting.values.views import VIEWS


@dataclass(frozen=True, slots=True)
class Escapes:
    """Buffers whose uses are not all seen, and those that are only returned."""

    anywhere: frozenset[Value]
    returned: frozenset[Value]

    @staticmethod
    def of(roots: Iterable[Operation]) -> Escapes:
        """Look at every use of a buffer in some operations."""
        operations = [op for root in roots for op in root.walk()]
        owner_of = owners(operations)
        found: dict[bool, set[Value]] = {True: set(), False: set()}
        for op in operations:
            for value in _leaving(op):
                found[op.name == "func.return"].add(owner_of.get(value, value))
        return Escapes(frozenset(found[False]), frozenset(found[True]))

    def is_fresh(self, buffer: Value) -> bool:
        """Whether every write to a buffer allocated here is seen."""
        return buffer not in self.anywhere

    def is_forgotten(self, buffer: Value) -> bool:
        """Whether every read of a buffer allocated here is seen."""
        return buffer not in self.anywhere | self.returned


def _leaving(op: Operation) -> Iterator[Value]:
    """The buffers that an operation may keep or rename."""
    yield from (v for target in op.successors for v in target.operands)
    if op.name not in VIEWS and _may_keep(op):
        yield from op.operands


def _may_keep(op: Operation) -> bool:
    definition = lookup(op.name)
    if definition is None or definition.has(Trait.TERMINATOR) or op.name in _POINTERS:
        return True
    gives_buffer = any(isinstance(v.type, _MEMREFS) for v in op.results)
    return gives_buffer or (bool(op.regions) and op.dialect != "linalg")


_POINTERS = frozenset({"memref.extract_aligned_pointer_as_index"})
_MEMREFS = (MemRefType, UnrankedMemRefType)
