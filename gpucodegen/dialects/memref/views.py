"""Table of memref casts, views and metadata queries."""

from __future__ import annotations

from gpucodegen.dialects.framework import constraints, kinds
from gpucodegen.dialects.framework.constraints import TypeConstraint
from gpucodegen.dialects.framework.declare import indices, like, op, pure
from gpucodegen.dialects.memref import checks, element_checks, reshapes
from gpucodegen.ir.types import (
    I8,
    IndexType,
    IntegerType,
    MemRefType,
    Type,
    element_type,
)


def is_line(ty: Type) -> bool:
    """Whether a type is a memref of one dimension."""
    return isinstance(ty, MemRefType) and ty.rank == 1


OFFSETS = (
    "`` custom<DynamicIndexList>($offsets, $static_offsets)"
    " custom<DynamicIndexList>($sizes, $static_sizes)"
    " custom<DynamicIndexList>($strides, $static_strides)"
)
LISTS = {
    "static_offsets": kinds.integers(),
    "static_sizes": kinds.integers(),
    "static_strides": kinds.integers(),
}
INDICES = {"offsets": indices, "sizes": indices, "strides": indices}
_BYTES = TypeConstraint(
    "a memref of rank 1 of i8",
    lambda ty: is_line(ty) and element_type(ty) == I8,
)
_EXTENTS = TypeConstraint(
    "a memref of rank 1 of integers or index",
    lambda ty: is_line(ty) and isinstance(element_type(ty), IntegerType | IndexType),
)
_REASSOCIATION = {"reassociation": kinds.ARRAY}

VIEWS = (
    pure(
        "memref.cast",
        "source:any_memref -> dest:any_memref",
        "$source attr-dict `:` type($source) `to` type($dest)",
        checks=[checks.check_cast],
    ),
    pure(
        "memref.memory_space_cast",
        "source:any_memref -> dest:any_memref",
        "$source attr-dict `:` type($source) `to` type($dest)",
        checks=[checks.check_space_cast],
    ),
    pure(
        "memref.subview",
        "source:memref offsets* sizes* strides* -> result:memref",
        f"$source {OFFSETS} attr-dict `:` type($source) `to` type($result)",
        attributes=LISTS,
        infer=INDICES,
        checks=[checks.check_subview],
    ),
    pure(
        "memref.reinterpret_cast",
        "source:any_memref offsets* sizes* strides* -> result:memref",
        "$source `to` `offset` `` `:`"
        " custom<DynamicIndexList>($offsets, $static_offsets)"
        " `` `,` `sizes` `` `:` custom<DynamicIndexList>($sizes, $static_sizes)"
        " `` `,` `strides` `` `:` custom<DynamicIndexList>($strides, $static_strides)"
        " attr-dict `:` type($source) `to` type($result)",
        attributes=LISTS,
        infer=INDICES,
        checks=[checks.check_reinterpret_cast],
    ),
    pure(
        "memref.view",
        "source byte_shift:index sizes:index* -> result",
        "$source `[` $byte_shift `]` `` `[` $sizes `]` attr-dict"
        " `:` type($source) `to` type($result)",
        types={"source": _BYTES, "result": constraints.MEMREF},
        checks=[checks.check_view],
    ),
    pure(
        "memref.transpose",
        "in:memref -> result:memref",
        "$in $permutation attr-dict `:` type($in) `to` type($result)",
        attributes={"permutation": reshapes.BARE_MAP},
        checks=[checks.check_transpose],
    ),
    pure(
        "memref.collapse_shape",
        "src:memref -> result:memref",
        "$src $reassociation attr-dict `:` type($src) `into` type($result)",
        attributes=_REASSOCIATION,
        checks=[reshapes.check_collapse],
    ),
    pure(
        "memref.expand_shape",
        "src:memref output_shape* -> result:memref",
        (reshapes.parse_expand_shape, reshapes.print_expand_shape),
        attributes=_REASSOCIATION | {"static_output_shape": kinds.integers()},
        checks=[reshapes.check_expand],
    ),
    pure(
        "memref.reshape",
        "source shape -> result",
        "$source `(` $shape `)` attr-dict `:` functional-type(operands, results)",
        types={
            "source": constraints.ANY_MEMREF,
            "shape": _EXTENTS,
            "result": constraints.ANY_MEMREF,
        },
        checks=[reshapes.check_reshape],
    ),
    pure(
        "memref.extract_aligned_pointer_as_index",
        "source -> aligned_pointer",
        "$source `:` type($source) `->` type($aligned_pointer) attr-dict",
        types={
            "source": constraints.ANY_MEMREF,
            "aligned_pointer": constraints.INDEX_TYPE,
        },
    ),
    pure(
        "memref.extract_strided_metadata",
        "source:memref -> results*",
        "$source `:` type($source) `->` type($results) attr-dict",
        infer={"results": element_checks.metadata},
        checks=[element_checks.check_metadata],
    ),
    pure(
        "memref.distinct_objects",
        "operands:memref* -> results*",
        "$operands attr-dict `:` type($operands)",
        infer={"results": element_checks.each_operand},
        checks=[element_checks.check_distinct],
    ),
    op(
        "memref.assume_alignment",
        "memref:memref -> result",
        "$memref `,` $alignment attr-dict `:` type($memref)",
        attributes={"alignment": element_checks.REQUIRED_ALIGNMENT},
        infer={"result": like("memref")},
    ),
)
