"""The grammar: every rule that other rules or the syntax of operations ask for.

The rules themselves are in the folders ``affine``, ``types`` and ``attributes`` and in
``operations`` and ``regions``.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen import errors
from gpucodegen.dialects.framework.syntax import Argument
from gpucodegen.ir.affine.maps import AffineMap, IntegerSet
from gpucodegen.ir.attributes import AffineMapAttr, Attribute, IntegerSetAttr
from gpucodegen.ir.locations import Location
from gpucodegen.ir.operation import Operation, Region, Successor, Value
from gpucodegen.ir.types import INDEX, FunctionType, Type
from gpucodegen.parser.affine import maps, subscripts
from gpucodegen.parser.attributes import attributes, locations
from gpucodegen.parser.operations import operations, regions
from gpucodegen.parser.parser import Parser
from gpucodegen.parser.types import types
from gpucodegen.parser.vintages import spellings


class Grammar(Parser):
    """A parser that knows all rules."""

    def __init__(self, text: str, filename: str, *, allow_unregistered: bool) -> None:
        super().__init__(text, filename, allow_unregistered=allow_unregistered)
        self.type_cache = types.scalar_cache()
        self.is_of_2018 = spellings.is_of_2018(text)
        self.is_of_2021 = spellings.is_of_2021(text)

    # -- structure ---------------------------------------------------------------------

    def operation(self) -> Operation:
        """One operation."""
        return operations.parse_operation(self)

    def region(
        self,
        arguments: Sequence[Argument] = (),
        *,
        isolated: bool = False,
        terminator: str = "",
        dialect: str = "",
        renamed: bool = False,
    ) -> Region:
        """A region in braces."""
        return regions.parse_region(
            self,
            arguments,
            isolated=isolated,
            terminator=terminator,
            dialect=dialect,
            renamed=renamed,
        )

    def successor(self) -> Successor:
        """A branch target."""
        return regions.parse_successor(self)

    # -- types and attributes ----------------------------------------------------------

    def type(self) -> Type:
        """A type."""
        return types.parse_type(self)

    def types(self) -> list[Type]:
        """Types separated by commas."""
        return self.separated(self.type)

    def arrow_types(self) -> list[Type]:
        """``-> type`` or ``-> (types)``; nothing without an arrow."""
        return types.parse_results(self) if self.accept("->") else []

    def function_type(self) -> FunctionType:
        """``(types) -> types``."""
        return types.parse_function_type(self)

    def attribute(self, ty: Type | None = None) -> Attribute:
        """An attribute."""
        return attributes.parse_attribute(self, ty)

    def attr_dict(self) -> dict[str, Attribute]:
        """``<{name = value}> {name = value}``, either of them or nothing."""
        entries: dict[str, Attribute] = {}
        if self.token == "<" and self.peek() == "{":
            self.advance()
            entries = attributes.parse_dictionary(self)
            self.close("<", ">")
        if self.token == "{":
            entries |= attributes.parse_dictionary(self)
        return entries

    def attr_dict_with_keyword(self) -> dict[str, Attribute]:
        """``attributes {name = value}``, or nothing."""
        if self.token != "attributes":
            return {}
        self.advance()
        return attributes.parse_dictionary(self)

    def trailing_location(self) -> Location:
        """``loc(...)``."""
        return locations.parse_location(self)

    # -- affine ------------------------------------------------------------------------

    def bare_affine_map(self) -> AffineMap:
        """``(d0) -> (d0)``."""
        return maps.parse_map(self)

    def bare_integer_set(self) -> IntegerSet:
        """``(d0) : (d0 >= 0)``."""
        return maps.parse_set(self)

    def affine_map_or_set(self) -> AffineMap | IntegerSet:
        """A bare map or set."""
        return maps.parse_map_or_set(self)

    def affine_map(self) -> AffineMap:
        """A map, inline or by alias."""
        if self.token == "(":
            return maps.parse_map(self)
        start = self.start
        value = self.attribute()
        if not isinstance(value, AffineMapAttr):
            raise errors.InvalidAttribute(
                self.location(start),
                problem=f"{value} is not an affine map",
                hint="Write affine_map<(d0) -> (d0)>",
            )
        return value.map

    def integer_set(self) -> IntegerSet:
        """A set, inline or by alias."""
        if self.token == "(":
            return maps.parse_set(self)
        start = self.start
        value = self.attribute()
        if not isinstance(value, IntegerSetAttr):
            raise errors.InvalidAttribute(
                self.location(start),
                problem=f"{value} is not an integer set",
                hint="Write affine_set<(d0) : (d0 >= 0)>",
            )
        return value.set

    def affine_operands(self, dims: int, syms: int) -> list[Value]:
        """``(%d0, %d1)[%s0]`` for a map or set of so many dimensions and symbols."""
        start = self.start
        values = self.listed("(", ")", self._index_value)
        given = len(values)
        symbols = self.listed("[", "]", self._index_value) if self.token == "[" else []
        for count, actual, what in (
            (dims, given, "dimension"),
            (syms, len(symbols), "symbol"),
        ):
            if count != actual:
                raise errors.WrongMapArity(
                    self.location(start),
                    what="this map or set",
                    expected=f"{count} {what}",
                    actual=actual,
                )
        return values + symbols

    def _index_value(self) -> Value:
        return self.resolve(self.use(), INDEX)

    def subscripts(self, opening: str, closing: str) -> tuple[AffineMap, list[Value]]:
        """``[%i + 1, %j]`` as a map and its operands."""
        return subscripts.parse_subscripts(self, opening, closing)

    def subscript(self) -> tuple[AffineMap, list[Value]]:
        """``%i + 1`` as a map and its operands."""
        return subscripts.parse_subscript(self)

    def looks_like_map(self) -> bool:
        """Whether ``(`` starts a bare map or set rather than a function type."""
        return maps.looks_like_map(self)
