"""Table of memref casts, views and metadata queries."""

from __future__ import annotations

from gpucodegen.dialects.framework import constraints, kinds
from gpucodegen.dialects.framework.constraints import TypeConstraint
from gpucodegen.dialects.framework.declare import indices, like, op
from gpucodegen.dialects.framework.definition import Trait
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
    op(
        "memref.cast",
        "source -> dest",
        "$source attr-dict `:` type($source) `to` type($dest)",
        types={"source": constraints.ANY_MEMREF, "dest": constraints.ANY_MEMREF},
        traits=Trait.PURE,
        checks=[checks.check_cast],
    ),
    op(
        "memref.memory_space_cast",
        "source -> dest",
        "$source attr-dict `:` type($source) `to` type($dest)",
        types={"source": constraints.ANY_MEMREF, "dest": constraints.ANY_MEMREF},
        traits=Trait.PURE,
        checks=[checks.check_space_cast],
    ),
    op(
        "memref.subview",
        "source offsets* sizes* strides* -> result",
        f"$source {OFFSETS} attr-dict `:` type($source) `to` type($result)",
        attributes=LISTS,
        infer=INDICES,
        types={"source": constraints.MEMREF, "result": constraints.MEMREF},
        traits=Trait.PURE,
        checks=[checks.check_subview],
    ),
    op(
        "memref.reinterpret_cast",
        "source offsets* sizes* strides* -> result",
        "$source `to` `offset` `` `:`"
        " custom<DynamicIndexList>($offsets, $static_offsets)"
        " `` `,` `sizes` `` `:` custom<DynamicIndexList>($sizes, $static_sizes)"
        " `` `,` `strides` `` `:` custom<DynamicIndexList>($strides, $static_strides)"
        " attr-dict `:` type($source) `to` type($result)",
        attributes=LISTS,
        infer=INDICES,
        types={"source": constraints.ANY_MEMREF, "result": constraints.MEMREF},
        traits=Trait.PURE,
        checks=[checks.check_reinterpret_cast],
    ),
    op(
        "memref.view",
        "source byte_shift sizes* -> result",
        "$source `[` $byte_shift `]` `` `[` $sizes `]` attr-dict"
        " `:` type($source) `to` type($result)",
        infer={"byte_shift": indices, "sizes": indices},
        types={"source": _BYTES, "result": constraints.MEMREF},
        traits=Trait.PURE,
        checks=[checks.check_view],
    ),
    op(
        "memref.transpose",
        "in -> result",
        "$in $permutation attr-dict `:` type($in) `to` type($result)",
        attributes={"permutation": reshapes.BARE_MAP},
        types={"in": constraints.MEMREF, "result": constraints.MEMREF},
        traits=Trait.PURE,
        checks=[checks.check_transpose],
    ),
    op(
        "memref.collapse_shape",
        "src -> result",
        "$src $reassociation attr-dict `:` type($src) `into` type($result)",
        attributes=_REASSOCIATION,
        types={"src": constraints.MEMREF, "result": constraints.MEMREF},
        traits=Trait.PURE,
        checks=[reshapes.check_collapse],
    ),
    op(
        "memref.expand_shape",
        "src output_shape* -> result",
        (reshapes.parse_expand_shape, reshapes.print_expand_shape),
        attributes=_REASSOCIATION | {"static_output_shape": kinds.integers()},
        types={"src": constraints.MEMREF, "result": constraints.MEMREF},
        traits=Trait.PURE,
        checks=[reshapes.check_expand],
    ),
    op(
        "memref.reshape",
        "source shape -> result",
        "$source `(` $shape `)` attr-dict `:` functional-type(operands, results)",
        types={
            "source": constraints.ANY_MEMREF,
            "shape": _EXTENTS,
            "result": constraints.ANY_MEMREF,
        },
        traits=Trait.PURE,
        checks=[reshapes.check_reshape],
    ),
    op(
        "memref.extract_aligned_pointer_as_index",
        "source -> aligned_pointer",
        "$source `:` type($source) `->` type($aligned_pointer) attr-dict",
        types={
            "source": constraints.ANY_MEMREF,
            "aligned_pointer": constraints.INDEX_TYPE,
        },
        traits=Trait.PURE,
    ),
    op(
        "memref.extract_strided_metadata",
        "source -> results*",
        "$source `:` type($source) `->` type($results) attr-dict",
        infer={"results": element_checks.metadata},
        types={"source": constraints.MEMREF},
        traits=Trait.PURE,
        checks=[element_checks.check_metadata],
    ),
    op(
        "memref.distinct_objects",
        "operands* -> results*",
        "$operands attr-dict `:` type($operands)",
        infer={"results": element_checks.each_operand},
        types={"operands": constraints.MEMREF},
        traits=Trait.PURE,
        checks=[element_checks.check_distinct],
    ),
    op(
        "memref.assume_alignment",
        "memref -> result",
        "$memref `,` $alignment attr-dict `:` type($memref)",
        attributes={"alignment": element_checks.REQUIRED_ALIGNMENT},
        infer={"result": like("memref")},
        types={"memref": constraints.MEMREF},
    ),
)
