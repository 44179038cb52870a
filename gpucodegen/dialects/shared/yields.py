"""Rule shared by structured control flow: what a terminator must pass out."""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen import errors
from gpucodegen.dialects.framework.operands import wrong_operand
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import Type


def check_yield(o: Operation, expected: Sequence[Type], name: str = "") -> None:
    """Every terminator of ``o`` (of this name, if given) yields these types."""
    for region in o.regions:
        for block in region.blocks:
            for last in block.operations[-1:]:
                if not name or last.name == name:
                    _check(o, last, expected)


def _check(o: Operation, last: Operation, expected: Sequence[Type]) -> None:
    actual = [v.type for v in last.operands]
    if actual != list(expected):
        raise errors.YieldMismatch(
            last.location,
            operation=o.name,
            expected=", ".join(map(str, expected)),
            actual=", ".join(map(str, actual)),
            focus=wrong_operand(last, expected),
        )
