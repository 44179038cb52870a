"""The scf dialect: structured control flow with run-time bounds."""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen.dialects.shared.control_flow import CountedLoop, TwoWayBranch
from gpucodegen.ir.locations import UNKNOWN, Location
from gpucodegen.ir.operation import (
    Block,
    OperandAt,
    OperandsFrom,
    Operation,
    Region,
    Value,
    single_block,
)
from gpucodegen.records import dataclass

TERMINATOR = "scf.yield"


@dataclass(frozen=True, slots=True)
class For(CountedLoop):
    """Reading access to an ``scf.for``."""

    lower = OperandAt(0)
    upper = OperandAt(1)
    step = OperandAt(2)
    inits = OperandsFrom(3)
    """Initial values of the loop-carried values."""


@dataclass(frozen=True, slots=True)
class If(TwoWayBranch):
    """Reading access to an ``scf.if``."""

    condition = OperandAt(0)


@dataclass(frozen=True, slots=True)
class While:
    """Reading access to an ``scf.while``."""

    operation: Operation

    @property
    def inits(self) -> tuple[Value, ...]:
        return self.operation.operands

    @property
    def before(self) -> Block:
        """The block that computes the condition and ends in ``scf.condition``."""
        return self.operation.regions[0].blocks[0]

    @property
    def after(self) -> Block:
        """The loop body, ending in ``scf.yield``."""
        return self.operation.regions[1].blocks[0]


def _terminated(body: Sequence[Operation], location: Location) -> tuple[Operation, ...]:
    if body and body[-1].name == TERMINATOR:
        return tuple(body)
    return (*body, yield_(location=location))


def for_(
    lower: Value,
    upper: Value,
    step: Value,
    *,
    body: Sequence[Operation],
    iv: Value,
    inits: Sequence[Value] = (),
    iters: Sequence[Value] = (),
    location: Location = UNKNOWN,
) -> Operation:
    """``scf.for``; an empty yield is added to ``body`` if it has none."""
    return Operation(
        "scf.for",
        (lower, upper, step, *inits),
        tuple(Value(v.type, v.name, location) for v in inits),
        regions=(single_block(_terminated(body, location), (iv, *iters)),),
        location=location,
    )


def if_(
    condition: Value, then_ops: Sequence[Operation], *, location: Location = UNKNOWN
) -> Operation:
    """``scf.if`` without results; an empty yield is added to the branch."""
    regions = single_block(_terminated(then_ops, location)), Region()
    return Operation("scf.if", (condition,), regions=regions, location=location)


def condition(
    value: Value, forwarded: Sequence[Value] = (), *, location: Location = UNKNOWN
) -> Operation:
    return Operation("scf.condition", (value, *forwarded), location=location)


def yield_(values: Sequence[Value] = (), *, location: Location = UNKNOWN) -> Operation:
    return Operation(TERMINATOR, tuple(values), location=location)
