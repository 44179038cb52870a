"""Hand-written syntax of memref operations."""

from __future__ import annotations

from gpucodegen import errors
from gpucodegen.dialects import memref as view
from gpucodegen.dialects.framework.syntax import Reader, State, Use, Writer, read_type
from gpucodegen.ir.attributes import (
    Attribute,
    ElementsAttr,
    IntegerAttr,
    StringAttr,
    TypeAttr,
    UnitAttr,
    print_symbol,
)
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.segments import OPERAND_SEGMENTS
from gpucodegen.ir.types import (
    I64,
    INDEX,
    MemRefType,
    TensorType,
    Type,
)

# -- alloc -----------------------------------------------------------------------------


def parse_alloc(r: Reader, state: State) -> None:
    """``(%sizes)[%symbols] alignment = 64 {attrs} : memref<..>``."""
    start = r.start
    sizes = r.listed("(", ")", r.use)
    symbols = r.listed("[", "]", r.use) if r.token == "[" else []
    _parse_alignment(r, state)
    ty = read_type(r, state)
    if isinstance(ty, MemRefType) and ty.shape.count(None) != len(sizes):
        raise errors.OperandMismatch(
            r.location(start),
            operation=state.name,
            problem=f"{len(sizes)} sizes for the {ty.shape.count(None)} '?' of {ty}",
            hint="Pass one size per '?'",
        )
    groups = [[r.resolve(u, INDEX) for u in uses] for uses in (sizes, symbols)]
    state.give(groups)
    state.result_types = [ty]


def print_alloc(w: Writer, o: Operation) -> None:
    """``(%sizes)[%symbols] : memref<..>``."""
    alloc = view.Alloc(o)
    w.write(f"({w.names(alloc.dynamic_sizes)})")
    if alloc.symbols:
        w.write(f"[{w.names(alloc.symbols)}]")
    _print_alignment(w, o)
    w.attr_dict(o, (OPERAND_SEGMENTS, "alignment"))
    w.write(f" : {alloc.type}")


def _parse_alignment(r: Reader, state: State) -> None:
    """``alignment = 64``, or nothing."""
    if r.token == "alignment":
        r.advance()
        r.expect("=")
        state.attributes["alignment"] = IntegerAttr(r.integer(), I64)


def _print_alignment(w: Writer, o: Operation) -> None:
    alignment = o.attributes.get("alignment")
    if isinstance(alignment, IntegerAttr):
        w.write(f" alignment = {alignment.value}")


# -- globals ---------------------------------------------------------------------------


def parse_global(r: Reader, state: State) -> None:
    """``"private" constant @name : memref<..> = dense<..> {attrs}``."""
    if r.token[:1] == '"':
        state.attributes["sym_visibility"] = StringAttr(r.string())
    if r.token == "constant":
        r.advance()
        state.attributes["constant"] = UnitAttr()
    state.attributes["sym_name"] = StringAttr(r.symbol_name())
    r.expect(":")
    ty = r.type()
    state.attributes["type"] = TypeAttr(ty)
    if r.accept("="):
        state.attributes["initial_value"] = _initial_value(r, ty)
    _parse_alignment(r, state)
    state.attributes |= r.attr_dict()


def _initial_value(r: Reader, ty: Type) -> Attribute:
    if r.token == "uninitialized":
        r.advance()
        return UnitAttr()
    start = r.start
    is_memref = isinstance(ty, MemRefType)
    value = r.attribute(TensorType(ty.shape, ty.element) if is_memref else None)
    if not isinstance(value, ElementsAttr):
        raise errors.InvalidAttribute(
            r.location(start),
            problem=f"{value} cannot initialise a memref",
            hint="Write dense<...> with one value per element",
        )
    return value


def print_global(w: Writer, o: Operation) -> None:
    """``"private" constant @name : memref<..> = dense<..>``."""
    attributes = o.attributes
    if "sym_visibility" in attributes:
        w.write(f" {attributes['sym_visibility']}")
    if "constant" in attributes:
        w.write(" constant")
    name = attributes["sym_name"]
    w.write(f" {print_symbol(name.value) if isinstance(name, StringAttr) else name}")
    w.write(f" : {attributes['type']}")
    value = attributes.get("initial_value")
    if isinstance(value, UnitAttr):
        w.write(" = uninitialized")
    elif value is not None:
        text = str(value)
        w.write(f" = {text.rpartition(' : ')[0] or text}")
    _print_alignment(w, o)
    w.attr_dict(o, _GLOBAL_ATTRIBUTES)


_GLOBAL_ATTRIBUTES = (
    "sym_visibility",
    "constant",
    "sym_name",
    "type",
    "initial_value",
    "alignment",
)


# -- transfers -------------------------------------------------------------------------


def _element(r: Reader) -> tuple[Use, list[Use]]:
    return r.use(), r.listed("[", "]", r.use)


def parse_dma_start(r: Reader, state: State) -> None:
    """``%src[..], %dst[..], %n, %tag[..] (, %stride, %per_stride)? : types``."""
    ends = [_element(r)]
    r.expect(",")
    ends.append(_element(r))
    r.expect(",")
    count = r.use()
    r.expect(",")
    ends.append(_element(r))
    stride: list[Use] = []
    while r.accept(","):
        stride.append(r.use())
    state.attributes |= r.attr_dict()
    r.expect(":")
    start = r.start
    types = r.types()
    if len(types) != 3 or len(stride) not in (0, 2):
        raise errors.OperandMismatch(
            r.location(start),
            operation=state.name,
            problem="needs three memref types, and a stride with elements per stride",
            hint="Write ... : source type, destination type, tag type",
        )
    (src, dst, tag) = (
        [r.resolve(memref, ty), *(r.resolve(i, INDEX) for i in indices)]
        for (memref, indices), ty in zip(ends, types, strict=True)
    )
    rest = [r.resolve(use, INDEX) for use in stride]
    state.operands = [*src, *dst, r.resolve(count, INDEX), *tag, *rest]


def print_dma_start(w: Writer, o: Operation) -> None:
    """``%src[..], %dst[..], %n, %tag[..] : types``."""
    dma = view.DmaStart(o)
    ends = [_subscripted(w, end) for end in (dma.source, dma.target, dma.tag)]
    parts = [*ends[:2], w.name(dma.num_elements), ends[2], *map(w.name, dma.stride)]
    w.write(f" {', '.join(parts)}")
    w.attr_dict(o)
    types = ", ".join(str(end[0].type) for end in (dma.source, dma.target, dma.tag))
    w.write(f" : {types}")


def _subscripted(w: Writer, end: tuple[Value, ...]) -> str:
    return f"{w.name(end[0])}[{w.names(end[1:])}]"
