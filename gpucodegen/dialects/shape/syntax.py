"""Hand-written syntax of shape operations.

Types may be left out, as in text of 2020: what holds errors was the only choice then.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gpucodegen import errors
from gpucodegen.dialects.framework.assembly_elements import (
    FormatElement,
    ParsedElements,
    Printed,
)
from gpucodegen.dialects.framework.kinds import ANY
from gpucodegen.dialects.framework.signatures import parse_signature, print_function
from gpucodegen.dialects.framework.syntax import Reader, State, Writer
from gpucodegen.ir.attributes import (
    Attribute,
    DenseElementsAttr,
    DictAttr,
    StringAttr,
    dictionary,
    print_entry,
    print_symbol,
)
from gpucodegen.ir.operation import Block, Operation, Region
from gpucodegen.ir.types import INDEX, DialectType, TensorType, Type

SHAPE = DialectType("shape.shape")
SIZE = DialectType("shape.size")
VALUE_SHAPE = DialectType("shape.value_shape")
WITNESS = DialectType("shape.witness")


def _is_extents(attribute: Attribute) -> bool:
    is_dense = isinstance(attribute, DenseElementsAttr)
    return is_dense and attribute.element == INDEX and _rank(attribute.type) == 1


def _is_dictionary(attribute: Attribute) -> bool:
    return isinstance(attribute, DictAttr)


def _rank(ty: Type) -> int:
    return len(ty.shape) if isinstance(ty, TensorType) else 0


EXTENTS = replace(ANY, what="a tensor of extents", accepts=_is_extents)
MAPPING = replace(ANY, what="a dictionary", accepts=_is_dictionary)


@dataclass(frozen=True, slots=True)
class Types(FormatElement):
    """``: operand types -> result type``, or nothing in old text.

    Without a default the result's type is not written.
    """

    operands: tuple[str, ...]
    result: str = ""
    default: Type | None = None

    def parse(self, parsed: ParsedElements) -> None:
        """Read the element."""
        r = parsed.reader
        if self.default is not None:
            parsed.types[self.result] = [self.default]
        if not r.accept(":"):
            return
        start = r.start
        types = r.types()
        self._distribute(parsed, types, start)
        if self.default is not None and r.accept("->"):
            parsed.types[self.result] = [r.type()]

    def _distribute(
        self, parsed: ParsedElements, types: list[Type], start: int
    ) -> None:
        counts = [len(parsed.uses[name]) for name in self.operands]
        if sum(counts) != len(types):
            raise errors.TypeCountMismatch(
                parsed.reader.location(start), operands=sum(counts), types=len(types)
            )
        for name, count in zip(self.operands, counts, strict=True):
            parsed.types[name], types = types[:count], types[count:]

    def print(self, printed: Printed) -> None:
        """Write the element."""
        types = [str(v.type) for n in self.operands for v in printed.values[n]]
        if types:
            printed.put(":")
            printed.put(", ".join(types))
        if self.default is not None:
            (result,) = printed.values[self.result]
            printed.put("->")
            printed.put(str(result.type))


# -- constants -------------------------------------------------------------------------


def parse_const_shape(r: Reader, state: State) -> None:
    """``{attrs} [1, 2] : type``."""
    state.attributes |= r.attr_dict()
    extents = r.listed("[", "]", r.integer)
    ty = TensorType((len(extents),), INDEX)
    values = tuple(extents[:1] if len(set(extents)) == 1 else extents)
    state.attributes["shape"] = DenseElementsAttr(values, ty, INDEX)
    state.result_types = [r.type() if r.accept(":") else SHAPE]


def print_const_shape(w: Writer, o: Operation) -> None:
    """``{attrs} [1, 2] : type``."""
    w.attr_dict(o, ("shape",))
    w.write(f" [{', '.join(map(str, extents_of(o)))}] : {o.results[0].type}")


def extents_of(o: Operation) -> tuple[object, ...]:
    """The numbers of a constant shape."""
    value = o.attributes.get("shape")
    if not isinstance(value, DenseElementsAttr):
        return ()
    count = value.type.shape[0] if isinstance(value.type, TensorType) else 0
    return tuple(value.values) * (count or 0) if value.is_splat else value.values


# -- functions -------------------------------------------------------------------------


def parse_library(r: Reader, state: State) -> None:
    """``@name attributes {..} { .. } mapping {operation = @function}``."""
    if r.token[:1] == "@":
        state.attributes["sym_name"] = StringAttr(r.symbol_name())
    state.attributes |= r.attr_dict_with_keyword()
    region = r.region(isolated=True, dialect="shape")
    state.regions = [region if region.blocks else Region((Block(),))]
    r.one_of(("mapping",), "'mapping'")
    state.attributes["mapping"] = dictionary(r.attr_dict())


def print_library(w: Writer, o: Operation) -> None:
    """``@name attributes {..} { .. } mapping {operation = @function}``."""
    _print_name(w, o)
    w.attr_dict(o, ("sym_name", "mapping"), keyword=True)
    w.write(" ")
    w.region(o.regions[0])
    mapping = o.attributes.get("mapping")
    entries = mapping.entries if isinstance(mapping, DictAttr) else ()
    w.write(f" mapping {{{', '.join(map(_entry, entries))}}}")


def _entry(entry: tuple[str, Attribute]) -> str:
    return print_entry(*entry)


def _print_name(w: Writer, o: Operation) -> None:
    name = o.attributes.get("sym_name")
    if isinstance(name, StringAttr):
        w.write(f" {print_symbol(name.value)}")


def parse_func(r: Reader, state: State) -> None:
    """``private? @name(arguments) -> results attributes {..} { .. }``."""
    if r.token in ("public", "private", "nested"):
        state.attributes["sym_visibility"] = StringAttr(r.advance())
    state.attributes["sym_name"] = StringAttr(r.symbol_name())
    signature = parse_signature(r)
    state.attributes |= signature.attributes | r.attr_dict_with_keyword()
    state.regions = [Region()]
    if r.token == "{":
        body = r.region(signature.arguments, isolated=True, dialect="shape")
        state.regions = [body]


def print_func(w: Writer, o: Operation) -> None:
    """``private? @name(arguments) -> results attributes {..} { .. }``."""
    visibility = o.attributes.get("sym_visibility")
    if isinstance(visibility, StringAttr):
        w.write(f" {visibility.value}")
    _print_name(w, o)
    print_function(w, o)
