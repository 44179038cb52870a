"""gpu: matrices that the threads of a subgroup hold together."""

from __future__ import annotations

from gpucodegen.dialects.framework import constraints, kinds
from gpucodegen.dialects.framework.constraints import TypeConstraint
from gpucodegen.dialects.framework.declare import indices, like, op
from gpucodegen.dialects.framework.definition import Trait
from gpucodegen.dialects.gpu.mma import checks
from gpucodegen.dialects.gpu.words import modern, word
from gpucodegen.ir.types import DialectType

_ELEMENTWISE = (
    "addf mulf subf maxf minf divf addi muli subi divs divu negatef negates extf truncf"
).split()
_MATRIX = TypeConstraint(
    "!gpu.mma_matrix<..>",
    lambda ty: isinstance(ty, DialectType) and ty.text.startswith("gpu.mma_matrix<"),
)
_LAYOUT = {"leadDimension": kinds.INDEX_INT, "transpose": kinds.UNIT}
_HOW = "(`leadDimension` $leadDimension^)? (`transpose` $transpose^)? attr-dict"

OPERATIONS = (
    op(
        "gpu.subgroup_mma_load_matrix",
        "srcMemref indices* -> res",
        f"$srcMemref `[` $indices `]` {_HOW} `:` type($srcMemref) `->` type($res)",
        attributes=_LAYOUT,
        infer={"indices": indices},
        types={"srcMemref": constraints.MEMREF, "res": _MATRIX},
        checks=[checks.check_load],
    ),
    op(
        "gpu.subgroup_mma_store_matrix",
        "src dstMemref indices*",
        f"$src `,` $dstMemref `[` $indices `]` {_HOW}"
        " `:` type($src) `,` type($dstMemref)",
        attributes=_LAYOUT,
        infer={"indices": indices},
        types={"src": _MATRIX, "dstMemref": constraints.MEMREF},
        checks=[checks.check_store],
    ),
    op(
        "gpu.subgroup_mma_compute",
        "opA opB opC -> res",
        "$opA `,` $opB `,` $opC (`a_transpose` $a_transpose^)?"
        " (`b_transpose` $b_transpose^)? attr-dict"
        " `:` type($opA) `,` type($opB) `->` type($res)",
        attributes={"a_transpose": kinds.UNIT, "b_transpose": kinds.UNIT},
        infer={"opC": like("res")},
        types={"opA": _MATRIX, "opB": _MATRIX, "opC": _MATRIX, "res": _MATRIX},
        traits=Trait.PURE,
        checks=[checks.check_compute],
    ),
    op(
        "gpu.subgroup_mma_constant_matrix",
        "value -> res",
        "$value attr-dict `:` type($res)",
        infer={"value": checks.element},
        types={"res": _MATRIX},
        traits=Trait.PURE,
    ),
    op(
        "gpu.subgroup_mma_elementwise",
        "args* -> res",
        "$opType $args attr-dict `:` functional-type(operands, results)",
        attributes={"opType": word("mma_element_wise", _ELEMENTWISE)},
        types={"args": _MATRIX, "res": _MATRIX},
        adapt=modern("opType", "mma_element_wise"),
        traits=Trait.PURE,
    ),
    op(
        "gpu.subgroup_mma_extract_thread_local",
        "matrix indices* -> res",
        "$matrix `[` $indices `]` attr-dict `:` type($matrix) `->` type($res)",
        infer={"indices": indices},
        types={"matrix": _MATRIX},
        traits=Trait.PURE,
    ),
    op(
        "gpu.subgroup_mma_insert_thread_local",
        "value matrix indices* -> res",
        "$value `,` $matrix `[` $indices `]` attr-dict"
        " `:` type($value) `,` type($matrix) `->` type($res)",
        infer={"indices": indices},
        types={"matrix": _MATRIX, "res": _MATRIX},
        traits=Trait.PURE,
    ),
)
