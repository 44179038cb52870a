"""index: integers of 64 bits."""

from __future__ import annotations

from typing import Any

from gpucodegen.interp.machine import Machine
from gpucodegen.interp.registry import Evaluate
from gpucodegen.interp.scalars.arith import integers, unsigned
from gpucodegen.interp.scalars.comparisons import compared
from gpucodegen.interp.values.constants import constant
from gpucodegen.interp.values.elements import INDEX_BITS, bits_of, canonical
from gpucodegen.ir.data.packing import wrapped
from gpucodegen.ir.operation import Operation

_OF_ARITH = {
    "add": "addi",
    "and": "andi",
    "ceildivs": "ceildivsi",
    "ceildivu": "ceildivui",
    "divs": "divsi",
    "divu": "divui",
    "floordivs": "floordivsi",
    "maxs": "maxsi",
    "maxu": "maxui",
    "mins": "minsi",
    "minu": "minui",
    "mul": "muli",
    "or": "ori",
    "rems": "remsi",
    "remu": "remui",
    "shl": "shli",
    "shrs": "shrsi",
    "shru": "shrui",
    "sub": "subi",
    "xor": "xori",
}


def _constant(_: Machine, op: Operation) -> Any:
    return constant(op.attributes.get("value"), op.results[0].type)


def _cast_signed(_: Machine, op: Operation, value: int) -> int:
    return canonical(wrapped(value, bits_of(op.operands[0].type)), op.results[0].type)


def _cast_unsigned(_: Machine, op: Operation, value: int) -> int:
    return canonical(unsigned(value, bits_of(op.operands[0].type)), op.results[0].type)


def _cmp(_: Machine, op: Operation, a: int, b: int) -> int:
    return compared(cmp_word(op), a, b, INDEX_BITS)


def cmp_word(op: Operation) -> str:
    """``slt`` of ``#index.cmp_predicate<slt>``."""
    text = str(op.attributes.get("pred"))
    return text.partition("<")[2].removesuffix(">") if "<" in text else text


OPERATIONS: dict[str, Evaluate] = {
    **{f"index.{ours}": integers(theirs) for ours, theirs in _OF_ARITH.items()},
    "index.constant": _constant,
    "index.bool.constant": _constant,
    "index.casts": _cast_signed,
    "index.castu": _cast_unsigned,
    "index.cmp": _cmp,
    "index.sizeof": lambda *_: INDEX_BITS,
}
