"""The index dialect in arith's operations, which every analysis knows.

``index`` has 64 bits everywhere, so both dialects mean the same by their operations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from gpucodegen.dialects import arith
from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.attributes import IntegerAttr
from gpucodegen.ir.operation import Operation, rewrite_bottom_up
from gpucodegen.ir.types import INDEX
from gpucodegen.passes.framework.base import ModulePass

SAME = {
    f"index.{name}": f"arith.{other}"
    for name, other in {
        "add": "addi",
        "sub": "subi",
        "mul": "muli",
        "divs": "divsi",
        "divu": "divui",
        "rems": "remsi",
        "remu": "remui",
        "ceildivs": "ceildivsi",
        "ceildivu": "ceildivui",
        "floordivs": "floordivsi",
        "mins": "minsi",
        "maxs": "maxsi",
        "minu": "minui",
        "maxu": "maxui",
        "and": "andi",
        "or": "ori",
        "xor": "xori",
        "shl": "shli",
        "shrs": "shrsi",
        "shru": "shrui",
        "casts": "index_cast",
        "castu": "index_castui",
    }.items()
}
"""Operations of one name each."""
WORD_BITS = 64


@dataclass(frozen=True, slots=True)
class IndexToArith(ModulePass):
    """Operations of the index dialect become those of arith."""

    name: ClassVar[str] = "index-to-arith"

    def apply(self, module: Module) -> Module:
        """Rewrite all operations."""
        if not any(op.dialect == "index" for op in module.operation.walk()):
            return module
        (root,) = rewrite_bottom_up(module.operation, _rewritten)
        return Module(root)


def _rewritten(op: Operation) -> list[Operation] | None:
    if op.name in SAME:
        return [op.with_(name=SAME[op.name])]
    rule = _RULES.get(op.name)
    return None if rule is None else [rule(op)]


def _compared(op: Operation) -> Operation:
    """``index.cmp``: arith's predicate of the same name."""
    predicate = str(op.attributes["pred"]).rpartition("<")[2].rstrip(">").strip()
    lhs, rhs = op.operands
    made = arith.compare("arith.cmpi", predicate, lhs, rhs, location=op.location)
    return made.with_(results=op.results)


def _constant(op: Operation) -> Operation:
    """``index.constant`` and ``index.bool.constant``."""
    value = op.attributes["value"]
    return op.with_(name="arith.constant", attributes={"value": value})


def _size(op: Operation) -> Operation:
    """``index.sizeof``: the bits of an index."""
    value = IntegerAttr(WORD_BITS, INDEX)
    return op.with_(name="arith.constant", attributes={"value": value})


_RULES: dict[str, Callable[[Operation], Operation]] = {
    "index.cmp": _compared,
    "index.constant": _constant,
    "index.bool.constant": _constant,
    "index.sizeof": _size,
}
