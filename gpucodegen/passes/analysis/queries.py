"""Dependence queries on MLIR: verdicts per loop, and dependences between operations.

`NestAnalysis` lifts a function or nest, asks `gpucodegen.tiling` for its dependences,
and answers for operations: whether an ``affine.for`` is parallel, and which parts of
its body depend on each other.  `MemrefDependenceCheck` reports the dependences of all
pairs of accesses, as MLIR's own dependence check lists them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
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
    lift_operations,
)
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.records import dataclass
from gpucodegen.tiling.model.relations import Model, model
from gpucodegen.tiling.model.scop import Node, Statement, statements
from gpucodegen.tiling.proof.dependences import Dependence, Row, dependences, rows
from gpucodegen.tiling.proof.liveness import LoopKind, LoopVerdict, loop_verdicts


@dataclass(frozen=True)
class NestAnalysis:
    """Dependence analysis of a list of operations."""

    lifted: Lifted
    model: Model

    @cached_property
    def dependences(self) -> tuple[Dependence, ...]:
        return dependences(self.model)

    @cached_property
    def verdicts(self) -> tuple[LoopVerdict, ...]:
        return loop_verdicts(self.model, self.dependences)

    def verdict(self, op: Operation) -> LoopVerdict | None:
        """The verdict on the loop made from ``op``; None for an unknown loop."""
        return next((v for v in self.verdicts if v.loop.payload is op), None)

    def is_parallel(self, op: Operation) -> bool:
        """Whether the iterations of a loop may run concurrently."""
        verdict = self.verdict(op)
        is_proven = verdict is not None and verdict.kind is LoopKind.PARALLEL
        return is_proven and not op.results

    def conflicts(
        self, sources: Iterable[Operation], sinks: Iterable[Operation]
    ) -> list[Dependence]:
        """Dependences from operations in ``sources`` to operations in ``sinks``."""
        first, second = _nested(sources), _nested(sinks)
        return [
            d
            for d in self.dependences
            if self._made_from(d.source.instances.node) & first
            and self._made_from(d.sink.instances.node) & second
        ]

    def _made_from(self, node: Node) -> set[int]:
        is_statement = isinstance(node, Statement)
        operations = self.lifted.operations[node.name] if is_statement else ()
        return {id(op) for op in operations}


def _nested(operations: Iterable[Operation]) -> set[int]:
    return {id(nested) for op in operations for nested in op.walk()}


def analyse(
    operations: Sequence[Operation],
    context: Sequence[Operation] = (),
    surroundings: Surroundings | None = None,
    *,
    fine: bool = False,
) -> NestAnalysis:
    """Analyse operations that run one after the other.

    ``context``: operations before them, whose constants and shapes may be used.
    ``surroundings``: the functions that they may call.
    ``fine``: each access is a statement of its own.
    """
    lifted = lift_operations(
        operations, context, surroundings, one_access_per_statement=fine
    )
    return NestAnalysis(lifted, model(lifted.scop))


NO_DEPENDENCE = "false"


@dataclass(frozen=True, slots=True)
class MemrefDependenceCheck(ModulePass):
    """Report every row of ``gpucodegen deps --json`` as a remark; change nothing.

    In a module without affine accesses, as all were before 2019, plain ones count.
    """

    name: ClassVar[str] = "memref-dependence-check"

    def apply(self, module: Module) -> Module:
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
