"""Elements of a declarative format; each parses and prints its part of an operation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from gpucodegen import errors
from gpucodegen.dialects.framework.definition import Slot
from gpucodegen.dialects.framework.kinds import AttributeKind
from gpucodegen.dialects.framework.syntax import Reader, State, Use, Writer
from gpucodegen.dialects.memref import DYNAMIC_MARK
from gpucodegen.ir.attributes import DenseArrayAttr, UnitAttr
from gpucodegen.ir.operation import Operation, Region, Value
from gpucodegen.ir.types import I64, INDEX, FunctionType, Type, print_results
from gpucodegen.records import dataclass


@dataclass(slots=True)
class ParsedElements:
    """Operands, attributes and types that the elements of a format have read so far."""

    reader: Reader
    state: State
    uses: dict[str, list[Use]] = field(default_factory=dict[str, list[Use]])
    types: dict[str, list[Type]] = field(default_factory=dict[str, list[Type]])
    values: dict[str, list[Value]] = field(default_factory=dict[str, list[Value]])
    """Operands that an element has resolved itself."""


@dataclass(slots=True)
class Printed:
    """An operation that is being written; it decides where blanks are needed."""

    writer: Writer
    op: Operation
    values: Mapping[str, Sequence[Value]]
    after_word: bool = True
    glue: bool = False
    parameters: int = 0
    """Operands that lists of numbers have shown."""

    def put(self, text: str) -> None:
        if not text:
            return
        is_single = len(text) == 1
        near = "<>(){}[]," if self.after_word else ">)}],"
        is_near = self.glue or (is_single and text in near)
        self.writer.write(text if is_near else f" {text}")
        self.glue = is_single and text in "<({["
        self.after_word = text[0].isalpha() or text[0] == "_"


class FormatElement:
    """Base of the elements of a declarative format."""

    __slots__ = ()

    def shows(self) -> Sequence[str]:
        """Names of the attributes that the element prints."""
        return ()

    def parse(self, parsed: ParsedElements) -> None:
        """Read this part of the operation."""
        raise NotImplementedError

    def print(self, printed: Printed) -> None:
        """Write this part of the operation."""
        raise NotImplementedError

    def starts(self, reader: Reader) -> bool:
        """Whether the next token starts this element."""
        del reader
        return True

    def present(self, printed: Printed) -> bool:
        """Whether the operation has what this element prints."""
        del printed
        return True


@dataclass(frozen=True, slots=True)
class Literal(FormatElement):
    """A fixed token."""

    text: str

    def parse(self, parsed: ParsedElements) -> None:
        parsed.reader.expect(self.text)

    def print(self, printed: Printed) -> None:
        printed.put(self.text)

    def starts(self, reader: Reader) -> bool:
        return reader.token == self.text


@dataclass(frozen=True, slots=True)
class Glue(FormatElement):
    """An empty literal, which suppresses the blank between its neighbours."""

    def parse(self, parsed: ParsedElements) -> None:
        del parsed

    def print(self, printed: Printed) -> None:
        printed.glue = True


@dataclass(frozen=True, slots=True)
class OperandSlot(FormatElement):
    """The operands of one slot."""

    slot: Slot

    def parse(self, parsed: ParsedElements) -> None:
        r = parsed.reader
        if self.slot.arity == "*":
            parsed.uses[self.slot.name] = r.uses()
        elif self.slot.is_single or r.token[:1] == "%":
            parsed.uses[self.slot.name] = [r.use()]

    def print(self, printed: Printed) -> None:
        printed.put(printed.writer.names(printed.values[self.slot.name]))
        printed.after_word = True

    def starts(self, reader: Reader) -> bool:
        return reader.token[:1] == "%"

    def present(self, printed: Printed) -> bool:
        return bool(printed.values[self.slot.name])


@dataclass(frozen=True, slots=True)
class AttributeOf(FormatElement):
    """An attribute in the short form of its kind."""

    name: str
    kind: AttributeKind

    def parse(self, parsed: ParsedElements) -> None:
        parsed.state.attributes[self.name] = self.kind.read(parsed.reader)

    def print(self, printed: Printed) -> None:
        value = printed.op.attributes.get(self.name)
        if value is not None and not isinstance(value, UnitAttr):
            printed.put(self.kind.write(value))
            printed.after_word = True

    def starts(self, reader: Reader) -> bool:
        return self.kind.starts(reader)

    def present(self, printed: Printed) -> bool:
        value = printed.op.attributes.get(self.name)
        return value is not None and value != self.kind.default


@dataclass(frozen=True, slots=True)
class SuccessorOf(FormatElement):
    """A branch target with its operands."""

    position: int

    def parse(self, parsed: ParsedElements) -> None:
        parsed.state.successors.append(parsed.reader.successor())

    def print(self, printed: Printed) -> None:
        printed.put(printed.writer.successor(printed.op.successors[self.position]))
        printed.after_word = True


@dataclass(frozen=True, slots=True)
class TypesOf(FormatElement):
    """The types of one slot."""

    slot: Slot

    def parse(self, parsed: ParsedElements) -> None:
        r = parsed.reader
        parsed.types[self.slot.name] = [r.type()] if self.slot.is_single else r.types()

    def print(self, printed: Printed) -> None:
        types = (v.type for v in printed.values[self.slot.name])
        printed.put(", ".join(map(str, types)))
        printed.after_word = True

    def present(self, printed: Printed) -> bool:
        return bool(printed.values[self.slot.name])


@dataclass(frozen=True, slots=True)
class FunctionalType(FormatElement):
    """``(operand types) -> result types``."""

    inputs: tuple[Slot, ...]
    outputs: tuple[Slot, ...]

    def parse(self, parsed: ParsedElements) -> None:
        start = parsed.reader.start
        ty = parsed.reader.function_type()
        _distribute(parsed, self.inputs, ty.inputs, start, by_uses=True)
        _distribute(parsed, self.outputs, ty.results, start, by_uses=False)

    def print(self, printed: Printed) -> None:
        inputs, outputs = (
            tuple(v.type for slot in slots for v in printed.values[slot.name])
            for slots in (self.inputs, self.outputs)
        )
        printed.put(str(FunctionType(inputs, outputs)))


def _distribute(
    parsed: ParsedElements,
    slots: Sequence[Slot],
    types: Sequence[Type],
    start: int,
    *,
    by_uses: bool,
) -> None:
    """Distribute a list of types over slots.

    A single slot takes one type, others as many as they have operands (``by_uses``) or
    the rest.
    """
    rest = len(types) - sum(slot.is_single for slot in slots)
    position = 0
    for slot in slots:
        uses = len(parsed.uses.get(slot.name, ()))
        count = 1 if slot.is_single else (uses if by_uses else max(0, rest))
        parsed.types[slot.name] = list(types[position : position + count])
        position += count
    if position != len(types):
        raise errors.TypeCountMismatch(
            parsed.reader.location(start), operands=position, types=len(types)
        )


@dataclass(frozen=True, slots=True)
class AttrDict(FormatElement):
    """The attributes that no other element prints.

    Inherent attributes of the operation (properties) stand in ``<{..}>`` first.
    """

    keyword: bool
    elided: frozenset[str] = frozenset()
    own: frozenset[str] = frozenset()

    def parse(self, parsed: ParsedElements) -> None:
        r = parsed.reader
        entries = r.attr_dict_with_keyword() if self.keyword else r.attr_dict()
        parsed.state.attributes |= entries

    def print(self, printed: Printed) -> None:
        w, op = printed.writer, printed.op
        w.properties(op, self.own - self.elided)
        w.attr_dict(op, self.elided | self.own, keyword=self.keyword)
        printed.after_word = True


@dataclass(frozen=True, slots=True)
class IndexList(FormatElement):
    """``[%a, 2, %b]``: dynamic operands of a slot, static entries in an attribute.

    With ``typed``, numbers may be followed by their type.
    """

    slot: str
    attribute: str
    brackets: str = "[]"
    typed: bool = False

    def shows(self) -> Sequence[str]:
        return (self.attribute,)

    def parse(self, parsed: ParsedElements) -> None:
        r = parsed.reader
        uses, static = read_indices(r, self.brackets, typed=self.typed)
        parsed.uses[self.slot] = uses
        parsed.types[self.slot] = [INDEX] * len(uses)
        parsed.state.attributes[self.attribute] = DenseArrayAttr(I64, tuple(static))

    def print(self, printed: Printed) -> None:
        static = printed.op.numbers(self.attribute)
        text = indices_text(printed.writer, static, printed.values[self.slot])
        printed.put(f"{self.brackets[0]}{text}{self.brackets[1]}")
        printed.after_word = True


def read_indices(
    r: Reader, brackets: str = "[]", *, typed: bool = False
) -> tuple[list[Use], list[int]]:
    """Read ``[%a, 2, %b]`` as operands and static entries with dynamic markers."""
    uses: list[Use] = []

    def entry() -> int:
        if r.token[:1] == "%":
            uses.append(r.use())
            return DYNAMIC_MARK
        number = r.integer()
        if typed and r.accept(":"):
            r.type()
        return number

    return uses, r.listed(brackets[0], brackets[1], entry)


def indices_text(w: Writer, static: Sequence[int], dynamic: Sequence[Value]) -> str:
    """Print static entries, with the operands in place of the dynamic markers."""
    rest = iter(dynamic)
    return ", ".join(
        w.name(next(rest)) if e == DYNAMIC_MARK else str(e) for e in static
    )


@dataclass(frozen=True, slots=True)
class ResultTypes(FormatElement):
    """``-> (types)``, or nothing for no results; a single type may stand ``bare``."""

    slot: str = "results"
    bare: bool = False

    def parse(self, parsed: ParsedElements) -> None:
        parsed.types[self.slot] = parsed.reader.arrow_types()

    def print(self, printed: Printed) -> None:
        types = tuple(v.type for v in printed.values[self.slot])
        if types:
            printed.put("->")
            listed = f"({', '.join(map(str, types))})"
            printed.put(print_results(types) if self.bare else listed)


@dataclass(frozen=True, slots=True)
class RegionOf(FormatElement):
    """A region; its terminator ``end`` is omitted if the operation has no results.

    Its arguments are shown where they are no part of the operation's own text.
    """

    end: str = ""
    position: int = 0
    arguments: bool = False

    def parse(self, parsed: ParsedElements) -> None:
        end = "" if parsed.types.get("results") else self.end
        parsed.state.regions.append(parsed.reader.region(terminator=end))

    def print(self, printed: Printed) -> None:
        region = printed.op.regions[self.position]
        shown = self.arguments or not self.end
        printed.writer.write(" ")
        printed.writer.region(region, arguments=shown, elide=self.end)


@dataclass(frozen=True, slots=True)
class ElseRegion(FormatElement):
    """``else`` and a second region, or nothing for an empty one."""

    end: str

    def parse(self, parsed: ParsedElements) -> None:
        if parsed.reader.accept("else"):
            RegionOf(self.end).parse(parsed)
        else:
            parsed.state.regions.append(Region())

    def print(self, printed: Printed) -> None:
        if len(printed.op.regions) > 1 and printed.op.regions[1].blocks:
            printed.put("else")
            RegionOf(self.end, 1).print(printed)


@dataclass(frozen=True, slots=True)
class OptionalGroup(FormatElement):
    """An optional group, present if its anchor is."""

    elements: tuple[FormatElement, ...]
    anchor: FormatElement

    def parse(self, parsed: ParsedElements) -> None:
        first = next(e for e in self.elements if not isinstance(e, Glue))
        if not first.starts(parsed.reader):
            return
        for element in self.elements:
            element.parse(parsed)
        if isinstance(self.anchor, AttributeOf):
            parsed.state.attributes.setdefault(self.anchor.name, UnitAttr())

    def print(self, printed: Printed) -> None:
        if self.anchor.present(printed):
            for element in self.elements:
                element.print(printed)
