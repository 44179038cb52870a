"""Asynchronous copies, mbarriers and the warpgroup products that read the copied tiles.

A DMA copy (``memref.dma_start``) or a thread's ``cp.async`` may read its source and
write its destination at any moment from its start to the matching wait (DESIGN section
4).  ``count`` elements leave the source in row-major logical order, in runs of ``run``
elements that lie ``stride`` apart on the strided side; the other side is one run.  A
thread's copy moves elements of one row.

A group of mbarriers is a shared-memory array: initialising a barrier writes its
element, arriving and waiting update it.  A TMA copy moves the box that the type of its
tensor map gives.  A map describes a buffer that the kernel also gets, or one of the
host's, which the kernel is assumed not to write and whose elements the model leaves
out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import prod

from gpucodegen.dialects.arith import predicate
from gpucodegen.dialects.nvgpu.copies import AsyncCopy
from gpucodegen.dialects.nvgpu.types import barrier_count, fields, held, is_tensor_map
from gpucodegen.dialects.shared.dma import (
    End,
    ends_of,
    has_strided_source,
    is_joined,
    lengths_of,
    tag_of,
)
from gpucodegen.ir.operation import Operation, Value, operand_segments
from gpucodegen.ir.types import MemRefType, element_bytes, element_type
from gpucodegen.passes.analysis.lifting.accesses import (
    READ,
    WRITE,
    all_cells,
    cell,
    whole,
)
from gpucodegen.passes.analysis.lifting.aliases import Described
from gpucodegen.passes.analysis.lifting.environment import Environment, Text, map_texts
from gpucodegen.records import dataclass
from gpucodegen.tiling.model.isl import always_holds
from gpucodegen.tiling.model.scop import (
    Access,
    AccessKind,
    Array,
    GroupWait,
    Phase,
    Statement,
    Tag,
    Turn,
)


def start_statement(op: Operation, env: Environment, name: str) -> Statement:
    """The statement of a ``dma_start``, whose accesses last until the wait."""
    source, target, tag = ends_of(op)
    count, *strided = env.all_texts(lengths_of(op))
    whole_run = _Run(count, count, None)
    runs = [whole_run, whole_run]
    if strided:
        stride, run = strided
        side = 0 if has_strided_source(source.memref, target.memref) else 1
        runs[side] = _Run(count, run, stride)
    accesses = (
        _access(op, env, source, runs[0], READ),
        _access(op, env, target, runs[1], WRITE),
    )
    at, tag_ = op.location, _tag(tag, env)
    return Statement(name, accesses, tag=tag_, loc=at, joined=is_joined(op))


def copy_statement(op: Operation, env: Environment, name: str) -> Statement:
    """The statement of a thread's copy in a commit group."""
    view = AsyncCopy(op)
    given = str(view.count) if view.given is None else env.text(view.given)
    sides = (
        (view.source, view.source_indices, given, READ),
        (view.target, view.target_indices, str(view.count), WRITE),
    )
    accesses = tuple(_row_part(op, env, *side) for side in sides)
    return Statement(name, accesses, loc=op.location, grouped=True)


def _row_part(
    op: Operation,
    env: Environment,
    memref: Value,
    indices: Sequence[Value],
    count: Text,
    kind: AccessKind,
) -> Access:
    """``count`` elements of a row from some indices on."""
    texts, span = [env.text(v) for v in indices], ()
    if texts and texts[-1] is not None and count != "1":
        lane = env.names.fresh("lane")
        texts[-1], span = f"{texts[-1]} + {lane}", ((lane, count),)
    found = cell(env, op, memref, texts, kind)
    return replace(found, span=(*found.span, *span), must=False)


def wait_tag(op: Operation, env: Environment) -> Tag:
    """The tag of a ``dma_wait``."""
    return _tag(tag_of(op), env)


def _tag(end: End, env: Environment) -> Tag:
    array, texts = env.resolve(end.memref, _texts(end, env))
    return Tag(array.name, texts)


def _texts(end: End, env: Environment) -> tuple[Text, ...]:
    return map_texts(end.map, env.all_texts(end.operands))


@dataclass(frozen=True, slots=True)
class _Run:
    """``count`` elements in runs of ``run`` that start ``stride`` apart."""

    count: Text
    run: Text
    stride: Text


def _access(
    op: Operation, env: Environment, end: End, run: _Run, kind: AccessKind
) -> Access:
    view = env.views.get(end.memref)
    # A buffer that is also seen collapsed keeps the row-major order of its elements.
    is_plain = view is None or bool(view.groups)
    found = _covered(end, run, env) if is_plain else None
    if found is None:
        (access,) = whole(env, op, end.memref, (kind,))
        return access
    cells, span = found
    array, resolved = env.resolve(end.memref, cells)
    where = env.kept_apart(end.memref, cells)
    return Access(array.name, kind, resolved, span=span, where=where, loc=op.location)


Covered = tuple[tuple[Text, ...], tuple[tuple[str, str], ...]]


def _covered(end: End, run: _Run, env: Environment) -> Covered | None:
    """Cells of a run in logical row-major order, or None when not expressible."""
    start, rank = _texts(end, env), len(end.map.results)
    if run.count is None or run.run is None or not rank or None in start:
        return None
    row_length = _extent(end.memref, rank - 1, env)
    if run.run == run.count:
        return _linear(start, row_length, run.count, env)
    if rank < 2 or run.stride != row_length:
        return None
    rows = _quotient(run.count, run.run)
    if rows is None:
        return None
    return _rows(start, rows, f"{start[-1]} + ", run.run, env)


def _extent(memref: Value, dimension: int, env: Environment) -> Text:
    shape = memref.type.shape if isinstance(memref.type, MemRefType) else ()
    extent = shape[dimension] if shape else None
    return env.extent(memref, dimension) if extent is None else str(extent)


def _rows(
    start: Sequence[Text], rows: str, column: str, run: str, env: Environment
) -> Covered:
    """``rows`` rows from the start on, and ``run`` elements of each."""
    lane, row = env.names.fresh("lane"), env.names.fresh("row")
    cells = (*start[:-2], f"{start[-2]} + {row}", f"{column}{lane}")
    return cells, ((row, rows), (lane, run))


def _linear(
    start: Sequence[Text], row_length: Text, count: str, env: Environment
) -> Covered | None:
    """``count`` consecutive elements: whole rows from column 0, or part of one row."""
    rows = _quotient(count, row_length)
    if len(start) >= 2 and start[-1] == "0" and rows is not None:
        return _rows(start, rows, "", str(row_length), env)
    if len(start) >= 2 and not _stays_in_row(start[-1], count, row_length, env):
        return None
    lane = env.names.fresh("lane")
    return (*start[:-1], f"{start[-1]} + {lane}"), ((lane, count),)


def _quotient(count: Text, length: Text) -> str | None:
    """``count / length`` where both are numbers and it is one, too."""
    if count is None or length is None or not (count + length).isdecimal():
        return None
    whole, rest = divmod(int(count), int(length) or 1)
    return str(whole) if whole and not rest else None


def _stays_in_row(column: Text, count: str, row_length: Text, env: Environment) -> bool:
    """Whether a run certainly ends before the row does: column + count <= length."""
    if column is None or row_length is None:
        return False
    return always_holds(f"{column} + {count} <= {row_length}", env.inside)


STORE, FENCE = "nvgpu.tma.async.store", "nvvm.fence.proxy"
COMMIT = "nvvm.cp.async.bulk.commit.group"
BULK_STORE_WAIT = "nvvm.cp.async.bulk.wait_group"


def is_known(op: Operation, maps: Described) -> bool:
    """Whether a TMA store writes a whole box of a known buffer unconditionally."""
    _, (tensor_map,), corner, predicate = operand_segments(op, 4)
    is_whole = not predicate and len(_box(tensor_map)) == len(corner)
    return is_whole and tensor_map in maps.arrays


def store(op: Operation, env: Environment, maps: Described, name: str) -> Statement:
    """The statement of a TMA store, which belongs to a group of its thread."""
    (source,), (tensor_map,), corner, _ = operand_segments(op, 4)
    array = _array(env, tensor_map, maps.arrays.get(tensor_map), len(corner))
    there = _stored(op, env, array, tensor_map, corner)
    moved = all_cells(env, op, source, READ), there
    return Statement(name, moved, loc=op.location, grouped=True, bulk=True)


def wait(op: Operation) -> GroupWait:
    """The wait of a thread for groups of TMA stores."""
    reads = "read" in op.attributes
    return GroupWait(op.integer("group"), op.location, bulk=True, reads=reads)


def _box(tensor_map: Value) -> tuple[int, ...]:
    assert is_tensor_map(tensor_map.type)
    return held(fields(tensor_map.type).get("tensor", "")).shape


def _array(
    env: Environment, tensor_map: Value, buffer: Value | None, rank: int
) -> Array:
    """The array that a map describes; its rank is that of the map."""
    found = None if buffer is None else env.array(env.root(buffer))
    if found is not None and len(found.shape) == rank:
        return found
    if tensor_map not in env.arrays:
        name = env.names.fresh(tensor_map.name, "map")
        env.arrays[tensor_map] = Array(name, (None,) * rank)
    return env.arrays[tensor_map]


def _stored(
    op: Operation,
    env: Environment,
    array: Array,
    tensor_map: Value,
    corner: tuple[Value, ...],
) -> Access:
    """The cells of a box, whose coordinates start with the last dimension."""
    texts, span = list[str | None](), list[tuple[str, str | None]]()
    for coordinate, extent in zip(corner[::-1], _box(tensor_map), strict=True):
        place, text = env.names.fresh("along"), env.text(coordinate)
        texts.append(None if text is None else f"{text} + {place}")
        span.append((place, str(extent)))
    found = Access(array.name, WRITE, tuple(texts), span=tuple(span), must=False)
    return replace(found, loc=op.location)


PREFIX = "nvgpu.mbarrier."
CREATE, LOAD = f"{PREFIX}create", "nvgpu.tma.async.load"
MULTIPLY, MBARRIER_WAIT = "nvgpu.warpgroup.mma", f"{PREFIX}try_wait.parity"
PARTS = {
    f"{PREFIX}init": (Turn.INIT, 2, 1),
    f"{PREFIX}arrive": (Turn.ARRIVE, 1, None),
    f"{PREFIX}arrive.expect_tx": (Turn.ARRIVE, 2, 1),
    MBARRIER_WAIT: (Turn.WAIT, 3, None),
}
"""Per operation: its action, and its barrier and plain-number operands."""
UPDATE = "mbarrier"
"""The combining kind of arrivals and waits, which do not race with each other."""
Number = Callable[[Value], int | None]


def declare(op: Operation, env: Environment) -> None:
    """``nvgpu.mbarrier.create``."""
    scope = env.lifetime if env.blocks is None else env.blocks
    name = env.names.fresh(op.result.name, "mbarrier")
    shape = (barrier_count(op.result.type),)
    env.arrays[op.result] = Array(name, shape, scope, loc=op.location)


def part(
    op: Operation,
    env: Environment,
    definitions: Mapping[Value, Operation],
    number: Number,
    name: str,
) -> Statement | None:
    """The statement of an operation of `PARTS`, or of a copy.

    None for mbarriers that are not created in this function.
    """
    barriers = operand_segments(op, 7)[1][0] if op.name == LOAD else op.operands[0]
    if barriers not in env.arrays:
        return None
    if op.name == LOAD:
        return _copy(op, env, name)
    turn, place, plain = PARTS[op.name]
    odd = _odd(op.operands[1], env, definitions) if turn is Turn.WAIT else None
    known = None if plain is None else number(op.operands[plain])
    if op.name == f"{PREFIX}arrive":
        known = 0
    access = _barrier(op, env, op.operands[0], op.operands[place], turn)
    return Statement(name, (access,), loc=op.location, phase=Phase(turn, known, odd))


def _barrier(
    op: Operation, env: Environment, barriers: Value, which: Value, turn: Turn
) -> Access:
    atomic = "" if turn is Turn.INIT else UPDATE
    name = env.arrays[barriers].name
    return Access(name, WRITE, (env.text(which),), atomic=atomic, loc=op.location)


def _odd(
    parity: Value, env: Environment, definitions: Mapping[Value, Operation]
) -> str | None:
    """The condition, from a comparison of two numbers, under which a parity is 1."""
    made = definitions.get(parity)
    if made is None or made.name != "arith.cmpi" or predicate(made) != "eq":
        return None
    one, other = env.all_texts(made.operands)
    return None if one is None or other is None else f"{one} = {other}"


def _copy(op: Operation, env: Environment, name: str) -> Statement:
    """``nvgpu.tma.async.load``."""
    (target,), (barriers,), _, _, (which,), *_ = operand_segments(op, 7)
    ty = target.type
    shape = ty.shape if isinstance(ty, MemRefType) else ()
    size = element_bytes(element_type(ty))
    known = None
    if size is not None and None not in shape:
        known = size * prod(extent or 0 for extent in shape)
    accesses = (
        _barrier(op, env, barriers, which, Turn.COPY),
        all_cells(env, op, target, WRITE),
    )
    phase = Phase(Turn.COPY, known)
    return Statement(name, accesses, loc=op.location, phase=phase)


def factors(
    op: Operation, env: Environment, definitions: Mapping[Value, Operation]
) -> list[Access] | None:
    """The operand reads of ``nvgpu.warpgroup.mma``; None for unknown descriptors."""
    found: list[Access] = []
    for value in op.operands[:2]:
        made = definitions.get(value)
        if made is None or not made.operands:
            return None
        found.append(all_cells(env, op, made.operands[0], READ))
    return found
