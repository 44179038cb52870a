"""Transfers matched with their waits: by tag, by order and by count.

What is proven wrong is an error: a start without a wait, a wait with no transfer under
way, a count that no start of the tag has.  What may go wrong shows when it runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from gpucodegen import errors
from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.shared.dma import (
    STARTS,
    TRANSFERS,
    WAITS,
    lengths_of,
    tag_of,
)
from gpucodegen.ir.attributes import IntegerAttr
from gpucodegen.ir.locations import UNKNOWN, Location
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.passes.analysis.lifting import lift_function
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.tiling.model.relations import Model, model
from gpucodegen.tiling.proof.async_copies import unmatched_waits
from gpucodegen.tiling.proof.races import Race, unfinished_copies


@dataclass(frozen=True, slots=True)
class CheckTransfers(ModulePass):
    """Every transfer has its wait, and every wait its transfer."""

    name: ClassVar[str] = "check-transfers"

    def apply(self, module: Module) -> Module:
        """The module itself, or UnpairedTransfer."""
        for op in module.walk():
            is_function = op.name in {"func.func", "gpu.func"}
            if is_function and any(inner.name in TRANSFERS for inner in op.walk()):
                built = model(lift_function(op).scop)
                for error in unpaired(op, built, unfinished_copies(built)):
                    raise error
        return module


def unpaired(
    function: Operation, built: Model, unfinished: Iterable[Race]
) -> Iterator[errors.UnpairedTransfer]:
    """The errors of a function whose model is ``built``; ``unfinished`` by `races`."""
    for copy in unfinished:
        yield _error(copy.locations[0], "dma_start", "dma_wait", str(copy))
    for wait in unmatched_waits(built):
        yield _error(wait.wait.node.loc, "dma_wait", "dma_start", str(wait))
    yield from _counts(function)


def _error(
    location: object, what: str, partner: str, reason: str
) -> errors.UnpairedTransfer:
    place = location if isinstance(location, Location) else UNKNOWN
    return errors.UnpairedTransfer(place, what=what, partner=partner, reason=reason)


def _counts(function: Operation) -> Iterator[errors.UnpairedTransfer]:
    """Waits whose constant count differs from those of all starts on their tag."""
    numbers = _constants(function)
    started: dict[Value, set[int | None]] = {}
    for op in function.walk():
        if op.name in STARTS:
            count = numbers.get(lengths_of(op)[0])
            started.setdefault(tag_of(op).memref, set()).add(count)
    for op in function.walk():
        if op.name in WAITS:
            count, known = (
                numbers.get(lengths_of(op)[0]),
                started.get(tag_of(op).memref),
            )
            if known and count is not None and not known & {count, None}:
                others = errors.one_of([str(n) for n in sorted(known, key=str)])
                reason = f"it waits for {count} elements, {others} are under way"
                yield _error(op.location, "dma_wait", "dma_start", reason)


def _constants(function: Operation) -> Mapping[Value, int]:
    return {
        op.results[0]: value.value
        for op in function.walk()
        if op.name == "arith.constant"
        for value in (op.attributes.get("value"),)
        if isinstance(value, IntegerAttr)
    }
