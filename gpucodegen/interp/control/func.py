"""func and builtin: calls, constants, casts between type systems."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpucodegen import errors
from gpucodegen.dialects.func import Function, named_function
from gpucodegen.interp.control import outside
from gpucodegen.interp.handlers import called
from gpucodegen.interp.machine import Machine
from gpucodegen.interp.registry import Evaluate
from gpucodegen.ir.operation import Operation
from gpucodegen.library.routines import routine

MAX_DEPTH = 200
"""Calls of MLIR that may be under way at once."""


def run(m: Machine, function: Operation, arguments: Sequence[Any]) -> tuple[Any, ...]:
    """The results of a function with a body."""
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
"""Where the number of calls under way stands, among globals: no symbol is empty."""


def named(m: Machine, name: str) -> Operation | None:
    """The function of a name: of the module, or of one inside it."""
    found = m.shared.module.functions.get(name)
    if found is not None:
        return found
    kinds = {"func.func", "gpu.func"}
    inner = (o for o in m.shared.module.walk() if o.name in kinds)
    return next((o for o in inner if Function(o).name == name), None)


def invoke(m: Machine, op: Operation, name: str, arguments: Sequence[Any]) -> Any:
    """Call the function of a name, or what stands for one without a body."""
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
    return outside.run(op, name, offered, arguments, types, {})


def _passed(value: Any) -> Any:
    """Tensors are values."""
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


OPERATIONS: dict[str, Evaluate] = {
    "func.call": _call,
    "func.call_indirect": _call_indirect,
    "func.constant": _constant,
    "builtin.unrealized_conversion_cast": _cast,
}
