"""Tensors made buffers: tensor arguments are only read, tensor results are fresh.

A value is updated in place where that spoils no read; otherwise its contents are copied
first.  Buffers that do not leave the function are deallocated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gpucodegen import errors
from gpucodegen.dialects.builtin import Module, symbol_name
from gpucodegen.dialects.func import Function
from gpucodegen.dialects.shared.effects import undeclared
from gpucodegen.ir.attributes import TypeAttr
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import FunctionType
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.prepare.tensors.analysis.conflicts import Conflicts
from gpucodegen.passes.prepare.tensors.analysis.places import Buffer
from gpucodegen.passes.prepare.tensors.constants import Globals, buffer_type
from gpucodegen.passes.prepare.tensors.frames import Copied
from gpucodegen.passes.prepare.tensors.rewriter import TENSORS, Rewriter
from gpucodegen.passes.prepare.tensors.rules.shared_reads import original_reads
from gpucodegen.passes.prepare.tensors.table import RULES


@dataclass(frozen=True, slots=True)
class Bufferize(ModulePass):
    """Functions on tensors become functions on memrefs.

    ``report``: a remark says of every copy why it is made.
    """

    name: ClassVar[str] = "bufferize"
    report: bool = False

    def apply(self, module: Module) -> Module:
        """Bufferize every function that mentions a tensor."""
        globals_ = Globals({symbol_name(op) for op in module.operations})
        operations = [
            _function(op, globals_, report=self.report) if _has_tensors(op) else op
            for op in module.operations
        ]
        return module.with_operations([*globals_.operations, *operations])


def _has_tensors(op: Operation) -> bool:
    if op.name != "func.func" or not op.regions or not op.regions[0].blocks:
        return False
    return any(
        isinstance(value.type, TENSORS)
        for inner in op.walk()
        for value in (*inner.operands, *inner.results, *_arguments(inner))
    )


def _arguments(op: Operation) -> list[Value]:
    return [
        v for region in op.regions for block in region.blocks for v in block.arguments
    ]


def _function(op: Operation, globals_: Globals, *, report: bool) -> Operation:
    """The function on buffers."""
    op = original_reads(op)
    buffers: dict[Value, Buffer] = {}
    rewriter = Rewriter(RULES, globals_, Conflicts.of(op, buffers), buffers)
    region = rewriter.region(op.regions[0])
    if report:
        for copied in rewriter.copies:
            errors.tell(_remark(copied))
    inputs = tuple(a.type for a in region.blocks[0].arguments)
    results = tuple(map(buffer_type, Function(op).result_types))
    signature = TypeAttr(FunctionType(inputs, results))
    rebuilt = op.with_(regions=(region,))
    if inputs != Function(op).type.inputs:
        rebuilt = undeclared(rebuilt)
    return rebuilt.with_attribute("function_type", signature)


def _remark(copied: Copied) -> errors.TensorCopied:
    """Why contents were copied."""
    return errors.TensorCopied(
        copied.op.location,
        notes=copied.notes,
        operation=copied.op.name,
        tensor=f"'%{copied.tensor.name}'",
        reason=copied.reason,
    )
