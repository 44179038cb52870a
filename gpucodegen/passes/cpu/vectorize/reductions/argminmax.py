"""Loops that keep the largest or smallest value and what belongs to it, on vectors.

    for j iter_args(best, place):         for j by lanes:
      v = f(x[j]); g = v > best             v = f(x[j ..]); g = v > best
      best' = g ? v : best                  best' = g ? v : best
      place' = g ? p(j) : place             step' = g ? j : step
                                          j* = first step + lane of the best best
                                          best, place = f(x[j*]), p(j*), or initial ones

Comparisons are ordered, so NaN is never taken.  Each lane keeps its first (``>=``: its
last) best one, and the lanes' first (last) is that of the loop: it has no other result,
whatever the order.  Values are made again at ``j*``, by the same operations.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from gpucodegen.dialects import affine, arith
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import FloatType, IntegerType
from gpucodegen.passes.cpu.vectorize.loops import IterationRange
from gpucodegen.passes.cpu.vectorize.operations import lane_bits
from gpucodegen.passes.cpu.vectorize.recognize import LoopBody
from gpucodegen.passes.cpu.vectorize.reductions.vector_range import (
    VectorRange,
    vector_range,
)
from gpucodegen.passes.framework.nests import inner_operations
from gpucodegen.passes.prepare.affine.dead_code import has_no_effect
from gpucodegen.tiling.machine.processor import VectorUnit

COMPARISONS = {"arith.cmpf": "o", "arith.cmpi": "su"}
"""First letters of the predicates that never take a NaN, by operation."""
MIRRORED = {"gt": "lt", "lt": "gt", "ge": "le", "le": "ge"}
"""``best PREDICATE v`` as ``v PREDICATE best``."""
REPEATABLE = frozenset(
    "affine.load affine.apply math.absf math.absi arith.negf arith.extf arith.extsi "
    "arith.extui arith.index_cast arith.constant".split()
)
"""What gives a lane and a scalar the same bits."""
COST = 2
"""Operations of a step that wait for the one before."""


@dataclass(frozen=True, slots=True)
class ArgMinMaxRule:
    """Which value is kept: the largest (``is_most``), at its first or last place.

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
        """The predicate of what is strictly better."""
        return self.sign + ("gt" if self.is_most else "lt")

    @property
    def same(self) -> str:
        """The predicate of equal values."""
        return "oeq" if self.sign == "o" else "eq"


@dataclass(frozen=True, slots=True)
class KeptValue:
    """One carried value: what an iteration offers, the first value, the last one."""

    offered: Value
    initial: Value
    result: Value


@dataclass(frozen=True, slots=True)
class ArgMinMax:
    """A loop that finds the best value: ``body`` makes the value that is compared.

    ``sources``: the operations that make all that is ``kept``, the value first.
    """

    body: LoopBody
    compare: Operation
    best: Value
    rule: ArgMinMaxRule
    kept: tuple[KeptValue, ...]
    sources: tuple[Operation, ...]

    @property
    def value(self) -> Value:
        """What is compared."""
        return self.kept[0].offered

    def vector_range(
        self, range_: IterationRange, unit: VectorUnit
    ) -> VectorRange | None:
        """How the iterations are cut; None if vectors do not pay."""
        trips = range_.trips
        if trips is None or trips >= 1 << 31:
            return None
        return vector_range(range_, frozenset(self.body.bits), COST, unit)


def argminmax_of(loop: Operation) -> ArgMinMax | None:
    """The argmin or argmax of an ``affine.for``, if that is all it finds."""
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
    """What a comparison of an iteration's value and the best one keeps."""
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
