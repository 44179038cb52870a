"""Calls functions of a module, and interprets func and builtin operations.

External operations (prints, checks, clocks) are executed by `gpucodegen.library`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from gpucodegen import errors
from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.func import Function, named_function
from gpucodegen.interp.buffers import MemRef, contiguous
from gpucodegen.interp.machine import Machine, Shared, called, plain, taken
from gpucodegen.interp.registry import Evaluate
from gpucodegen.interp.values import Array, constant
from gpucodegen.ir.attributes import DictAttr, ElementsAttr
from gpucodegen.ir.locations import file_location
from gpucodegen.ir.operation import Operation, deep_recursion
from gpucodegen.ir.types import (
    AnyShaped,
    TensorType,
    Type,
    UnrankedTensorType,
    element_type,
)
from gpucodegen.library.prints import Routine, RoutineCall
from gpucodegen.library.routines import ROUTINES, routine


class _Shown(NamedTuple):
    """A buffer as the library prints it; ``base`` is an address."""

    array: Array
    base: int
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def run_external(
    op: Operation,
    name: str,
    routine: Routine,
    operands: Sequence[Any],
    types: Sequence[Type],
    attributes: Mapping[str, Any],
) -> Any:
    """Results of an operation, or of a call of ``name``, run by a routine."""
    found = file_location(op.location)
    place = (found.filename, found.line, found.column) if found else ()
    values, kinds = tuple(map(_shown, operands, types)), tuple(map(_kind, types))
    made = routine(RoutineCall(name, values, kinds, attributes, place, _contents))
    results = tuple(map(taken, made, op.results))
    return results[0] if len(results) == 1 else results


def _shown(value: Any, ty: Type) -> Any:
    """A buffer or row-major tensor with its address."""
    if isinstance(ty, TensorType | UnrankedTensorType):
        base = int(value.ctypes.data)
        return _Shown(value, base, 0, value.shape, contiguous(value.shape))
    if not isinstance(value, MemRef):
        return value
    base = int(value.memory.ctypes.data) + value.base * value.memory.strides[0]
    return _Shown(value.array(), base, value.offset, value.shape, value.strides)


def _contents(value: Any) -> Array:
    return value.array if isinstance(value, _Shown) else np.asarray(value)


def _kind(ty: Type) -> str:
    return f"{element_type(ty)}{'[]' if isinstance(ty, AnyShaped) else ''}"


def _evaluate(_: Machine, op: Operation, *operands: Any) -> Any:
    """Run a check operation; a constant to compare with becomes an operand."""
    values, types = list(operands), [value.type for value in op.operands]
    stated = op.attributes.get("value")
    if isinstance(stated, ElementsAttr):
        values.append(constant(stated, stated.type))
        types.append(stated.type)
    given = {name: plain(value) for name, value in op.attributes.items()}
    return run_external(op, op.name, ROUTINES[op.name], values, types, given)


def _handle(m: Machine, op: Operation, *operands: Any) -> Any:
    """``gcg.handle``: the caller's handler, else the routine of the name."""
    name, given = op.string("operation"), op.attributes.get("given")
    entries = dict(given.entries) if isinstance(given, DictAttr) else {}
    attributes = {key: plain(value) for key, value in entries.items()}
    handler = m.shared.handlers.get(name)
    if handler is not None:
        return called(name, handler, operands, attributes, op.results)
    offered = routine(name)
    if offered is None:
        raise errors.ExternalFunction(op.location, name=name)
    types = [value.type for value in op.operands]
    return run_external(op, name, offered, operands, types, attributes)


EXTERNAL_OPERATIONS: dict[str, Evaluate] = {
    name: _evaluate for name in ROUTINES if "." in name
} | {"gcg.handle": _handle}


MAX_DEPTH = 200
"""Maximum depth of nested calls."""


def run(m: Machine, function: Operation, arguments: Sequence[Any]) -> tuple[Any, ...]:
    """Run a function with a body and return its results."""
    view = Function(function)
    depth = m.shared.globals.get(_DEPTH, 0)
    if depth >= MAX_DEPTH:
        raise errors.CallsTooDeep(
            function.location,
            function=view.name,
            depth=MAX_DEPTH,
            advice="Write the recursion as a loop",
        )
    m.shared.globals[_DEPTH] = depth + 1
    try:
        return m.fresh().results(function.regions[0], arguments)
    finally:
        m.shared.globals[_DEPTH] = depth


_DEPTH = ""
"""Key of the call depth among globals; no symbol name is empty."""


def named(m: Machine, name: str) -> Operation | None:
    """The function of a name in the module or in a nested module."""
    found = m.shared.module.functions.get(name)
    if found is not None:
        return found
    kinds = {"func.func", "gpu.func"}
    inner = (o for o in m.shared.module.walk() if o.name in kinds)
    return next((o for o in inner if Function(o).name == name), None)


def invoke(m: Machine, op: Operation, name: str, arguments: Sequence[Any]) -> Any:
    """Call a function by name, or the handler of one without a body."""
    function = named(m, name)
    if function is None:
        raise errors.ExternalFunction(name=name)
    if not Function(function).is_external:
        made = run(m, function, [_passed(value) for value in arguments])
        return made[0] if len(made) == 1 else made
    handler = m.shared.handlers.get(name)
    if handler is not None:
        return called(name, handler, arguments, {}, op.results)
    offered = routine(name)
    if offered is None:
        raise errors.ExternalFunction(name=name)
    types = Function(function).type.inputs
    return run_external(op, name, offered, arguments, types, {})


def _passed(value: Any) -> Any:
    """Copy tensors, which are passed by value."""
    return value.copy() if isinstance(value, np.ndarray) else value


def _call(m: Machine, op: Operation, *arguments: Any) -> Any:
    return invoke(m, op, named_function(op), arguments)


def _call_indirect(m: Machine, op: Operation, callee: str, *arguments: Any) -> Any:
    return invoke(m, op, callee, arguments)


def _constant(_: Machine, op: Operation) -> str:
    return named_function(op)


def _cast(_: Machine, op: Operation, *values: Any) -> Any:
    """The same values under other types."""
    if len(values) != len(op.results):
        raise errors.UnsupportedOperation(operation=op.name, target="interp")
    return values[0] if len(values) == 1 else values


FUNC_OPERATIONS: dict[str, Evaluate] = {
    "func.call": _call,
    "func.call_indirect": _call_indirect,
    "func.constant": _constant,
    "builtin.unrealized_conversion_cast": _cast,
}


def interpret(
    module: Module,
    name: str,
    arguments: Sequence[Any],
    handlers: Mapping[str, Callable[..., Any]] | None = None,
    *,
    refuses_nan: bool = False,
    arbitrary: bool = False,
) -> tuple[Any, ...]:
    """Call a function and return its results; buffer arguments are changed in place.

    ``refuses_nan``: an operation that makes NaN of numbers raises NanMade.
    ``arbitrary``: fresh memory may be read before it is written, as mapped kernels do
    with elements of vectors that no result depends on; it holds NaN or -1.

    >>> from gpucodegen.parser import parse_module
    >>> text = '''func.func @f(%a: i8) -> i8 {
    ...   %b = arith.addi %a, %a : i8
    ...   return %b : i8
    ... }'''
    >>> interpret(parse_module(text), "f", [100])
    (-56,)
    """
    machine = Machine(
        Shared(module, handlers or {}, refuses_nan=refuses_nan, arbitrary=arbitrary)
    )
    function = module.functions[name]
    try:
        with deep_recursion():
            return run(machine, function, arguments)
    except RecursionError as problem:
        from sys import getrecursionlimit

        depth = getrecursionlimit()
        raise errors.CallsTooDeep(
            function.location, function=name, depth=depth
        ) from problem
