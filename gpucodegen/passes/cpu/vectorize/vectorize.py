"""The pass: every innermost loop that is proven parallel and has a vector form.

Legal iff no iteration of the loop depends on another one of the same execution:

    { d in distances of the loop's dependences : d != 0 } = {}

The variables of the loops around are parameters.  Each element's operations stay, so
results are the same bit for bit.  A loop that accumulates is legal iff

    { d in distances of the loop's dependences : d != 0 and
      not from the store of an accumulation to its own load } = {}

and the accumulation may come in any order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.operation import Operation, Region, Value
from gpucodegen.ir.types import INDEX
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.analysis.queries import analyse
from gpucodegen.passes.cpu.vectorize.interleaving import interleaved
from gpucodegen.passes.cpu.vectorize.loops import (
    Range,
    in_blocks,
    range_in,
    until_aligned,
    variables_of,
    vector_loop,
)
from gpucodegen.passes.cpu.vectorize.outer_loops.choice import SideBySide
from gpucodegen.passes.cpu.vectorize.recognize import recognize
from gpucodegen.passes.cpu.vectorize.rows.accumulations import Order, accumulating
from gpucodegen.passes.cpu.vectorize.rows.argminmax_lanes import record_kept
from gpucodegen.passes.cpu.vectorize.rows.rows import accumulate, row_of
from gpucodegen.passes.cpu.vectorize.streams import (
    Around,
    Loops,
    asking,
    inner_loop,
    mark_streaming,
    reads_of,
)
from gpucodegen.passes.cpu.vectorize.transposed.accesses import transposition_of
from gpucodegen.passes.cpu.vectorize.transposed.mirrors import mirror_of
from gpucodegen.passes.cpu.vectorize.transposed.transposes import tiling_of
from gpucodegen.passes.cpu.vectorize.windows.neighbours import stored_stream
from gpucodegen.passes.cpu.vectorize.windows.sliding import kept_windows, sliding_loop
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.nests import inner_operations
from gpucodegen.tiling.machine.loops.streaming_stores import SEVERAL, Caches
from gpucodegen.tiling.machine.loops.vector_plan import plan_lanes, thread_block
from gpucodegen.tiling.machine.products.register_tile import VectorUnit


@dataclass(frozen=True, slots=True)
class Vectorize(ModulePass):
    """Run innermost parallel loops on vectors of ``vector_bits``.

    Stores of nests that touch far more than the caches keep (``first_cache`` and
    ``cache`` of a core, ``shared`` by all) go past them, in several places at once if
    the first one is of a core that likes them.

    >>> import gpucodegen as gcg
    >>> module = gcg.parse('''func.func @f(%A: memref<20xf32>, %a: f32) {
    ...   affine.for %i = 0 to 20 {
    ...     %x = affine.load %A[%i] : memref<20xf32>
    ...     %y = arith.mulf %a, %x : f32
    ...     affine.store %y, %A[%i] : memref<20xf32>
    ...   }
    ...   return
    ... }''')
    >>> print(Vectorize(vector_bits=256).apply(module))
    module {
      func.func @f(%A: memref<20xf32>, %a: f32) {
        affine.for %i = 0 to 16 step 8 {
          %x = affine.vector_load %A[%i] : memref<20xf32>, vector<8xf32>
          %a_0 = vector.broadcast %a : f32 to vector<8xf32>
          %y = arith.mulf %a_0, %x : vector<8xf32>
          affine.vector_store %y, %A[%i] : memref<20xf32>, vector<8xf32>
        }
        %x = affine.vector_load %A[16] : memref<20xf32>, vector<4xf32>
        %a_0 = vector.broadcast %a : f32 to vector<4xf32>
        %y = arith.mulf %a_0, %x : vector<4xf32>
        affine.vector_store %y, %A[16] : memref<20xf32>, vector<4xf32>
        return
      }
    }
    """

    name: ClassVar[str] = "vectorize"
    vector_bits: int = 256
    registers: int = 16
    threads: int = 2
    cache: int = 1 << 20
    relaxed: bool = False
    exact: bool = False
    first_cache: int = SEVERAL
    shared: int = 0

    def apply(self, module: Module) -> Module:
        """Vectorize in every function with a body."""
        rewriter = _Rewriter(self, Surroundings.of(module))
        return module.with_operations(rewriter.operations(module.operations, (), ()))

    @property
    def unit(self) -> VectorUnit:
        """The vector unit."""
        return VectorUnit(self.vector_bits, self.registers)

    @property
    def caches(self) -> Caches:
        """What the host keeps."""
        return Caches(self.cache, self.shared, self.first_cache)


@dataclass(slots=True)
class _Rewriter:
    """Rewrites one function; ``addresses`` are asked of its ``outermost`` buffers."""

    options: Vectorize
    surroundings: Surroundings = field(default_factory=Surroundings)
    outermost: set[Value] = field(default_factory=set[Value])
    addresses: dict[Value, Value] = field(default_factory=dict[Value, Value])
    in_strip: bool = False

    def function(self, op: Operation) -> Operation:
        """A function with its loops vectorised."""
        entry = op.regions[0].blocks[0]
        made = (value for inner in entry.operations for value in inner.results)
        self.outermost, self.addresses = {*entry.arguments, *made}, {}
        rewritten = self._inside(op, (), ())
        first, *others = rewritten.regions[0].blocks
        operations = asking(first.arguments, self.addresses)
        for inner in first.operations:
            operations += [inner, *asking(inner.results, self.addresses)]
        blocks = (first.with_operations(operations), *others)
        return rewritten.with_(regions=(Region(blocks),))

    def operations(
        self,
        operations: Sequence[Operation],
        context: Sequence[Operation],
        loops: Loops,
    ) -> list[Operation]:
        """Rewrite operations inside ``loops``; ``context`` runs before them."""
        made: list[Operation] = []
        before = [*context]
        for op in operations:
            if not op.regions:
                made.append(op)
                before.append(op)
            elif op.name in FUNCTIONS:
                made.append(self.function(op) if op.regions[0].blocks else op)
            else:
                made += (
                    self._transposition(op, before, loops)
                    or self._mirror(op, before)
                    or self._strips(op, before, loops)
                    or self._loop(op, before, loops)
                    or [self._inside(op, before, loops)]
                )
        return made

    def _inside(
        self, op: Operation, context: Sequence[Operation], loops: Loops
    ) -> Operation:
        range_ = range_in(op)
        trips = range_ and range_.trips
        inner = (*loops, *(Around(iv, trips, reads_of(op)) for iv in variables_of(op)))
        regions = tuple(
            Region(
                tuple(
                    block.with_operations(
                        self.operations(block.operations, context, inner)
                    )
                    for block in region.blocks
                )
            )
            for region in op.regions
        )
        return op.with_(regions=regions)

    def _loop(
        self, op: Operation, context: Sequence[Operation], loops: Loops
    ) -> list[Operation]:
        """What replaces an innermost loop; nothing if it stays."""
        range_ = range_in(op)
        if not range_:
            return []
        if op.results:
            return self._reduced(op, range_, context)
        body = recognize(op.body.arguments[0], inner_operations(op))
        if body is None:
            return self._reduced(op, range_, context)
        if range_.trips is None and not body.takes_masks:
            return []
        around = (*loops, Around(body.iv, range_.trips))
        first = mark_streaming(body, around, self.options.caches)
        loop, unit = inner_loop(body, range_.trips), self.options.unit
        lanes = plan_lanes(loop, unit)
        if not lanes or not self._is_parallel(op, context):
            return []
        windows = kept_windows(body, range_.trips, lanes, unit)
        target = stored_stream(body) if windows else None
        size = thread_block(loop, self.options.threads)
        is_parallel = op.name == "affine.parallel"
        trips = size if is_parallel and range_.trips else range_.trips
        first_cache = self.options.first_cache
        strips = None if windows else interleaved(body, trips, lanes, unit, first_cache)

        def build(b: Builder, part: Range) -> None:
            slides = part.is_single and bool(windows)
            aligned = first or (target if slides else None)
            address = aligned and self._address(aligned.memref)
            if aligned and address and len(part.lowers) == 1:
                part = until_aligned(b, body, part, lanes, aligned, address)
                part = strips.build(b, part) if strips else part
            if slides:
                sliding_loop(b, body, part, lanes, windows)
            else:
                vector_loop(b, body, part, lanes)

        if is_parallel:
            counted = not first or strips is not None
            return [in_blocks(op, range_, size, build, counted=counted)]
        b = Builder(op.location)
        build(b, range_)
        return b.operations

    def _transposition(
        self, op: Operation, context: Sequence[Operation], loops: Loops
    ) -> list[Operation]:
        """What replaces two loops that transpose; nothing if they do not."""
        nest = transposition_of(op)
        lanes = nest and self.options.unit.lanes(nest.bits)
        if not nest or not lanes or min(nest.rows.trips, nest.columns.trips) < lanes:
            return []
        analysis = analyse([op], context, self.surroundings)
        if not all(map(analysis.is_parallel, (op, *inner_operations(op)))):
            return []
        tiling = tiling_of(nest, loops, lanes, self.options.caches, self._address)
        return tiling.build(parallel=op.name == "affine.parallel")

    def _mirror(self, op: Operation, context: Sequence[Operation]) -> list[Operation]:
        """What replaces two loops that store along both; nothing if they do not."""
        nest = mirror_of(op)
        lanes = nest and self.options.unit.lanes(nest.bits)
        if not nest or not lanes or nest.rows.trips < lanes:
            return []
        analysis = analyse([op], context, self.surroundings)
        if not all(map(analysis.is_parallel, (op, *inner_operations(op)))):
            return []
        return nest.build(lanes, parallel=op.name == "affine.parallel")

    def _strips(
        self, op: Operation, context: Sequence[Operation], loops: Loops
    ) -> list[Operation]:
        """What replaces a loop over rows that run side by side; nothing without."""
        range_, options = range_in(op), self.options
        if self.in_strip or not range_ or op.results or not range_.is_single:
            return []
        machine = options.unit, options.threads, options.cache
        chosen = SideBySide(range_, *machine, self._order)
        if not chosen.may_pay(op):
            return []
        analysis = analyse([op], context, self.surroundings, fine=True)
        self.in_strip = True
        made = self.operations(chosen.strips(op, analysis), context, loops)
        self.in_strip = False
        return made

    @property
    def _order(self) -> Order:
        return Order(self.options.relaxed, self.options.exact)

    def _address(self, memref: Value) -> Value | None:
        """The address of a buffer; None of those made inside of loops."""
        if memref in self.outermost and memref not in self.addresses:
            self.addresses[memref] = Value(INDEX, f"{memref.name}_at", memref.location)
        return self.addresses.get(memref)

    def _reduced(
        self, op: Operation, range_: Range, context: Sequence[Operation]
    ) -> list[Operation]:
        """A loop that accumulates, with partial results in lanes."""
        kept = record_kept(op, range_, self.options.unit)
        if kept:
            return kept
        found = op.name == "affine.for" and accumulating(op)
        row = found and row_of(found, range_, self.options.unit)
        if not found or not row:
            return []
        verdict = analyse([op], context, self.surroundings).verdict(op)
        if verdict is None or not self._order.is_free(verdict):
            return []
        b = Builder(op.location)
        accumulate(b, found, row)
        return b.operations

    def _is_parallel(self, op: Operation, context: Sequence[Operation]) -> bool:
        """Whether the program says so, or no dependence says otherwise."""
        if op.name == "affine.parallel":
            return True
        return analyse([op], context, self.surroundings).is_parallel(op)


FUNCTIONS = frozenset({"func.func", "gpu.func"})
