"""Plans the transfers of a kernel: mechanism, mbarriers, fences and commit groups.

`gpucodegen.dialects.nvgpu.copies` chooses the mechanism of each start. `BufferUses`
lists the buffers that the kernel reads and writes, through views as well. `BulkPlan`
decides which transfers may be bulk copies, which tags need mbarriers, where fences are
needed and which starts close a group. `PlannedTransfer` records the decision for
`gpucodegen.program.Program.transfers` and the report.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from math import prod

from gpucodegen.dialects.func import Function
from gpucodegen.dialects.gcg import least_row
from gpucodegen.dialects.nvgpu.copies import BULK, COPY, LEAST_ROW, CopyPlan
from gpucodegen.dialects.nvgpu.types import BARRIER_BYTES
from gpucodegen.dialects.shared.dma import (
    STARTS,
    TRANSFERS,
    WAITS,
    ends_of,
    is_joined,
    left_open,
    tag_of,
)
from gpucodegen.dialects.shared.memory import ALLOCATIONS, is_shared
from gpucodegen.emit.addressing import SHARED_ALIGNMENT
from gpucodegen.ir.affine import AffineExpr
from gpucodegen.ir.locations import Location, file_location
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import MemRefType
from gpucodegen.records import dataclass


@dataclass(frozen=True, slots=True)
class PlannedTransfer:
    """How a ``dma_start``, ``dma_wait``, tile product or atomic update is carried out.

    ``what``: the buffers, or the tag. ``mechanism``: ``cp.async``, ``copy``, or
    ``wait_group`` for a wait that asynchronous copies may need; for a tile product the
    instruction, such as ``mma.sync m16n8k16``; for atomic updates the memory that
    combines them. ``width``: bytes of each access. ``groups``: number of groups that
    may be in flight after a start has closed its own, or after a wait; 0 if none can
    be.
    """

    operation: str
    what: str
    mechanism: str
    reason: str
    width: int = 0
    location: Location | None = None
    groups: int = 0

    @property
    def how(self) -> str:
        """Mechanism, width, groups and reason in words.

        >>> start = PlannedTransfer("dma_start", "%a to %b", "cp.async", "why", 16)
        >>> start.how
        'cp.async of 16 bytes; why'
        """
        width = f" of {self.width} bytes" if self.width else ""
        plural = "s" * (self.groups != 1)
        groups = f", up to {self.groups} group{plural} in flight" if self.groups else ""
        return f"{self.mechanism}{width}{groups}; {self.reason}"

    def __str__(self) -> str:
        place = file_location(self.location) if self.location else None
        where = f"{place.filename}:{place.line}:{place.column}: " if place else ""
        return f"{where}{self.operation} {self.what}: {self.how}"


STORES = {
    "affine.store": 1,
    "memref.store": 1,
    "affine.vector_store": 1,
    "vector.store": 1,
    "vector.transfer_write": 1,
    "vector.maskedstore": 0,
    "memref.atomic_rmw": 1,
    "memref.generic_atomic_rmw": 0,
    "memref.copy": 1,
    "memref.dma_wait": 0,
    "affine.dma_wait": 0,
    "gcg.grid_barrier": 0,
    COPY: 0,
    "gpu.subgroup_mma_store_matrix": 1,
    "nvgpu.warpgroup.mma.store": 1,
}
"""The position of the memref that an operation writes."""


def written_in(operations: Sequence[Operation]) -> set[Value]:
    """Memrefs that the operations write to, directly or through a view."""
    written: set[Value] = set()
    for root in operations:
        for op in root.walk():
            if op.name in STORES:
                written.add(op.operands[STORES[op.name]])
            elif op.name in STARTS:
                _, target, tag = ends_of(op)
                written.update((target.memref, tag.memref))
    return with_sources(operations, written)


def with_sources(operations: Iterable[Operation], values: set[Value]) -> set[Value]:
    """The memrefs and the memrefs of which they are views."""
    source = {
        result: op.operands[0]
        for root in operations
        for op in root.walk()
        if op.dialect == "memref" and op.operands
        for result in op.results
    }
    found: set[Value] = set()
    work = list(values)
    while work:
        value = work.pop()
        found.add(value)
        if value in source:
            work.append(source[value])
    return found


_NAMED = ALLOCATIONS | {"memref.get_global"}
_SILENT = frozenset({"memref.dealloc", "memref.dim"})


@dataclass(frozen=True, slots=True)
class BufferUses:
    """The buffers that a kernel accesses outside of transfers.

    ``written`` and ``touched`` hold buffers, not views of them; they are None if an
    accessed memref has no known buffer.
    """

    made: Mapping[Value, Operation]
    arguments: frozenset[Value]
    written: frozenset[Value | None]
    touched: frozenset[Value | None]

    @staticmethod
    def of(kernel: Operation) -> BufferUses:
        """The uses in a kernel's function."""
        every = list(kernel.walk())
        made = {result: op for op in every for result in op.results}
        arguments = frozenset(Function(kernel).arguments)
        plain = BufferUses(made, arguments, frozenset(), frozenset())
        written, touched = set[Value | None](), set[Value | None]()
        for op in every:
            if op.name in TRANSFERS or op.name in _SILENT or is_view(op):
                continue
            memrefs = [v for v in op.operands if isinstance(v.type, MemRefType)]
            touched.update(map(plain.buffer, memrefs))
            target = op.operands[STORES[op.name]] if op.name in STORES else None
            if target is not None and target in memrefs:
                written.add(plain.buffer(target))
        return BufferUses(made, arguments, frozenset(written), frozenset(touched))

    def buffer(self, memref: Value) -> Value | None:
        """The buffer of a memref or view; None if it is unknown."""
        while memref in self.made and is_view(self.made[memref]):
            memref = self.made[memref].operands[0]
        maker = self.made.get(memref)
        is_named = maker.name in _NAMED if maker else memref in self.arguments
        return memref if is_named else None

    def is_written(self, memref: Value) -> bool:
        return bool({None, self.buffer(memref)} & self.written)

    def is_touched(self, memref: Value) -> bool:
        return bool({None, self.buffer(memref)} & self.touched)


def is_view(op: Operation) -> bool:
    """Whether the operation's results alias its first operand."""
    if op.dialect != "memref" or not op.results or not op.operands:
        return False
    ends = op.operands[0], op.results[0]
    return all(isinstance(value.type, MemRefType) for value in ends)


CELLS = 32
"""Maximum number of elements of a tag: phase parities are bits of one integer."""


@dataclass(frozen=True, slots=True)
class BulkPlan:
    """The transfers of one kernel on a device with or without bulk copies.

    ``transfers`` are its starts and waits; empty without bulk copies. ``users``: the
    operations that use a value. ``spare``: bytes of shared memory left for mbarriers.
    ``least``: bytes of the shortest rows that become bulk copies. ``plans``: plans of
    starts by identity; the first emission collects them, the second one, which is
    ``settled``, uses them.
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
    """The variables of a tag's mbarriers and of their phase parities."""
    waited: list[tuple[Value, AffineExpr]] = field(
        default_factory=list[tuple[Value, AffineExpr]]
    )
    """Tag elements waited for since the last barrier, during the second emission."""

    @staticmethod
    def of(kernel: Operation, spare: int) -> BulkPlan:
        """The plan for the first emission, on a device with bulk copies."""
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
        """The plan for the second emission, when all starts are planned."""
        return replace(self, settled=True)

    # -- before the plans are known ----------------------------------------------------

    def refusal(self, start: Operation) -> str | None:
        """Why a start is no bulk copy, "" for no reason; None without bulk copies."""
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
        """Why the waits that end a tag's transfers are unknown."""
        users = [op for op in self.users[tag] if op.name != "memref.dealloc"]
        if any(op.name not in TRANSFERS or not _names(op, tag) for op in users):
            return f"%{tag.name} is used otherwise, too"
        if not any(op.name in WAITS for op in users):
            return f"no wait of the kernel names %{tag.name}"
        return ""

    def _problem_of_cells(self, tag: Value) -> str:
        """Why the elements of a tag have no mbarriers."""
        if not 0 < cells_of(tag) <= CELLS:
            return f"%{tag.name} has more than {CELLS} cells, or no fixed number"
        tags = {tag_of(op).memref for op in self._starts}
        if sum(map(barrier_bytes, tags)) > self.spare:
            return "no shared memory is left for its mbarriers"
        return ""

    def _is_written(self, memref: Value) -> bool:
        """Whether any operation of the kernel may write to a buffer."""
        assert self.uses is not None
        targets = {self.uses.buffer(ends_of(op)[1].memref) for op in self._starts}
        is_target = bool({None, self.uses.buffer(memref)} & targets)
        return is_target or self.uses.is_written(memref)

    # -- with the plans of all starts --------------------------------------------------

    @property
    def _starts(self) -> list[Operation]:
        return [op for op in self.transfers if op.name in STARTS]

    def is_bulk(self, start: Operation) -> bool:
        plan = self.plans.get(id(start))
        return plan is not None and plan.mechanism == BULK.name

    @property
    def bulk(self) -> list[Operation]:
        return [op for op in self._starts if self.is_bulk(op)]

    @property
    def tags(self) -> list[Value]:
        """The tags whose elements have mbarriers."""
        loads = (op for op in self.bulk if is_load(op))
        return list(dict.fromkeys(tag_of(op).memref for op in loads))

    @property
    def shared_bytes(self) -> int:
        """Upper bound of the mbarriers' bytes."""
        return sum(map(barrier_bytes, self.tags)) if self.settled else 0

    def fence(self, start: Operation) -> str:
        """The fence that orders threads' accesses before a bulk copy, or "".

        Threads and ``cp.async`` write by the generic proxy, bulk copies by the async
        proxy.
        """
        source, target = (end.memref for end in ends_of(start)[:2])
        if is_load(start):
            return "fence_proxy_shared" if self._by_threads(target) else ""
        if self._by_threads(target, reads=True):
            return "fence_proxy"
        return "fence_proxy_shared" if self._by_threads(source) else ""

    def _by_threads(self, memref: Value, *, reads: bool = False) -> bool:
        """Whether threads write to a buffer, or read it if ``reads``."""
        assert self.uses is not None
        buffer = self.uses.buffer(memref)
        ends = slice(0 if reads else 1, 2)
        others = (op for op in self._starts if not self.is_bulk(op))
        moved = (end.memref for op in others for end in ends_of(op)[ends])
        touched = self.uses.is_touched if reads else self.uses.is_written
        return touched(memref) or buffer in map(self.uses.buffer, moved)

    def closes(self, start: Operation) -> list[str]:
        """The group kinds that a start closes, besides that of its own cp.async.

        Where waits count groups, they count the closing starts of all kinds, so each
        start closes a group of every kind, even an empty one.
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
        """Whether a start closes a group of one kind of copy."""
        counted = any(left_open(op) for op in self.transfers if op.name in WAITS)
        alone = not counted and not any(map(is_joined, kind))
        return start in kind if alone else bool(kind)

    def ends_groups(self, wait: Operation) -> bool:
        """Whether a wait, or one joined to it, ends groups of cp.async."""
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
        """A wait and those joined to it."""
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
    """Bytes of a tag's mbarriers, with alignment padding."""
    return cells_of(tag) * BARRIER_BYTES + SHARED_ALIGNMENT


def cells_of(tag: Value) -> int:
    """Number of contiguous elements of a tag; 0 if unknown."""
    ty = tag.type
    if not isinstance(ty, MemRefType) or ty.layout is not None:
        return 0
    extents = [n for n in ty.shape if n is not None]
    return prod(extents) if len(extents) == len(ty.shape) else 0


def _names(op: Operation, tag: Value) -> bool:
    """Whether a transfer uses a memref as its tag only."""
    *others, last = (end.memref for end in ends_of(op))
    return last is tag and tag not in others


def _in_shared(memref: Value) -> bool:
    ty = memref.type
    return isinstance(ty, MemRefType) and is_shared(ty.memory_space)
