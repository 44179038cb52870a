"""Tensors that loops carry: each has one buffer, which every iteration updates.

What an iteration yields is copied there unless it lies there already.  The copies of
one iteration happen at once: what another one would overwrite first is set aside.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpucodegen.ir.operation import OPERAND_SEGMENTS, Operation, Value, segment_counts
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.prepare.tensors.analysis.conflicts import Write
from gpucodegen.passes.prepare.tensors.analysis.extents import origin
from gpucodegen.passes.prepare.tensors.analysis.places import Buffer
from gpucodegen.passes.prepare.tensors.rewriter import TENSORS, Rewriter, refusal
from gpucodegen.passes.prepare.tensors.views import shape_of

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
    ends = [_end(argument, held) for argument in arguments]

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


def _end(argument: Value, held: Mapping[Value, Buffer]) -> End | None:
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
    """Where a block leaves a tensor; ``like`` lies there already and has its shape."""

    buffer: Buffer
    like: Value | None = None


def leave(
    r: Rewriter, b: Builder, last: Operation, ends: Sequence[End | None], skip: int = 0
) -> None:
    """Copy what a block passes on to where it belongs; scalars are passed on."""
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
    """``scf.while``: what the condition passes on has a carried or a new buffer."""
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
    ends = [_end(v, held) for v in before.arguments]
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
    """Where a value that the condition passes on is found afterwards."""
    if not isinstance(value.type, TENSORS):
        return None
    buffer = r.buffers[value]
    there = next((end for end in held.values() if buffer.is_at(end)), None)
    return End(there or r.allocate_outside(b, op, value))
