"""Which transfers of a kernel may be bulk copies, and what those that are one need.

Comes in: a kernel's function, then the plan of each of its starts.  Goes out: why a
start may be none; the tags whose cells need mbarriers; fences; groups that are closed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod

from gpucodegen.dialects.gcg.bulk_rows import least_row
from gpucodegen.dialects.nvgpu.copy_kinds import BULK, LEAST_ROW, CopyPlan
from gpucodegen.dialects.nvgpu.types import BARRIER_BYTES
from gpucodegen.dialects.shared.memory_spaces import is_shared
from gpucodegen.dialects.shared.transfers import (
    STARTS,
    TRANSFERS,
    WAITS,
    ends_of,
    is_joined,
    left_open,
    tag_of,
)
from gpucodegen.emit.tables.memory.addressing import SHARED_ALIGNMENT
from gpucodegen.emit.tables.transfers.buffer_uses import BufferUses
from gpucodegen.ir.affine.expressions import AffineExpr
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import MemRefType

CELLS = 32
"""Cells of a tag: the parities of their phases are bits of one number."""


@dataclass(frozen=True, slots=True)
class BulkPlan:
    """The transfers of one kernel on a device with bulk copies, or without.

    ``transfers`` are its starts and waits; none without bulk copies.  ``users``: the
    operations that have a value.  ``spare``: bytes of shared memory that barriers may
    take.  ``least``: bytes of the shortest rows that are bulk copies.  ``plans``: of
    starts by their identity; in the first text they are noted, and known in the second,
    which is ``settled``.
    """

    transfers: tuple[Operation, ...] = ()
    uses: BufferUses | None = None
    users: Mapping[Value, Sequence[Operation]] = field(
        default_factory=dict[Value, Sequence[Operation]]
    )
    spare: int = 0
    least: int = LEAST_ROW
    plans: dict[int, CopyPlan] = field(default_factory=dict[int, CopyPlan])
    settled: bool = False
    cells: dict[Value, tuple[str, str]] = field(
        default_factory=dict[Value, tuple[str, str]]
    )
    """The variables of a tag's mbarriers and of the parities of their phases."""
    waited: list[tuple[Value, AffineExpr]] = field(
        default_factory=list[tuple[Value, AffineExpr]]
    )
    """The cells waited for since threads met, as the second text is written."""

    @staticmethod
    def of(kernel: Operation, spare: int) -> BulkPlan:
        """What is known before the first text, on a device with bulk copies."""
        every = list(kernel.walk())
        transfers = tuple(op for op in every if op.name in TRANSFERS)
        if not transfers:
            return BulkPlan()
        users: dict[Value, list[Operation]] = {}
        for op in every:
            for value in op.operands:
                users.setdefault(value, []).append(op)
        uses = BufferUses.of(kernel)
        return BulkPlan(transfers, uses, users, spare, least_row(kernel))

    def second(self) -> BulkPlan:
        """What is known when the plans of all starts are."""
        return replace(self, settled=True)

    # -- before the plans are known ----------------------------------------------------

    def refusal(self, start: Operation) -> str | None:
        """Why a start is no bulk copy, "" for nothing; None: the device has none."""
        if self.uses is None:
            return None
        source, target, tag = (end.memref for end in ends_of(start))
        for memref in (source, target):
            if self.uses.buffer(memref) is None:
                return f"it is not known which buffer %{memref.name} is"
        problem = self._problem_of_tag(tag)
        if problem or not _in_shared(target):
            return problem
        if self._is_written(source):
            return f"the kernel writes to %{source.name}, too"
        return self._problem_of_cells(tag)

    def _problem_of_tag(self, tag: Value) -> str:
        """Why it is not known which waits end the transfers of a tag."""
        users = [op for op in self.users[tag] if op.name != "memref.dealloc"]
        if any(op.name not in TRANSFERS or not _names(op, tag) for op in users):
            return f"%{tag.name} is used otherwise, too"
        if not any(op.name in WAITS for op in users):
            return f"no wait of the kernel names %{tag.name}"
        return ""

    def _problem_of_cells(self, tag: Value) -> str:
        """Why the cells of a tag have no mbarriers."""
        if not 0 < cells_of(tag) <= CELLS:
            return f"%{tag.name} has more than {CELLS} cells, or no fixed number"
        tags = {tag_of(op).memref for op in self._starts}
        if sum(map(barrier_bytes, tags)) > self.spare:
            return "no shared memory is left for its mbarriers"
        return ""

    def _is_written(self, memref: Value) -> bool:
        """Whether anything of the kernel may write to a buffer."""
        assert self.uses is not None
        targets = {self.uses.buffer(ends_of(op)[1].memref) for op in self._starts}
        is_target = bool({None, self.uses.buffer(memref)} & targets)
        return is_target or self.uses.is_written(memref)

    # -- with the plans of all starts --------------------------------------------------

    @property
    def _starts(self) -> list[Operation]:
        return [op for op in self.transfers if op.name in STARTS]

    def is_bulk(self, start: Operation) -> bool:
        """Whether a start is a bulk copy; one that is never written is none."""
        plan = self.plans.get(id(start))
        return plan is not None and plan.mechanism == BULK.name

    @property
    def bulk(self) -> list[Operation]:
        """The starts that are bulk copies."""
        return [op for op in self._starts if self.is_bulk(op)]

    @property
    def tags(self) -> list[Value]:
        """Those whose cells have mbarriers."""
        loads = (op for op in self.bulk if is_load(op))
        return list(dict.fromkeys(tag_of(op).memref for op in loads))

    @property
    def shared_bytes(self) -> int:
        """What the mbarriers take, at most."""
        return sum(map(barrier_bytes, self.tags)) if self.settled else 0

    def fence(self, start: Operation) -> str:
        """What orders a bulk copy behind what threads did to its buffers, or "".

        Threads write, and cp.async does, by another proxy than bulk copies.
        """
        source, target = (end.memref for end in ends_of(start)[:2])
        if is_load(start):
            return "fence_proxy_shared" if self._by_threads(target) else ""
        if self._by_threads(target, reads=True):
            return "fence_proxy"
        return "fence_proxy_shared" if self._by_threads(source) else ""

    def _by_threads(self, memref: Value, *, reads: bool = False) -> bool:
        """Whether threads write to a buffer, or as much as read it."""
        assert self.uses is not None
        buffer = self.uses.buffer(memref)
        ends = slice(0 if reads else 1, 2)
        others = (op for op in self._starts if not self.is_bulk(op))
        moved = (end.memref for op in others for end in ends_of(op)[ends])
        touched = self.uses.is_touched if reads else self.uses.is_written
        return touched(memref) or buffer in map(self.uses.buffer, moved)

    def closes(self, start: Operation) -> list[str]:
        """The groups that a start closes, but for the one of its own cp.async.

        Where waits count groups, they count the closing starts of all kinds, so each
        closes a group of each kind, maybe an empty one.
        """
        if not self.settled or is_joined(start):
            return []
        stores = [op for op in self.bulk if not is_load(op)]
        others = [op for op in self._starts if not self.is_bulk(op)]
        found = ["commit_stores"] if self._is_closed_by(start, stores) else []
        if self.is_bulk(start) and self._is_closed_by(start, others):
            found.append("close_group")
        return found

    def _is_closed_by(self, start: Operation, kind: Sequence[Operation]) -> bool:
        """Whether a start closes a group of copies of a kind."""
        counted = any(left_open(op) for op in self.transfers if op.name in WAITS)
        alone = not counted and not any(map(is_joined, kind))
        return start in kind if alone else bool(kind)

    def ends_groups(self, wait: Operation) -> bool:
        """Whether a wait ends groups of cp.async: of its own, or joined to it."""
        if not self.settled:
            return True
        mine = [self._of_tag(op) for op in self._run(wait)]
        return any(not starts or not all(map(self.is_bulk, starts)) for starts in mine)

    def ends_stores(self, wait: Operation) -> bool:
        """Whether a wait ends bulk copies to global memory."""
        starts = (op for each in self._run(wait) for op in self._of_tag(each))
        return self.settled and any(
            self.is_bulk(op) and not is_load(op) for op in starts
        )

    def _of_tag(self, wait: Operation) -> list[Operation]:
        tag = tag_of(wait).memref
        return [op for op in self._starts if tag_of(op).memref is tag]

    def _run(self, wait: Operation) -> list[Operation]:
        """A wait behind all those that are joined to it."""
        run: list[Operation] = []
        for op in self.transfers:
            if op.name in WAITS:
                run.append(op)
                if op is wait:
                    return run
                if not is_joined(op):
                    run = []
        return run


def is_load(start: Operation) -> bool:
    """Whether a bulk copy goes to shared memory."""
    return _in_shared(ends_of(start)[1].memref)


def barrier_bytes(tag: Value) -> int:
    """Bytes of the mbarriers of a tag, with what may lie before them."""
    return cells_of(tag) * BARRIER_BYTES + SHARED_ALIGNMENT


def cells_of(tag: Value) -> int:
    """How many cells a tag has, one after the other; 0 where that is not known."""
    ty = tag.type
    if not isinstance(ty, MemRefType) or ty.layout is not None:
        return 0
    extents = [n for n in ty.shape if n is not None]
    return prod(extents) if len(extents) == len(ty.shape) else 0


def _names(op: Operation, tag: Value) -> bool:
    """Whether a transfer has a memref as its tag alone."""
    *others, last = (end.memref for end in ends_of(op))
    return last is tag and tag not in others


def _in_shared(memref: Value) -> bool:
    ty = memref.type
    return isinstance(ty, MemRefType) and is_shared(ty.memory_space)
