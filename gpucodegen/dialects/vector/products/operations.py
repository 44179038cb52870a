"""vector: arithmetic on whole vectors: products, contractions, reductions, scans."""

from __future__ import annotations

from gpucodegen.dialects.framework import constraints, kinds
from gpucodegen.dialects.framework.constraints import TypeConstraint
from gpucodegen.dialects.framework.declare import like, op
from gpucodegen.dialects.framework.definition import Trait
from gpucodegen.dialects.vector.products import contract, contract_checks, outer
from gpucodegen.dialects.vector.products import reduction_checks as reductions
from gpucodegen.ir.types import FloatType, VectorType

_PURE = Trait.PURE
_FLOATS = TypeConstraint(
    "a vector of floats",
    lambda ty: isinstance(ty, VectorType) and isinstance(ty.element, FloatType),
)

OPERATIONS = (
    op(
        "vector.fma",
        "lhs rhs acc -> result",
        "$lhs `,` $rhs `,` $acc attr-dict `:` type($lhs)",
        same="lhs rhs acc result",
        types={"lhs": _FLOATS},
        traits=_PURE,
    ),
    op(
        "vector.outerproduct",
        "lhs rhs acc? -> result",
        (outer.parse_outerproduct, outer.print_outerproduct),
        attributes={"kind": kinds.vector_kind("add")},
        types={"lhs": constraints.VECTOR, "result": constraints.VECTOR},
        traits=_PURE,
        adapt=contract.modern_kind,
        checks=[outer.check_outerproduct],
    ),
    op(
        "vector.contract",
        "lhs rhs acc masks* -> result",
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
        checks=[contract_checks.check_contract],
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
        adapt=contract.modern_kind,
        checks=[reductions.check_reduction],
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
        adapt=contract.modern_kind,
        checks=[reductions.check_multi_reduction],
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
        checks=[reductions.check_scan],
    ),
)
