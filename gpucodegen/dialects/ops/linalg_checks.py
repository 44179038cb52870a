"""Rules of linalg operations: maps, ranks, shapes, bodies."""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen import errors
from gpucodegen.dialects.linalg import Structured
from gpucodegen.dialects.linalg_named import (
    NAMED,
    base_name,
    indexing_maps,
    iterator_types,
)
from gpucodegen.dialects.ops.yields import check_yield
from gpucodegen.ir.affine import AffineMap, Dim
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import (
    MemRefType,
    Shape,
    TensorType,
    Type,
    element_type,
)

_KINDS = ("parallel", "reduction", "window")


def _fail(o: Operation, problem: str, hint: str) -> errors.VerifyError:
    return errors.WrongStructure(
        o.location, operation=o.name, problem=problem, hint=hint
    )


def check_operands(o: Operation) -> None:
    """Outputs are memrefs or tensors; tensors among them are the results."""
    structured = Structured(o)
    if not structured.outputs:
        raise _fail(o, "has no outputs", "Add outs(%value : type)")
    for value in structured.outputs:
        if not isinstance(value.type, MemRefType | TensorType):
            raise errors.InvalidOperandType(
                o.location,
                operation=o.name,
                what="each output",
                expected="a memref or tensor",
                actual=value.type,
            )
    expected = [v.type for v in structured.outputs if isinstance(v.type, TensorType)]
    actual = [v.type for v in o.results]
    if expected != actual:
        raise _fail(
            o,
            f"gives ({_listed(actual)})"
            f" but its tensor outputs are ({_listed(expected)})",
            "Declare one result per tensor output, of the same type",
        )


def _listed(types: Sequence[Type]) -> str:
    return ", ".join(map(str, types))


def check_named(o: Operation) -> None:
    """Operand count and shapes fit the operation's maps."""
    name = base_name(o)
    if name in NAMED:
        expected = len(NAMED[name].inputs)
        actual = len(Structured(o).inputs)
        if actual != expected:
            raise _fail(
                o, f"takes {expected} inputs, found {actual}", f"Pass {expected} inputs"
            )
    _check_maps(o, indexing_maps(o), len(iterator_types(o)))


def check_generic(o: Operation) -> None:
    """Maps, iterator types and body fit the operands."""
    structured = Structured(o)
    maps, iterators = structured.indexing_maps, structured.iterator_types
    for kind in iterators:
        if kind not in _KINDS:
            raise _fail(
                o, f"unknown iterator type '{kind}'", f"Use one of {', '.join(_KINDS)}"
            )
    if len(maps) != len(o.operands):
        raise _fail(
            o,
            f"{len(maps)} indexing maps for {len(o.operands)} operands",
            "Write one map per operand, inputs first",
        )
    _check_maps(o, maps, len(iterators))
    _check_body(o, structured)


def _check_maps(o: Operation, maps: Sequence[AffineMap], loops: int) -> None:
    extents: dict[int, tuple[int, int]] = {}
    for position, (map_, value) in enumerate(zip(maps, o.operands, strict=True)):
        if map_.num_dims != loops:
            raise _fail(
                o,
                f"map {position} has {map_.num_dims} dimensions for {loops} loops",
                "Give every map one dimension per iterator type",
            )
        shape = _shape(value)
        if len(map_.results) != len(shape):
            raise _fail(
                o,
                f"operand {position} has rank {len(shape)}"
                f" but its map has {len(map_.results)} results",
                "Give the map one result per dimension of the operand",
            )
        _check_extents(o, map_, shape, position, extents)


def _shape(value: Value) -> Shape:
    ty = value.type
    return ty.shape if isinstance(ty, MemRefType | TensorType) else ()


def _check_extents(
    o: Operation,
    map_: AffineMap,
    shape: Shape,
    position: int,
    extents: dict[int, tuple[int, int]],
) -> None:
    """A loop that indexes two operands alone has one extent."""
    for expr, extent in zip(map_.results, shape, strict=True):
        if not isinstance(expr, Dim) or extent is None:
            continue
        known, owner = extents.setdefault(expr.position, (extent, position))
        if known != extent:
            raise _fail(
                o,
                f"loop d{expr.position} has extent {known} in operand {owner}"
                f" but {extent} in operand {position}",
                "Make the shapes agree",
            )


def _check_body(o: Operation, structured: Structured) -> None:
    expected = [element_type(v.type) for v in o.operands]
    if not o.regions[0].blocks:
        raise errors.EmptyBody(o.location, operation=o.name, expected="a linalg.yield")
    actual = [v.type for v in structured.body.arguments]
    if actual != expected:
        raise _fail(
            o,
            f"the body takes ({_listed(actual)}),"
            f" its operands hold ({_listed(expected)})",
            "Give the body one argument of the element type per operand",
        )
    check_yield(o, [element_type(v.type) for v in structured.outputs], "linalg.yield")


def check_index(o: Operation) -> None:
    """The dimension is not negative."""
    value = getattr(o.attributes.get("dim"), "value", 0)
    if value < 0:
        raise errors.OutOfRange(
            o.location, operation=o.name, what="dimension", value=value, limit="rank"
        )
