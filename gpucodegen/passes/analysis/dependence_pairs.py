"""Exact dependences between all pairs of accesses, as MLIR's own check lists them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from gpucodegen import errors
from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.locations import UNKNOWN, Location
from gpucodegen.ir.operation import Operation
from gpucodegen.passes.analysis.lifting import (
    AFFINE_ACCESSES,
    PLAIN_ACCESSES,
    Lifted,
    Surroundings,
    lift_function,
)
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.tiling.model.scop import statements
from gpucodegen.tiling.proof.dependences import Row, rows

NO_DEPENDENCE = "false"


@dataclass(frozen=True, slots=True)
class MemrefDependenceCheck(ModulePass):
    """Report every row of ``gpucodegen deps --json`` as a remark; change nothing.

    In a module without affine accesses, as all were before 2019, plain ones count.
    """

    name: ClassVar[str] = "memref-dependence-check"

    def apply(self, module: Module) -> Module:
        """Report on every function with a body."""
        is_plain = not any(op.name in AFFINE_ACCESSES for op in module.walk())
        surroundings = Surroundings.of(module)
        for function in functions_with_body(module):
            lifted = lift_accesses(function, surroundings, plain=is_plain)
            _report(lifted, rows(lifted.scop))
        return module


def functions_with_body(module: Module) -> Iterator[Operation]:
    """Functions in order, nested modules included."""
    for op in module.walk():
        if op.name == "func.func" and op.regions and op.regions[0].blocks:
            yield op


def lift_accesses(
    function: Operation, surroundings: Surroundings | None = None, *, plain: bool
) -> Lifted:
    """The function with a statement per access; ``plain`` accesses take rows too."""
    listed = AFFINE_ACCESSES | PLAIN_ACCESSES if plain else AFFINE_ACCESSES
    return lift_function(
        function, surroundings, one_access_per_statement=True, listed=listed
    )


def _report(lifted: Lifted, found: Sequence[Row]) -> None:
    places = [
        access.loc if isinstance(access.loc, Location) else UNKNOWN
        for statement in statements(lifted.scop.body)
        for access in statement.accesses
        if access.listed
    ]
    for source, sink, depth, result in found:
        remark = errors.DependenceReported(
            places[source],
            notes=[(places[sink], "the second access")],
            advice="" if result != NO_DEPENDENCE else "They may run in any order",
            source=source,
            sink=sink,
            depth=depth,
            result=result,
        )
        errors.tell(remark)
