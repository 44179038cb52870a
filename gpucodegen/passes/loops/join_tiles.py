"""Loops over tiles and in tiles, as texts state them, become the loops they were.

    for i = 0 to N step T {                           for i = 0 to N {
      for r = 0 to min(T, N - i) { f(i + r) }    =>     f(i)
    }                                                 }

Planners choose tiles for a machine, and recognize products, stencils and streams in
plain nests; a thread runs a loop in a tile by itself.  Slices of the tiles become
accesses of their buffers, and operations between the loops nests of their own
(`passes.nests.distribution`), before loops are joined.  Nests inside of host loops and
branches stay as they are.

Theorem: if r's loop stands directly in i's, the sums i + r are 0 to N - 1, each once
and in this order, so a body that uses both in their sum alone runs in the same order.
If other loops stand between the two, r's is moved out first, which is legal iff no
dependence gets a lexicographically negative distance (`passes.loops.interchange`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from gpucodegen.dialects import affine
from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.affine import Dim, leaves, linear_form
from gpucodegen.ir.operation import (
    Operation,
    Value,
    rewrite_bottom_up,
    substitute_values,
)
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.analysis.queries import analyse
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.functions import (
    has_no_effect,
    in_functions,
    with_blocks,
    without_dead_code,
)
from gpucodegen.passes.framework.indexing import Index, compact, from_map, rewrite_maps
from gpucodegen.passes.loops.interchange import refusal_of
from gpucodegen.passes.loops.slices import through_views
from gpucodegen.passes.nests.distribution import distribute
from gpucodegen.passes.nests.loop_names import FOR
from gpucodegen.passes.nests.loop_ranges import (
    LoopRange,
    chain_of,
    range_of,
    rebuilt,
    sunk,
    with_range,
)
from gpucodegen.records import dataclass

SUBVIEW, PARALLEL = "memref.subview", "affine.parallel"
_KNOWN = frozenset({FOR, PARALLEL, SUBVIEW, "affine.yield", *affine.ACCESSES})


@dataclass(frozen=True, slots=True)
class JoinTiles(ModulePass):
    """Join loops over tiles with the loops in the tiles.

    >>> import gpucodegen as gcg
    >>> module = gcg.parse('''
    ... func.func @f(%A: memref<64xf32>, %v: f32) {
    ...   affine.for %i = 0 to 64 step 16 {
    ...     affine.for %r = 0 to 16 {
    ...       affine.store %v, %A[%i + %r] : memref<64xf32>
    ...     }
    ...   }
    ...   return
    ... }''')
    >>> print(JoinTiles().apply(module))
    module {
      func.func @f(%A: memref<64xf32>, %v: f32) {
        affine.for %i = 0 to 64 {
          affine.store %v, %A[%i] : memref<64xf32>
        }
        return
      }
    }
    """

    name: ClassVar[str] = "join-tiles"
    looks_for: ClassVar[frozenset[str]] = frozenset({FOR, PARALLEL})

    def apply(self, module: Module) -> Module:
        surroundings = Surroundings.of(module)

        def block(operations: Sequence[Operation]) -> list[Operation]:
            made: list[Operation] = []
            for op in operations:
                made += _joined(op, made, surroundings) if _is_tiled(op) else [op]
            return made

        return in_functions(module, lambda op: [with_blocks(op, block)])


def _is_tiled(op: Operation) -> bool:
    """Whether a nest that stores has a loop with a step, and no other effects."""
    if op.name not in (FOR, PARALLEL):
        return False
    inside = [*op.walk()]
    steps = [affine.For(o).step for o in inside if o.name == FOR]
    for loop in (o for o in inside if o.name == PARALLEL):
        if loop.results:
            return False
        steps += affine.Parallel(loop).steps
    return (
        len(steps) > 1
        and max(steps) > 1
        and any(o.name == "affine.store" for o in inside)
        and all(
            o.name in _KNOWN or (has_no_effect(o) and not o.regions) for o in inside
        )
    )


def _joined(
    op: Operation, before: Sequence[Operation], surroundings: Surroundings
) -> list[Operation]:
    """The nests of an operation with their tiles joined; itself if there are none."""
    (nest,) = rewrite_bottom_up(op, lambda o: _loops(o) if o.name == PARALLEL else None)
    nest = _without_slices(nest)
    if nest is None:
        return [op]
    parts = _parts(without_dead_code(nest), before, surroundings)
    made = [_without_tiles(part, before, surroundings) for part in parts]
    return made if any(a is not b for a, b in zip(made, parts, strict=True)) else [op]


def _loops(op: Operation) -> list[Operation]:
    """An ``affine.parallel`` as loops, which analysis proves parallel again."""
    loop = affine.Parallel(op)
    lowers = [from_map(each, loop.lower_operands) for each in loop.lower_maps]
    uppers = [from_map(each, loop.upper_operands) for each in loop.upper_maps]

    def nest(b: Builder, known: dict[Value, Value]) -> None:
        at = len(known)
        if at == len(loop.ivs):
            body = op.body.operations[:-1]
            b.operations += [substitute_values(inner, known) for inner in body]
            return
        iv = loop.ivs[at]

        def inside(inner: Builder, new: Value) -> None:
            nest(inner, known | {iv: new})

        step = loop.steps[at]
        b.loop(lowers[at], uppers[at], inside, step=step, hint=iv.name)

    b = Builder(op.location)
    nest(b, {})
    return b.operations


def _without_slices(op: Operation) -> Operation | None:
    """The nest with accesses of buffers in place of slices that it makes."""
    while views := [o for o in op.walk() if o.name == SUBVIEW]:
        made = {value for view in views for value in view.results}
        outer = {v.result: v for v in views if v.operands[0] not in made}
        inner = [o for o in op.walk() if o is not op]
        computed = {v for o in inner for v in o.results if o.dialect != "affine"}
        values = {v for o in inner for v in (*o.operands, *_variables(o))}
        values |= {*_variables(op), *op.operands}
        through = through_views(outer, op, frozenset(values - computed))
        if through is None:
            return None
        (op,) = rewrite_bottom_up(
            through, lambda o, dead=outer: [] if dead.keys() & {*o.results} else None
        )
    return op


def _variables(op: Operation) -> Sequence[Value]:
    return op.body.arguments[:1] if op.name == FOR else ()


def _parts(
    op: Operation, context: Sequence[Operation], surroundings: Surroundings
) -> list[Operation]:
    """The nest distributed as far as legal."""
    nests = distribute(op, analyse([op], context, surroundings))
    if len(nests) == 1:
        return nests
    return [part for nest in nests for part in _parts(nest, context, surroundings)]


def _without_tiles(
    nest: Operation, before: Sequence[Operation], surroundings: Surroundings
) -> Operation:
    """The nest with its tiles joined, of all levels; itself if it has none."""
    flat = sunk(nest)
    chain = chain_of(flat) if flat.name == FOR else []
    pairs = dict(_tiles_of(chain))
    if not pairs:
        return nest
    within = {*pairs.values()}
    order = [
        place
        for at in range(len(chain))
        if at not in within
        for place in (at, *([pairs[at]] if at in pairs else []))
    ]
    analysis = analyse([flat], before, surroundings)
    if refusal_of(analysis, chain, order) is not None:
        return nest
    joined: list[Operation] = []
    known: dict[Value, Index] = {}
    for at, op in enumerate(chain):
        if at in within:
            continue
        if at not in pairs:
            joined.append(op)
            continue
        inner, range_ = chain[pairs[at]], range_of(op)
        over, iv = affine.For(op).iv, affine.For(inner).iv
        known |= {iv: Index.of(0)} if _counts_from_zero(inner) else {iv: Index.of(over)}
        step = affine.For(inner).step
        joined.append(with_range(op, LoopRange(range_.lowers, range_.uppers, step)))
    body = [
        inner
        for op in chain[-1].body.operations
        for inner in rewrite_bottom_up(op, lambda o: [rewrite_maps(o, known)])
    ]
    return _without_tiles(rebuilt(joined, body), before, surroundings)


def _tiles_of(chain: Sequence[Operation]) -> Iterator[tuple[int, int]]:
    """The places of loops over tiles, each with that of the loop in its tiles."""
    taken: set[int] = set()
    for over, op in enumerate(chain):
        if affine.For(op).step == 1 or over in taken:
            continue
        for within in range(over + 1, len(chain)):
            others = (*chain[:within], *chain[within + 1 :])
            pair = op, chain[within]
            body = chain[-1].body.operations
            if within not in taken and _fill(*pair) and _joins(*pair, others, body):
                taken.add(within)
                yield over, within
                break


def _counts_from_zero(within: Operation) -> bool:
    return range_of(within).lowers == (Index.of(0),)


def _fill(over: Operation, within: Operation) -> bool:
    """Whether both loops reach each number of the outer one's range once, in order.

    The inner one counts from 0 or from the variable of the outer one, up to the least
    of a tile and of the rest.  It may have a step that divides the tile.
    """
    outer, inner, iv = range_of(over), range_of(within), affine.For(over).iv
    if not outer.is_single or len(inner.lowers) != 1 or outer.step % inner.step:
        return False
    (start,) = inner.lowers
    if start not in (Index.of(0), Index.of(iv)):
        return False
    wanted = start + outer.step, start + (outer.upper - iv)
    if len(inner.uppers) == 1:
        length = (outer.upper - outer.lower).constant
        is_whole = length is not None and length % outer.step == 0
        return is_whole and _equal(inner.uppers[0], wanted[0])
    return len(inner.uppers) == len(wanted) and all(
        any(_equal(bound, each) for bound in inner.uppers) for each in wanted
    )


def _equal(one: Index, other: Index) -> bool:
    return (one - other).constant == 0


def _joins(
    over: Operation,
    within: Operation,
    loops: Sequence[Operation],
    body: Sequence[Operation],
) -> bool:
    """Whether accesses alone use two variables, in their sum.

    Where the inner one counts from the outer one, it is the sum.
    """
    pair = affine.For(over).iv, affine.For(within).iv
    is_sum = not _counts_from_zero(within)
    for op in (*loops, *(inner for top in body for inner in top.walk())):
        if op is over or {*op.operands}.isdisjoint(pair):
            continue
        if op.name not in affine.ACCESSES:
            return False
        first = 2 if op.name == "affine.store" else 1
        if not {*op.operands[:first]}.isdisjoint(pair):
            return False
        if is_sum and pair[0] not in op.operands:
            continue
        indices = from_map(affine.map_of(op), op.operands[first:])
        if is_sum or not all(_is_of_sum(index, *pair) for index in indices):
            return False
    return True


def _is_of_sum(index: Index, one: Value, other: Value) -> bool:
    """Whether an index has both values with one coefficient, and in no other term."""
    index = compact(index)
    places = [index.values.index(v) if v in index.values else -1 for v in (one, other)]
    terms, _ = linear_form(index.expr)
    dims = [Dim(place) for place in places]
    rest = [term for term in terms if term not in dims]
    hidden = {leaf for term in rest for leaf in leaves(term)}
    return hidden.isdisjoint(dims) and len({terms.get(d, 0) for d in dims}) == 1
