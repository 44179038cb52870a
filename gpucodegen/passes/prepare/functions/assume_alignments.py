"""What a call tells of the addresses of its arrays, stated in the function.

Comes in: a function, and bytes that divide the address of each argument.  Goes out: the
same function, whose body uses results of ``memref.assume_alignment`` in their place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gpucodegen.dialects.builtin import Module, symbol_name
from gpucodegen.dialects.func import Function
from gpucodegen.ir.attributes import IntegerAttr
from gpucodegen.ir.operation import Block, Operation, Value, substitute_values
from gpucodegen.ir.types import I32, MemRefType
from gpucodegen.passes.framework.base import ModulePass


@dataclass(frozen=True, slots=True)
class AssumeAlignments(ModulePass):
    """State the ``alignments`` of the arguments of ``function``; 0 states nothing."""

    name: ClassVar[str] = "assume-alignments"
    function: str = ""
    alignments: tuple[int, ...] = ()

    def apply(self, module: Module) -> Module:
        """State those of arguments that are memrefs."""
        if not any(self.alignments):
            return module
        return module.with_operations(
            _stated(op, self.alignments) if symbol_name(op) == self.function else op
            for op in module.operations
        )


def _stated(function: Operation, alignments: tuple[int, ...]) -> Operation:
    used = {value for op in function.walk() for value in op.used}
    stated: dict[Value, Value] = {}
    made: list[Operation] = []
    for value, bytes_ in zip(Function(function).arguments, alignments, strict=False):
        if bytes_ and value in used and isinstance(value.type, MemRefType):
            stated[value] = value.renewed()
            number = IntegerAttr(bytes_, I32)
            made.append(
                Operation(
                    "memref.assume_alignment",
                    (value,),
                    (stated[value],),
                    {"alignment": number},
                    location=function.location,
                )
            )
    entry = function.regions[0].blocks[0]

    def using(block: Block) -> Block:
        body = [substitute_values(op, stated) for op in block.operations]
        return block.with_operations([*(made if block is entry else ()), *body])

    return function.with_blocks(using) if made else function
