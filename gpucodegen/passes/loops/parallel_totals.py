"""Reductions to carried values in as many parts as threads run.

    s = for i iter_args(p = init) { yield p OP x(i) }

    =>  for part { P[part] = for i in part iter_args(p = the neutral element) {
                     yield p OP x(i) } }
        s = for part iter_args(p = init) { yield p OP P[part] }

Theorem: a term depends on no carried value, so ``s`` is OP of ``init`` and all terms in
some order, which an OP whose terms may be reordered permits.  Whether the iterations of
``part`` are independent in memory, too, the race proof decides.  With floats the number
of threads may change the last bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from gpucodegen.dialects import affine
from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.shared.combiners import Combiner, of_operator
from gpucodegen.ir.operation import Operation, Value, clone
from gpucodegen.ir.types import MemRefType
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.analysis.lifting.reductions import Combinations
from gpucodegen.passes.analysis.work import LOOP_OPERATION, expected_work
from gpucodegen.passes.checks.races import runs_in_parallel
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.functions import (
    definitions,
    in_functions,
    users,
    with_blocks,
)
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.framework.nests import inner_operations, to_parallel
from gpucodegen.passes.nests.loop_names import FOR
from gpucodegen.passes.nests.loop_ranges import range_of
from gpucodegen.passes.vectorize.accumulations import Order
from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.processor import CACHE_LINE, Machine

_AROUND = frozenset({"scf.for", "scf.if", "scf.while"})
"""Operations of the host whose bodies have reductions of their own."""


@dataclass(frozen=True, slots=True)
class ParallelizeReductions(ModulePass):
    """Run loops that carry totals in as many parts as ``threads``, where that pays.

    ``relaxed``: floats may be summed in any order; ``exact``: only where the order
    makes no difference.

    >>> import gpucodegen as gcg
    >>> module = gcg.parse('''func.func @f(%A: memref<4194304xf64>) -> f64 {
    ...   %zero = arith.constant 0.0 : f64
    ...   %s = affine.for %i = 0 to 4194304 iter_args(%p = %zero) -> (f64) {
    ...     %x = affine.load %A[%i] : memref<4194304xf64>
    ...     %n = arith.addf %p, %x fastmath<reassoc> : f64
    ...     affine.yield %n : f64
    ...   }
    ...   return %s : f64
    ... }''')
    >>> str(ParallelizeReductions(threads=4).apply(module)).count("affine.for")
    3
    """

    name: ClassVar[str] = "parallelize-reductions"
    looks_for: ClassVar[frozenset[str]] = frozenset({"affine.for"})
    threads: int = 2
    relaxed: bool = False
    exact: bool = False

    def apply(self, module: Module) -> Module:
        if self.threads < 2:
            return module
        surroundings, order = Surroundings.of(module), Order(self.relaxed, self.exact)

        def block(
            operations: Sequence[Operation], context: Sequence[Operation] = ()
        ) -> list[Operation]:
            made: list[Operation] = []
            for at, op in enumerate(operations):
                before = (*context, *operations[:at])
                if op.name in _AROUND:
                    made.append(with_blocks(op, lambda o, c=before: block(o, c)))
                    continue
                kinds = totals_of(op, order) if op.name == FOR else []
                new = self._in_parts(op, kinds) if kinds and self._pays(op) else None
                made += new if new and _is_proven(new, before, surroundings) else [op]
            return made

        return in_functions(module, lambda op: [with_blocks(op, block)])

    def _pays(self, op: Operation) -> bool:
        work = expected_work(op, {})
        return bool(work) and Machine(self.threads).pays_threads(LOOP_OPERATION * work)

    def _in_parts(
        self, op: Operation, kinds: Sequence[Combiner]
    ) -> list[Operation] | None:
        """The loop in parts, and the one that combines these; None for open bounds.

        Parts of an innermost loop are whole cache lines, so that they are vectorized;
        what is left comes last.
        """
        loop, bounds, parts = affine.For(op), range_of(op), self.threads
        count = loop.trip_count
        if count is None or not bounds.is_single:
            return None
        b, step = Builder(op.location), bounds.step
        nested = any(inner.name == FOR for inner in inner_operations(op))
        lines = count // (parts * CACHE_LINE) * CACHE_LINE
        each = -(-count // parts) if nested else lines
        types = [value.type for value in op.results]
        partial = [
            b.allocate("memref.alloc", MemRefType((parts,), ty), "partial")
            for ty in types
        ]

        def iteration(i: Builder, iv: Value, now: Sequence[Value]) -> Sequence[Value]:
            known = {loop.iv: iv, **dict(zip(loop.iter_args, now, strict=True))}
            i.operations += [clone(inner, known) for inner in inner_operations(op)]
            return [known.get(value, value) for value in loop.yielded]

        def part(i: Builder, p: Value) -> None:
            first = bounds.lower + Index.of(p) * (each * step)
            ends = [first + each * step, *([bounds.upper] if nested else [])]
            neutral = [
                i.constant(kind.neutral_of(ty), ty)
                for kind, ty in zip(kinds, types, strict=True)
            ]
            sums = i.carried_loop(
                first, ends, neutral, iteration, step=step, hint=loop.iv.name
            )
            for one, buffer in zip(sums, partial, strict=True):
                i.store(one, buffer, [p])

        def combined(i: Builder, p: Value, now: Sequence[Value]) -> Sequence[Value]:
            return [
                i.add(kind.name, (before, i.load(buffer, [p])), [before.type])[0]
                for kind, before, buffer in zip(kinds, now, partial, strict=True)
            ]

        b.loop(0, parts, part, hint="part")
        totals = b.carried_loop(0, parts, loop.inits, combined, hint="part")
        if each * parts < count:
            rest = bounds.lower + each * parts * step
            b.carried_loop(
                rest, bounds.upper, totals, iteration, step=step, hint=loop.iv.name
            )
        b.operations[-1] = b.operations[-1].with_(results=op.results)
        for buffer in partial:
            b.add("memref.dealloc", (buffer,))
        return b.operations


def totals_of(loop: Operation, order: Order) -> list[Combiner]:
    """How each carried value is combined; none where one is no total that is free."""
    uses = {value: len(found) for value, found in users(loop).items()}
    known = Combinations(definitions(loop), uses)
    found = [_total(loop, n, known) for n in range(len(loop.results))]
    free = [one.kind for one in found if one is not None and order.frees(one)]
    return free if len(free) == len(found) else []


@dataclass(frozen=True, slots=True)
class _Total:
    kind: Combiner
    reassociable: bool


def _total(loop: Operation, number: int, known: Combinations) -> _Total | None:
    """A carried value of a loop, or of loops in it that only hand it on."""
    view = affine.For(loop)
    before, after = view.iter_args[number], view.yielded[number]
    made = known.definitions.get(after)
    if made is not None and made.name == FOR:
        inner = made.results.index(after)
        is_alone = known.uses.get(before) == known.uses.get(after) == 1
        is_handed_on = is_alone and affine.For(made).inits[inner] is before
        return _total(made, inner, known) if is_handed_on else None
    found = known.combination(after, {before})
    kind = found and of_operator(found.operator, after.type)
    return _Total(kind, found.reassociable) if found and kind else None


def _is_proven(
    operations: Sequence[Operation],
    context: Sequence[Operation],
    surroundings: Surroundings,
) -> bool:
    """Whether iterations of the only loop over parts are independent."""
    at = next(n for n, op in enumerate(operations) if op.name == FOR)
    parts = to_parallel(operations[at])
    return runs_in_parallel([parts], (*context, *operations[:at]), surroundings)
