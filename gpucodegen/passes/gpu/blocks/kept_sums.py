"""Sums of a product that a loop carries in registers.

Comes in: a loop of a block's program, and the product in it.  Goes out: the loop that
carries the fragments of the sums from one iteration to the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from gpucodegen.dialects import affine
from gpucodegen.ir.operation import Operation, Value, segment_counts, single_block
from gpucodegen.passes.contraction.in_blocks.running import RunningProduct
from gpucodegen.passes.framework.builder import Builder


@dataclass(slots=True)
class KeptSums:
    """``loop`` and what it carries."""

    product: RunningProduct
    loop: Operation
    carried: Sequence[Value] = field(default_factory=list[Value])

    @property
    def is_outermost(self) -> bool:
        """Whether sums start before the loop and are stored behind it."""
        return self.loop is self.product.loops[0]

    def entered(self, b: Builder) -> Operation:
        """The loop with values that it carries, which nothing in it uses yet."""
        product, loop = self.product, affine.For(self.loop)
        initial = product.start(b) if self.is_outermost else product.sums
        self.carried = tuple(value.renewed() for value in initial)
        lowers, uppers = loop.lower_operands, loop.upper_operands
        counts = segment_counts(len(lowers), len(uppers), len(initial))
        body = single_block(self.loop.body.operations, (loop.iv, *self.carried))
        return self.loop.with_(
            operands=(*lowers, *uppers, *initial),
            results=tuple(value.renewed() for value in initial),
            attributes={**self.loop.attributes, "operandSegmentSizes": counts},
            regions=(body,),
        )

    def begun(self) -> None:
        """An iteration starts from what the loop carries."""
        self.product.sums = self.carried

    def closed(self, loop: Operation) -> Operation:
        """The loop whose iterations hand on the sums; they are its results."""
        *body, end = loop.body.operations
        made = loop.with_body([*body, end.with_(operands=tuple(self.product.sums))])
        self.product.sums = made.results
        return made
