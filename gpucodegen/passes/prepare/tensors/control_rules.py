"""Bufferization of loops, branches, calls, returns and memref conversions.

* A loop-carried tensor has one buffer, which every iteration updates.  Yielded tensors
  are copied there unless they lie there already.  The copies of one iteration are
  parallel: a tensor that another copy would overwrite first is saved before.
* An iteration of a parallel loop sees the shared tensor as it was before the loop and
  inserts a part.  If it extracts the same part, that is updated in place; otherwise the
  loop writes to a copy.
* Tensors that branches choose lie in one buffer, whichever branch runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpucodegen.ir.operation import (
    OPERAND_SEGMENTS,
    Operation,
    Region,
    Successor,
    Value,
    segment_counts,
)
from gpucodegen.ir.types import MemRefType
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.prepare.tensors.conflicts import Write, obstacle, reads
from gpucodegen.passes.prepare.tensors.placement import (
    Buffer,
    Copied,
    Storage,
    buffer_type,
    shape_of,
)
from gpucodegen.passes.prepare.tensors.rewriter import (
    TENSORS,
    Rewriter,
    origin,
    refusal,
)
from gpucodegen.passes.prepare.tensors.shape_rules import put
from gpucodegen.records import dataclass


def call(r: Rewriter, b: Builder, op: Operation) -> None:
    """A call reads its tensor operands and returns new ones."""
    operands = tuple(_plain(r, b, value) for value in op.operands)
    results: list[Value] = []
    for value in op.results:
        ty = buffer_type(value.type, op.location)
        made = value if ty == value.type else value.renewed(ty)
        if made is not value:
            buffer = Buffer(made, Storage(writable=True, owned=True))
            r.frames[-1].buffers.append(buffer)
            r.bind(value, buffer)
        results.append(made)
    b.operations.append(op.with_(operands=operands, results=tuple(results)))


def _plain(r: Rewriter, b: Builder, value: Value) -> Value:
    return r.plain(b, value) if value in r.buffers else value


def branch(r: Rewriter, b: Builder, op: Operation) -> None:
    """``cf.br`` and the like: passed values are not overwritten any more."""
    successors = tuple(
        Successor(target.label, tuple(_shown(r, b, v) for v in target.operands))
        for target in op.successors
    )
    operands = tuple(map(r.memref, op.operands))
    b.operations.append(op.with_(operands=operands, successors=successors))


def _shown(r: Rewriter, b: Builder, value: Value) -> Value:
    if value not in r.buffers:
        return value
    _reveal(r.buffers[value])
    return r.plain(b, value)


def _reveal(buffer: Buffer) -> None:
    """Mark a buffer as visible elsewhere: it is neither freed nor changed."""
    buffer.storage.owned = buffer.storage.writable = False


def return_buffers(r: Rewriter, b: Builder, op: Operation) -> None:
    """``func.return``: each tensor leaves in its own buffer."""
    returned: list[Value] = []
    for value in op.operands:
        memref = value
        if isinstance(value.type, TENSORS):
            buffer = r.buffers[value]
            if not _is_whole(buffer, value) or not buffer.storage.owned:
                buffer = r.copied(b, value)
            buffer.storage.owned = False
            memref = _cast(b, buffer.value, value)
        returned.append(memref)
    b.operations.append(op.with_(operands=tuple(returned)))


def _is_whole(buffer: Buffer, value: Value) -> bool:
    """Whether it is all of its storage, in row-major order."""
    ty = buffer.value.type
    is_plain = isinstance(ty, MemRefType) and ty.layout is None
    return is_plain and not buffer.steps and shape_of(ty) == shape_of(value.type)


def _cast(b: Builder, memref: Value, value: Value) -> Value:
    ty = buffer_type(value.type)
    if memref.type == ty:
        return memref
    return b.value("memref.cast", (memref,), ty, hint=value.name)


# -- memrefs ---------------------------------------------------------------------------


def to_tensor(r: Rewriter, b: Builder, op: Operation) -> None:
    """``to_tensor``: the buffer itself if nothing changes it, else a copy."""
    source = Buffer(op.operands[0], Storage(writable=False))
    reason, notes = "later stores may change its buffer: it is not 'restrict'", []
    if "restrict" in op.attributes and isinstance(source.value.type, MemRefType):
        other = obstacle(r.conflicts.order, op)
        if other is None:
            r.bind(op.result, source)
            return
        reason = f"'{other.name}' may change its buffer, or hand the tensor on"
        notes = [(other.location, "it is done here")]
    r.copies.append(Copied(op, op.operands[0], reason, notes))
    copy = r.allocate_like(b, source, op.result.name)
    b.add("memref.copy", (source.value, copy.value))
    r.bind(op.result, copy)


def materialize(r: Rewriter, b: Builder, op: Operation) -> None:
    """``materialize_in_destination``: the value is copied where it must be."""
    source, target = op.operands
    into = target
    if op.results:
        buffer = r.writable(b, Write(op, 1), contents=False)
        into = buffer.value
        r.bind(op.result, buffer)
        if r.buffers[source].is_at(buffer):
            return
    b.add("memref.copy", (r.memref(source), into))


def to_buffer(r: Rewriter, b: Builder, op: Operation) -> None:
    """``to_buffer``: the tensor's buffer, or a copy of one with other uses."""
    buffer = r.buffers[op.operands[0]]
    if "read_only" not in op.attributes:
        buffer = r.writable(b, Write(op, 0))
    _reveal(buffer)
    b.operations.append(
        Operation("memref.cast", (buffer.value,), (op.result,), location=op.location)
    )


def nothing(r: Rewriter, b: Builder, op: Operation) -> None:
    """``dealloc_tensor``: no operation, since buffers are freed anyway."""
    del r, b, op


_ADVICE = "Let the loop carry tensors whose extents stay the same"


def counted(r: Rewriter, b: Builder, op: Operation) -> None:
    """``scf.for`` and ``affine.for``."""
    first = len(op.operands) - len(op.results)
    arguments, yielded = op.body.arguments[1:], op.body.operations[-1].operands
    held: dict[Value, Buffer] = {}
    settled: set[int] = set()
    for n, (argument, value) in enumerate(zip(arguments, yielded, strict=True)):
        if isinstance(argument.type, TENSORS):
            is_kept = value is argument
            uses = (argument, op.results[n])
            held[argument] = _entered(r, b, op, first + n, settled, uses, is_kept)
    ends = [_loop_end(argument, held) for argument in arguments]

    def finish(inner: Builder, last: Operation) -> None:
        leave(r, inner, last, ends)

    kept = (op.body.arguments[0], *(v for v in arguments if v not in held))
    block = r.body(op.body, kept, finish)
    inits = _scalars(op.operands[first:])
    rebuilt = op.with_(
        operands=(*op.operands[:first], *inits), results=_scalars(op.results)
    ).with_body(())
    (region,) = rebuilt.regions
    rebuilt = rebuilt.with_(regions=(type(region)((block,)),))
    b.operations.append(_segmented(rebuilt, len(inits)))
    for result, end in zip(op.results, ends, strict=True):
        if end is not None:
            r.bind(result, end.buffer)


def _loop_end(argument: Value, held: Mapping[Value, Buffer]) -> End | None:
    return End(held[argument], argument) if argument in held else None


def _segmented(op: Operation, inits: int) -> Operation:
    sizes = op.numbers(OPERAND_SEGMENTS)
    if len(sizes) != 3:
        return op
    return op.with_attribute(OPERAND_SEGMENTS, segment_counts(*sizes[:2], inits))


def _scalars(values: Sequence[Value]) -> tuple[Value, ...]:
    return tuple(v for v in values if not isinstance(v.type, TENSORS))


def _entered(
    r: Rewriter,
    b: Builder,
    op: Operation,
    position: int,
    settled: set[int],
    uses: Sequence[Value],
    is_kept: bool,
) -> Buffer:
    """The buffer that a loop updates, bound to the argument of its body."""
    buffer = r.buffers[op.operands[position]]
    if not is_kept:
        matters = any(map(r.is_read, uses))
        write = Write(op, position, settled=frozenset(settled))
        before, buffer = buffer, r.writable(b, write, contents=matters)
        if buffer is not before:
            settled.add(position)
        if not matters:
            r.conflicts.undefined.add(uses[0])
    r.bind(uses[0], buffer)
    return buffer


@dataclass(frozen=True, slots=True)
class End:
    """The place in which a block yields a tensor; ``like``: a tensor placed there."""

    buffer: Buffer
    like: Value | None = None


def leave(
    r: Rewriter, b: Builder, last: Operation, ends: Sequence[End | None], skip: int = 0
) -> None:
    """Copy a block's yielded tensors to their places; scalars are passed on."""
    passed = last.operands[skip:]
    moves: list[tuple[Value, Buffer]] = []
    for value, end in zip(passed, ends, strict=True):
        if end is None or end.like in r.conflicts.undefined:
            continue
        if not r.buffers[value].is_at(end.buffer):
            _check_extents(r, last, value, end.like)
            moves.append((value, end.buffer))
    targets = {into.storage for _, into in moves}
    sources = [
        r.copied(b, value)
        if len(moves) > 1 and r.buffers[value].storage in targets
        else r.buffers[value]
        for value, _ in moves
    ]
    for source, (_, into) in zip(sources, moves, strict=True):
        b.add("memref.copy", (source.value, into.value))
    rest = _scalars(passed)
    b.operations.append(last.with_(operands=(*last.operands[:skip], *rest)))


def _check_extents(
    r: Rewriter, last: Operation, value: Value, like: Value | None
) -> None:
    """A buffer has room for one shape."""
    for d in range(len(shape_of(value.type))):
        mine = origin(r.conflicts, value, d)
        if like is not None and mine != origin(r.conflicts, like, d):
            raise refusal(last, _ADVICE)


# -- while -----------------------------------------------------------------------------


def while_(r: Rewriter, b: Builder, op: Operation) -> None:
    """``scf.while``: values that the condition passes on have a buffer each."""
    before, after = (region.blocks[0] for region in op.regions)
    settled: set[int] = set()
    held: dict[Value, Buffer] = {}
    for position, argument in enumerate(before.arguments):
        if isinstance(argument.type, TENSORS):
            write = Write(op, position, settled=frozenset(settled))
            old, new = r.buffers[op.operands[position]], r.writable(b, write)
            settled.update({position} if new is not old else ())
            held[argument] = new
            r.bind(argument, new)
    opened = r.opened(before)
    forwarded = before.operations[-1].operands[1:]
    passed = [_passed(r, b, op, v, held) for v in forwarded]
    entry = r.closed(
        opened,
        _scalars(before.arguments),
        lambda inner, last: leave(r, inner, last, passed, 1),
    )
    for argument, end in zip(after.arguments, passed, strict=True):
        if end is not None:
            r.bind(argument, end.buffer)
    ends = [_loop_end(v, held) for v in before.arguments]
    body = r.body(
        after,
        _scalars(after.arguments),
        lambda inner, last: leave(r, inner, last, ends),
    )
    for result, end in zip(op.results, passed, strict=True):
        if end is not None:
            r.bind(result, end.buffer)
    first, second = op.regions
    b.operations.append(
        op.with_(
            operands=_scalars(op.operands),
            results=_scalars(op.results),
            regions=(type(first)((entry,)), type(second)((body,))),
        )
    )


def _passed(
    r: Rewriter, b: Builder, op: Operation, value: Value, held: Mapping[Value, Buffer]
) -> End | None:
    """The place of a value that the condition passes on."""
    if not isinstance(value.type, TENSORS):
        return None
    buffer = r.buffers[value]
    there = next((end for end in held.values() if buffer.is_at(end)), None)
    return End(there or r.allocate_outside(b, op, value))


def chosen(r: Rewriter, b: Builder, op: Operation) -> None:
    """``scf.if`` and the like: no copy where all branches yield one place."""
    if not any(isinstance(v.type, TENSORS) for v in op.results):
        b.operations.append(op.with_(regions=tuple(map(r.region, op.regions))))
        return
    if any(len(region.blocks) != 1 for region in op.regions):
        raise refusal(op, "Give each region one block, or write it on memrefs")
    opened = [r.opened(region.blocks[0]) for region in op.regions]
    yields = [branch.block.operations[-1].operands for branch in opened]
    ends = [
        _branch_end(r, b, op, n, [y[n] for y in yields]) for n in range(len(op.results))
    ]
    blocks = [
        r.closed(branch, None, lambda inner, last: leave(r, inner, last, ends))
        for branch in opened
    ]
    regions = tuple(Region((block,)) for block in blocks)
    results = tuple(v for v in op.results if not isinstance(v.type, TENSORS))
    b.operations.append(op.with_(results=results, regions=regions))
    for result, end in zip(op.results, ends, strict=True):
        if end is not None:
            r.bind(result, end.buffer)


def _branch_end(
    r: Rewriter, b: Builder, op: Operation, n: int, values: Sequence[Value]
) -> End | None:
    """The place of a result: the one that all branches yield, or a new one."""
    if not isinstance(op.results[n].type, TENSORS):
        return None
    first, *others = (r.buffers[value] for value in values)
    if all(other.is_at(first) for other in others):
        order = r.conflicts.order
        around = order.around[op]
        found = (
            r.buffers[m]
            for m in first.storage.members
            if order.scope[m] in around and r.buffers[m].is_at(first)
        )
        outside = next(found, None)
        if outside is not None:
            return End(outside)
    return End(r.allocate_outside(b, op, values[0]))


_INSERT = "tensor.parallel_insert_slice"


def forall(r: Rewriter, b: Builder, op: Operation) -> None:
    """``scf.forall``: the same loop without results."""
    count = len(op.results)
    first, rank = len(op.operands) - count, len(op.body.arguments) - count
    targets: dict[Value, Buffer] = {}
    settled: set[int] = set()
    for n, output in enumerate(op.body.arguments[rank:]):
        targets[output] = _target(r, b, op, first + n, settled, output)

    def finish(inner: Builder, last: Operation) -> None:
        for insert in last.body.operations:
            source, target = insert.operands[:2]
            part, into = r.conflicts.part(insert), targets[target]
            held = r.buffers[source]
            if not held.is_at(into, part) and not held.misses(into, its=part):
                held = r.copied(inner, source)
            put(inner, held, into, part)
        inner.operations.append(last.with_body(()))

    block = r.body(op.body, op.body.arguments[:rank], finish)
    sizes = op.numbers(OPERAND_SEGMENTS)[:3]
    rebuilt = op.with_(
        operands=op.operands[:first], results=(), regions=(Region((block,)),)
    )
    segments = segment_counts(*sizes, 0)
    b.operations.append(rebuilt.with_attribute(OPERAND_SEGMENTS, segments))
    for result, target in zip(op.results, targets.values(), strict=True):
        r.bind(result, target)


def _target(
    r: Rewriter,
    b: Builder,
    op: Operation,
    position: int,
    settled: set[int],
    seen: Value,
) -> Buffer:
    """The place of the result; ``seen`` is bound to the iterations' input."""
    tensor = op.operands[position]
    before = r.buffers[tensor]
    if _takes_its_own_part(r, seen):
        into = r.writable(b, Write(op, position, settled=frozenset(settled)))
        r.bind(seen, into)
    else:
        reason = "iterations read more of it than the part that they put in"
        r.copies.append(Copied(op, tensor, reason))
        into = r.copied(b, tensor)
        r.bind(seen, Buffer(before.value, Storage(writable=False), before.steps))
    settled.update({position} if into is not before else ())
    return into


def _takes_its_own_part(r: Rewriter, seen: Value) -> bool:
    """Whether iterations read only the part of the shared tensor they insert."""
    uses = [use for use in r.conflicts.order.uses.get(seen, ()) if reads(use)]
    parts = {
        r.conflicts.part(use.op)
        for use in uses
        if use.op.name in (_INSERT, "tensor.extract_slice")
    }
    known = sum(use.op.name in (_INSERT, "tensor.extract_slice") for use in uses)
    return known == len(uses) and len(parts) <= 1
