"""The declarative syntax of operations, read in both directions.

A format is a sequence of elements, as in MLIR's assemblyFormat::

    `,` literal    $name operand, attribute or successor    type($name)
    attr-dict      attr-dict-with-keyword                   functional-type($ins, $outs)
    ( ... $anchor^ ... )? optional group, present when its anchor is
    custom<DynamicIndexList>($dynamic, $static)
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gpucodegen import errors
from gpucodegen.dialects.definition import Infer, Slot
from gpucodegen.dialects.kinds import ANY, Kind
from gpucodegen.dialects.syntax import Reader, State, Use, Writer
from gpucodegen.ir.attributes import DenseArrayAttr, UnitAttr
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.segments import OPERAND_SEGMENTS
from gpucodegen.ir.types import I32, I64, INDEX, FunctionType, Type

DYNAMIC_MARK = -(2**63)


@dataclass(slots=True)
class Parsed:
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


class Element:
    """Part of a format."""

    __slots__ = ()

    def parse(self, parsed: Parsed) -> None:
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
class _Literal(Element):
    """A fixed token."""

    text: str

    def parse(self, parsed: Parsed) -> None:
        parsed.reader.expect(self.text)

    def print(self, printed: Printed) -> None:
        printed.put(self.text)

    def starts(self, reader: Reader) -> bool:
        return reader.token == self.text


@dataclass(frozen=True, slots=True)
class _Glue(Element):
    """An empty literal: no blank here."""

    def parse(self, parsed: Parsed) -> None:
        del parsed

    def print(self, printed: Printed) -> None:
        printed.glue = True


@dataclass(frozen=True, slots=True)
class _Operands(Element):
    """The operands of one slot."""

    slot: Slot

    def parse(self, parsed: Parsed) -> None:
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
class _AttributeOf(Element):
    """An attribute in the short form of its kind."""

    name: str
    kind: Kind

    def parse(self, parsed: Parsed) -> None:
        parsed.state.attributes[self.name] = self.kind.read(parsed.reader)

    def print(self, printed: Printed) -> None:
        value = printed.op.attributes.get(self.name)
        if value is not None and not isinstance(value, UnitAttr):
            printed.put(self.kind.write(value))
            printed.after_word = True

    def starts(self, reader: Reader) -> bool:
        return self.kind.starts(reader)

    def present(self, printed: Printed) -> bool:
        return self.name in printed.op.attributes


@dataclass(frozen=True, slots=True)
class _SuccessorOf(Element):
    """A branch target with its operands."""

    position: int

    def parse(self, parsed: Parsed) -> None:
        parsed.state.successors.append(parsed.reader.successor())

    def print(self, printed: Printed) -> None:
        printed.put(printed.writer.successor(printed.op.successors[self.position]))
        printed.after_word = True


@dataclass(frozen=True, slots=True)
class _TypesOf(Element):
    """The types of one slot."""

    slot: Slot

    def parse(self, parsed: Parsed) -> None:
        r = parsed.reader
        parsed.types[self.slot.name] = [r.type()] if self.slot.is_single else r.types()

    def print(self, printed: Printed) -> None:
        types = (v.type for v in printed.values[self.slot.name])
        printed.put(", ".join(map(str, types)))
        printed.after_word = True

    def present(self, printed: Printed) -> bool:
        return bool(printed.values[self.slot.name])


@dataclass(frozen=True, slots=True)
class _FunctionalType(Element):
    """``(operand types) -> result types``."""

    inputs: tuple[Slot, ...]
    outputs: tuple[Slot, ...]

    def parse(self, parsed: Parsed) -> None:
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
    parsed: Parsed,
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
class _AttrDict(Element):
    """The attributes that no other element shows."""

    keyword: bool
    elided: frozenset[str] = frozenset()

    def parse(self, parsed: Parsed) -> None:
        r = parsed.reader
        entries = r.attr_dict_with_keyword() if self.keyword else r.attr_dict()
        parsed.state.attributes |= entries

    def print(self, printed: Printed) -> None:
        printed.writer.attr_dict(printed.op, self.elided, keyword=self.keyword)
        printed.after_word = True


@dataclass(frozen=True, slots=True)
class _IndexList(Element):
    """``[%a, 2, %b]``: dynamic operands of a slot, static ones in an attribute."""

    slot: Slot
    attribute: str

    def parse(self, parsed: Parsed) -> None:
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
class _Group(Element):
    """An optional part; its anchor says whether it is there."""

    elements: tuple[Element, ...]
    anchor: Element

    def parse(self, parsed: Parsed) -> None:
        first = next(e for e in self.elements if not isinstance(e, _Glue))
        if not first.starts(parsed.reader):
            return
        for element in self.elements:
            element.parse(parsed)
        if isinstance(self.anchor, _AttributeOf):
            parsed.state.attributes.setdefault(self.anchor.name, UnitAttr())

    def print(self, printed: Printed) -> None:
        if self.anchor.present(printed):
            for element in self.elements:
                element.print(printed)


# -- compilation -----------------------------------------------------------------------

_ITEM = re.compile(
    r"\s*(?:(`[^`]*`)|\$(\w+)|type\(\$?(\w+)\)"
    r"|functional-type\(\$?([\w$, ]+)\)|(attr-dict-with-keyword)|(attr-dict)"
    r"|custom<DynamicIndexList>\(\$(\w+),\s*\$(\w+)\)|(\()|(\)\?)|(\^))"
)


@dataclass(slots=True)
class Assembly:
    """A format and the signature it speaks of; compiled when first used."""

    text: str
    operands: tuple[Slot, ...]
    results: tuple[Slot, ...]
    attributes: Mapping[str, Kind]
    same: tuple[frozenset[str], ...]
    infer: Mapping[str, Infer]
    successors: tuple[str, ...] = ()
    _elements: tuple[Element, ...] | None = None

    @property
    def elements(self) -> tuple[Element, ...]:
        """The compiled format."""
        if self._elements is None:
            self._elements = _Compiler(self).compiled()
        return self._elements

    # -- reading -----------------------------------------------------------------------

    def parse(self, r: Reader, state: State) -> None:
        """Read an operation after its name."""
        parsed = Parsed(r, state)
        for element in self.elements:
            element.parse(parsed)
        self._share_types(parsed.types)
        groups: list[list[Value]] = []
        for slot in self.operands:
            values = self._resolve(parsed, slot)
            groups.append(values)
            parsed.types[slot.name] = [v.type for v in values]
        state.operands = [value for group in groups for value in group]
        if sum(not slot.is_single for slot in self.operands) > 1:
            sizes = tuple(map(len, groups))
            state.attributes[OPERAND_SEGMENTS] = DenseArrayAttr(I32, sizes)
        self._share_types(parsed.types)
        for slot in self.results:
            state.result_types += self._result_types(parsed, slot)

    def _share_types(self, types: dict[str, list[Type]]) -> None:
        """Give every member of a group of equal types the one that is known."""
        for group in self.same:
            known = next((types[name] for name in group if types.get(name)), None)
            if known is not None:
                for name in group:
                    types.setdefault(name, known[:1])

    def _resolve(self, parsed: Parsed, slot: Slot) -> list[Value]:
        uses = parsed.uses.get(slot.name, [])
        types = parsed.types.get(slot.name, [])
        if not types and slot.name in self.infer:
            types = list(
                self.infer[slot.name](parsed.types, parsed.state.attributes) or ()
            )
        if len(types) == 1 and len(uses) > 1:
            types = types * len(uses) if self._is_shared(slot.name) else types
        if not uses and types and (slot.arity and self._is_shared(slot.name)):
            types = []
        return parsed.reader.resolve_all(uses, types, _start(parsed, uses))

    def _is_shared(self, name: str) -> bool:
        return name in self.infer or any(name in group for group in self.same)

    def _result_types(self, parsed: Parsed, slot: Slot) -> list[Type]:
        types = parsed.types.get(slot.name)
        if types is None and slot.name in self.infer:
            types = list(
                self.infer[slot.name](parsed.types, parsed.state.attributes) or ()
            )
        return [] if types is None else types

    # -- writing -----------------------------------------------------------------------

    def print(self, writer: Writer, op: Operation) -> None:
        """Write an operation after its name."""
        from gpucodegen.dialects import registry

        definition = registry.lookup(op.name)
        if definition is None:
            return
        values = definition.operand_groups(op) | definition.result_groups(op)
        printed = Printed(writer, op, values)
        for element in self.elements:
            element.print(printed)


def _start(parsed: Parsed, uses: Sequence[Use]) -> int:
    return uses[0].start if uses else parsed.reader.start


class _Compiler:
    """One pass over a format's text."""

    def __init__(self, assembly: Assembly) -> None:
        self.assembly = assembly
        slots = (*assembly.operands, *assembly.results)
        self.slots = {slot.name: slot for slot in slots}
        self.shown: set[str] = {OPERAND_SEGMENTS, "resultSegmentSizes"}

    def compiled(self) -> tuple[Element, ...]:
        """The elements, once all attributes that are shown are known."""
        self._sequence()
        return self._sequence()

    def _sequence(self) -> tuple[Element, ...]:
        text = self.assembly.text
        stack: list[list[Element]] = [[]]
        anchors: list[Element] = []
        position = 0
        while position < len(text.rstrip()):
            match = _ITEM.match(text, position)
            if match is None:
                raise ValueError(f"format error at {text[position:]!r}")
            position = match.end()
            opens, closes, anchor = match[9], match[10], match[11]
            if opens:
                stack.append([])
            elif anchor:
                anchors.append(stack[-1][-1])
            elif closes:
                elements = tuple(stack.pop())
                stack[-1].append(_Group(elements, anchors.pop()))
            else:
                stack[-1].append(self._element(match))
        return tuple(stack[0])

    def _element(self, match: re.Match[str]) -> Element:
        literal, name, typed, functional, keyword, _, dynamic, static, *_ = (
            match.groups()
        )
        if literal is not None:
            text = literal.strip("`")
            return _Literal(text.strip()) if text.strip() else _Glue()
        if name is not None:
            return self._variable(name)
        if typed is not None:
            return _TypesOf(self.slots[typed])
        if functional is not None:
            return self._functional(functional)
        if dynamic is not None:
            self.shown.add(static)
            return _IndexList(self.slots[dynamic], static)
        return _AttrDict(bool(keyword), frozenset(self.shown))

    def _variable(self, name: str) -> Element:
        if name in self.slots:
            return _Operands(self.slots[name])
        if name in self.assembly.successors:
            return _SuccessorOf(self.assembly.successors.index(name))
        self.shown.add(name)
        return _AttributeOf(name, self.assembly.attributes.get(name, ANY))

    def _functional(self, text: str) -> Element:
        inputs, outputs = (part.strip(" $") for part in text.split(","))
        sides = {"operands": self.assembly.operands, "results": self.assembly.results}
        return _FunctionalType(
            sides.get(inputs) or (self.slots[inputs],),
            sides.get(outputs) or (self.slots[outputs],),
        )
