"""Context of a translation: variables, the open block, and the module."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from typing import Any, Protocol, cast

import numpy as np

from gpucodegen import errors
from gpucodegen.passes.framework.builder import OperationList
from gpucodegen.python.arrays import Array, Disagree, Lazy, View
from gpucodegen.python.elementwise import NoRow
from gpucodegen.python.range_checks import Block, Role
from gpucodegen.python.results import is_tuple
from gpucodegen.python.scalars import Scalar, known
from gpucodegen.python.source import PythonSource, names_of, read
from gpucodegen.python.written_buffers import Buffers
from gpucodegen.records import dataclass

Bound = Any
"""`Scalar`, `Array`, a tuple of them, or an object of Python such as a module."""
Arguments = tuple[Sequence[Bound], Mapping[str, Bound]]
"""The positional and the named arguments of a call."""


class Callees(Protocol):
    """The functions of the module under construction."""

    def call(
        self, c: Context, node: ast.Call, callee: Callee, arguments: list[Bound]
    ) -> Bound:
        """Call another function of Python."""
        ...

    def inline(
        self, c: Context, node: ast.AST, callee: Closure, given: Arguments
    ) -> Bound:
        """Translate the callee's body in place of its call."""
        ...


@dataclass(slots=True)
class Context:
    """State of translating one function."""

    source: PythonSource
    names: Mapping[str, Any]
    callees: Callees
    b: OperationList = field(default_factory=OperationList)
    variables: dict[str, Bound] = field(default_factory=dict[str, Any])
    buffers: Buffers = field(default_factory=Buffers)
    private: dict[str, View] = field(default_factory=dict[str, View])
    """Variables that the open loops keep in a buffer."""

    def at(self, node: ast.AST) -> None:
        """Locate the following operations at this node."""
        if hasattr(node, "lineno"):
            self.b.location = self.source.location(node)

    @contextmanager
    def block(self, role: Role = "arm") -> Generator[Block]:
        outer, inner = self.b, Block(self.b.location, outer=self.b, role=role)
        self.b = inner
        try:
            yield inner
        finally:
            self.b = outer

    def lookup(self, node: ast.Name) -> Bound:
        """A variable, else a global, whose value is frozen now."""
        if node.id in self.variables:
            return self.variables[node.id]
        if node.id not in self.names:
            raise self.located(errors.UndefinedName, node, name=node.id)
        return frozen(self.names[node.id])

    # -- errors ------------------------------------------------------------------------

    def located(
        self, kind: type[errors.PythonError], node: ast.AST, **details: Any
    ) -> errors.PythonError:
        """An error at a node, with its source line."""
        return kind(self.source.location(node), **details).with_source(self.source.text)

    def refuse(self, node: ast.AST, what: str, hint: str) -> errors.PythonError:
        """The error for a construct outside of the subset."""
        return self.located(errors.UnsupportedPython, node, what=what, hint=hint)

    def wrong(
        self, node: ast.AST, what: str, values: list[Bound], hint: str
    ) -> errors.PythonError:
        """The error for operands of the wrong type."""
        types = " and ".join(map(described, values)) or "no operands"
        return self.located(
            errors.WrongOperand, node, what=what, types=types, hint=hint
        )

    @contextmanager
    def operands(
        self, node: ast.AST, what: str, values: list[Bound]
    ) -> Generator[None]:
        """Turn refusals of the tables into errors at a node."""
        try:
            yield
        except NoRow:
            hint = "Convert the operands, for example with float() or .astype()"
            raise self.wrong(node, what, values, hint) from None
        except Disagree:
            shapes = [shape_text(v) for v in values if isinstance(v, View | Lazy)]
            raise self.located(
                errors.NotBroadcastable, node, first=shapes[0], second=shapes[-1]
            ) from None

    @contextmanager
    def signature_errors(
        self, node: ast.AST, callee: Callee | Closure
    ) -> Generator[None]:
        """Turn a TypeError of binding arguments into an error at a node."""
        try:
            yield
        except TypeError as problem:
            hint = f"It takes {callee.name}{callee.signature}: {problem}"
            what = f"these arguments of `{callee.name}`"
            raise self.refuse(node, what, hint) from None


@dataclass(frozen=True, slots=True, eq=False)
class Closure:
    """A function that is inlined where it is called.

    ``around``: the function that it is nested in; its variables have the values that
    they have at the call.
    """

    name: str
    signature: inspect.Signature
    source: PythonSource
    names: Mapping[str, Any]
    around: Context | None = None


@dataclass(frozen=True, slots=True)
class Callee:
    """A Python function that is compiled where compiled code calls it."""

    py_func: Callable[..., Any]

    @property
    def name(self) -> str:
        return self.py_func.__name__

    @property
    def signature(self) -> inspect.Signature:
        return inspect.signature(self.py_func)

    @property
    def source(self) -> PythonSource:
        return read(self.py_func)

    @property
    def names(self) -> Mapping[str, Any]:
        return names_of(self.py_func)

    def closure(self) -> Closure:
        """The function as one that is inlined."""
        return Closure(self.name, self.signature, self.source, self.names)


def shape_text(array: Array) -> str:
    """A shape for a message; ``?`` for dynamic extents.

    >>> from gpucodegen.ir.operation import Value
    >>> from gpucodegen.ir.types import INDEX
    >>> shape_text(Lazy(float, (known(2), Scalar(int, Value(INDEX))), (), max))
    '(2, ?)'
    """
    shown = ("?" if e.value is not None else str(e.constant) for e in array.extents)
    return f"({', '.join(shown)})"


def described(value: Bound) -> str:
    """A description of a value for messages."""
    if isinstance(value, Scalar | View | Lazy):
        return str(value)
    if value is None or isinstance(value, str | tuple | list):
        return "None" if value is None else f"a {type(cast('Any', value)).__name__}"
    return getattr(value, "__name__", type(value).__name__)


def frozen(value: Any) -> Bound:
    """A global or constant inside a function; numbers become constants."""
    if isinstance(value, bool | int | float | complex | np.number | np.bool_):
        return known(value)
    if is_tuple(value):
        return tuple(map(frozen, value))
    return value


Rule = Callable[[Context, Any], Bound]
