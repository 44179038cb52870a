"""Guard conditions as ``arith`` operations, and the operations that act on them.

`ConditionBuilder` turns index expressions into an ``i1`` that is true where an access
is out of bounds.  `refusing` rejects the call when a check holds; `reporting` runs an
operation only where no check holds, and reports the violation elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import field
from functools import reduce
from operator import add, eq, ge, gt, le, lt, mul, ne, sub

from gpucodegen.dialects import scf
from gpucodegen.ir.affine import AffineExpr, AffineMap, Const, linear_form
from gpucodegen.ir.attributes import ArrayAttr, IntegerAttr, StringAttr
from gpucodegen.ir.locations import Location
from gpucodegen.ir.operation import (
    Operation,
    Region,
    Value,
    single_block,
    substitute_values,
)
from gpucodegen.ir.types import (
    I1,
    I64,
    INDEX,
    ComplexType,
    FloatType,
    MemRefType,
    Type,
    UnrankedMemRefType,
)
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index, as_map, index_of
from gpucodegen.passes.lower_affine.expressions import (
    compare,
    index_operation,
    results_of,
)
from gpucodegen.records import dataclass
from gpucodegen.tiling.proof.array_bounds import Pieces
from gpucodegen.tiling.schedule.schedule_ast import Inequality

FIT = "fit"
"""The verb of buffers whose extents have to agree."""
STEP = "step"
"""The verb of loops whose steps have to be positive."""


@dataclass(frozen=True, slots=True)
class Check:
    """The condition ``bad`` of an access at ``location``, with its report.

    ``known``: names and values that decide; ``extent``: the static extent of the
    dimension, if any.
    """

    location: Location
    buffer: str
    verb: str
    dimension: int
    known: tuple[tuple[str, Value], ...]
    bad: Value
    extent: int | None = None

    def told(self, name: str) -> Operation:
        """``gcg.refuse`` or ``gcg.report``."""
        return Operation(
            name,
            tuple(value for _, value in self.known),
            attributes={
                "verb": StringAttr(self.verb),
                "buffer": StringAttr(self.buffer),
                "dimension": IntegerAttr(self.dimension, I64),
                "extent": IntegerAttr(-1 if self.extent is None else self.extent, I64),
                "names": ArrayAttr(tuple(StringAttr(n) for n, _ in self.known)),
            },
            location=self.location,
        )


def refusing(check: Check) -> Operation:
    """The operation that refuses the call if the check holds."""
    return _if(check, [check.told("gcg.refuse")])


def reporting(check: Check) -> Operation:
    """The operation that reports, in a loop, that the check holds."""
    return _if(check, [check.told("gcg.report")])


def is_refusal(op: Operation) -> bool:
    """Whether an operation only refuses the call."""
    return any(inner.name == "gcg.refuse" for inner in op.walk())


def may_be_left_out(op: Operation) -> bool:
    """Whether zeros can stand for all results of an operation."""
    return not any(isinstance(v.type, _BUFFERS) for v in op.results)


_BUFFERS = (MemRefType, UnrankedMemRefType)


def wrapped(
    operations: Sequence[Operation], checks: Sequence[Check], used: Container[Value]
) -> list[Operation]:
    """Operations under the condition that no check holds, else a report and zeros.

    ``used``: the results that other operations use.
    """
    place = operations[0].location
    b = Builder(place)
    bad = reduce(lambda x, y: b.value("arith.ori", (x, y), I1), [c.bad for c in checks])
    results = [value for op in operations for value in op.results if value in used]
    renewed = {value: value.renewed() for value in results}
    left_out = Builder(place)
    left_out.operations += _reports(checks)
    zeros = [_zero(left_out, value.type) for value in results]
    done = [_renamed(op, renewed) for op in operations]
    branches = (
        single_block([*left_out.operations, _yield(zeros, place)]),
        single_block([*done, _yield(tuple(renewed.values()), place)]),
    )
    choice = Operation(
        "scf.if", (bad,), tuple(results), regions=branches, location=place
    )
    return [*b.operations, choice]


def _renamed(op: Operation, renewed: Mapping[Value, Value]) -> Operation:
    results = tuple(renewed.get(value, value) for value in op.results)
    return substitute_values(op, renewed).with_(results=results)


def _reports(checks: Sequence[Check]) -> list[Operation]:
    """Reports of the checks that hold, under the condition that any does."""
    if len(checks) == 1:
        return [checks[0].told("gcg.report")]
    return list(map(reporting, checks))


def _if(check: Check, then: Sequence[Operation]) -> Operation:
    body = single_block([*then, _yield((), check.location)])
    regions = (body, Region())
    return Operation("scf.if", (check.bad,), regions=regions, location=check.location)


def _yield(values: Sequence[Value], location: Location) -> Operation:
    return Operation(scf.TERMINATOR, tuple(values), location=location)


def _zero(b: Builder, ty: Type) -> Value:
    if isinstance(ty, ComplexType):
        part = b.constant(0.0 if isinstance(ty.element, FloatType) else 0, ty.element)
        return b.value("complex.create", (part, part), ty)
    return b.constant(0, ty)


@dataclass(slots=True)
class ConditionBuilder:
    """Builds conditions (values of type ``i1``) with a builder.

    ``numbers``: known values.
    """

    b: Builder
    numbers: dict[Value, int] = field(default_factory=dict[Value, int])

    def within(self, pieces: Pieces, known: Mapping[str, Value]) -> Value:
        """Whether parameters lie in one of the pieces."""
        names = {name: Index.of(value) for name, value in known.items()}
        return self.some([self._every(piece, names) for piece in pieces])

    def _every(self, piece: Sequence[Inequality], names: Mapping[str, Index]) -> Value:
        return self.every([self._holds(constraint, names) for constraint in piece])

    def _holds(self, constraint: Inequality, names: Mapping[str, Index]) -> Value:
        """``p - n + c >= 0`` as ``p >= n - c``, which subtracts constants only."""
        map_, operands = as_map([index_of(constraint.expression, names)])
        terms, number = linear_form(map_.results[0])
        positive = [(term, factor) for term, factor in terms.items() if factor > 0]
        negative = [(term, -factor) for term, factor in terms.items() if factor < 0]
        if not positive and not constraint.equality:
            left = self._sum(map_, operands, negative, 0)
            return self._compared("sle", left, number)
        is_strict = bool(negative) and number == -1 and not constraint.equality
        left = self._sum(map_, operands, positive, 0)
        right = self._sum(map_, operands, negative, 0 if is_strict else -number)
        predicate = "sgt" if is_strict else "sge"
        return self._compared("eq" if constraint.equality else predicate, left, right)

    def _sum(
        self,
        map_: AffineMap,
        operands: Sequence[Value],
        terms: Sequence[tuple[AffineExpr, int]],
        number: int,
    ) -> Value:
        expr: AffineExpr = Const(number)
        for term, factor in terms:
            expr = expr + term * factor
        one = AffineMap(map_.num_dims, map_.num_syms, (expr,))
        return results_of(self.b, one, operands)[0]

    # -- numbers, folded where they are known ------------------------------------------

    def value(self, number: Value | int) -> Value:
        if not isinstance(number, int):
            return self.as_index(number)
        made = self.b.constant(number, INDEX)
        self.numbers[made] = number
        return made

    def as_index(self, value: Value) -> Value:
        if value.type == INDEX:
            return value
        return self.b.value("arith.index_cast", (value,), INDEX, hint=value.name)

    def extent(self, memref: Value, dimension: int) -> Value:
        shape = memref.type.shape if isinstance(memref.type, MemRefType) else ()
        extent = shape[dimension]
        if extent is not None:
            return self.value(extent)
        at = self.b.constant(dimension, INDEX)
        return self.b.value("memref.dim", (memref, at), INDEX, hint="extent")

    def plus(self, left: Value, right: Value | int) -> Value:
        return self._combined("arith.addi", add, left, right)

    def minus(self, left: Value, right: Value | int) -> Value:
        return self._combined("arith.subi", sub, left, right)

    def times(self, left: Value, right: Value | int) -> Value:
        return self._combined("arith.muli", mul, left, right)

    def smaller(self, left: Value, right: Value | int) -> Value:
        return self._combined("arith.minsi", min, left, right)

    def larger(self, left: Value, right: Value | int) -> Value:
        return self._combined("arith.maxsi", max, left, right)

    def _combined(
        self,
        name: str,
        fold: Callable[[int, int], int],
        left: Value,
        right: Value | int,
    ) -> Value:
        one = self.numbers.get(left)
        other = right if isinstance(right, int) else self.numbers.get(right)
        if one is not None and other is not None:
            return self.value(fold(one, other))
        return index_operation(self.b, name, left, self.value(right))

    # -- conditions ------------------------------------------------------------------

    def differ(self, left: Value, right: Value) -> Value:
        return self._compared("ne", left, right)

    def below(self, left: Value, right: Value | int) -> Value:
        return self._compared("slt", left, right)

    def outside(self, first: Value, last: Value, extent: Value) -> Value:
        """Whether a range, both ends included, leaves ``[0, extent)``."""
        return self.some([self.below(first, 0), self.reaches(last, extent)])

    def reaches(self, left: Value, right: Value) -> Value:
        return self._compared("sge", left, right)

    def _compared(self, predicate: str, left: Value, right: Value | int) -> Value:
        one = self.numbers.get(left)
        other = right if isinstance(right, int) else self.numbers.get(right)
        if one is not None and other is not None:
            return self.truth(holds=_PREDICATES[predicate](one, other))
        return compare(self.b, predicate, left, self.value(right))

    def truth(self, *, holds: bool) -> Value:
        made = self.b.constant(int(holds), I1)
        self.numbers[made] = int(holds)
        return made

    def is_known(self, condition: Value, *, holds: bool) -> bool:
        """Whether a condition is the constant ``holds``."""
        return self.numbers.get(condition) == int(holds)

    def every(self, conditions: Sequence[Value]) -> Value:
        return self._joined("arith.andi", conditions, neutral=True)

    def some(self, conditions: Sequence[Value]) -> Value:
        return self._joined("arith.ori", conditions, neutral=False)

    def _joined(
        self, name: str, conditions: Sequence[Value], *, neutral: bool
    ) -> Value:
        if any(self.is_known(c, holds=not neutral) for c in conditions):
            return self.truth(holds=not neutral)
        open_ = [c for c in conditions if not self.is_known(c, holds=neutral)]
        if not open_:
            return self.truth(holds=neutral)
        return reduce(lambda a, b: self.b.value(name, (a, b), I1), open_)


_PREDICATES: dict[str, Callable[[int, int], bool]] = {
    "eq": eq,
    "ne": ne,
    "slt": lt,
    "sle": le,
    "sgt": gt,
    "sge": ge,
}
