"""Places of the largest or smallest elements as maxima of integer keys.

    for r { V[r] = v;  P[r] = p }
    for r, k { V[r], P[r] = the better of (V[r], P[r]) and (x(r, k), k) }

becomes, where V is dead behind the nests,

    for r { P[r] = place of max(key(v, p), max over k of key(x(r, k), k)) }

The key has 64 bits: the value as an integer of the same order, negated for the least,
with all NaN above the numbers and both zeros alike, and below it the inverted place, so
that the smaller of two places wins.  A maximum of integers may come in any order.

Where rows fill the device with a thread for each, and their elements lie apart, value
and place are carried through the loop as they are: a key takes some twelve operations.

The condition: the better one is that of the greater key.  The body may only compare the
values with each other and the places with each other, so that its result depends on six
cases for floats (less, equal, greater, one NaN, the other, both) and three for
integers, all of which are evaluated.  The first place is no more than any k.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence
from math import isnan, nan, prod
from struct import pack, unpack
from typing import ClassVar

from gpucodegen.dialects import affine, arith
from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.shared.memory import ALLOCATIONS
from gpucodegen.ir.affine import Dim
from gpucodegen.ir.attributes import FloatAttr, IntegerAttr
from gpucodegen.ir.operation import Operation, Value, clone
from gpucodegen.ir.types import F32, I32, I64, FloatType, IntegerType, MemRefType
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.analysis.lifting.reductions import same_cell
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.functions import (
    definitions,
    has_no_effect,
    in_functions,
    users,
    with_blocks,
)
from gpucodegen.passes.framework.indexing import compact, from_map
from gpucodegen.passes.framework.nests import inner_operations
from gpucodegen.passes.nests.loop_ranges import chain_of, rebuilt
from gpucodegen.passes.vectorize.accumulations import slice_of
from gpucodegen.records import dataclass

FLOATS = frozenset({"f16", "bf16", "f32"})
CASTS = frozenset({"arith.index_cast", "arith.trunci", "arith.extsi"})
ORDERS = {
    name: getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")
}
NOT_A_NUMBER = 0x7FFFFFFF
"""The value of NaN in keys, the greatest."""
_Made = Mapping[Value, Operation]


@dataclass(frozen=True, slots=True)
class Selection:
    """A nest that keeps the place of the best value.

    ``rows``: the loops around ``along``, the loop whose place is kept.  ``terms``: the
    operations that make the ``value`` and the ``place`` of an iteration.  ``stores``:
    of the best value and its place.  ``is_most``: the largest value is the best.
    """

    rows: tuple[Operation, ...]
    along: affine.For
    terms: tuple[Operation, ...]
    value: Value
    place: Value
    stores: tuple[Operation, Operation]
    is_most: bool
    is_unsigned: bool

    @property
    def memrefs(self) -> tuple[Value, Value]:
        """The buffers of the values and of the places."""
        value, place = self.stores
        return value.operands[1], place.operands[1]

    @staticmethod
    def of(op: Operation) -> Selection | None:
        """The selection that a nest computes and nothing else; None if unproven."""
        loops = chain_of(op) if op.name == "affine.for" else []
        inside = inner_operations(loops[-1]) if loops else ()
        *body, one, other = inside if len(inside) > 1 else (op, op)
        is_plain = all(o.name == "affine.load" or has_no_effect(o) for o in body)
        if is_plain and one.name == other.name == "affine.store":
            pairs = (_selection(loops, body, p) for p in ((one, other), (other, one)))
            return next(filter(None, pairs), None)
        return None


def _selection(
    loops: Sequence[Operation],
    body: Sequence[Operation],
    stores: tuple[Operation, Operation],
) -> Selection | None:
    """The selection whose value and place are stored."""
    made = {v: o for o in body for v in o.results}
    kept = [o.result for s in stores for o in body if same_cell(o, s)]
    news = [v for s in stores for v in {*_ends(s.operands[0], made)}.difference(kept)]
    if len(kept) != 2 or len(news) != 2 or not same_cell(made[kept[0]], _at(*stores)):
        return None
    value, place = news
    along = next((o for o in loops if affine.For(o).iv is _variable(place, made)), None)
    rows = tuple(o for o in loops if o is not along)
    bounds = affine.For(along).constant_bounds if along else None
    if along is None or bounds is None or not 0 <= bounds[0] < bounds[1] < 1 << 31:
        return None
    terms = tuple(slice_of(body, news))
    buffers = {made[v].operands[0] for v in kept}
    apart = buffers.isdisjoint(v for o in terms for v in o.operands)
    unsigned = _is_unsigned({value, kept[0]}, body)
    ends = [s.operands[0] for s in stores]
    if not apart or unsigned is None or not counts_elements(stores[1], rows):
        return None
    for is_most in (True, False):
        if _keeps_best([*kept, *news], ends, made, is_most=is_most):
            found = rows, affine.For(along), terms, value, place, stores
            return Selection(*found, is_most, unsigned)
    return None


def _at(value: Operation, place: Operation) -> Operation:
    """The store of the value where the place is stored."""
    operands = *value.operands[:2], *place.operands[2:]
    return value.with_(operands=operands, attributes=place.attributes)


def _ends(value: Value, made: _Made) -> Iterator[Value]:
    """The values among which selects choose."""
    op = made.get(value)
    if op is None or op.name != "arith.select":
        yield value
        return
    for chosen in op.operands[1:]:
        yield from _ends(chosen, made)


def _variable(place: Value, made: _Made) -> Value | None:
    """The value that a place of 32 or 64 bits holds."""
    value = place if place.type in (I32, I64) else None
    while value and (op := made.get(value)) and op.name in CASTS:
        is_wide = value.type in (I32, I64)
        value = op.operands[0] if is_wide else None
    return value


def counts_elements(store: Operation, loops: Sequence[Operation]) -> bool:
    """Whether the loops count the elements of the buffer, each a dimension."""
    ty = store.operands[1].type
    indices = [*map(compact, from_map(affine.map_of(store), store.operands[2:]))]
    places = {i.values[0]: d for d, i in enumerate(indices) if i.expr == Dim(0)}
    rows = [affine.For(op) for op in loops]
    return (
        isinstance(ty, MemRefType)
        and {row.iv for row in rows} == {*places}
        and len(rows) == len(ty.shape)
        and all(row.constant_bounds == (0, ty.shape[places[row.iv]]) for row in rows)
        and all(row.step == 1 for row in rows)
    )


def _is_unsigned(values: set[Value], body: Sequence[Operation]) -> bool | None:
    """Whether values are compared as unsigned integers; None if no key holds them."""
    ty = next(iter(values)).type
    if isinstance(ty, FloatType):
        return False if ty.name in FLOATS else None
    compared = (o for o in body if o.name == "arith.cmpi" and values == {*o.operands})
    signs = {arith.predicate(o)[0] for o in compared if len(arith.predicate(o)) == 3}
    fits = isinstance(ty, IntegerType) and ty.width <= 32 and len(signs) == 1
    return signs == {"u"} if fits else None


# -- the proof by cases ----------------------------------------------------------------

_Known = tuple[str, str, float] | bool | None
"""The kept or the new one of values or places, and a number that stands for it."""


def _keeps_best(
    pairs: Sequence[Value], ends: Sequence[Value], made: _Made, *, is_most: bool
) -> bool:
    """Whether a body keeps the better value, and its place, in each case.

    ``pairs``: the kept value and place, and the new ones; ``ends``: the results.
    """
    cases = [(1.0, 2.0), (2.0, 1.0), (1.0, 1.0)]
    if isinstance(pairs[0].type, FloatType):
        cases += [(nan, 1.0), (1.0, nan), (nan, nan)]
    for kept, new in cases:
        old = ("kept", "value", kept), ("kept", "place", 0.0)
        numbers = *old, ("new", "value", new), ("new", "place", 1.0)
        known: dict[Value, _Known] = dict(zip(pairs, numbers, strict=True))
        value, place = (_evaluated(end, known, made) for end in ends)
        better = kept >= new if is_most else kept <= new
        want = "kept" if isnan(kept) or (better and not isnan(new)) else "new"
        alike = kept == new or (isnan(kept) and isnan(new))
        if not isinstance(value, tuple) or not isinstance(place, tuple):
            return False
        if place[0] != want or (value[0] != want and not alike):
            return False
    return True


def _evaluated(value: Value, known: dict[Value, _Known], made: _Made) -> _Known:
    """A value in one case; None where it depends on more than the case."""
    op = made.get(value)
    if value not in known and op is not None:
        known[value] = _result(op, [_evaluated(v, known, made) for v in op.operands])
    return known.get(value)


def _result(op: Operation, given: Sequence[_Known]) -> _Known:
    match op.name, given:
        case "arith.select", (bool(is_first), one, other):
            return one if is_first else other
        case "arith.cmpf" | "arith.cmpi", ((_, a, one), (_, b, other)) if a == b:
            return _holds(arith.predicate(op), one, other)
        case "arith.andi", (bool(one), bool(other)):
            return one and other
        case "arith.ori", (bool(one), bool(other)):
            return one or other
        case _:
            return None


def _holds(predicate: str, one: float, other: float) -> bool | None:
    """A comparison; those of integers are of small positive ones."""
    if isnan(one) or isnan(other):
        return predicate[0] == "u"
    if predicate in ("ord", "uno"):
        return predicate == "ord"
    name = predicate if predicate in ORDERS else predicate[1:]
    return ORDERS[name](one, other) if name in ORDERS else None


# -- the maximum of keys ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PackSelections(ModulePass):
    """Turn searches for the place of an extreme value into maxima of integers.

    At least ``rows`` rows of elements that lie apart keep values and places instead:
    each row is one for a thread.  0: none does.
    """

    name: ClassVar[str] = "pack-selections"
    looks_for: ClassVar[frozenset[str]] = frozenset({"affine.for"})
    rows: int = 0

    def apply(self, module: Module) -> Module:
        surroundings = Surroundings.of(module)

        def function(op: Operation) -> list[Operation]:
            known = definitions(op), users(op)
            packer = _Packer(surroundings, *known, self.rows)
            return [with_blocks(op, packer.block)]

        return in_functions(module, function)


_Fill = tuple[Operation, float]
"""A nest that stores a number to each element of a buffer."""
_KNOWN = frozenset({"affine.for", "affine.yield", *affine.ACCESSES, *ALLOCATIONS})


@dataclass(frozen=True, slots=True)
class _Packer:
    surroundings: Surroundings
    definitions: _Made
    users: Mapping[Value, Sequence[Operation]]
    rows: int

    def block(self, operations: Sequence[Operation]) -> list[Operation]:
        current = list(operations)
        for op in operations:
            found = Selection.of(op)
            fills = found and self._fills(found, current[: current.index(op)])
            if not found or not fills or not self._is_apart(found, op, fills):
                continue
            values = found.memrefs[0]
            gone = {fill for fill, _ in fills} | {*self.users[values]}
            gone.add(self.definitions[values])
            numbers = [number for _, number in fills]
            is_long = chain_of(op)[-1] is found.along.operation
            rows = prod(affine.For(loop).trip_count or 0 for loop in found.rows)
            many = self.rows and not is_long and rows >= self.rows
            new = _carried(found, op, numbers) if many else None
            current[current.index(op)] = new or _packed(found, _key(found, *numbers))
            current = [o for o in current if o not in gone]
        return current

    def _fills(self, found: Selection, before: Sequence[Operation]) -> list[_Fill]:
        """The fills of both buffers, used by nothing in between; none if unknown."""
        fills: list[_Fill] = []
        for memref in found.memrefs:
            users = [op for op in before if self._may_use(op, memref)]
            number = self._stored(users[-1], memref) if users else None
            fills += [] if number is None else [(users[-1], number)]
        return fills if len(fills) == len(found.memrefs) else []

    def _stored(self, op: Operation, memref: Value) -> float | None:
        """The number that a nest stores to each element of a buffer."""
        loops = chain_of(op) if op.name == "affine.for" else []
        *others, store = inner_operations(loops[-1]) if loops else (op,)
        is_fill = store.name == "affine.store" and store.operands[1] is memref
        if others or not is_fill or not counts_elements(store, loops):
            return None
        maker = self.definitions.get(store.operands[0])
        value = maker.attributes.get("value") if maker else None
        return value.value if isinstance(value, FloatAttr | IntegerAttr) else None

    def _is_apart(
        self, found: Selection, op: Operation, fills: Sequence[_Fill]
    ) -> bool:
        """Whether values are dead, and places neither read nor before the first one."""
        values, places = found.memrefs
        maker = self.definitions.get(values)
        inside = {o for nest in (op, *(f for f, _ in fills)) for o in nest.walk()}
        loads = [o.operands[0] for o in found.terms if o.name == "affine.load"]
        first, _ = found.along.constant_bounds or (0, 0)
        return (
            0 <= fills[1][1] <= first
            and maker is not None
            and maker.name in ALLOCATIONS
            and {o for o in self.users[values] if o.name != "memref.dealloc"} <= inside
            and not any(self._overlaps(v, places) for v in loads)
        )

    def _may_use(self, op: Operation, memref: Value) -> bool:
        """Whether an operation may use the memory of a buffer."""
        inner = list(op.walk())
        used = {v for o in inner for v in o.operands if isinstance(v.type, MemRefType)}
        is_known = all(o.name in _KNOWN or has_no_effect(o) for o in inner)
        return not is_known or any(self._overlaps(v, memref) for v in used)

    def _overlaps(self, one: Value, other: Value) -> bool:
        return one is other or self.surroundings.aliases.may_overlap(one, other)


def _packed(found: Selection, first: int) -> Operation:
    """The nest that keeps the greatest key of each row in a register."""
    along, (_, store) = found.along, found.stores
    b = Builder(store.location)

    def body(i: Builder, k: Value, kept: Sequence[Value]) -> Sequence[Value]:
        known = {along.iv: k}
        i.operations += [clone(op, known) for op in found.terms]
        key = _keyed(i, known[found.value], known[found.place], found)
        return i.add("arith.maxsi", (kept[0], key), [I64])

    def row(i: Builder) -> None:
        start, name = i.constant(first, I64), along.iv.name
        bounds = along.constant_bounds or (0, 0)
        (kept,) = i.carried_loop(*bounds, [start], body, step=along.step, hint=name)
        place = i.cast("trunci", kept, I32)
        place = _arith(i, "xori", place, i.constant(-1, I32))
        place = i.cast("extui", place, found.place.type)
        i.operations.append(store.with_(operands=(place, *store.operands[1:])))

    if not found.rows:
        b.once(row)
        return b.operations[0]
    row(b)
    end = affine.yield_(location=store.location)
    return rebuilt(found.rows, (*b.operations, end))


def _carried(
    found: Selection, op: Operation, numbers: Sequence[float]
) -> Operation | None:
    """The nest that keeps the best value of each row and its place in registers."""
    along, stores = found.along, found.stores
    inside = inner_operations(chain_of(op)[-1])
    loads = [o for s in stores for o in inside if same_cell(o, s)]
    rest = [o for o in inside if o not in (*loads, *stores)]
    b = Builder(stores[1].location)

    def body(i: Builder, k: Value, kept: Sequence[Value]) -> Sequence[Value]:
        known = {along.iv: k}
        known |= {o.result: v for o, v in zip(loads, kept, strict=True)}
        i.operations += [clone(o, known) for o in rest]
        return [known.get(s.operands[0], s.operands[0]) for s in stores]

    if not found.rows:
        return None
    starts = [b.constant(n, o.result.type) for n, o in zip(numbers, loads, strict=True)]
    bounds, name = along.constant_bounds or (0, 0), along.iv.name
    ends = b.carried_loop(*bounds, starts, body, step=along.step, hint=name)
    store = stores[1]
    b.operations.append(store.with_(operands=(ends[1], *store.operands[1:])))
    end = affine.yield_(location=store.location)
    return rebuilt(found.rows, (*b.operations, end))


def _key(found: Selection, value: float, place: float) -> int:
    """The key of numbers, as `_keyed` computes it."""
    if isinstance(found.value.type, FloatType):
        (bits,) = unpack("<i", pack("<f", value + 0.0))
        bits ^= (bits >> 31) & NOT_A_NUMBER
    else:
        is_unsigned = found.is_unsigned
        bits = (int(value) & 0xFFFFFFFF) - (1 << 31) if is_unsigned else int(value)
    bits = NOT_A_NUMBER if isnan(value) else bits if found.is_most else ~bits
    return (bits << 32) | (~int(place) & 0xFFFFFFFF)


def _keyed(b: Builder, value: Value, place: Value, found: Selection) -> Value:
    top, inverse = b.constant(NOT_A_NUMBER, I32), b.constant(-1, I32)
    unordered: Operation | None = None
    if isinstance(value.type, FloatType):
        wide = b.cast("extf", value, F32)
        unordered = arith.compare("arith.cmpf", "uno", wide, wide)
        b.operations.append(unordered)
        number = _arith(b, "addf", wide, b.constant(0.0, F32))
        bits = b.cast("bitcast", number, I32)
        sign = _arith(b, "shrsi", bits, b.constant(31, I32))
        bits = _arith(b, "xori", bits, _arith(b, "andi", sign, top))
    elif found.is_unsigned:
        least = b.constant(-(1 << 31), I32)
        bits = _arith(b, "xori", b.cast("extui", value, I32), least)
    else:
        bits = b.cast("extsi", value, I32)
    bits = bits if found.is_most else _arith(b, "xori", bits, inverse)
    if unordered is not None:
        (bits,) = b.add("arith.select", (unordered.result, top, bits), [I32])
    high = _arith(b, "shli", b.cast("extsi", bits, I64), b.constant(32, I64))
    low = _arith(b, "xori", b.cast("trunci", place, I32), inverse)
    return _arith(b, "ori", high, b.cast("extui", low, I64))


def _arith(b: Builder, name: str, one: Value, other: Value) -> Value:
    return b.add(f"arith.{name}", (one, other), [one.type])[0]
