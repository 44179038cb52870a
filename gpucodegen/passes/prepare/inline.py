"""Inlining of calls.

`Inline` replaces calls by the bodies of their callees.  An affine operand that was a
symbol because it was an argument of the callee may become a loop variable, which is a
dimension; affine expressions are rewritten for this unless they multiply or divide
by the index.

`InlineBranches` inlines a callee of several blocks, as an ``scf.execute_region``, into
loops that are proven parallel, so each iteration runs it in its thread.  Other calls of
such functions stay, and the callee is mapped separately.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from gpucodegen import errors
from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.func import Call, Function
from gpucodegen.dialects.shared.effects import declared
from gpucodegen.dialects.verifier.affine_values import (
    check_affine_values,
    variable_symbols,
)
from gpucodegen.ir.operation import (
    Block,
    Operation,
    Region,
    Value,
    clone,
    renamed,
    rewrite_bottom_up,
    substitute_values,
)
from gpucodegen.ir.types import FloatType, IndexType, IntegerType, MemRefType, Type
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.analysis.lifting.accesses import is_opaque
from gpucodegen.passes.analysis.queries import NestAnalysis, analyse
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.functions import on_functions, with_blocks
from gpucodegen.passes.framework.indexing import Index, rewrite_maps
from gpucodegen.passes.outlining.cpu_outliner import runs_in_kernels
from gpucodegen.records import dataclass


def with_roles(function: Operation) -> Operation | None:
    """The function with loop variables as dimensions; None if that breaks the rules.

    Loop bounds of the callee may be computed in a loop of the caller.
    """
    if _keeps_roles(function):
        return function
    known = {value: Index.of(value) for value in variable_symbols(function)}
    (changed,) = rewrite_bottom_up(function, lambda op: [rewrite_maps(op, known)])
    return changed if _keeps_roles(changed) else None


def _keeps_roles(function: Operation) -> bool:
    """Whether all affine operands are still valid."""
    try:
        check_affine_values(function)
    except errors.NotADimension:
        return False
    return True


@dataclass(frozen=True, slots=True)
class Inline(ModulePass, name="inline", looks_for="func.call"):
    """Inline every call of a single-block function that does not call itself.

    A function stays as it is where that would break the rules of affine operands, a
    call where the callee's declared effects say what its body does not show.
    """

    def apply(self, module: Module) -> Module:
        inliner = _Inliner(module.functions)
        return on_functions(module, inliner.function)


def without_calls(op: Operation, functions: Mapping[str, Operation]) -> Operation:
    """An operation whose regions call none of these functions that has one block."""
    calls = any(inner.name == "func.call" for inner in op.walk())
    return with_blocks(op, _Inliner(functions).operations) if calls else op


def _has_secrets(operations: Sequence[Operation]) -> bool:
    """Whether a declaration has effects that the body does not show."""
    return any(is_opaque(inner) for op in operations for inner in op.walk())


@dataclass(slots=True)
class _Inliner:
    functions: Mapping[str, Operation]
    active: list[str] = field(default_factory=list[str])
    replaced: dict[Value, Value] = field(default_factory=dict[Value, Value])

    def function(self, op: Operation) -> Operation:
        if not any(inner.name == "func.call" for inner in op.walk()):
            return op
        self.replaced = {}
        self.active.append(Function(op).name)
        rebuilt = with_blocks(op, self.operations)
        self.active.pop()
        return with_roles(rebuilt) or op

    def operations(self, operations: Sequence[Operation]) -> list[Operation]:
        """The operations of a block, with bodies in place of calls."""
        result: list[Operation] = []
        for op in operations:
            current = renamed(op, self.replaced)
            body = self._body(current) if op.name == "func.call" else None
            if body is not None:
                result += body
            elif op.regions:
                result.append(with_blocks(current, self.operations))
            else:
                result.append(current)
        return result

    def _body(self, call: Operation) -> list[Operation] | None:
        """The callee's operations on the call's operands, or None to keep the call."""
        name = Call(call).callee
        callee = self.functions.get(name)
        if callee is None or name in self.active or len(Function(callee).blocks) != 1:
            return None
        mapping = dict(zip(Function(callee).arguments, call.operands, strict=True))
        (block,) = Function(callee).blocks
        copies = [clone(op, mapping) for op in block.operations]
        self.active.append(name)
        operations = self.operations(copies)
        self.active.pop()
        if declared(callee) is not None and _has_secrets(operations):
            return None
        returned = operations.pop().operands
        self.replaced.update(zip(call.results, returned, strict=True))
        return operations


_NUMBERS = (FloatType, IndexType, IntegerType)


@dataclass(frozen=True, slots=True)
class InlineBranches(ModulePass, name="inline-branches", looks_for="func.call"):
    """Put functions of several blocks into parallel loops around their calls."""

    def apply(self, module: Module) -> Module:
        inliner = _BranchInliner(Surroundings.of(module))
        return on_functions(module, inliner.function)


@dataclass(slots=True)
class _BranchInliner:
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
        """The loop with its callees inlined, if it is parallel."""
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
    """Whether it takes buffers and scalars, and returns scalars."""
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
