"""Table and rules of vector casts, transposes, mask constructors and printing."""

from __future__ import annotations

from math import prod

from gpucodegen import errors
from gpucodegen.dialects.arith import bit_width
from gpucodegen.dialects.framework import kinds
from gpucodegen.dialects.framework.constraints import TypeConstraint, require
from gpucodegen.dialects.framework.declare import op, pure
from gpucodegen.dialects.vector import extents, integers, scalar, vector_of
from gpucodegen.dialects.vector.products import check_positions
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import (
    I1,
    IndexType,
    IntegerType,
    MemRefType,
    Shape,
    TensorType,
    TupleType,
    Type,
    UnrankedMemRefType,
    UnrankedTensorType,
    VectorType,
    element_type,
)


def _require_cast(o: Operation, fits: object, hint: str) -> None:
    if not fits:
        raise errors.InvalidCast.at(
            o, source=o.operands[0].type, target=o.results[0].type, hint=hint
        )


def check_shape_cast(o: Operation) -> None:
    """Equal element counts, element types and numbers of scalable dimensions."""
    source, target = o.operands[0].type, o.results[0].type
    if isinstance(source, TupleType) and isinstance(target, TupleType):
        return
    inner, outer = extents(source), extents(target)
    _require_cast(
        o,
        prod(n for n, _ in inner) == prod(n for n, _ in outer)
        and sum(s for _, s in inner) == sum(s for _, s in outer)
        and element_type(source) == element_type(target),
        "Keep the element type, the number of elements and of scalable dimensions",
    )


def check_bitcast(o: Operation) -> None:
    """Rows have equal numbers of bits."""
    source, target = o.operands[0].type, o.results[0].type
    inner, outer = extents(source), extents(target)
    is_known = bit_width(element_type(source)) and bit_width(element_type(target))
    rows_agree = len(inner) == len(outer) and inner[:-1] == outer[:-1]
    _require_cast(
        o,
        rows_agree and (not is_known or row_bits(source) == row_bits(target)),
        "Keep all extents but the last, and the bits of a row",
    )


def row_bits(ty: Type) -> int:
    """Bits of the trailing dimension; zero if unknown."""
    count, _ = (extents(ty) or ((1, False),))[-1]
    return count * bit_width(element_type(ty))


def check_type_cast(o: Operation) -> None:
    """A dense memref becomes a memref of one vector, or the reverse."""
    source, target = o.operands[0].type, o.results[0].type
    if isinstance(source, MemRefType) and isinstance(target, MemRefType):
        _require_cast(
            o,
            source.layout is None
            and target.layout is None
            and source.memory_space == target.memory_space
            and scalar(source) == scalar(target)
            and _all_extents(source) == _all_extents(target)
            and None not in source.shape,
            "Cast a row-major memref of static shape to a memref of a vector of the"
            " same extents, elements and memory space",
        )


def _all_extents(ty: MemRefType) -> Shape:
    return ty.shape + tuple(n for n, _ in extents(ty.element))


def check_transpose(o: Operation) -> None:
    """The result's dimensions are a permutation of the source's."""
    source, target = o.operands[0].type, o.results[0].type
    order, dims = integers(o, "permutation"), extents(source)
    check_positions(o, order, len(dims))
    require(
        len(order) == len(dims),
        o,
        f"{list(order)} does not name the {len(dims)} dimensions of {source}",
        "Name each dimension once",
    )
    expected = vector_of([dims[i] for i in order], element_type(source))
    shape = tuple(count for count, _ in extents(target))
    require(
        expected.shape == shape and expected.element == element_type(target),
        o,
        f"the transposed vector is {expected}, not {target}",
        f"Write {expected} as the result's type",
    )


# -- masks -----------------------------------------------------------------------------


def check_create_mask(o: Operation) -> None:
    """One length per dimension; one for a vector of rank 0."""
    _check_lengths(o, len(o.operands))


def _check_lengths(o: Operation, count: int) -> None:
    ty = o.results[0].type
    expected = len(extents(ty)) or 1
    require(
        count == expected,
        o,
        f"{count} lengths for {ty}",
        f"Write {expected}",
    )


def check_constant_mask(o: Operation) -> None:
    """Lengths within the extents; scalable dimensions are all set or all unset."""
    lengths = integers(o, "mask_dim_sizes")
    _check_lengths(o, len(lengths))
    dims = extents(o.results[0].type) or ((1, False),)
    for length, (extent, scales) in zip(lengths, dims, strict=True):
        allowed = (0, extent) if scales else range(extent + 1)
        require(
            length in allowed,
            o,
            f"length {length} is none of a dimension of {extent}",
            "Write a number from 0 to the extent; for a scalable dimension 0 or all",
        )
    require(
        all(lengths) or not any(lengths),
        o,
        f"some of the lengths {list(lengths)} are 0 and some are not",
        "Write 0 for all, as the mask has no elements then",
    )


def check_print(o: Operation) -> None:
    """An operation that prints a string prints no value."""
    is_alone = not o.operands and "punctuation" not in o.attributes
    require(
        "stringLiteral" not in o.attributes or is_alone,
        o,
        "a string is printed without a value and without punctuation",
        "Write two operations",
    )


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
    pure(
        "vector.shape_cast",
        "source -> result",
        "$source attr-dict `:` type($source) `to` type($result)",
        types={"source": _RESHAPED, "result": _RESHAPED},
        checks=[check_shape_cast],
    ),
    pure(
        "vector.bitcast",
        "source:vector -> result:vector",
        "$source attr-dict `:` type($source) `to` type($result)",
        checks=[check_bitcast],
    ),
    pure(
        "vector.type_cast",
        "memref:memref -> result:memref",
        "$memref attr-dict `:` type($memref) `to` type($result)",
        checks=[check_type_cast],
    ),
    pure(
        "vector.transpose",
        "vector:vector -> result:vector",
        "$vector `,` $permutation attr-dict `:` type($vector) `to` type($result)",
        attributes={"permutation": kinds.integers()},
        checks=[check_transpose],
    ),
    pure(
        "vector.create_mask",
        "operands:index* -> result",
        "$operands attr-dict `:` type($result)",
        types={"result": MASK},
        checks=[check_create_mask],
    ),
    pure(
        "vector.constant_mask",
        "-> result",
        "$mask_dim_sizes attr-dict `:` type($result)",
        attributes={"mask_dim_sizes": kinds.integers()},
        types={"result": MASK},
        checks=[check_constant_mask],
    ),
    pure("vector.vscale", "-> result:index", "attr-dict"),
    pure(
        "vector.step",
        "-> result",
        "attr-dict `:` type($result)",
        types={"result": _POSITIONS},
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
        checks=[check_print],
    ),
)
