"""Syntax of affine accesses, transfers and index arithmetic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpucodegen import errors
from gpucodegen.dialects import affine as view
from gpucodegen.dialects.affine.loops import applied, subscripts_text
from gpucodegen.dialects.framework.assembly_elements import (
    FormatElement,
    ParsedElements,
    Printed,
)
from gpucodegen.dialects.framework.definition import Types
from gpucodegen.dialects.framework.syntax import Reader, State, Use, Writer
from gpucodegen.ir.attributes import AffineMapAttr, Attribute, IntegerSetAttr
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import INDEX, Type

# -- maps and sets with their operands -------------------------------------------------


@dataclass(frozen=True, slots=True)
class Applied(FormatElement):
    """``affine_map<..>(%i)[%n]``: a map or a set with the operands of a slot."""

    slot: str
    attribute: str

    def shows(self) -> Sequence[str]:
        """Names of the attributes that it shows."""
        return (self.attribute,)

    def parse(self, parsed: ParsedElements) -> None:
        """Read the element."""
        r = parsed.reader
        if self.attribute == "map":
            whole, made = (map_ := r.affine_map()), AffineMapAttr(map_)
        else:
            whole, made = (set_ := r.integer_set()), IntegerSetAttr(set_)
        parsed.state.attributes[self.attribute] = made
        operands = r.affine_operands(whole.num_dims, whole.num_syms)
        parsed.values[self.slot] = operands

    def print(self, printed: Printed) -> None:
        """Write the element."""
        made = printed.op.attributes[self.attribute]
        whole = (
            made.set if isinstance(made, IntegerSetAttr) else view.map_of(printed.op)
        )
        operands = applied(printed.writer, whole.num_dims, printed.op.operands)
        printed.put(f"{made}{operands}")


def one_per_result(_: Types, attributes: Mapping[str, Attribute]) -> Sequence[Type]:
    """An index for each result of the map; a check wants a single one."""
    map_ = attributes["map"]
    return [INDEX] * (len(map_.map.results) if isinstance(map_, AffineMapAttr) else 1)


# -- element and vector accesses -------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Subscripts(FormatElement):
    """``[%i + 1, %j]``: operands of a slot, put into a map."""

    slot: str = "indices"
    attribute: str = "map"

    def shows(self) -> Sequence[str]:
        """Names of the attributes that it shows."""
        return (self.attribute,)

    def parse(self, parsed: ParsedElements) -> None:
        """Read the element."""
        map_, parsed.values[self.slot] = parsed.reader.subscripts("[", "]")
        parsed.state.attributes[self.attribute] = AffineMapAttr(map_)

    def print(self, printed: Printed) -> None:
        """Write the element."""
        map_ = view.map_of(printed.op, self.attribute)
        operands = printed.values[self.slot]
        printed.put(f"[{subscripts_text(printed.writer, map_, operands)}]")
        printed.after_word = True


# -- transfers -------------------------------------------------------------------------

_MAPS = ("src_map", "dst_map", "tag_map")


def parse_dma_start(r: Reader, state: State) -> None:
    """``%src[..], %dst[..], %tag[..], %n (, %stride, %per_stride)? : types``."""
    ends: list[tuple[Use, list[Value]]] = []
    for name in _MAPS:
        memref = r.use()
        map_, indices = r.subscripts("[", "]")
        state.attributes[name] = AffineMapAttr(map_)
        ends.append((memref, indices))
        r.expect(",")
    sizes = r.separated(lambda: r.resolve(r.use(), INDEX))
    state.attributes |= r.attr_dict()
    r.expect(":")
    start = r.start
    types = r.types()
    if len(types) != 3 or len(sizes) not in (1, 3):
        raise errors.OperandMismatch(
            r.location(start),
            operation=state.name,
            problem="needs three memref types, and a stride with elements per stride",
            hint="Write ... : source type, destination type, tag type",
        )
    for (memref, indices), ty in zip(ends, types, strict=True):
        state.operands += [r.resolve(memref, ty), *indices]
    state.operands += sizes


def _element(w: Writer, end: view.Endpoint) -> str:
    return f"{w.name(end.memref)}[{subscripts_text(w, end.map, end.map_operands)}]"


def print_dma_start(w: Writer, o: Operation) -> None:
    """``%src[..], %dst[..], %tag[..], %n : types``."""
    dma = view.DmaStart(o)
    ends = [_element(w, end) for end in dma.ends]
    w.write(f" {', '.join([*ends, *map(w.name, dma.sizes)])}")
    w.attr_dict(o, _MAPS)
    w.write(f" : {', '.join(str(e.memref.type) for e in dma.ends)}")
