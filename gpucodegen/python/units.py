"""Translates a Python function and those it calls to one MLIR module."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import field, replace
from typing import Any

import numpy as np

from gpucodegen import errors
from gpucodegen.dialects import func
from gpucodegen.dialects.builtin import Module, symbol_name
from gpucodegen.dialects.func import Function
from gpucodegen.dialects.verifier import verify
from gpucodegen.ir.attributes import IntegerAttr, SymbolRefAttr
from gpucodegen.ir.operation import (
    Operation,
    Value,
    rewrite_bottom_up,
    substitute_values,
)
from gpucodegen.passes.framework.builder import OperationList
from gpucodegen.python.arrays import Lazy, View, assign, in_memory
from gpucodegen.python.block_arguments import UNSET, Liveness, captured, extent_of
from gpucodegen.python.context import (
    Arguments,
    Bound,
    Callee,
    Closure,
    Context,
    frozen,
)
from gpucodegen.python.expressions import evaluate
from gpucodegen.python.functions.shapes import reshaped_in_place
from gpucodegen.python.iterables import length
from gpucodegen.python.results import (
    ArrayResult,
    Given,
    Made,
    Result,
    leaves,
    rebuilt,
)
from gpucodegen.python.scalars import Scalar
from gpucodegen.python.statements import Statements, kept
from gpucodegen.python.structured_control_flow import (
    LENGTH,
    RESHAPED,
    RESULT,
    UNSET_NAME,
    Structured,
)
from gpucodegen.python.types import ArgumentType, ArrayType, Static, dtype_of, element
from gpucodegen.python.written_buffers import writes
from gpucodegen.records import dataclass


@dataclass(slots=True)
class Unit:
    """The functions of one module, one per combination of argument types."""

    operations: list[Operation] = field(default_factory=list[Operation])
    made: dict[Any, Made | None] = field(default_factory=dict[Any, "Made | None"])
    recursive: set[Callee] = field(default_factory=set[Callee])
    depth: int = 0
    """The number of inlined calls around the open one."""

    def module(self) -> Module:
        module = Module.of(self.operations)
        verify(module)
        return module

    def function(self, function: Callee, types: Sequence[ArgumentType]) -> Made:
        """A function for arguments of these types, translated once."""
        key = function, tuple(types)
        found = self.made.get(key)
        if found is None:
            self.made[key] = None  # while it is translated
            try:
                found = self.made[key] = self._translated(function, types)
            except errors.PythonError:
                del self.made[key]
                raise
        return found

    def _symbol(self, name: str) -> str:
        used = {made.symbol for made in self.made.values() if made is not None}
        number = len(self.made)
        return name if name not in used else f"{name}_{number}"

    def _translated(self, function: Callee, types: Sequence[ArgumentType]) -> Made:
        top = len(self.made) == 1
        shared: set[object] = set()
        while True:
            c, arguments = self._context(function, types)
            c.buffers.carrying |= shared
            results = _translate_body(c, c.source.tree)
            described, values = _results(c, results, arguments)
            c.b.add("func.return", values)
            found = c.buffers.shared(c.b.operations)
            if not found:
                break
            shared |= found
        symbol = self._symbol(function.name)
        returned = [v.type for v in values]
        self.operations.append(
            func.func(
                symbol,
                arguments,
                returned,
                tidy(c.b.operations),
                "public" if top else "private",
                location=c.source.location(c.source.tree),
            )
        )
        return Made(symbol, described, tuple(returned))

    def _context(
        self, function: Callee, types: Sequence[ArgumentType]
    ) -> tuple[Context, list[Value]]:
        """The context at the beginning of a function, and its MLIR arguments."""
        source, parameters = function.source, function.signature.parameters
        c = Context(source, function.names, self)
        c.at(source.tree)
        arguments = [
            Value(
                t.mlir if isinstance(t, ArrayType) else element(t), name, c.b.location
            )
            for name, t in zip(parameters, types, strict=True)
            if not isinstance(t, Static)
        ]
        passed = iter(arguments)
        for name, t in zip(parameters, types, strict=True):
            c.variables[name] = (
                t.value if isinstance(t, Static) else argument(c.b, next(passed), t)
            )
        return c, arguments

    def call(
        self, c: Context, node: ast.Call, callee: Callee, arguments: list[Bound]
    ) -> Bound:
        """``func.call`` of another function of Python."""
        values = [in_memory(c.b, a) if isinstance(a, Lazy) else a for a in arguments]
        types = [_type_of(v) for v in values]
        if any(t is None for t in types):  # tuples and functions
            return self.inline(c, node, callee.closure(), (arguments, {}))
        key = callee, tuple(types)
        if key in self.made and self.made[key] is None:
            self.recursive.add(callee)
            hint = "Write it as a loop"
            raise c.refuse(node, f"the recursion of '{callee.name}'", hint)
        try:
            made = self.function(callee, types)
        except errors.PythonError:
            has_constants = any(
                isinstance(a, Scalar) and a.value is None for a in arguments
            )
            if not has_constants or callee in self.recursive:
                raise
            # its body may need constants, such as axes
            return self.inline(c, node, callee.closure(), (arguments, {}))
        given_types = [t for t in types if not isinstance(t, Static)]
        values = [v for v in values if isinstance(v, Scalar | View)]
        pairs = zip(values, given_types, strict=True)
        operands = [_passed(c.b, v, t) for v, t in pairs]
        target = {"callee": SymbolRefAttr((made.symbol,))}
        given = iter(c.b.add("func.call", operands, made.types, target))
        parts = [_received(c.b, r, given, values) for r in leaves(made.results)]
        self._write_back(c, node, made, arguments, operands)
        return rebuilt(made.results, iter(parts))

    def _write_back(
        self,
        c: Context,
        node: ast.Call,
        made: Made,
        arguments: Sequence[Bound],
        operands: Sequence[Value],
    ) -> None:
        """Store what a callee wrote to copies of transposes and the like."""
        callee = next(op for op in self.operations if symbol_name(op) == made.symbol)
        (body,) = Function(callee).blocks
        passed = [a for a in arguments if isinstance(a, Scalar | View | Lazy)]
        for value, parameter, operand in zip(
            passed, body.arguments, operands, strict=True
        ):
            if not isinstance(value, Lazy) or value.plain is None:
                continue
            if writes(body.operations, parameter):
                if not value.is_writable:
                    hint = "Pass a copy"
                    raise c.wrong(node, f"`{made.symbol}`", [value], hint)
                view = View(operand, value.dtype, value.extents, frozenset([operand]))
                assign(c.b, view, value)

    def inline(
        self, c: Context, node: ast.AST, callee: Closure, given: Arguments
    ) -> Bound:
        """Translate a callee's body in place; constants, tuples and dtypes stay known.

        Errors and operations of a body that is no user's belong to the call.
        """
        with c.signature_errors(node, callee):
            bound = callee.signature.bind(*given[0], **given[1])
        bound.apply_defaults()
        if self.depth == MOST_CALLS:
            raise c.refuse(
                node, f"the recursion of '{callee.name}'", "Write it as a loop"
            )
        source = callee.source
        if source.place is not None:
            place = c.source.location(node)
            outer = c.source
            source = replace(
                source, filename=outer.filename, text=outer.text, place=place
            )
        outside = {} if callee.around is None else callee.around.variables
        inner = Context(
            source, callee.names, self, c.b, {**outside}, c.buffers, caller=c
        )
        for name, value in bound.arguments.items():
            inner.variables[name] = kept(c.b, frozen(value))
        self.depth += 1
        body = source.tree.body
        if isinstance(body, ast.expr):
            found = evaluate(inner, body)
        elif len(body) == 1 and isinstance(body[0], ast.Return) and body[0].value:
            found = evaluate(inner, body[0].value)
        else:
            found = _translate_body(inner, source.tree)
        self.depth -= 1
        c.at(node)
        return found


MOST_CALLS = 60
"""Limit of inlined calls within one another."""


def argument(b: OperationList, value: Value, t: ArgumentType) -> Bound:
    """An argument of a type; the extents of an array are read."""
    if not isinstance(t, ArrayType):
        return Scalar(t, value)
    extents = tuple(extent_of(b, value, d) for d in range(len(t.shape)))
    return View(value, t.dtype, extents, frozenset([value]))


def _translate_body(c: Context, tree: ast.FunctionDef | ast.Lambda) -> Bound:
    assert isinstance(tree, ast.FunctionDef)
    body = Structured(c.refuse).function(tree)
    live = Liveness(captured(body))
    live.before(body, frozenset([RESULT]))
    c.variables[RESULT] = None
    c.variables |= {UNSET_NAME: UNSET, LENGTH: length, RESHAPED: reshaped_in_place}
    Statements(c, live).block(body)
    if RESULT not in c.variables:
        hint = "End every way through the function with `return` of a value"
        raise c.refuse(tree, "results on some ways only", hint)
    return c.variables[RESULT]


def _results(
    c: Context, results: Bound, arguments: Sequence[Value]
) -> tuple[Result, list[Value]]:
    """Descriptions of the results, and the values that the MLIR function returns."""
    described: list[Result] = []
    values: list[Value] = []
    for leaf in leaves(results):
        if leaf is None:
            described.append(None)
        elif isinstance(leaf, Scalar):
            described.append(leaf.kind)
            values.append(leaf.ssa(c.b))
        elif isinstance(leaf, View | Lazy):
            view = in_memory(c.b, leaf)
            if view.memory in arguments:
                described.append(Given(arguments.index(view.memory)))
                continue
            described.append(ArrayResult(view.dtype, len(view.extents)))
            values.append(view.memory)
        else:
            hint = "Return numbers and arrays"
            raise c.wrong(c.source.tree, "`return`", [leaf], hint)
    return rebuilt(results, iter(described)), values


def _type_of(value: Any) -> ArgumentType | Static | None:
    """The type of an argument; None if it cannot be passed."""
    if isinstance(value, Scalar):
        return value.kind
    if value is None or isinstance(value, np.dtype | type | str):
        return Static(value)
    if not isinstance(value, View):
        return None
    contiguous = value.type.layout is None
    return ArrayType(dtype_of(value.dtype), value.type.shape, contiguous)


def _passed(b: OperationList, value: Any, t: ArgumentType) -> Value:
    if isinstance(value, Scalar):
        return value.ssa(b)
    if value.type == t.mlir:
        return value.memory
    return b.value("memref.cast", (value.memory,), t.mlir)


def _received(b: OperationList, result: Result, given: Any, values: list[Any]) -> Bound:
    if result is None:
        return None
    if isinstance(result, Given):
        return values[result.number]
    if not isinstance(result, ArrayResult):
        return Scalar(result, next(given))
    memory = next(given)
    extents = tuple(extent_of(b, memory, d) for d in range(result.rank))
    ours = [v.roots for v in values if isinstance(v, View)]
    roots = frozenset([memory]).union(*ours)
    return View(memory, result.dtype, extents, roots)


def tidy(operations: Sequence[Operation]) -> list[Operation]:
    """Hoist and deduplicate constants; drop unused extents."""
    first: dict[Any, Operation] = {}
    same: dict[Value, Value] = {}

    def hoisted(op: Operation) -> list[Operation] | None:
        if op.name != "arith.constant":
            return None
        attribute = op.attributes["value"]
        key = attribute, repr(attribute)  # -0.0 is not 0.0
        same[op.result] = first.setdefault(key, _named(op)).result
        return []

    rest = [kept for op in operations for kept in rewrite_bottom_up(op, hoisted)]
    rest = [substitute_values(op, same) for op in rest]
    kept: list[Operation] = []
    used: set[Value] = set()
    for op in reversed([*first.values(), *rest]):
        if op.name in ("memref.dim", "arith.constant") and op.result not in used:
            continue
        kept.append(op)
        for inner in op.walk():
            used.update(inner.used)
    return kept[::-1]


def _named(op: Operation) -> Operation:
    """A constant named after its value, if that is short."""
    number = op.attributes["value"]
    text = str(number.value) if isinstance(number, IntegerAttr) else "c"
    name = f"c{text}" if text.isdigit() else "c"
    return op.with_(results=(Value(op.result.type, name, op.location),))
