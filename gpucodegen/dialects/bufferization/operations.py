"""bufferization: between tensors and memrefs."""

from __future__ import annotations

from gpucodegen.dialects.bufferization import checks, syntax
from gpucodegen.dialects.framework import constraints, kinds
from gpucodegen.dialects.framework.declare import always, indices, like, op
from gpucodegen.dialects.memref.checks import check_copy
from gpucodegen.ir.types import I1

_FLAGS = "(`restrict` $restrict^)? (`writable` $writable^)?"

OPERATIONS = (
    op(
        "bufferization.to_tensor",
        "buffer -> result",
        f"$buffer {_FLAGS} attr-dict `:` custom<Types>",
        custom={"Types": syntax.TensorAndMemRef("buffer", "result")},
        attributes={"restrict": kinds.UNIT, "writable": kinds.UNIT},
        types={"buffer": constraints.ANY_MEMREF, "result": constraints.ANY_TENSOR},
        checks=[checks.check_same_array],
    ),
    op(
        "bufferization.to_buffer",
        "tensor -> buffer",
        "$tensor (`read_only` $read_only^)? attr-dict `:` custom<Types>",
        custom={"Types": syntax.TensorAndMemRef("tensor", "buffer")},
        attributes={"read_only": kinds.UNIT},
        types={"tensor": constraints.ANY_TENSOR, "buffer": constraints.ANY_MEMREF},
        checks=[checks.check_same_array],
    ),
    op(
        "bufferization.alloc_tensor",
        "dynamic_sizes* copy? size_hint? -> result",
        "`` `(` $dynamic_sizes `)` (`copy` `` `(` $copy^ `)`)?"
        " (`size_hint` `` `=` `` $size_hint^)? attr-dict `:` type($result)",
        implied={
            "dynamic_sizes": indices,
            "size_hint": indices,
            "copy": like("result"),
        },
        attributes={"memory_space": kinds.OPTIONAL},
        types={"result": constraints.TENSOR},
        checks=[checks.check_alloc_tensor],
    ),
    op(
        "bufferization.dealloc_tensor",
        "tensor",
        "$tensor attr-dict `:` type($tensor)",
        types={"tensor": constraints.ANY_TENSOR},
    ),
    op(
        "bufferization.dealloc",
        "memrefs* conditions* retained* -> updatedConditions*",
        "(`` `(` $memrefs^ `:` type($memrefs) `)` `if` `(` $conditions `)`)?"
        " (`retain` `(` $retained^ `:` type($retained) `)`)? attr-dict",
        infer={"conditions": always(I1), "updatedConditions": syntax.one_per_retained},
        types={"memrefs": constraints.ANY_MEMREF, "retained": constraints.ANY_MEMREF},
        checks=[checks.check_dealloc],
    ),
    op(
        "bufferization.clone",
        "input -> output",
        "$input attr-dict `:` type($input) `to` type($output)",
        types={"input": constraints.ANY_MEMREF, "output": constraints.ANY_MEMREF},
        checks=[check_copy],
    ),
    op(
        "bufferization.materialize_in_destination",
        "source dest -> result?",
        f"$source `in` {_FLAGS} $dest attr-dict `:` functional-type(operands, results)",
        attributes={"restrict": kinds.UNIT, "writable": kinds.UNIT},
        infer={"result": like("dest")},
        checks=[checks.check_materialize],
    ),
)
