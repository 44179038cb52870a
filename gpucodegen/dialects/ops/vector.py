"""vector: register tiles, their movement and arithmetic."""

from __future__ import annotations

from gpucodegen.dialects import constraints, kinds
from gpucodegen.dialects.definition import Trait
from gpucodegen.dialects.ops import vector_contract as contract
from gpucodegen.dialects.ops import vector_masks as masks
from gpucodegen.dialects.ops import vector_memory as memory
from gpucodegen.dialects.ops import vector_syntax as syntax
from gpucodegen.dialects.ops import vector_transfers as transfers
from gpucodegen.dialects.ops.declare import indices, like, op

_PURE = Trait.PURE
_KIND = kinds.vector_kind("add")
_STATIC = {"static_position": kinds.integers()}

OPERATIONS = (
    *memory.OPERATIONS,
    op(
        "vector.broadcast",
        "source -> vector",
        "$source attr-dict `:` type($source) `to` type($vector)",
        types={"vector": constraints.VECTOR},
        traits=_PURE,
        checks=[syntax.check_broadcast],
    ),
    op(
        "vector.splat",
        "input -> aggregate",
        "$input attr-dict `:` type($aggregate)",
        types={"aggregate": constraints.VECTOR},
        traits=_PURE,
    ),
    op(
        "vector.from_elements",
        "elements* -> dest",
        "$elements attr-dict `:` type($dest)",
        infer={"elements": syntax.elements_of_dest},
        types={"dest": constraints.VECTOR},
        traits=_PURE,
        checks=[syntax.check_from_elements],
    ),
    op(
        "vector.to_elements",
        "source -> elements*",
        "$source attr-dict `:` type($source)",
        infer={"elements": syntax.elements_of_source},
        types={"source": constraints.VECTOR},
        traits=_PURE,
    ),
    op(
        "vector.fma",
        "lhs rhs acc -> result",
        "$lhs `,` $rhs `,` $acc attr-dict `:` type($lhs)",
        same="lhs rhs acc result",
        types={"lhs": constraints.VECTOR},
        traits=_PURE,
    ),
    op(
        "vector.outerproduct",
        "lhs rhs acc? -> result",
        (syntax.parse_outerproduct, syntax.print_outerproduct),
        attributes={"kind": _KIND},
        types={"lhs": constraints.VECTOR, "result": constraints.VECTOR},
        traits=_PURE,
        checks=[syntax.check_outerproduct],
    ),
    op(
        "vector.extract",
        "source dynamic_position* -> result",
        (syntax.parse_extract, syntax.print_extract),
        attributes=_STATIC,
        types={"source": constraints.VECTOR},
        traits=_PURE,
        checks=[syntax.check_position(0)],
    ),
    op(
        "vector.insert",
        "valueToStore dest dynamic_position* -> result",
        (syntax.parse_insert, syntax.print_insert),
        attributes=_STATIC,
        same="dest result",
        types={"dest": constraints.VECTOR},
        traits=_PURE,
        checks=[syntax.check_position(1)],
    ),
    op(
        "vector.extractelement",
        "vector position? -> result",
        (syntax.parse_extractelement, syntax.print_extractelement),
        types={"vector": constraints.VECTOR},
        traits=_PURE,
    ),
    op(
        "vector.insertelement",
        "source dest position? -> result",
        (syntax.parse_insertelement, syntax.print_insertelement),
        same="dest result",
        types={"dest": constraints.VECTOR},
        traits=_PURE,
    ),
    op(
        "vector.extract_strided_slice",
        "source -> result",
        "$source (`offsets` `=` $offsets^ `,` `sizes` `=` $sizes"
        " `,` `strides` `=` $strides)? attr-dict"
        " `:` type($source) `to` type($result)",
        attributes={
            "offsets": kinds.ARRAY,
            "sizes": kinds.ARRAY,
            "strides": kinds.ARRAY,
        },
        types={"source": constraints.VECTOR, "result": constraints.VECTOR},
        traits=_PURE,
    ),
    op(
        "vector.insert_strided_slice",
        "valueToStore dest -> result",
        "$valueToStore `,` $dest"
        " (`offsets` `=` $offsets^ `,` `strides` `=` $strides)? attr-dict"
        " `:` type($valueToStore) `into` type($dest)",
        attributes={"offsets": kinds.ARRAY, "strides": kinds.ARRAY},
        same="dest result",
        types={"valueToStore": constraints.VECTOR, "dest": constraints.VECTOR},
        traits=_PURE,
    ),
    op(
        "vector.reduction",
        "vector acc? -> dest",
        "$kind `,` $vector (`,` $acc^)? (`fastmath` `` $fastmath^)? attr-dict"
        " `:` type($vector) `into` type($dest)",
        attributes={"kind": kinds.VECTOR_KIND, "fastmath": kinds.FASTMATH},
        infer={"acc": like("dest")},
        types={"vector": constraints.VECTOR},
        traits=_PURE,
    ),
    op(
        "vector.multi_reduction",
        "source acc -> dest",
        "$kind `,` $source `,` $acc attr-dict $reduction_dims"
        " `:` type($source) `to` type($dest)",
        attributes={
            "kind": kinds.VECTOR_KIND,
            "reduction_dims": kinds.integers(),
        },
        same="acc dest",
        types={"source": constraints.VECTOR},
        traits=_PURE,
    ),
    op(
        "vector.shuffle",
        "v1 v2 -> vector",
        (syntax.parse_shuffle, syntax.print_shuffle),
        attributes={"mask": kinds.integers()},
        types={"v1": constraints.VECTOR, "v2": constraints.VECTOR},
        traits=_PURE,
    ),
    op(
        "vector.shape_cast",
        "source -> result",
        "$source attr-dict `:` type($source) `to` type($result)",
        types={"source": constraints.VECTOR, "result": constraints.VECTOR},
        traits=_PURE,
    ),
    op(
        "vector.bitcast",
        "source -> result",
        "$source attr-dict `:` type($source) `to` type($result)",
        types={"source": constraints.VECTOR, "result": constraints.VECTOR},
        traits=_PURE,
    ),
    op(
        "vector.type_cast",
        "memref -> result",
        "$memref attr-dict `:` type($memref) `to` type($result)",
        types={"memref": constraints.MEMREF, "result": constraints.MEMREF},
        traits=_PURE,
    ),
    op(
        "vector.transpose",
        "vector -> result",
        "$vector `,` $permutation attr-dict `:` type($vector) `to` type($result)",
        attributes={"permutation": kinds.integers()},
        types={"vector": constraints.VECTOR, "result": constraints.VECTOR},
        traits=_PURE,
    ),
    op(
        "vector.create_mask",
        "operands* -> result",
        "$operands attr-dict `:` type($result)",
        infer={"operands": indices},
        types={"result": constraints.VECTOR},
        traits=_PURE,
    ),
    op(
        "vector.constant_mask",
        "-> result",
        "$mask_dim_sizes attr-dict `:` type($result)",
        attributes={"mask_dim_sizes": kinds.integers()},
        types={"result": constraints.VECTOR},
        traits=_PURE,
    ),
    op(
        "vector.vscale",
        "-> result",
        "attr-dict",
        infer={"result": indices},
        traits=_PURE,
    ),
    op(
        "vector.step",
        "-> result",
        "attr-dict `:` type($result)",
        types={"result": constraints.VECTOR},
        traits=_PURE,
    ),
    op(
        "vector.contract",
        "lhs rhs acc -> result",
        (contract.parse_contract, contract.print_contract),
        attributes={
            "indexing_maps": kinds.ARRAY,
            "iterator_types": kinds.ARRAY,
            "kind": kinds.OPTIONAL,
            "fastmath": kinds.FASTMATH,
        },
        adapt=contract.modern_contract,
        same="acc result",
        types={"lhs": constraints.VECTOR, "rhs": constraints.VECTOR},
        traits=_PURE,
    ),
    op(
        "vector.transfer_read",
        "source indices* padding mask? -> vector",
        (transfers.parse_transfer_read, transfers.print_transfer_read),
        attributes={
            "permutation_map": kinds.MAP,
            "in_bounds": kinds.optional(kinds.ARRAY),
        },
        types={"source": constraints.SHAPED, "vector": constraints.VECTOR},
        adapt=transfers.with_bounds,
        checks=[transfers.check_transfer_read],
    ),
    op(
        "vector.transfer_write",
        "valueToStore source indices* mask? -> result?",
        (transfers.parse_transfer_write, transfers.print_transfer_write),
        attributes={
            "permutation_map": kinds.MAP,
            "in_bounds": kinds.optional(kinds.ARRAY),
        },
        types={"valueToStore": constraints.VECTOR, "source": constraints.SHAPED},
        adapt=transfers.with_bounds,
        checks=[transfers.check_transfer_write],
    ),
    op(
        "vector.print",
        "source?",
        "($source^ `:` type($source))? (`str` $stringLiteral^)?"
        " (`punctuation` $punctuation^)? attr-dict",
        attributes={
            "stringLiteral": kinds.optional(kinds.STRING),
            "punctuation": kinds.bracketed("vector.punctuation", "newline"),
        },
    ),
    op(
        "vector.mask",
        "mask passthru? -> results*",
        (masks.parse_mask, masks.print_mask),
        types={"mask": constraints.VECTOR},
        regions=1,
        terminators=["vector.yield"],
    ),
    op(
        "vector.interleave",
        "lhs rhs -> result",
        "$lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)",
        same="lhs rhs",
        types={"lhs": constraints.VECTOR, "result": constraints.VECTOR},
        traits=_PURE,
    ),
    op(
        "vector.deinterleave",
        "source -> res1 res2",
        "$source attr-dict `:` type($source) `->` type($res1)",
        same="res1 res2",
        types={"source": constraints.VECTOR, "res1": constraints.VECTOR},
        traits=_PURE,
    ),
    op(
        "vector.scalable.insert",
        "valueToStore dest -> res",
        "$valueToStore `,` $dest `[` $pos `]` attr-dict"
        " `:` type($valueToStore) `into` type($dest)",
        attributes={"pos": kinds.INT64},
        same="dest res",
        types={"valueToStore": constraints.VECTOR, "dest": constraints.VECTOR},
        traits=_PURE,
    ),
    op(
        "vector.scalable.extract",
        "source -> res",
        "$source `[` $pos `]` attr-dict `:` type($res) `from` type($source)",
        attributes={"pos": kinds.INT64},
        types={"source": constraints.VECTOR, "res": constraints.VECTOR},
        traits=_PURE,
    ),
    op(
        "vector.scan",
        "source initial_value -> dest accumulated_value",
        "$kind `,` $source `,` $initial_value (`reduction_dim` `=` $reduction_dim^"
        " `,` `inclusive` `=` $inclusive)? attr-dict"
        " `:` type($source) `,` type($initial_value)",
        attributes={
            "kind": kinds.VECTOR_KIND,
            "reduction_dim": kinds.INT64,
            "inclusive": kinds.BOOL,
        },
        same="source dest; initial_value accumulated_value",
        types={"source": constraints.VECTOR},
        traits=_PURE,
    ),
    op(
        "vector.yield",
        "operands*",
        "attr-dict ($operands^ `:` type($operands))?",
        traits=Trait.TERMINATOR,
    ),
)
