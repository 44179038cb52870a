"""Operands of one linalg operation: extents that only a call knows have to agree.

Comes in: ``linalg.generic`` on buffers.  Goes out: the same behind checks that each
iterator has one extent, whichever operand it is taken from.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from gpucodegen.dialects import linalg
from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.func import Function
from gpucodegen.ir.affine import Dim
from gpucodegen.ir.operation import Operation, Value, rewrite_bottom_up
from gpucodegen.ir.types import MemRefType
from gpucodegen.passes.base import ModulePass
from gpucodegen.passes.builder import Builder
from gpucodegen.passes.functions import in_functions, with_blocks
from gpucodegen.passes.guards.checks import FIT, Check, refusing, reporting
from gpucodegen.passes.guards.conditions import Conditions

Extent = tuple[Value, int]
"""A buffer and one of its dimensions."""


@dataclass(frozen=True, slots=True)
class CheckShapes(ModulePass):
    """Refuse calls whose buffers do not fit each other where linalg takes them."""

    name: ClassVar[str] = "check-shapes"

    def apply(self, module: Module) -> Module:
        """Rewrite every function."""
        return in_functions(module, lambda function: [_checked(function)])


def _checked(function: Operation) -> Operation:
    """Checks of arguments stand first; those of other buffers before their use."""
    blocks = Function(function).blocks
    arguments = set(blocks[0].arguments)
    outermost = {op for block in blocks for op in block.operations}
    first: list[Operation] = []

    def checked(op: Operation) -> list[Operation] | None:
        made: list[Operation] = []
        for one, other in _pairs(op):
            check, before = _differing(op, one, other)
            if op not in outermost:
                made += [*before, reporting(check)]
            elif len(blocks) == 1 and {one[0], other[0]} <= arguments:
                first.extend([*before, refusing(check)])
            else:
                made += [*before, refusing(check)]
        return [*made, op] if made else None

    (rebuilt,) = rewrite_bottom_up(function, checked)
    return with_blocks(rebuilt, lambda ops: [*first, *ops]) if first else rebuilt


def _pairs(op: Operation) -> Iterator[tuple[Extent, Extent]]:
    """Extents of one iterator that are not known to be equal."""
    if op.name != "linalg.generic" or op.results:
        return
    generic = linalg.Structured(op)
    known: dict[int, Extent] = {}
    for buffer, map_ in zip(_operands(generic), generic.indexing_maps, strict=True):
        shape = buffer.type.shape if isinstance(buffer.type, MemRefType) else ()
        for dimension, result in enumerate(map_.results[: len(shape)]):
            if not isinstance(result, Dim):
                continue
            here = buffer, dimension
            before = known.setdefault(result.position, here)
            if before != here and not _is_equal(before, here):
                yield before, here


def _operands(generic: linalg.Structured) -> Sequence[Value]:
    return (*generic.inputs, *generic.outputs)


def _is_equal(one: Extent, other: Extent) -> bool:
    """Whether both are known; different ones the verifier refuses."""
    return all(_shape(buffer)[at] is not None for buffer, at in (one, other))


def _shape(buffer: Value) -> Sequence[int | None]:
    return buffer.type.shape if isinstance(buffer.type, MemRefType) else ()


def _differing(
    op: Operation, one: Extent, other: Extent
) -> tuple[Check, list[Operation]]:
    c = Conditions(Builder(op.location))
    known = tuple(
        (f"{buffer.name}.shape[{at}]", c.extent(buffer, at))
        for buffer, at in (one, other)
    )
    bad = c.differ(known[0][1], known[1][1])
    buffer, dimension = other
    check = Check(op.location, buffer.name, FIT, dimension, known, bad)
    return check, c.b.operations
