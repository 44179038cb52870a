"""vector: shapes, masks of ones, positions, printing."""

from __future__ import annotations

from gpucodegen.dialects.framework import constraints, kinds
from gpucodegen.dialects.framework.constraints import TypeConstraint
from gpucodegen.dialects.framework.declare import indices, op
from gpucodegen.dialects.framework.definition import Trait
from gpucodegen.dialects.vector.shapes import checks
from gpucodegen.ir.types import (
    I1,
    IndexType,
    IntegerType,
    MemRefType,
    TensorType,
    TupleType,
    UnrankedMemRefType,
    UnrankedTensorType,
    VectorType,
)

_PURE = Trait.PURE
MASK = TypeConstraint(
    "a vector of i1", lambda ty: isinstance(ty, VectorType) and ty.element == I1
)
_POSITIONS = TypeConstraint(
    "a vector of rank 1 of index or integers of at least 8 bits",
    lambda ty: (
        isinstance(ty, VectorType)
        and len(ty.shape) == 1
        and isinstance(ty.element, IndexType | IntegerType)
        and getattr(ty.element, "width", 8) >= 8
    ),
)
_RESHAPED = TypeConstraint(
    "a vector, or a tuple of vectors as in 2020",
    lambda ty: isinstance(ty, VectorType | TupleType),
)
_BUFFERS = (MemRefType, TensorType, UnrankedMemRefType, UnrankedTensorType)
_PRINTABLE = TypeConstraint(
    "a scalar or vector", lambda ty: not isinstance(ty, _BUFFERS)
)
_PUNCTUATION = "no_punctuation newline comma open close"

OPERATIONS = (
    op(
        "vector.shape_cast",
        "source -> result",
        "$source attr-dict `:` type($source) `to` type($result)",
        types={"source": _RESHAPED, "result": _RESHAPED},
        traits=_PURE,
        checks=[checks.check_shape_cast],
    ),
    op(
        "vector.bitcast",
        "source -> result",
        "$source attr-dict `:` type($source) `to` type($result)",
        types={"source": constraints.VECTOR, "result": constraints.VECTOR},
        traits=_PURE,
        checks=[checks.check_bitcast],
    ),
    op(
        "vector.type_cast",
        "memref -> result",
        "$memref attr-dict `:` type($memref) `to` type($result)",
        types={"memref": constraints.MEMREF, "result": constraints.MEMREF},
        traits=_PURE,
        checks=[checks.check_type_cast],
    ),
    op(
        "vector.transpose",
        "vector -> result",
        "$vector `,` $permutation attr-dict `:` type($vector) `to` type($result)",
        attributes={"permutation": kinds.integers()},
        types={"vector": constraints.VECTOR, "result": constraints.VECTOR},
        traits=_PURE,
        checks=[checks.check_transpose],
    ),
    op(
        "vector.create_mask",
        "operands* -> result",
        "$operands attr-dict `:` type($result)",
        infer={"operands": indices},
        types={"result": MASK},
        traits=_PURE,
        checks=[checks.check_create_mask],
    ),
    op(
        "vector.constant_mask",
        "-> result",
        "$mask_dim_sizes attr-dict `:` type($result)",
        attributes={"mask_dim_sizes": kinds.integers()},
        types={"result": MASK},
        traits=_PURE,
        checks=[checks.check_constant_mask],
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
        types={"result": _POSITIONS},
        traits=_PURE,
    ),
    op(
        "vector.print",
        "source?",
        "($source^ `:` type($source))? (`str` $stringLiteral^)?"
        " (`punctuation` $punctuation^)? attr-dict",
        attributes={
            "stringLiteral": kinds.optional(kinds.STRING),
            "punctuation": kinds.bracketed(
                "vector.punctuation", "newline", words=_PUNCTUATION
            ),
        },
        types={"source": _PRINTABLE},
        checks=[checks.check_print],
    ),
)
