"""Annotations: operations of unknown dialects that cannot change a result.

An operation without results, regions and successors, whose operands are numbers or
values that nothing can change, only says something to another tool.  It is dropped with
a warning.  One with a buffer may write to it, and one with a result gives a number that
nobody knows: these stay, for a later refusal.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from gpucodegen import errors
from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.framework.registry import DIALECTS, lookup
from gpucodegen.ir.operation import Block, Operation
from gpucodegen.ir.types import (
    FloatType,
    IndexType,
    IntegerType,
    TensorType,
    VectorType,
)
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.records import dataclass

_VALUES = (IndexType, IntegerType, FloatType, TensorType, VectorType)


@dataclass(frozen=True, slots=True)
class DropAnnotations(ModulePass, name="drop-annotations"):
    """Operations of unknown dialects that cannot change a result are dropped.

    >>> import gpucodegen as gcg
    >>> module = gcg.parse('''func.func @f(%n: index) -> index {
    ...   "my.note"(%n) {unroll = 4 : i64} : (index) -> ()
    ...   return %n : index
    ... }''', allow_unregistered=True)
    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     body = DropAnnotations().apply(module).functions["f"].body.operations
    >>> [op.name for op in body]
    ['func.return']
    """

    def concerns(self, module: Module, found: Collection[str]) -> bool:
        del module
        return any("." in name and lookup(name) is None for name in found)

    def apply(self, module: Module) -> Module:
        found = [op for op in module.walk() if is_annotation(op)]
        if not found:
            return module
        for name in dict.fromkeys(op.name for op in found):
            first = next(op for op in found if op.name == name)
            errors.tell(errors.OperationIgnored(first.location, name=name))
        return Module(module.operation.with_blocks(_without))


def _without(block: Block) -> Block:
    kept: Sequence[Operation] = [
        op.with_blocks(_without) if op.regions else op
        for op in block.operations
        if not is_annotation(op)
    ]
    return block.with_operations(kept)


def is_annotation(op: Operation) -> bool:
    """Whether an operation of an unknown dialect cannot change a result."""
    is_unknown = lookup(op.name) is None and op.dialect not in DIALECTS
    has_parts = bool(op.results or op.regions or op.successors)
    values = all(isinstance(v.type, _VALUES) for v in op.operands)
    return "." in op.name and is_unknown and not has_parts and values
