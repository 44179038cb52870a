"""Values that all threads of a block have alike, where no two of them race."""

from __future__ import annotations

from collections.abc import Mapping

from gpucodegen.dialects.framework.definition import Trait
from gpucodegen.dialects.framework.registry import lookup
from gpucodegen.dialects.shared.memory import is_shared
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import MemRefType

PURE = frozenset({"affine", "arith", "index", "math", "memref"})
OF_A_BLOCK = frozenset(
    {"gpu.all_reduce", "gpu.block_dim", "gpu.block_id", "gpu.grid_dim"}
)
LOADS = frozenset({"affine.load", "memref.load"})
STATED = "memref.assume_alignment"
"""Its result is its operand."""
ALLOCATIONS = frozenset({"memref.alloc", "memref.alloca"})


def is_uniform(
    value: Value, definitions: Mapping[Value, Operation], given: frozenset[Value]
) -> bool:
    """Whether a value depends on no thread; ``given`` are a kernel's arguments.

    Threads that load the same cell at the same place of the program see the same value,
    for a write between their loads would be a race.  A buffer depends on no thread if
    the block has it, and a view of it if its offset and extents do not.
    """
    made = definitions.get(value)
    if made is None:
        return value in given
    if made.name in OF_A_BLOCK:
        return True
    if made.name in ALLOCATIONS:
        return _is_of_block(value)
    if made.name not in {*LOADS, STATED} and not (
        made.dialect in PURE and _is_pure(made)
    ):
        return False
    return all(is_uniform(operand, definitions, given) for operand in made.operands)


def _is_of_block(memref: Value) -> bool:
    return isinstance(memref.type, MemRefType) and is_shared(memref.type.memory_space)


def _is_pure(op: Operation) -> bool:
    found = lookup(op.name)
    return found is not None and found.has(Trait.PURE) and not op.regions
