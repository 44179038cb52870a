"""vector.print: values on the standard output, as MLIR's runner prints them."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from gpucodegen.interp.machine import Machine
from gpucodegen.interp.registry import Evaluate
from gpucodegen.interp.values.elements import number
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import FloatType, Type, element_type

_SIGNS = {"newline": "\n", "comma": ", ", "open": "( ", "close": " )"}


def text_of(value: Any, ty: Type) -> str:
    """A number, or rows of a vector in brackets.

    >>> from gpucodegen.ir.types import F32, VectorType
    >>> text_of(np.array([[1, 2.5]], "f4"), VectorType((1, 2), F32))
    '( ( 1, 2.5 ) )'
    """
    if isinstance(value, np.ndarray):
        of = element_type(ty)
        if not value.ndim:
            return f"( {text_of(number(value[()], of), of)} )"
        rows = (
            text_of(v if v.ndim else number(v[()], of), of)
            for v in map(np.asarray, value)
        )
        return f"( {', '.join(rows)} )"
    return f"{value:g}" if isinstance(ty, FloatType) else str(value)


def _print(_: Machine, op: Operation, *source: Any) -> None:
    text = op.string("stringLiteral")
    if source:
        text = text_of(source[0], op.operands[0].type)
    word = str(op.attributes.get("punctuation") or "<newline>")
    word = word.partition("<")[2].removesuffix(">")
    if "stringLiteral" in op.attributes and "punctuation" not in op.attributes:
        word = ""
    sys.stdout.write(text + _SIGNS.get(word, ""))


OPERATIONS: dict[str, Evaluate] = {"vector.print": _print}
