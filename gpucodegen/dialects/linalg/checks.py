"""Verifier rules of structured linalg operations.

Operands, results, attributes and bodies must fit the indexing maps: there is one map
per operand, of its rank, and every index lies within its shape.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen import errors
from gpucodegen.dialects.framework.constraints import listed, wrong
from gpucodegen.dialects.linalg import Structured, destinations, scalar_of
from gpucodegen.dialects.linalg.named_bodies import BINARY, FUNCTIONS, UNARY
from gpucodegen.dialects.linalg.named_definitions import (
    CHOSEN_BY,
    base_name,
    body_kind,
    default_maps,
    entry_of,
    indexing_maps,
    iterator_types,
    numbers,
)
from gpucodegen.dialects.linalg.named_tables import CONTRACTIONS, POINTWISE
from gpucodegen.dialects.shared.control_flow import check_yield
from gpucodegen.ir.affine import AffineMap, Dim
from gpucodegen.ir.attributes import (
    ArrayAttr,
    DenseElementsAttr,
    IntegerAttr,
    StringAttr,
)
from gpucodegen.ir.operation import Block, Operation, Value
from gpucodegen.ir.types import (
    I64,
    DialectType,
    MemRefType,
    Shape,
    TensorType,
    Type,
    VectorType,
    element_type,
)


def check_maps(o: Operation, maps: Sequence[AffineMap], loops: int) -> None:
    """The maps fit the operands, and the static shapes fit the maps.

    Shapes of other dialects' types are unknown and not checked.
    """
    if len(maps) != len(o.operands):
        raise wrong(
            o,
            f"{len(maps)} indexing maps for {len(o.operands)} operands",
            "Write one map per operand, inputs first",
        )
    if any(isinstance(v.type, DialectType) for v in o.operands):
        return
    for position, (map_, value) in enumerate(zip(maps, o.operands, strict=True)):
        _check_map(o, position, map_, value, loops)
    extents = _extents(o, maps, loops)
    if None not in extents:
        known = [extent or 0 for extent in extents]
        for position, (map_, value) in enumerate(zip(maps, o.operands, strict=True)):
            _check_shape(o, position, map_, shape_of(value), known)


def shape_of(value: Value) -> Shape:
    """Extents of a shaped operand; none of a scalar."""
    ty = value.type
    return ty.shape if isinstance(ty, MemRefType | TensorType) else ()


def _check_map(
    o: Operation, position: int, map_: AffineMap, value: Value, loops: int
) -> None:
    if map_.num_syms:
        raise wrong(o, f"map {position} has symbols", "Use dimensions only")
    if map_.num_dims != loops:
        raise wrong(
            o,
            f"map {position} has {map_.num_dims} dimensions for {loops} loops",
            "Give every map one dimension per iterator type",
        )
    rank = len(shape_of(value))
    if isinstance(value.type, VectorType) and not map_.results:
        return
    if len(map_.results) != rank:
        raise wrong(
            o,
            f"operand {position} has rank {rank}"
            f" but its map has {len(map_.results)} results",
            "Give the map one result per dimension of the operand",
        )


def _extents(o: Operation, maps: Sequence[AffineMap], loops: int) -> list[int | None]:
    """Extent of each loop, from the first operand indexed by that loop alone."""
    found: dict[int, int | None] = {}
    for map_, value in zip(maps, o.operands, strict=True):
        for expr, extent in zip(map_.results, shape_of(value), strict=False):
            if isinstance(expr, Dim):
                found.setdefault(expr.position, extent)
    missing = [loop for loop in range(loops) if loop not in found]
    if missing:
        raise wrong(
            o,
            f"loop d{missing[0]} has no extent: no operand is indexed by it alone",
            "Index one operand by the loop alone",
        )
    return [found[loop] for loop in range(loops)]


def _check_shape(
    o: Operation,
    position: int,
    map_: AffineMap,
    shape: Shape,
    extents: Sequence[int],
) -> None:
    """With ``n`` the loop extents, ``map(n - 1) + 1`` is at most the dimension."""
    if 0 in extents:
        return
    first = map_.evaluate([0] * len(extents))
    last = map_.evaluate([extent - 1 for extent in extents])
    for axis, extent in enumerate(shape):
        if not extent:
            continue
        reached = max(first[axis], last[axis]) + 1
        expr = map_.results[axis]
        if min(first[axis], last[axis]) < 0:
            raise wrong(
                o,
                f"dimension {axis} of operand {position} is indexed below zero",
                "Add an offset to the map",
            )
        if isinstance(expr, Dim) and reached != extent:
            raise wrong(
                o,
                f"loop {expr} has extent {reached},"
                f" but dimension {axis} of operand {position} is {extent}",
                "Make the shapes agree",
            )
        if reached > extent:
            raise wrong(
                o,
                f"dimension {axis} of operand {position} is {extent},"
                f" but its map reaches {reached}",
                "Make the operand larger, or the window smaller",
            )


_KINDS = ("parallel", "reduction")
_INPUTS = {"contract": 2, "scaled_contract": 4}


# -- operands and results --------------------------------------------------------------


def check_operands(o: Operation) -> None:
    """Outputs are memrefs or tensors; tensors among them are the results."""
    structured = Structured(o)
    if not structured.outputs:
        raise wrong(o, "has no outputs", "Add outs(%value : type)")
    _check_shaped(o, structured.outputs, "each output")
    check_results(o, len(structured.outputs))


def _check_shaped(o: Operation, values: Sequence[Value], what: str) -> None:
    for value in values:
        if not isinstance(value.type, MemRefType | TensorType | DialectType):
            raise errors.InvalidOperandType.at(
                o, what=what, expected="a memref or ranked tensor", actual=value.type
            )


def check_results(o: Operation, outputs: int) -> None:
    """One result per tensor among the outputs."""
    updated = destinations(o, outputs)
    expected = [v.type for v in updated if isinstance(v.type, TensorType)]
    actual = [v.type for v in o.results]
    if expected != actual:
        raise wrong(
            o,
            f"gives ({_listed(actual)})"
            f" but its tensor outputs are ({_listed(expected)})",
            "Declare one result per tensor output, of the same type",
        )


def _listed(types: Sequence[Type]) -> str:
    return ", ".join(map(str, types))


# -- named -----------------------------------------------------------------------------


def check_named(o: Operation) -> None:
    """Operand count, attributes and shapes fit the operation."""
    _check_attributes(o)
    _check_inputs(o)
    _check_windows(o)
    _check_function(o)
    _check_fill(o)
    check_maps(o, indexing_maps(o), len(iterator_types(o)))


def _check_attributes(o: Operation) -> None:
    """Named operations have no linalg attribute that their computation ignores."""
    entry = entry_of(o)
    read = {CHOSEN_BY.get(base_name(o))}
    if entry is not None and entry.windows:
        read |= {"strides", "dilations"}
    for name in ("strides", "dilations", "kind", "fun"):
        if name in o.attributes and name not in read:
            raise errors.WrongAttribute.at(
                o, problem=f"takes no {name}", hint=f"Leave {name} out"
            )
    cast = o.attributes.get("cast")
    found = cast.value if isinstance(cast, StringAttr) else str(cast)
    word = found.partition("<")[2].removesuffix(">") or found
    if cast is not None and word not in ("cast_signed", "cast_unsigned"):
        raise errors.WrongAttribute.at(
            o,
            problem=f"has no cast {cast}",
            hint="Write cast = #linalg.type_fn<cast_signed> or cast_unsigned",
        )


def _expected_inputs(o: Operation) -> int:
    entry, name = entry_of(o), base_name(o)
    if entry is not None:
        return len(entry.inputs)
    if name == "elementwise":
        kind = body_kind(o)
        return 1 if kind in UNARY else 2 if kind in BINARY else 3
    return POINTWISE.get(name) or _INPUTS[name]


def _check_inputs(o: Operation) -> None:
    structured = Structured(o)
    expected = _expected_inputs(o)
    actual = len(structured.inputs)
    if actual != expected:
        raise wrong(
            o, f"takes {expected} inputs, found {actual}", f"Pass {expected} inputs"
        )
    if len(structured.outputs) != 1:
        raise wrong(
            o,
            f"takes one output, found {len(structured.outputs)}",
            "Pass one output",
        )


def _check_windows(o: Operation) -> None:
    """One stride and one dilation per window dimension."""
    entry = entry_of(o)
    expected = entry.windows if entry is not None else 0
    for name in ("strides", "dilations") if expected else ():
        value = o.attributes.get(name)
        if value is None:
            continue
        is_integral = isinstance(value, DenseElementsAttr) and value.element == I64
        if not is_integral or len(numbers(o, name)) != expected:
            raise errors.WrongAttribute.at(
                o,
                problem=f"{name} must hold {expected} i64 numbers, found {value}",
                hint=f"Write {name} = dense<1> : tensor<{expected}xi64>",
            )


def _check_function(o: Operation) -> None:
    if base_name(o) != "elementwise":
        return
    kind = body_kind(o)
    if kind not in FUNCTIONS:
        raise errors.WrongAttribute.at(
            o,
            problem=f"unknown function '{kind}'",
            hint=errors.did_you_mean(kind, FUNCTIONS) or "Use exp, add or another",
        )


def _check_fill(o: Operation) -> None:
    value = o.operands[0]
    if o.name == "linalg.fill" and isinstance(value.type, MemRefType | TensorType):
        raise errors.InvalidOperandType.at(
            o, what="the value", expected="a scalar", actual=value.type
        )


def check_contraction(o: Operation) -> None:
    """Operands are indexed by single loops; ``contract`` sums over the shared ones."""
    name = base_name(o)
    if name not in (*CONTRACTIONS, "contract"):
        return
    maps = indexing_maps(o)
    for map_ in maps:
        if not all(isinstance(r, Dim) for r in map_.results):
            raise wrong(
                o,
                f"map {map_} is more than a choice of dimensions",
                "Use single dimensions only",
            )
    if name in CONTRACTIONS:
        _check_product(o, maps, default_maps(o))
    else:
        _check_contract(o, *({str(r) for r in m.results} for m in maps))


def _check_product(
    o: Operation, maps: Sequence[AffineMap], defaults: Sequence[AffineMap]
) -> None:
    """Maps of a product transpose operands or drop (broadcast) dimensions."""
    for position, (map_, default) in enumerate(zip(maps, defaults, strict=True)):
        if not set(map_.results) <= set(default.results):
            raise wrong(
                o,
                f"map {position} is {map_}, which is no form of {default}",
                "Reorder or leave out dimensions of the operands",
            )


def _check_contract(o: Operation, lhs: set[str], rhs: set[str], out: set[str]) -> None:
    for loop in sorted((lhs ^ rhs) - out):
        raise wrong(
            o,
            f"loop {loop} is in one input only",
            "Index both inputs by it, or one input and the output",
        )
    for loop in sorted(out - lhs - rhs):
        raise wrong(o, f"loop {loop} is in no input", "Index an input by it")


# -- generic ---------------------------------------------------------------------------


def check_generic(o: Operation) -> None:
    """Maps, iterator types and body fit the operands."""
    structured = Structured(o)
    iterators = structured.iterator_types
    for kind in iterators:
        if kind not in _KINDS:
            raise wrong(
                o, f"unknown iterator type '{kind}'", f"Use one of {', '.join(_KINDS)}"
            )
    written = o.attributes.get("indexing_maps")
    count = len(written.values) if isinstance(written, ArrayAttr) else 0
    if len(structured.indexing_maps) != count:
        raise errors.WrongAttribute.at(
            o,
            problem="indexing_maps holds something else than affine maps",
            hint="Write affine_map<(d0) -> (d0)>",
        )
    check_maps(o, structured.indexing_maps, len(iterators))
    check_body(o, len(structured.outputs))


def check_body(o: Operation, outputs: int) -> None:
    """One block; an argument per operand, a yielded value per output."""
    expected = [scalar_of(v.type) for v in o.operands]
    blocks = o.regions[0].blocks
    if not blocks or not blocks[0].operations:
        raise errors.EmptyBody.at(o, expected="a linalg.yield")
    if len(blocks) != 1:
        raise errors.WrongRegionCount.at(o, expected="one block", actual=len(blocks))
    actual = [v.type for v in blocks[0].arguments]
    if actual != expected:
        raise wrong(
            o,
            f"the body takes ({_listed(actual)}),"
            f" its operands hold ({_listed(expected)})",
            "Give the body one argument of the element type per operand",
        )
    last = blocks[0].operations[-1]
    if last.name != "linalg.yield":
        raise errors.MissingTerminator(
            last.location, operation=o.name, expected="linalg.yield"
        )
    _check_positions(blocks[0], len(iterator_types(o)))
    check_yield(o, [scalar_of(v.type) for v in o.operands[-outputs:]])


def _check_positions(block: Block, loops: int) -> None:
    """Every ``linalg.index`` names an existing loop."""
    for op in block.operations:
        dim = op.attributes.get("dim")
        if op.name != "linalg.index" or not isinstance(dim, IntegerAttr):
            continue
        if not 0 <= dim.value < loops:
            raise errors.OutOfRange.at(
                op, what="dimension", value=dim.value, limit=loops
            )


def check_map(o: Operation) -> None:
    """All operands have the shape of the output."""
    check_results(o, 1)
    check_body(o, 1)
    shape = shape_of(o.operands[-1])
    for position, value in enumerate(o.operands[:-1]):
        if shape_of(value) != shape:
            raise wrong(
                o,
                f"input {position} has type {value.type},"
                f" the output {o.operands[-1].type}",
                "Give all operands one shape",
            )


def check_reduce(o: Operation) -> None:
    """Outputs have the input's shape without the reduced dimensions."""
    half = len(o.operands) // 2
    if not half or len(o.operands) != 2 * half:
        raise wrong(o, f"takes {len(o.operands)} operands", "Pass one output per input")
    check_results(o, half)
    for group in (o.operands[:half], o.operands[half:]):
        if len({shape_of(v) for v in group}) != 1:
            raise wrong(
                o, "inputs or outputs differ in shape", "Give each group one shape"
            )
    shape = shape_of(o.operands[0])
    reduced = numbers(o, "dimensions")
    if list(reduced) != sorted(set(reduced)):
        raise wrong(
            o, f"dimensions = {list(reduced)} do not ascend", "Sort the dimensions"
        )
    _check_range(o, "dimensions", len(shape))
    kept = tuple(e for i, e in enumerate(shape) if i not in reduced)
    if kept != shape_of(o.operands[half]):
        raise wrong(
            o,
            f"leaves extents {listed(kept)},"
            f" but the output has {listed(shape_of(o.operands[half]))}",
            "Give the output the dimensions that are not reduced",
        )
    check_body(o, half)


def _check_range(o: Operation, name: str, rank: int) -> None:
    for entry in numbers(o, name):
        if not 0 <= entry < rank:
            raise errors.OutOfRange.at(o, what=name, value=entry, limit=rank)


def check_transpose(o: Operation) -> None:
    """``output[i] = input[permutation[i]]``, extents alike."""
    _check_copy(o)
    shape, output = (shape_of(v) for v in o.operands)
    order = numbers(o, "permutation")
    if sorted(order) != list(range(len(shape))):
        raise wrong(
            o,
            f"{list(order)} is no permutation of {len(shape)} dimensions",
            "Name every dimension of the input once",
        )
    expected = tuple(shape[i] for i in order)
    if expected != output:
        raise wrong(
            o,
            f"gives extents {listed(expected)}, but the output has {listed(output)}",
            "Permute the extents of the output in the same way",
        )


def check_broadcast(o: Operation) -> None:
    """The input has the output's shape without the added dimensions."""
    _check_copy(o)
    shape, output = (shape_of(v) for v in o.operands)
    added = numbers(o, "dimensions")
    if len(shape) + len(added) != len(output):
        raise wrong(
            o,
            f"adds {len(added)} dimensions to rank {len(shape)},"
            f" but the output has rank {len(output)}",
            "Name every dimension of the output that the input does not have",
        )
    _check_range(o, "dimensions", len(output))
    kept = tuple(e for i, e in enumerate(output) if i not in added)
    if kept != shape:
        raise wrong(
            o,
            f"keeps extents {listed(kept)}, but the input has {listed(shape)}",
            "Make the shapes agree",
        )


def _check_copy(o: Operation) -> None:
    check_results(o, 1)
    first, last = (element_type(v.type) for v in o.operands)
    if first != last:
        raise wrong(
            o, f"copies {first} to {last}", "Use one element type for both operands"
        )


def check_index(o: Operation) -> None:
    """The dimension is not negative."""
    value = o.integer("dim")
    if value < 0:
        raise errors.OutOfRange.at(o, what="dimension", value=value, limit="rank")
