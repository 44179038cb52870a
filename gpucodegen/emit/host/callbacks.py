"""Operations that the caller runs: ``rt.handle("tf.Print", (..), {..}, (..))``."""

from __future__ import annotations

from collections.abc import Mapping

from gpucodegen.emit.host.context import HostEmitter, tuple_text
from gpucodegen.emit.kernel.context import Emitter
from gpucodegen.emit.kernel.kinds import dtype
from gpucodegen.emit.kernel.spelling import HOST
from gpucodegen.emit.text.fragments import Text
from gpucodegen.ir.attributes import Attribute, FloatAttr, IntegerAttr, StringAttr
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import MemRefType, element_type


def handled(e: Emitter, op: Operation) -> None:
    """A call of the function that stands for an unregistered operation."""
    if op.regions or op.successors:
        raise e.refusal(op, "A handler takes operands and attributes, no regions")
    _handle(e, op, op.name, op.attributes)


def called(e: Emitter, op: Operation, name: str) -> None:
    """A call of a function without a body, which has the handler ``name``."""
    _handle(e, op, name, {})


def _handle(
    e: Emitter, op: Operation, name: str, given: Mapping[str, Attribute]
) -> None:
    assert isinstance(e, HostEmitter)
    operands = tuple_text([e.text(value) for value in op.operands])
    attributes = ", ".join(
        f"{key!r}: {_python(value)!r}" for key, value in given.items()
    )
    results = tuple_text([Text(repr(_storage(v))) for v in op.results])
    text = f"rt.handle({name!r}, {operands}, {{{attributes}}}, {results})"
    targets = "".join(f"{e.variable(result)}, " for result in op.results)
    e.writer.line(f"{targets.rstrip()} = {text}" if targets else text)


def _python(value: Attribute) -> object:
    """The attribute as a handler gets it: a number, a string, or its text."""
    if isinstance(value, IntegerAttr | FloatAttr | StringAttr):
        return value.value
    return str(value)


def _storage(value: Value) -> str:
    """Element type of a result, with ``[]`` for a buffer."""
    name = dtype(element_type(value.type), value.location, HOST.name)
    return f"{name}[]" if isinstance(value.type, MemRefType) else name
