"""Hand-written syntax of operations that change a shape."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from gpucodegen.dialects import arith
from gpucodegen.dialects.framework.assembly_elements import (
    indices_text,
    read_indices,
)
from gpucodegen.dialects.framework.kinds import AttributeKind
from gpucodegen.dialects.framework.syntax import Reader, State, Use, Writer, read_type
from gpucodegen.dialects.memref import DYNAMIC_MARK
from gpucodegen.ir.attributes import (
    AffineMapAttr,
    ArrayAttr,
    Attribute,
    DenseArrayAttr,
    IntegerAttr,
)
from gpucodegen.ir.locations import Location
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import I64, INDEX, MemRefType, Shape, TensorType

Groups = Sequence[Sequence[int]]


def parse_expand_shape(r: Reader, state: State) -> None:
    """``%src [[0, 1]] output_shape [%n, 4] : type into type``."""
    source = r.use()
    state.attributes["reassociation"] = r.attribute()
    static: list[int] = []
    dynamic: list[Use] = []
    has_shape = r.token == "output_shape"
    if has_shape:
        r.advance()
        dynamic, static = read_indices(r)
    source_type = read_type(r, state)
    r.keyword("'into'")
    result = r.type()
    state.operands = [
        r.resolve(source, source_type),
        *(r.resolve(use, INDEX) for use in dynamic),
    ]
    state.result_types = [result]
    state.attributes["static_output_shape"] = DenseArrayAttr(I64, tuple(static))
    if not has_shape:
        give_output_shape(r, state)


def give_output_shape(r: Reader, state: State) -> None:
    """The output_shape that text before 2024 leaves to the reader.

    An unknown extent is that of the source, divided by the known ones of its group.
    """
    if (len(state.operands), len(state.result_types)) != (1, 1):
        return
    source, result = state.operands[0], state.result_types[0]
    if not isinstance(result, MemRefType | TensorType):
        return
    static = tuple(DYNAMIC_MARK if e is None else e for e in result.shape)
    state.attributes["static_output_shape"] = DenseArrayAttr(I64, static)
    groups = groups_of(state.attributes.get("reassociation"))
    unknown = _unknown(groups, result.shape)
    if len(unknown) == result.shape.count(None):
        location = r.location(state.start)
        state.operands += [
            _divided(r, source, d, known, location) for d, known in unknown
        ]


def _unknown(groups: Groups, shape: Shape) -> list[tuple[int, int]]:
    """Per group of one unknown extent: which it is, and the product of the known."""
    found: list[tuple[int, int]] = []
    for d, group in enumerate(groups):
        extents = [shape[i] for i in group if i < len(shape)]
        if extents.count(None) == 1:
            found.append((d, prod(e for e in extents if e is not None)))
    return found


def _divided(
    r: Reader, source: Value, d: int, divisor: int, location: Location
) -> Value:
    position = _emitted(r, arith.constant(d, INDEX, name=f"c{d}", location=location))
    dialect = "tensor" if isinstance(source.type, TensorType) else "memref"
    extent = Value(INDEX, "", location)
    r.emit(
        Operation(f"{dialect}.dim", (source, position), (extent,), location=location)
    )
    if divisor == 1:
        return extent
    name = f"c{divisor}"
    by = _emitted(r, arith.constant(divisor, INDEX, name=name, location=location))
    return _emitted(r, arith.binary("arith.divui", extent, by, location=location))


def _emitted(r: Reader, op: Operation) -> Value:
    r.emit(op)
    return op.result


def groups_of(reassociation: Attribute | None) -> Groups:
    """Dimensions of the larger shape per one of the smaller."""
    rows = reassociation.values if isinstance(reassociation, ArrayAttr) else ()
    return [
        [e.value for e in row.values if isinstance(e, IntegerAttr)]
        for row in rows
        if isinstance(row, ArrayAttr)
    ]


def print_expand_shape(w: Writer, o: Operation) -> None:
    """``%src [[0, 1]] output_shape [..] : type into type``."""
    source, *dynamic = o.operands
    w.write(f" {w.name(source)} {o.attributes['reassociation']}")
    static = o.numbers("static_output_shape")
    if static.count(DYNAMIC_MARK) == len(dynamic):
        w.write(f" output_shape [{indices_text(w, static, dynamic)}]")
    w.attr_dict(o, ("reassociation", "static_output_shape"))
    w.write(f" : {source.type} into {o.results[0].type}")


def _read_bare_map(r: Reader) -> Attribute:
    return AffineMapAttr(r.affine_map())


def _write_bare_map(value: Attribute) -> str:
    return str(value.map) if isinstance(value, AffineMapAttr) else str(value)


BARE_MAP = AttributeKind(
    "an affine map",
    _read_bare_map,
    _write_bare_map,
    accepts=lambda a: isinstance(a, AffineMapAttr),
)
