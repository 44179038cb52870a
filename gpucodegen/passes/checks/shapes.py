"""Run-time checks that dynamic extents agree where the program requires it.

Each iterator of a ``linalg.generic`` on buffers must have one extent, whichever operand
gives it, and the operand of a cast must have the extents of the result type.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpucodegen.dialects import linalg
from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.func import Function
from gpucodegen.ir.affine import Dim
from gpucodegen.ir.operation import Operation, Value, rewrite_bottom_up
from gpucodegen.ir.types import MemRefType
from gpucodegen.passes.checks.access_checks import cast_leaves
from gpucodegen.passes.checks.guard_conditions import (
    FIT,
    Check,
    ConditionBuilder,
    refusing,
    reporting,
)
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.functions import in_functions, with_blocks
from gpucodegen.records import dataclass

Extent = tuple[Value, int]
"""A buffer and one of its dimensions."""


def with_checks(function: Operation, *, kernels: bool) -> Operation:
    """Checks of arguments stand first; those of other buffers before their use.

    ``kernels``: checks may stand in loops and branches.
    """
    blocks = Function(function).blocks
    arguments = set(blocks[0].arguments)
    outermost = {op for block in blocks for op in block.operations}
    first: list[Operation] = []

    def checked(op: Operation) -> list[Operation] | None:
        made: list[Operation] = []
        for check, before, buffers in _checks(op):
            if op not in outermost and not kernels:
                continue
            if op not in outermost:
                made += [*before, reporting(check)]
            elif len(blocks) == 1 and buffers <= arguments:
                first.extend([*before, refusing(check)])
            else:
                made += [*before, refusing(check)]
        return [*made, op] if made else None

    (rebuilt,) = rewrite_bottom_up(function, checked)
    return with_blocks(rebuilt, lambda ops: [*first, *ops]) if first else rebuilt


def _checks(op: Operation) -> Iterator[tuple[Check, list[Operation], set[Value]]]:
    """Checks of an operation, the operations that compute them, and their buffers."""
    if op.name == "memref.cast":
        c = ConditionBuilder(Builder(op.location))
        for leaf in cast_leaves(c, op, FIT):
            check = Check(
                op.location, leaf.buffer.name, FIT, leaf.dimension, leaf.known, leaf.bad
            )
            yield check, c.b.operations[:], {leaf.buffer}
            c.b.operations.clear()
    for one, other in _pairs(op):
        check, before = _differing(op, one, other)
        yield check, before, {one[0], other[0]}


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
    """Whether both are static; the verifier refuses different ones."""
    return all(_shape(buffer)[at] is not None for buffer, at in (one, other))


def _shape(buffer: Value) -> Sequence[int | None]:
    return buffer.type.shape if isinstance(buffer.type, MemRefType) else ()


def _differing(
    op: Operation, one: Extent, other: Extent
) -> tuple[Check, list[Operation]]:
    c = ConditionBuilder(Builder(op.location))
    known = tuple(
        (f"{buffer.name}.shape[{at}]", c.extent(buffer, at))
        for buffer, at in (one, other)
    )
    bad = c.differ(known[0][1], known[1][1])
    buffer, dimension = other
    check = Check(op.location, buffer.name, FIT, dimension, known, bad)
    return check, c.b.operations


@dataclass(frozen=True, slots=True)
class CheckShapes(ModulePass, name="check-shapes", looks_for="!dynamic"):
    """Refuse calls whose buffers do not fit where linalg takes them, or a cast does.

    ``kernels``: also in loops and branches, where a kernel may have to report it.
    """

    kernels: bool = True

    def apply(self, module: Module) -> Module:
        if not any(map(_is_open, module.walk())):
            return module

        return in_functions(module, lambda f: [with_checks(f, kernels=self.kernels)])


def _is_open(op: Operation) -> bool:
    """Whether an operation may need dynamic extents."""
    if op.name not in {"linalg.generic", "memref.cast"}:
        return False
    types = [value.type for value in op.operands]
    return any(isinstance(ty, MemRefType) and None in ty.shape for ty in types)
