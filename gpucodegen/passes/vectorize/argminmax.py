"""Vectorization of argmin and argmax loops.

    for j iter_args(best, place):         for j by lanes:
      v = f(x[j]); g = v > best             v = f(x[j ..]); g = v > best
      best' = g ? v : best                  best' = g ? v : best
      place' = g ? p(j) : place             step' = g ? j : step
                                          j* = first step + lane of the best best
                                          best, place = f(x[j*]), p(j*), or initial ones

Comparisons are ordered, so NaN is never taken.  Each lane keeps its first (``>=``: its
last) best value, and the first (last) of the lanes' is that of the loop, whatever the
order.  Carried values are recomputed at ``j*`` by the same operations.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from gpucodegen.dialects import affine, arith
from gpucodegen.ir.attributes import OpaqueAttr
from gpucodegen.ir.operation import Operation, Value, clone
from gpucodegen.ir.types import I1, INDEX, FloatType, IntegerType, VectorType
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.functions import has_no_effect
from gpucodegen.passes.framework.indexing import Index, compact
from gpucodegen.passes.framework.nests import inner_operations
from gpucodegen.passes.lower_affine.expressions import LOWERINGS
from gpucodegen.passes.nests.loop_ranges import LoopRange
from gpucodegen.passes.outlining.kernel_operations import lane_bits
from gpucodegen.passes.vectorize.accumulations import LoopSite
from gpucodegen.passes.vectorize.loops import Widened
from gpucodegen.passes.vectorize.recognize import LoopBody
from gpucodegen.passes.vectorize.reductions import (
    VectorRange,
    vector_range,
)
from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.processor import VectorUnit

COMPARISONS = {"arith.cmpf": "o", "arith.cmpi": "su"}
"""First letters of the predicates that never take a NaN, by operation."""
MIRRORED = {"gt": "lt", "lt": "gt", "ge": "le", "le": "ge"}
"""``best PREDICATE v`` as ``v PREDICATE best``."""
REPEATABLE = frozenset(
    "affine.load affine.apply math.absf math.absi arith.negf arith.extf arith.extsi "
    "arith.extui arith.index_cast arith.constant".split()
)
"""Operations with the same bits in a lane and as a scalar."""
COST = 2
"""Operations on the dependence chain of a step."""


@dataclass(frozen=True, slots=True)
class ArgMinMaxRule:
    """The kept value: the largest (``is_most``) or smallest, first or last.

    ``sign``: the first letter of the predicate, "o" of floats, "s" or "u" of integers.
    """

    sign: str
    is_most: bool
    is_first: bool

    @property
    def reduction(self) -> str:
        """The kind of ``vector.reduction``.

        >>> ArgMinMaxRule("o", is_most=True, is_first=True).reduction
        'maximumf'
        """
        name = "max" if self.is_most else "min"
        return name + {"o": "imumf", "s": "si", "u": "ui"}[self.sign]

    @property
    def better(self) -> str:
        """The predicate of strictly better values."""
        return self.sign + ("gt" if self.is_most else "lt")

    @property
    def same(self) -> str:
        return "oeq" if self.sign == "o" else "eq"


@dataclass(frozen=True, slots=True)
class KeptValue:
    """One carried value: its value in an iteration, initially and finally."""

    offered: Value
    initial: Value
    result: Value


@dataclass(frozen=True, slots=True)
class ArgMinMax:
    """A loop that finds the best value: ``body`` computes the compared value.

    ``sources``: the operations that compute all ``kept`` values, the value first.
    """

    body: LoopBody
    compare: Operation
    best: Value
    rule: ArgMinMaxRule
    kept: tuple[KeptValue, ...]
    sources: tuple[Operation, ...]

    @property
    def value(self) -> Value:
        return self.kept[0].offered

    def vector_range(self, range_: LoopRange, unit: VectorUnit) -> VectorRange | None:
        """The split of the iterations; None if vectors do not pay."""
        trips = range_.constant_trips
        if trips is None or trips >= 1 << 31:
            return None
        return vector_range(range_, frozenset(self.body.bits), COST, unit)


def argminmax_of(loop: Operation) -> ArgMinMax | None:
    """The argmin or argmax of an ``affine.for`` that computes nothing else."""
    operations, view = inner_operations(loop), affine.For(loop)
    if not loop.results or not all(map(_is_pure, operations)):
        return None
    made = {result: op for op in operations for result in op.results}
    yielded = loop.body.operations[-1].operands
    selects = [made.get(value) for value in yielded]
    picked = [op for op in selects if op is not None and op.name == "arith.select"]
    pairs = list(zip(picked, view.iter_args, strict=False))
    if len(picked) != len(selects) or any(s.operands[2] is not a for s, a in pairs):
        return None
    compare = made.get(picked[0].operands[0])
    if compare is None or any(s.operands[0] is not compare.results[0] for s in picked):
        return None
    kept = [
        KeptValue(select.operands[1], initial, result)
        for select, initial, result in zip(
            picked, view.inits, loop.results, strict=True
        )
    ]
    for position, argument in enumerate(view.iter_args):
        rule = _rule(compare, kept[position].offered, argument)
        if rule is not None:
            ordered = (kept.pop(position), *kept)
            return _argminmax(loop, compare, argument, rule, ordered)
    return None


def _is_pure(op: Operation) -> bool:
    return not op.regions and (op.name == "affine.load" or has_no_effect(op))


def _rule(compare: Operation, value: Value, best: Value) -> ArgMinMaxRule | None:
    """The rule of a comparison of an iteration's value with the best one."""
    if compare.name not in COMPARISONS:
        return None
    sign, order = arith.predicate(compare)[0], arith.predicate(compare)[1:]
    if sign not in COMPARISONS[compare.name] or order not in MIRRORED:
        return None
    if compare.operands == (best, value):
        order = MIRRORED[order]
    elif compare.operands != (value, best):
        return None
    return ArgMinMaxRule(sign, order[0] == "g", order[1] == "t")


def _argminmax(
    loop: Operation,
    compare: Operation,
    best: Value,
    rule: ArgMinMaxRule,
    kept: tuple[KeptValue, ...],
) -> ArgMinMax | None:
    sources = _sources(loop, [k.offered for k in kept])
    own = _sources(loop, [kept[0].offered])
    arguments = set(affine.For(loop).iter_args)
    used = {value for op in sources for value in op.operands}
    if not arguments.isdisjoint([*used, *(k.offered for k in kept)]):
        return None
    if not all(op.name in REPEATABLE for op in own):
        return None
    iv = loop.body.arguments[0]
    body = LoopBody(iv, own, varying={iv})
    if not all(map(body.admit, own)) or not body.takes_masks or not body.accesses:
        return None
    value = kept[0].offered
    plain = isinstance(value.type, FloatType | IntegerType)
    if not plain or value not in body.varying or len(body.bits) != 1:
        return None
    if body.bits != {lane_bits(value.type)} or not body.bits <= {32, 64}:
        return None
    return ArgMinMax(body, compare, best, rule, kept, sources)


def _sources(loop: Operation, values: Collection[Value]) -> tuple[Operation, ...]:
    """The operations of a loop that make some values, in order."""
    needed = set(values)
    for op in reversed(inner_operations(loop)):
        if not needed.isdisjoint(op.results):
            needed.update(op.operands)
    return tuple(
        op for op in inner_operations(loop) if not needed.isdisjoint(op.results)
    )


def argminmax(site: LoopSite) -> list[Operation]:
    """The replacement of a loop that keeps the best value and associated values."""
    op, range_ = site.op, site.range
    loop = argminmax_of(op) if op.name == "affine.for" else None
    row = loop and range_ and loop.vector_range(range_, site.machine.unit)
    b = Builder(op.location)
    if loop and row:
        _ArgMinMaxLanes(loop, row).build(b)
    return b.operations


BestLanes = tuple[Value, Value]
"""The best values, and the steps in which they were found: -1 where none was taken."""


@dataclass(frozen=True, slots=True)
class _ArgMinMaxLanes:
    """An argmin or argmax on the vectors of a row."""

    loop: ArgMinMax
    row: VectorRange

    def build(self, b: Builder) -> None:
        """Append the loops, and define the loop's results."""
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
        number = b.value("arith.index_cast", (step,), self._places, hint="step")
        here = b.broadcast(number, self._vector(number), "step")
        return (
            _selected(b, taken, known[loop.value], best),
            _selected(b, taken, here, places),
        )

    def _better(self, b: Builder, one: BestLanes, other: BestLanes) -> BestLanes:
        """The better lane of two accumulators, by the loop's rule."""
        is_better = self._compare(b, self.loop.rule.better, other[0], one[0])
        is_same = self._compare(b, self.loop.rule.same, other[0], one[0])
        order = "ult" if self.loop.rule.is_first else "sgt"
        is_nearer = _compare_integers(b, order, other[1], one[1])
        tie = b.value("arith.andi", (is_same, is_nearer), is_same.type, hint="tie")
        taken = b.value("arith.ori", (is_better, tie), tie.type, hint="taken")
        pairs = zip(other, one, strict=True)
        best, places = (_selected(b, taken, new, old) for new, old in pairs)
        return best, places

    def _compare(self, b: Builder, predicate: str, one: Value, other: Value) -> Value:
        if self.loop.rule.sign != "o":
            return _compare_integers(b, predicate, one, other)
        return _compared(b, "arith.cmpf", predicate, one, other)

    def _finish(self, b: Builder, lanes: BestLanes) -> None:
        """The kept values, recomputed at the first or last best place."""
        place = self._place(b, lanes)
        zero = b.constant(0, self._places)
        found = _compare_integers(b, "sge", place, zero)
        inside = b.value("arith.maxsi", (place, zero), self._places, hint="place")
        trip = b.value("arith.index_cast", (inside,), INDEX, hint="place")
        first = b.index(self.row.first)
        at = b.value("arith.addi", (first, trip), INDEX, hint="place")
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
        is_one = b.value("arith.andi", (is_best, is_taken), is_best.type, hint="one")
        steps = VectorType((self.row.lanes,), INDEX)
        counted = b.value("vector.step", (), steps, hint="lane")
        lane = b.value("arith.index_cast", (counted,), places.type, hint="lane")
        trips = b.value("arith.addi", (places, lane), places.type, hint="trip")
        none = b.constant(-1, places.type)
        chosen = _selected(b, is_one, trips, none)
        kind = "minui" if rule.is_first else "maxsi"
        return _reduced(b, kind, chosen, b.constant(-1, self._places))


def repeat(b: Builder, op: Operation, known: dict[Value, Value]) -> None:
    """An operation on ``known`` values, which are no affine operands."""
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
    return b.value("arith.select", operands, old.type, hint=old.name)


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
