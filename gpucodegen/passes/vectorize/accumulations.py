"""What an innermost loop accumulates: ``cell = cell OP term``, over and over.

The cell stays where it is during the loop, and only one load and one store touch it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, nan

from gpucodegen.dialects import affine
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import FloatType, IntegerType, Type
from gpucodegen.passes.lifting.reductions import Combiner
from gpucodegen.passes.vectorize.operations import cost
from gpucodegen.passes.vectorize.recognize import Body
from gpucodegen.tiling.loops import LoopKind, LoopVerdict


@dataclass(frozen=True, slots=True)
class Kind:
    """A way to combine: the kind of ``vector.reduction`` and the operation of two.

    ``neutral``: what changes nothing; None for the end of an integer's range.
    """

    name: str
    operation: str
    neutral: float | None
    is_ordered: bool = False

    def neutral_of(self, ty: Type) -> float:
        """The neutral number of an element type."""
        if self.neutral is not None:
            return self.neutral
        assert isinstance(ty, IntegerType)
        end = 1 << (ty.width - 1)
        return {"maxsi": -end, "minsi": end - 1}[self.name]


FLOATS = {
    "add": Kind("add", "arith.addf", -0.0, is_ordered=True),
    "mul": Kind("mul", "arith.mulf", 1.0, is_ordered=True),
    "maximum": Kind("maximumf", "arith.maximumf", -inf),
    "minimum": Kind("minimumf", "arith.minimumf", inf),
    "max": Kind("maxnumf", "arith.maxnumf", nan),
    "min": Kind("minnumf", "arith.minnumf", nan),
}
INTEGERS = {
    "add": Kind("add", "arith.addi", 0),
    "mul": Kind("mul", "arith.muli", 1),
    "max": Kind("maxsi", "arith.maxsi", None),
    "min": Kind("minsi", "arith.minsi", None),
    "unsigned max": Kind("maxui", "arith.maxui", 0),
    "unsigned min": Kind("minui", "arith.minui", -1),
    "and": Kind("and", "arith.andi", -1),
    "or": Kind("or", "arith.ori", 0),
    "xor": Kind("xor", "arith.xori", 0),
}


ROUNDED = frozenset({"add", "mul"})
"""Operators whose result depends on the order."""


@dataclass(frozen=True, slots=True)
class Order:
    """What a program allows: ``relaxed`` any order of sums, ``exact`` only its own."""

    relaxed: bool = False
    exact: bool = False

    def is_free(self, verdict: LoopVerdict) -> bool:
        """Whether accumulations alone order the iterations, and any order will do."""
        if verdict.kind is not LoopKind.REDUCTION:
            return False
        if self.exact:
            return ROUNDED.isdisjoint(verdict.operators)
        return verdict.reassociable or self.relaxed


@dataclass(frozen=True, slots=True)
class Accumulation:
    """One cell: its load, its store, and the value in between."""

    load: Operation
    store: Operation
    kind: Kind

    @property
    def before(self) -> Value:
        """The accumulator as an iteration finds it."""
        return self.load.result

    @property
    def after(self) -> Value:
        """The accumulator as an iteration leaves it."""
        return self.store.operands[0]


@dataclass(frozen=True, slots=True)
class Accumulating:
    """A body of streams, and the accumulations around it."""

    body: Body
    accumulations: tuple[Accumulation, ...]

    @property
    def cost(self) -> int:
        """Vector operations of an iteration, without its loads and stores."""
        rest = [op for op in self.body.operations if op not in self.body.streams]
        return sum(map(cost, rest))


def accumulating(iv: Value, operations: Sequence[Operation]) -> Accumulating | None:
    """The body of a loop over ``iv`` that accumulates, if it has a vector form."""
    found = accumulations_in(iv, operations)
    if not found:
        return None
    ends = {id(op) for a in found for op in (a.load, a.store)}
    rest = tuple(op for op in operations if id(op) not in ends)
    body = Body(iv, rest, varying={iv, *(a.before for a in found)})
    admitted = all(body.admit(op) for op in rest)
    held = all(body.holds((a.before,)) for a in found)
    all_vary = all(body.varying.issuperset([a.after]) for a in found)
    if not (admitted and held and all_vary and body.streams and body.takes_masks):
        return None
    return Accumulating(body, tuple(found))


def accumulations_in(iv: Value, operations: Sequence[Operation]) -> list[Accumulation]:
    """Pairs of a load and a store of one unmoved cell with a combination in between."""
    definitions = {result: op for op in operations for result in op.results}
    uses = Counter(value for op in operations for value in op.operands)
    combiner = Combiner(definitions, uses)
    moved = {iv, *definitions}
    loads = {op.result: op for op in operations if op.name == "affine.load"}
    found: list[Accumulation] = []
    for op in operations:
        if op.name != "affine.store":
            continue
        same = {v: load for v, load in loads.items() if _same_cell(load, op)}
        combination = combiner.combination(op.operands[0], same)
        if combination is None or moved.intersection(op.operands[1:]):
            continue
        is_float = isinstance(op.operands[0].type, FloatType)
        kind = (FLOATS if is_float else INTEGERS).get(combination.operator)
        if kind is not None:
            found.append(Accumulation(same[combination.accumulator], op, kind))
    return found


def _same_cell(load: Operation, store: Operation) -> bool:
    source, target = affine.Load(load), affine.Store(store)
    return (
        source.memref is target.memref
        and source.map == target.map
        and tuple(source.map_operands) == tuple(target.map_operands)
    )
