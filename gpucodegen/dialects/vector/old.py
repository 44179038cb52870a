"""vector: operations of 2020 to 2024 that have no successor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpucodegen.dialects.framework import constraints, kinds
from gpucodegen.dialects.framework.declare import indices, op
from gpucodegen.dialects.framework.definition import Trait, Types
from gpucodegen.dialects.framework.rules import require
from gpucodegen.dialects.vector.types import extents
from gpucodegen.ir.attributes import Attribute
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import I32, TupleType, Type

_PURE = Trait.PURE

# -- tuples of vectors -----------------------------------------------------------------


def _joined(types: Types, _: Mapping[str, Attribute]) -> Sequence[Type]:
    return (TupleType(tuple(types["vectors"])),)


def _chosen(types: Types, attributes: Mapping[str, Attribute]) -> Sequence[Type]:
    (ty,), index = types["vectors"], getattr(attributes["index"], "value", 0)
    return ty.elements[index : index + 1] if isinstance(ty, TupleType) else ()


def _check_tuple_get(o: Operation) -> None:
    """The index names the element whose type the result has."""
    ty = o.operands[0].type
    index = getattr(o.attributes["index"], "value", 0)
    elements = ty.elements if isinstance(ty, TupleType) else ()
    require(
        0 <= index < len(elements) and elements[index] == o.results[0].type,
        o,
        f"{ty} has no element {index} of type {o.results[0].type}",
        "Use the position of an element",
    )


# -- matrices in vectors of rank 1 -----------------------------------------------------


def _check_flat_transpose(o: Operation) -> None:
    """Rows times columns elements."""
    rows, columns = (_number(o, name) for name in ("rows", "columns"))
    counts = [extents(v.type) for v in (*o.operands, *o.results)]
    require(
        all(dims == ((rows * columns, False),) for dims in counts),
        o,
        f"{rows} rows of {columns} elements do not fit the vectors",
        "Write rows times columns elements in one dimension",
    )


def _check_matrix_multiply(o: Operation) -> None:
    """Rows, columns and inner extent fit the three vectors."""
    rows, inner, columns = (
        _number(o, name) for name in ("lhs_rows", "lhs_columns", "rhs_columns")
    )
    sizes = (rows * inner, inner * columns, rows * columns)
    counts = [extents(v.type) for v in (*o.operands, *o.results)]
    require(
        counts == [((size, False),) for size in sizes],
        o,
        f"{rows} x {inner} times {inner} x {columns} elements do not fit the vectors",
        f"Use vectors of {sizes[0]}, {sizes[1]} and {sizes[2]} elements",
    )


def _number(o: Operation, name: str) -> int:
    return int(getattr(o.attributes[name], "value", 0))


_INT = kinds.integer(I32)

OPERATIONS = (
    op(
        "vector.tuple",
        "vectors* -> result",
        "$vectors attr-dict `:` type($vectors)",
        implied={"result": _joined},
        traits=_PURE,
    ),
    op(
        "vector.tuple_get",
        "vectors -> result",
        "$vectors `,` $index attr-dict `:` type($vectors)",
        attributes={"index": kinds.INT64},
        implied={"result": _chosen},
        traits=_PURE,
        checks=[_check_tuple_get],
    ),
    op(
        "vector.extract_map",
        "vector ids* -> result",
        "$vector `[` $ids `]` attr-dict `:` type($vector) `to` type($result)",
        infer={"ids": indices},
        types={"vector": constraints.VECTOR, "result": constraints.VECTOR},
        traits=_PURE,
    ),
    op(
        "vector.insert_map",
        "vector dest ids* -> result",
        "$vector `,` $dest `[` $ids `]` attr-dict `:` type($vector)"
        " `into` type($result)",
        infer={"ids": indices},
        same="dest result",
        types={"vector": constraints.VECTOR, "result": constraints.VECTOR},
        traits=_PURE,
    ),
    op(
        "vector.extract_slices",
        "vector -> result",
        "$vector `,` $sizes `,` $strides attr-dict"
        " `:` type($vector) `into` type($result)",
        attributes={"sizes": kinds.ARRAY, "strides": kinds.ARRAY},
        types={"vector": constraints.VECTOR},
        traits=_PURE,
    ),
    op(
        "vector.insert_slices",
        "vectors -> result",
        "$vectors `,` $sizes `,` $strides attr-dict"
        " `:` type($vectors) `into` type($result)",
        attributes={"sizes": kinds.ARRAY, "strides": kinds.ARRAY},
        types={"result": constraints.VECTOR},
        traits=_PURE,
    ),
    op(
        "vector.reshape",
        "vector input_shape* output_shape* -> result",
        "$vector `,` `[` $input_shape `]` `,` `[` $output_shape `]`"
        " `,` $fixed_vector_sizes attr-dict `:` type($vector) `to` type($result)",
        attributes={"fixed_vector_sizes": kinds.ARRAY},
        infer={"input_shape": indices, "output_shape": indices},
        types={"vector": constraints.VECTOR, "result": constraints.VECTOR},
        traits=_PURE,
    ),
    op(
        "vector.flat_transpose",
        "matrix -> res",
        "$matrix attr-dict `:` type($matrix) `->` type($res)",
        attributes={"rows": _INT, "columns": _INT},
        types={"matrix": constraints.VECTOR, "res": constraints.VECTOR},
        traits=_PURE,
        checks=[_check_flat_transpose],
    ),
    op(
        "vector.matrix_multiply",
        "lhs rhs -> res",
        "$lhs `,` $rhs attr-dict `:` `(` type($lhs) `,` type($rhs) `)` `->` type($res)",
        attributes={"lhs_rows": _INT, "lhs_columns": _INT, "rhs_columns": _INT},
        types={"lhs": constraints.VECTOR, "rhs": constraints.VECTOR},
        traits=_PURE,
        checks=[_check_matrix_multiply],
    ),
)
