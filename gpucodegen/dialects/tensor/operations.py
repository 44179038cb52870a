"""Table of the tensor operations."""

from __future__ import annotations

from gpucodegen.dialects.framework import constraints, kinds
from gpucodegen.dialects.framework.assembly_elements import RegionOf
from gpucodegen.dialects.framework.declare import (
    element_of,
    indices,
    op,
    pure,
    terminator,
)
from gpucodegen.dialects.memref import reshapes
from gpucodegen.dialects.memref.views import INDICES, LISTS, OFFSETS
from gpucodegen.dialects.tensor import checks

OPERATIONS = (
    pure(
        "tensor.empty",
        "dynamicSizes:index* -> result:tensor",
        "`(` $dynamicSizes `)` attr-dict `:` type($result)",
        checks=[checks.sizes_after(0)],
    ),
    pure(
        "tensor.dim",
        "source:any_tensor index:index -> result:index",
        "attr-dict $source `,` $index `:` type($source)",
        checks=[constraints.check_dim],
    ),
    pure(
        "tensor.rank",
        "tensor:any_tensor -> result:index",
        "$tensor attr-dict `:` type($tensor)",
    ),
    pure(
        "tensor.extract",
        "tensor:any_tensor indices:index* -> result",
        "$tensor `[` $indices `]` attr-dict `:` type($tensor)",
        infer={"result": element_of("tensor")},
        checks=[checks.indices_after(0)],
    ),
    pure(
        "tensor.insert",
        "scalar dest:tensor indices:index* -> result",
        "$scalar `into` $dest `[` $indices `]` attr-dict `:` type($dest)",
        same="dest result",
        infer={"scalar": element_of("dest")},
        checks=[checks.indices_after(1)],
    ),
    pure(
        "tensor.cast",
        "source:any_tensor -> dest:any_tensor",
        "$source attr-dict `:` type($source) `to` type($dest)",
        checks=[checks.check_cast],
    ),
    pure(
        "tensor.bitcast",
        "source:any_tensor -> dest:any_tensor",
        "$source attr-dict `:` type($source) `to` type($dest)",
        checks=[checks.check_bitcast],
    ),
    pure(
        "tensor.from_elements",
        "elements* -> result",
        "$elements attr-dict `:` type($result)",
        infer={"elements": checks.elements_of_result},
        types={"result": checks.STATIC},
        checks=[checks.check_elements],
    ),
    pure(
        "tensor.splat",
        "input dynamicSizes:index* -> aggregate:tensor",
        "$input (`[` $dynamicSizes^ `]`)? attr-dict `:` type($aggregate)",
        infer={"input": element_of("aggregate")},
        checks=[checks.sizes_after(1)],
    ),
    op(
        "tensor.generate",
        "dynamicExtents* -> result:tensor",
        "$dynamicExtents custom<Body> attr-dict `:` type($result)",
        custom={"Body": RegionOf()},
        implied={"dynamicExtents": indices},
        regions=1,
        terminators=["tensor.yield"],
        checks=[checks.check_generate],
    ),
    op(
        "tensor.pad",
        "source:tensor low* high* -> result:tensor",
        "$source (`nofold` $nofold^)?"
        " `low` `` custom<DynamicIndexList>($low, $static_low)"
        " `high` `` custom<DynamicIndexList>($high, $static_high)"
        " custom<Body> attr-dict `:` type($source) `to` type($result)",
        custom={"Body": RegionOf()},
        attributes={
            "static_low": kinds.integers(),
            "static_high": kinds.integers(),
            "nofold": kinds.UNIT,
        },
        regions=1,
        terminators=["tensor.yield"],
        checks=[checks.check_pad],
    ),
    terminator(
        "tensor.yield",
        "value",
        "$value attr-dict `:` type($value)",
        parents=["tensor.generate", "tensor.pad"],
    ),
    pure(
        "tensor.extract_slice",
        "source:tensor offsets* sizes* strides* -> result:tensor",
        f"$source {OFFSETS} attr-dict `:` type($source) `to` type($result)",
        attributes=LISTS,
        infer=INDICES,
        checks=[checks.check_extract_slice],
    ),
    pure(
        "tensor.insert_slice",
        "source:tensor dest:tensor offsets* sizes* strides* -> result",
        f"$source `into` $dest {OFFSETS} attr-dict"
        " `:` type($source) `into` type($dest)",
        attributes=LISTS,
        same="dest result",
        infer=INDICES,
        checks=[checks.check_insert_slice],
    ),
    op(
        "tensor.parallel_insert_slice",
        "source:tensor dest:tensor offsets* sizes* strides*",
        f"$source `into` $dest {OFFSETS} attr-dict"
        " `:` type($source) `into` type($dest)",
        attributes=LISTS,
        infer=INDICES,
        parents=["scf.forall.in_parallel"],
        checks=[checks.check_insert_slice],
    ),
    pure(
        "tensor.concat",
        "inputs* -> result:tensor",
        "`dim` `` `(` $dim `)` $inputs attr-dict"
        " `:` functional-type(operands, results)",
        attributes={"dim": kinds.INT64},
        checks=[checks.check_concat],
    ),
    pure(
        "tensor.scatter",
        "source dest indices -> result",
        "$source `into` $dest `` `[` $indices `]`"
        " `scatter_dims` `` `(` $scatter_dims `)` (`unique` $unique^)? attr-dict"
        " `:` functional-type(operands, results)",
        attributes={"scatter_dims": kinds.integers(), "unique": kinds.UNIT},
        same="dest result",
        types={
            "source": constraints.TENSOR,
            "dest": constraints.TENSOR,
            "indices": checks.POSITIONS,
        },
        checks=[checks.check_scatter],
    ),
    pure(
        "tensor.collapse_shape",
        "src:tensor -> result:tensor",
        "$src $reassociation attr-dict `:` type($src) `into` type($result)",
        attributes={"reassociation": kinds.ARRAY},
        checks=[reshapes.check_collapse],
    ),
    pure(
        "tensor.expand_shape",
        "src:tensor output_shape* -> result:tensor",
        (reshapes.parse_expand_shape, reshapes.print_expand_shape),
        attributes={
            "reassociation": kinds.ARRAY,
            "static_output_shape": kinds.integers(),
        },
        checks=[reshapes.check_expand],
    ),
    pure(
        "tensor.reshape",
        "source shape -> result",
        "$source `(` $shape `)` attr-dict `:` functional-type(operands, results)",
        types={
            "source": constraints.ANY_TENSOR,
            "shape": checks.EXTENTS,
            "result": constraints.ANY_TENSOR,
        },
        checks=[reshapes.check_tensor_reshape],
    ),
    pure(
        "tensor.gather",
        "source indices -> result",
        "$source `[` $indices `]` `gather_dims` `(` $gather_dims `)`"
        " (`unique` $unique^)? attr-dict `:` functional-type(operands, results)",
        attributes={"gather_dims": kinds.integers(), "unique": kinds.UNIT},
        types={"source": constraints.TENSOR, "indices": checks.POSITIONS},
        checks=[checks.check_gather],
    ),
)
