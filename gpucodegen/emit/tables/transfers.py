"""Emits DMA transfers and per-thread asynchronous copies inside kernels.

A kernel with bulk copies is printed twice: addresses, known only while the text is
printed, decide which starts are bulk copies, and the lines of waits depend on all
starts.

Each element of a tag has an mbarrier, whose phase k covers all copies of the element
between its waits k - 1 and k: they announce their bytes, and the first thread arrives
at wait k. So a start may be conditional or one of several. All threads of a block
execute the same waits, and each keeps the parity of every element's phase in a bit. The
order that waits establish is proven for the module
(`gpucodegen.tiling.proof.async_copies`): a wait ends the transfers of its element.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import gcd

from gpucodegen.dialects.nvgpu.copies import (
    APART,
    BULK,
    COMMIT,
    COPY,
    LOOP,
    WAIT,
    AsyncCopy,
    CopyPlan,
    Rows,
    pending_groups,
    plan_copy,
)
from gpucodegen.dialects.shared.dma import (
    STARTS,
    WAITS,
    End,
    ends_of,
    has_strided_source,
    is_joined,
    left_open,
    lengths_of,
    tag_of,
)
from gpucodegen.emit.addressing import Descriptor, row_major
from gpucodegen.emit.context import Emitter, Handler
from gpucodegen.emit.copy_plan import PlannedTransfer, cells_of, is_load, is_view
from gpucodegen.emit.expressions import Text, call, number
from gpucodegen.emit.spelling import stored_bytes
from gpucodegen.emit.tables.hopper import engine
from gpucodegen.emit.tables.memory import buffer_of, shared_array
from gpucodegen.ir.affine import AffineExpr, Const, Dim, leaves, linear_form
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import element_type
from gpucodegen.records import dataclass

SIDES = ("source", "target")
_SIDE_BY_SIDE = (Const(1), Const(1))


@dataclass(frozen=True, slots=True)
class Move:
    """The operands of a ``dma_start`` as expressions.

    ``buffers`` and ``offsets`` are those of source, target and tag. ``runs``: stride
    and run of source and target, as `gpucodegen.intrinsics.cuda.memory.dma_start` takes
    them. ``spaces``: the memory spaces of both.
    """

    buffers: tuple[Descriptor, ...]
    offsets: tuple[AffineExpr, ...]
    count: AffineExpr
    runs: tuple[tuple[AffineExpr, ...], ...]
    spaces: tuple[str, str]

    @staticmethod
    def of(e: Emitter, op: Operation) -> Move:
        ends = ends_of(op)
        buffers = tuple(buffer_of(e, op, end.memref) for end in ends)
        pairs = zip(buffers, ends, strict=True)
        offsets = (b.at(indices_of(e, end)) for b, end in pairs)
        count, *stride = map(e.index, lengths_of(op))
        runs = [_one_run(buffer) for buffer in buffers[:2]]
        if stride:
            side = 0 if has_strided_source(ends[0].memref, ends[1].memref) else 1
            runs[side] = tuple(stride)
        source, target = (_space_name(e, b.pointer) for b in buffers[:2])
        return Move(buffers, tuple(offsets), count, tuple(runs), (source, target))

    @property
    def dtype(self) -> str:
        return self.buffers[0].dtype

    @property
    def row(self) -> AffineExpr | None:
        """Number of contiguous elements at both ends; None if they differ."""
        rows = {run for stride, run in self.runs if (stride, run) != _SIDE_BY_SIDE}
        return (rows or {self.count}).pop() if len(rows) < 2 else None

    def row_bytes(self) -> int:
        """Bytes of a contiguous row; 0 if unknown."""
        row = self.row
        size = stored_bytes(self.dtype)
        return row.value * size if isinstance(row, Const) else 0

    def plan(self, e: Emitter, refusal: str | None) -> CopyPlan:
        """The copy plan from the known divisors of each address and length.

        ``refusal``: why it is no bulk copy; None on devices without bulk copies.
        """
        if not e.spelling.in_blocks:
            return CopyPlan("copy", 0, "the CPU copies when it waits")
        size = stored_bytes(self.dtype)
        addresses = zip(SIDES, self.buffers, self.offsets, strict=False)
        multiples = {
            name: gcd(buffer.alignment or size, e.divisor(offset) * size)
            for name, buffer, offset in addresses
        }
        lengths = self._lengths()
        multiples |= {name: e.divisor(expr) * size for name, expr in lengths}
        exact = {name for name, expr in lengths if isinstance(expr, Const)}
        rows = (
            None
            if refusal is None
            else Rows(self.row_bytes(), refusal, e.facts.bulk.least)
        )
        return plan_copy(size, self.spaces, multiples, exact, rows)

    def _lengths(self) -> list[tuple[str, AffineExpr]]:
        """Lengths by name that must be multiples of the access width."""
        found = [("count", self.count)]
        for side, run in zip(SIDES, self.runs, strict=True):
            if run != _SIDE_BY_SIDE:
                names = (f"stride of the {side}", f"run of the {side}")
                found += zip(names, run, strict=True)
        return found

    def place(self, e: Emitter, end: int) -> tuple[Text, Text]:
        """Pointer of an end and offset of its first element."""
        offset = e.narrow(e.affine(self.offsets[end]))
        return Text(self.buffers[end].pointer), offset

    def sizes(self, e: Emitter) -> list[Text]:
        """Stride and run of the source, then of the target."""
        return [e.narrow(e.affine(expr)) for run in self.runs for expr in run]


def indices_of(e: Emitter, end: End) -> list[AffineExpr]:
    return e.applied(end.map, end.operands)


def _one_run(buffer: Descriptor) -> tuple[AffineExpr, ...]:
    """Stride and run of consecutive elements along the last dimension."""
    last: AffineExpr = Const(1)
    if buffer.strides and buffer.strides != row_major(buffer.sizes):
        last = buffer.strides[-1]
    return (last, Const(1))


def _space_name(e: Emitter, pointer: str) -> str:
    space = e.facts.spaces.get(pointer, "global")
    return "global" if space == "heap" else space


def prologue(e: Emitter) -> None:
    """Create the mbarriers of all tags, followed by a barrier."""
    plan = e.facts.bulk
    if not plan.settled or not plan.tags:
        return
    for tag in plan.tags:
        count = cells_of(tag)
        hint = tag.name or "tag"
        done, phases = (e.names.fresh(f"{hint}_{what}") for what in ("done", "phases"))
        plan.cells[tag] = done, phases
        e.writer.line(f"{done} = {shared_array(e, count, 'i64')}")
        made = e.make(f"bulk_barriers_{count}", "bulk_barriers", count)
        e.writer.line(str(call(made, done)))
        e.writer.line(f"{phases} = {e.use('int32')}(0)")
    _meet(e)


def start_bulk(e: Emitter, op: Operation, move: Move) -> None:
    """A ``dma_start`` that is a bulk copy; prints nothing in the first emission."""
    plan = e.facts.bulk
    if not plan.settled:
        return
    if fence := plan.fence(op):
        _fence(e, fence)
    places = [piece for end in range(2) for piece in move.place(e, end)]
    kind, tag = "bulk_store", tag_of(op)
    if is_load(op):
        kind = "bulk_load"
        done, _ = plan.cells[tag.memref]
        places += [Text(done), e.narrow(e.affine(_cell(e, op)))]
    assert move.row is not None
    lengths = [e.narrow(e.affine(length)) for length in (move.count, move.row)]
    made = e.make(f"{kind}_{move.dtype}", kind, move.dtype)
    e.writer.line(str(call(made, *places, *lengths, *move.sizes(e))))
    close_bulk_groups(e, op)


def close_bulk_groups(e: Emitter, op: Operation) -> None:
    """Close the groups that waits count, after the lines of a start."""
    for group in e.facts.bulk.closes(op):
        if group == "close_group":
            e.writer.line(str(call(e.make(group, group))))
        else:
            engine(e, group)


def wait_bulk(e: Emitter, op: Operation) -> bool:
    """The mbarrier wait for bulk copies to shared memory, if any."""
    plan, tag = e.facts.bulk, tag_of(op).memref
    if tag not in plan.cells:
        return False
    cell = _cell(e, op)
    if any(t is tag and not _differ(c, cell) for t, c in plan.waited):
        _meet(e)  # a phase must not end twice before all have seen it once
        plan.waited.clear()
    plan.waited.append((tag, cell))
    done, phases = plan.cells[tag]
    place = Text(done), e.narrow(e.affine(cell)), Text(phases)
    e.writer.line(f"{phases} = {call(e.make('bulk_wait', 'bulk_wait'), *place)}")
    return True


def end_stores(e: Emitter, op: Operation) -> None:
    """The wait for bulk copies to global memory, followed by a barrier."""
    if e.facts.bulk.ends_stores(op):
        engine(e, "end_stores", left_open(op))
    e.facts.bulk.waited.clear()


def _cell(e: Emitter, op: Operation) -> AffineExpr:
    tag = ends_of(op)[-1]
    return buffer_of(e, op, tag.memref).at(indices_of(e, tag))


def _differ(one: AffineExpr, other: AffineExpr) -> bool:
    """Whether two elements of a tag are certainly different."""
    apart = one - other
    return isinstance(apart, Const) and apart.value != 0


def _meet(e: Emitter) -> None:
    e.writer.line(f"{e.use('cuda')}.syncthreads()")


def _fence(e: Emitter, name: str) -> None:
    """A fence of all threads and a barrier, either the preceding one or a new one."""
    lines, barrier = e.writer.lines, f"{e.use('cuda')}.syncthreads()"
    stands_here = lines[-1].partition("  #")[0] == e.writer.indented(barrier)
    engine(e, name)
    if stands_here:
        lines[-2:] = lines[:-3:-1]
    else:
        e.writer.line(barrier)


def copy(e: Emitter, op: Operation) -> None:
    """``nvgpu.device_async_copy``: the program guarantees the alignment."""
    view = AsyncCopy(op)
    ends = (view.source, view.source_indices), (view.target, view.target_indices)
    buffers = [buffer_of(e, op, memref) for memref, _ in ends]
    size = stored_bytes(buffers[0].dtype)
    source, target = (
        buffer.at([e.index(v) for v in indices])
        for buffer, (_, indices) in zip(buffers, ends, strict=True)
    )
    first, more, constant = _apart(source, last=APART in op.attributes)
    places = [
        Text(buffers[0].pointer),
        e.offset(first),
        e.offset(more),
        number(constant),
        Text(buffers[1].pointer),
        e.offset(target),
    ]
    given = [] if view.given is None else [e.index(view.given) * size]
    real = [e.narrow(e.affine(length)) for length in given]
    width = view.count * size
    hint = f"async_copy_{width}{'_padded' if real else ''}"
    function = e.make(hint, "async_copy", width, *[True for _ in real])
    e.writer.line(str(call(function, *places, *real)))


def _apart(offset: AffineExpr, *, last: bool) -> tuple[AffineExpr, AffineExpr, int]:
    """Split an offset into base, contribution of its last variable, and constant.

    Neighbouring copies then differ by constants: the common part is computed once, and
    small constants fit the address operand.  ``last``: so do copies of successive K
    tiles in an unrolled loop, whose variable is the last one.
    """
    positions = [leaf.position for leaf in leaves(offset) if isinstance(leaf, Dim)]
    terms, constant = linear_form(offset)
    parts: list[AffineExpr] = [Const(min(0, constant)), Const(0)]
    for term, factor in terms.items():
        parts[last and Dim(max(positions)) in leaves(term)] += term * factor
    return parts[0], parts[1], max(0, constant)


def commit_group(e: Emitter, _: Operation) -> None:
    e.writer.line(str(call(e.make("close_group", "close_group"))))


def wait_groups(e: Emitter, op: Operation) -> None:
    pending = pending_groups(op)
    function = e.make(f"wait_groups_{pending}", "wait_groups", pending)
    e.writer.line(str(call(function)))


THREAD_COPY_HANDLERS: dict[str, Handler] = {
    COPY: copy,
    COMMIT: commit_group,
    WAIT: wait_groups,
}


def tags_in(operations: Iterable[Operation]) -> dict[Value, str]:
    """Tag memrefs of transfers, and their base buffers, with the moved dtype."""
    every = [op for root in operations for op in root.walk()]
    tags: dict[Value, str] = {}
    for op in every:
        if op.name in STARTS:
            source, _, tag = ends_of(op)
            tags[tag.memref] = str(element_type(source.memref.type))
        elif op.name in WAITS:
            tags.setdefault(ends_of(op)[0].memref, "f32")
    return seen_through(tags, every)


def seen_through(
    tags: Mapping[Value, str], operations: Iterable[Operation]
) -> dict[Value, str]:
    """Tags, and the buffers of which they are views."""
    made = {op.results[0]: op.operands[0] for op in operations if is_view(op)}
    found = dict(tags)
    for tag, dtype in tags.items():
        base = tag
        while base in made:
            base = made[base]
            found.setdefault(base, dtype)
    return found


def in_flight(operations: Iterable[Operation]) -> dict[Value, int]:
    """Per tag memref, the maximum number of groups that its waits leave in flight."""
    found: dict[Value, int] = {}
    waited: list[Value] = []
    for op in (inner for root in operations for inner in root.walk()):
        if op.name in WAITS:
            waited.append(ends_of(op)[0].memref)
            if not is_joined(op):
                for tag in waited:
                    found[tag] = max(found.get(tag, 1), left_open(op) + 1)
                waited.clear()
    return found


def start(e: Emitter, op: Operation) -> None:
    move = Move.of(e, op)
    plan = move.plan(e, e.facts.bulk.refusal(op))
    e.facts.bulk.plans[id(op)] = plan
    is_free = plan.mechanism != LOOP.name
    tag = ends_of(op)[2].memref
    noted(e, op, plan, e.facts.in_flight.get(tag, 0) if is_free else 0)
    if plan.mechanism == BULK.name:
        start_bulk(e, op, move)
        return
    size, spaces = stored_bytes(move.dtype), move.spaces
    hint = f"dma_start_{move.dtype}_{spaces[0]}_to_{spaces[1]}"
    options = (plan.width,) if is_free or plan.width > size else ()
    if is_joined(op):
        hint, options = f"{hint}_joined", (plan.width if options else 0, False)
    function = e.make(hint, "dma_start", move.dtype, *spaces, *options)
    places = [piece for end in range(3) for piece in move.place(e, end)]
    count = e.narrow(e.affine(move.count))
    e.writer.line(str(call(function, *places, count, *move.sizes(e))))
    close_bulk_groups(e, op)


def wait(e: Emitter, op: Operation) -> None:
    """``dma_wait``, followed by a barrier of the block."""
    is_bulk = wait_bulk(e, op)
    if e.spelling.in_blocks and is_joined(op):
        noted(e, op, _waiting(is_bulk, "the next wait waits for it, too"))
        return
    pending = left_open(op)
    if e.facts.bulk.ends_groups(op):
        _end_groups(e, op, pending)
    end_stores(e, op)
    if not e.spelling.in_blocks:
        noted(e, op, CopyPlan("copy", 0, "the elements are copied here"))
        return
    e.writer.line(f"{e.use('cuda')}.syncthreads()")
    newest = f" but the newest {pending}" if pending else ""
    noted(e, op, _waiting(is_bulk, f"all copies{newest} end, then a barrier"), pending)


def _waiting(is_bulk: bool, reason: str) -> CopyPlan:
    if is_bulk:
        return CopyPlan("mbarrier", 0, "those of the tag come, then a barrier")
    return CopyPlan("wait_group", 0, reason)


def _end_groups(e: Emitter, op: Operation, pending: int) -> None:
    """The call that waits for all but the newest ``pending`` groups."""
    (end,) = ends_of(op)
    tag = buffer_of(e, op, end.memref)
    kind = e.facts.tags.get(end.memref, "f32")
    numbers = (pending,) if pending else ()
    hint = "_".join(["dma_wait", kind, *map(str, numbers)])
    function = e.make(hint, "dma_wait", kind, *numbers)
    (count,) = (e.narrow(e.affine(e.index(v))) for v in lengths_of(op))
    where = e.narrow(e.affine(tag.at(indices_of(e, end))))
    e.writer.line(str(call(function, tag.pointer, where, count)))


def noted(e: Emitter, op: Operation, plan: CopyPlan, groups: int = 0) -> None:
    """Record the plan of a transfer for the report."""
    ends = [f"%{end.memref.name or '?'}" for end in ends_of(op)]
    what = f"{ends[0]} to {ends[1]}" if op.name in STARTS else ends[0]
    planned = plan.mechanism, plan.reason, plan.width
    e.transfers.append(PlannedTransfer(op.name, what, *planned, op.location, groups))


HANDLERS: dict[str, Handler] = dict.fromkeys(STARTS, start) | dict.fromkeys(WAITS, wait)
