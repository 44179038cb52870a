"""Operations to text: the short form of each operation, or the generic one.

Implements ``gpucodegen.dialects.framework.syntax.Writer``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from gpucodegen.dialects.framework import registry
from gpucodegen.dialects.framework.definition import Op, Trait
from gpucodegen.ir.attributes import (
    Attribute,
    IntegerAttr,
    StringAttr,
    print_entry,
    quote,
)
from gpucodegen.ir.constants import RESOURCES
from gpucodegen.ir.operation import (
    Block,
    Label,
    Operation,
    Region,
    Successor,
    Value,
    deep_recursion,
    rewrite_bottom_up,
)
from gpucodegen.ir.printing import Names, location_text
from gpucodegen.ir.types import INDEX, FunctionType

VERBATIM = "gpucodegen.verbatim"
"""Attribute with the verbatim text of an unregistered operation.

Between the pieces of text are operand numbers, and successor numbers as indices.
"""

_INDENT = "  "


def print_module(
    op: Operation, *, generic: bool = False, locations: bool = False
) -> str:
    """Text of a module or any other operation.

    ``generic`` gives every operation in generic form, ``locations`` adds ``loc(..)``.
    """
    section = op.attributes.get(RESOURCES)
    shown = op if section is None else op.with_attribute(RESOURCES, None)
    with deep_recursion():
        if generic:
            (shown,) = rewrite_bottom_up(shown, _spelled_out)
        printer = Printer(shown, generic=generic, locations=locations)
        printer.operation(shown)
        return printer.text if section is None else f"{printer.text}\n\n{section}"


def _spelled_out(op: Operation) -> list[Operation] | None:
    """Operands, regions and types of the generic form, with values named."""
    definition = registry.lookup(op.name)
    if definition is None or definition.flatten is None:
        return None
    return [definition.flatten(op)]


class Printer:
    """State of printing one module."""

    def __init__(self, op: Operation, *, generic: bool, locations: bool) -> None:
        self._names = Names(op, _is_isolated, _is_graph, _kept_names(op))
        self._generic = generic
        self._locations = locations
        self._pieces: list[str] = []
        self._indent = ""
        self._parent = ""

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    # -- pieces ------------------------------------------------------------------------

    def write(self, text: str, /) -> None:
        if "\n" in text:
            text = text.replace("\n", f"\n{self._indent}")
        self._pieces.append(text)

    def name(self, value: Value, /) -> str:
        return self._names.of(value)

    def names(self, values: Sequence[Value], /) -> str:
        return ", ".join(map(self._names.of, values))

    def typed_names(self, values: Sequence[Value], /) -> str:
        if not values:
            return ""
        return f"{self.names(values)} : {', '.join(str(v.type) for v in values)}"

    def label(self, label: Label, /) -> str:
        return self._names.label_of(label)

    def successor(self, successor: Successor, /) -> str:
        passed = self.typed_names(successor.operands)
        return f"{self.label(successor.label)}{f'({passed})' if passed else ''}"

    def attr_dict(
        self, op: Operation, elided: Collection[str] = (), *, keyword: bool = False
    ) -> None:
        shown = {k: v for k, v in op.attributes.items() if k not in elided}
        if shown:
            word = " attributes" if keyword else ""
            self.write(f"{word} {_dictionary(shown)}")

    def properties(self, op: Operation, names: Collection[str]) -> None:
        shown = {k: v for k, v in op.attributes.items() if k in names}
        if shown:
            self.write(f" <{_dictionary(shown)}>")

    # -- operations --------------------------------------------------------------------

    def operation(self, op: Operation) -> None:
        """Print an operation with its results and, on request, its location."""
        if op.results:
            self.write(f"{self._result_names(op.results)} = ")
        definition = registry.lookup(op.name)
        if VERBATIM in op.attributes:
            self._verbatim(op)
        elif (
            self._generic
            or definition is None
            or definition.print is None
            or (definition.has(Trait.BARE) and op.attributes)
        ):
            self._generic_form(op, definition)
        else:
            self.write(self._short_name(op.name))
            outer, self._parent = self._parent, op.name
            definition.print(self, op)
            self._parent = outer
        if self._locations:
            self.write(f" loc({location_text(op.location)})")

    def _short_name(self, name: str) -> str:
        if name == "builtin.module":
            return "module"
        is_direct = self._parent == "func.func" and name in ("func.return", "func.call")
        return name.removeprefix("func.") if is_direct else name

    def _result_names(self, results: Sequence[Value]) -> str:
        first = self.name(results[0])
        base, hash_, _ = first.partition("#")
        return f"{base}:{len(results)}" if hash_ else self.names(results)

    def _verbatim(self, op: Operation) -> None:
        """Print an unregistered operation's text with the values' new names."""
        for piece in op.entries(VERBATIM):
            if isinstance(piece, IntegerAttr) and piece.type == INDEX:
                self._pieces.append(self.label(op.successors[piece.value].label))
            elif isinstance(piece, IntegerAttr):
                self._pieces.append(self.name(op.operands[piece.value]))
            elif isinstance(piece, StringAttr):
                self._pieces.append(piece.value)

    def _generic_form(self, op: Operation, definition: Op | None) -> None:
        inherent = definition.inherent if definition else frozenset[str]()
        properties = dict(op.properties)
        properties |= {k: v for k, v in op.attributes.items() if k in inherent}
        rest = {k: v for k, v in op.attributes.items() if k not in inherent}
        self.write(f"{quote(op.name)}({self.names(op.operands)})")
        if op.successors:
            self.write(f"[{', '.join(map(self.successor, op.successors))}]")
        if properties:
            self.write(f" <{_dictionary(properties)}>")
        self._generic_regions(op)
        if rest:
            self.write(f" {_dictionary(rest)}")
        inputs = tuple(v.type for v in op.operands)
        self.write(f" : {FunctionType(inputs, tuple(v.type for v in op.results))}")

    def _generic_regions(self, op: Operation) -> None:
        if not op.regions:
            return
        outer, self._parent = self._parent, op.name
        self.write(" (")
        for i, region in enumerate(op.regions):
            self.write(", " if i else "")
            self.region(region, arguments=True)
        self.write(")")
        self._parent = outer

    # -- regions -----------------------------------------------------------------------

    def region(
        self, region: Region, *, arguments: bool = False, elide: str = ""
    ) -> None:
        """``{ .. }``; an empty terminator named ``elide`` is left out."""
        self.write("{")
        outer = self._indent
        parent = self._parent
        for i, block in enumerate(region.blocks):
            is_entry = i == 0
            self._indent = outer
            is_bare = not block.arguments and bool(block.operations)
            if not is_entry or (arguments and not is_bare):
                self.write(f"\n{self._block_header(block, i)}")
            self._indent = outer + _INDENT
            for op in block.operations:
                is_last = op is block.operations[-1]
                if is_last and _can_elide(op, elide, region):
                    continue
                self.write("\n")
                self._parent = parent
                self.operation(op)
        self._indent = outer
        self._parent = parent
        self.write("\n}")

    def _block_header(self, block: Block, position: int) -> str:
        label = f"^bb{position}" if block.label is None else self.label(block.label)
        if not block.arguments:
            return f"{label}:"
        arguments = ", ".join(f"{self.name(a)}: {a.type}" for a in block.arguments)
        return f"{label}({arguments}):"


def _kept_names(root: Operation) -> Iterator[str]:
    """Names in the text of unregistered operations, which must not be reused."""
    for op in root.walk():
        for piece in op.entries(VERBATIM):
            if isinstance(piece, StringAttr):
                yield from _NAME.findall(piece.value)


_NAME = re.compile(r"%([\w.$-]+)")


def _is_isolated(op: Operation) -> bool:
    definition = registry.lookup(op.name)
    return definition is not None and definition.is_isolated


def _is_graph(op: Operation) -> bool:
    definition = registry.lookup(op.name)
    return definition is None or Trait.GRAPH in definition.traits


def _can_elide(op: Operation, name: str, region: Region) -> bool:
    is_plain = not op.operands and not op.attributes and not op.regions
    return op.name == name and is_plain and len(region.blocks) == 1


def _dictionary(entries: Mapping[str, Attribute]) -> str:
    return "{" + ", ".join(print_entry(k, v) for k, v in sorted(entries.items())) + "}"
