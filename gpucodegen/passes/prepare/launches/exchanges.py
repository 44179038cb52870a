"""Refuses exchanges of a warp that read lanes which take no part, as constants tell.

What only runs of the kernel know, the emulated device tells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from gpucodegen import errors
from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.gpu.collectives import Constants
from gpucodegen.ir.attributes import IntegerAttr
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.tiling.machine.gpu.devices import WARP


@dataclass(frozen=True, slots=True)
class CheckExchanges(ModulePass):
    """Every lane that is read is there and takes part."""

    name: ClassVar[str] = "check-exchanges"

    def apply(self, module: Module) -> Module:
        """The module itself, or WrongLanes."""
        numbers: dict[Value, int] = {}
        for op in module.walk():
            value = op.attributes.get("value")
            if op.name == "arith.constant" and isinstance(value, IntegerAttr):
                numbers[op.result] = value.value
            for problem in _RULES.get(op.name, _fine)(op, numbers.get):
                raise errors.WrongLanes(op.location, operation=op.name, problem=problem)
        return module


def _fine(op: Operation, numbers: Constants) -> Iterator[str]:
    del op, numbers
    yield from ()


def _shuffle(op: Operation, numbers: Constants) -> Iterator[str]:
    """The lanes below a width take part."""
    width = numbers(op.operands[2])
    if width is not None and not 1 <= width <= WARP:
        yield f"a width of {width} lanes, where a warp has {WARP}"


def _shfl_sync(op: Operation, numbers: Constants) -> Iterator[str]:
    """The lane that one of the mask reads, as PTX says, is of the mask."""
    mask, offset, clamp = (numbers(op.operands[at]) for at in (0, 2, 3))
    if mask is None or offset is None or clamp is None:
        return
    kind = str(op.attributes["kind"]).rstrip(">").rpartition(" ")[2]
    for lane in range(WARP):
        other = _source(kind, lane, offset & 31, clamp)
        if mask >> lane & 1 and not mask >> other & 1:
            yield f"lane {lane} reads lane {other}, which the mask leaves out"


def _source(kind: str, lane: int, offset: int, clamp: int) -> int:
    """The lane that a lane reads; itself where that lies outside its segment.

    >>> [_source("bfly", lane, 1, 31) for lane in (0, 1, 6)]
    [1, 0, 7]
    >>> _source("up", 2, 3, 0)
    2
    """
    segment = clamp >> 8 & 31
    low = lane & segment
    high = low | (clamp & 31 & ~segment)
    other = {
        "up": lane - offset,
        "down": lane + offset,
        "bfly": lane ^ offset,
        "idx": low | (offset & ~segment),
    }[kind]
    inside = other >= high if kind == "up" else other <= high
    return other if inside else lane


_Rule = Callable[[Operation, Constants], Iterator[str]]
_RULES: dict[str, _Rule] = {"gpu.shuffle": _shuffle, "nvvm.shfl.sync": _shfl_sync}
