"""Bulk copies of a kernel: the lines of their starts and waits.

A kernel is written twice where it has any: addresses, known only as the text is
written, decide which starts are bulk copies, and lines of waits depend on all starts.

Each cell of a tag has an mbarrier, whose phase k takes all copies of the cell between
its waits k - 1 and k: they announce their bytes, and the first thread arrives at
wait k.  So a start may be conditional or one of several.  All threads of a block come
to the same waits, and each keeps the parity of every cell's phase in a bit.  What the
waits order is proven of the module (`gpucodegen.tiling.proof.kernels.transfers`): a
wait ends the transfers of its cell.
"""

from __future__ import annotations

from gpucodegen.dialects.shared.transfers import ends_of, left_open, tag_of
from gpucodegen.emit.kernel.context import Emitter
from gpucodegen.emit.tables.engines.barriers import engine
from gpucodegen.emit.tables.memory.memory import buffer_of, shared_array
from gpucodegen.emit.tables.transfers.bulk_plan import cells_of, is_load
from gpucodegen.emit.tables.transfers.moves import Move, indices_of
from gpucodegen.emit.text.fragments import Text, call
from gpucodegen.ir.affine.expressions import AffineExpr, Const
from gpucodegen.ir.operation import Operation


def prologue(e: Emitter) -> None:
    """Make the mbarriers of all tags; threads meet before they use them."""
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


def start(e: Emitter, op: Operation, move: Move) -> None:
    """A ``dma_start`` that is a bulk copy; nothing yet in the first text."""
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
    close(e, op)


def close(e: Emitter, op: Operation) -> None:
    """Close groups that waits count, behind the lines of a start."""
    for group in e.facts.bulk.closes(op):
        if group == "close_group":
            e.writer.line(str(call(e.make(group, group))))
        else:
            engine(e, group)


def wait(e: Emitter, op: Operation) -> bool:
    """The part of a ``dma_wait`` that bulk copies to shared memory need, if any."""
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
    """The part that bulk copies to global memory need; threads meet after it."""
    if e.facts.bulk.ends_stores(op):
        engine(e, "end_stores", left_open(op))
    e.facts.bulk.waited.clear()


def _cell(e: Emitter, op: Operation) -> AffineExpr:
    """The number of a tag's cell."""
    tag = ends_of(op)[-1]
    return buffer_of(e, op, tag.memref).at(indices_of(e, tag))


def _differ(one: AffineExpr, other: AffineExpr) -> bool:
    """Whether two cells are certainly not the same."""
    apart = one - other
    return isinstance(apart, Const) and apart.value != 0


def _meet(e: Emitter) -> None:
    e.writer.line(f"{e.use('cuda')}.syncthreads()")


def _fence(e: Emitter, name: str) -> None:
    """Let all threads fence, then meet: at the barrier just before, or at a new one."""
    lines, barrier = e.writer.lines, f"{e.use('cuda')}.syncthreads()"
    stands_here = lines[-1].partition("  #")[0] == e.writer.indented(barrier)
    engine(e, name)
    if stands_here:
        lines[-2:] = lines[:-3:-1]
    else:
        e.writer.line(barrier)
