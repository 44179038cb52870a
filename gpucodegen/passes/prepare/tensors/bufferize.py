"""Bufferization: the pass and its table of rules by operation.

Tensor arguments are read-only and tensor results are fresh buffers.  A value is updated
in place where that spoils no read; otherwise its contents are copied first.  Buffers
that do not leave the function are deallocated.
"""

from __future__ import annotations

from collections.abc import Mapping

from gpucodegen import errors
from gpucodegen.dialects.builtin import Module, symbol_name
from gpucodegen.dialects.func import Function
from gpucodegen.dialects.shared.effects import undeclared
from gpucodegen.ir.attributes import TypeAttr
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import FunctionType
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.prepare.tensors import (
    control_rules,
    shape_rules,
    structured_rules,
)
from gpucodegen.passes.prepare.tensors.conflicts import Conflicts
from gpucodegen.passes.prepare.tensors.forall_to_loops import original_reads
from gpucodegen.passes.prepare.tensors.placement import (
    Buffer,
    Copied,
    Globals,
    buffer_type,
)
from gpucodegen.passes.prepare.tensors.rewriter import TENSORS, Rewriter, Rule
from gpucodegen.records import dataclass

RULES: Mapping[str, Rule] = {
    "arith.constant": structured_rules.constant,
    "tensor.empty": structured_rules.empty,
    "tensor.splat": structured_rules.splat,
    "tensor.from_elements": structured_rules.from_elements,
    "tensor.generate": structured_rules.generate,
    "tensor.dim": structured_rules.renamed("memref.dim"),
    "tensor.rank": structured_rules.rank,
    "tensor.extract": structured_rules.renamed("memref.load"),
    "tensor.insert": shape_rules.insert,
    "tensor.extract_slice": shape_rules.extract_slice,
    "tensor.insert_slice": shape_rules.insert_slice,
    "tensor.cast": shape_rules.cast,
    "tensor.bitcast": shape_rules.bitcast,
    "tensor.collapse_shape": shape_rules.collapse,
    "tensor.expand_shape": shape_rules.expand,
    "tensor.reshape": shape_rules.reshape,
    "tensor.pad": shape_rules.pad,
    "tensor.concat": shape_rules.concat,
    "tensor.gather": shape_rules.gather,
    "tensor.scatter": shape_rules.scatter,
    "linalg.generic": structured_rules.structured,
    "linalg.pack": structured_rules.relayout,
    "linalg.unpack": structured_rules.relayout,
    "vector.transfer_read": shape_rules.reading,
    "vector.gather": shape_rules.reading,
    "vector.transfer_write": shape_rules.transfer_write,
    "scf.for": control_rules.counted,
    "affine.for": control_rules.counted,
    "scf.while": control_rules.while_,
    "scf.if": control_rules.chosen,
    "affine.if": control_rules.chosen,
    "scf.index_switch": control_rules.chosen,
    "scf.execute_region": control_rules.chosen,
    "scf.forall": control_rules.forall,
    "func.call": control_rules.call,
    "func.call_indirect": control_rules.call,
    "func.return": control_rules.return_buffers,
    "cf.br": control_rules.branch,
    "cf.cond_br": control_rules.branch,
    "cf.switch": control_rules.branch,
    "bufferization.alloc_tensor": structured_rules.empty,
    "bufferization.dealloc_tensor": control_rules.nothing,
    "bufferization.to_tensor": control_rules.to_tensor,
    "bufferization.to_memref": control_rules.to_buffer,
    "bufferization.to_buffer": control_rules.to_buffer,
    "bufferization.materialize_in_destination": control_rules.materialize,
}
"""One rule an operation; what is missing is refused where it meets a tensor."""


@dataclass(frozen=True, slots=True)
class Bufferize(ModulePass, name="bufferize", looks_for="!tensor"):
    """Functions on tensors become functions on memrefs.

    ``report``: a remark for every copy with its reason.
    """

    report: bool = False

    def apply(self, module: Module) -> Module:
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
        for value in (*inner.operands, *inner.defined)
    )


def _function(op: Operation, globals_: Globals, *, report: bool) -> Operation:
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
    return errors.TensorCopied.at(
        copied.op,
        notes=copied.notes,
        tensor=f"'%{copied.tensor.name}'",
        reason=copied.reason,
    )
