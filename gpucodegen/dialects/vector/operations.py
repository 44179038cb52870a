"""Table of the vector operations, with ``vector.mask`` and those of 2020 to 2024.

``vector.mask`` runs one operation on the lanes that a mask selects.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpucodegen.dialects.framework import kinds
from gpucodegen.dialects.framework.constraints import require
from gpucodegen.dialects.framework.declare import op, pure, result_list, terminator
from gpucodegen.dialects.framework.definition import Types
from gpucodegen.dialects.framework.syntax import Reader, State, Writer, read_type
from gpucodegen.dialects.vector import elements as vector_elements
from gpucodegen.dialects.vector import extents, memory, vector_of
from gpucodegen.dialects.vector import memory as vector_memory
from gpucodegen.dialects.vector import products as vector_products
from gpucodegen.dialects.vector import shapes as vector_shapes
from gpucodegen.dialects.vector.memory import mask_type
from gpucodegen.dialects.vector.shapes import MASK
from gpucodegen.ir.attributes import AffineMapAttr, Attribute
from gpucodegen.ir.locations import Location
from gpucodegen.ir.operation import Block, Operation, Region
from gpucodegen.ir.types import I1, I32, TupleType, Type

_YIELD = "vector.yield"


def parse_mask(r: Reader, state: State) -> None:
    """``%m, %passthru { operation } : mask -> types``."""
    uses = r.separated(r.use)
    start = r.location()
    state.regions = [_with_yield(r.region(), start)]
    mask = read_type(r, state)
    start = r.start
    state.result_types = r.arrow_types()
    types = [mask, *state.result_types[: len(uses) - 1]]
    state.operands = r.resolve_all(uses, types, start)


def _with_yield(region: Region, start: Location) -> Region:
    """The region with the yield that the text may omit."""
    block = region.blocks[0] if region.blocks else Block()
    last = block.operations[-1] if block.operations else None
    if last is not None and last.name == _YIELD:
        return region
    results = last.results if last is not None else ()
    end = Operation(_YIELD, results, location=last.location if last else start)
    return Region((block.with_operations([*block.operations, end]),))


def print_mask(w: Writer, o: Operation) -> None:
    """``%m, %passthru { operation } : mask -> types``."""
    w.write(f" {w.names(o.operands)} {{ ")
    *operations, end = o.body.operations
    returned = operations[-1].results if operations else ()
    shown = operations if end.operands == returned else o.body.operations
    for i, nested in enumerate(shown):
        w.write("\n" if i else "")
        w.operation(nested)
    w.write(" }")
    w.attr_dict(o)
    w.write(f" : {o.operands[0].type}")
    if o.results:
        w.write(f" -> {result_list(o.results)}")


# -- rules -----------------------------------------------------------------------------

_MASKABLE = frozenset(
    f"vector.{name}"
    for name in (
        "contract gather multi_reduction outerproduct reduction scatter"
        " transfer_read transfer_write"
    ).split()
)


def check_mask(o: Operation) -> None:
    """The region has at most one maskable operation, whose results it returns."""
    *operations, end = o.body.operations
    types = [v.type for v in o.results]
    require(
        [v.type for v in end.operands] == types,
        o,
        "the results are not those of the masked operation",
        "Write the types of what the operation inside gives",
    )
    require(
        len(operations) <= 1,
        o,
        f"{len(operations)} operations inside",
        "Mask one operation",
    )
    for nested in operations:
        _check_maskable(o, nested, end)
    if len(o.operands) > 1:
        require(
            [v.type for v in o.operands[1:]] == types,
            o,
            "the value for unselected lanes has not the type of the result",
            "Pass a value of the result's type",
        )


def _check_maskable(o: Operation, nested: Operation, end: Operation) -> None:
    require(
        nested.name in _MASKABLE,
        o,
        f"'{nested.name}' takes no mask",
        "Mask a transfer, a gather, a scatter, a reduction or a product",
    )
    require(
        end.operands == nested.results,
        o,
        "what is yielded is not what the masked operation gives",
        "Leave out the vector.yield",
    )
    expected = _expected_mask(nested)
    require(
        expected in (None, o.operands[0].type),
        o,
        f"'{nested.name}' is masked by {expected}, not {o.operands[0].type}",
        f"Use a mask of type {expected}",
    )


def _expected_mask(o: Operation) -> Type | None:
    """The mask type of a maskable operation, where its vector determines it."""
    if o.name.startswith("vector.transfer"):
        is_read = o.name == "vector.transfer_read"
        vector = o.results[0].type if is_read else o.operands[0].type
        map_ = o.attributes.get("permutation_map")
        return mask_type(vector, map_.map) if isinstance(map_, AffineMapAttr) else None
    if o.name in ("vector.reduction", "vector.multi_reduction"):
        return vector_of(extents(o.operands[0].type), I1)
    return None


MASK_OPERATIONS = (
    op(
        "vector.mask",
        "mask passthru? -> results*",
        (parse_mask, print_mask),
        types={"mask": MASK},
        regions=1,
        terminators=["vector.yield"],
        checks=[check_mask],
    ),
    terminator(
        "vector.yield", "operands*", "attr-dict ($operands^ `:` type($operands))?"
    ),
)


# -- tuples of vectors -----------------------------------------------------------------


def _joined(types: Types, _: Mapping[str, Attribute]) -> Sequence[Type]:
    return (TupleType(tuple(types["vectors"])),)


def _chosen(types: Types, attributes: Mapping[str, Attribute]) -> Sequence[Type]:
    (ty,), index = types["vectors"], getattr(attributes["index"], "value", 0)
    return ty.elements[index : index + 1] if isinstance(ty, TupleType) else ()


def _check_tuple_get(o: Operation) -> None:
    """The index names the element whose type the result has."""
    ty = o.operands[0].type
    index = o.integer("index")
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
    rows, columns = (o.integer(name) for name in ("rows", "columns"))
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
        o.integer(name) for name in ("lhs_rows", "lhs_columns", "rhs_columns")
    )
    sizes = (rows * inner, inner * columns, rows * columns)
    counts = [extents(v.type) for v in (*o.operands, *o.results)]
    require(
        counts == [((size, False),) for size in sizes],
        o,
        f"{rows} x {inner} times {inner} x {columns} elements do not fit the vectors",
        f"Use vectors of {sizes[0]}, {sizes[1]} and {sizes[2]} elements",
    )


_INT = kinds.integer(I32)

LEGACY_OPERATIONS = (
    pure(
        "vector.tuple",
        "vectors* -> result",
        "$vectors attr-dict `:` type($vectors)",
        implied={"result": _joined},
    ),
    pure(
        "vector.tuple_get",
        "vectors -> result",
        "$vectors `,` $index attr-dict `:` type($vectors)",
        attributes={"index": kinds.INT64},
        implied={"result": _chosen},
        checks=[_check_tuple_get],
    ),
    pure(
        "vector.extract_map",
        "vector:vector ids:index* -> result:vector",
        "$vector `[` $ids `]` attr-dict `:` type($vector) `to` type($result)",
    ),
    pure(
        "vector.insert_map",
        "vector:vector dest ids:index* -> result:vector",
        "$vector `,` $dest `[` $ids `]` attr-dict `:` type($vector)"
        " `into` type($result)",
        same="dest result",
    ),
    pure(
        "vector.extract_slices",
        "vector:vector -> result",
        "$vector `,` $sizes `,` $strides attr-dict"
        " `:` type($vector) `into` type($result)",
        attributes={"sizes": kinds.ARRAY, "strides": kinds.ARRAY},
    ),
    pure(
        "vector.insert_slices",
        "vectors -> result:vector",
        "$vectors `,` $sizes `,` $strides attr-dict"
        " `:` type($vectors) `into` type($result)",
        attributes={"sizes": kinds.ARRAY, "strides": kinds.ARRAY},
    ),
    pure(
        "vector.reshape",
        "vector:vector input_shape:index* output_shape:index* -> result:vector",
        "$vector `,` `[` $input_shape `]` `,` `[` $output_shape `]`"
        " `,` $fixed_vector_sizes attr-dict `:` type($vector) `to` type($result)",
        attributes={"fixed_vector_sizes": kinds.ARRAY},
    ),
    pure(
        "vector.flat_transpose",
        "matrix:vector -> res:vector",
        "$matrix attr-dict `:` type($matrix) `->` type($res)",
        attributes={"rows": _INT, "columns": _INT},
        checks=[_check_flat_transpose],
    ),
    pure(
        "vector.matrix_multiply",
        "lhs:vector rhs:vector -> res",
        "$lhs `,` $rhs attr-dict `:` `(` type($lhs) `,` type($rhs) `)` `->` type($res)",
        attributes={"lhs_rows": _INT, "lhs_columns": _INT, "rhs_columns": _INT},
        checks=[_check_matrix_multiply],
    ),
)


OPERATIONS = (
    *vector_elements.OPERATIONS,
    *vector_products.OPERATIONS,
    *vector_shapes.OPERATIONS,
    *vector_memory.OPERATIONS,
    *memory.TRANSFER_OPERATIONS,
    *MASK_OPERATIONS,
    *LEGACY_OPERATIONS,
)
