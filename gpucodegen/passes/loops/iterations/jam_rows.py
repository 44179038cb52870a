"""Reductions along rows that come from memory: several rows at once.

    for i { t = for j { t = t OP f(x[i, j]) } }    =>
    for i by 2 { t, u = for j { t = t OP f(x[i, j]); u = u OP f(x[i + 1, j]) } }

Legal iff the rows are parallel:

    { d in distances of the dependences : d_i != 0 } = {}

Some cores fetch ahead of several reads at once
(`gpucodegen.tiling.machine.loops.strip_plan`).  Rows whose sums keep their order run
side by side in the lanes of vectors anyhow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.operation import Operation
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.analysis.queries import analyse
from gpucodegen.passes.contraction.cpu.choice import holds_product
from gpucodegen.passes.cpu.vectorize.loops import range_of
from gpucodegen.passes.cpu.vectorize.rows.accumulations import (
    Accumulating,
    Order,
    accumulating,
)
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.functions import in_functions, with_blocks
from gpucodegen.passes.framework.nests import Axis, axis_of, inner_operations
from gpucodegen.passes.loops.framework.naming import FOR
from gpucodegen.passes.loops.iterations.unroll_and_jam import jammed, not_jammable
from gpucodegen.tiling.machine.loops.streaming_stores import SEVERAL
from gpucodegen.tiling.machine.loops.strip_plan import plan_rows
from gpucodegen.tiling.machine.loops.vector_plan import InnerLoop
from gpucodegen.tiling.machine.products.register_tile import VectorUnit


@dataclass(frozen=True, slots=True)
class JamRows(ModulePass):
    """Reduce several long rows at once where they are far more than caches hold.

    ``cache``: bytes of the second level of a core, ``first_cache`` of the first one,
    ``shared`` of that of all cores.

    >>> import gpucodegen as gcg
    >>> module = gcg.parse('''func.func @f(
    ...     %x: memref<64x1024xi32>, %s: memref<64xi32>) {
    ...   %zero = arith.constant 0 : i32
    ...   affine.for %i = 0 to 64 {
    ...     %t = affine.for %j = 0 to 1024 iter_args(%a = %zero) -> (i32) {
    ...       %v = affine.load %x[%i, %j] : memref<64x1024xi32>
    ...       %b = arith.addi %a, %v : i32
    ...       affine.yield %b : i32
    ...     }
    ...     affine.store %t, %s[%i] : memref<64xi32>
    ...   }
    ...   return
    ... }''')
    >>> text = str(JamRows(cache=1 << 14).apply(module))
    >>> text.count("affine.load"), "affine.for %i = 0 to 64 step 4" in text
    (4, True)
    """

    name: ClassVar[str] = "jam-rows"
    vector_bits: int = 256
    registers: int = 16
    cache: int = 1 << 20
    shared: int = 0
    relaxed: bool = False
    exact: bool = False
    first_cache: int = SEVERAL

    def apply(self, module: Module) -> Module:
        """Jam the outermost loops of every function that are such rows."""
        surroundings = Surroundings.of(module)

        def block(operations: Sequence[Operation]) -> list[Operation]:
            made: list[Operation] = []
            for at, op in enumerate(operations):
                factor = self._factor(op)
                if factor > 1 and _may_jam(op, operations[:at], surroundings):
                    made += jammed(op, factor).operations
                else:
                    made.append(op)
            return made

        return in_functions(module, lambda op: [with_blocks(op, block)])

    def _factor(self, op: Operation) -> int:
        """How many rows run at once."""
        rows = axis_of(op)
        inner = inner_operations(op) if rows else ()
        loops = [o for o in inner if o.regions]
        if rows is None or len(loops) != 1 or loops[0].name != FOR:
            return 1
        found, columns = accumulating(loops[0]), range_of(loops[0])
        order = Order(self.relaxed, self.exact)
        if not found or not columns or not all(map(order.frees, found.accumulations)):
            return 1
        loop = InnerLoop(columns.trips, frozenset(found.body.bits))
        unit = VectorUnit(self.vector_bits, self.registers)
        reads = _rows_read(found, rows)
        caches = self.first_cache, self.cache, self.shared
        return plan_rows(loop, rows.extent, reads, found.cost, unit, caches)


def _rows_read(found: Accumulating, rows: Axis) -> int:
    """Arrays of which each row is another one; 0 if rows are stored too."""
    streams = found.body.streams
    if not all(op.results for op in streams):
        return 0
    return sum(
        any(rows.iv in index.values for index in stream.indices)
        for stream in streams.values()
    )


def _may_jam(
    op: Operation, before: Sequence[Operation], surroundings: Surroundings
) -> bool:
    if not_jammable(op) is not None:
        return False
    analysis = analyse([op], before, surroundings)
    return analysis.is_parallel(op) and not holds_product(op, analysis)
