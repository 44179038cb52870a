"""Checks of buffer uses: bounds, declared effects, undefined reads and lifetimes.

Bounds: an access outside its buffer is an error where every call executes it, else a
warning (a condition, or a loop with an argument as its bound, may exclude it).

Effects: with D the accesses that a function declares and B those seen in its body,
array by array, for reads and for writes,

    union of B  is a subset of  union of D
    union of D that certainly happen  is a subset of  union of B that certainly happen

Operations whose effects are unknown, such as calls of functions without a body, are
assumed to keep to the declaration.

Reads of local buffers before any write are warnings, because the value may be unused.
Lifetimes: every operation after a ``dealloc`` in the same block, nested ones included,
runs after the memory is freed and must not use it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import ClassVar

from gpucodegen import errors
from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.func import Function
from gpucodegen.dialects.shared.effects import NAMES, declared
from gpucodegen.dialects.shared.memory import ALLOCATIONS
from gpucodegen.ir.locations import UNKNOWN, Location
from gpucodegen.ir.operation import Block, Operation, Value
from gpucodegen.ir.types import MemRefType, UnrankedMemRefType
from gpucodegen.passes.analysis.lifting import Surroundings, lift_function
from gpucodegen.passes.analysis.lifting.aliases import owners
from gpucodegen.passes.analysis.lifting.calls import declared_accesses, made_in
from gpucodegen.passes.analysis.lifting.lifter import Lifter
from gpucodegen.passes.analysis.queries import functions_with_body
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.records import dataclass
from gpucodegen.tiling.model.relations import Model, model
from gpucodegen.tiling.model.scop import Access
from gpucodegen.tiling.model.summaries import excess, summary
from gpucodegen.tiling.proof.array_bounds import (
    Suspect,
    Violation,
    by_array,
    violations,
)
from gpucodegen.tiling.proof.flow import UndefinedRead, undefined_reads

_MEMREFS = (MemRefType, UnrankedMemRefType)
_FREES = ("memref.dealloc", "gpu.dealloc")


@dataclass(frozen=True, slots=True)
class CheckLifetimes(ModulePass, name="check-lifetimes"):
    """No buffer is used after it is freed."""

    looks_for: ClassVar[frozenset[str]] = frozenset(_FREES)

    def apply(self, module: Module) -> Module:
        """Raise UseAfterFree."""
        shown = owners(module.operation.walk())
        for op in module.operation.walk():
            for block in op.blocks:
                _check(block, shown)
        return module


def _check(block: Block, shown: dict[Value, Value]) -> None:
    freed: dict[Value, Operation] = {}
    for op in block.operations:
        for user, value in _uses(op) if freed else ():
            free = freed.get(shown.get(value, value))
            if free is not None:
                raise errors.UseAfterFree.at(
                    user,
                    notes=[(free.location, "it is freed here")],
                    buffer=shown.get(value, value).name or "a buffer",
                )
        if op.name in _FREES:
            (memory, *_) = (v for v in op.operands if isinstance(v.type, _MEMREFS))
            freed[shown.get(memory, memory)] = op


def _uses(root: Operation) -> Iterator[tuple[Operation, Value]]:
    for op in root.walk():
        for target in op.successors:
            yield from ((op, value) for value in target.operands)
        yield from ((op, value) for value in op.operands)


@dataclass(frozen=True, slots=True)
class CheckReads(ModulePass, name="check-reads"):
    """Warn of every read of memory that nothing can have written; change nothing."""

    looks_for: ClassVar[frozenset[str]] = ALLOCATIONS

    def apply(self, module: Module) -> Module:
        surroundings = Surroundings.of(module)
        for function in functions_with_body(module):
            lifted = lift_function(function, surroundings)
            if any(a.fresh and not a.register for a in lifted.scop.arrays):
                warn_undefined(undefined_reads(model(lifted.scop)))
        return module


def warn_undefined(reads: Iterable[UndefinedRead]) -> None:
    """One warning per read: undefined in all iterations, or possibly in some."""
    for read in reads:
        access = read.reference.access
        kind = errors.UndefinedRead if read.proven else errors.PossiblyUndefinedRead
        location = access.loc if isinstance(access.loc, Location) else UNKNOWN
        errors.tell(kind(location, buffer=access.array, witness=str(read)))


@dataclass(frozen=True, slots=True)
class CheckEffects(ModulePass, name="check-effects"):
    """A function that does more, or less, than it declares is an error."""

    looks_for: ClassVar[frozenset[str]] = frozenset(NAMES)

    def apply(self, module: Module) -> Module:
        check_module(module)
        return module


def check_module(module: Module) -> None:
    """Raise the first error of a function that does not keep to its declaration."""
    surroundings = Surroundings.of(module)
    for op in module.walk():
        if op.name == "func.func" and not Function(op).is_external:
            for error in _failures(op, surroundings):
                raise error


def _failures(
    function: Operation, surroundings: Surroundings
) -> Iterator[errors.CompileError]:
    effects = declared(function)
    if effects is None:
        return
    view = Function(function)
    lifter = Lifter(surroundings=surroundings, active=(view.name,))
    body = lifter.lifted(function)
    own = made_in(function)
    local = {array.name for v, array in lifter.env.arrays.items() if v in own}
    seen = summary(body, local.__contains__)
    allowed = tuple(declared_accesses(effects, view.arguments, function, lifter.env))
    scop = lifter.finish((), function.location).scop
    visible = tuple(access for access in seen if not access.assumed)
    for access, shown in excess(scop, visible, allowed):
        yield _error(errors.EffectsExceeded, view, access, shown)
    surely = tuple(access for access in seen if access.exact or access.assumed)
    promised = tuple(access for access in allowed if access.must)
    for access, shown in excess(scop, promised, surely):
        yield _error(errors.EffectsMissing, view, access, shown)


def _error(
    kind: type[errors.CompileError], view: Function, access: Access, shown: str
) -> errors.CompileError:
    place = access.loc if isinstance(access.loc, Location) else UNKNOWN
    notes = [(view.operation.location, "the declaration")]
    verb = f"{access.kind.value}s"
    return kind(place, notes=notes, function=view.name, witness=shown, verb=verb)


def check_bounds(
    built: Model, found: Sequence[Suspect], unguarded: Sequence[Suspect]
) -> None:
    """Raise OutOfBounds for a violation that every call of a function makes.

    Warns of other violations by ``unguarded`` suspects, which nothing checks later.
    """
    told = [replace(v, proven=v.proven and v.runs) for v in violations(built, found)]
    open_ = set(map(_place, unguarded))
    shown = [v for v in told if v.proven or _place(v) in open_]
    for problem in diagnostics(shown, errors.OutOfBounds):
        if isinstance(problem, errors.Error):
            raise problem
        errors.tell(problem)


def _place(one: Suspect | Violation) -> tuple[int, int, int]:
    """The access of a suspect, and the dimension."""
    return id(one.reference.instances), one.reference.position, one.dimension


def diagnostics(
    found: Sequence[Violation],
    proven: type[errors.OutOfBounds | errors.ProvenOutOfBounds],
) -> Iterator[errors.Error | errors.CodegenWarning]:
    """A ``proven`` for each proven violation, one warning for each other array."""
    for violation, others in by_array(found):
        loc = violation.reference.access.loc
        kind = proven if violation.proven else errors.PossiblyOutOfBounds
        yield kind(
            loc if isinstance(loc, Location) else UNKNOWN,
            buffer=violation.reference.access.array,
            witness=f"{violation}{_and_more(others)}",
        )


def _and_more(accesses: int) -> str:
    if not accesses:
        return ""
    return f"; so may {accesses} other access{'es' if accesses > 1 else ''} of it"
