"""Parts of a declarative format: each reads and writes itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gpucodegen import errors
from gpucodegen.dialects.framework.definition import Slot
from gpucodegen.dialects.framework.kinds import AttributeKind
from gpucodegen.dialects.framework.syntax import Reader, State, Use, Writer
from gpucodegen.dialects.memref import DYNAMIC_MARK
from gpucodegen.ir.attributes import DenseArrayAttr, UnitAttr
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import I64, INDEX, FunctionType, Type


@dataclass(slots=True)
class ParsedElements:
    """What the elements of a format have read so far."""

    reader: Reader
    state: State
    uses: dict[str, list[Use]] = field(default_factory=dict[str, list[Use]])
    types: dict[str, list[Type]] = field(default_factory=dict[str, list[Type]])


@dataclass(slots=True)
class Printed:
    """An operation being written; remembers where blanks are due."""

    writer: Writer
    op: Operation
    values: Mapping[str, Sequence[Value]]
    after_word: bool = True
    glue: bool = False

    def put(self, text: str) -> None:
        """Write a word or punctuation with the blank that belongs before it."""
        if not text:
            return
        if self._needs_blank(text):
            self.writer.write(" ")
        self.writer.write(text)
        self.glue = len(text) == 1 and text in "<({["
        self.after_word = text[0].isalpha() or text[0] == "_"

    def _needs_blank(self, text: str) -> bool:
        if self.glue:
            return False
        if len(text) != 1:
            return True
        return text not in (">)}]," if not self.after_word else "<>(){}[],")


class FormatElement:
    """Part of a format."""

    __slots__ = ()

    def parse(self, parsed: ParsedElements) -> None:
        """Read the element."""
        raise NotImplementedError

    def print(self, printed: Printed) -> None:
        """Write the element."""
        raise NotImplementedError

    def starts(self, reader: Reader) -> bool:
        """Whether the text goes on with this element."""
        del reader
        return True

    def present(self, printed: Printed) -> bool:
        """Whether the operation has what this element shows."""
        del printed
        return True


@dataclass(frozen=True, slots=True)
class Literal(FormatElement):
    """A fixed token."""

    text: str

    def parse(self, parsed: ParsedElements) -> None:
        """Read the element."""
        parsed.reader.expect(self.text)

    def print(self, printed: Printed) -> None:
        """Write the element."""
        printed.put(self.text)

    def starts(self, reader: Reader) -> bool:
        """Whether the text goes on with this element."""
        return reader.token == self.text


@dataclass(frozen=True, slots=True)
class Glue(FormatElement):
    """An empty literal: no blank here."""

    def parse(self, parsed: ParsedElements) -> None:
        """Read the element."""
        del parsed

    def print(self, printed: Printed) -> None:
        """Write the element."""
        printed.glue = True


@dataclass(frozen=True, slots=True)
class OperandSlot(FormatElement):
    """The operands of one slot."""

    slot: Slot

    def parse(self, parsed: ParsedElements) -> None:
        """Read the element."""
        r = parsed.reader
        if self.slot.arity == "*":
            parsed.uses[self.slot.name] = r.uses()
        elif self.slot.is_single or r.token[:1] == "%":
            parsed.uses[self.slot.name] = [r.use()]

    def print(self, printed: Printed) -> None:
        """Write the element."""
        printed.put(printed.writer.names(printed.values[self.slot.name]))
        printed.after_word = True

    def starts(self, reader: Reader) -> bool:
        """Whether the text goes on with this element."""
        return reader.token[:1] == "%"

    def present(self, printed: Printed) -> bool:
        """Whether the operation has what this element shows."""
        return bool(printed.values[self.slot.name])


@dataclass(frozen=True, slots=True)
class AttributeOf(FormatElement):
    """An attribute in the short form of its kind."""

    name: str
    kind: AttributeKind

    def parse(self, parsed: ParsedElements) -> None:
        """Read the element."""
        parsed.state.attributes[self.name] = self.kind.read(parsed.reader)

    def print(self, printed: Printed) -> None:
        """Write the element."""
        value = printed.op.attributes.get(self.name)
        if value is not None and not isinstance(value, UnitAttr):
            printed.put(self.kind.write(value))
            printed.after_word = True

    def starts(self, reader: Reader) -> bool:
        """Whether the text goes on with this element."""
        return self.kind.starts(reader)

    def present(self, printed: Printed) -> bool:
        """Whether the operation has what this element shows."""
        value = printed.op.attributes.get(self.name)
        return value is not None and value != self.kind.default


@dataclass(frozen=True, slots=True)
class SuccessorOf(FormatElement):
    """A branch target with its operands."""

    position: int

    def parse(self, parsed: ParsedElements) -> None:
        """Read the element."""
        parsed.state.successors.append(parsed.reader.successor())

    def print(self, printed: Printed) -> None:
        """Write the element."""
        printed.put(printed.writer.successor(printed.op.successors[self.position]))
        printed.after_word = True


@dataclass(frozen=True, slots=True)
class TypesOf(FormatElement):
    """The types of one slot."""

    slot: Slot

    def parse(self, parsed: ParsedElements) -> None:
        """Read the element."""
        r = parsed.reader
        parsed.types[self.slot.name] = [r.type()] if self.slot.is_single else r.types()

    def print(self, printed: Printed) -> None:
        """Write the element."""
        types = (v.type for v in printed.values[self.slot.name])
        printed.put(", ".join(map(str, types)))
        printed.after_word = True

    def present(self, printed: Printed) -> bool:
        """Whether the operation has what this element shows."""
        return bool(printed.values[self.slot.name])


@dataclass(frozen=True, slots=True)
class FunctionalType(FormatElement):
    """``(operand types) -> result types``."""

    inputs: tuple[Slot, ...]
    outputs: tuple[Slot, ...]

    def parse(self, parsed: ParsedElements) -> None:
        """Read the element."""
        start = parsed.reader.start
        ty = parsed.reader.function_type()
        _distribute(parsed, self.inputs, ty.inputs, start, by_uses=True)
        _distribute(parsed, self.outputs, ty.results, start, by_uses=False)

    def print(self, printed: Printed) -> None:
        """Write the element."""
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
    """Hand a list of types to slots: as many as each has operands, or the rest."""
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
    """The attributes that no other element shows.

    Those of the operation itself stand in ``<{..}>`` before the others.
    """

    keyword: bool
    elided: frozenset[str] = frozenset()
    own: frozenset[str] = frozenset()

    def parse(self, parsed: ParsedElements) -> None:
        """Read the element."""
        r = parsed.reader
        entries = r.attr_dict_with_keyword() if self.keyword else r.attr_dict()
        parsed.state.attributes |= entries

    def print(self, printed: Printed) -> None:
        """Write the element."""
        w, op = printed.writer, printed.op
        w.properties(op, self.own - self.elided)
        w.attr_dict(op, self.elided | self.own, keyword=self.keyword)
        printed.after_word = True


@dataclass(frozen=True, slots=True)
class IndexList(FormatElement):
    """``[%a, 2, %b]``: dynamic operands of a slot, static ones in an attribute."""

    slot: Slot
    attribute: str

    def parse(self, parsed: ParsedElements) -> None:
        """Read the element."""
        r = parsed.reader
        uses: list[Use] = []

        def entry() -> int:
            if r.token[:1] == "%":
                uses.append(r.use())
                return DYNAMIC_MARK
            return r.integer()

        static = r.listed("[", "]", entry)
        parsed.uses[self.slot.name] = uses
        parsed.types[self.slot.name] = [INDEX] * len(uses)
        parsed.state.attributes[self.attribute] = DenseArrayAttr(I64, tuple(static))

    def print(self, printed: Printed) -> None:
        """Write the element."""
        static = printed.op.attributes.get(self.attribute)
        entries = static.values if isinstance(static, DenseArrayAttr) else ()
        dynamic = iter(printed.values[self.slot.name])
        names = [
            printed.writer.name(next(dynamic)) if e == DYNAMIC_MARK else str(e)
            for e in entries
        ]
        printed.put(f"[{', '.join(names)}]")
        printed.after_word = True


@dataclass(frozen=True, slots=True)
class OptionalGroup(FormatElement):
    """An optional part; its anchor says whether it is there."""

    elements: tuple[FormatElement, ...]
    anchor: FormatElement

    def parse(self, parsed: ParsedElements) -> None:
        """Read the element."""
        first = next(e for e in self.elements if not isinstance(e, Glue))
        if not first.starts(parsed.reader):
            return
        for element in self.elements:
            element.parse(parsed)
        if isinstance(self.anchor, AttributeOf):
            parsed.state.attributes.setdefault(self.anchor.name, UnitAttr())

    def print(self, printed: Printed) -> None:
        """Write the element."""
        if self.anchor.present(printed):
            for element in self.elements:
                element.print(printed)
