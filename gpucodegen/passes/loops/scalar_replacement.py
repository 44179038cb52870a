"""Scalar replacement: memory cells that loops reuse become loop-carried values.

Invariant cells (`kept_in_values`):

    for j {                               p = C[i]
      C[i] = f(C[i], x[j]) }       =>     s = for j iter_args(p) { yield f(p, x[j]) }
                                          C[i] = s

Legal iff the indices of the cell are the same in all iterations, and nothing else in
the loop may touch its buffer.  A loop that may not run leaves the cell alone.

Stores that later iterations load (`CarryStores`):

    for j in l..u {                  e = Y[j - 1] at l
      a = load Y[j - 1]         =>   for j in l..u iter_args(a = e) {
      store f(a), Y[j]                 store f(a), Y[j]
    }                                  yield f(a) }

Legal iff the load reads the value that the only store of the loop wrote k iterations
before,

    place of the load at j = place of the store at j - k,    k = 1, 2, ..

no place is stored twice, and nothing else in the loop stores to the buffer or to one
that may overlap it.  Loads of other places stay.  The values of
k = 1, 2, .. form a chain, as far as each of them is loaded.  Initial values are loaded
in front of the loop, if it runs at all.

Both keep the order of terms.  After Callahan, Carr and Kennedy ("Improving register
allocation for subscripted variables", 1990).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from gpucodegen.dialects import affine
from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.operation import Operation, Region, Value, substitute_values
from gpucodegen.ir.types import FloatType, IndexType, IntegerType
from gpucodegen.passes.analysis.lifting.aliases import (
    Aliases,
    defined_functions,
)
from gpucodegen.passes.contraction.operands import coefficients, is_linear
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.functions import (
    has_no_effect,
    in_functions,
    with_blocks,
)
from gpucodegen.passes.framework.indexing import (
    Index,
    bounds_of,
    compact,
    from_map,
    replace_values,
)
from gpucodegen.passes.framework.nests import inner_operations
from gpucodegen.records import dataclass

NUMBERS = FloatType | IntegerType | IndexType
MOST = 4
"""Most iterations over which a value is carried."""


@dataclass(frozen=True, slots=True)
class InnermostLoop:
    """A loop from ``lower`` to the smallest of ``uppers``, exclusive."""

    iv: Value
    lower: Index
    uppers: tuple[Index, ...]
    step: int
    operation: Operation

    @property
    def repeats(self) -> bool:
        """Whether it may run more than one iteration."""
        trips = [(upper - self.lower).constant for upper in self.uppers]
        return all(trip is None or trip > self.step for trip in trips)

    @property
    def runs(self) -> list[Index]:
        """Expressions that are >= 0 if it runs."""
        return [compact(upper - self.lower - 1) for upper in self.uppers]


def innermost(op: Operation) -> InnermostLoop | None:
    """An innermost ``affine.for`` with a single lower bound, or None."""
    if op.name != "affine.for" or any(inner.regions for inner in inner_operations(op)):
        return None
    loop = affine.For(op)
    lowers, uppers = bounds_of(loop)
    if len(lowers) > 1:
        return None
    return InnermostLoop(loop.iv, lowers[0], tuple(uppers), loop.step, op)


@dataclass(frozen=True, slots=True)
class CarriedStore:
    """A store, and the loads of its value one iteration later, two later, .."""

    store: Operation
    loads: tuple[tuple[Operation, ...], ...]


@dataclass(frozen=True, slots=True)
class CarriedStores:
    """Finds carried stores in one function."""

    aliases: Aliases

    def of(self, loop: InnermostLoop) -> list[CarriedStore]:
        operations = inner_operations(loop.operation)
        accesses = [op for op in operations if op.name in affine.ACCESSES]
        rest = [op for op in operations if op.name not in affine.ACCESSES]
        if not all(map(has_no_effect, rest)):
            return []
        stores = [op for op in accesses if not op.results]
        found = (
            CarriedStore(store, tuple(_followers(loop, store, accesses)))
            for store in stores
            if self._is_alone(store, stores) and _moves(store, loop)
        )
        return [carry for carry in found if carry.loads]

    def _is_alone(self, store: Operation, stores: Sequence[Operation]) -> bool:
        """Whether no other store of the loop may be to the same buffer."""
        others = (buffer_of(other) for other in stores if other is not store)
        own = buffer_of(store)
        return not any(self.aliases.may_overlap(other, own) for other in others)


def buffer_of(access: Operation) -> Value:
    return access.operands[0 if access.results else 1]


def place_of(access: Operation) -> list[Index]:
    view = affine.Load(access) if access.results else affine.Store(access)
    return from_map(view.map, view.map_operands)


def _same(first: Sequence[Index], second: Sequence[Index]) -> bool:
    pairs = zip(first, second, strict=True)
    return all(compact(a - b).constant == 0 for a, b in pairs)


def _followers(
    loop: InnermostLoop, store: Operation, accesses: Sequence[Operation]
) -> Iterator[tuple[Operation, ...]]:
    """Loads of the value stored one iteration before, two before, .., without gaps."""
    loads = [op for op in accesses if op.results and buffer_of(op) is buffer_of(store)]
    if not isinstance(store.operands[0].type, NUMBERS):
        return
    for distance in range(1, MOST + 1):
        earlier = {loop.iv: Index.of(loop.iv) - distance * loop.step}
        before = [replace_values(index, earlier) for index in place_of(store)]
        found = tuple(op for op in loads if _same(place_of(op), before))
        if not found:
            return
        yield found


def _moves(store: Operation, loop: InnermostLoop) -> bool:
    """Whether iterations store to different places, known before the loop."""
    made = {v for op in inner_operations(loop.operation) for v in op.results}
    place = place_of(store)
    known = all(made.isdisjoint(index.values) for index in place)
    return known and any(
        is_linear(index) and coefficients(index).get(loop.iv, 0) for index in place
    )


LOOPS = frozenset({"affine.for", "affine.parallel"})


@dataclass(frozen=True, slots=True)
class CarryStores(ModulePass):
    """Carry what innermost loops store to the loads of their next iteration.

    >>> import gpucodegen as gcg
    >>> module = gcg.parse('''func.func @f(%x: memref<9xf32>, %y: memref<9xf32>) {
    ...   affine.for %j = 1 to 9 {
    ...     %a = affine.load %y[%j - 1] : memref<9xf32>
    ...     %v = affine.load %x[%j] : memref<9xf32>
    ...     %r = arith.addf %a, %v : f32
    ...     affine.store %r, %y[%j] : memref<9xf32>
    ...   }
    ...   return
    ... }''')
    >>> print(CarryStores().apply(module))
    module {
      func.func @f(%x: memref<9xf32>, %y: memref<9xf32>) {
        %a = affine.load %y[0] : memref<9xf32>
        %a_0 = affine.for %j = 1 to 9 iter_args(%a_1 = %a) -> (f32) {
          %v = affine.load %x[%j] : memref<9xf32>
          %r = arith.addf %a_1, %v : f32
          affine.store %r, %y[%j] : memref<9xf32>
          affine.yield %r : f32
        }
        return
      }
    }
    """

    name: ClassVar[str] = "carry-stores"
    looks_for: ClassVar[frozenset[str]] = frozenset({"affine.for", "affine.parallel"})

    def apply(self, module: Module) -> Module:
        defined = defined_functions(module.functions.values())

        def rewrite(op: Operation) -> list[Operation]:
            carrier = _Carrier(CarriedStores(Aliases.of([op], defined)))
            return [with_blocks(op, carrier.operations)]

        return in_functions(module, rewrite)


@dataclass(frozen=True, slots=True)
class _Carrier:
    """Rewrites one function."""

    carries: CarriedStores

    def operations(self, operations: Sequence[Operation]) -> list[Operation]:
        """Operations with the innermost loops among and inside them rewritten."""
        return [new for op in operations for new in self._operation(op)]

    def _operation(self, op: Operation) -> list[Operation]:
        if not op.regions:
            return [op]
        loop = innermost(op)
        if loop is None:
            return [_outside(with_blocks(op, self.operations))]
        carries = self.carries.of(loop) if loop.repeats else []
        return _with_carried_stores(loop, carries) if carries else [op]


def _outside(op: Operation) -> Operation:
    """Unswitching: a loop around only an invariant condition becomes its body."""
    inner = inner_operations(op) if op.name in LOOPS and not op.results else ()
    branch = inner[0] if len(inner) == 1 and inner[0].name == "affine.if" else None
    if branch is None or branch.results or branch.regions[1].blocks:
        return op
    block, taken = op.regions[0].blocks[0], branch.regions[0].blocks[0]
    if not set(block.arguments).isdisjoint(branch.operands):
        return op
    loop = op.with_(regions=(Region((block.with_operations(taken.operations),)),))
    body = (loop, affine.yield_(location=op.location))
    region = Region((taken.with_operations(body),))
    return branch.with_(regions=(region, branch.regions[1]))


def _with_carried_stores(
    loop: InnermostLoop, carries: Sequence[CarriedStore]
) -> list[Operation]:
    """The initial loads, and the loop that carries their values.

    Only a loop without carried values may be skipped.
    """
    b = Builder(loop.operation.location)

    def carried(b: Builder) -> None:
        b.operations += _with_values(b, loop, carries)

    if loop.operation.results:
        carried(b)
    else:
        b.guard(loop.runs, carried)
    return b.operations


def _with_values(
    b: Builder, loop: InnermostLoop, carries: Sequence[CarriedStore]
) -> list[Operation]:
    old = affine.For(loop.operation)
    first = [_first_load(b, loop, same[0]) for carry in carries for same in carry.loads]
    iters = [same[0].result for carry in carries for same in carry.loads]
    replaced = {
        op.result: same[0].result
        for carry in carries
        for same in carry.loads
        for op in same
    }
    *body, end = loop.operation.body.operations
    kept = [
        substitute_values(op, replaced)
        for op in body
        if not op.results or op.result not in replaced
    ]
    stored = [value for carry in carries for value in _handed_on(carry)]
    yielded = [replaced.get(value, value) for value in (*end.operands, *stored)]
    made = affine.for_(
        old.lower_map,
        old.lower_operands,
        old.upper_map,
        old.upper_operands,
        body=[*kept, affine.yield_(yielded, location=b.location)],
        iv=loop.iv,
        step=loop.step,
        inits=[*old.inits, *first],
        iters=[*old.iter_args, *iters],
        location=b.location,
    )
    results = (*loop.operation.results, *made.results[len(old.inits) :])
    attributes = {**loop.operation.attributes, **made.attributes}
    return [made.with_(attributes=attributes, results=results)]


def _first_load(b: Builder, loop: InnermostLoop, load: Operation) -> Value:
    """The value of a load in the first iteration, if there is one."""
    place = [replace_values(index, {loop.iv: loop.lower}) for index in place_of(load)]
    hint = load.result.name
    return b.choose(
        loop.runs if loop.operation.results else [],
        lambda b: b.load(buffer_of(load), place, hint),
        lambda b: b.constant(0, load.result.type),
        hint,
    )


def _handed_on(carry: CarriedStore) -> tuple[Value, ...]:
    """The stored value, and the carried ones without the last."""
    return (carry.store.operands[0], *(same[0].result for same in carry.loads[:-1]))


LOOP = "affine.for"


@dataclass(frozen=True, slots=True)
class _Cell:
    """The load that begins an iteration, and the store that ends it."""

    load: Operation
    store: Operation


def kept_in_values(op: Operation, aliases: Aliases) -> list[Operation]:
    """A loop and its inner loops with invariant cells as carried values."""
    if op.name != LOOP:
        return [op]
    inside = [new for o in op.body.operations for new in kept_in_values(o, aliases)]
    loop = op.with_body(inside)
    cells = _cells(loop, aliases)
    return _with_kept_cells(loop, cells) if cells else [loop]


def runs(op: Operation) -> list[Index]:
    """Expressions >= 0 if an ``affine.for`` runs; empty where it surely does."""
    loop = affine.For(op)
    lowers, uppers = bounds_of(loop)
    found = [compact(upper - lower - 1) for lower in lowers for upper in uppers]
    return [index for index in found if index.constant is None or index.constant < 0]


def _cells(loop: Operation, aliases: Aliases) -> list[_Cell]:
    inner = [o for body in loop.body.operations for o in body.walk()]
    known = {LOOP, "affine.if", "affine.yield", *affine.ACCESSES}
    if not all(o.name in known or has_no_effect(o) for o in inner):
        return []
    accesses = [o for o in inner if o.name in affine.ACCESSES]
    made = set(loop.body.arguments)
    made.update(v for o in inner for v in o.defined)
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


def _with_kept_cells(op: Operation, cells: Sequence[_Cell]) -> list[Operation]:
    loop, b = affine.For(op), Builder(op.location)
    condition = runs(op)
    first = [_first_kept(b, cell.load, condition) for cell in cells]
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


def _first_kept(b: Builder, load: Operation, condition: Sequence[Index]) -> Value:
    """The initial value of the cell, if the loop runs."""
    return b.choose(
        condition,
        lambda i: i.load(buffer_of(load), place_of(load), load.result.name),
        lambda i: i.constant(0, load.result.type),
        load.result.name,
    )
