"""What happens to an example: it runs, or ends in an error."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import gpucodegen as gcg
from gpucodegen import errors
from gpucodegen.dialects.verifier.structure import check_structure
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import DialectType
from gpucodegen.parser import parse_module
from tests.operations.arguments import arguments_of
from tests.operations.examples import Example

TARGETS = ("interp", "cpu", "sim")
RUNS = "runs"


def outcome(example: Example, target: str) -> str:
    """`RUNS`, or the name of the error.

    On another target than the interpreter it runs if all arrays and results are those
    of the interpreter.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            module = parse_module(example.text)
            arguments = arguments_of(module.functions["f"])
            if target == "interp":
                gcg.compile(module, target="interp").f(*arguments)
            else:
                gcg.check(module, *arguments, function="f", target=target)
        except (errors.Error, TypeError) as error:
            return type(error).__name__
    return RUNS


def refuses(example: Example) -> bool:
    """Whether the verifier refuses the operation with an operand or a result of no type
    that it knows, or one more or less.  Old names that parse as others have no rules.
    """
    found = [
        op for op in parse_module(example.text).walk() if op.name == example.operation
    ]
    return any(_is_refused(broken) for op in found for broken in _broken(op))


def _broken(op: Operation) -> Iterator[Operation]:
    """The operation changed in one place."""
    strange = Value(DialectType("broken.type"))
    if op.operands:
        yield op.with_(operands=op.operands[:-1])
        yield op.with_(operands=(strange, *op.operands[1:]))
    yield op.with_(operands=(*op.operands, strange))
    if op.results:
        yield op.with_(results=(strange, *op.results[1:]))
    yield op.with_(results=(*op.results, strange))


def _is_refused(op: Operation) -> bool:
    try:
        check_structure(op)
    except errors.VerifyError:
        return True
    return False
