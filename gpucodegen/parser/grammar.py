"""The complete MLIR grammar, and the entry points that parse a file.

`Grammar` implements the `Reader` interface with the rules of the other modules. At the
top level a file has aliases and one module, or the operations of an implicit module.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Unpack

from gpucodegen import errors
from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.framework.syntax import Argument, RegionOptions
from gpucodegen.dialects.verifier import verify as verify_module
from gpucodegen.ir.affine import AffineMap, IntegerSet
from gpucodegen.ir.attributes import AffineMapAttr, Attribute, IntegerSetAttr
from gpucodegen.ir.constants import RESOURCES, ResourceSection
from gpucodegen.ir.locations import FileLoc, Location
from gpucodegen.ir.operation import Operation, Region, Successor, Value, deep_recursion
from gpucodegen.ir.types import INDEX, FunctionType, Type
from gpucodegen.parser import affine, attribute_syntax, definitions, operations, types
from gpucodegen.parser.legacy import spellings
from gpucodegen.parser.lexer import T
from gpucodegen.parser.operations import with_refined
from gpucodegen.parser.parser import MAX_DEPTH, Parser


class Grammar(Parser):
    """A parser with all rules of the grammar."""

    def __init__(self, text: str, filename: str, *, allow_unregistered: bool) -> None:
        super().__init__(text, filename, allow_unregistered=allow_unregistered)
        self.type_cache = types.scalar_cache()
        self.is_of_2018 = spellings.is_of_2018(text)
        self.is_of_2021 = spellings.is_of_2021(text)

    # -- structure ---------------------------------------------------------------------

    def operation(self) -> Operation:
        return operations.parse_operation(self)

    def region(
        self, arguments: Sequence[Argument] = (), **options: Unpack[RegionOptions]
    ) -> Region:
        return operations.parse_region(self, arguments, **options)

    def successor(self) -> Successor:
        return operations.parse_successor(self)

    # -- types and attributes ----------------------------------------------------------

    def type(self) -> Type:
        return types.parse_type(self)

    def types(self) -> list[Type]:
        return self.separated(self.type)

    def arrow_types(self) -> list[Type]:
        return types.parse_results(self) if self.accept("->") else []

    def function_type(self) -> FunctionType:
        return types.parse_function_type(self)

    def attribute(self, ty: Type | None = None) -> Attribute:
        return attribute_syntax.parse_attribute(self, ty)

    def attr_dict(self) -> dict[str, Attribute]:
        """``<{name = value}> {name = value}``, either of them or nothing."""
        entries: dict[str, Attribute] = {}
        if self.token == "<" and self.peek() == "{":
            self.advance()
            entries = attribute_syntax.parse_dictionary(self)
            self.close("<", ">")
        if self.token == "{":
            entries |= attribute_syntax.parse_dictionary(self)
        return entries

    def attr_dict_with_keyword(self) -> dict[str, Attribute]:
        if self.token != "attributes":
            return {}
        self.advance()
        return attribute_syntax.parse_dictionary(self)

    def trailing_location(self) -> Location:
        return attribute_syntax.parse_location(self)

    # -- affine ------------------------------------------------------------------------

    def bare_affine_map(self) -> AffineMap:
        return affine.parse_map(self)

    def bare_integer_set(self) -> IntegerSet:
        return affine.parse_set(self)

    def affine_map_or_set(self) -> AffineMap | IntegerSet:
        return affine.parse_map_or_set(self)

    def affine_map(self) -> AffineMap:
        if self.token == "(":
            return affine.parse_map(self)
        hint = "Write affine_map<(d0) -> (d0)>"
        return self._attribute_of(AffineMapAttr, "an affine map", hint).map

    def integer_set(self) -> IntegerSet:
        if self.token == "(":
            return affine.parse_set(self)
        hint = "Write affine_set<(d0) : (d0 >= 0)>"
        return self._attribute_of(IntegerSetAttr, "an integer set", hint).set

    def _attribute_of(self, kind: type[T], what: str, hint: str) -> T:
        start, value = self.start, self.attribute()
        if isinstance(value, kind):
            return value
        problem = f"{value} is not {what}"
        raise errors.InvalidAttribute(self.location(start), problem=problem, hint=hint)

    def affine_operands(self, dims: int, syms: int) -> list[Value]:
        """``(%d0, %d1)[%s0]`` with the given numbers of dimensions and symbols."""
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
        return affine.parse_subscripts(self, opening, closing)

    def subscript(self) -> tuple[AffineMap, list[Value]]:
        return affine.parse_subscript(self)

    def looks_like_map(self) -> bool:
        return affine.looks_like_map(self)


_SPLIT = re.compile(r"^[ \t]*// -----[^\n]*$", re.MULTILINE)


def split_input(text: str) -> list[tuple[int, str]]:
    r"""Chunks between ``// -----`` lines, each with the number of lines before it.

    >>> split_input("a\n// -----\nb")
    [(0, 'a\n'), (1, '\nb')]
    """
    chunks: list[tuple[int, str]] = []
    start = 0
    for match in _SPLIT.finditer(text):
        chunks.append((text.count("\n", 0, start), text[start : match.start()]))
        start = match.end()
    chunks.append((text.count("\n", 0, start), text[start:]))
    return chunks


def parse_module(
    text: str,
    filename: str = "<string>",
    *,
    allow_unregistered: bool = False,
    verify: bool = True,
    told: list[errors.CodegenWarning] | None = None,
) -> Module:
    """Parse MLIR of any vintage and verify it.

    Raises a :class:`gpucodegen.errors.ParseError` or ``VerifyError``. Warnings are
    appended to ``told``.

    >>> print(parse_module("func.func private @f(i32) -> i32"))
    module {
      func.func private @f(i32) -> i32
    }
    """
    try:
        with deep_recursion():
            parser = Grammar(text, filename, allow_unregistered=allow_unregistered)
            parser.told = told if told is not None else []
            module = _module(parser)
            if verify:
                verify_module(module.operation)
            return module
    except errors.Error as error:
        raise error.with_source(text) from None
    except RecursionError:
        place = FileLoc(filename, 1, 1)
        raise errors.TooDeep(place, limit=MAX_DEPTH).with_source(text) from None


def _module(p: Parser) -> Module:
    operations: list[Operation] = []
    p.pending = operations
    p.scopes.enter_isolated()
    while p.token:
        if not definitions.parse_definition(p):
            operations.append(p.operation())
    p.close_isolated()
    top = operations[0] if operations else None
    if len(operations) != 1 or top is None or top.name != "builtin.module":
        top = Module.of(operations, FileLoc(p.filename, 1, 1)).operation
    if p.resources:
        top = top.with_attribute(RESOURCES, ResourceSection(tuple(p.resources)))
    return Module(with_refined(p, top))
