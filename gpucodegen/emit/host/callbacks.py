"""What runs outside of the program, as calls of the runtime.

A function of the caller: ``rt.handle("tf.Print", (..), {..}, (..))``.  What the runtime
offers: ``rt.routine("vector.print", (..), ("f32",), {..}, ("f.mlir", 3, 5))``.
"""

from __future__ import annotations

from collections.abc import Mapping

from gpucodegen.dialects.framework.registry import lookup
from gpucodegen.emit.host.context import HostEmitter, tuple_text
from gpucodegen.emit.kernel.context import Emitter
from gpucodegen.emit.kernel.kinds import dtype, is_index
from gpucodegen.emit.kernel.spelling import HOST
from gpucodegen.emit.text.fragments import Text
from gpucodegen.errors import ExternalFunction, UnregisteredOperation
from gpucodegen.ir.attributes import (
    Attribute,
    DictAttr,
    FloatAttr,
    IntegerAttr,
    StringAttr,
)
from gpucodegen.ir.locations import file_location
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import MemRefType, Type, UnrankedMemRefType, element_type


def handled(e: Emitter, op: Operation) -> None:
    """A call of the function that stands for an unregistered operation."""
    if op.regions or op.successors:
        raise e.refusal(op, "A handler takes operands and attributes, no regions")
    run_outside(e, op, op.name, op.attributes)


def handle(e: Emitter, op: Operation) -> None:
    """``gcg.handle``: an operation, or a function without a body, by its name."""
    given = op.attributes.get("given")
    entries = dict(given.entries) if isinstance(given, DictAttr) else {}
    run_outside(e, op, op.string("operation"), entries)


def is_run_outside(e: HostEmitter, name: str) -> bool:
    """Whether somebody runs operations or functions of a name."""
    return e.handlers.get(name) is handled or e.offered(name)


def run_outside(
    e: Emitter, op: Operation, name: str, attributes: Mapping[str, Attribute]
) -> None:
    """A call of the function of a name: the caller's, else the runtime's."""
    assert isinstance(e, HostEmitter)
    operands = tuple_text([e.text(value) for value in op.operands])
    given = ", ".join(
        f"{key!r}: {_python(value)!r}" for key, value in attributes.items()
    )
    if e.handlers.get(name) is handled:
        results = tuple_text([Text(repr(_form(v))) for v in op.results])
        text = f"rt.handle({name!r}, {operands}, {{{given}}}, {results})"
    elif e.offered(name):
        kinds = tuple_text([Text(repr(_kind(v))) for v in op.operands])
        found = file_location(op.location)
        place = (found.filename, found.line, found.column) if found else ()
        text = f"rt.routine({name!r}, {operands}, {kinds}, {{{given}}}, {place!r})"
    elif lookup(name) is None and "." in name:
        raise UnregisteredOperation(op.location, operation=name)
    else:
        raise ExternalFunction(op.location, name=name)
    targets = "".join(f"{e.variable(result)}, " for result in op.results)
    e.writer.line(f"{targets.rstrip()} = {text}" if targets else text)
    for result in op.results:
        _take_in(e, op, result)


def _take_in(e: Emitter, op: Operation, result: Value) -> None:
    """A number gets the width of its type."""
    if is_buffer(result.type):
        return
    function = "int" if is_index(result.type) else e.constructor(op, result)
    name = e.variable(result)
    e.writer.line(f"{name} = {function}({name})")


def _python(value: Attribute) -> object:
    """The attribute as a handler gets it: a number, a string, or its text."""
    if isinstance(value, IntegerAttr | FloatAttr | StringAttr):
        return value.value
    return str(value)


def is_buffer(ty: Type) -> bool:
    """Whether values of a type are memory."""
    return isinstance(ty, MemRefType | UnrankedMemRefType)


def _kind(value: Value) -> str:
    """The type of a number, or of the elements of a buffer, with ``[]``."""
    brackets = "[]" if is_buffer(value.type) else ""
    return f"{element_type(value.type)}{brackets}"


def _form(value: Value) -> str:
    """Element type of a result, with the extents of a buffer: ``f32[4,?]``."""
    name = dtype(element_type(value.type), value.location, HOST.name)
    match value.type:
        case MemRefType(shape):
            return f"{name}[{','.join('?' if n is None else str(n) for n in shape)}]"
        case UnrankedMemRefType():
            return f"{name}[*]"
        case _:
            return name
