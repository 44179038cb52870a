"""Cells that loops load and store in every iteration are values that the loops carry.

    for j {                               p = C[i]
      C[i] = f(C[i], x[j]) }       =>     s = for j iter_args(p) { yield f(p, x[j]) }
                                          C[i] = s

Legal iff the indices of the cell are the same in all iterations, and nothing else in
the loop may touch its buffer.  Terms keep their order.  A loop that may not run leaves
the cell alone.  After Callahan, Carr and Kennedy ("Improving register allocation for
subscripted variables", 1990).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpucodegen.dialects import affine
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.passes.analysis.lifting.buffers.aliases import Aliases
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index, compact, from_map
from gpucodegen.passes.loops.cells.carries import NUMBERS, buffer_of, place_of
from gpucodegen.passes.prepare.affine.dead_code import has_no_effect

LOOP = "affine.for"


@dataclass(frozen=True, slots=True)
class _Cell:
    """The load that begins an iteration, and the store that ends it."""

    load: Operation
    store: Operation


def kept_in_values(op: Operation, aliases: Aliases) -> list[Operation]:
    """A loop, and those inside it, without the cells that they can carry."""
    if op.name != LOOP:
        return [op]
    inside = [new for o in op.body.operations for new in kept_in_values(o, aliases)]
    loop = op.with_body(inside)
    cells = _cells(loop, aliases)
    return _carried(loop, cells) if cells else [loop]


def runs(op: Operation) -> list[Index]:
    """What is >= 0 if an ``affine.for`` runs; nothing where it surely does."""
    loop = affine.For(op)
    lowers = from_map(loop.lower_map, loop.lower_operands)
    uppers = from_map(loop.upper_map, loop.upper_operands)
    found = [compact(upper - lower - 1) for lower in lowers for upper in uppers]
    return [index for index in found if index.constant is None or index.constant < 0]


def _cells(loop: Operation, aliases: Aliases) -> list[_Cell]:
    inner = [o for body in loop.body.operations for o in body.walk()]
    known = {LOOP, "affine.if", "affine.yield", *affine.ACCESSES}
    if not all(o.name in known or has_no_effect(o) for o in inner):
        return []
    accesses = [o for o in inner if o.name in affine.ACCESSES]
    made = set(loop.body.arguments)
    made.update(v for o in inner for v in o.results)
    made.update(
        v for o in inner for r in o.regions for k in r.blocks for v in k.arguments
    )
    here = {id(o): at for at, o in enumerate(loop.body.operations)}
    found: list[_Cell] = []
    for store in loop.body.operations:
        if store.name != "affine.store" or not made.isdisjoint(store.operands[1:]):
            continue
        near = [
            a for a in accesses if aliases.may_overlap(buffer_of(a), buffer_of(store))
        ]
        others = [a for a in near if a is not store]
        if len(others) != 1 or id(others[0]) not in here or not others[0].results:
            continue
        (load,) = others
        is_number = isinstance(load.result.type, NUMBERS)
        if is_number and here[id(load)] < here[id(store)] and _same_cell(load, store):
            found.append(_Cell(load, store))
    return found


def _same_cell(load: Operation, store: Operation) -> bool:
    if buffer_of(load) is not buffer_of(store):
        return False
    pairs = zip(place_of(load), place_of(store), strict=True)
    return all(compact(a - b).constant == 0 for a, b in pairs)


def _carried(op: Operation, cells: Sequence[_Cell]) -> list[Operation]:
    loop, b = affine.For(op), Builder(op.location)
    condition = runs(op)
    first = [_first(b, cell.load, condition) for cell in cells]
    gone = {id(part) for cell in cells for part in (cell.load, cell.store)}
    *body, end = op.body.operations
    stored = [cell.store.operands[0] for cell in cells]
    made = affine.for_(
        loop.lower_map,
        loop.lower_operands,
        loop.upper_map,
        loop.upper_operands,
        body=[
            *(o for o in body if id(o) not in gone),
            affine.yield_([*end.operands, *stored], location=op.location),
        ],
        iv=loop.iv,
        step=loop.step,
        inits=[*loop.inits, *first],
        iters=[*loop.iter_args, *(cell.load.result for cell in cells)],
        location=op.location,
    )
    last = made.results[len(op.results) :]
    attributes = {**op.attributes, **made.attributes}
    b.operations.append(made.with_(attributes=attributes, results=(*op.results, *last)))

    def store(inner: Builder) -> None:
        for cell, value in zip(cells, last, strict=True):
            inner.store(value, buffer_of(cell.store), place_of(cell.store))

    b.guard(condition, store)
    return b.operations


def _first(b: Builder, load: Operation, condition: Sequence[Index]) -> Value:
    """What the first iteration finds, if there is one."""
    return b.choose(
        condition,
        lambda i: i.load(buffer_of(load), place_of(load), load.result.name),
        lambda i: i.constant(0, load.result.type),
        load.result.name,
    )
