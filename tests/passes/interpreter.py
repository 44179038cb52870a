"""Reference: executes affine programs operation by operation and notes each access.

Uses neither the analyses nor the emitters, so that agreement means something.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpucodegen.dialects import affine
from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.affine import AffineMap
from gpucodegen.ir.locations import Location
from gpucodegen.ir.operation import Operation, Value

Cell = tuple[str, tuple[int, ...]]
Event = tuple[Location, object, bool]
"""Where in the text, in which instance (its mark), whether it writes."""

ARITH = {
    "arith.addf": lambda a, b: a + b,
    "arith.subf": lambda a, b: a - b,
    "arith.mulf": lambda a, b: a * b,
    "arith.addi": lambda a, b: a + b,
    "arith.muli": lambda a, b: a * b,
    "arith.maximumf": max,
    "arith.index_cast": int,
    "arith.sitofp": float,
}


@dataclass(slots=True)
class Machine:
    """Values, and the accesses of each cell in order of execution."""

    values: dict[Value, Any] = field(default_factory=dict)
    cells: dict[Cell, list[Event]] = field(default_factory=lambda: defaultdict(list))
    mark: object = None

    def run(self, operations: Sequence[Operation]) -> tuple[Any, ...]:
        """Execute; what the terminator passes on."""
        for op in operations:
            if op.name in {"affine.yield", "func.return"}:
                return self.of(op.operands)
            handler = HANDLERS.get(op.name)
            if handler is not None:
                handler(self, op)
            elif op.name == "arith.constant":
                self.values[op.result] = op.attributes["value"].value
            else:
                self.values[op.result] = ARITH[op.name](*self.of(op.operands))
        return ()

    def of(self, values: Sequence[Value]) -> tuple[Any, ...]:
        return tuple(self.values[value] for value in values)

    def results(self, map_: AffineMap, operands: Sequence[Value]) -> tuple[int, ...]:
        given = self.of(operands)
        return map_.evaluate(given[: map_.num_dims], given[map_.num_dims :])

    def loop(self, op: Operation) -> None:
        loop = affine.For(op)
        lower = max(self.results(loop.lower_map, loop.lower_operands))
        upper = min(self.results(loop.upper_map, loop.upper_operands))
        carried = self.of(loop.inits)
        for value in range(lower, upper, loop.step):
            self.values[loop.iv] = value
            self.values.update(zip(loop.iter_args, carried, strict=True))
            carried = self.run(loop.body)
        self.values.update(zip(op.results, carried, strict=True))

    def branch(self, op: Operation) -> None:
        branch = affine.If(op)
        given = self.of(op.operands)
        dims = branch.set.num_dims
        holds = branch.set.contains(given[:dims], given[dims:])
        taken = branch.then_body if holds else branch.else_body
        self.values.update(zip(op.results, self.run(taken), strict=True))

    def apply(self, op: Operation) -> None:
        found = self.results(affine.map_of(op), op.operands)
        choose = {"affine.min": min, "affine.max": max}.get(op.name, lambda r: r[0])
        self.values[op.result] = choose(found)
        if op.result.name.startswith("mark"):
            self.mark = found[0]

    def access(self, op: Operation) -> None:
        writes = op.name == "affine.store"
        memref = op.operands[writes]
        index = self.results(affine.map_of(op), op.operands[1 + writes :])
        array = self.values[memref]
        assert all(0 <= i < n for i, n in zip(index, array.shape, strict=True))
        self.cells[memref.name, index].append((op.location, self.mark, writes))
        if writes:
            array[index] = self.values[op.operands[0]]
        else:
            self.values[op.result] = array[index]

    def allocate(self, op: Operation) -> None:
        """An array of nothing yet."""
        self.values[op.result] = np.full(op.result.type.shape, np.nan)

    def free(self, op: Operation) -> None:
        del self.values[op.operands[0]]


HANDLERS = {
    "affine.for": Machine.loop,
    "affine.if": Machine.branch,
    "affine.apply": Machine.apply,
    "affine.min": Machine.apply,
    "affine.max": Machine.apply,
    "affine.load": Machine.access,
    "affine.store": Machine.access,
    "memref.alloc": Machine.allocate,
    "memref.dealloc": Machine.free,
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run leaves, and what it did to each cell."""

    arrays: list[np.ndarray]
    cells: dict[Cell, list[Event]]

    @property
    def instances(self) -> list[str]:
        """Every access of every instance, in no order."""
        return sorted(
            f"{cell} {event}" for cell, events in self.cells.items() for event in events
        )

    @property
    def order(self) -> dict[Cell, list[Any]]:
        """Per cell its writes in order, and between them its reads in no order."""
        return {cell: _phases(events) for cell, events in self.cells.items()}


def _phases(events: list[Event]) -> list[Any]:
    phases: list[Any] = [[]]
    for event in events:
        if event[2]:
            phases += [str(event), []]
        else:
            phases[-1].append(str(event))
    return [sorted(p) if isinstance(p, list) else p for p in phases]


def interpret(module: Module, arguments: Sequence[Any], name: str = "f") -> Outcome:
    """Run a function on copies of its arrays."""
    function = module.functions[name]
    copies = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    machine = Machine()
    block = function.body
    machine.values.update(zip(block.arguments, copies, strict=True))
    machine.run(block.operations)
    return Outcome([a for a in copies if isinstance(a, np.ndarray)], machine.cells)
