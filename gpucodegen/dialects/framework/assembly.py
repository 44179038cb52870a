"""Declarative assembly formats of operations, compiled to a parser and a printer.

A format is a sequence of elements, as in MLIR's assemblyFormat::

    `,` literal    $name operand, attribute or successor    type($name)
    attr-dict      attr-dict-with-keyword                   functional-type($ins, $outs)
    ( ... $anchor^ ... )? optional group, present when its anchor is
    custom<DynamicIndexList>($dynamic, $static)    the same with Paren: ``(2, %a)``
    custom<Name> an element made by ``custom[Name]`` of the format
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field

from gpucodegen.dialects.framework.assembly_elements import (
    AttrDict,
    AttributeOf,
    FormatElement,
    FunctionalType,
    Glue,
    IndexList,
    Literal,
    OperandSlot,
    OptionalGroup,
    ParsedElements,
    Printed,
    SuccessorOf,
    TypesOf,
)
from gpucodegen.dialects.framework.definition import (
    RESULT_SEGMENTS,
    Infer,
    Slot,
    grouped,
)
from gpucodegen.dialects.framework.kinds import ANY, AttributeKind
from gpucodegen.dialects.framework.syntax import Reader, State, Use, Writer
from gpucodegen.ir.attributes import DenseArrayAttr
from gpucodegen.ir.operation import OPERAND_SEGMENTS, Operation, Value
from gpucodegen.ir.types import I32, Type
from gpucodegen.records import dataclass

# -- compilation -----------------------------------------------------------------------

_ITEM = re.compile(
    r"\s*(?:(?P<literal>`[^`]*`)|\$(?P<name>\w+)|type\(\$?(?P<typed>\w+)\)"
    r"|functional-type\(\$?(?P<functional>[\w$, ]+)\)"
    r"|(?P<keyword>attr-dict-with-keyword)|(?P<plain>attr-dict)"
    r"|custom<DynamicIndexList>"
    r"\(\$(?P<dynamic>\w+),\s*\$(?P<static>\w+)(?P<round>,\s*Paren)?\)"
    r"|(?P<opens>\()|(?P<closes>\)\?)|(?P<anchor>\^)|custom<(?P<custom>\w+)>)"
)


@dataclass(slots=True)
class Assembly:
    """A format and the signature that it refers to; compiled on first use."""

    text: str
    operands: tuple[Slot, ...]
    results: tuple[Slot, ...]
    attributes: Mapping[str, AttributeKind]
    same: tuple[frozenset[str], ...]
    infer: Mapping[str, Infer]
    successors: tuple[str, ...] = ()
    custom: Mapping[str, FormatElement] = field(
        default_factory=dict[str, FormatElement]
    )
    _elements: tuple[FormatElement, ...] | None = None

    @property
    def elements(self) -> tuple[FormatElement, ...]:
        if self._elements is None:
            self._elements = _Compiler(self).compiled()
        return self._elements

    # -- reading -----------------------------------------------------------------------

    def parse(self, r: Reader, state: State) -> None:
        """Read an operation after its name."""
        parsed = ParsedElements(r, state)
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
        """Assign the known type to every slot of a group of slots with equal types."""
        for group in self.same:
            known = next((types[name] for name in group if types.get(name)), None)
            if known is not None:
                for name in group:
                    types.setdefault(name, known[:1])

    def _resolve(self, parsed: ParsedElements, slot: Slot) -> list[Value]:
        if slot.name in parsed.values:
            return parsed.values[slot.name]
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

    def _result_types(self, parsed: ParsedElements, slot: Slot) -> list[Type]:
        types = parsed.types.get(slot.name)
        if types is None and slot.name in self.infer:
            types = list(
                self.infer[slot.name](parsed.types, parsed.state.attributes) or ()
            )
        return [] if types is None else types

    # -- writing -----------------------------------------------------------------------

    def print(self, writer: Writer, op: Operation) -> None:
        """Write an operation after its name."""
        sizes = op.attributes.get(OPERAND_SEGMENTS)
        values = grouped(self.operands, op.operands, sizes)
        sizes = op.attributes.get(RESULT_SEGMENTS)
        values |= grouped(self.results, op.results, sizes)
        printed = Printed(writer, op, values)
        for element in self.elements:
            element.print(printed)


def _start(parsed: ParsedElements, uses: Sequence[Use]) -> int:
    return uses[0].start if uses else parsed.reader.start


class _Compiler:
    """Compiles a format's text in one pass."""

    def __init__(self, assembly: Assembly) -> None:
        self.assembly = assembly
        slots = (*assembly.operands, *assembly.results)
        self.slots = {slot.name: slot for slot in slots}
        self.shown: set[str] = {OPERAND_SEGMENTS, RESULT_SEGMENTS}

    def compiled(self) -> tuple[FormatElement, ...]:
        """The elements, once the attributes that each of them shows are known."""
        self._sequence()
        return self._sequence()

    def _sequence(self) -> tuple[FormatElement, ...]:
        text = self.assembly.text
        stack: list[list[FormatElement]] = [[]]
        anchors: list[FormatElement] = []
        position = 0
        while position < len(text.rstrip()):
            match = _ITEM.match(text, position)
            if match is None:
                raise ValueError(f"format error at {text[position:]!r}")
            position = match.end()
            if match["opens"]:
                stack.append([])
            elif match["anchor"]:
                anchors.append(stack[-1][-1])
            elif match["closes"]:
                elements = tuple(stack.pop())
                stack[-1].append(OptionalGroup(elements, anchors.pop()))
            else:
                stack[-1].append(self._element(match))
        return tuple(stack[0])

    def _element(self, match: re.Match[str]) -> FormatElement:
        kind, text = str(match.lastgroup), match[str(match.lastgroup)]
        match kind:
            case "custom":
                return self._shown(self.assembly.custom[text])
            case "literal":
                literal = text.strip("` ")
                return Literal(literal) if literal else Glue()
            case "name":
                return self._variable(text)
            case "typed":
                return TypesOf(self.slots[text])
            case "functional":
                return self._functional(text)
            case "static" | "round":
                brackets = "()" if match["round"] else "[]"
                found = IndexList(match["dynamic"], match["static"], brackets)
                return self._shown(found)
            case _:
                own = frozenset(self.assembly.attributes)
                return AttrDict(kind == "keyword", frozenset(self.shown), own)

    def _shown(self, element: FormatElement) -> FormatElement:
        self.shown.update(element.shows())
        return element

    def _variable(self, name: str) -> FormatElement:
        if name in self.slots:
            return OperandSlot(self.slots[name])
        if name in self.assembly.successors:
            return SuccessorOf(self.assembly.successors.index(name))
        self.shown.add(name)
        return AttributeOf(name, self.assembly.attributes.get(name, ANY))

    def _functional(self, text: str) -> FormatElement:
        inputs, outputs = (part.strip(" $") for part in text.split(","))
        sides = {"operands": self.assembly.operands, "results": self.assembly.results}
        return FunctionalType(
            sides.get(inputs) or (self.slots[inputs],),
            sides.get(outputs) or (self.slots[outputs],),
        )
