"""Source text, syntax tree and visible names of a Python function."""

from __future__ import annotations

import ast
import builtins
import inspect
import linecache
import sys
import textwrap
from collections.abc import Callable
from types import FunctionType
from typing import Any

from gpucodegen import errors
from gpucodegen.ir.locations import FileLoc
from gpucodegen.records import dataclass


@dataclass(frozen=True, slots=True)
class PythonSource:
    """A function's ``def``; ``text`` is its whole file, for quotes in messages."""

    filename: str
    text: str
    tree: ast.FunctionDef | ast.Lambda
    indent: int
    place: FileLoc | None = None
    """The call to which all errors and operations belong, if the text is no user's."""

    def location(self, node: ast.AST) -> FileLoc:
        if self.place is not None:
            return self.place
        line: int = getattr(node, "lineno", self.tree.lineno)
        column: int = getattr(node, "col_offset", 0)
        return FileLoc(self.filename, line, column + self.indent + 1)


def read(function: Callable[..., Any]) -> PythonSource:
    """The source of a function made by ``def``.

    Raises NoPythonSource.

    >>> def twice(x):
    ...     return 2 * x
    >>> ast.unparse(read(twice).tree.body[0])
    'return 2 * x'
    """
    code = inspect.unwrap(function).__code__
    lines, block = block_of(function)
    tree = _definition(textwrap.dedent("".join(block)), function.__name__)
    first = block[0] if block else ""
    ast.increment_lineno(tree, code.co_firstlineno - 1)
    indent = len(first) - len(first.lstrip())
    return PythonSource(code.co_filename, "".join(lines), tree, indent)


def block_of(function: Callable[..., Any]) -> tuple[list[str], list[str]]:
    """The lines of a function's file, and those of the function: none if unknown."""
    code = inspect.unwrap(function).__code__
    lines = linecache.getlines(code.co_filename, function.__globals__)
    try:
        return lines, inspect.getblock(lines[code.co_firstlineno - 1 :])
    except IndexError:
        return lines, []


def names_of(function: Any) -> dict[str, Any]:
    """Globals, closure variables and builtins visible in the function."""
    found = inspect.getclosurevars(function)
    return {**vars(builtins), **function.__globals__, **found.nonlocals}


def compiled_from(value: object) -> Callable[..., Any] | None:
    """The function to compile where compiled code calls ``value``; None for others.

    That of a `jit` function, or one made by a ``def`` of the user's.  The source of a
    wrapper (``functools.wraps``) would be that of the wrapped function.
    """
    function: Any = value
    if hasattr(value, "py_func") and hasattr(value, "parameters"):
        return function.py_func
    if not isinstance(value, FunctionType) or hasattr(value, "__wrapped__"):
        return None
    package = (value.__module__ or "").partition(".")[0]
    is_lambda = value.__name__ == "<lambda>"
    return None if is_lambda or package in _PACKAGES else function


_PACKAGES = frozenset({"numpy", "gpucodegen", *sys.stdlib_module_names} - {"builtins"})
"""Packages whose functions are no user's; ``exec`` makes functions of ``builtins``."""


def _definition(text: str, name: str) -> ast.FunctionDef:
    try:
        body = ast.parse(text).body
    except SyntaxError:  # a lambda inside of a longer statement
        body = []
    if len(body) != 1 or not isinstance(body[0], ast.FunctionDef):
        raise errors.NoPythonSource(name=name)
    return body[0]
