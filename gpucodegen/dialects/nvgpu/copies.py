"""Selects the copy mechanism of a memory transfer on an NVIDIA GPU.

Input: the memory spaces of source and target, the element size, known divisors of
addresses and lengths, and the rows of a transfer on devices with bulk copies. Output: a
`CopyPlan`. `KINDS` lists mechanisms in order of preference; the first kind that
connects both memories and has a fitting width is selected. Transfers in programs and
the staging of matrix operands both use this table.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import gcd

from gpucodegen.ir.attributes import Attribute, IntegerAttr, UnitAttr
from gpucodegen.ir.locations import UNKNOWN, Location
from gpucodegen.ir.operation import (
    OPERAND_SEGMENTS,
    Operation,
    Value,
    operand_segments,
    segment_counts,
)
from gpucodegen.ir.types import I32, INDEX, DialectType
from gpucodegen.records import dataclass


@dataclass(frozen=True, slots=True)
class CopyKind:
    """A copy mechanism: the memories that it connects, and its access sizes in bytes.

    ``ends``: sources and targets; empty for any. ``widths``: widest first. ``free``:
    asynchronous, without registers. ``in_rows``: a copy engine moves whole rows,
    threads do not.
    """

    name: str
    ends: frozenset[tuple[str, str]]
    widths: tuple[int, ...]
    free: bool
    in_rows: bool = False

    def goes(self, spaces: tuple[str, str]) -> bool:
        """Whether the mechanism copies between these memory spaces."""
        return not self.ends or spaces in self.ends

    def widest(self, element: int, common: int) -> int:
        """The widest access of whole elements that divides ``common`` bytes, or 0.

        >>> ASYNCHRONOUS.widest(4, 24), ASYNCHRONOUS.widest(2, 6), LOOP.widest(2, 6)
        (8, 0, 2)
        """
        fitting = (n for n in self.widths if n % element == 0 and common % n == 0)
        return next(fitting, 0)


_IN, _OUT = ("global", "shared"), ("shared", "global")
LEAST_ROW = 1 << 14
"""Bytes of the shortest rows that become bulk copies: so large that hardly any do.

An H100 took 3 % longer than by cp.async for rows of 128 to 8192 bytes, and more in
products with rows of 64 bytes. The machine code of sm_90 starts the rows of a warp one
after the other, by 8 instructions each.
"""
BULK = CopyKind("cp.async.bulk", frozenset({_IN, _OUT}), (16,), True, in_rows=True)
ASYNCHRONOUS = CopyKind("cp.async", frozenset({_IN}), (16, 8, 4), free=True)
LOOP = CopyKind("copy", frozenset(), (16, 8, 4, 2, 1), free=False)
KINDS = (BULK, ASYNCHRONOUS, LOOP)
"""Mechanisms in order of preference. Bulk copies need sm_90. Boxes of tensor maps are
not among them."""
WIDEST = 16  # bytes of the widest access of a thread


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a transfer, as bulk copies need them.

    ``length``: bytes of each row, 0 if unknown. ``refusal``: why the transfer can be no
    bulk copy whatever its rows; "" for none. ``least``: bytes of the shortest rows for
    which a bulk copy pays.
    """

    length: int
    refusal: str = ""
    least: int = LEAST_ROW

    @property
    def problem(self) -> str:
        """Why the transfer is no bulk copy, alignment aside; "" if it may be one.

        >>> Rows(64, least=64).problem, Rows(64).problem
        ('', 'rows of 64 bytes are shorter than 16384')
        """
        if self.refusal or not self.length:
            return self.refusal or "the length of its rows is no known number"
        short = f"rows of {self.length} bytes are shorter than {self.least}"
        return short if self.length < self.least else ""


@dataclass(frozen=True, slots=True)
class CopyPlan:
    """The mechanism's name, bytes per access, and the reason that limits the width.

    ``width`` 0: no GPU thread copies.
    """

    mechanism: str
    width: int
    reason: str


def plan_copy(
    size: int,
    spaces: tuple[str, str],
    multiples: Mapping[str, int],
    exact: Collection[str] = (),
    rows: Rows | None = None,
) -> CopyPlan:
    """The plan of a transfer on a GPU.

    ``size``: bytes of an element. ``spaces``: of source and target. ``multiples``: for
    each address and length, a known divisor in bytes; 0 for the constant zero.
    ``exact``: names of those whose value is that number itself. ``rows``: None on
    devices without bulk copies.

    >>> both = {"source": 16, "target": 48, "count": 1024}
    >>> plan_copy(4, ("global", "shared"), both).reason
    'every address and length is a multiple of 16 bytes'
    >>> plan = plan_copy(2, ("global", "shared"), both | {"source": 2})
    >>> plan.mechanism, plan.width, plan.reason
    ('copy', 2, 'the source is only known to be a multiple of 2 bytes')
    >>> plan_copy(4, ("global", "shared"), both | {"stride": 132}, {"stride"}).reason
    'the stride is 132 bytes, no multiple of 16'
    >>> plan_copy(4, ("shared", "global"), both).reason
    'cp.async goes from global to shared memory only, not from shared to global'
    >>> plan = plan_copy(4, ("shared", "global"), both, rows=Rows(1024, least=64))
    >>> plan.mechanism, plan.width, plan.reason
    ('cp.async.bulk', 1024, 'every address and length is a multiple of 16 bytes')
    >>> plan_copy(4, ("global", "shared"), both, rows=Rows(32)).reason
    'no bulk copy: rows of 32 bytes are shorter than 16384'
    """
    common = gcd(*multiples.values())
    problem = "" if rows is None else rows.problem
    usable = [k for k in KINDS if not k.in_rows or (rows is not None and not problem)]
    kinds = [(kind, kind.widest(size, common)) for kind in usable if kind.goes(spaces)]
    kind, width = next((k, n) for k, n in [*kinds, (LOOP, size)] if n)
    reasons: list[str] = []
    if problem and BULK.goes(spaces) and BULK.widest(size, common):
        reasons.append(f"no bulk copy: {problem}")
    elif not kind.in_rows and not ASYNCHRONOUS.goes(spaces):
        from_, to = spaces
        reasons.append(
            f"cp.async goes from global to shared memory only, not from {from_} to {to}"
        )
    if width < WIDEST:
        reasons.append(_narrow(multiples, exact))
    elif not reasons:
        reasons.append(f"every address and length is a multiple of {WIDEST} bytes")
    piece = rows.length if kind.in_rows and rows else width
    return CopyPlan(kind.name, piece, "; ".join(reasons))


def _narrow(multiples: Mapping[str, int], exact: Collection[str]) -> str:
    """The address or length with the fewest factors of two, which limits the width."""
    part, known = min(multiples.items(), key=lambda item: item[1] & -item[1] or WIDEST)
    if part in exact:
        return f"the {part} is {known} bytes, no multiple of {WIDEST}"
    return f"the {part} is only known to be a multiple of {known} bytes"


TOKEN = DialectType("nvgpu.device.async.token")

COPY = "nvgpu.device_async_copy"
APART = "gcg.apart"
"""Attribute of copies that are one of many in straight-line code.

The contribution of the last variable and a constant are added to their addresses last.
"""
COMMIT = "nvgpu.device_async_create_group"
WAIT = "nvgpu.device_async_wait"


@dataclass(frozen=True, slots=True)
class AsyncCopy:
    """``nvgpu.device_async_copy``."""

    op: Operation

    @property
    def target(self) -> Value:
        return self._parts[0][0]

    @property
    def target_indices(self) -> Sequence[Value]:
        """Index of the first element in the target."""
        return self._parts[1]

    @property
    def source(self) -> Value:
        return self._parts[2][0]

    @property
    def source_indices(self) -> Sequence[Value]:
        """Index of the first element in the source."""
        return self._parts[3]

    @property
    def given(self) -> Value | None:
        """Number of elements to read; the rest of ``count`` is zero-filled."""
        return next(iter(self._parts[4]), None)

    @property
    def count(self) -> int:
        """Number of elements written to the target."""
        value = self.op.attributes["dstElements"]
        assert isinstance(value, IntegerAttr)
        return value.value

    @property
    def _parts(self) -> Sequence[Sequence[Value]]:
        return operand_segments(self.op, 5)


def pending_groups(op: Operation) -> int:
    """Number of newest groups that a wait leaves in flight."""
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

    ``apart`` sets the attribute `APART`.
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
    """``nvgpu.device_async_create_group`` of the copies started since the last group.

    ``stages`` notes in an attribute that the copies' target is one of several stages.
    The printed text of a group without tokens needs an attribute: otherwise the next
    line's result name would parse as its token.
    """
    results = (Value(TOKEN, "group", location),)
    attributes = {"gcg.stages": IntegerAttr(stages)}
    return Operation(COMMIT, (), results, attributes, location=location)


def wait(token: Value, pending: int, location: Location = UNKNOWN) -> Operation:
    """``nvgpu.device_async_wait``: the newest ``pending`` groups stay in flight."""
    attributes = {"numGroups": IntegerAttr(pending, I32)}
    return Operation(WAIT, (token,), (), attributes, location=location)
