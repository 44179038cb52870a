"""The vectorization pass: each loop takes the first applicable form of `FORMS`.

Legal iff no iteration of the loop depends on another one of the same execution:

    { d in distances of the loop's dependences : d != 0 } = {}

The variables of outer loops are parameters.  Each element's operations are unchanged,
so results are the same bit for bit.  A reduction loop is legal iff

    { d in distances of the loop's dependences : d != 0 and
      not from the store of an accumulation to its own load } = {}

and the accumulation may be reordered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace

from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.operation import Operation, Region
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.functions import with_blocks
from gpucodegen.passes.outlining.gpu_launch import VIEWS
from gpucodegen.passes.vectorize.accumulations import (
    Addresses,
    LoopSite,
    Order,
    VectorForm,
)
from gpucodegen.passes.vectorize.argminmax import argminmax
from gpucodegen.passes.vectorize.innermost_loops import innermost_loop
from gpucodegen.passes.vectorize.loops import (
    EnclosingLoop,
    EnclosingLoops,
    range_in,
    reads_of,
    variables_of,
)
from gpucodegen.passes.vectorize.outer_loops import outer_loop
from gpucodegen.passes.vectorize.reductions import reduction
from gpucodegen.passes.vectorize.transposes import transposed_tiles
from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.processor import Machine, VectorUnit

FORMS: tuple[VectorForm, ...] = (
    transposed_tiles,  # two loops that transpose
    outer_loop,  # a row of the outer loop in each lane
    innermost_loop,  # independent iterations
    argminmax,  # argmin and argmax
    reduction,  # partial results in lanes
)
"""The forms of a vectorized loop, tried in this order."""
UNFINISHED = frozenset({outer_loop})
"""Forms that leave loops for the other forms."""
FUNCTIONS = frozenset({"func.func", "gpu.func"})


@dataclass(frozen=True, slots=True)
class Vectorize(ModulePass, name="vectorize"):
    """Run loops on vectors of ``vector_bits``, in ``registers`` of them.

    ``threads`` share parallel loops.  ``cache``: bytes of the second level of a core.
    Stores of nests that touch more than the ``kept`` bytes of all caches go past them.

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

    vector_bits: int = 256
    registers: int = 16
    threads: int = 2
    cache: int = 1 << 20
    kept: int = 1 << 22
    relaxed: bool = False
    exact: bool = False

    def apply(self, module: Module) -> Module:
        unit = VectorUnit(self.vector_bits, self.registers)
        rewriter = _Vectorizer(
            Machine(self.threads, unit, self.cache, kept=self.kept),
            Order(self.relaxed, self.exact),
            Surroundings.of(module),
        )
        return module.with_operations(rewriter.operations(module.operations, (), ()))


_LOOPS = frozenset({"affine.for", "affine.parallel", "scf.for", "scf.parallel"})


def _without_views(op: Operation) -> tuple[list[Operation], Operation]:
    """The views of memory in a loop nest that it does not change, and the nest.

    Making a view accesses no memory, so it is right for loops without an iteration.
    """
    if op.name not in _LOOPS:
        return [], op
    (block,) = op.regions[0].blocks
    views, kept, own = list[Operation](), list[Operation](), {*block.arguments}
    for inner in block.operations:
        before, rest = _without_views(inner)
        for each in (*before, rest):
            if each.name in VIEWS and own.isdisjoint(each.operands):
                views.append(each)
            else:
                own.update(each.results)
                kept.append(each)
    return views, with_blocks(op, lambda _: kept) if views else op


@dataclass(frozen=True, slots=True)
class _Vectorizer:
    """Rewrites the functions of a module; ``addresses`` are those of one function."""

    machine: Machine
    order: Order
    surroundings: Surroundings
    addresses: Addresses = field(default_factory=Addresses)
    forms: tuple[VectorForm, ...] = FORMS

    def function(self, op: Operation) -> Operation:
        entry = op.regions[0].blocks[0]
        made = (value for inner in entry.operations for value in inner.results)
        addresses = Addresses({*entry.arguments, *made})
        inside = replace(self, addresses=addresses).inside(op, (), ())
        first, *others = inside.regions[0].blocks
        operations = addresses.operations(first.arguments)
        for inner in first.operations:
            operations += [inner, *addresses.operations(inner.results)]
        blocks = (first.with_operations(operations), *others)
        return inside.with_(regions=(Region(blocks),))

    def operations(
        self,
        operations: Sequence[Operation],
        context: Sequence[Operation],
        loops: EnclosingLoops,
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
                made += self.loop(op, before, loops)
        return made

    def loop(
        self, op: Operation, context: Sequence[Operation], loops: EnclosingLoops
    ) -> list[Operation]:
        """A loop in its first applicable form, else with inner loops rewritten.

        Views that it does not change stand before it.
        """
        views, op = _without_views(op)
        if views:
            return [*views, *self.loop(op, [*context, *views], loops)]
        facts = self.machine, self.order, self.surroundings, self.addresses
        site = LoopSite(op, context, loops, *facts)
        for form in self.forms:
            made = form(site)
            if made and form in UNFINISHED:
                rest = tuple(other for other in self.forms if other is not form)
                return replace(self, forms=rest).operations(made, context, loops)
            if made:
                return made
        return [self.inside(op, context, loops)]

    def inside(
        self, op: Operation, context: Sequence[Operation], loops: EnclosingLoops
    ) -> Operation:
        range_ = range_in(op)
        trips = range_ and range_.constant_trips
        around = (EnclosingLoop(iv, trips, reads_of(op)) for iv in variables_of(op))
        inner = (*loops, *around)
        return with_blocks(op, lambda ops: self.operations(ops, context, inner))
