"""Syntax and rules of expand_shape, collapse_shape and reshape.

They hold for memrefs and for tensors.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from gpucodegen.dialects import arith
from gpucodegen.dialects.framework.assembly_elements import (
    indices_text,
    read_indices,
)
from gpucodegen.dialects.framework.constraints import agree, require, shown
from gpucodegen.dialects.framework.kinds import AttributeKind
from gpucodegen.dialects.framework.syntax import Reader, State, Use, Writer, read_type
from gpucodegen.dialects.memref import DYNAMIC_MARK
from gpucodegen.dialects.memref.checks import check_same_storage
from gpucodegen.dialects.memref.layouts import (
    Extent,
    Strided,
    is_row_major,
    product,
    row_major,
    strided_form,
    times,
    with_strides,
)
from gpucodegen.ir.attributes import (
    AffineMapAttr,
    ArrayAttr,
    Attribute,
    DenseArrayAttr,
    IntegerAttr,
)
from gpucodegen.ir.locations import Location
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import (
    I64,
    INDEX,
    MemRefType,
    Shape,
    TensorType,
    Type,
    element_type,
)

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
    """Compute the ``output_shape`` that text before 2024 omits.

    An unknown extent is that of the source divided by the known extents of its group.
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
    """Per group with an unknown extent: its dimension, and the others' product."""
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
    """Dimensions of the larger shape that form each dimension of the smaller one."""
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


def _groups(o: Operation) -> Groups:
    return groups_of(o.attributes.get("reassociation"))


# -- shapes ----------------------------------------------------------------------------


def check_collapse(o: Operation) -> None:
    """The result's dimensions are groups of neighbouring source dimensions."""
    source, result = o.operands[0].type, o.results[0].type
    _check_groups(o, large=source, small=result)
    _check_element(o, source, result)
    if isinstance(source, MemRefType) and isinstance(result, MemRefType):
        _check_layout(o, source, result, _collapsed(o, source))


def check_expand(o: Operation) -> None:
    """Each source dimension is split into a group of result dimensions."""
    source, result = o.operands[0].type, o.results[0].type
    _check_groups(o, large=result, small=source)
    _check_element(o, source, result)
    _check_output_shape(o, result)
    if isinstance(source, MemRefType) and isinstance(result, MemRefType):
        _check_layout(o, source, result, _expanded(o, source, result.shape))


def _check_groups(o: Operation, *, large: Type, small: Type) -> None:
    if not isinstance(large, MemRefType | TensorType):
        return
    if not isinstance(small, MemRefType | TensorType):
        return
    groups = _groups(o)
    require(
        len(groups) == len(small.shape),
        o,
        f"{len(groups)} groups of dimensions for {small}",
        "Write one group per dimension",
    )
    named = [d for group in groups for d in group]
    is_complete = named == list(range(len(large.shape))) and all(groups)
    require(
        is_complete or not groups,
        o,
        f"the groups do not name the dimensions of {large} in order",
        "Name each dimension once, in order",
    )
    require(
        groups or set(large.shape) <= {1},
        o,
        f"{large} does not have one element",
        "Only extents of 1 can come or go without a group",
    )
    for group, extent in zip(groups, small.shape, strict=True):
        total = product(large.shape[d] for d in group)
        require(
            total == extent,
            o,
            f"dimensions {group} have {shown(total)} elements, not {shown(extent)}",
            "Make the extents' product that of the dimension",
        )


def _check_element(o: Operation, source: Type, result: Type) -> None:
    require(
        element_type(source) == element_type(result),
        o,
        f"turns elements {element_type(source)} into {element_type(result)}",
        "Keep the element type",
    )


def _check_output_shape(o: Operation, result: Type) -> None:
    static = o.attributes.get("static_output_shape")
    if not isinstance(static, DenseArrayAttr):
        return
    if not isinstance(result, MemRefType | TensorType):
        return
    written = [None if e == DYNAMIC_MARK else int(e) for e in static.values]
    fits = len(written) == len(result.shape) and all(map(agree, written, result.shape))
    dynamic = result.shape.count(None)
    values = len(o.operands) - 1
    require(
        fits and values in (0, dynamic) and written.count(None) in (0, dynamic),
        o,
        f"output_shape does not fit {result}",
        "Write the extents of the result, with one value per '?'",
    )


# -- layouts ---------------------------------------------------------------------------


def _check_layout(
    o: Operation, source: MemRefType, result: MemRefType, form: Strided | None
) -> None:
    """The layout follows from the source's; map layouts of old text may state less."""
    check_same_storage(o, source, result)
    if is_row_major(source):
        is_same = strided_form(result) == Strided(0, row_major(result.shape))
        require(
            is_same or isinstance(result.layout, AffineMapAttr),
            o,
            f"gives a row-major memref, not {result}",
            "Remove the layout",
        )
        return
    require(
        form, o, f"{source} is not contiguous there", "Copy it to a row-major memref"
    )
    if form is None or isinstance(result.layout, AffineMapAttr):
        return
    expected = with_strides(result, result.shape, form)
    require(result == expected, o, f"gives {expected}, not {result}", "Write that type")


def _collapsed(o: Operation, source: MemRefType) -> Strided | None:
    form = strided_form(source)
    if form is None:
        return None
    strides: list[Extent] = []
    for group in _groups(o):
        last = next((d for d in reversed(group) if source.shape[d] != 1), group[0])
        step = form.strides[last]
        is_open = source.shape[last] is None and last != group[0]
        strides.append(None if is_open else step)
        if not _is_contiguous(source.shape, form.strides, group, strides[-1]):
            return None
    return Strided(form.offset, tuple(strides))


def _is_contiguous(
    shape: Shape, strides: Shape, group: Sequence[int], step: Extent
) -> bool:
    for outer, inner in zip(reversed(group[:-1]), reversed(group[1:]), strict=True):
        step = times(step, shape[inner])
        if shape[outer] != 1 and not agree(step, strides[outer]):
            return False
    return True


def _expanded(o: Operation, source: MemRefType, shape: Shape) -> Strided | None:
    form = strided_form(source)
    return None if form is None else expanded(form, shape, _groups(o))


def expanded(form: Strided, shape: Shape, groups: Sequence[Sequence[int]]) -> Strided:
    """The layout after each dimension was split into a group of ``shape``'s.

    >>> expanded(Strided(0, (8, 1)), (2, 3, 8), ((0, 1), (2,))).strides
    (24, 8, 1)
    """
    strides: list[Extent] = []
    for group, step in zip(groups, form.strides, strict=True):
        inner: Extent = step
        own: list[Extent] = []
        for d in reversed(group):
            own.append(inner)
            inner = times(inner, shape[d])
        strides += reversed(own)
    return Strided(form.offset, tuple(strides) if groups else (1,) * len(shape))


# -- reshape ---------------------------------------------------------------------------


def check_reshape(o: Operation) -> None:
    """Equal element counts in row-major order; the shape has one entry per extent."""
    source, sizes = (v.type for v in o.operands)
    result = o.results[0].type
    _check_element(o, source, result)
    for ty in (source, result):
        is_plain = not isinstance(ty, MemRefType) or is_row_major(ty)
        require(is_plain, o, f"{ty} is not row-major", "Remove the layout")
    rank = len(result.shape) if isinstance(result, MemRefType | TensorType) else None
    given = getattr(sizes, "shape", (None,))[0]
    require(
        rank is None or given == rank,
        o,
        f"{shown(given)} extents for {result}",
        "Pass one extent per dimension, or make the result unranked",
    )


def check_tensor_reshape(o: Operation) -> None:
    """A reshape of tensors keeps the number of elements."""
    check_reshape(o)
    source, result = o.operands[0].type, o.results[0].type
    if not isinstance(source, TensorType) or not isinstance(result, TensorType):
        return
    before, after = product(source.shape), product(result.shape)
    require(
        agree(before, after),
        o,
        f"turns {before} elements into {after}",
        "Keep the number of elements",
    )
