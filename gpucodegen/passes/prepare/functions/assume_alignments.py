"""What a call tells of the addresses of its arrays, stated in the function.

Comes in: a function, and bytes that divide the address of each argument.  Goes out: the
same function with a ``memref.assume_alignment`` of each, first.  It holds for the
argument itself, which the body uses as before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gpucodegen.dialects.builtin import Module, symbol_name
from gpucodegen.dialects.func import Function
from gpucodegen.dialects.shared.memory import stored_by_map
from gpucodegen.ir.attributes import IntegerAttr
from gpucodegen.ir.operation import Block, Operation
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
    entry = function.regions[0].blocks[0]
    pairs = zip(Function(function).arguments, alignments, strict=False)
    stated = [
        Operation(
            "memref.assume_alignment",
            (value,),
            (value.renewed(),),
            {"alignment": IntegerAttr(bytes_, I32)},
            location=function.location,
        )
        for value, bytes_ in pairs
        if bytes_ and isinstance(value.type, MemRefType) and not _is_moved(value.type)
    ]

    def stating(block: Block) -> Block:
        if block is not entry:
            return block
        return block.with_operations([*stated, *block.operations])

    return function.with_blocks(stating)


def _is_moved(ty: MemRefType) -> bool:
    """Whether a map says where elements lie: the first one may lie elsewhere."""
    return stored_by_map(ty) is not None
