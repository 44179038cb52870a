"""The form of argmin and argmax: what each lane keeps, and the best of the lanes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpucodegen.dialects import arith
from gpucodegen.ir.attributes import OpaqueAttr
from gpucodegen.ir.operation import Operation, Value, clone
from gpucodegen.ir.types import I1, INDEX, IntegerType, VectorType
from gpucodegen.passes.cpu.vectorize.loop_site import LoopSite
from gpucodegen.passes.cpu.vectorize.reductions.argminmax import ArgMinMax, argminmax_of
from gpucodegen.passes.cpu.vectorize.reductions.vector_range import VectorRange
from gpucodegen.passes.cpu.vectorize.widen import Widened
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index, compact
from gpucodegen.passes.lower_affine.straight import LOWERINGS


def argminmax(site: LoopSite) -> list[Operation]:
    """What replaces a loop that keeps the best value and what belongs to it."""
    op, range_ = site.op, site.range
    loop = argminmax_of(op) if op.name == "affine.for" else None
    row = loop and range_ and loop.vector_range(range_, site.machine.unit)
    b = Builder(op.location)
    if loop and row:
        _ArgMinMaxLanes(loop, row).build(b)
    return b.operations


BestLanes = tuple[Value, Value]
"""The best values, and the steps in which they were met: -1 where none was taken."""


@dataclass(frozen=True, slots=True)
class _ArgMinMaxLanes:
    """An argmin or argmax on the vectors of a row."""

    loop: ArgMinMax
    row: VectorRange

    def build(self, b: Builder) -> None:
        """Append the loops, and define what the loop gave."""
        row, kept = self.row, self.loop.kept[0]
        best = b.broadcast(kept.initial, self._vector(kept.initial), "best")
        start = (best, b.constant(-1, VectorType((row.lanes,), self._places)))
        wide, full = row.until(row.lanes * row.accumulators), row.until(row.lanes)
        accumulators = self._loop(b, row.first, wide, [start] * row.accumulators)
        while len(accumulators) > 1:
            pairs = zip(accumulators[::2], accumulators[1::2], strict=False)
            odd = accumulators[len(accumulators) & ~1 :]
            accumulators = [*(self._better(b, *pair) for pair in pairs), *odd]
        if row.accumulators > 1:
            accumulators = self._loop(b, wide, full, accumulators)
        lanes = accumulators[0]
        if row.rest.constant != 0:
            lanes = self._step(b, full, lanes, row.left(b))
        self._finish(b, lanes)

    @property
    def _places(self) -> IntegerType:
        """Integers as wide as the values."""
        return IntegerType(next(iter(self.loop.body.bits)))

    def _vector(self, value: Value) -> VectorType:
        return VectorType((self.row.lanes,), value.type)

    def _loop(
        self, b: Builder, first: Index, end: Index, accumulators: Sequence[BestLanes]
    ) -> list[BestLanes]:
        step = len(accumulators) * self.row.lanes

        def body(inner: Builder, iv: Value, values: Sequence[Value]) -> Sequence[Value]:
            made = [
                self._step(inner, Index.of(iv) + number * self.row.lanes, lanes)
                for number, lanes in enumerate(_paired(values))
            ]
            return [value for lanes in made for value in lanes]

        if compact(end - first).constant == 0:
            return [*accumulators]
        initial = [value for lanes in accumulators for value in lanes]
        hint = self.loop.body.iv.name
        return _paired(b.carried_loop(first, end, initial, body, step=step, hint=hint))

    def _step(
        self, b: Builder, at: Index, lanes: BestLanes, left: Value | None = None
    ) -> BestLanes:
        """A vector of iterations, the first ``left`` of them if that is given."""
        loop, (best, places) = self.loop, lanes
        widened = Widened(loop.body, b, at, self.row.lanes, left)
        widened.build()
        known = {loop.value: widened.vector(loop.value), loop.best: best}
        compared = [known[value] for value in loop.compare.operands]
        bits, flags = [VectorType((self.row.lanes,), I1)], loop.compare.attributes
        (taken,) = b.add(loop.compare.name, compared, bits, flags, hint="taken")
        if widened.mask is not None:
            (taken,) = b.add("arith.andi", (taken, widened.mask), bits, hint="taken")
        step = b.index(compact(at - self.row.first), "step")
        (number,) = b.add("arith.index_cast", (step,), [self._places], hint="step")
        here = b.broadcast(number, self._vector(number), "step")
        return (
            _selected(b, taken, known[loop.value], best),
            _selected(b, taken, here, places),
        )

    def _better(self, b: Builder, one: BestLanes, other: BestLanes) -> BestLanes:
        """Of each lane of two accumulators, the one that the loop would have kept."""
        is_better = self._compare(b, self.loop.rule.better, other[0], one[0])
        is_same = self._compare(b, self.loop.rule.same, other[0], one[0])
        order = "ult" if self.loop.rule.is_first else "sgt"
        is_nearer = _compare_integers(b, order, other[1], one[1])
        (tie,) = b.add("arith.andi", (is_same, is_nearer), [is_same.type], hint="tie")
        (taken,) = b.add("arith.ori", (is_better, tie), [tie.type], hint="taken")
        pairs = zip(other, one, strict=True)
        best, places = (_selected(b, taken, new, old) for new, old in pairs)
        return best, places

    def _compare(self, b: Builder, predicate: str, one: Value, other: Value) -> Value:
        if self.loop.rule.sign != "o":
            return _compare_integers(b, predicate, one, other)
        return _compared(b, "arith.cmpf", predicate, one, other)

    def _finish(self, b: Builder, lanes: BestLanes) -> None:
        """What was kept: made again where the first or last of the best ones was."""
        place = self._place(b, lanes)
        zero = b.constant(0, self._places)
        found = _compare_integers(b, "sge", place, zero)
        (inside,) = b.add("arith.maxsi", (place, zero), [self._places], hint="place")
        (trip,) = b.add("arith.index_cast", (inside,), [INDEX], hint="place")
        first = b.index(self.row.first)
        (at,) = b.add("arith.addi", (first, trip), [INDEX], hint="place")
        loop = self.loop
        known = {loop.body.iv: at}
        for op in loop.sources:
            repeat(b, op, known)
        for kept in loop.kept:
            new = known.get(kept.offered, kept.offered)
            select = Operation(
                "arith.select",
                (found, new, kept.initial),
                (kept.result,),
                location=b.location,
            )
            b.operations.append(select)

    def _place(self, b: Builder, lanes: BestLanes) -> Value:
        """The iteration whose values are kept, -1 for none."""
        rule, (best, places) = self.loop.rule, lanes
        initial = self.loop.kept[0].initial
        extreme = _reduced(b, rule.reduction, best, initial)
        is_best = self._compare(
            b, rule.same, best, b.broadcast(extreme, self._vector(extreme), "best")
        )
        zero = b.constant(0, places.type)
        is_taken = _compare_integers(b, "sge", places, zero)
        (is_one,) = b.add("arith.andi", (is_best, is_taken), [is_best.type], hint="one")
        steps = VectorType((self.row.lanes,), INDEX)
        (counted,) = b.add("vector.step", (), [steps], hint="lane")
        (lane,) = b.add("arith.index_cast", (counted,), [places.type], hint="lane")
        (trips,) = b.add("arith.addi", (places, lane), [places.type], hint="trip")
        none = b.constant(-1, places.type)
        chosen = _selected(b, is_one, trips, none)
        kind = "minui" if rule.is_first else "maxsi"
        return _reduced(b, kind, chosen, b.constant(-1, self._places))


def repeat(b: Builder, op: Operation, known: dict[Value, Value]) -> None:
    """An operation on ``known`` values, none of which affine maps may take."""
    copy = op.with_(operands=tuple(known.get(v, v) for v in op.operands))
    lower = LOWERINGS.get(op.name)
    if lower is None:
        b.operations.append(clone(copy, known))
        return
    known.update(zip(op.results, lower(b, copy), strict=True))


def _paired(values: Sequence[Value]) -> list[BestLanes]:
    return list(zip(values[::2], values[1::2], strict=True))


def _selected(b: Builder, condition: Value, new: Value, old: Value) -> Value:
    operands = (condition, new, old)
    return b.add("arith.select", operands, [old.type], hint=old.name)[0]


def _compare_integers(b: Builder, predicate: str, one: Value, other: Value) -> Value:
    return _compared(b, "arith.cmpi", predicate, one, other)


def _compared(b: Builder, op: str, predicate: str, one: Value, other: Value) -> Value:
    made = arith.compare(op, predicate, one, other, location=b.location)
    b.operations.append(made)
    return made.result


def _reduced(b: Builder, kind: str, vector: Value, initial: Value) -> Value:
    flags = {"kind": OpaqueAttr(f"#vector.kind<{kind}>")}
    types = [initial.type]
    return b.add("vector.reduction", (vector, initial), types, flags, hint=kind)[0]
