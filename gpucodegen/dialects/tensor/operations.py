"""Table of the tensor operations."""

from __future__ import annotations

from gpucodegen.dialects.framework import constraints, kinds
from gpucodegen.dialects.framework.assembly_elements import RegionOf
from gpucodegen.dialects.framework.declare import element_of, indices, op
from gpucodegen.dialects.framework.definition import Trait
from gpucodegen.dialects.memref import reshapes
from gpucodegen.dialects.memref.views import INDICES, LISTS, OFFSETS
from gpucodegen.dialects.tensor import checks

_PURE = Trait.PURE

OPERATIONS = (
    op(
        "tensor.empty",
        "dynamicSizes* -> result",
        "`(` $dynamicSizes `)` attr-dict `:` type($result)",
        infer={"dynamicSizes": indices},
        types={"result": constraints.TENSOR},
        traits=_PURE,
        checks=[checks.sizes_after(0)],
    ),
    op(
        "tensor.dim",
        "source index -> result",
        "attr-dict $source `,` $index `:` type($source)",
        infer={"result": indices, "index": indices},
        types={"source": constraints.ANY_TENSOR},
        traits=_PURE,
        checks=[checks.check_dim],
    ),
    op(
        "tensor.rank",
        "tensor -> result",
        "$tensor attr-dict `:` type($tensor)",
        infer={"result": indices},
        types={"tensor": constraints.ANY_TENSOR},
        traits=_PURE,
    ),
    op(
        "tensor.extract",
        "tensor indices* -> result",
        "$tensor `[` $indices `]` attr-dict `:` type($tensor)",
        infer={"result": element_of("tensor"), "indices": indices},
        types={"tensor": constraints.ANY_TENSOR},
        traits=_PURE,
        checks=[checks.indices_after(0)],
    ),
    op(
        "tensor.insert",
        "scalar dest indices* -> result",
        "$scalar `into` $dest `[` $indices `]` attr-dict `:` type($dest)",
        same="dest result",
        infer={"scalar": element_of("dest"), "indices": indices},
        types={"dest": constraints.TENSOR},
        traits=_PURE,
        checks=[checks.indices_after(1)],
    ),
    op(
        "tensor.cast",
        "source -> dest",
        "$source attr-dict `:` type($source) `to` type($dest)",
        types={"source": constraints.ANY_TENSOR, "dest": constraints.ANY_TENSOR},
        traits=_PURE,
        checks=[checks.check_cast],
    ),
    op(
        "tensor.bitcast",
        "source -> dest",
        "$source attr-dict `:` type($source) `to` type($dest)",
        types={"source": constraints.ANY_TENSOR, "dest": constraints.ANY_TENSOR},
        traits=_PURE,
        checks=[checks.check_bitcast],
    ),
    op(
        "tensor.from_elements",
        "elements* -> result",
        "$elements attr-dict `:` type($result)",
        infer={"elements": checks.elements_of_result},
        types={"result": checks.STATIC},
        traits=_PURE,
        checks=[checks.check_elements],
    ),
    op(
        "tensor.splat",
        "input dynamicSizes* -> aggregate",
        "$input (`[` $dynamicSizes^ `]`)? attr-dict `:` type($aggregate)",
        infer={"input": element_of("aggregate"), "dynamicSizes": indices},
        types={"aggregate": constraints.TENSOR},
        traits=_PURE,
        checks=[checks.sizes_after(1)],
    ),
    op(
        "tensor.generate",
        "dynamicExtents* -> result",
        "$dynamicExtents custom<Body> attr-dict `:` type($result)",
        custom={"Body": RegionOf()},
        implied={"dynamicExtents": indices},
        types={"result": constraints.TENSOR},
        regions=1,
        terminators=["tensor.yield"],
        checks=[checks.check_generate],
    ),
    op(
        "tensor.pad",
        "source low* high* -> result",
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
        types={"source": constraints.TENSOR, "result": constraints.TENSOR},
        regions=1,
        terminators=["tensor.yield"],
        checks=[checks.check_pad],
    ),
    op(
        "tensor.yield",
        "value",
        "$value attr-dict `:` type($value)",
        traits=Trait.TERMINATOR,
        parents=["tensor.generate", "tensor.pad"],
    ),
    op(
        "tensor.extract_slice",
        "source offsets* sizes* strides* -> result",
        f"$source {OFFSETS} attr-dict `:` type($source) `to` type($result)",
        attributes=LISTS,
        infer=INDICES,
        types={"source": constraints.TENSOR, "result": constraints.TENSOR},
        traits=_PURE,
        checks=[checks.check_extract_slice],
    ),
    op(
        "tensor.insert_slice",
        "source dest offsets* sizes* strides* -> result",
        f"$source `into` $dest {OFFSETS} attr-dict"
        " `:` type($source) `into` type($dest)",
        attributes=LISTS,
        same="dest result",
        infer=INDICES,
        types={"source": constraints.TENSOR, "dest": constraints.TENSOR},
        traits=_PURE,
        checks=[checks.check_insert_slice],
    ),
    op(
        "tensor.parallel_insert_slice",
        "source dest offsets* sizes* strides*",
        f"$source `into` $dest {OFFSETS} attr-dict"
        " `:` type($source) `into` type($dest)",
        attributes=LISTS,
        infer=INDICES,
        types={"source": constraints.TENSOR, "dest": constraints.TENSOR},
        parents=["scf.forall.in_parallel"],
        checks=[checks.check_insert_slice],
    ),
    op(
        "tensor.concat",
        "inputs* -> result",
        "`dim` `` `(` $dim `)` $inputs attr-dict"
        " `:` functional-type(operands, results)",
        attributes={"dim": kinds.INT64},
        types={"result": constraints.TENSOR},
        traits=_PURE,
        checks=[checks.check_concat],
    ),
    op(
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
        traits=_PURE,
        checks=[checks.check_scatter],
    ),
    op(
        "tensor.collapse_shape",
        "src -> result",
        "$src $reassociation attr-dict `:` type($src) `into` type($result)",
        attributes={"reassociation": kinds.ARRAY},
        types={"src": constraints.TENSOR, "result": constraints.TENSOR},
        traits=_PURE,
        checks=[reshapes.check_collapse],
    ),
    op(
        "tensor.expand_shape",
        "src output_shape* -> result",
        (reshapes.parse_expand_shape, reshapes.print_expand_shape),
        attributes={
            "reassociation": kinds.ARRAY,
            "static_output_shape": kinds.integers(),
        },
        types={"src": constraints.TENSOR, "result": constraints.TENSOR},
        traits=_PURE,
        checks=[reshapes.check_expand],
    ),
    op(
        "tensor.reshape",
        "source shape -> result",
        "$source `(` $shape `)` attr-dict `:` functional-type(operands, results)",
        types={
            "source": constraints.ANY_TENSOR,
            "shape": checks.EXTENTS,
            "result": constraints.ANY_TENSOR,
        },
        traits=_PURE,
        checks=[reshapes.check_tensor_reshape],
    ),
    op(
        "tensor.gather",
        "source indices -> result",
        "$source `[` $indices `]` `gather_dims` `(` $gather_dims `)`"
        " (`unique` $unique^)? attr-dict `:` functional-type(operands, results)",
        attributes={"gather_dims": kinds.integers(), "unique": kinds.UNIT},
        types={"source": constraints.TENSOR, "indices": checks.POSITIONS},
        traits=_PURE,
        checks=[checks.check_gather],
    ),
)
