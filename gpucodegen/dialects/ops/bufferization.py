"""bufferization: between tensors and memrefs."""

from __future__ import annotations

from gpucodegen.dialects import constraints as C
from gpucodegen.dialects import kinds as K
from gpucodegen.dialects.definition import Trait
from gpucodegen.dialects.ops import bufferization_syntax as syntax
from gpucodegen.dialects.ops.declare import like, op

OPERATIONS = (
    op(
        "bufferization.to_tensor",
        "buffer -> result",
        (syntax.parse_to_tensor, syntax.print_to_tensor),
        attributes={"restrict": K.UNIT, "writable": K.UNIT},
        types={"buffer": C.ANY_MEMREF, "result": C.ANY_TENSOR},
    ),
    op(
        "bufferization.to_buffer",
        "tensor -> buffer",
        (syntax.parse_to_buffer, syntax.print_to_buffer),
        attributes={"read_only": K.UNIT},
        types={"tensor": C.ANY_TENSOR, "buffer": C.ANY_MEMREF},
    ),
    op(
        "bufferization.alloc_tensor",
        "dynamic_sizes* copy? size_hint? -> result",
        (syntax.parse_alloc_tensor, syntax.print_alloc_tensor),
        attributes={"memory_space": K.OPTIONAL},
        types={"result": C.TENSOR},
    ),
    op(
        "bufferization.dealloc_tensor",
        "tensor",
        "$tensor attr-dict `:` type($tensor)",
        types={"tensor": C.ANY_TENSOR},
    ),
    op(
        "bufferization.clone",
        "input -> output",
        "$input attr-dict `:` type($input) `to` type($output)",
        types={"input": C.ANY_MEMREF, "output": C.ANY_MEMREF},
    ),
    op(
        "bufferization.materialize_in_destination",
        "source dest -> result?",
        (syntax.parse_materialize, syntax.print_materialize),
        attributes={"restrict": K.UNIT, "writable": K.UNIT},
        infer={"result": like("dest")},
        traits=Trait.NONE,
    ),
)
