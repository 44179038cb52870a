"""Which buffers of a kernel its operations touch, through views as well."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gpucodegen.dialects.func import Function
from gpucodegen.dialects.shared.allocations import ALLOCATIONS
from gpucodegen.dialects.shared.transfers import TRANSFERS
from gpucodegen.emit.kernel.writes import STORES
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import MemRefType

_NAMED = ALLOCATIONS | {"memref.get_global"}
_SILENT = frozenset({"memref.dealloc", "memref.dim"})


@dataclass(frozen=True, slots=True)
class BufferUses:
    """What loads, stores and the like of a kernel touch; transfers are left out.

    ``written`` and ``touched`` hold buffers, not views of them, and None if something
    touches a memref of which it is not known which buffer it is.
    """

    made: Mapping[Value, Operation]
    arguments: frozenset[Value]
    written: frozenset[Value | None]
    touched: frozenset[Value | None]

    @staticmethod
    def of(kernel: Operation) -> BufferUses:
        """Those of a kernel's function."""
        every = list(kernel.walk())
        made = {result: op for op in every for result in op.results}
        arguments = frozenset(Function(kernel).arguments)
        plain = BufferUses(made, arguments, frozenset(), frozenset())
        written, touched = set[Value | None](), set[Value | None]()
        for op in every:
            if op.name in TRANSFERS or op.name in _SILENT or is_view(op):
                continue
            memrefs = [v for v in op.operands if isinstance(v.type, MemRefType)]
            touched.update(map(plain.buffer, memrefs))
            target = op.operands[STORES[op.name]] if op.name in STORES else None
            if target is not None and target in memrefs:
                written.add(plain.buffer(target))
        return BufferUses(made, arguments, frozenset(written), frozenset(touched))

    def buffer(self, memref: Value) -> Value | None:
        """The buffer that a memref is, or is a view of; None if that is not known."""
        while memref in self.made and is_view(self.made[memref]):
            memref = self.made[memref].operands[0]
        maker = self.made.get(memref)
        is_named = maker.name in _NAMED if maker else memref in self.arguments
        return memref if is_named else None

    def is_written(self, memref: Value) -> bool:
        """Whether something may write to the buffer of a memref."""
        return bool({None, self.buffer(memref)} & self.written)

    def is_touched(self, memref: Value) -> bool:
        """Whether something may read its buffer or write to it."""
        return bool({None, self.buffer(memref)} & self.touched)


def is_view(op: Operation) -> bool:
    """Whether the results of an operation are on the memory of its first operand."""
    if op.dialect != "memref" or not op.results or not op.operands:
        return False
    ends = op.operands[0], op.results[0]
    return all(isinstance(value.type, MemRefType) for value in ends)
