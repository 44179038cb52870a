"""What becomes of an access that would leave its buffer: refused, or left out.

Comes in: `Check`s, whose conditions are values.  Goes out: operations that refuse the
call, or that run an operation only where no check holds and report it elsewhere.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from gpucodegen.dialects import scf
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
    ComplexType,
    FloatType,
    MemRefType,
    Type,
    UnrankedMemRefType,
)
from gpucodegen.passes.framework.builder import Builder

FIT = "fit"
"""The verb of buffers whose extents have to agree."""
STEP = "step"
"""The verb of loops whose steps have to be positive."""


@dataclass(frozen=True, slots=True)
class Check:
    """Whether an access at ``location`` is ``bad``, and what to report then.

    ``known``: names and values that decide; ``extent``: that of the dimension, if it is
    a number.
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
    """What ends the call if the check holds."""
    return _if(check, [check.told("gcg.refuse")])


def reporting(check: Check) -> Operation:
    """What notes in a loop that the check holds."""
    return _if(check, [check.told("gcg.report")])


def is_refusal(op: Operation) -> bool:
    """Whether all that an operation does is to end the call."""
    return any(inner.name == "gcg.refuse" for inner in op.walk())


def may_be_left_out(op: Operation) -> bool:
    """Whether zeros can stand for all results of an operation."""
    return not any(isinstance(v.type, _BUFFERS) for v in op.results)


_BUFFERS = (MemRefType, UnrankedMemRefType)


def wrapped(
    operations: Sequence[Operation], checks: Sequence[Check], used: Container[Value]
) -> list[Operation]:
    """Operations where no check holds; elsewhere a report, and zeros as results.

    ``used``: those of their results that other operations use.
    """
    place = operations[0].location
    b = Builder(place)
    bad = reduce(
        lambda x, y: b.add("arith.ori", (x, y), [I1])[0], [c.bad for c in checks]
    )
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
    """Reports which of some checks hold, where at least one does."""
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
        return b.add("complex.create", (part, part), [ty])[0]
    return b.constant(0, ty)
