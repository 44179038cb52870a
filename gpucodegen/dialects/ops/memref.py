"""memref: allocation, element access, views, globals, asynchronous copies."""

from __future__ import annotations

from gpucodegen.dialects import constraints, kinds
from gpucodegen.dialects.affine import ATOMIC_KINDS
from gpucodegen.dialects.definition import Op, Trait
from gpucodegen.dialects.ops import memref_checks as checks
from gpucodegen.dialects.ops import memref_custom as custom
from gpucodegen.dialects.ops.declare import element_of, indices, like, op

_NONTEMPORAL = {
    "nontemporal": kinds.FALSE_BY_DEFAULT,
    "alignment": kinds.integer(optional=True),
}
_HINTS = (
    "(`alignment` `` `(` $alignment^ `)`)? (`nontemporal` `` `(` $nontemporal^ `)`)?"
)
_OFFSETS = (
    "`` custom<DynamicIndexList>($offsets, $static_offsets)"
    " custom<DynamicIndexList>($sizes, $static_sizes)"
    " custom<DynamicIndexList>($strides, $static_strides)"
)
_LISTS = {
    "static_offsets": kinds.integers(),
    "static_sizes": kinds.integers(),
    "static_strides": kinds.integers(),
}
_REASSOCIATION = {"reassociation": kinds.ARRAY}


def _alloc(name: str) -> Op:
    return op(
        f"memref.{name}",
        "dynamicSizes* symbolOperands* -> memref",
        (custom.parse_alloc, custom.print_alloc),
        attributes={"alignment": kinds.integer(optional=True)},
        types={"memref": constraints.MEMREF, "dynamicSizes": constraints.INDEX_TYPE},
        checks=[checks.check_alloc],
    )


OPERATIONS = (
    _alloc("alloc"),
    _alloc("alloca"),
    op(
        "memref.alloca_scope",
        "-> results*",
        (custom.parse_alloca_scope, custom.print_alloca_scope),
        regions=1,
        terminators=["memref.alloca_scope.return"],
    ),
    op(
        "memref.alloca_scope.return",
        "results*",
        "attr-dict ($results^ `:` type($results))?",
        traits=Trait.TERMINATOR,
    ),
    op(
        "memref.dealloc",
        "memref",
        "$memref attr-dict `:` type($memref)",
        types={"memref": constraints.ANY_MEMREF},
    ),
    op(
        "memref.dim",
        "source index -> result",
        "attr-dict $source `,` $index `:` type($source)",
        infer={"result": indices, "index": indices},
        types={"source": constraints.ANY_MEMREF, "index": constraints.INDEX_TYPE},
        traits=Trait.PURE,
    ),
    op(
        "memref.rank",
        "memref -> result",
        "$memref attr-dict `:` type($memref)",
        infer={"result": indices},
        types={"memref": constraints.ANY_MEMREF},
        traits=Trait.PURE,
    ),
    op(
        "memref.load",
        "memref indices* -> result",
        f"$memref `[` $indices `]` {_HINTS} attr-dict `:` type($memref)",
        attributes=_NONTEMPORAL,
        infer={"result": element_of("memref"), "indices": indices},
        types={"memref": constraints.MEMREF},
        checks=[checks.indices_after(0)],
    ),
    op(
        "memref.store",
        "value memref indices*",
        f"$value `,` $memref `[` $indices `]` {_HINTS} attr-dict `:` type($memref)",
        attributes=_NONTEMPORAL,
        infer={"value": element_of("memref"), "indices": indices},
        types={"memref": constraints.MEMREF},
        checks=[checks.indices_after(1)],
    ),
    op(
        "memref.cast",
        "source -> dest",
        "$source attr-dict `:` type($source) `to` type($dest)",
        types={"source": constraints.ANY_MEMREF, "dest": constraints.ANY_MEMREF},
        traits=Trait.PURE,
        checks=[checks.check_cast],
    ),
    op(
        "memref.copy",
        "source target",
        "$source `,` $target attr-dict `:` type($source) `to` type($target)",
        types={"source": constraints.ANY_MEMREF, "target": constraints.ANY_MEMREF},
        checks=[checks.check_copy],
    ),
    op(
        "memref.memory_space_cast",
        "source -> dest",
        "$source attr-dict `:` type($source) `to` type($dest)",
        types={"source": constraints.ANY_MEMREF, "dest": constraints.ANY_MEMREF},
        traits=Trait.PURE,
    ),
    op(
        "memref.subview",
        "source offsets* sizes* strides* -> result",
        f"$source {_OFFSETS} attr-dict `:` type($source) `to` type($result)",
        attributes=_LISTS,
        infer={"offsets": indices, "sizes": indices, "strides": indices},
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
        attributes=_LISTS,
        infer={"offsets": indices, "sizes": indices, "strides": indices},
        types={"source": constraints.ANY_MEMREF, "result": constraints.MEMREF},
        traits=Trait.PURE,
    ),
    op(
        "memref.view",
        "source byte_shift sizes* -> result",
        "$source `[` $byte_shift `]` `` `[` $sizes `]` attr-dict"
        " `:` type($source) `to` type($result)",
        infer={"byte_shift": indices, "sizes": indices},
        types={"source": constraints.MEMREF, "result": constraints.MEMREF},
        traits=Trait.PURE,
    ),
    op(
        "memref.transpose",
        "in -> result",
        "$in $permutation attr-dict `:` type($in) `to` type($result)",
        attributes={"permutation": custom.BARE_MAP},
        types={"in": constraints.MEMREF, "result": constraints.MEMREF},
        traits=Trait.PURE,
    ),
    op(
        "memref.collapse_shape",
        "src -> result",
        "$src $reassociation attr-dict `:` type($src) `into` type($result)",
        attributes=_REASSOCIATION,
        types={"src": constraints.MEMREF, "result": constraints.MEMREF},
        traits=Trait.PURE,
    ),
    op(
        "memref.expand_shape",
        "src output_shape* -> result",
        (custom.parse_expand_shape, custom.print_expand_shape),
        attributes=_REASSOCIATION | {"static_output_shape": kinds.integers()},
        types={"src": constraints.SHAPED, "result": constraints.SHAPED},
        traits=Trait.PURE,
    ),
    op(
        "memref.reshape",
        "source shape -> result",
        "$source `(` $shape `)` attr-dict `:` functional-type(operands, results)",
        types={"source": constraints.ANY_MEMREF, "result": constraints.ANY_MEMREF},
        traits=Trait.PURE,
    ),
    op(
        "memref.extract_aligned_pointer_as_index",
        "source -> aligned_pointer",
        "$source `:` type($source) `->` type($aligned_pointer) attr-dict",
        types={"source": constraints.ANY_MEMREF},
        traits=Trait.PURE,
    ),
    op(
        "memref.extract_strided_metadata",
        "source -> results*",
        "$source `:` type($source) `->` type($results) attr-dict",
        types={"source": constraints.MEMREF},
        traits=Trait.PURE,
    ),
    op(
        "memref.global",
        "",
        (custom.parse_global, custom.print_global),
        attributes={
            "sym_name": kinds.SYMBOL_NAME,
            "type": kinds.TYPE,
            "sym_visibility": kinds.optional(kinds.STRING),
            "initial_value": kinds.OPTIONAL,
            "constant": kinds.UNIT,
            "alignment": kinds.integer(optional=True),
        },
    ),
    op(
        "memref.get_global",
        "-> result",
        "$name `:` type($result) attr-dict",
        attributes={"name": kinds.SYMBOL},
        types={"result": constraints.MEMREF},
        traits=Trait.PURE,
    ),
    op(
        "memref.dma_start",
        "operands*",
        (custom.parse_dma_start, custom.print_dma_start),
        checks=[checks.check_dma_start],
    ),
    op(
        "memref.dma_wait",
        "tagMemRef tagIndices* numElements",
        "$tagMemRef `[` $tagIndices `]` `,` $numElements attr-dict"
        " `:` type($tagMemRef)",
        infer={"tagIndices": indices, "numElements": indices},
        types={"tagMemRef": constraints.MEMREF},
    ),
    op(
        "memref.atomic_rmw",
        "value memref indices* -> result",
        "$kind $value `,` $memref `[` $indices `]` attr-dict"
        " `:` `(` type($value) `,` type($memref) `)` `->` type($result)",
        attributes={"kind": kinds.enumeration(ATOMIC_KINDS)},
        infer={"indices": indices},
        same="value result",
        types={"memref": constraints.MEMREF},
        checks=[checks.indices_after(1)],
    ),
    op(
        "memref.generic_atomic_rmw",
        "memref indices* -> result",
        (custom.parse_generic_atomic, custom.print_generic_atomic),
        regions=1,
        terminators=["memref.atomic_yield"],
    ),
    op(
        "memref.atomic_yield",
        "result",
        "$result attr-dict `:` type($result)",
        traits=Trait.TERMINATOR,
    ),
    op(
        "memref.assume_alignment",
        "memref -> result",
        "$memref `,` $alignment attr-dict `:` type($memref)",
        attributes={"alignment": kinds.INT32},
        infer={"result": like("memref")},
        types={"memref": constraints.MEMREF},
    ),
    op(
        "memref.prefetch",
        "memref indices*",
        (custom.parse_prefetch, custom.print_prefetch),
        attributes={
            "isWrite": kinds.BOOL,
            "localityHint": kinds.INT32,
            "isDataCache": kinds.BOOL,
        },
        types={"memref": constraints.MEMREF},
    ),
    op(
        "memref.realloc",
        "source dynamicResultSize? -> result",
        "$source (`(` $dynamicResultSize^ `)`)? (`alignment` `=` $alignment^)?"
        " attr-dict `:` type($source) `to` type($result)",
        attributes={"alignment": kinds.integer(optional=True)},
        infer={"dynamicResultSize": indices},
        types={"source": constraints.MEMREF, "result": constraints.MEMREF},
    ),
)
