"""Functions keep to the effects that they declare.

Comes in: any module. With D the declared accesses of a function and B those of its body
that can be seen, it must hold, array by array, for reads and for writes:

    union of B  is a subset of  union of D
    union of D that certainly happen  is a subset of  union of B that certainly happen

Operations whose effects cannot be seen are taken to keep to the declaration: unknown
operations, and calls of functions without a body.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from gpucodegen import errors
from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.func import Function
from gpucodegen.dialects.shared.effects import declared
from gpucodegen.ir.locations import UNKNOWN, Location
from gpucodegen.ir.operation import Operation
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.analysis.lifting.walk.calls import made_in
from gpucodegen.passes.analysis.lifting.walk.effects import declared_accesses
from gpucodegen.passes.analysis.lifting.walk.walker import Lifter
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.tiling.model.scop import Access
from gpucodegen.tiling.model.summaries import excess, summary


@dataclass(frozen=True, slots=True)
class CheckEffects(ModulePass):
    """A function that does more, or less, than it declares is an error."""

    name: ClassVar[str] = "check-effects"

    def apply(self, module: Module) -> Module:
        """Check every function with a body that declares its effects."""
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
