"""Functions of several blocks put into the loops that are proven parallel around them.

Comes in: affine nests with calls.  Goes out: the body of a callee as an
``scf.execute_region`` in place of the call, so that each iteration of the loop runs it
in the thread of that iteration.  Elsewhere calls stay, and the callee is mapped alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.func import Call, Function
from gpucodegen.ir.operation import (
    Block,
    Operation,
    Region,
    clone,
    rewrite_bottom_up,
    substitute_values,
)
from gpucodegen.ir.types import FloatType, IndexType, IntegerType, MemRefType, Type
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.analysis.queries import NestAnalysis, analyse
from gpucodegen.passes.cpu.outline_blocks import runs_in_kernels
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.functions import with_blocks
from gpucodegen.passes.prepare.functions.affine_roles import with_roles

_NUMBERS = (FloatType, IndexType, IntegerType)


@dataclass(frozen=True, slots=True)
class InlineBranches(ModulePass):
    """Put functions of several blocks into parallel loops around their calls."""

    name: ClassVar[str] = "inline-branches"

    def apply(self, module: Module) -> Module:
        """Inline in every function; the callees stay."""
        inliner = _Inliner(Surroundings.of(module))
        return module.with_operations(
            inliner.function(op) if op.name == "func.func" else op
            for op in module.operations
        )


@dataclass(slots=True)
class _Inliner:
    surroundings: Surroundings
    active: list[str] = field(default_factory=list[str])

    def function(self, op: Operation) -> Operation:
        """A function with calls inlined where that keeps its operands affine."""
        if not any(self._callee(inner) for inner in op.walk()):
            return op
        rebuilt = with_blocks(op, self._nests)
        return with_roles(rebuilt) or op

    def _nests(self, operations: Sequence[Operation]) -> list[Operation]:
        result: list[Operation] = []
        for at, op in enumerate(operations):
            calls = op.dialect == "affine" and any(map(self._callee, op.walk()))
            if calls:
                analysis = analyse([op], operations[:at], self.surroundings)
                result += rewrite_bottom_up(op, lambda o, a=analysis: self._loop(o, a))
            else:
                result.append(op)
        return result

    def _loop(self, op: Operation, analysis: NestAnalysis) -> list[Operation] | None:
        """The loop with what it calls in it, if it is parallel."""
        if op.name != "affine.parallel" and not analysis.is_parallel(op):
            return None
        return rewrite_bottom_up(op, self._inlined)

    def _callee(self, op: Operation) -> Operation | None:
        """The function of several blocks that a call names."""
        if op.name != "func.call":
            return None
        callee = self.surroundings.functions.get(Call(op).callee)
        return callee if callee and len(Function(callee).blocks) > 1 else None

    def _inlined(self, op: Operation) -> list[Operation] | None:
        """The region of a call, or None where the callee has to stay a function."""
        callee = self._callee(op)
        name = "" if callee is None else Function(callee).name
        if callee is None or name in self.active or not _is_plain(Function(callee)):
            return None
        self.active.append(name)
        (whole,) = rewrite_bottom_up(callee, self._inlined)
        self.active.pop()
        return [_as_region(op, whole)] if runs_in_kernels(whole) else None


def _is_plain(view: Function) -> bool:
    """Whether buffers and numbers go in, and numbers come out."""
    taken, given = (*_NUMBERS, MemRefType), _NUMBERS
    return _are(view.type.inputs, taken) and _are(view.type.results, given)


def _are(types: Sequence[Type], kinds: tuple[type[Type], ...]) -> bool:
    return all(isinstance(ty, kinds) for ty in types)


def _as_region(call: Operation, callee: Operation) -> Operation:
    """A copy of the callee's blocks on the call's operands, yielding its results."""
    copy = clone(callee)
    given = zip(Function(copy).arguments, call.operands, strict=True)
    entry, *others = Function(substitute_values(copy, dict(given))).blocks
    blocks = (Block((), entry.operations, entry.label), *others)
    region = Region(tuple(map(_yielding, blocks)))
    return Operation(
        "scf.execute_region",
        results=call.results,
        regions=(region,),
        location=call.location,
    )


def _yielding(block: Block) -> Block:
    *before, last = block.operations
    if last.name != "func.return":
        return block
    return block.with_operations([*before, last.with_(name="scf.yield")])
