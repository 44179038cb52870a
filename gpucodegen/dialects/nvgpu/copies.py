"""Copies of a thread from global to shared memory, and their groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpucodegen.ir.attributes import Attribute, IntegerAttr, UnitAttr
from gpucodegen.ir.locations import UNKNOWN, Location
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.segments import OPERAND_SEGMENTS, operand_segments, segment_counts
from gpucodegen.ir.types import I32, INDEX, DialectType

TOKEN = DialectType("nvgpu.device.async.token")

COPY = "nvgpu.device_async_copy"
APART = "gcg.apart"
"""An attribute of copies that are one of many in straight code.

What the last variable adds to an address, and a constant, are added to the others last.
"""
COMMIT = "nvgpu.device_async_create_group"
WAIT = "nvgpu.device_async_wait"


@dataclass(frozen=True, slots=True)
class AsyncCopy:
    """``nvgpu.device_async_copy``."""

    op: Operation

    @property
    def target(self) -> Value:
        """Where the elements go."""
        return self._parts[0][0]

    @property
    def target_indices(self) -> Sequence[Value]:
        """The first element there."""
        return self._parts[1]

    @property
    def source(self) -> Value:
        """Where the elements come from."""
        return self._parts[2][0]

    @property
    def source_indices(self) -> Sequence[Value]:
        """The first element there."""
        return self._parts[3]

    @property
    def given(self) -> Value | None:
        """How many elements the source has; the others become zeros."""
        return next(iter(self._parts[4]), None)

    @property
    def count(self) -> int:
        """How many elements the target gets."""
        value = self.op.attributes["dstElements"]
        assert isinstance(value, IntegerAttr)
        return value.value

    @property
    def _parts(self) -> Sequence[Sequence[Value]]:
        return operand_segments(self.op, 5)


def pending_groups(op: Operation) -> int:
    """How many of the newest groups a wait leaves open."""
    value = op.attributes.get("numGroups")
    return value.value if isinstance(value, IntegerAttr) else 0


def copy(
    source: Sequence[Value],
    target: Sequence[Value],
    count: int,
    location: Location = UNKNOWN,
    *,
    apart: bool = False,
) -> Operation:
    """``nvgpu.device_async_copy``; each end is a memref followed by its indices.

    ``apart``: it has the attribute `APART`.
    """
    sizes = segment_counts(1, len(target) - 1, 1, len(source) - 1, 0)
    attributes: dict[str, Attribute] = {
        "dstElements": IntegerAttr(count, INDEX),
        OPERAND_SEGMENTS: sizes,
        **({APART: UnitAttr()} if apart else {}),
    }
    results = (Value(TOKEN, "copy", location),)
    operands = (*target, *source)
    return Operation(COPY, operands, results, attributes, location=location)


def create_group(stages: int, location: Location = UNKNOWN) -> Operation:
    """``nvgpu.device_async_create_group`` of what was started since the last one.

    ``stages``: where its copies go to one of several, noted in an attribute.  The text
    of a group without tokens needs one: else the next line's name would be its token.
    """
    results = (Value(TOKEN, "group", location),)
    attributes = {"gcg.stages": IntegerAttr(stages)}
    return Operation(COMMIT, (), results, attributes, location=location)


def wait(token: Value, pending: int, location: Location = UNKNOWN) -> Operation:
    """``nvgpu.device_async_wait`` for all groups but the newest ``pending``."""
    attributes = {"numGroups": IntegerAttr(pending, I32)}
    return Operation(WAIT, (token,), (), attributes, location=location)
