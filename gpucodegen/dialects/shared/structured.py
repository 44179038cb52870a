"""What loops and branches of any dialect have in common: their regions, read."""

from __future__ import annotations

from dataclasses import dataclass

from gpucodegen.ir.operation import Block, Operation, Value


@dataclass(frozen=True, slots=True)
class CountedLoop:
    """A loop whose block takes its variable and the loop-carried values."""

    operation: Operation

    @property
    def block(self) -> Block:
        """The body block."""
        return self.operation.body

    @property
    def body(self) -> tuple[Operation, ...]:
        """Operations of the body, the yield included."""
        return self.block.operations

    @property
    def iv(self) -> Value:
        """The loop variable."""
        return self.block.arguments[0]

    @property
    def iter_args(self) -> tuple[Value, ...]:
        """The loop-carried values, as seen in the body."""
        return self.block.arguments[1:]

    @property
    def yielded(self) -> tuple[Value, ...]:
        """Operands of the terminator."""
        return self.body[-1].operands


@dataclass(frozen=True, slots=True)
class TwoWayBranch:
    """An operation with a then and an else region; the second may be missing."""

    operation: Operation

    @property
    def then_body(self) -> tuple[Operation, ...]:
        """Operations of the then branch, the yield included."""
        return self.operation.regions[0].blocks[0].operations

    @property
    def else_body(self) -> tuple[Operation, ...]:
        """Operations of the else branch, the yield included; empty without one."""
        regions = self.operation.regions
        blocks = regions[1].blocks if len(regions) > 1 else ()
        return blocks[0].operations if blocks else ()
