"""The top level of a file: aliases, one module or the operations of an implicit one."""

from __future__ import annotations

import re

from gpucodegen import errors
from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.verifier import verify as verify_module
from gpucodegen.ir.constants.resources import RESOURCES, ResourceSection
from gpucodegen.ir.locations import FileLoc
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.recursion import deep_recursion
from gpucodegen.parser.definitions import aliases
from gpucodegen.parser.grammar import Grammar
from gpucodegen.parser.operations.unregistered import with_refined
from gpucodegen.parser.parser import MAX_DEPTH, Parser

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
    """Parse MLIR of any vintage and check it.

    Raises a :class:`gpucodegen.errors.ParseError` or ``VerifyError``.  What is warned
    of is added to ``told``.

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
        if not aliases.parse_definition(p):
            operations.append(p.operation())
    p.close_isolated()
    top = operations[0] if operations else None
    if len(operations) != 1 or top is None or top.name != "builtin.module":
        top = Module.of(operations, FileLoc(p.filename, 1, 1)).operation
    if p.resources:
        top = top.with_attribute(RESOURCES, ResourceSection(tuple(p.resources)))
    return Module(with_refined(p, top))
