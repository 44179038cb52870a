"""Checks that an integer of Python has limits: those of a dtype, or of a dimension.

NumPy raises OverflowError where it converts such an integer to a dtype that does not
hold it; here an assertion ends the call. Integers whose `Scalar.limits` fit need none.
Slices of parts of arrays are checked the same way: whether an access is inside of the
whole array does not tell that it is inside of the part.

A check leaves the loops in which the integer does not change; where it is a monotone
function of a loop's variable, its values in the first and the last iteration are
checked before the loop. Any other check in a loop sets a flag of its iteration, so that
the loop stays parallel; an assertion behind the loop reads all flags.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any, Literal

import numpy as np

from gpucodegen.ir.attributes import StringAttr
from gpucodegen.ir.locations import Location
from gpucodegen.ir.operation import Operation, Value, single_block
from gpucodegen.ir.types import I1, MemRefType
from gpucodegen.passes.framework.builder import OperationList
from gpucodegen.python.scalars import (
    Scalar,
    astype,
    compared,
    integers,
    known,
    limits_of,
    negated,
)
from gpucodegen.python.types import Kind, is_python
from gpucodegen.records import dataclass

Role = Literal["loop", "arm", "elements", "other"]


@dataclass(frozen=True, slots=True)
class Limits:
    """The least and the greatest integer, and what any other one is."""

    low: int
    high: int
    otherwise: str


def held_by(kind: np.dtype[Any]) -> Limits:
    """The integers that a dtype holds."""
    info = np.iinfo(kind)
    otherwise = f"an integer that {kind.name} does not hold; use a wider type"
    return Limits(int(info.min), int(info.max), otherwise)


@dataclass(frozen=True, slots=True)
class Check:
    """Limits that integers must have, unless one of the ``ranges`` is empty."""

    numbers: tuple[Scalar, ...]
    limits: Limits
    location: Location = field(compare=False)
    ranges: tuple[tuple[Scalar, Scalar], ...] = ()

    @property
    def is_needed(self) -> bool:
        return any(not is_held(number, self.limits) for number in self.numbers)


@dataclass(frozen=True, slots=True)
class Flags:
    """A bool for each iteration of one or two loops: whether a check failed in it."""

    limits: Limits
    loops: tuple[Block, ...]
    memory: Value
    location: Location


@dataclass(slots=True, eq=False)
class Block(OperationList):
    """A nested block: the body of a loop, an arm of a branch, or of linalg.generic.

    ``own``: its arguments, of which ``variable`` is that of a counted loop; ``ends``:
    start, stop and step of that loop, whose step is positive.
    """

    outer: OperationList | None = None
    role: Role = "arm"
    variable: Value | None = None
    own: Sequence[Value] = ()
    ends: tuple[Scalar, Scalar, Scalar] | None = None
    checks: list[Check] = field(default_factory=list[Check])
    """Checks that stand before the loop."""
    flags: list[Flags] = field(default_factory=list[Flags])
    moved: list[Operation] = field(default_factory=list[Operation])
    """Operations of checks that have left the loop."""

    def defines(self, value: Value) -> bool:
        """Whether a value changes with the iterations."""
        return value in self.own or any(
            value in op.results for op in (*self.operations, *self.moved)
        )

    def occurrences(self, number: Scalar) -> int | None:
        """How often an integer mentions the variable; None if it cannot leave."""
        if number.value is None or not self.defines(number.value):
            return 0
        if number.value is self.variable:
            return 1
        if number.parts is None:
            return None
        counts = [self.occurrences(part) for part in number.parts[1:]]
        return None if None in counts else sum(n for n in counts if n is not None)

    def lets_out(self, check: Check) -> bool:
        """Whether the values at the loop's ends decide a check."""
        ends = [self.occurrences(e) for pair in check.ranges for e in pair]
        counts = [self.occurrences(number) for number in check.numbers]
        return all(n == 0 for n in ends) and all(n in (0, 1) for n in counts)

    def replaced(self, b: OperationList, number: Scalar, by: Scalar) -> Scalar:
        """An integer outside of the loop, for a value of the variable."""
        if number.value is None or not self.defines(number.value):
            return number
        if number.value is self.variable:
            return by
        assert number.parts is not None
        name, one, other = number.parts
        return integers(b, name, self.replaced(b, one, by), self.replaced(b, other, by))


def is_held(number: Scalar, limits: Limits) -> bool:
    """Whether an integer of Python certainly has the limits."""
    low, high = limits_of(number)
    return limits.low <= low and high <= limits.high


def convert(b: OperationList, number: Scalar, kind: Kind) -> Scalar:
    """The number converted to a kind; ends the call where NumPy raises OverflowError.

    Raises OutOfRange if the integer is a constant.
    """
    is_checked = number.kind is int and not is_python(kind) and kind.kind in "iu"
    if is_checked and number.value is not None:
        limited(b, number, held_by(kind))
    return astype(b, number, kind, checked=True)


def limited(b: OperationList, number: Scalar, allowed: Limits) -> None:
    """End the call where an integer that is no constant is outside of the limits."""
    if not is_held(number, allowed):
        require(b, Check((number,), allowed, b.location))


def require(b: OperationList, check: Check) -> None:
    """Emit a check, or leave it to the block's end."""
    if isinstance(b, Block) and b.role in ("loop", "elements") and b.lets_out(check):
        if check not in b.checks:
            b.checks.append(check)
        return
    if isinstance(b, Block) and b.role == "elements":
        return  # positions, which are int64 in NumPy
    before, b.location = b.location, check.location
    blocks = _around(b)
    if blocks:
        _flagged(b, _flags(blocks, check), check)
    else:
        asserted(b, _any_violated(b, check), check.limits)
    b.location = before


def leave(b: OperationList, body: Block) -> None:
    """Emit the checks that leave a body, before its operation."""
    for check in body.checks:
        count, values, own = len(b.operations), [known(0)], []
        if body.ends is not None:
            start, stop, _ = body.ends
            values, own = [start, last_of(b, *body.ends)], [(start, stop)]
        numbers = tuple(
            body.replaced(b, number, value)
            for number in check.numbers
            for value in values[: 1 + (body.occurrences(number) == 1)]
        )
        inner = (
            (body.replaced(b, one, values[0]), body.replaced(b, other, values[0]))
            for one, other in check.ranges
        )
        ranges = (*inner, *own)
        moved = Check(numbers, check.limits, check.location, ranges)
        if moved.is_needed:
            require(b, moved)
        if not moved.is_needed or (isinstance(b, Block) and moved in b.checks):
            if isinstance(b, Block):
                b.moved += b.operations[count:]
            del b.operations[count:]


def last_of(b: OperationList, start: Scalar, stop: Scalar, step: Scalar) -> Scalar:
    """The last value of a range that is not empty."""
    last = integers(b, "sub", stop, known(1))
    if step == known(1):
        return last
    steps = integers(b, "floordiv", integers(b, "sub", last, start), step)
    return integers(b, "add", start, integers(b, "mul", steps, step))


def _around(b: OperationList) -> list[Block]:
    """The blocks around this one, up to the outermost loop that is a counted one."""
    blocks: list[Block] = []
    while isinstance(b, Block) and b.role in ("loop", "arm") and b.outer is not None:
        blocks, b = [b, *blocks], b.outer
    while blocks and blocks[0].role != "loop":
        del blocks[0]
    return blocks


def _flags(blocks: Sequence[Block], check: Check) -> Flags:
    """Flags of the outermost loop, and of the next one if its range is known there."""
    loops, inside = [blocks[0]], [blocks[0]]
    for block in blocks[1:]:
        if block.ends is not None:
            values = [end.value for end in block.ends if end.value is not None]
            if not any(own.defines(value) for own in inside for value in values):
                loops.append(block)
            break
        inside.append(block)
    for flags in blocks[0].flags:
        is_same = [*map(id, flags.loops)] == [*map(id, loops)]
        if flags.limits == check.limits and is_same:
            return flags
    memory = Value(MemRefType((None,) * len(loops), I1), "flags", check.location)
    made = Flags(check.limits, tuple(loops), memory, check.location)
    blocks[0].flags.append(made)
    return made


def _violations(b: OperationList, check: Check) -> list[Value]:
    low, high = check.limits.low, check.limits.high
    found: list[Value] = []
    for number in check.numbers:
        value, possible = number.ssa(b), limits_of(number)
        if possible[0] < low:
            found.append(compared(b, "slt", value, b.constant(low, value.type)))
        if possible[1] > high:
            found.append(compared(b, "sgt", value, b.constant(high, value.type)))
    return found


def _any_violated(b: OperationList, check: Check) -> Value:
    found, *rest = _violations(b, check)
    for other in rest:
        found = b.value("arith.ori", (found, other), I1)
    for start, stop in check.ranges:
        if limits_of(start)[1] < limits_of(stop)[0]:
            continue
        is_some = compared(b, "slt", start.ssa(b), stop.ssa(b))
        found = b.value("arith.andi", (found, is_some), I1)
    return found


def asserted(b: OperationList, is_violated: Value, limits: Limits) -> None:
    """End the call if a check failed."""
    message = {"msg": StringAttr(limits.otherwise)}
    b.add("cf.assert", (negated(b, is_violated),), (), message)


def _flagged(b: OperationList, flags: Flags, check: Check) -> None:
    """Set the flag of the iteration if a check fails."""
    places: list[Value] = []
    for loop in flags.loops:
        assert loop.ends is not None
        position = Scalar(int, loop.variable)
        places.append(integers(b, "sub", position, loop.ends[0]).ssa(b))
    tests = [_any_violated(b, check)] if check.ranges else _violations(b, check)
    for test in tests:
        arm, other = OperationList(b.location), OperationList(b.location)
        arm.add("memref.store", (arm.constant(1, I1), flags.memory, *places))
        for block in (arm, other):
            block.add("scf.yield")
        regions = [single_block(block.operations) for block in (arm, other)]
        b.add("scf.if", (test,), (), {}, regions)
