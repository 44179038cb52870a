"""The parser's state and the interface it offers to the syntax of operations.

Implements ``gpucodegen.dialects.framework.syntax.Reader``.  The grammar itself is in
the modules ``types``, ``attributes``, ``affine``, ``locations``, ``operations`` and
``regions``, names of values in ``values``.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager

from gpucodegen import errors
from gpucodegen.dialects.framework import registry
from gpucodegen.dialects.framework.definition import Op
from gpucodegen.dialects.framework.syntax import Argument, State
from gpucodegen.ir.affine.maps import AffineMap, IntegerSet
from gpucodegen.ir.attributes import AffineMapAttr, Attribute, IntegerSetAttr
from gpucodegen.ir.data.elements import DistinctAttr
from gpucodegen.ir.data.resources import Resource
from gpucodegen.ir.locations import Location
from gpucodegen.ir.operation import Operation, Region, Successor, Value
from gpucodegen.ir.types import INDEX, FunctionType, Type
from gpucodegen.parser import operations, regions
from gpucodegen.parser.affine import maps as affine
from gpucodegen.parser.affine import subscripts
from gpucodegen.parser.attributes import attributes, locations
from gpucodegen.parser.names.scopes import Blocks
from gpucodegen.parser.names.values import Values
from gpucodegen.parser.types import types
from gpucodegen.parser.vintages import spellings as vintages

MAX_DEPTH = 100


class Parser(Values):
    """One parse of one text."""

    def __init__(self, text: str, filename: str, *, allow_unregistered: bool) -> None:
        self.depth = 0
        self.allow_unregistered = allow_unregistered
        self.type_cache = types.scalar_cache()
        self.type_aliases: dict[str, Type] = {}
        self.attribute_aliases: dict[str, Attribute] = {}
        self.location_aliases: dict[str, Location] = {}
        self.distinct: dict[int, DistinctAttr] = {}
        self.resources: list[Resource] = []
        self.blobs: dict[str, bytes] = {}
        self.ahead: set[str] = set()
        self.definitions: dict[str, int] | None = None
        self.blocks = Blocks()
        self.dims: set[Value] = set()
        self.pending: list[Operation] = []
        self.default_dialect = "builtin"
        self.is_of_2018 = vintages.is_of_2018(text)
        self.is_of_2021 = vintages.is_of_2021(text)
        super().__init__(text, filename)

    @contextmanager
    def nested(self) -> Generator[None]:
        """One more level of nesting, within the limit."""
        self.deepen()
        yield
        self.depth -= 1

    def deepen(self) -> None:
        """Count a level of nesting; the caller takes it back."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise errors.TooDeep(self.location(), limit=MAX_DEPTH)

    # -- operations --------------------------------------------------------------------

    def definition(self, name: str) -> Op | None:
        """The registered operation of this name."""
        return registry.lookup(name)

    def unknown_operation(self, name: str, start: int) -> errors.ParseError:
        """The error for a name that nobody registers."""
        known = registry.names_like(name)
        cutoff = 0.6 if name.partition(".")[0] in registry.DIALECTS else 0.75
        advice = errors.did_you_mean(name, known, cutoff=cutoff)
        return errors.UnknownOperation(self.location(start), name=name, advice=advice)

    def operation(self) -> Operation:
        """One operation."""
        return operations.parse_operation(self)

    def emit(self, op: Operation) -> None:
        """Put an operation before the one being parsed."""
        self.pending.append(op)

    def note_dimension(self, state: State, results: Sequence[Value]) -> None:
        """Remember index values that depend on loop variables."""
        is_affine = state.name in ("affine.apply", "affine.min", "affine.max")
        if is_affine and any(v in self.dims for v in state.operands):
            self.dims.update(results)

    def region(
        self,
        arguments: Sequence[Argument] = (),
        *,
        isolated: bool = False,
        terminator: str = "",
        dialect: str = "",
    ) -> Region:
        """A region in braces."""
        return regions.parse_region(
            self, arguments, isolated=isolated, terminator=terminator, dialect=dialect
        )

    @contextmanager
    def region_scope(
        self, blocks: Blocks, *, isolated: bool, dialect: str
    ) -> Generator[None]:
        """Names and labels of one region."""
        saved = self.blocks, self.default_dialect
        self.blocks = blocks
        self.default_dialect = dialect or self.default_dialect
        mark = 0
        if isolated:
            self.scopes.enter_isolated()
        else:
            mark = self.scopes.enter()
        yield
        if isolated:
            self.close_isolated()
        else:
            self.scopes.leave(mark)
        self.blocks, self.default_dialect = saved

    def close_isolated(self) -> None:
        """Leave an isolated scope; everything used in it must be defined."""
        known = self.scopes.visible()
        unresolved = self.scopes.leave_isolated()
        if unresolved is not None:
            name, forward = unresolved
            raise self.undefined(name, forward.start, known)

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

    def skip_location(self) -> None:
        """Read a trailing location that nothing keeps."""
        if self.token == "loc":
            self.trailing_location()

    # -- affine ------------------------------------------------------------------------

    def bare_affine_map(self) -> AffineMap:
        """``(d0) -> (d0)``."""
        return affine.parse_map(self)

    def bare_integer_set(self) -> IntegerSet:
        """``(d0) : (d0 >= 0)``."""
        return affine.parse_set(self)

    def affine_map_or_set(self) -> AffineMap | IntegerSet:
        """A bare map or set."""
        return affine.parse_map_or_set(self)

    def affine_map(self) -> AffineMap:
        """A map, inline or by alias."""
        if self.token == "(":
            return affine.parse_map(self)
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
            return affine.parse_set(self)
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
        return affine.looks_like_map(self)
