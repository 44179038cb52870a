"""Values that loops carry: each is a cell that the iterations share.

An ``iter_args`` of an ``affine.for`` is written before the loop and at the end of each
iteration, and every use of it is a read. There are two exceptions:

* the use by which an accumulation goes on (``next = sum + x``) is no read of its own:
  it belongs to the accumulation at the end of the iteration;
* a value that goes through an inner loop, in as its first value and out as its result,
  is one cell in both loops.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from gpucodegen.dialects import affine
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.passes.analysis.lifting.environment import Environment
from gpucodegen.passes.analysis.lifting.values.accesses import is_memref
from gpucodegen.passes.analysis.lifting.walk.reductions import Combination, Combinations
from gpucodegen.tiling.model.scop import Access, AccessKind, Array, Reduction


@dataclass(slots=True)
class Registers:
    """The cells of carried values, declared as loops are entered."""

    definitions: Mapping[Value, Operation]
    uses: Mapping[Value, int]
    arrays: dict[Value, Array] = field(default_factory=dict[Value, Array])
    _combinations: dict[Value, Combination] = field(
        default_factory=dict[Value, Combination]
    )
    _passed: set[Value] = field(default_factory=set[Value])
    _silent: set[tuple[int, Value]] = field(default_factory=set[tuple[int, Value]])

    def enter(self, loop: affine.For, env: Environment) -> Iterator[Access]:
        """Declare what a loop carries; the writes of the first values."""
        for number, argument in enumerate(loop.iter_args):
            if is_memref(argument):
                continue  # one of `choices`
            init, result = loop.inits[number], loop.operation.results[number]
            is_shared = init in self._passed
            register = self.arrays[init] if is_shared else env.register(argument)
            self.arrays[argument] = self.arrays[result] = register
            if not is_shared:
                yield self._access(loop.operation, argument, AccessKind.WRITE)
            self._foresee(loop, number)

    def _foresee(self, loop: affine.For, number: int) -> None:
        """Whether an argument is accumulated, or passed through a loop inside."""
        argument = loop.iter_args[number]
        yielded = loop.body[-1].operands[number]
        combiner = Combinations(self.definitions, self.uses)
        found = combiner.combination(yielded, (argument,))
        inner = self.definitions.get(yielded)
        if found is not None:
            self._combinations[argument] = found
            self._silent.update((id(op), argument) for op in found.readers)
        elif inner is not None and self._passes(inner, argument, yielded):
            self._passed.add(argument)
            self._silent.add((id(inner), argument))

    def _passes(self, inner: Operation, argument: Value, yielded: Value) -> bool:
        """Whether ``argument`` enters a loop that gives ``yielded`` for it only."""
        if inner.name != "affine.for":
            return False
        entered = dict(zip(inner.results, affine.For(inner).inits, strict=True))
        is_only_use = self.uses.get(argument) == self.uses.get(yielded) == 1
        return entered[yielded] is argument and is_only_use

    def reads(self, op: Operation) -> list[Access]:
        """The reads of cells that the operands of ``op`` are."""
        if op.name == "affine.yield":
            return []
        return [
            self._access(op, value, AccessKind.READ)
            for value in op.operands
            if value in self.arrays and (id(op), value) not in self._silent
        ]

    def updates(
        self, loop: affine.For
    ) -> Iterator[tuple[tuple[Access, ...], Reduction | None]]:
        """What the end of an iteration does to the cells of a loop."""
        for argument in loop.iter_args:
            if argument in self._passed or is_memref(argument):
                continue
            kinds = (AccessKind.READ, AccessKind.WRITE)
            accesses = (self._access(loop.body[-1], argument, k) for k in kinds)
            found = self._combinations.get(argument)
            reduction = (
                Reduction(found.operator, 0, 1, reassociable=found.reassociable)
                if found
                else None
            )
            yield tuple(accesses), reduction

    def _access(self, op: Operation, value: Value, kind: AccessKind) -> Access:
        name = self.arrays[value].name
        return Access(name, kind, (), listed=False, loc=op.location)
