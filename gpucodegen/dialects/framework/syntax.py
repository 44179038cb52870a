"""Interfaces that an operation's syntax uses: :class:`Reader` and :class:`Writer`.

The parser implements `Reader`, the printer `Writer`. Tokens are plain strings, told
apart by their first character: ``%value``, ``@symbol``, ``^block``, ``#attribute``,
``!type``, ``"string"``, a digit, a letter, or punctuation.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import field
from typing import NamedTuple, Protocol, TypedDict, TypeVar, Unpack

from gpucodegen.errors import CodegenWarning
from gpucodegen.ir.affine import AffineMap, IntegerSet
from gpucodegen.ir.attributes import Attribute
from gpucodegen.ir.locations import FileLoc
from gpucodegen.ir.operation import (
    OPERAND_SEGMENTS,
    Label,
    Operation,
    Region,
    Successor,
    Value,
    segment_sizes,
)
from gpucodegen.ir.types import FunctionType, Type
from gpucodegen.records import dataclass

T = TypeVar("T")


class Use(NamedTuple):
    """A written operand ``%name#number`` and its offset in the text."""

    name: str
    number: int
    start: int


class Argument(NamedTuple):
    """A block argument with its name in the text."""

    name: str
    value: Value


@dataclass(slots=True)
class State:
    """An operation being parsed; the parser adds results and location.

    ``expand`` replaces it by several operations that together define its results.
    """

    name: str
    start: int
    operands: list[Value] = field(default_factory=list[Value])
    result_types: list[Type] = field(default_factory=list[Type])
    attributes: dict[str, Attribute] = field(default_factory=dict[str, Attribute])
    regions: list[Region] = field(default_factory=list[Region])
    successors: list[Successor] = field(default_factory=list[Successor])
    properties: dict[str, Attribute] = field(default_factory=dict[str, Attribute])
    expand: Callable[[Operation], Sequence[Operation]] | None = None

    def give(self, groups: Sequence[Sequence[Value]]) -> None:
        """Append operands in groups and record the group sizes as an attribute."""
        self.operands = [value for group in groups for value in group]
        self.attributes[OPERAND_SEGMENTS] = segment_sizes(groups)


class RegionOptions(TypedDict, total=False):
    """How a region is read.

    ``terminator`` is added to blocks without one, ``dialect`` is the default one of
    names inside. ``renamed``: the entry label may name the arguments again.
    """

    isolated: bool
    terminator: str
    dialect: str
    renamed: bool


class Reader(Protocol):
    """Interface of the parser for the custom syntax of operations."""

    token: str
    start: int
    dims: set[Value]
    """Values that are affine dimensions but no symbols, such as loop variables."""

    # -- tokens
    def advance(self) -> str:
        """Consume the current token and return it."""
        ...

    def skip_location(self) -> None:
        """Read and discard a trailing ``loc(..)``."""
        ...

    def at(self, token: str, /) -> bool:
        """Whether this is the current token."""
        ...

    def accept(self, token: str, /) -> bool:
        """Consume the token if it is the current one."""
        ...

    def expect(self, token: str, /) -> None:
        """Consume the token, which must be the current one."""
        ...

    def keyword(self, what: str = ...) -> str:
        """Consume a bare identifier."""
        ...

    def one_of(self, names: Collection[str], what: str) -> str:
        """Consume a word that must be one of ``names``."""
        ...

    def integer(self) -> int:
        """Consume an integer with an optional minus."""
        ...

    def string(self) -> str:
        """Consume a string literal and return its value."""
        ...

    def symbol_name(self) -> str:
        """Consume ``@name`` and return the name."""
        ...

    def symbol_path(self) -> tuple[str, ...]:
        """Consume ``@root::@nested``."""
        ...

    def location(self, start: int | None = None) -> FileLoc:
        """Position of a character offset, the current token's by default."""
        ...

    def warn(self, warning: CodegenWarning) -> None:
        """Report a warning with its source line."""
        ...

    def unexpected(self, expected: str, advice: str = "") -> Exception:
        """The error for a token that is not ``expected``."""
        ...

    def listed(self, opening: str, closing: str, item: Callable[[], T]) -> list[T]:
        """``opening (item (, item)*)? closing``."""
        ...

    def separated(self, item: Callable[[], T]) -> list[T]:
        """``item (, item)*``."""
        ...

    # -- types and attributes
    def type(self) -> Type: ...

    def types(self) -> list[Type]:
        """Types separated by commas."""
        ...

    def arrow_types(self) -> list[Type]:
        """``-> type`` or ``-> (types)``; nothing without an arrow."""
        ...

    def function_type(self) -> FunctionType:
        """``(types) -> types``."""
        ...

    def attribute(self, ty: Type | None = None) -> Attribute:
        """An attribute; ``ty`` is the type of a number written without one."""
        ...

    def attr_dict(self) -> dict[str, Attribute]:
        """``{name = value}``, or nothing."""
        ...

    def attr_dict_with_keyword(self) -> dict[str, Attribute]:
        """``attributes {name = value}``, or nothing."""
        ...

    def affine_map(self) -> AffineMap:
        """A map, inline or by alias."""
        ...

    def integer_set(self) -> IntegerSet:
        """A set, inline or by alias."""
        ...

    def affine_operands(self, dims: int, syms: int) -> list[Value]:
        """``(%d0)[%s0]`` with the given numbers of dimensions and symbols."""
        ...

    def subscripts(self, opening: str, closing: str) -> tuple[AffineMap, list[Value]]:
        """``[%i + 1, %j]`` as a map and its operands."""
        ...

    def subscript(self) -> tuple[AffineMap, list[Value]]:
        """``%i + 1`` as a map of one result and its operands."""
        ...

    # -- values
    def use(self) -> Use:
        """``%name`` or ``%name#number``, not yet looked up."""
        ...

    def uses(self) -> list[Use]:
        """Operands separated by commas, possibly none."""
        ...

    def resolve(self, use: Use, ty: Type | None = None) -> Value:
        """The value that a use names; ``ty`` is the type written for it."""
        ...

    def resolve_all(
        self, uses: Sequence[Use], types: Sequence[Type], start: int
    ) -> list[Value]:
        """The values of uses with one written type each, or none at all."""
        ...

    def argument(self, use: Use, ty: Type) -> Argument:
        """A block argument to be handed to :meth:`region`."""
        ...

    def emit(self, op: Operation) -> None:
        """Put an operation before the one being parsed."""
        ...

    # -- structure
    def region(
        self, arguments: Sequence[Argument] = (), **options: Unpack[RegionOptions]
    ) -> Region:
        """A region in braces; ``arguments`` are those of its entry block."""
        ...

    def successor(self) -> Successor:
        """A branch target with the values it passes."""
        ...

    def operation(self) -> Operation: ...


class Writer(Protocol):
    """Interface of the printer for the custom syntax of operations."""

    def write(self, text: str, /) -> None:
        """Append text; line breaks keep the indentation."""
        ...

    def name(self, value: Value, /) -> str: ...

    def names(self, values: Sequence[Value], /) -> str:
        """Names of values, with commas."""
        ...

    def typed_names(self, values: Sequence[Value], /) -> str:
        """``%a, %b : type, type``; nothing for no values."""
        ...

    def label(self, label: Label, /) -> str:
        """Name of a block."""
        ...

    def successor(self, successor: Successor, /) -> str:
        """A branch target with the values it passes."""
        ...

    def attr_dict(
        self, op: Operation, elided: Collection[str] = (), *, keyword: bool = False
    ) -> None:
        """`` {attributes}`` without the elided ones; nothing if none are left."""
        ...

    def properties(self, op: Operation, names: Collection[str]) -> None:
        """`` <{attributes}>`` of these names; nothing if there are none."""
        ...

    def region(
        self,
        region: Region,
        *,
        arguments: bool = False,
        elide: str = "",
    ) -> None:
        """``{ .. }``, the entry block's arguments on request."""
        ...

    def operation(self, op: Operation) -> None:
        """An operation with its results."""
        ...


ParseOp = Callable[[Reader, State], None]
PrintOp = Callable[[Writer, Operation], None]


def read_type(r: Reader, state: State) -> Type:
    """``{attributes} : type``, as many operations end."""
    state.attributes |= r.attr_dict()
    r.expect(":")
    return r.type()
