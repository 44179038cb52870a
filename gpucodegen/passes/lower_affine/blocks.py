"""The blocks of a function body while they are written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from gpucodegen.ir.locations import Location
from gpucodegen.ir.operation import Block, Label, Operation, Successor, Value
from gpucodegen.passes.framework.builder import Builder


@dataclass(slots=True)
class OpenBlocks:
    """Finished blocks and an open one; a branch closes it, ``open`` begins the next."""

    blocks: list[Block] = field(default_factory=list[Block])
    label: Label | None = None
    arguments: tuple[Value, ...] = ()
    operations: list[Operation] = field(default_factory=list[Operation])

    def open(self, label: Label | None, arguments: Sequence[Value] = ()) -> None:
        """Begin a block."""
        self.label, self.arguments, self.operations = label, tuple(arguments), []

    def close(self) -> None:
        """End the open block; its last operation is its terminator."""
        operations = tuple(self.operations)
        self.blocks.append(Block(self.arguments, operations, self.label))

    def extend(self, operations: Iterable[Operation]) -> None:
        """Append to the open block."""
        self.operations += operations

    def builder(self, location: Location) -> Builder:
        """A builder that appends to the open block."""
        return Builder(location, self.operations)

    def branch(
        self, location: Location, target: Label, passed: Sequence[Value] = ()
    ) -> None:
        """Close the block with ``cf.br``."""
        successors = (Successor(target, tuple(passed)),)
        self._close_with("cf.br", location, (), successors)

    def branch_if(
        self, location: Location, condition: Value, yes: Successor, no: Successor
    ) -> None:
        """Close the block with ``cf.cond_br``."""
        self._close_with("cf.cond_br", location, (condition,), (yes, no))

    def _close_with(
        self,
        name: str,
        location: Location,
        operands: tuple[Value, ...],
        successors: tuple[Successor, ...],
    ) -> None:
        self.operations.append(
            Operation(name, operands, successors=successors, location=location)
        )
        self.close()
