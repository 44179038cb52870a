"""Which rule rewrites which operation."""

from __future__ import annotations

from collections.abc import Mapping

from gpucodegen.passes.prepare.tensors.rewriter import Rule
from gpucodegen.passes.prepare.tensors.rules import (
    boundaries,
    branches,
    indirect,
    loops,
    pads,
    shapes,
    shared,
    slices,
    structured,
    values,
)

RULES: Mapping[str, Rule] = {
    "arith.constant": values.constant,
    "tensor.empty": values.empty,
    "tensor.splat": values.splat,
    "tensor.from_elements": values.from_elements,
    "tensor.generate": values.generate,
    "tensor.dim": values.renamed("memref.dim"),
    "tensor.rank": values.rank,
    "tensor.extract": values.renamed("memref.load"),
    "tensor.insert": slices.insert,
    "tensor.extract_slice": slices.extract_slice,
    "tensor.insert_slice": slices.insert_slice,
    "tensor.cast": shapes.cast,
    "tensor.bitcast": shapes.bitcast,
    "tensor.collapse_shape": shapes.collapse,
    "tensor.expand_shape": shapes.expand,
    "tensor.reshape": shapes.reshape,
    "tensor.pad": pads.pad,
    "tensor.concat": pads.concat,
    "tensor.gather": indirect.gather,
    "tensor.scatter": indirect.scatter,
    "linalg.generic": structured.structured,
    "linalg.pack": structured.relayout,
    "linalg.unpack": structured.relayout,
    "vector.transfer_read": slices.reading,
    "vector.gather": slices.reading,
    "vector.transfer_write": slices.transfer_write,
    "scf.for": loops.counted,
    "affine.for": loops.counted,
    "scf.while": loops.while_,
    "scf.if": branches.chosen,
    "affine.if": branches.chosen,
    "scf.index_switch": branches.chosen,
    "scf.execute_region": branches.chosen,
    "scf.forall": shared.forall,
    "func.call": boundaries.call,
    "func.call_indirect": boundaries.call,
    "func.return": boundaries.leave,
    "cf.br": boundaries.branch,
    "cf.cond_br": boundaries.branch,
    "cf.switch": boundaries.branch,
    "bufferization.alloc_tensor": values.empty,
    "bufferization.dealloc_tensor": boundaries.nothing,
    "bufferization.to_tensor": boundaries.to_tensor,
    "bufferization.to_memref": boundaries.to_buffer,
    "bufferization.to_buffer": boundaries.to_buffer,
    "bufferization.materialize_in_destination": boundaries.materialize,
}
"""One rule an operation; what is missing is refused where it meets a tensor."""
